#!/usr/bin/php
<?php
/** The lock program of the cache lock of Laravel (illuminate/cache) with Redis, over phpredis. --tuned: its connections have the
 *  timeouts of setup; Laravel itself sets none. */
declare(strict_types=1);

require __DIR__ . '/../../sdk/php/sim_adapter.php';
require __DIR__ . '/libraries.php';
require 'Symfony/Polyfill/Mbstring/autoload.php'; // Laravel requires mbstring: it looks with it at what an exception says
require 'Illuminate/Cache/autoload.php';

use Illuminate\Cache\PhpRedisLock;
use Illuminate\Contracts\Cache\LockTimeoutException;
use Illuminate\Redis\Connections\PhpRedisConnection;
use SimAdapter\{Grant, Program, Setup, Unsupported};

$tuned = in_array('--tuned', $argv, true);

SimAdapter\serve(new Program('laravel-lock' . ($tuned ? '-tuned' : ''), version('php-illuminate-cache'), kind: 'single', keys: ['{key}'], ttl_min_ms: 1000,
    ttl_step_ms: 1000, can: ['owner', 'setup-again', 'one-object'], homepage: 'https://github.com/laravel/framework',
    about: 'PhpRedisLock, block; client phpredis ' . phpversion('redis') . ($tuned ? ', the timeout of setup' : ', no timeout, as Laravel has it')), function (Setup $setup) use ($tuned) {
        count($setup->nodes) === 1 || throw new Unsupported('it locks on one node');
        $connection = null;
        return function (?float $wait) use ($setup, $tuned, &$connection) {
            $connect = fn () => Client::of($setup->nodes[0], $setup, $tuned ? $setup->nodeTimeout ?? 0 : 0);
            $connection ??= new PhpRedisConnection($connect(), $connect, []); // as its manager does: when it is first needed
            $lock = $setup->lockObject(fn () => new PhpRedisLock($connection, $setup->key, (int) $setup->ttl));
            Client::sure(function () use ($lock, $wait) {
                try { // it counts in whole seconds of the time of day
                    return $lock->block((int) ($wait ?? 86400));
                } catch (LockTimeoutException) {
                    return false;
                }
            }, 'taken');
            return new Grant(release: fn () => Client::sure($lock->release(...), 'not ours any more'), owner: $lock->owner());
        };
    });
