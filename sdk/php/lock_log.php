<?php
// Writes a lock log in production: what an application knows of its locks, a line for each event.
//
// `sim check` judges such files afterwards: https://github.com/redlock-sim/redlock-sim/blob/main/docs/guide/production-log.md
// One file, no extension, PHP 8.0 or later. Keep it in your application:
//
//     $log = new LockLog('/var/log/shop/locks.locklog');
//     $hold = $log->ask('orders');
//     $lock = $factory->createLock('orders', 10); $lock->acquire(true);
//     $hold->granted(ttl: 10);
//     ...
//     $hold->releasing(); $lock->release(); $hold->released();
//
// It throws nothing: what it cannot write it drops, and counts in $dropped. Lines wait until there are 256, or an event comes a second
// after the last write; at the end of the request they are written. The file is opened for each write, so it may be renamed at any time.
// Times are in seconds.

final class LockLog
{
    public int $dropped = 0;
    private string $host;
    private string $head;
    private array $lines = [];
    private int $next = 0;
    private int $holds = 0;
    private int $written = 0;
    private int $pid = 0;
    private string $torn = '';

    public function __construct(private string $path, ?string $host = null)
    {
        $this->host = self::text($host ?? (string) gethostname());
        $this->start();
        register_shutdown_function([$this, 'flush']);
    }

    private function start(): void
    {
        [$this->pid, $this->lines, $this->next, $this->holds, $this->torn] = [(int) getmypid(), [], 0, 0, ''];
        $this->head = '{"locklog":1,"host":' . $this->host . ',"process":"' . $this->pid . '-' . bin2hex(random_bytes(4)) . '","line":';
    }

    /** Asks for a lock: what is granted and released together is one hold. */
    public function ask(string $lock): LockLogHold
    {
        if ($this->pid !== getmypid()) {
            $this->start(); // a child has a log of its own
        }
        $hold = new LockLogHold($this, '"hold":' . ++$this->holds . ',"lock":' . self::text($lock));
        $hold->asked();
        return $hold;
    }

    /** Before a renewal or a write, for $since: ns. */
    public function now(): int
    {
        return hrtime(true);
    }

    public function write(string $event, string $hold, ?int $since = null, ?string $owner = null, ?float $ttl = null, ?float $validity = null,
        bool $renews = false, ?int $token = null): void
    {
        try {
            if ($this->pid !== getmypid()) {
                $this->start();
            }
            $mono = hrtime(true);
            $line = $this->head . $this->next++ . ',"wall":' . (int) (microtime(true) * 1e6) . ',"mono":' . intdiv($mono, 1000)
                . ',"event":"' . $event . '",' . $hold;
            $line .= $owner === null ? '' : ',"owner":' . self::text($owner);
            $line .= $ttl === null ? '' : ',"ttl":' . (int) ($ttl * 1e6);
            $line .= $validity === null ? '' : ',"validity":' . (int) ($validity * 1e6);
            $line .= $renews ? ',"renews":true' : '';
            $line .= $token === null ? '' : ',"token":' . $token;
            $line .= $since === null ? '' : ',"took":' . max(0, intdiv($mono - $since, 1000));
            $this->lines[] = $line . "}\n";
            if (count($this->lines) >= 256 || $mono - $this->written >= 1_000_000_000) {
                $this->flush();
            }
        } catch (\Throwable) {
            $this->dropped++;
        }
    }

    public function flush(): void
    {
        if ($this->lines === [] || $this->pid !== getmypid()) {
            return;
        }
        [$lines, $this->lines, $this->written, $whole] = [$this->lines, [], hrtime(true), false];
        try {
            $data = $this->torn . implode('', $lines);
            if ($file = @fopen($this->path, 'ab')) {
                stream_set_write_buffer($file, 0);
                stream_set_chunk_size($file, max(8192, strlen($data))); // one write
                $whole = @fwrite($file, $data) === strlen($data);
                fclose($file);
            }
        } catch (\Throwable) {
            // counted below
        }
        $this->torn = $whole ? '' : "\n";
        $this->dropped += $whole ? 0 : count($lines);
    }

    /** What is no text is written in hexadecimal, so that two different values stay different. */
    private static function text(string $value): string
    {
        $text = json_encode($value);
        return $text !== false ? $text : '"0x' . bin2hex($value) . '"';
    }
}

final class LockLogHold
{
    public function __construct(private LockLog $log, private string $tail)
    {
    }

    /** Before each further try, where the application itself tries again. */
    public function asked(): void { $this->log->write('asked', $this->tail); }
    /** $validity: what the library says is left of it. $renews: the library renews it by itself. */
    public function granted(?string $owner = null, ?float $ttl = null, ?float $validity = null, bool $renews = false, ?int $token = null): void
    {
        $this->log->write('granted', $this->tail, null, $owner, $ttl, $validity, $renews, $token);
    }
    public function notGranted(): void { $this->log->write('not-granted', $this->tail); }
    public function renewed(int $since, ?float $ttl = null, ?float $validity = null): void
    {
        $this->log->write('renewed', $this->tail, $since, null, $ttl, $validity);
    }
    public function lost(): void { $this->log->write('lost', $this->tail); }
    public function releasing(): void { $this->log->write('releasing', $this->tail); }
    public function released(): void { $this->log->write('released', $this->tail); }
    public function releasedInVain(): void { $this->log->write('released-in-vain', $this->tail); }
    public function writeDone(int $since, ?int $token = null): void { $this->log->write('write-done', $this->tail, $since, token: $token); }
    public function writeRefused(int $since, ?int $token = null): void { $this->log->write('write-refused', $this->tail, $since, token: $token); }
}
