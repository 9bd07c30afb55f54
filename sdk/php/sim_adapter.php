<?php
/**
 * Makes a lock program of a lock library: a program that redlock-sim puts on trial.
 *
 * It speaks version 1 of the protocol for lock programs, JSON lines on standard input and
 * output. One file, no extension needed, PHP 8.1 or later on 64 bits. The library stays as it is.
 *
 *     require __DIR__ . '/sim_adapter.php';
 *     use SimAdapter\{Grant, Program, Refused, Setup};
 *
 *     SimAdapter\serve(new Program('mylock', '1.0', kind: 'single', keys: ['{key}']), function (Setup $setup) {
 *         $client = MyLock::connect($setup->nodes[0]->host, $setup->nodes[0]->port);
 *         return function (?float $wait) use ($client, $setup) {
 *             $lock = $client->lock($setup->key, $setup->ttl, $wait) ?: throw new Refused('taken');
 *             return new Grant(release: fn () => $lock->unlock());
 *         };
 *     });
 *
 * PHP has no threads. So the program runs in two processes: to require this file starts the
 * program once more, with standard error in the place of standard output. The first process hands
 * on what it reads, and ends the second, which has the lock, when there is no more. So require
 * this file before the library.
 */
declare(strict_types=1);

namespace SimAdapter;

const MAX_LINE = 1 << 20;
const GRACE = 0.2; // seconds to end in order
const PATIENCE = 2; // seconds to wait until somebody reads

/** The lock is certainly not held, and nothing of the attempt stays; from release and extend:
 *  the lock was not ours any more. After any other exception it may be held. */
final class Refused extends \RuntimeException {}

/** From the function that opens the lock: the library refuses by design what setup asks for, such as this topology. A trial that
 *  needs it is then not applicable. */
final class Unsupported extends \RuntimeException {}

/** What a lock program says of itself: its class (quorum, single, session or other), patterns of
 *  what the library writes, a list of validity, renew, lost, extend, forget, token, owner, busy, setup-again,
 *  no-ttl (a ttl of null is none), one-object (the lock object is what Setup::lockObject gives), permits (Setup::$permits is how
 *  many clients may hold the lock at once), modes (the lock has readers and writers, and with Setup::$shared the client is a reader), fair (it serves clients in the order in which they ask), at-least (the lock stays for Setup::$atLeast, also if it is released before), wakes (a release wakes those who wait). tick is called
 *  every 20 ms while no request is under way: for a lock that renews itself, or sees a loss. lease
 *  is 'ttl' if the key's value keeps the lease, whatever end the key has; about is one line: which lock,
 *  its client library, its timeouts and retries. Keys live
 *  ttl_extra_ms longer than the ttl. */
final class Program
{
    public function __construct(public string $name, public string $version, public string $kind, public array $keys,
        public array $can = [], public string $homepage = '', public array $points = [], public float $ttl_min_ms = 1,
        public float $ttl_step_ms = 1, public ?\Closure $tick = null, public ?string $lease = null,
        public ?string $about = null, public float $ttl_extra_ms = 0) {}
}

/** A server, or the simulator's link to it. tls: null, or an array with server_name and ca, a file
 *  with certificates to trust. */
final class Node
{
    public function __construct(public string $name, public string $host, public int $port, public string $username = '',
        public string $password = '', public ?array $tls = null) {}
}

/** What the simulator asks for. Times are in seconds; null: not told. */
final class Setup
{
    public function __construct(public ?string $client, public int|string|null $seed, public string $key, public ?float $ttl,
        public ?float $nodeTimeout, public array $options, public array $nodes, public ?string $topology,
        public array $sentinels, public ?string $master, public array $points, private Conversation $with,
        public bool $oneObject = false, public int $permits = 1, public float $atLeast = 0,
        public bool $shared = false, private mixed $object = null) {}

    /** The lock object to ask with: a new one, or the first one again, as the simulator asks. */
    public function lockObject(callable $make): mixed
    {
        return $this->oneObject ? $this->object ??= $make() : $make();
    }

    /** Reports that the program is at the point and waits until the simulator lets it go on,
     *  where the point is armed; else does nothing. */
    public function point(string $name): void
    {
        in_array($name, $this->points, true) && $this->with->atPoint($name);
    }

    /** Calls a function before the lock is opened again. A program that can do setup-again closes all
     *  that it has opened: connections, processes that renew. */
    public function onClose(callable $close): void
    {
        $this->with->onClose($close(...));
    }
}

/** A lock in hand. null: the library does not tell, or cannot. until is the end of the promise as
 *  hrtime(true) / 1e9 tells it; extend returns the new one. lost and renewed are to be called when
 *  the library says so: while it is called, in tick, or in the handler of a signal. */
final class Grant
{
    public ?\Closure $send = null; // for this file
    public array $early = []; // events before the answer

    public function __construct(public \Closure $release, public ?string $owner = null, public ?float $until = null,
        public ?\Closure $extend = null, public ?int $token = null) {}

    /** The library says that the lock is lost. */
    public function lost(string $why = ''): void
    {
        $this->event(['type' => 'lost', 'at_ns' => hrtime(true), 'why' => $why]);
    }

    /** The library has renewed the lock by itself. */
    public function renewed(?float $until = null): void
    {
        $this->event(['type' => 'renewed'] + promise($until));
    }

    private function event(array $line): void
    {
        $this->send ? ($this->send)($line) : $this->early[] = $line;
    }
}

/** How long a promise still lasts. Reads the machine's clock first: a pause between the two
 *  readings may shorten the promise, and never makes it longer. */
function promise(?float $until): array
{
    return $until === null ? [] : ['at_ns' => hrtime(true), 'validity_ms' => ($until - hrtime(true) / 1e9) * 1e3];
}

/** Speaks with the simulator until standard input ends, and exits. openLock connects to the nodes.
 *  It returns a function that gets the lock once more: it takes the longest wait in seconds (null:
 *  no limit), and returns a Grant.
 *
 *  A program that says setup-again lets the simulator use it for one trial after the other: openLock is
 *  called again, after what it has given to $setup->onClose. mt_rand, and what draws from it, begins
 *  anew each time; lcg_value cannot. */
function serve(Program $program, callable $openLock): never
{
    $with = new Conversation($program, $openLock(...));
    while (true) {
        $with->next();
    }
}

/** The conversation, in the process that has the lock; for this file alone. */
final class Conversation
{
    private ?\Closure $acquire = null; // what openLock returned
    private array $grants = []; // not released
    private array $closers = []; // of what openLock opened
    private array $passed = []; // points
    private float $busy = 0; // seconds

    public function __construct(private Program $program, private \Closure $openLock) {}

    /** Reads a line, and does what it says. */
    public function next(): void
    {
        do {
            [$read, $none] = [[STDIN], null];
            $ready = @stream_select($read, $none, $none, 0, $this->program->tick ? 20000 : 500000); // false: a signal came
            $ready || $this->program->tick && ($this->program->tick)();
        } while (!$ready);
        $line = fgets(STDIN, MAX_LINE + 3);
        $line === false && exit(0);
        try {
            strlen(rtrim($line, "\n")) > MAX_LINE && throw new \LengthException('the line is too long');
            $this->handle(json_decode($line, true, 512, JSON_BIGINT_AS_STRING | JSON_THROW_ON_ERROR));
        } catch (\Throwable $e) { // whatever it is, the simulator shall know
            fail('failed to handle ' . substr($line, 0, 200) . ': ' . $e->getMessage());
        }
    }

    private function handle(array $m): void
    {
        $type = $m['type'];
        if ($type === 'hello' && in_array(1, $m['protocols'], true)) {
            $about = array_diff_key(get_object_vars($this->program), ['kind' => 0, 'tick' => 0]);
            $about = array_filter($about, fn(mixed $value) => $value !== null);
            send(['type' => 'ready', 'protocol' => 1, 'clock' => 'libc', 'class' => $this->program->kind] + $about);
        } elseif ($type === 'setup') {
            $this->setUp($m);
        } elseif ($type === 'clocks') {
            send(['type' => 'clocks', 'id' => $m['id'], 'wall_ms' => microtime(true) * 1e3, 'monotonic_ms' => hrtime(true) / 1e6]);
        } elseif ($type === 'go' && ($this->passed[$m['id'] - 1] ?? null) === false) {
            $this->passed[$m['id'] - 1] = true;
        } elseif ($type === 'acquire' && $this->acquire || in_array($type, ['release', 'extend', 'forget'], true)) {
            try {
                $this->$type($m);
            } catch (\Throwable $e) {
                $why = substr(get_class($e) . ': ' . $e->getMessage(), 0, 1000);
                send(['type' => $e instanceof Refused ? 'refused' : 'unknown', 'id' => $m['id'], 'why' => $why]);
            }
        } else {
            fail("failed to handle $type: not known, or not in this place");
        }
    }

    public function onClose(\Closure $close): void
    {
        $this->closers[] = $close;
    }

    private function setUp(array $m): void
    {
        $this->busy = ($m['busy_ms'] ?? 0) / 1e3;
        $seconds = fn (string $name) => isset($m['lock'][$name]) ? $m['lock'][$name] / 1e3 : null;
        $nodes = fn (string $some) => array_map(fn (array $n) => new Node($n['name'], $n['host'], $n['port'],
            $n['username'] ?? '', $n['password'] ?? '', $n['tls'] ?? null), $m[$some] ?? []);
        try {
            while ($this->closers) {
                array_pop($this->closers)();
            }
            $this->drop();
            mt_srand(random_int(0, 0xffffffff));
            $this->acquire = ($this->openLock)(new Setup($m['client'] ?? null, $m['seed'] ?? null, $m['lock']['key'],
                $seconds('ttl_ms'), $seconds('node_timeout_ms'), $m['lock']['options'] ?? [], $nodes('nodes'),
                $m['topology'] ?? null, $nodes('sentinels'), $m['master'] ?? null, $m['points'] ?? [], $this,
                $m['one_object'] ?? false, $m['lock']['permits'] ?? 1, $seconds('at_least_ms') ?? 0,
                ($m['lock']['mode'] ?? '') === 'shared'))(...);
        } catch (Unsupported $e) {
            send(['type' => 'unsupported', 'why' => $e->getMessage()]);
            return;
        } catch (\Throwable $e) {
            fail('failed to open the lock: ' . $e->getMessage());
        }
        send(['type' => 'set-up']);
    }

    /** Drops what the trial before has left. Locks of some libraries release themselves then, for which it is too late. */
    private function drop(): void
    {
        while ($this->acquire || $this->grants) {
            try {
                $this->acquire = null;
                array_pop($this->grants);
                gc_collect_cycles();
            } catch (\Throwable) {
            }
        }
    }

    private function acquire(array $m): void
    {
        $grant = ($this->acquire)(isset($m['wait_ms']) ? $m['wait_ms'] / 1e3 : null);
        $line = ['type' => 'acquired', 'id' => $m['id']] + promise($grant->until);
        $grant->owner === null || $line['owner_b64'] = base64_encode($grant->owner);
        $grant->token === null || $line['token'] = $grant->token;
        $this->grants[$m['id']] = $grant;
        send($line);
        $grant->send = fn (array $event) => isset($this->grants[$m['id']]) && send($event + ['grant' => $m['id']]);
        array_map($grant->send, $grant->early);
        for ($end = hrtime(true) + $this->busy * 1e9; hrtime(true) < $end;); // as the user's code would compute
    }

    private function held(array $m): Grant
    {
        return $this->grants[$m['grant']] ?? throw new Refused("grant {$m['grant']} is not held");
    }

    private function release(array $m): void
    {
        $grant = $this->held($m);
        unset($this->grants[$m['grant']]); // it has ended, whatever comes of it
        ($grant->release)();
        send(['type' => 'released', 'id' => $m['id']]);
    }

    private function extend(array $m): void
    {
        $extend = $this->held($m)->extend ?? fail('this lock cannot extend');
        send(['type' => 'extended', 'id' => $m['id']] + promise($extend()));
    }

    /** Drops the grant and all that refers to it. */
    private function forget(array $m): void
    {
        $this->held($m);
        unset($this->grants[$m['grant']]);
        gc_collect_cycles();
        send(['type' => 'forgotten', 'id' => $m['id']]);
    }

    public function atPoint(string $name): void
    {
        $id = count($this->passed);
        $this->passed[$id] = false;
        send(['type' => 'point', 'id' => $id + 1, 'name' => $name]);
        while (!$this->passed[$id]) {
            $this->next();
        }
    }
}

/** Ends the program if nobody reads: the library must not stand still for it. */
function send(array $line): void
{
    static $out = null;
    $out ??= fopen('php://fd/3', 'w');
    $text = json_encode($line, JSON_INVALID_UTF8_SUBSTITUTE | JSON_THROW_ON_ERROR) . "\n";
    foreach (str_split($text, 4096) as $part) { // a pipe that is ready takes as much at once
        $end = hrtime(true) + PATIENCE * 1e9;
        do {
            hrtime(true) > $end && stop('nobody reads');
            [$write, $none] = [[$out], null];
        } while (!@stream_select($none, $write, $none, PATIENCE)); // false: a signal came
        @fwrite($out, $part) === strlen($part) || stop('failed to write');
    }
}

/** Tells the error and ends the program. */
function fail(string $why): never
{
    send(['type' => 'error', 'why' => $why]);
    stop($why);
}

function stop(string $why): never
{
    fwrite(STDERR, "lock program: $why\n");
    exit(1);
}

/** The first process. */
function relay(): never
{
    $command = explode("\0", substr((string) file_get_contents('/proc/self/cmdline'), 0, -1));
    $files = [['pipe', 'r'], STDERR, STDERR, STDOUT];
    $lock = proc_open($command, $files, $pipes, null, ['SIM_ADAPTER' => 'lock'] + getenv()) ?: stop('failed to start the lock');
    while (($state = proc_get_status($lock))['running'] && !feof(STDIN)) {
        [$read, $none] = [[STDIN], null];
        @stream_select($read, $none, $none, 0, 100000) && @fwrite($pipes[0], (string) fread(STDIN, MAX_LINE));
    }
    fclose($pipes[0]);
    for ($end = hrtime(true) + GRACE * 1e9; $state['running'] && hrtime(true) < $end; $state = proc_get_status($lock)) {
        usleep(2000);
    }
    proc_terminate($lock, 9);
    exit($state['running'] ? 0 : $state['exitcode']);
}

getenv('SIM_ADAPTER') === 'lock' ? putenv('SIM_ADAPTER') : relay();
