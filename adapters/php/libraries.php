<?php
/** What the lock programs of this folder share: where their libraries are, and clients of phpredis. Require it after the SDK. */
declare(strict_types=1);

use SimAdapter\{Node, Refused, Setup};

const LIBRARIES = __DIR__ . '/../../.cache/libraries/php';

if (!is_file(LIBRARIES . '/complete')) {
    fwrite(STDERR, 'the libraries for PHP are not in ' . LIBRARIES . ": make libraries\n");
    exit(1);
}
class_exists('Redis') || throw new Error('phpredis is missing: apt-get install php-redis');
set_include_path(LIBRARIES . '/usr/share/php:' . get_include_path());

/** The version of a package of packages.txt, as its library counts. */
function version(string $package): string
{
    preg_match("/^$package=([\d.]+)/m", (string) file_get_contents(__DIR__ . '/packages.txt'), $found);
    return $found[1];
}

/** The wait is over. */
final class Late extends Exception {}

/** Knows whether the reply to each command has arrived. The libraries take a command that could not be written, or half a reply, for
 *  the node's no. After a timeout phpredis keeps the connection, and may take a late reply for that to the next command: nothing that
 *  it says is sure any more. */
final class Client extends Redis
{
    public static int $doubts = 0;
    public float $until = INF; // no more tries begin with it after this, as hrtime(true) / 1e9 tells it
    private bool $behind = false;
    private bool $over = false;

    /** A client of a node; its limit is in seconds, for connecting and for each reply. */
    public static function of(Node $at, Setup $setup, float $limit): self
    {
        $context = array_filter([
            'auth' => array_filter([$at->username, $at->password]),
            'stream' => $at->tls ? array_filter(['peer_name' => $at->tls['server_name'], 'cafile' => $at->tls['ca']]) : null,
        ]);
        $client = new self();
        $setup->onClose($client->end(...));
        $client->connect(($at->tls ? 'tls://' : '') . $at->host, $at->port, $limit, null, 0, $limit, $context);
        return $client;
    }

    /** Ends the connection for good: libraries release what was never released when it is dropped. */
    public function end(): void
    {
        $this->over = true;
        $this->isConnected() && $this->close();
    }

    /** Calls a library, and says that its no is one, if each reply has arrived. */
    public static function sure(callable $call, string $no): void
    {
        $before = self::$doubts;
        if (!$call()) {
            throw self::$doubts === $before ? new Refused($no) : new RuntimeException("$no; some reply did not arrive");
        }
    }

    public function set($key, $value, $opts = null): mixed
    {
        hrtime(true) / 1e9 > $this->until && throw new Late();
        return $this->certain(fn () => parent::set($key, $value, $opts));
    }

    public function eval($script, $args = [], $keys = 0): mixed
    {
        return $this->certain(fn () => parent::eval($script, $args, $keys));
    }

    // Where the connection broke, phpredis does these by itself. Where there never was one, it throws.

    public function _serialize($value): mixed
    {
        return $this->connected() ? parent::_serialize($value) : $value;
    }

    public function getOption($option): mixed
    {
        return $this->connected() ? parent::getOption($option) : null;
    }

    /** isConnected connects again. */
    private function connected(): bool
    {
        return !$this->over && $this->isConnected();
    }

    private function certain(Closure $command): mixed
    {
        if ($this->over) {
            throw new RedisException('the trial is over');
        }
        error_clear_last();
        $answered = false;
        try {
            $reply = $command();
            $answered = $reply !== null;
            return $reply;
        } catch (RedisException $e) {
            $answered = preg_match('/^[A-Z]{2,} /', $e->getMessage()) === 1; // as MISCONF, OOM: the node has said so
            throw $e;
        } finally {
            $this->behind = $this->behind || !$answered || error_get_last() !== null;
            self::$doubts += (int) $this->behind;
        }
    }
}
