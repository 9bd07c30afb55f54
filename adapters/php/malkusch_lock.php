#!/usr/bin/php
<?php
/** The lock program of malkusch/lock with its PHPRedisMutex. The library calls what is to be done while the lock is held: that is a fiber
 *  which stops there until the release. */
declare(strict_types=1);

require __DIR__ . '/../../sdk/php/sim_adapter.php';
require __DIR__ . '/libraries.php';
require 'Malkusch/Lock/autoload.php';

use malkusch\lock\exception\{ExecutionOutsideLockException, LockAcquireException, LockReleaseException, TimeoutException};
use malkusch\lock\mutex\PHPRedisMutex;
use SimAdapter\{Grant, Program, Setup};

/** A client of each node. One that is down has none of its connection: the mutex goes on with the others. */
function clients(Setup $setup, array &$clients): array
{
    foreach ($setup->nodes as $i => $node) {
        try {
            $clients[$i] ??= Client::of($node, $setup, $setup->nodeTimeout ?? 0);
        } catch (RedisException) {
        }
    }
    return array_map(fn (int $i) => $clients[$i] ?? new Client(), array_keys($setup->nodes));
}

/** Runs the fiber until it holds the lock. The library has no wait of its own but the TTL: the client of the first node ends it. */
function hold(Fiber $holder): bool
{
    try {
        $holder->start();
        return true;
    } catch (TimeoutException|Late) {
        return false;
    }
}

/** Lets the fiber release the lock. */
function release(Fiber $holder): bool
{
    try {
        $holder->resume();
        return true;
    } catch (ExecutionOutsideLockException $e) {
        throw $e; // it asks nobody then
    } catch (LockReleaseException) {
        return false;
    }
}

SimAdapter\serve(new Program('malkusch-lock', version('php-malkusch-lock'), kind: 'quorum', keys: ['lock_{key}'], ttl_min_ms: 1000,
    ttl_step_ms: 1000, ttl_extra_ms: 1000, can: ['setup-again', 'one-object'], homepage: 'https://github.com/php-lock/lock',
    about: 'PHPRedisMutex, synchronized; client phpredis ' . phpversion('redis') . ', the timeout of setup'), function (Setup $setup) {
        $clients = [];
        return function (?float $wait) use ($setup, &$clients) {
            $all = clients($setup, $clients);
            $mutex = $setup->lockObject(fn () => new PHPRedisMutex($all, $setup->key, (int) $setup->ttl));
            $all[0]->until = $end = hrtime(true) / 1e9 + ($wait ?? INF);
            $holder = null;
            Client::sure(function () use ($mutex, $end, &$holder) {
                do {
                    $holder = new Fiber(fn () => $mutex->synchronized(fn () => Fiber::suspend()));
                    $held = hold($holder);
                } while (!$held && hrtime(true) / 1e9 < $end);
                return $held;
            }, 'taken');
            return new Grant(release: fn () => Client::sure(fn () => release($holder), 'failed to release the lock'));
        };
    });
