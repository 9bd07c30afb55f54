package live_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server"
)

// asNobody does something as another user of this machine.
func asNobody(t testing.TB, do func()) {
	t.Helper()
	if os.Getuid() != 0 {
		suite.Lacks(t, "the rights of root, who alone can be somebody else")
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Setfsuid(65534); err != nil { // of this thread: sockets that it makes are nobody's
		t.Fatal(err)
	}
	defer func() { _ = unix.Setfsuid(0) }()
	do()
}

// told is what somebody else hears who gives an order at an address; empty: nothing.
func told(t testing.TB, network, address, order string) (answer string) {
	asNobody(t, func() {
		c, err := net.Dial(network, address)
		if err != nil {
			return
		}
		defer func() { _ = c.Close() }()
		_ = c.SetDeadline(time.Now().Add(suite.Patience))
		_, _ = io.WriteString(c, order)
		text, err := io.ReadAll(io.LimitReader(c, 100))
		if answer = string(text); errors.Is(err, os.ErrDeadlineExceeded) {
			answer = "a connection that stays open"
		}
	})
	return answer
}

// family are this process and its descendants.
func family(t testing.TB) []int {
	t.Helper()
	list := []int{os.Getpid()}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	parents := make(map[int]int)
	for _, e := range entries {
		var pid, parent int
		var state string
		text, _ := os.ReadFile("/proc/" + e.Name() + "/stat")
		_, rest, _ := strings.Cut(string(text), ") ")
		if _, err := fmt.Sscan(e.Name(), &pid); err == nil {
			_, _ = fmt.Sscan(rest, &state, &parent)
			parents[pid] = parent
		}
	}
	for i := 0; i < len(list); i++ {
		for pid, parent := range parents {
			if parent == list[i] {
				list = append(list, pid)
			}
		}
	}
	return list
}

// doors are where a family listens, as network and address.
func doors(t testing.TB, family []int) (list [][2]string) {
	t.Helper()
	for _, pid := range family {
		open := make(map[string]bool)
		links, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
		for _, l := range links {
			to, _ := os.Readlink(l)
			open[strings.TrimSuffix(strings.TrimPrefix(to, "socket:["), "]")] = true
		}
		tcp, err := os.ReadFile("/proc/net/tcp")
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(tcp)) {
			f := strings.Fields(line)
			if len(f) > 9 && f[3] == "0A" && open[f[9]] {
				var port int
				_, _ = fmt.Sscanf(f[1], "0100007F:%X", &port)
				list = append(list, [2]string{"tcp", fmt.Sprintf("127.0.0.1:%d", port)})
			}
		}
		local, err := os.ReadFile("/proc/net/unix")
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(local)) {
			f := strings.Fields(line)
			if len(f) > 7 && f[3] == "00010000" && open[f[6]] {
				path := f[7]
				if !filepath.IsAbs(path) {
					cwd, _ := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
					path = filepath.Join(cwd, path)
				}
				list = append(list, [2]string{"unix", path})
			}
		}
	}
	return slices.Compact(list)
}

// Wherever a run listens, another user of the machine gets nothing but a refusal.
func TestARunLetsNobodyElseIn(t *testing.T) {
	for _, etcd := range []bool{true, false} {
		if _, err := server.FindEtcd(); err != nil && etcd {
			t.Run("etcd", func(t *testing.T) { suite.Lacks(t, "etcd") })
			continue
		}
		if !etcd {
			t.Setenv("REDLOCK_SIM_ETCD", "/nonexistent")
		}
		s := spec(t, 3)
		s.Replicated, s.Lock.Tokens = true, lock.Consensus
		w := open(t, s, &observed{})
		mustOK(t, w, "c1", history.Acquire)
		found := doors(t, family(t))
		// Three nodes, the resource, the store; of two clients links to the primary, the
		// resource and the store, and two of replicas; and etcd's socket for its peers.
		want := 13
		if etcd {
			want++
		}
		if len(found) != want {
			t.Errorf("%d doors: %v, want %d", len(found), found, want)
		}
		refused := 0
		for _, d := range found {
			for _, order := range []string{"FLUSHALL\r\nQUIT\r\n", "GET /v3/kv/range HTTP/1.1\r\nHost: etcd\r\n\r\n"} {
				if answer := told(t, d[0], d[1], order); strings.HasPrefix(answer, "-NOAUTH") {
					refused++
				} else if answer != "" {
					t.Errorf("%v said %q to a stranger", d, answer)
				}
			}
		}
		if refused == 0 {
			t.Error("no node refused a stranger")
		}
		log, _ := os.ReadFile(filepath.Join(s.Dir, "client-c1.log"))
		if !strings.Contains(string(log),
			"the link from c1 to resource refused a connection: it is user 65534's; only user 0 and root are let in") {
			t.Errorf("the log of c1 says: %s", log)
		}
		mustOK(t, w, "c1", history.Release)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// While a node is dead, somebody else can listen at its port. Links do not lead there.
func TestNobodyTakesThePlaceOfADeadNode(t *testing.T) {
	w := open(t, spec(t, 1), &observed{})
	mustOK(t, w, "c1", history.Acquire)
	if err := w.Kill("A"); err != nil {
		t.Fatal(err)
	}
	var stranger net.Listener
	asNobody(t, func() {
		var err error
		if stranger, err = net.Listen("tcp", w.Endpoint("A").Address); err != nil {
			t.Fatal(err)
		}
	})
	var connections atomic.Int32
	heard := make(chan string, 1)
	go func() {
		var all strings.Builder
		for {
			c, err := stranger.Accept()
			if err != nil {
				heard <- all.String()
				return
			}
			connections.Add(1)
			_ = c.SetDeadline(time.Now().Add(suite.Patience))
			text, _ := io.ReadAll(c)
			_ = c.Close()
			all.Write(text)
		}
	}()
	if do(w, "c1", history.Release).Type == history.OK {
		t.Error("a dead node released the lock")
	}
	// The release may have ended with the old connection, which was broken: then the next command opens one.
	suite.Eventually(t, "a connection to the stranger", func() bool {
		if do(w, "c1", history.Acquire).Type == history.OK {
			t.Error("a dead node granted the lock")
		}
		return connections.Load() > 0
	})
	_ = stranger.Close()
	if got := suite.Receive(t, "the stranger's end", heard); got != "" {
		t.Errorf("a stranger in the place of a node heard %q", got)
	}
	if err := w.Restart("A", world.KeepData); err != nil {
		t.Fatal(err)
	}
}
