#!/usr/bin/php
<?php
/** The lock program of Symfony's Lock with its RedisStore, over phpredis. --tuned: no key outlives
 *  its lock's TTL, and a connection on which a reply did not arrive is given up. */
declare(strict_types=1);

require __DIR__ . '/../../sdk/php/sim_adapter.php';
require 'Symfony/Component/Lock/autoload.php';

use SimAdapter\{Grant, Program, Refused, Setup};
use Symfony\Component\Lock\Exception\LockConflictedException;
use Symfony\Component\Lock\{Lock, LockFactory};
use Symfony\Component\Lock\Store\RedisStore;

/** Knows whether the reply to each command has arrived. RedisStore takes a command that could not be
 *  written, or half a reply, for the node's no. After a timeout phpredis keeps the connection, and may
 *  take a late reply for that to the next command: nothing is sure any more. */
final class Node extends Redis
{
    public bool $sure = true;
    private bool $over = false;

    public function __construct(private bool $tuned)
    {
        parent::__construct();
    }

    public function eval($script, $args = [], $keys = 0): mixed
    {
        if ($this->over) {
            throw new RedisException('the trial is over');
        }
        $sure = $this->sure;
        $this->sure = false;
        error_clear_last();
        try {
            $reply = parent::eval($script, $args, $keys);
        } catch (RedisException $e) {
            $this->tuned && $this->close();
            throw $e;
        }
        $this->sure = $sure && $reply !== null && error_get_last() === null;
        return $reply;
    }

    public function reach(string $host, int $port, float $limit, array $context): void
    {
        if (!$this->isConnected()) {
            $this->connect($host, $port, $limit, null, 0, $limit, $context);
        }
        $this->sure = $this->sure || $this->tuned;
    }

    /** Ends the connection for good: locks that were never released try that when they are dropped. */
    public function end(): void
    {
        $this->over = true;
        $this->isConnected() && $this->close();
    }

    public function refuse(string $why): never
    {
        throw $this->sure ? new Refused($why) : new RuntimeException("$why; some reply did not arrive");
    }
}

function acquire(callable $try, Node $node, ?float $wait): void
{
    $end = hrtime(true) / 1e9 + ($wait ?? INF);
    while (!$try()) {
        $pause = 0.1 + random_int(-10, 10) / 1e3; // as acquire(true) does, which waits for ever
        hrtime(true) / 1e9 + $pause < $end || $node->refuse('taken');
        usleep((int) ($pause * 1e6));
    }
}

/** When the lock ends, as the library tells by the wall clock. */
function until(Lock $lock): float
{
    $now = hrtime(true) / 1e9;
    return $now + $lock->getRemainingLifetime();
}

$tuned = in_array('--tuned', $argv, true);
$version = (string) exec('dpkg-query --show --showformat=\'${source:Upstream-Version}\' php-symfony-lock');

SimAdapter\serve(new Program('symfony-lock' . ($tuned ? '-tuned' : ''), $version, kind: 'single', keys: ['{key}'],
    can: ['validity', 'extend', 'setup-again', 'one-object', 'modes'], homepage: 'https://github.com/symfony/lock',
    about: 'RedisStore; client phpredis ' . phpversion('redis') . ', the timeout of setup'), function (Setup $setup) use ($tuned) {
        [$at] = count($setup->nodes) === 1 ? $setup->nodes : throw new InvalidArgumentException('RedisStore has one node');
        $context = array_filter([
            'auth' => array_filter([$at->username, $at->password]),
            'stream' => $at->tls ? array_filter(['peer_name' => $at->tls['server_name'], 'cafile' => $at->tls['ca']]) : null,
        ]);
        $limit = $setup->nodeTimeout ?? 0;
        $node = new Node($tuned);
        $setup->onClose($node->end(...));
        $locks = new LockFactory($tuned ? new RedisStore($node, $setup->ttl) : new RedisStore($node));
        return function (?float $wait) use ($setup, $at, $context, $limit, $node, $locks) {
            $node->reach(($at->tls ? 'tls://' : '') . $at->host, $at->port, $limit, $context);
            $lock = $setup->lockObject(fn () => $locks->createLock($setup->key, $setup->ttl));
            acquire($setup->shared ? $lock->acquireRead(...) : $lock->acquire(...), $node, $wait);
            return new Grant(release: fn () => $lock->release(), until: until($lock), extend: function () use ($lock, $node) {
                try {
                    $lock->refresh();
                } catch (LockConflictedException $e) {
                    $node->refuse('not ours any more');
                }
                return until($lock);
            });
        };
    });
