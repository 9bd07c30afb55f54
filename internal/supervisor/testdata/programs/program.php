<?php
$begin = hrtime(true);
$wall = microtime(true);

function say(...$what) {
    global $begin, $wall;
    echo round((hrtime(true) - $begin) / 1e6), ' ', round((microtime(true) - $wall) * 1000), ' ', implode(' ', $what), "\n";
}

function day() {
    sleep(3600);
    usleep(500000);
    say('slept');
    [$a, $b] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
    $read = [$a];
    $write = $except = [];
    say('select', stream_select($read, $write, $except, 20));
    stream_set_timeout($a, 12);
    fgets($a);
    say('read');
    say('child', proc_close(proc_open(['/bin/sh', '-c', 'sleep 4; exit 5'], [], $pipes)));
    echo 'random ', mt_rand(), ' ', random_int(0, 1000000), ' ', bin2hex(random_bytes(4)), ' ', uniqid(), "\n";
}

function serve($port) {
    $listener = stream_socket_server("tcp://0.0.0.0:$port");
    $conn = stream_socket_accept($listener, 100, $peer);
    say('accepted', explode(':', $peer)[0]);
    while (($line = fgets($conn)) !== false) {
        sleep(1);
        say('heard', trim($line));
        fwrite($conn, "you said $line");
    }
    say('over');
}

function ask($host, $port) {
    $conn = stream_socket_client("tcp://$host:$port", $errno, $error, 10);
    say('connected');
    foreach (['one', 'two'] as $word) {
        fwrite($conn, "$word\n");
        say(trim(fgets($conn)));
    }
}

function crash() {
    sleep(2);
    exec('kill -ABRT ' . getmypid());
    sleep(1);
}

$argv[1](...array_slice($argv, 2));
