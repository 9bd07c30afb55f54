//go:build linux && amd64

package guests

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/redis/resp"
)

// asLockProgram is the argument with which the test's own executable is a lock program. The next one says which.
const asLockProgram = "as-lock-program"

// well is the program that does what it should.
const well = "well"

// random is one that puts random commands to the lock's key before it acquires.
const random = "random"

// describes is what the program says of itself.
var describes = program.Ready{Protocol: program.Version, Name: "test", Class: program.Single, Keys: []string{program.KeyPattern},
	Can: []program.Ability{program.TellsOwner, program.TellsValidity, program.SetsUpAgain}, Points: []string{"asked"}, AllClocks: true}

// testLock is a lock program for one node: SET with NX and PX, tried every 50 ms.
type testLock struct {
	in    *bufio.Reader
	setup program.Setup
	node  net.Conn
	reply *bufio.Reader
	held  map[uint64]string
}

func (l *testLock) say(m any) {
	line, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%s\n", line)
}

// hear is the next message.
func (l *testLock) hear(into any) program.Message {
	line, err := l.in.ReadBytes('\n')
	if err != nil {
		os.Exit(0)
	}
	var m program.Message
	if err := json.Unmarshal(line, &m); err != nil {
		panic(err)
	}
	if into != nil {
		_ = json.Unmarshal(line, into)
	}
	return m
}

// address is the node's.
func (l *testLock) address() string {
	return net.JoinHostPort(l.setup.Nodes[0].Host, strconv.Itoa(l.setup.Nodes[0].Port))
}

// do puts a command to the node; an error says that nobody knows what became of it.
func (l *testLock) do(words ...string) (answer string, err error) {
	if l.node == nil {
		if l.node, err = net.DialTimeout("tcp", l.address(), time.Second); err != nil {
			return "", err
		}
		l.reply = bufio.NewReader(l.node)
	}
	_ = l.node.SetDeadline(time.Now().Add(2 * time.Second))
	if _, err = l.node.Write(resp.AppendCommand(nil, words...)); err == nil {
		answer, err = l.reply.ReadString('\n')
	}
	if err == nil && strings.HasPrefix(answer, "$") && !strings.HasPrefix(answer, "$-1") {
		answer, err = l.reply.ReadString('\n')
	}
	if err != nil {
		_ = l.node.Close()
		l.node = nil
	}
	return strings.TrimSpace(answer), err
}

// monotonic is CLOCK_MONOTONIC.
func monotonic() int64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t)
	return t.Nano()
}

// release is the script that deletes the key of its owner.
const release = `if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0`

func (l *testLock) acquire(m program.Message) {
	if len(l.setup.Points) > 0 {
		l.say(program.Message{Type: program.Point, ID: m.ID, Name: "asked"})
		l.hear(nil)
	}
	owner := fmt.Sprintf("%s-%d", l.setup.Client, m.ID)
	ttl := strconv.Itoa(int(*l.setup.Lock.TTLMS))
	until := time.Now().Add(program.Duration(*m.WaitMS))
	for {
		asked := monotonic()
		answer, err := l.do("SET", l.setup.Lock.Key, owner, "NX", "PX", ttl)
		switch {
		case err != nil:
			l.say(program.Message{Type: program.Unknown, ID: m.ID, Why: "no answer"})
		case answer == "+OK":
			l.held[m.ID] = owner
			l.say(program.Message{Type: program.Acquired, ID: m.ID, Owner: []byte(owner), AtNS: asked, ValidityMS: l.setup.Lock.TTLMS})
		case time.Now().After(until):
			l.say(program.Message{Type: program.Refused, ID: m.ID, Why: "taken"})
		default:
			time.Sleep(50 * time.Millisecond)
			continue
		}
		return
	}
}

func (l *testLock) release(m program.Message) {
	answer, err := l.do("EVAL", release, "1", l.setup.Lock.Key, l.held[m.Grant])
	switch {
	case err != nil:
		l.say(program.Message{Type: program.Unknown, ID: m.ID, Why: "no answer"})
	case answer == ":1":
		l.say(program.Message{Type: program.Released, ID: m.ID})
	default:
		l.say(program.Message{Type: program.Refused, ID: m.ID, Why: "not ours"})
	}
}

// serveLock is the program.
func serveLock(kind string) {
	l := &testLock{in: bufio.NewReader(os.Stdin), held: make(map[uint64]string)}
	greets, sets, again, acquires := strange(kind)
	l.hear(nil)
	greets(l)
	l.say(struct {
		Type program.Type `json:"type"`
		program.Ready
	}{program.ReadyType, describes})
	for first := true; ; first = false {
		var setup program.Setup
		switch m := l.hear(&setup); m.Type {
		case program.SetupType:
			if !first {
				again(l)
			}
			if l.node != nil {
				_ = l.node.Close()
			}
			*l = testLock{in: l.in, setup: setup, held: make(map[uint64]string)}
			sets(l)
			l.say(program.Message{Type: program.SetUp})
		case program.AcquireType:
			acquires(l)
			l.acquire(m)
		default:
			l.release(m)
		}
	}
}

// strange is what a program does besides: before it says that it is ready, before it says that it is set up, when it is to be set up again,
// and before it acquires.
func strange(kind string) (greets, sets, again, acquires func(*testLock)) {
	nothing := func(*testLock) {}
	if kind == random {
		return nothing, nothing, nothing, randomCommands
	}
	f := strangeThings[kind].do
	if f == nil {
		f = cannotGoOn[kind]
	}
	switch when, _, _ := strings.Cut(kind, ": "); {
	case f == nil:
		return nothing, nothing, nothing, nothing
	case when == "hello":
		return f, nothing, nothing, nothing
	case when == "setup":
		return nothing, f, nothing, nothing
	case when == "again":
		return nothing, nothing, f, nothing
	}
	return nothing, nothing, nothing, f
}

// cannotGoOn are programs that say setup-again, and cannot do it.
var cannotGoOn = map[string]func(*testLock){
	"again: ends":      func(*testLock) { os.Exit(3) },
	"again: fails":     func(l *testLock) { l.say(program.Message{Type: program.Error, Why: "I cannot"}) },
	"again: garbage":   func(*testLock) { fmt.Println(`{"type": "nonsense"}`) },
	"again: is silent": forEver(func() { time.Sleep(time.Hour) }),
	"again: holds on":  func(l *testLock) { leaked, l.node = append(leaked, l.node), nil },
	"setup: dials on": func(l *testLock) {
		go forEver(func() { time.Sleep(100 * time.Millisecond); dials("tcp", l.address())(l) })(l)
	},
	"setup: ends later": func(*testLock) { time.AfterFunc(time.Second, func() { os.Exit(0) }) },
}

var leaked []net.Conn

// forEver does something again and again.
func forEver(do func()) func(*testLock) {
	return func(*testLock) {
		for {
			do()
		}
	}
}

// strangeThing is what a program does, and how a run with it ends: with what, and with what in the program's log.
type strangeThing struct {
	do           func(*testLock)
	ending, says string
	// slow: it takes long to find out.
	slow bool
}

var strangeThings = map[string]strangeThing{
	"hello: garbage": {do: func(*testLock) { fmt.Println("{\"type\": 7}\n\x00\xff{]\n{\"type\": \"nonsense\"}") },
		ending: `error: c1: the lock program sent a message of an unknown type "nonsense"`, says: "{]"},
	"hello: ends": {do: func(*testLock) { os.Exit(3) }, ending: "ended: exit status 3"},
	"hello: is silent": {do: forEver(func() { time.Sleep(time.Hour) }),
		ending: "error: the locks were not ready within 30s of the run's time"},
	"hello: a daemon": {do: func(*testLock) { startDaemon() }, ending: fine},
	"setup: ends":     {do: func(*testLock) { os.Exit(0) }, ending: "ended: exit status 0"},

	"acquire: garbage": {do: func(*testLock) { fmt.Println("some words\n\x00\xff{]\n{\"type\": \"acquired\", \"id\": \"x\"}") },
		ending: `error: the run is incomplete: client c1: the lock program's message "acquired" cannot be read`, says: "some words"},
	"acquire: words":     {do: func(*testLock) { fmt.Println("some words"); fmt.Fprintln(os.Stderr, "more") }, ending: fine, says: "more"},
	"acquire: ends":      {do: func(*testLock) { panic("I cannot") }, ending: fine + ", and panic: I cannot", says: "I cannot"},
	"acquire: is silent": {do: forEver(func() { time.Sleep(time.Hour) }), ending: "it did not finish"},
	"acquire: closes":    {do: func(*testLock) { _ = os.Stdout.Close(); time.Sleep(time.Hour) }, ending: "it did not finish"},
	"acquire: a child":   {do: func(*testLock) { _ = exec.Command("/bin/sleep", "0.01").Run() }, ending: fine},
	"acquire: a daemon":  {do: func(*testLock) { startDaemon(); os.Exit(0) }, ending: fine + ", and the client ended"},
	"acquire: swapon":    {do: swapOn, ending: "unknown: c1 (SELF) made the system call swapon, which is not modelled"},
	"acquire: eats":      {do: func(*testLock) { eat() }, ending: fine, says: "memory", slow: true},
	"acquire: spins":     {do: forEver(func() {}), ending: "unknown: a program has used 5s of processor time without", slow: true},
	"acquire: reads clock": {do: forEver(func() { _ = time.Now() }),
		ending: "unknown: a program has used 5s of processor time without", slow: true},
	"acquire: endless": {do: forEver(func() { _, _ = os.Stdout.WriteString(strings.Repeat("x", 1<<16)) }),
		ending: "unknown: c1"}, // a line of more than 1 MB, or more than 4 MB at once,
	"acquire: chatters": {do: forEver(func() { fmt.Println("x") }), slow: true,
		ending: "unknown: c1 (SELF) writes more than 4 MB to its outputs at once"},

	"acquire: far":        {do: dials("tcp", "1.1.1.1:80"), ending: fine, says: "connection refused"},
	"acquire: nobody":     {do: dials("tcp", "localhost:1"), ending: fine, says: "connection refused"},
	"acquire: other port": {do: dials("tcp", "127.0.1.1:1"), ending: fine, says: "connection refused"},
	"acquire: other host": {do: dials("tcp", "127.0.3.2:6379"), ending: fine, says: "connection refused"},
	"acquire: IPv6":       {do: dials("tcp", "[::1]:1"), ending: fine, says: "address family not supported"},
	"acquire: UDP":        {do: dials("udp", "1.1.1.1:53"), ending: fine, says: "network is unreachable"},
	"acquire: a name":     {do: dials("tcp", "example.com:80"), ending: fine, says: "no such host"},
	"acquire: Unix":       {do: dials("unix", "/nowhere/at/all"), ending: fine, says: "no such file"},
	"acquire: files":      {do: readFiles, ending: fine, says: "read"},
}

// swapOn makes a call that no lock program makes.
func swapOn(*testLock) { _, _, _ = unix.Syscall(unix.SYS_SWAPON, 0, 0, 0) }

// readFiles reads what differs from one machine, or instant, to another.
func readFiles(*testLock) {
	for _, file := range []string{"/etc/passwd", "/proc/self/stat", "/proc/loadavg", "/proc/uptime", "/dev/urandom"} {
		f, err := os.Open(file)
		if err != nil {
			fmt.Println(err)
			continue
		}
		var b [64]byte
		_, _ = io.ReadFull(f, b[:])
		_ = f.Close()
		fmt.Println("read", file)
	}
}

func dials(network, address string) func(*testLock) {
	return func(*testLock) {
		c, err := net.DialTimeout(network, address, time.Second)
		fmt.Println(err)
		if err == nil {
			_, _ = c.Write([]byte("x"))
			_ = c.Close()
		}
	}
}

// startDaemon starts a process that outlives its parent.
func startDaemon() {
	c := exec.Command("/bin/sh", "-c", "exec >/dev/null 2>&1 </dev/null; sleep 100000 & sleep 100000")
	c.SysProcAttr = &unix.SysProcAttr{Setsid: true}
	if err := c.Start(); err != nil {
		fmt.Println(err)
	}
}

// eat takes memory until there is none.
func eat() {
	var all [][]byte
	for {
		b := make([]byte, 64<<20)
		b[0] = 1 // what it may have counts, not what it touches; to touch all takes a slow machine more processor time than it may
		all = append(all, b)
		if len(all) > 200 {
			fmt.Println(base64.StdEncoding.EncodeToString(all[0][:1]))
		}
	}
}

// randomCommands puts commands to the lock's key that locks, and others, put to it.
func randomCommands(l *testLock) {
	r := rand.New(rand.NewPCG(l.setup.Seed, uint64(len(l.setup.Client))))
	key, other := l.setup.Lock.Key, l.setup.Lock.Key+":other"
	for range 400 {
		ms := strconv.Itoa([]int{1, 5, 20, 100, 1000, 5000}[r.IntN(6)])
		value := fmt.Sprintf("%s-%d", l.setup.Client, r.IntN(3))
		all := [][]string{
			{"SET", key, value}, {"SET", key, value, "NX", "PX", ms}, {"SET", key, value, "XX", "PX", ms}, {"SET", key, value, "KEEPTTL"},
			{"SET", key, value, "GET"}, {"SETNX", key, value}, {"PSETEX", key, ms, value}, {"SETEX", key, "1", value}, {"GETSET", key, value},
			{"GETDEL", key}, {"GETEX", key, "PX", ms}, {"GETEX", key, "PERSIST"}, {"APPEND", key, "x"}, {"SETRANGE", key, "1", "y"}, {"INCR", key},
			{"PEXPIRE", key, ms}, {"PEXPIRE", key, ms, "GT"}, {"PEXPIRE", key, ms, "NX"}, {"PEXPIRE", key, "-5"}, {"PERSIST", key},
			{"EXPIRE", key, "2"},
			{"DEL", key}, {"UNLINK", key, other}, {"RENAME", key, other}, {"RENAME", other, key},
			{"COPY", key, other, "REPLACE"}, {"COPY", other, key, "REPLACE"},
			{"MSET", key, value, other, value}, {"EVAL", release, "1", key, value}, {"GET", key}, {"TYPE", key}, {"FLUSHALL"}, {"SELECT", "0"},
			{"EVAL", "redis.call('set', KEYS[1], ARGV[1]); redis.call('pexpire', KEYS[1], ARGV[2]); return 1", "1", key, value, ms},
			{"HSET", key, "f", value}, {"LPUSH", key, value}, {"BITOP", "NOT", key, other}, {"MOVE", key, "1"}, {"SWAPDB", "0", "1"},
		}
		_, _ = l.do(all[r.IntN(len(all))]...)
		if r.IntN(4) == 0 {
			time.Sleep(time.Duration(r.IntN(20)) * time.Millisecond)
		}
	}
}
