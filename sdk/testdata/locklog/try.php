<?php
// Tries lock_log.php: php try.php correct|broken|many|nowhere FILE, or measure FILE.
require __DIR__ . '/../../php/lock_log.php';

[, $what, $path] = $argv;
$log = new LockLog($path, 'web-1');
function useHold(LockLog $log, LockLogHold $hold): void
{
    $hold->granted(owner: "o\"\n\u{e9}", ttl: 10, token: 7);
    $began = $log->now();
    usleep(2000);
    $hold->writeDone($began, 7);
    $hold->renewed($log->now(), ttl: 10);
}

switch ($what) {
    case 'correct':
        [$first, $second] = [$log->ask('orders'), $log->ask('orders')];
        useHold($log, $first);
        $first->releasing();
        $first->released();
        usleep(2000);
        $second->granted(owner: 'p', ttl: 10, token: 8);
        $second->releasing();
        $second->releasedInVain();
        break;
    case 'broken':
        [$first, $second] = [$log->ask('orders'), $log->ask('orders')];
        useHold($log, $first);
        $second->granted(owner: 'p', ttl: 10, token: 6);
        usleep(2000);
        foreach ([$first, $second] as $h) {
            $h->releasing();
            $h->released();
        }
        break;
    case 'many':
        $children = [];
        for ($i = 0; $i < 3; $i++) {
            $children[] = proc_open([PHP_BINARY, __FILE__, 'one', $path], [], $pipes);
        }
        // no break
    case 'one':
        for ($i = 0; $i < 1000; $i++) {
            $log->ask('orders')->notGranted();
        }
        foreach ($children ?? [] as $child) {
            proc_close($child);
        }
        break;
    case 'nowhere':
        $log->ask('orders')->lost();
        $log->flush();
        echo $log->dropped, "\n";
        break;
    case 'measure':
        $hold = $log->ask('orders');
        $n = 200_000;
        foreach ([intdiv($n, 10), $n] as $count) {
            $began = hrtime(true);
            for ($i = 0; $i < $count; $i++) {
                $hold->granted(owner: '0123456789abcdef', ttl: 10, token: 7);
            }
            $took = hrtime(true) - $began;
        }
        printf("%.2f\n", $took / $n / 1000);
}
