package lock_test

import (
	"slices"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/redis/command/commandtest"
)

// Every mistake changes what comes of a schedule that a correct lock survives.
func TestEachMistakeShows(t *testing.T) {
	for _, c := range []struct {
		name    string
		mistake lock.Mistakes
		// schedule tells what came of it; right without the mistake, wrong with it.
		schedule     func(*testing.T, lock.Mistakes) any
		right, wrong any
	}{
		{"reachable quorum", lock.Mistakes{ReachableQuorum: true}, func(t *testing.T, m lock.Mistakes) any {
			tb := newTable(5) // two clients are each cut off from the other's nodes
			_, l1 := tb.sit(t, "c1", mistaken(m))
			_, l2 := tb.sit(t, "c2", mistaken(m))
			tb.ways(nil, nil, commandtest.Dead, commandtest.Dead, commandtest.Dead)
			_, r1 := l1.Acquire()
			tb.ways(commandtest.Dead, commandtest.Dead)
			_, r2 := l2.Acquire()
			return [2]bool{r1.Outcome == lock.OK, r2.Outcome == lock.OK}
		}, [2]bool{false, true}, [2]bool{true, true}},
		{"trust elapsed", lock.Mistakes{TrustElapsed: true}, func(t *testing.T, m lock.Mistakes) any {
			tb := newTable(3)
			tb.ways(nil, nil, tb.slow(0, 5*time.Second))
			_, l := tb.sit(t, "c1", mistaken(m))
			_, r := l.Acquire()
			return r.Outcome == lock.OK
		}, false, true},
		{"plain delete on a quorum", lock.Mistakes{PlainDelete: true}, lateRelease("redlock", 3), "c2", ""},
		{"plain delete on one node", lock.Mistakes{PlainDelete: true}, lateRelease("set-nx-px", 1), "c2", ""},
		{"raise on error", lock.Mistakes{RaiseOnError: true}, func(t *testing.T, m lock.Mistakes) any {
			tb := newTable(3)
			tb.ways(commandtest.Dead)
			_, l := tb.sit(t, "c1", mistaken(m))
			_, r := l.Acquire()
			return r.Outcome == lock.OK
		}, true, false},
		{"same value", lock.Mistakes{SameValue: true}, lateCleanUp("redlock"), 1, 0},
		{"the time of day as the value", lock.Mistakes{TimedValue: true}, func(t *testing.T, m lock.Mistakes) any {
			tb, c := newTable(1), mistaken(m)
			c.Algorithm, c.TTL = "set-nx-px", 100*time.Millisecond
			_, l1 := tb.sit(t, "c1", c)
			_, l2 := tb.sit(t, "c2", c)
			g1, _ := l1.Acquire()
			tb.T += 2 * c.TTL
			g2, _ := l2.Acquire()
			l1.Release(g1)
			return tb.held(g2.Owner)
		}, 1, 0},
		{"same value on one node", lock.Mistakes{SameValue: true}, lateCleanUp("set-nx-px"), 1, 0},
		{"same value and DELIFEQ", lock.Mistakes{SameValue: true}, lateCleanUp("delifeq"), 1, 0},
		{"no clean-up", lock.Mistakes{NoCleanup: true}, func(t *testing.T, m lock.Mistakes) any {
			tb := newTable(5)
			tb.ways(commandtest.Dead, commandtest.Dead, commandtest.Dead)
			_, l := tb.sit(t, "c1", mistaken(m))
			l.Acquire()
			return tb.held("")
		}, 5, 3},
		{"a cancelled attempt leaves its key", lock.Mistakes{CancelLeaves: true}, func(t *testing.T, m lock.Mistakes) any {
			return whenCancelled(t, "set-nx-px", 1, m)
		}, [2]any{lock.Fail, 0}, [2]any{lock.Fail, 1}},
		{"a cancelled attempt leaves its keys", lock.Mistakes{CancelLeaves: true}, func(t *testing.T, m lock.Mistakes) any {
			return whenCancelled(t, "redlock", 5, m)
		}, [2]any{lock.Fail, 0}, [2]any{lock.Fail, 1}},
		{"ignore wait", lock.Mistakes{IgnoreWait: true}, func(t *testing.T, m lock.Mistakes) any {
			c := mistaken(m)
			c.Algorithm = "set-nx-wait"
			_, l := newTable(1).sit(t, "c1", c) // no replica ever answers
			_, r := l.Acquire()
			return r.Outcome == lock.OK
		}, false, true},
		{"ignore WAITAOF", lock.Mistakes{IgnoreWait: true}, func(t *testing.T, m lock.Mistakes) any {
			c := mistaken(m)
			c.Algorithm = "set-nx-waitaof"
			tb := newTable(1)
			_, l := tb.sit(t, "c1", c) // there is no disk
			_, r := l.Acquire()
			return [2]bool{r.Outcome == lock.OK, tb.held("") == 1}
		}, [2]bool{false, true}, [2]bool{true, false}},
		{"a place in the line is not renewed", lock.Mistakes{PlaceOnce: true}, secondInLine(600 * time.Millisecond), false, true},
		{"a place in the line stays", lock.Mistakes{PlaceForever: true}, func(t *testing.T, m lock.Mistakes) any {
			tb, sit := line(t, m)
			first, second := sit("c1"), sit("c2")
			sit("c3").Acquire()
			_, _ = first.(lock.Waiter).Attempt() // and asks no more
			_, _ = second.(lock.Waiter).Attempt()
			tb.T += 2 * time.Second
			_, r := second.(lock.Waiter).Attempt()
			return r.Outcome == lock.OK
		}, true, false},
		{"readers pass a writer that waits", lock.Mistakes{ReadersPass: true}, func(t *testing.T, m lock.Mistakes) any {
			tb := newTable(1)
			sit := func(name string, shared bool) lock.Lock {
				c := mistaken(m)
				c.Algorithm, c.Shared = "read-write", shared
				_, l := tb.sit(t, name, c)
				return l
			}
			_, _ = sit("c1", true).Acquire()
			_, _ = sit("c2", false).Acquire()
			_, r := sit("c3", true).Acquire()
			return r.Outcome == lock.OK
		}, false, true},
		{"who reads waits for the others to write", lock.Mistakes{UpgradeWaits: true}, func(t *testing.T, m lock.Mistakes) any {
			tb := newTable(1)
			c := mistaken(m)
			c.Algorithm, c.Shared, c.Retry = "read-write", true, lock.Retry{Attempts: 3, Delay: time.Millisecond}
			_, l1 := tb.sit(t, "c1", c)
			_, l2 := tb.sit(t, "c2", c)
			g, _ := l1.Acquire()
			_, _ = l2.Acquire()
			before := tb.T
			_, r := l1.(lock.Upgrader).Upgrade(g)
			return r.Outcome == lock.Fail && tb.T == before
		}, true, false},
		{"a reader and a writer wait for each other", lock.Mistakes{BothWait: true}, func(t *testing.T, m lock.Mistakes) any {
			tb := newTable(1)
			sit := func(name string, shared bool) lock.Lock {
				c := mistaken(m)
				c.Algorithm, c.Shared = "read-write", shared
				_, l := tb.sit(t, name, c)
				return l
			}
			holder, reader, writer := sit("c1", false), sit("c2", true), sit("c3", false)
			g, _ := holder.Acquire()
			_ = got(reader, writer)
			holder.Release(g)
			return got(reader, writer)[1]
		}, true, false},
		{"a reader with a short lease ends that of another", lock.Mistakes{LastComeEnds: true}, func(t *testing.T, m lock.Mistakes) any {
			tb := newTable(1)
			sit := func(name string, shared bool, ttl time.Duration) lock.Lock {
				c := mistaken(m)
				c.Algorithm, c.Shared, c.TTL = "read-write", shared, ttl
				_, l := tb.sit(t, name, c)
				return l
			}
			reader, other, writer := sit("c1", true, time.Second), sit("c2", true, 300*time.Millisecond), sit("c3", false, time.Second)
			_ = got(reader, other)
			tb.T += 400 * time.Millisecond
			return got(writer)[0]
		}, false, true},
		{"a permit ends by its client's clock", lock.Mistakes{ClientEnds: true}, func(t *testing.T, m lock.Mistakes) any {
			tb, c := newTable(1), mistaken(m)
			c.Algorithm, c.Permits = "semaphore", 1
			_, l1 := tb.sit(t, "c1", c)
			e2, l2 := tb.sit(t, "c2", c)
			e2.wall = time.Hour
			return got(l1, l2)[1]
		}, false, true},
		{"enter unheld", lock.Mistakes{EnterUnheld: true}, func(t *testing.T, m lock.Mistakes) any {
			tb, c := newTable(1), mistaken(m)
			c.Algorithm, c.Retry.Attempts = "set-nx-px", 3
			tb.nodes[0].Memory().Set("lock", "c2", time.Hour, false)
			_, l := tb.sit(t, "c1", c)
			g, r := l.Acquire()
			return [2]bool{r.Outcome == lock.OK && l.Remaining(g) > 0, tb.held("c2") == 1}
		}, [2]bool{false, true}, [2]bool{true, true}},
		{"wait for ever", lock.Mistakes{WaitForEver: true}, func(t *testing.T, m lock.Mistakes) any {
			tb := newTable(1)
			var waits time.Duration
			tb.nodes[0].Way = func(c command.Command, carry func() command.Reply) command.Reply {
				waits = c.Timeout
				return carry()
			}
			c := mistaken(m)
			_, l := tb.sit(t, "c1", c)
			l.Acquire()
			return waits == c.NodeTimeout
		}, true, false},
		{"asked once", lock.Mistakes{AskedOnce: true}, func(t *testing.T, m lock.Mistakes) any {
			return slices.Max(waits(t, m, 31)) // of 3 s in all
		}, time.Second, 3 * time.Second},
		{"the signal is taken back", lock.Mistakes{SignalTaken: true}, func(t *testing.T, m lock.Mistakes) any {
			tb, c := newTable(1), mistaken(m)
			c.Algorithm = "woken"
			_, l := tb.sit(t, "c1", c)
			g, _ := l.Acquire()
			l.Release(g)
			return len(tb.nodes[0].Memory().LRange("lock:signal"))
		}, 1, 0},
		{"stays at its node", lock.Mistakes{StaysAtNode: true}, func(t *testing.T, m lock.Mistakes) any {
			tb := newTable(1)
			follows := true
			tb.nodes[0].Way = func(c command.Command, carry func() command.Reply) command.Reply {
				follows = follows && !c.Stays
				return carry()
			}
			c := mistaken(m)
			c.Algorithm = "set-nx-px"
			_, l := tb.sit(t, "c1", c)
			g, _ := l.Acquire()
			l.Release(g)
			return follows
		}, true, false},
		{"keep renewing", lock.Mistakes{KeepRenewing: true, PlainDelete: true}, func(t *testing.T, m lock.Mistakes) any {
			m.PlainDelete = false
			tb, e, l := watched(t, "watchdog", m)
			g, _ := l.Acquire()
			e.onSleep = func(n int) {
				if n == 1 {
					tb.ways(commandtest.Dead) // the release gets lost
					l.Release(g)
					tb.ways()
				}
				if n > 10 {
					tb.nodes[0].Memory().Del("lock") // to end the test
				}
			}
			e.spawned[0]()
			return len(e.background)
		}, 0, 11},
		{"first release frees", lock.Mistakes{FirstFrees: true}, func(t *testing.T, m lock.Mistakes) any {
			tb, c := newTable(1), mistaken(m)
			c.Algorithm = "reentrant"
			_, l := tb.sit(t, "c1", c)
			g, _ := l.Acquire()
			again, _ := l.Acquire()
			l.Release(again)
			return tb.held(g.Owner)
		}, 1, 0},
		{"another thread enters", lock.Mistakes{ProcessHolds: true}, func(t *testing.T, m lock.Mistakes) any {
			tb, c := newTable(1), mistaken(m)
			c.Algorithm, c.Retry.Attempts = "reentrant", 1
			_, one := tb.sit(t, "c1", c)
			_, other := tb.sit(t, "c2", c)
			one.Acquire()
			_, result := other.Acquire()
			return result.Outcome
		}, lock.Fail, lock.OK},
		{"renewal frees", lock.Mistakes{RenewalFrees: true}, afterRenewal("watchdog", 0, ""), "c1", ""},
		{"renewal shortens", lock.Mistakes{RenewalShort: true}, afterRenewal("watchdog", 2*time.Millisecond, ""), "c1", ""},
		{"renewal takes", lock.Mistakes{RenewalTakes: true}, afterRenewal("watchdog", 0, "c2"), "c2", "c1"},
		{"renewal by SET shortens", lock.Mistakes{RenewalShort: true}, afterRenewal("set-ifeq", 2*time.Millisecond, ""), "c1", ""},
		{"renewal by SET takes", lock.Mistakes{RenewalTakes: true}, afterRenewal("set-ifeq", 0, "c2"), "c2", "c1"},
		{"renewal by SET leaves no end", lock.Mistakes{RenewalForever: true}, afterRenewal("set-ifeq", time.Hour, ""), "", "c1"},
		{"renewal of a field shortens", lock.Mistakes{RenewalShort: true}, afterRenewal("hash-field", 2*time.Millisecond, ""), "c1", ""},
		{"renewal by HSET leaves no end", lock.Mistakes{RenewalForever: true}, afterRenewal("hash-field", time.Hour, ""), "", "c1"},
		{"extend absent", lock.Mistakes{ExtendAbsent: true}, func(t *testing.T, m lock.Mistakes) any {
			tb, e, l := watched(t, "watchdog", m)
			g, _ := l.Acquire()
			e.onSleep = func(n int) {
				if n == 1 {
					tb.T += 5 * time.Second // a pause past the lease
				} else {
					l.Release(lock.Grant{Owner: "nobody"})
				}
			}
			e.spawned[0]()
			return tb.held(g.Owner)
		}, 0, 1},
		{"releases where granted", lock.Mistakes{ReleasesGranted: true}, func(t *testing.T, m lock.Mistakes) any {
			tb := newTable(3)
			_, l := tb.sit(t, "c1", mistaken(m))
			g, _ := l.Acquire()
			g.Nodes = g.Nodes[:2] // the third answers too late to count
			l.Release(g)
			return tb.held("")
		}, 3, 2},
		{"always released, one node", lock.Mistakes{AlwaysReleased: true}, releaseOfLost("set-nx-px", 1), lock.Fail, lock.OK},
		{"always released, a quorum", lock.Mistakes{AlwaysReleased: true}, releaseOfLost("redlock", 3), lock.Fail, lock.OK},
	} {
		if got := c.schedule(t, lock.Mistakes{}); got != c.right {
			t.Errorf("%s: %v without the mistake, want %v", c.name, got, c.right)
		}
		if got := c.schedule(t, c.mistake); got != c.wrong {
			t.Errorf("%s: %v with the mistake, want %v", c.name, got, c.wrong)
		}
	}
}

// whenCancelled cancels an attempt whose command has been carried out by the first node, with the answer on its way. It tells what came of
// the attempt, and how many nodes have a key.
func whenCancelled(t *testing.T, algorithm string, nodes int, m lock.Mistakes) any {
	t.Helper()
	tb, c := newTable(nodes), mistaken(m)
	c.Algorithm = algorithm
	e, l := tb.sit(t, "c1", c)
	for _, n := range tb.nodes {
		n.Way = func(c command.Command, carry func() command.Reply) command.Reply {
			switch {
			case !c.Cancellable:
				return carry()
			case e.cancelled:
				return command.RefusedReply("cancelled")
			}
			e.cancelled = true
			return commandtest.Mute(c, carry)
		}
	}
	_, r := l.Acquire()
	keys := 0
	for _, owner := range tb.holders() {
		if owner != "" {
			keys++
		}
	}
	return [2]any{r.Outcome, keys}
}

// lateCleanUp lets the clean-up of an attempt that was not answered arrive after the next attempt. It tells how many nodes keep the key.
func lateCleanUp(algorithm string) func(*testing.T, lock.Mistakes) any {
	return func(t *testing.T, m lock.Mistakes) any {
		tb, c := newTable(1), mistaken(m)
		c.Algorithm = algorithm
		var late []func() command.Reply
		tb.nodes[0].Way = func(c command.Command, carry func() command.Reply) command.Reply {
			if c.Op == command.EVAL || c.Op == command.DELIFEQ {
				late = append(late, carry)
			}
			return commandtest.Mute(c, command.NilReply)
		}
		_, l := tb.sit(t, "c1", c)
		l.Acquire()
		tb.ways()
		g, _ := l.Acquire()
		if len(late) == 0 {
			t.Errorf("%s: nothing is late", algorithm)
		}
		for _, arrive := range late {
			arrive()
		}
		return tb.held(g.Owner)
	}
}

// afterRenewal lets c1 renew its lock once, which another has by then, or nobody. It tells who has it some time after the renewal.
func afterRenewal(algorithm string, later time.Duration, other string) func(*testing.T, lock.Mistakes) any {
	return func(t *testing.T, m lock.Mistakes) any {
		tb, e, l := watched(t, algorithm, m)
		g, _ := l.Acquire()
		e.onSleep = func(n int) {
			if n > 1 {
				l.Release(lock.Grant{Owner: "nobody"})
			} else if other != "" {
				tb.nodes[0].Memory().Set("lock", other, time.Hour, false)
			}
		}
		e.spawned[0]()
		if e.background[0].Outcome != lock.OK && m != (lock.Mistakes{}) {
			t.Errorf("%+v: the client is told %+v", m, e.background[0])
		}
		tb.T += later
		if owner := tb.holders()[0]; owner != g.Owner {
			return owner
		}
		return "c1"
	}
}

func mistaken(m lock.Mistakes) lock.Config {
	c := plain()
	c.Mistakes = m
	return c
}

// lateRelease lets c1 release after its lease has ended and c2 has the lock. It
// tells who holds the key then.
func lateRelease(algorithm string, nodes int) func(*testing.T, lock.Mistakes) any {
	return func(t *testing.T, m lock.Mistakes) any {
		tb, c := newTable(nodes), mistaken(m)
		c.Algorithm = algorithm
		_, l1 := tb.sit(t, "c1", c)
		_, l2 := tb.sit(t, "c2", c)
		g1, _ := l1.Acquire()
		tb.T += 2 * time.Second
		g2, _ := l2.Acquire()
		l1.Release(g1)
		if tb.held(g2.Owner) == nodes {
			return "c2"
		}
		return tb.holders()[0]
	}
}

// releaseOfLost is what the release of a lock says whose lease has ended.
func releaseOfLost(algorithm string, nodes int) func(*testing.T, lock.Mistakes) any {
	return func(t *testing.T, m lock.Mistakes) any {
		tb, c := newTable(nodes), mistaken(m)
		c.Algorithm = algorithm
		_, l := tb.sit(t, "c1", c)
		g, _ := l.Acquire()
		tb.T += 2 * time.Second
		return l.Release(g).Outcome
	}
}

// Every mistake can be made by the name of its rule, and by that alone.
func TestRulesAreSwitchedOffByName(t *testing.T) {
	var all lock.Mistakes
	for _, a := range lock.Algorithms() {
		for _, rule := range a.Mistakes.Rules() {
			var one lock.Mistakes
			one.SwitchOff(rule)
			if got := one.Rules(); len(got) != 1 || got[0] != rule {
				t.Errorf("%s: %q is off", rule, got)
			}
			all.SwitchOff(rule)
		}
	}
	if got := len(all.Rules()); got != 38 {
		t.Errorf("%d rules", got)
	}
	none := all
	none.SwitchOff("magic")
	if none != all {
		t.Errorf("%+v", none)
	}
}
