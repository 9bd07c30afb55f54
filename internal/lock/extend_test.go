package lock_test

import (
	"strings"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/redis/command/commandtest"
)

// An extension counts with a majority of the nodes, before the promise has ended.
// Where too few answered, the next one may succeed; where too many said no, the lock
// is lost.
func TestExtensionOfAQuorum(t *testing.T) {
	for _, c := range []struct {
		what         string
		lost, silent int           // nodes that say no; nodes that say nothing
		late         time.Duration // how long the extension takes
		mistakes     lock.Mistakes
		want         lock.Outcome
	}{
		{"all", 0, 0, 0, lock.Mistakes{}, lock.OK},
		{"a majority, two say no", 2, 0, 0, lock.Mistakes{}, lock.OK},
		{"a majority, two say nothing", 0, 2, 0, lock.Mistakes{}, lock.OK},
		{"two say no, one nothing", 2, 1, 0, lock.Mistakes{}, lock.Info},
		{"all are needed, one says nothing", 0, 1, 0, lock.Mistakes{ExtendNeedsAll: true}, lock.Fail},
		{"all are needed, all say yes", 0, 0, 0, lock.Mistakes{ExtendNeedsAll: true}, lock.OK},
		{"three say nothing", 0, 3, 0, lock.Mistakes{}, lock.Info},
		{"nobody says anything", 0, 5, 0, lock.Mistakes{}, lock.Info},
		{"three say no", 3, 0, 0, lock.Mistakes{}, lock.Fail},
		{"three say no, two nothing", 3, 2, 0, lock.Mistakes{}, lock.Fail},
		{"three say no, and nobody cares", 3, 0, 0, lock.Mistakes{ExtendAnyhow: true}, lock.OK},
		// The promise ends 988 ms after the request; a third of the TTL has gone by.
		{"just in time", 0, 0, 988*ms - time.Second/3 - 1, lock.Mistakes{}, lock.OK},
		{"too late", 0, 0, 988*ms - time.Second/3, lock.Mistakes{}, lock.Fail},
		{"too late, and nobody cares", 0, 0, 988*ms - time.Second/3, lock.Mistakes{ExtendAnyhow: true}, lock.OK},
	} {
		tb, cfg := newTable(5), plain()
		cfg.Algorithm, cfg.Mistakes = "redlock-extend", c.mistakes
		e, l := tb.sit(t, "c1", cfg)
		g, _ := l.Acquire()
		e.onSleep = func(n int) {
			if n > 1 {
				l.Release(g)
				return
			}
			for i, node := range tb.nodes {
				if i < c.lost {
					node.Memory().Set("lock", "c2", time.Hour, false)
				} else if i < c.lost+c.silent {
					node.Way = commandtest.Mute
				}
			}
			if c.late > 0 {
				tb.nodes[4].Way = tb.slow(0, c.late)
			}
		}
		e.spawned[0]()
		r := e.background[0]
		if r.Outcome != c.want || r.Outcome == lock.Fail && c.lost > 0 && !strings.Contains(r.Err, "of 5 nodes") {
			t.Errorf("%s: %+v", c.what, r)
		}
		if again := len(e.slept) > 1; again != (c.want != lock.Fail) {
			t.Errorf("%s: it went on: %v", c.what, again)
		}
	}
}

// A renewal that sets the key anew where it has expired keeps it for the TTL, and
// leaves alone what is another's.
func TestExtendAbsentKeepsToTheTTL(t *testing.T) {
	for taken, want := range map[bool]lock.Outcome{false: lock.OK, true: lock.Fail} {
		tb, e, l := watched(t, "watchdog", lock.Mistakes{ExtendAbsent: true})
		g, _ := l.Acquire()
		e.onSleep = func(n int) {
			switch {
			case n > 1:
				l.Release(lock.Grant{Owner: "nobody"})
			case taken:
				tb.nodes[0].Memory().Set("lock", "c2", time.Second, false)
			default:
				tb.nodes[0].Memory().Del("lock")
			}
		}
		e.spawned[0]()
		if r := e.background[0]; r.Outcome != want {
			t.Errorf("another holds it: %v: %+v", taken, r)
		}
		if owner := tb.holders()[0]; owner != map[bool]string{false: g.Owner, true: "c2"}[taken] {
			t.Errorf("the key is %q's", owner)
		}
		if tb.T += time.Second + outlives; tb.holders()[0] != "" {
			t.Errorf("a second later it is still %q's", tb.holders()[0])
		}
	}
}

// Chubby's delay is over some time: twice the TTL after it was asked for.
func TestLockDelayEnds(t *testing.T) {
	for after, want := range map[time.Duration]lock.Outcome{2 * time.Second: lock.Fail, 2*time.Second + outlives: lock.OK} {
		tb := newTable(1)
		_, l1 := tb.sit(t, "c1", single("lock-delay"))
		_, l2 := tb.sit(t, "c2", single("lock-delay"))
		l1.Acquire()
		tb.T += after
		if _, r := l2.Acquire(); r.Outcome != want {
			t.Errorf("after %v: %+v", after, r)
		}
	}
}

// The leaky lock hands out its own entry as if it were a whole new lease.
func TestLeakyEntryPromisesAWholeLease(t *testing.T) {
	tb := newTable(1)
	_, l := tb.sit(t, "c1", single("reentrant-leaky"))
	g, _ := l.Acquire()
	l.Release(g)
	tb.T += time.Hour
	if g, r := l.Acquire(); r.Outcome != lock.OK || !g.Local || l.Remaining(g) != time.Second {
		t.Errorf("%+v, %+v: %v remain, want the TTL", g, r, l.Remaining(g))
	}
}

// WAIT leaves half the time that the node has for an answer, so that the answer
// comes.
func TestWaitEndsBeforeTheNodeTimeout(t *testing.T) {
	tb, c := newTable(1), single("set-nx-wait")
	c.NodeTimeout = 50 * ms
	asked := time.Duration(0)
	tb.nodes[0].Way = func(c command.Command, carry func() command.Reply) command.Reply {
		if c.Op == command.WAIT {
			asked = c.TTL
		}
		return carry()
	}
	_, l := tb.sit(t, "c1", c)
	if l.Acquire(); asked != 25*ms {
		t.Errorf("WAIT for %v of 50ms", asked)
	}
}

// A grant that came too late is given back, unless its value may be another's.
func TestLateGrantIsGivenBack(t *testing.T) {
	for _, c := range []struct {
		algorithm string
		mistakes  lock.Mistakes
		back      bool
	}{
		{"set-nx-px", lock.Mistakes{}, true},
		{"set-nx-px", lock.Mistakes{NoCleanup: true}, false},
		{"constant-value", lock.Mistakes{}, false},
	} {
		tb, cfg := newTable(1), single(c.algorithm)
		cfg.Mistakes = c.mistakes
		tb.ways(tb.slow(700*ms, 300*ms))
		_, l := tb.sit(t, "c1", cfg)
		if _, r := l.Acquire(); r.Outcome != lock.Fail || len(tb.nodes[0].Asked) > 1 != c.back {
			t.Errorf("%s %+v: %+v; asked %q", c.algorithm, c.mistakes, r, tb.nodes[0].Asked)
		}
	}
}

// The points behind the nodes are numbered from 1, however many there are.
func TestPointBehindEachNode(t *testing.T) {
	tb := newTable(27)
	e, l := tb.sit(t, "c1", plain())
	passed := 0
	for _, n := range []string{"1", "2", "25", "26", "27"} {
		e.onPoint[lock.PointAfterNode+n] = func() { passed++ }
	}
	if l.Acquire(); passed != 5 {
		t.Errorf("%d of 5 points were passed", passed)
	}
}

// The mistakes of counting go no further than they say.
func TestMistakenQuorums(t *testing.T) {
	tb := newTable(5)
	_, l := tb.sit(t, "c1", mistaken(lock.Mistakes{RaiseOnError: true}))
	g, r := l.Acquire()
	if r.Outcome != lock.OK {
		t.Errorf("raise on error, without any: %+v", r)
	}
	l.Release(g)
	// The majority of the reachable nodes: two of five are none, two of three are.
	for _, n := range tb.nodes[2:] {
		n.Memory().Set("lock", "c2", time.Hour, false)
	}
	_, l = tb.sit(t, "c1", mistaken(lock.Mistakes{ReachableQuorum: true}))
	if _, r := l.Acquire(); r.Outcome != lock.Fail {
		t.Errorf("two of five that answered: %+v", r)
	}
	tb.ways(nil, nil, nil, commandtest.Dead, commandtest.Dead)
	if _, r := l.Acquire(); r.Outcome != lock.OK {
		t.Errorf("two of three that answered: %+v", r)
	}
}

// The list of algorithms, which users read, is in order of the names.
func TestAlgorithmsAreSorted(t *testing.T) {
	last := ""
	for _, a := range lock.Algorithms() {
		if a.Name <= last {
			t.Errorf("%s after %s", a.Name, last)
		}
		last = a.Name
	}
}

// A renewed promise counts from when its renewal was asked for: not from the answer.
func TestRenewedPromiseCountsFromTheRequest(t *testing.T) {
	for _, algorithm := range []string{"watchdog", "redlock-extend"} {
		tb, e, l := watched(t, algorithm, lock.Mistakes{})
		g, _ := l.Acquire()
		tb.ways(tb.slow(100*ms, 50*ms))
		e.onSleep = func(n int) {
			if n == 1 {
				return
			}
			if left, want := l.Remaining(g), time.Second-150*ms-time.Second/3; left != want {
				t.Errorf("%s: a third of the TTL after its renewal %v remain, want %v", algorithm, left, want)
			}
			l.Release(g)
		}
		e.spawned[0]()
	}
}

// A renewal that is answered after the release is nobody's: the watchdog ends.
func TestRenewalThatIsAnsweredAfterTheRelease(t *testing.T) {
	tb, e, l := watched(t, "watchdog", lock.Mistakes{})
	g, _ := l.Acquire()
	tb.ways(func(_ command.Command, carry func() command.Reply) command.Reply {
		r := carry()
		tb.ways()
		l.Release(g)
		return r
	})
	if e.spawned[0](); len(e.background) != 1 {
		t.Errorf("it renewed %d times, want the one that was under way", len(e.background))
	}
}

// The watchdog of a grant that was released leaves the next grant to that one's own.
func TestWatchdogRenewsItsOwnGrantOnly(t *testing.T) {
	_, e, l := watched(t, "watchdog", lock.Mistakes{})
	g, _ := l.Acquire()
	e.onSleep = func(n int) {
		l.Release(g)
		if n == 1 {
			g, _ = l.Acquire()
		}
	}
	if e.spawned[0](); len(e.background) != 0 {
		t.Errorf("it renewed: %+v", e.background)
	}
}

// A grant is extended by its user while the key is the client's own; then it lasts for another TTL from the question on.
func TestExtendByHand(t *testing.T) {
	for _, algorithm := range []string{"set-nx-px", "redlock"} {
		for what, c := range map[string]struct {
			taken, mute bool
			want        lock.Outcome
		}{
			"its own": {want: lock.OK}, "somebody else's": {taken: true, want: lock.Fail}, "no answer": {mute: true, want: lock.Info},
		} {
			tb, cfg := newTable(1), plain()
			cfg.Algorithm = algorithm
			_, l := tb.sit(t, "c1", cfg)
			g, _ := l.Acquire()
			before := l.Remaining(g)
			tb.T += 300 * ms
			if c.taken {
				tb.nodes[0].Memory().Set("lock", "c2", time.Hour, false)
			}
			if c.mute {
				tb.nodes[0].Way = commandtest.Mute
			}
			extender, is := l.(lock.Extender)
			if !is {
				t.Fatalf("%s cannot be extended", algorithm)
			}
			after, r := extender.Extend(g)
			if r.Outcome != c.want || after.Owner != g.Owner {
				t.Errorf("%s, %s: %+v, %+v", algorithm, what, after, r)
			}
			if left := l.Remaining(after); r.Outcome == lock.OK && left != before {
				t.Errorf("%s, %s: %v are left, not %v again", algorithm, what, left, before)
			}
			if r.Outcome != lock.OK && after.Until != g.Until {
				t.Errorf("%s, %s: the grant lasts until %v, not %v", algorithm, what, after.Until, g.Until)
			}
		}
	}
}

// The watchdog of a grant that was forgotten ends, as a finalizer would end it, unless that is its mistake.
func TestForgottenIsNotRenewed(t *testing.T) {
	for _, algorithm := range []string{"watchdog", "redlock-extend"} {
		for keeps, renewals := range map[bool]int{false: 1, true: 6} {
			tb, e, l := watched(t, algorithm, lock.Mistakes{KeepRenewing: keeps})
			g, _ := l.Acquire()
			e.onSleep = func(n int) {
				if n == 2 {
					l.(lock.Forgetter).Forget(g)
				}
				if n > 5 {
					tb.nodes[0].Memory().Del("lock") // to end the test
				}
			}
			e.spawned[0]()
			if got := len(e.background); got != renewals {
				t.Errorf("%s, by mistake %v: renewed %d times, not %d", algorithm, keeps, got, renewals)
			}
		}
	}
}

// A renewal that is answered with an error is not the last, unless that is the mistake.
func TestRefusedRenewalIsTriedAgain(t *testing.T) {
	refuses := func(command.Command, func() command.Reply) command.Reply { return command.RefusedReply("LOADING x") }
	for _, algorithm := range []string{"watchdog", "redlock-extend"} {
		for givesUp, renewals := range map[bool]int{false: 3, true: 1} {
			tb, e, l := watched(t, algorithm, lock.Mistakes{RenewalGivesUp: givesUp})
			l.Acquire()
			e.onSleep = func(n int) {
				tb.ways(refuses, refuses, refuses)
				if n > 1 {
					tb.ways()
				}
				if n > 2 {
					tb.nodes[0].Memory().Del("lock") // to end the test
				}
			}
			e.spawned[0]()
			if got := len(e.background); got != renewals {
				t.Errorf("%s, by mistake %v: renewed %d times, not %d", algorithm, givesUp, got, renewals)
			}
		}
	}
}
