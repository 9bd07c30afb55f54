//go:build linux && amd64

package supervisor_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/supervisor"
	"github.com/redlock-sim/redlock-sim/internal/supervisor/launch"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

// cases are those of cases.c that need one program, and what that says.
var cases = []struct {
	name, args string
	want       []string
}{
	{"signalfd", "", []string{"1000 1000 1 1 10", "2000 2000 1 1 17", "7000 7000 0 0 0", "8000 8000 read 10"}},
	{"sigwait", "", []string{"2000 2000 -1 1", "5000 5000 14", "6000 6000 10"}},
	{"sigsuspend", "", []string{"1000 1000 blocked 0", "3000 3000 -1 14", "4000 4000 -1 1 10", "5000 5000 -1 14"}},
	{"timers", "", []string{"2000 2000 thread 7", "5000 5000 10 1 8"}},
	{"shared", "", []string{"3000 3000 ready"}},
	{"robust", "", []string{"2000 2000 1"}},
	{"timerfd", "", []string{"0 0 left 2000", "2000 2000 child 1", "9000 9000 child 2", "14000 14000 stopped 0"}},
	{"flock", "", []string{"0 0 nonblocking 1", "5000 5000 locked", "9000 9000 of a process"}},
	{"pipe", "", []string{"0 0 wrote 2024269952", "1000 1000 poll 1", "1000 1000 read 5242880", "1000 1000 sum 2024269952"}},
	{"children", "", []string{"3000 3000 second 3", "5000 5000 third 5", "5000 5000 first 1", "6000 6000 poll 1",
		"7000 7000 ignored -1 1"}},
	{"herd", "", []string{"1000 1000 took a", "2000 2000 took b", "3000 3000 took c", "4000 4000 took d", "5000 5000 took e",
		"6000 6000 took f", "7000 7000 locked", "8000 8000 locked", "9000 9000 locked"}},
	{"threads", "", []string{"abcdefghabcdefgh"}},
	{"until", "100", []string{"100000 100000 day"}},
	{"ticks", "3", []string{"100 100 tick", "200 200 tick", "300 300 tick"}},
	{"yield", "", []string{"yielded"}},
	{"spin", "", []string{"spun"}},
	{"beside", "", []string{"spun"}},
}

func lines(name string, said ...string) (list []string) {
	for _, line := range said {
		list = append(list, name+": "+line)
	}
	return list
}

func TestCases(t *testing.T) {
	for _, library := range []string{"C", "static C", "musl C"} {
		testCases(t, library)
	}
}

// TestWithoutNamespace has programs with the machine's numbers of processes: all else is the same.
func TestWithoutNamespace(t *testing.T) {
	supervisor.WithoutNamespace(t)
	testCases(t, "C")
}

func testCases(t *testing.T, library string) {
	t.Helper()
	for _, c := range cases {
		t.Run(library+" "+c.name, func(t *testing.T) {
			one := func() string {
				w := newWorld(t, 1)
				defer w.Close()
				w.ends(w.start(w.a, "p", command(t, library, append([]string{c.name}, strings.Fields(c.args)...)...)))
				w.expect(lines("p", append(c.want, "ended")...)...)
				return w.history()
			}
			repeats(t, one)
		})
	}
}

// two are cases of two programs, on the hosts b and a.
var two = []struct {
	server, client string
	want           []string
}{
	{"take 7000", "give 127.0.1.2 7000", []string{"client: 20 20 wrote 2024269952", "client: ended", "server: 1030 1030 read 5242880",
		"server: 1030 1030 sum 2024269952", "server: ended"}},
	{"waitall 7000", "drip 127.0.1.2 7000", []string{"server: 11030 11030 10 abcdefghij", "client: ended",
		"server: 13030 13030 2", "server: ended"}},
	{"listen 7000", "connecting 127.0.1.2 7000", []string{"server: 0 0 listens", "client: 0 0 -1 1", "client: 5 5 0",
		"client: 20 20 1 Success",
		"client: ended", "server: 5000 5000 accepted 1", "server: 5000 5000 0 0", "server: ended"}},
	{"listen 7000", "connecting 127.0.1.2 7001", []string{"server: 0 0 listens", "client: 0 0 -1 1", "client: 5 5 0",
		"client: 20 20 1 Connection refused", "client: ended"}},
	{"listen 7000", "refused 127.0.1.2 7001", []string{"server: 0 0 listens", "client: 20 20 -1 1", "client: ended"}},
	{"listen 7000", "refused 127.0.9.9 7000", []string{"server: 0 0 listens", "client: 20 20 -1 1", "client: ended"}},
	{"listen 7000", "timeouts 127.0.1.2 7000", []string{"server: 0 0 listens", "client: 5 5 -1 1", "client: 1005 1005 -1 1",
		"client: 3005 3005 -1 1", "client: ended", "server: 5000 5000 accepted 1", "server: 5000 5000 0 0", "server: ended"}},
	{"listen 7000", "halfclose 127.0.1.2 7000", []string{"server: 0 0 listens", "server: 5000 5000 accepted 1", "server: 5000 5000 4 0",
		"server: ended", "client: 4010 4010 0", "client: 4010 4010 0", "client: ended"}},
}

func TestTwoPrograms(t *testing.T) {
	for _, c := range two {
		t.Run(c.server+" "+c.client, func(t *testing.T) {
			one := func() string {
				w := newWorld(t, 1)
				defer w.Close()
				server := w.start(w.b, "server", command(t, "C", strings.Fields(c.server)...))
				w.run(w.Now() + time.Second)
				client := w.start(w.a, "client", command(t, "C", strings.Fields(c.client)...))
				w.ends(client)
				if c.want[len(c.want)-1] == "server: ended" {
					w.ends(server)
				}
				w.expect(c.want...)
				return w.history()
			}
			repeats(t, one)
		})
	}
}

func TestAConnectionIsReset(t *testing.T) {
	w := newWorld(t, 1)
	server := w.start(w.b, "server", command(t, "C", "listen", "7000"))
	c := w.NewConn("elsewhere", supervisor.Address{IP: [4]byte{127, 0, 9, 9}, Port: 1}, supervisor.Address{IP: w.b.IP, Port: 7000})
	if err := c.Connect(); err != nil {
		t.Fatal(err)
	}
	c.Deliver(supervisor.Listener, []byte("hello"))
	w.run(5500 * time.Millisecond)
	w.ends(server)
	w.expect("server: 0 0 listens", "server: 5000 5000 accepted 1", "server: 5000 5000 5 0", "server: ended")

	w = newWorld(t, 1)
	server = w.start(w.b, "server", command(t, "C", "listen", "7000"))
	c = w.NewConn("elsewhere", supervisor.Address{IP: [4]byte{127, 0, 9, 9}, Port: 1}, supervisor.Address{IP: w.b.IP, Port: 7000})
	if err := c.Connect(); err != nil {
		t.Fatal(err)
	}
	w.run(7 * time.Second)
	c.Reset(supervisor.Listener)
	w.ends(server)
	w.expect("server: 0 0 listens", "server: 5000 5000 accepted 1", "server: 7000 7000 -1 1", "server: ended")
	if err := c.Connect(); !errors.Is(err, supervisor.ErrRefused) {
		t.Errorf("a connection to nobody: %v", err)
	}
}

// TestClosedBeforeItIsOpen: a connection that a program closes before it is open is not open, although nobody is told.
func TestClosedBeforeItIsOpen(t *testing.T) {
	w := newWorld(t, 1)
	w.net.lost = true
	p := w.start(w.a, "p", []string{command(t, "Python")[0], "-c", `
import socket, time
s = socket.socket()
s.setblocking(False)
s.connect_ex(("127.0.1.2", 7000))
time.sleep(1)
s.close()
time.sleep(1)
`})
	w.run(time.Second / 2)
	if len(w.net.dialed) != 1 || !w.net.dialed[0].IsOpen(supervisor.Opener) {
		t.Fatal("it is not being opened")
	}
	w.run(3 * time.Second / 2)
	if w.net.dialed[0].IsOpen(supervisor.Opener) {
		t.Error("it is open after the program has closed it")
	}
	w.ends(p)
}

// TestEndedBeforeItIsOpen: a program ends while its connection is being opened. The server gets it all the same, and it is
// over. (A reset before it is accepted is seen as an end.)
func TestEndedBeforeItIsOpen(t *testing.T) {
	w := newWorld(t, 1)
	server := w.start(w.b, "server", command(t, "C", "listen", "7000"))
	w.run(w.Now() + time.Second)
	client := w.start(w.a, "client", []string{command(t, "Python")[0], "-c", `
import os, socket
s = socket.socket()
s.setblocking(False)
s.connect_ex(("127.0.1.2", 7000))
os._exit(0)
`})
	w.ends(client)
	w.ends(server)
	w.expect("server: 0 0 listens", "client: ended", "server: 5000 5000 accepted 1", "server: 5000 5000 0 0", "server: ended")
}

// TestDatagrams: a UDP socket can be made and bound, and leads nowhere.
func TestDatagrams(t *testing.T) {
	w := newWorld(t, 1)
	p := w.start(w.a, "p", []string{command(t, "Python")[0], "-c", `
import errno, socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("", 0))
print(s.type == socket.SOCK_DGRAM, s.getsockname()[1] > 0, s.getsockopt(socket.SOL_SOCKET, socket.SO_TYPE) == socket.SOCK_DGRAM)
def tried(do):
    try:
        return do()
    except OSError as err:
        return errno.errorcode.get(err.errno, "timed out")
print(tried(lambda: s.connect(("127.0.1.2", 53))), tried(lambda: s.sendto(b"x", ("127.0.1.2", 53)) and "sent"))
s.settimeout(2)
print(tried(lambda: s.recv(10)), tried(s.listen), time.monotonic() > 2)
s.close()
`})
	w.ends(p)
	w.expect("p: True True True", "p: ENETUNREACH EISCONN", "p: timed out ENOTSUP True", "p: ended")
}

func TestRandomnessHasNoEnd(t *testing.T) {
	one := func(seed uint64) []string {
		w := newWorld(t, seed)
		defer w.Close()
		w.ends(w.start(w.a, "p", command(t, "C", "urandom")))
		if len(w.said) != 6 || w.said[5] != "p: ended" {
			t.Fatalf("it said %q, %s", w.said, &w.errs)
		}
		return w.said
	}
	if a, b, c := one(1), one(1), one(2); strings.Join(a, "") != strings.Join(b, "") || a[0] == c[0] {
		t.Errorf("seed 1: %q, again: %q, seed 2: %q", a, b, c)
	}
}

// sockets are those that processes of this machine have, of all kinds that leave a host.
func sockets(t *testing.T, pid string) map[string]string {
	list := make(map[string]string)
	for _, kind := range []string{"tcp", "tcp6", "udp", "udp6", "udplite", "raw", "raw6", "packet", "netlink", "icmp"} {
		text, err := os.ReadFile(filepath.Join("/proc", pid, "net", kind))
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			for _, field := range strings.Fields(line) {
				list[field] = kind
			}
		}
	}
	return list
}

// TestNoPacketLeaves sees that a program that asks for sockets of all kinds has none that the kernel would send a packet for.
func TestNoPacketLeaves(t *testing.T) {
	w := newWorld(t, 1)
	server := w.start(w.b, "server", command(t, "C", "listen", "7000"))
	client := w.start(w.a, "client", command(t, "C", "kinds"))
	w.run(time.Second)
	want := []string{"server: 0 0 listens", "client: 0 0 3 0"} // UDP: see TestDatagrams
	for range 6 {
		want = append(want, "client: 0 0 -1 1")
	}
	w.expect(append(want, "client: 20 20 connected")...)
	seen := 0
	for _, p := range []*supervisor.Program{server, client} {
		for _, pid := range p.Processes() {
			real := sockets(t, fmt.Sprint(pid))
			files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
			for _, file := range files {
				to, _ := os.Readlink(file)
				inode := regexp.MustCompile(`^socket:\[(\d+)\]$`).FindStringSubmatch(to)
				if inode == nil {
					continue
				}
				if seen++; real[inode[1]] != "" {
					t.Errorf("a program has a socket of the kind %s", real[inode[1]])
				}
			}
		}
	}
	if seen < 2 {
		t.Errorf("%d sockets, want those of a listener and a connection", seen)
	}
}

func TestUnixSockets(t *testing.T) {
	foreign := filepath.Join(t.TempDir(), "foreign")
	l, err := net.Listen("unix", foreign)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	w := newWorld(t, 1)
	w.ends(w.start(w.a, "p", command(t, "C", "unix"), "FOREIGN="+foreign))
	w.expect("p: 0 0 own 0", "p: 0 0 own, long 0", "p: 0 0 foreign -1", "p: ended")
}

func TestHostsHaveNames(t *testing.T) {
	w := newWorld(t, 1)
	w.ends(w.start(w.a, "p", []string{command(t, "Python")[0], "-c",
		"import socket; print(socket.gethostbyname('b'), socket.gethostname(), [x[4][0] for x in socket.getaddrinfo('a', 1)][0])\n" +
			"try: socket.gethostbyname('example.com')\nexcept OSError as e: print('none')"}))
	w.expect("p: 127.0.1.2 a 127.0.1.1", "p: none", "p: ended")
}

// needsNamespace skips a test where programs have the machine's numbers of processes.
func needsNamespace(t *testing.T) {
	if launch.BestNamespace() == launch.Shared || os.Getenv(withoutRights) != "" {
		suite.Lacks(t, "a namespace of process numbers")
	}
}

func TestNumbersOfProcesses(t *testing.T) {
	needsNamespace(t)
	one := func() string {
		w := newWorld(t, 1)
		defer w.Close()
		w.ends(w.start(w.a, "p", []string{command(t, "Python")[0], "-c", `
import os, threading, uuid
child = os.fork()
if child == 0: os._exit(0)
print(os.getpid(), child, os.waitpid(child, 0)[0], threading.get_native_id(), flush=True)
print(uuid.uuid1())
`}))
		if want := "p: 1 2 2 1"; len(w.said) == 0 || w.said[0] != want {
			t.Errorf("it said %q, want %q first", w.said, want)
		}
		return w.history()
	}
	repeats(t, one)
}

// TestTheMachineDoesNotShow reads what differs from machine to machine.
func TestTheMachineDoesNotShow(t *testing.T) {
	w := newWorld(t, 1)
	w.ends(w.start(w.a, "p", []string{command(t, "Python")[0], "-c", `
import os
print(os.cpu_count(), os.uname().nodename)
for name in "/etc/hostname /proc/self/cgroup /proc/loadavg /proc/meminfo /sys/fs/cgroup/cgroup.controllers /tmp/hsperfdata_root".split():
    try:
        print(open(name).readline().strip())
    except OSError as e:
        print(os.strerror(e.errno))
`}))
	w.expect("p: 1 a", "p: a", "p: 0::/", "p: 0.00 0.00 0.00 1/1 1", "p: MemTotal:        4194304 kB", "p: No such file or directory",
		"p: Permission denied", "p: ended")
}

func TestDoubts(t *testing.T) {
	supervisor.SetMaxSpin(t, 300*time.Millisecond)
	for name, want := range map[string]string{
		"unmodelled": "made the system call keyctl, which is not modelled",
		"inherit":    "uses the futex operation 6, which is not modelled",
		"stop":       "stops a process with SIGSTOP, which is not modelled",
		"compute":    "has used 300ms of processor time without a system call that could wait",
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 1)
			w.start(w.a, "p", command(t, "C", name))
			w.run(10 * time.Second)
			if why := w.Doubt(); !strings.Contains(why, want) {
				t.Errorf("the doubt is %q, want one with %q", why, want)
			}
			if at := w.Now().Round(time.Millisecond); at != time.Second {
				t.Errorf("time has gone on to %s", at)
			}
		})
	}
}

func TestInput(t *testing.T) {
	w := newWorld(t, 1)
	p := w.start(w.a, "p", command(t, "C", "echo", "10"))
	p.Write([]byte("one\ntwo\n"))
	w.run(2 * time.Second)
	p.Write([]byte("three\n"))
	p.CloseInput()
	w.ends(p)
	w.expect("p: one", "p: two", "p: three", "p: 2000 2000 over", "p: ended")
}

func TestKill(t *testing.T) {
	w := newWorld(t, 1)
	p := w.start(w.a, "p", command(t, "C", "ticks", "100"))
	w.run(250 * time.Millisecond)
	p.Kill()
	w.run(time.Second)
	w.expect("p: 100 100 tick", "p: 200 200 tick", "p: killed")
}

func TestAKilledServerClosesItsConnections(t *testing.T) {
	w := newWorld(t, 1)
	server := w.start(w.b, "server", command(t, "C", "pong", "7000"))
	w.start(w.a, "client", command(t, "C", "halfclose", "127.0.1.2", "7000"))
	w.run(15 * time.Millisecond)
	server.Kill()
	if w.b.Listens(7000) {
		t.Error("somebody listens")
	}
	w.run(time.Second)
	w.expect("server: killed", "client: 25 25 0", "client: 25 25 0", "client: ended")
}

func TestPause(t *testing.T) {
	w := newWorld(t, 1)
	p := w.start(w.a, "p", command(t, "C", "ticks", "3"))
	w.run(150 * time.Millisecond)
	w.a.Pause()
	w.run(1000 * time.Millisecond)
	w.expect("p: 100 100 tick")
	w.a.Resume()
	w.ends(p)
	w.expect("p: 100 100 tick", "p: 1000 1000 tick", "p: 1100 1100 tick", "p: ended")
}

// TestPauseBeyondADeadline: what has come in the pause is seen first, as poll looks once more before it tells that the time is over.
func TestPauseBeyondADeadline(t *testing.T) {
	w := newWorld(t, 1)
	p, other := w.start(w.a, "p", command(t, "C", "polls", "1000")), w.start(w.a, "other", command(t, "C", "polls", "1000"))
	w.run(100 * time.Millisecond)
	w.a.Pause()
	w.run(500 * time.Millisecond)
	p.Write([]byte("one\n"))
	w.run(2 * time.Second)
	w.a.Resume()
	w.ends(p, other)
	w.expect("p: 2000 2000 1", "p: ended", "other: 2000 2000 0", "other: ended")
}

// TestQuiet: what a thread waits for by the clock does not let it go on, and nobody notices when that is over.
func TestQuiet(t *testing.T) {
	w := newWorld(t, 1)
	p := w.start(w.a, "p", command(t, "C", "ticks", "3"))
	asked := w.start(w.a, "asked", command(t, "C", "echo", "10"))
	w.run(150 * time.Millisecond)
	w.a.Quiet(true)
	w.run(500 * time.Millisecond)
	asked.Write([]byte("one\n"))
	w.run(1000 * time.Millisecond)
	w.expect("p: 100 100 tick", "asked: one")
	w.a.Quiet(false)
	asked.CloseInput()
	w.ends(p, asked)
	w.expect("p: 100 100 tick", "asked: one", "asked: 1000 1000 over", "asked: ended", "p: 1000 1000 tick", "p: 1100 1100 tick", "p: ended")
}

// TestLacks: a program does not find what it is not to find.
func TestLacks(t *testing.T) {
	w := newWorld(t, 1)
	line := func(text []byte) { w.said = append(w.said, string(text)) }
	script := "cat /proc/loadavg /proc/uptime 2>&1"
	p, err := w.a.Start(supervisor.Command{Path: "/bin/sh", Args: []string{"-c", script}, Env: environment, Dir: t.TempDir(),
		Lacks: []string{"/proc/uptime"}, Output: line})
	if err != nil {
		t.Fatal(err)
	}
	w.ends(p)
	w.expect("0.00 0.00 0.00 1/1 1", "cat: /proc/uptime: No such file or directory")
}

func TestClocks(t *testing.T) {
	w := newWorld(t, 1)
	ticks := w.start(w.a, "ticks", command(t, "C", "ticks", "3"))
	until := w.start(w.a, "until", command(t, "C", "until", "5"))
	w.run(150 * time.Millisecond)
	wall, monotonic := w.a.Wall(), w.a.Monotonic()
	now := int64(w.Now())
	// The time of day jumps by 2 s; the other clock goes at half the speed.
	wall.Base += int64(2 * time.Second)
	monotonic = supervisor.Clock{Base: monotonic.Base + now - monotonic.Since, Since: now, Rate: 0.5}
	w.a.SetClocks(wall, monotonic)
	w.ends(ticks, until)
	w.expect("ticks: 100 100 tick", "ticks: 175 2200 tick", "ticks: 225 2300 tick", "ticks: ended", "until: 1575 5000 day", "until: ended")
}

func TestPowerCut(t *testing.T) {
	w := newWorld(t, 1)
	dir := t.TempDir()
	p, err := w.a.Start(supervisor.Command{Path: command(t, "C")[0], Args: []string{"append"}, Dir: dir, Env: environment})
	if err != nil {
		t.Fatal(err)
	}
	w.run(time.Second)
	p.Kill()
	if err := w.a.CutPower(dir); err != nil {
		t.Fatal(err)
	}
	holds := func(files map[string]string) {
		t.Helper()
		for name, want := range files {
			if got, err := os.ReadFile(filepath.Join(dir, name)); string(got) != want || err != nil {
				t.Errorf("%s has %q (%v), want %q", name, got, err, want)
			}
		}
	}
	holds(map[string]string{"journal": "synced ", "never": ""})

	journal := filepath.Join(dir, "journal")
	err = errors.Join(w.a.Empty(journal), os.WriteFile(journal, []byte("not synced"), 0o600), w.a.CutPower(dir))
	if err != nil {
		t.Fatal(err)
	}
	holds(map[string]string{"journal": ""})
}

// TestOthersGoOn: for each supervisor at work Go's scheduler has one processor more, as it waits for programs without telling it.
func TestOthersGoOn(t *testing.T) {
	now, most := supervisor.Bound()
	more := most - now + 2 // two more at once than there were
	processors := runtime.GOMAXPROCS(0)
	var list []*supervisor.Supervisor
	for range more {
		s, err := supervisor.New(supervisor.Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		s.Unbind()
		if err := s.Bind(); err != nil {
			t.Fatal(err)
		}
		list = append(list, s)
	}
	if got := runtime.GOMAXPROCS(0) - processors; got != 2 {
		t.Errorf("%d processors more for two more at once", got)
	}
	for _, s := range list {
		s.Close()
	}
	if after, _ := supervisor.Bound(); after != now {
		t.Errorf("%d are at work, not %d", after, now)
	}
}
