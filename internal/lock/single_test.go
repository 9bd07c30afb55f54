package lock_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/redis/command/commandtest"
)

// single is a lock on one node for a second.
func single(algorithm string) lock.Config { return lock.Config{Algorithm: algorithm, TTL: time.Second} }

// watched is a client with a watchdog at a table with one node.
func watched(t *testing.T, algorithm string, m lock.Mistakes) (*table, *env, lock.Lock) {
	tb, c := newTable(1), single(algorithm)
	c.Mistakes = m
	e, l := tb.sit(t, "c1", c)
	return tb, e, l
}

// What each lock on one node does when c2 comes while c1 holds, after c1's lease,
// and when c1 then releases late.
func TestLocksOnOneNode(t *testing.T) {
	for algorithm, want := range map[string]struct {
		steals, expires bool // c2 gets it meanwhile; c2 gets it after the TTL
		deletes         bool // c1's late release takes c2's key away
	}{
		"set-nx-px":       {false, true, false},
		"constant-value":  {false, true, true},
		"set-without-nx":  {true, true, false},
		"setnx-del":       {false, false, true},
		"setnx-pexpire":   {false, true, true},
		"lock-delay":      {false, false, false},
		"watchdog":        {false, true, false}, // nobody runs its watchdog here
		"watchdog-blind":  {false, true, false},
		"set-ifeq":        {false, true, false},
		"delifeq":         {false, true, false},
		"hash-field":      {false, true, false},
		"reentrant":       {false, true, false},
		"reentrant-leaky": {false, true, false},
	} {
		tb := newTable(1)
		_, l1 := tb.sit(t, "c1", single(algorithm))
		_, l2 := tb.sit(t, "c2", single(algorithm))
		g1, r1 := l1.Acquire()
		if r1.Outcome != lock.OK || !slices.Equal(g1.Nodes, []int{0}) || !g1.Forever && l1.Remaining(g1) != time.Second {
			t.Errorf("%s: first acquire %+v, %+v", algorithm, g1, r1)
		}
		if _, r := l2.Acquire(); want.steals != (r.Outcome == lock.OK) {
			t.Errorf("%s: acquire while held: %+v", algorithm, r)
		}
		tb.T += time.Second + outlives
		if _, r := l2.Acquire(); want.expires != (r.Outcome == lock.OK) {
			t.Errorf("%s: acquire after the lease: %+v", algorithm, r)
		}
		tb.nodes[0].Memory().Set("lock", "1", time.Hour, false) // as c2's would be under constant-value
		if algorithm == "hash-field" {
			tb.nodes[0].Memory().Del("lock")
			tb.nodes[0].Memory().HSet("lock", "lock", "1")
		}
		l1.Release(g1)
		if kept := tb.nodes[0].Memory().Find("lock") >= 0; kept == want.deletes {
			t.Errorf("%s: after the late release the other's key is there: %v", algorithm, kept)
		}
	}
}

func TestOutcomesOfOneNode(t *testing.T) {
	for algorithm, late := range map[string]lock.Outcome{
		"set-nx-px": lock.Fail, "constant-value": lock.Fail, "set-without-nx": lock.Fail, "setnx-pexpire": lock.Fail,
		"lock-delay": lock.Fail, "setnx-del": lock.OK, "delifeq": lock.Fail, "hash-field": lock.Fail,
	} {
		for _, c := range []struct {
			what string
			way  way
			want lock.Outcome
		}{
			{"dead", commandtest.Dead, lock.Fail}, {"mute", commandtest.Mute, lock.Info}, {"answers", nil, lock.OK},
		} {
			tb := newTable(1)
			tb.ways(c.way)
			_, l := tb.sit(t, "c1", single(algorithm))
			if g, r := l.Acquire(); r.Outcome != c.want || r.Outcome != lock.OK && g.Owner != "" {
				t.Errorf("%s, the node is %s: acquire %+v, %+v", algorithm, c.what, g, r)
			}
			tb.ways()
			tb.nodes[0].Memory().Del("lock")
			g, _ := l.Acquire()
			tb.ways(c.way)
			if r := l.Release(g); r.Outcome != c.want {
				t.Errorf("%s, the node is %s: release %+v", algorithm, c.what, r)
			}
		}
		tb := newTable(1)
		tb.ways(tb.slow(0, time.Second))
		if _, l := tb.sit(t, "c1", single(algorithm)); true {
			if _, r := l.Acquire(); r.Outcome != late {
				t.Errorf("%s: an answer after the lease: %+v, want %v", algorithm, r, late)
			}
		}
	}
}

func TestDeathBetweenSetnxAndPexpireHoldsForEver(t *testing.T) {
	tb := newTable(1)
	e, l := tb.sit(t, "c1", single("setnx-pexpire"))
	e.onPoint[lock.PointBeforeExpire] = func() { panic("killed") }
	func() {
		defer func() { _ = recover() }()
		l.Acquire()
	}()
	tb.T += 1000 * time.Hour
	_, other := tb.sit(t, "c2", single("setnx-pexpire"))
	if _, r := other.Acquire(); r.Outcome != lock.Fail {
		t.Errorf("%+v", r)
	}
}

func TestOwnersDiffer(t *testing.T) {
	tb := newTable(1)
	_, l := tb.sit(t, "c1", single("set-nx-px"))
	seen := make(map[string]bool)
	for range 100 {
		g, _ := l.Acquire()
		l.Release(g)
		seen[g.Owner] = true
	}
	if len(seen) != 100 {
		t.Errorf("%d values for 100 grants", len(seen))
	}
}

func TestWaitMustSpeakOfTheSameConnection(t *testing.T) {
	for algorithm, other := range map[string]bool{"set-nx-wait": false, "set-nx-wait-pooled": true} {
		for replicas, want := range map[int64]lock.Outcome{0: lock.Fail, 1: lock.OK} {
			tb := newTable(1)
			tb.nodes[0].Way = func(c command.Command, carry func() command.Reply) command.Reply {
				if c.Op != command.WAIT {
					return carry()
				}
				if c.OtherConnection != other {
					t.Errorf("%s waits on another connection: %v", algorithm, c.OtherConnection)
				}
				return command.IntReply(replicas)
			}
			_, l := tb.sit(t, "c1", single(algorithm))
			if _, r := l.Acquire(); r.Outcome != want {
				t.Errorf("%s, %d replicas have the key: %+v", algorithm, replicas, r)
			}
			if kept := tb.held("") == 0; kept != (want == lock.OK) {
				t.Errorf("%s, %d replicas have the key: it is kept: %v", algorithm, replicas, kept)
			}
		}
	}
}

func TestWatchdogRenewsUntilTheRelease(t *testing.T) {
	tb, e, l := watched(t, "watchdog", lock.Mistakes{})
	g, _ := l.Acquire()
	e.onSleep = func(n int) {
		if tb.held(g.Owner) != 1 {
			t.Fatalf("the key is gone after %d waits", n)
		}
		if n == 10 {
			if left := l.Remaining(g); left < 300*ms {
				t.Errorf("%v remain of a renewed lease", left)
			}
			l.Release(g)
		}
	}
	e.spawned[0]()
	if len(e.background) != 9 || slices.ContainsFunc(e.background, func(r lock.Result) bool { return r.Outcome != lock.OK }) {
		t.Errorf("renewals: %+v", e.background)
	}
	if slices.ContainsFunc(e.slept, func(d time.Duration) bool { return d != time.Second/3 }) {
		t.Errorf("waited %v between renewals of a 1s lease", e.slept)
	}
	if tb.held("") != 1 {
		t.Error("the key is still there")
	}
}

// Of two watchdogs whose client stalled past its lease, one sees that the key is
// another's by now; the other keeps it alive.
func TestWatchdogOfAStalledClient(t *testing.T) {
	for algorithm, want := range map[string]struct {
		last    lock.Outcome
		survive bool
	}{"watchdog": {lock.Fail, false}, "watchdog-blind": {lock.OK, true}} {
		tb, e, l := watched(t, algorithm, lock.Mistakes{})
		g, _ := l.Acquire()
		var taken time.Duration
		e.onSleep = func(n int) {
			switch n {
			case 1:
				tb.T += 5 * time.Second
				taken = tb.T
				tb.nodes[0].Memory().Set("lock", "c2", time.Second, false)
			case 20:
				l.Release(g)
			}
		}
		e.spawned[0]()
		if last := e.background[len(e.background)-1]; last.Outcome != want.last {
			t.Errorf("%s: the last renewal was %+v", algorithm, last)
		}
		tb.T = max(tb.T, taken+2*time.Second)
		if got := tb.held("c2") == 1; got != want.survive {
			t.Errorf("%s: %v after c2 took it for 1s, the key is there: %v", algorithm, tb.T-taken, got)
		}
	}
}

func TestReentrance(t *testing.T) {
	for algorithm, want := range map[string]struct{ otherAfterRelease, localAfterwards bool }{
		"reentrant": {true, false}, "reentrant-leaky": {true, true},
	} {
		tb := newTable(1)
		_, l := tb.sit(t, "c1", single(algorithm))
		_, other := tb.sit(t, "c2", single(algorithm))
		outer, _ := l.Acquire()
		inner, r := l.Acquire()
		if r.Outcome != lock.OK || !inner.Local || inner.Owner != outer.Owner || len(tb.nodes[0].Asked) != 1 {
			t.Errorf("%s: re-entry %+v, %+v; asked %q", algorithm, inner, r, tb.nodes[0].Asked)
		}
		l.Release(inner)
		if _, r := other.Acquire(); r.Outcome != lock.Fail {
			t.Errorf("%s: the inner release let another in", algorithm)
		}
		l.Release(outer)
		if _, r := other.Acquire(); want.otherAfterRelease != (r.Outcome == lock.OK) {
			t.Errorf("%s: after the outer release: %+v", algorithm, r)
		}
		if again, r := l.Acquire(); want.localAfterwards != (r.Outcome == lock.OK && again.Local) {
			t.Errorf("%s: acquire while c2 holds: %+v, %+v", algorithm, again, r)
		}
	}
}

func TestReentryEndsWithTheLease(t *testing.T) {
	tb := newTable(1)
	_, l := tb.sit(t, "c1", single("reentrant"))
	l.Acquire()
	tb.T += time.Second // the promise is over, and the key is still there
	if g, r := l.Acquire(); r.Outcome != lock.Fail || g.Local {
		t.Errorf("at the end of the lease: %+v, %+v: want the node's refusal", g, r)
	}
	tb.T += outlives
	if g, r := l.Acquire(); r.Outcome != lock.OK || g.Local {
		t.Errorf("after the lease: %+v, %+v: want a grant by the node", g, r)
	}
}

// An attempt whose answer never came may have set the key: locks with a value of their
// own take it away again, unless they are told not to, or the value says nothing.
func TestLocksOnOneNodeCleanUpAfterNoAnswer(t *testing.T) {
	for _, c := range []struct {
		algorithm string
		mistakes  lock.Mistakes
		left      bool
	}{
		{"set-nx-px", lock.Mistakes{}, false},
		{"set-nx-px", lock.Mistakes{NoCleanup: true}, true},
		{"set-nx-wait", lock.Mistakes{}, false},
		{"lock-delay", lock.Mistakes{}, false},
		{"watchdog", lock.Mistakes{}, false},
		{"delifeq", lock.Mistakes{}, false},
		{"hash-field", lock.Mistakes{}, false},
		{"hash-field", lock.Mistakes{NoCleanup: true}, true},
		{"reentrant", lock.Mistakes{}, false},
		{"constant-value", lock.Mistakes{}, true},
		{"setnx-del", lock.Mistakes{}, true},
	} {
		tb := newTable(1)
		answers := 0
		tb.ways(func(_ command.Command, carry func() command.Reply) command.Reply {
			r := carry()
			if answers++; answers == 1 {
				return command.UnknownReply("timeout")
			}
			return r
		})
		config := single(c.algorithm)
		config.Mistakes = c.mistakes
		_, l := tb.sit(t, "c1", config)
		if _, r := l.Acquire(); r.Outcome != lock.Info {
			t.Errorf("%s: acquire %+v, want an unknown outcome", c.algorithm, r)
		}
		if left := tb.nodes[0].Memory().Find("lock") >= 0; left != c.left {
			t.Errorf("%s, %+v: the key is left: %v, want %v", c.algorithm, c.mistakes, left, c.left)
		}
	}
}

// Some locks need what not every server knows, and say since when one does.
func TestRefusedByServers(t *testing.T) {
	for algorithm, want := range map[string]map[string]bool{ // whether a server refuses the lock
		"set-nx-px":      {"redis 6.2": false},
		"set-ifeq":       {"redis 8.2": true, "redis 8.4": false, "valkey 8.0": true, "valkey 8.1": false, "valkey 9.1": false, "": false},
		"set-nx-waitaof": {"redis 7.4": true, "redis 8.0": false, "": false},
		"hash-field":     {"redis 7.4": true, "redis 8.0": false, "valkey 8.1": true, "valkey 9.0": false, "": false},
		"delifeq":        {"redis 8.2": true, "redis 8.4": true, "redis 9.0": true, "valkey 8.1": true, "valkey 9.0": false, "": false},
	} {
		for server, refused := range want {
			name, version, _ := strings.Cut(server, " ")
			s := command.ParseServer(version, "")
			if name == "valkey" {
				s = command.ParseServer("7.2.4", version)
			}
			why := single(algorithm).RefusedBy(s)
			if (why != "") != refused || refused && !strings.Contains(why, " or later), and the server is ") {
				t.Errorf("%s on %q: %q", algorithm, server, why)
			}
		}
	}
}

// A re-entry lasts as long as the lease that it enters: nobody asked for a longer one.
func TestReentryInheritsTheLease(t *testing.T) {
	tb := newTable(1)
	_, l := tb.sit(t, "c1", single("reentrant"))
	l.Acquire()
	tb.T += 400 * ms
	if g, _ := l.Acquire(); !g.Local || l.Remaining(g) != 600*ms {
		t.Errorf("%+v: %v remain, want 600ms", g, l.Remaining(g))
	}
}

// The promise counts from SET, however long WAIT takes.
func TestWaitTakesOfTheValidity(t *testing.T) {
	tb := newTable(1)
	tb.ways(func(c command.Command, carry func() command.Reply) command.Reply {
		if c.Op != command.WAIT {
			return tb.slow(20*ms, 10*ms)(c, carry)
		}
		tb.T += 100 * ms
		return command.IntReply(1)
	})
	_, l := tb.sit(t, "c1", single("set-nx-wait"))
	if g, r := l.Acquire(); r.Outcome != lock.OK || l.Remaining(g) != 870*ms {
		t.Errorf("%+v: %v remain, want 870ms", r, l.Remaining(g))
	}
}

// An attempt that may have succeeded is not tried again: the next would find the key taken by it.
func TestUnknownAttemptIsNotRepeated(t *testing.T) {
	tb, c := newTable(1), single("set-nx-px")
	c.Retry.Attempts = 3
	tb.ways(commandtest.Mute)
	_, l := tb.sit(t, "c1", c)
	if _, r := l.Acquire(); r.Outcome != lock.Info || slices.Index(tb.nodes[0].Asked[1:], "set lock") >= 0 {
		t.Errorf("%+v; asked %q", r, tb.nodes[0].Asked)
	}
}

// A lock that stays for a while is free when that time is over, however soon it was released. A release compares the owner, and one after
// that time frees the lock at once.
func TestStaysAtLeast(t *testing.T) {
	c := single("set-nx-px")
	c.AtLeast = 600 * time.Millisecond
	for _, after := range []time.Duration{20 * time.Millisecond, 700 * time.Millisecond} {
		tb := newTable(1)
		_, l1 := tb.sit(t, "c1", c)
		_, l2 := tb.sit(t, "c2", c)
		g, _ := l1.Acquire()
		tb.T += after
		if r := l1.Release(g); r.Outcome != lock.OK {
			t.Errorf("after %v: release: %+v", after, r)
		}
		if rest := c.AtLeast - after; rest > 0 {
			tb.T += rest - 2*time.Millisecond
			if _, r := l2.Acquire(); r.Outcome != lock.Fail {
				t.Errorf("after %v: c2 asks before the time is over: %+v", after, r)
			}
			tb.T += 4 * time.Millisecond
		}
		g2, r := l2.Acquire()
		if r.Outcome != lock.OK {
			t.Errorf("after %v: c2 asks when the time is over: %+v", after, r)
		}
		if r := l1.Release(g); r.Outcome != lock.Fail || tb.held(g2.Owner) != 1 {
			t.Errorf("after %v: c1 releases what c2 has: %+v", after, r)
		}
	}
}
