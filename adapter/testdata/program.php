<?php
// The lock program of program_test.go, in PHP. The lock's key says what it does.
require __DIR__ . '/../../sdk/php/sim_adapter.php';

use SimAdapter\{Grant, Program, Refused, Setup, Unsupported};

function refuse(): never
{
    throw new Refused('taken');
}

final class Handle
{
    public static int $collected = 0;
    public static int $made = 0;
    public ?Handle $self = null;

    public function __destruct()
    {
        self::$collected++;
    }
}

$flooding = null;
$closed = '';
$program = new Program('test', '1.0', about: 'a lock; its client', kind: 'single', keys: ['{key}'], can: ['validity', 'setup-again'], points: ['inside', 'not armed'],
    tick: function () use (&$flooding) {
        while ($flooding) {
            $flooding->renewed();
        }
    });

SimAdapter\serve($program, function (Setup $setup) use (&$flooding, &$closed) {
    if ($setup->key === 'broken') {
        throw new RuntimeException('no such node');
    }
    $setup->key === 'unsupported' && throw new Unsupported('no such topology');
    $setup->key === 'slow-open' && sleep(1000);
    foreach ($setup->key === 'first' ? ['a', 'b'] : [] as $what) {
        $setup->onClose(function () use ($what, &$closed) {
            $closed .= $what;
        });
    }
    return function (?float $wait) use ($setup, &$flooding, &$closed) {
        $grant = new Grant(release: $setup->key === 'not-ours' ? refuse(...) : fn () => null);
        switch ($setup->key) {
            case 'refuse':
                refuse();
            case 'doubt':
                throw new RuntimeException('timeout');
            case 'block':
                usleep((int) (($wait ?? 1000) * 1e6));
                refuse();
            case 'print':
                echo "a library's noise\n";
                passthru("echo a child\\'s noise");
                break;
            case 'point':
                $setup->point('inside');
                $setup->point('not armed');
                break;
            case 'tell':
                [$a, $b] = $setup->nodes;
                $grant->owner = implode(' ', [$setup->client, $setup->seed, $setup->ttl, $setup->nodeTimeout, $setup->options['a'],
                    $a->name, $a->host, $a->port, $a->password, $b->tls['ca']]);
                $grant->token = 7;
                $grant->until = hrtime(true) / 1e9 + 1;
                $grant->extend = fn () => hrtime(true) / 1e9 + 2;
                break;
            case 'again':
                $grant->owner = "$setup->ttl $closed";
                break;
            case 'object':
                $setup->lockObject(function () {
                    Handle::$made++;
                    return new Handle();
                });
                $grant->owner = (string) Handle::$made;
                break;
            case 'forget':
                $handle = new Handle();
                $handle->self = $handle; // a cycle, which counting references does not free
                $grant->release = fn () => $handle;
                $grant->owner = (string) Handle::$collected;
                break;
            case 'events':
                $grant->renewed(hrtime(true) / 1e9 + 3);
                $grant->lost('nobody answers');
                break;
            case 'flood':
                $flooding = $grant;
        }
        return $grant;
    };
});
