<?php
// The lock program that sim starts for each client. Put your own lock in the place of MyLock,
// and your client library in the place of MyRedis. It needs PHP 8.1 or later.
require __DIR__ . '/sim_adapter.php';

use SimAdapter\{Grant, Program, Refused, Setup};

const RELEASE = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0";

/** A lock on one node: SET NX PX with a value of its own, and a release that compares it. */
final class MyLock
{
    private string $value;

    public function __construct(private MyRedis $client, private string $key, private float $ttl)
    {
        $this->value = bin2hex(random_bytes(16));
    }

    public function acquire(?float $wait): bool
    {
        $deadline = hrtime(true) / 1e9 + ($wait ?? INF); // null: no limit
        while (!$this->client->call('SET', $this->key, $this->value, 'NX', 'PX', (int) ($this->ttl * 1000))) {
            if (hrtime(true) / 1e9 > $deadline) {
                return false;
            }
            usleep(20000);
        }
        return true;
    }

    public function release(): void
    {
        if (!$this->client->call('EVAL', RELEASE, 1, $this->key, $this->value)) {
            throw new Refused('not ours any more');
        }
    }
}

/** As much of a client as this lock needs: commands whose replies are one line. */
final class MyRedis
{
    private $socket = null;

    public function __construct(private string $host, private int $port, private float $timeout)
    {
    }

    public function call(string|int ...$words): string|int|null
    {
        try {
            $this->socket ??= $this->connect();
            $text = '*' . count($words) . "\r\n";
            foreach ($words as $word) {
                $text .= '$' . strlen($word) . "\r\n$word\r\n";
            }
            if (@fwrite($this->socket, $text) !== strlen($text)) {
                throw new RuntimeException('the connection was closed');
            }
            $line = fgets($this->socket);
            if ($line === false) {
                throw new RuntimeException('no answer');
            }
        } catch (RuntimeException $e) {
            $this->socket = null; // a late reply is lost with it
            throw $e;
        }
        $rest = rtrim(substr($line, 1));
        return match ($line[0]) {
            '-' => throw new RuntimeException($rest),
            '$' => null,
            ':' => (int) $rest,
            default => $rest,
        };
    }

    private function connect()
    {
        $flags = stream_context_create(['socket' => ['tcp_nodelay' => true]]);
        $socket = @stream_socket_client("tcp://$this->host:$this->port", $code, $why, $this->timeout, STREAM_CLIENT_CONNECT, $flags);
        if (!$socket) {
            throw new RuntimeException("no connection: $why");
        }
        stream_set_timeout($socket, (int) $this->timeout, (int) (fmod($this->timeout, 1) * 1e6));
        return $socket;
    }
}

// The function is called once for each client, with the servers, the key and the ttl (in seconds).
// kind is its class: single (one node), quorum (several, as Redlock), session, or other.
// can says what else your lock does; sim tests nothing of it otherwise. Say it only if it is true, as can: ['renew']:
//   renew   it makes its lease longer by itself while it is held (a watchdog). Without the word, scenarios about renewal are not applicable
//   extend  its user can make the lease longer: give the grant an extend
//   lost    it sees that it has lost the lock: then call its lost()
// docs/reference/lock-protocol.md has all words.
SimAdapter\serve(new Program('my-lock', '1.0', kind: 'single', keys: ['{key}'],
    about: 'the sample of sim init: put your own lock in its place, and say here which it is'), function (Setup $setup) {
    $node = $setup->nodes[0];
    $client = new MyRedis($node->host, $node->port, $setup->nodeTimeout ?: 1e6); // 0: for ever
    return function (?float $wait) use ($client, $setup) {
        $lock = new MyLock($client, $setup->key, $setup->ttl);
        if (!$lock->acquire($wait)) {
            throw new Refused('taken'); // certainly not held; after any other exception it may be
        }
        return new Grant(release: fn () => $lock->release());
    };
});
