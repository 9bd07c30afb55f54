package checker

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// sets lets nodes see a client set its key.
func (s *script) sets(ms int64, client string, nodes ...string) {
	for _, n := range nodes {
		s.key(ms, history.KeySet, n, client, client+"-owner", 1000)
	}
}

// grantedOn is a grant for which nodes saw the client set its key.
func (s *script) grantedOn(ms int64, client string, until int64, nodes ...string) {
	s.add(ms, client, history.Invoke, history.Acquire, history.Value{})
	s.sets(ms+1, client, nodes...)
	s.granted(ms+2, client, until, -1)
}

// confirmation is whether a violation of a script is confirmed, and a part of why.
type confirmation struct {
	name     string
	property Property
	write    func(s *script)
	ok       bool
	why      string
}

func checkConfirmed(t *testing.T, list []confirmation) {
	t.Helper()
	for _, c := range list {
		s := newScript()
		c.write(s)
		f := Judge(context.Background(), &s.h, []Property{c.property}, Options{GrantWithin: time.Second})[0]
		if f.Verdict != Violated {
			t.Errorf("%s, %s: %v (%s), want a violation", c.property, c.name, f.Verdict, f.Why)
			continue
		}
		if ok, why := Confirmed(&s.h, f.Property, f.Counterexample); ok != c.ok || !strings.Contains(why, c.why) {
			t.Errorf("%s, %s: %v (%s)", c.property, c.name, ok, why)
		}
	}
}

func TestConfirmedByNodes(t *testing.T) {
	both := func(second ...string) func(s *script) {
		return func(s *script) {
			s.grantedOn(0, "c1", 900, "A", "B", "C")
			s.grantedOn(10, "c2", 910, second...)
			s.read(20, "c1", 1, 0)
			s.read(22, "c2", 1, 0)
			s.write(24, "c1", 1, 1, history.OK, -1)
			s.write(26, "c2", 1, 1, history.OK, -1)
			s.write(950, "c1", 1, 2, history.OK, -1)
			s.release(990, 991, "c1")
			s.release(992, 993, "c2")
			s.phase(1000, history.PhaseDone)
		}
	}
	late := func(s *script) {
		both("C", "D", "E")(s)
		for i := range s.h.Events {
			if e := &s.h.Events[i]; e.F == history.KeySet && e.Value.Client == "c1" {
				e.Value.OwnOutcome().At = ns(500) // not part of the attempt
			}
		}
	}
	// c2 gets the lock again by lengthening a key, which is its own from an earlier grant, or somebody else's.
	again := func(whose string) func(s *script) {
		return func(s *script) {
			s.sets(0, whose, "A", "B")
			s.grantedOn(2, "c1", 900, "C", "D", "E")
			s.add(10, "c2", history.Invoke, history.Acquire, history.Value{})
			for _, n := range []string{"A", "B"} {
				s.key(11, history.KeyExtended, n, "c2", whose+"-owner", 1000)
			}
			s.sets(11, "c2", "E")
			s.granted(12, "c2", 910, -1)
			s.release(990, 991, "c1")
			s.release(992, 993, "c2")
			s.phase(1000, history.PhaseDone)
		}
	}
	starved := func(busy string, nodes ...string) func(s *script) {
		return func(s *script) {
			s.fault(0, true, 1, "cut", "A")
			s.grantedOn(1, "c1", 100, "A", "B", "C")
			s.release(50, 51, "c1")
			s.sets(60, busy, nodes...)
			for ms := int64(100); ms < 8500; ms += 500 {
				s.refused(ms, ms+490, "c2")
			}
			s.fault(9000, false, 1, "cut", "A")
			s.phase(9000, history.PhaseHealing)
			for ms := int64(9001); ms < 18000; ms += 500 {
				s.refused(ms, ms+490, "c2")
			}
			s.phase(19000, history.PhaseDone)
		}
	}
	// c1's promise is over long before it gives the lock back.
	releasedAt := func(ms int64) func(s *script) {
		return func(s *script) {
			s.grantedOn(1, "c1", 50, "A", "B", "C")
			s.phase(100, history.PhaseHealing)
			released := false
			for at := int64(101); at < 9000; at += 500 {
				if at > ms && !released {
					released = true
					for _, node := range []string{"A", "B", "C"} {
						s.key(at-10, history.KeyDeleted, node, "c1", "c1-owner", -1)
					}
				}
				s.refused(at, at+490, "c2")
			}
			s.phase(19000, history.PhaseDone)
		}
	}
	kept := func(nodes ...string) func(s *script) {
		return func(s *script) {
			s.grantedOn(1, "c1", -1, nodes...)
			s.phase(100, history.PhaseHealing)
			for ms := int64(101); ms < 9000; ms += 500 {
				s.refused(ms, ms+490, "c2")
			}
			s.phase(19000, history.PhaseDone)
		}
	}
	checkConfirmed(t, []confirmation{
		{"both set the key on a quorum", ExclusiveBelief, both("C", "D", "E"), true, "on a quorum"},
		{"both set the key on a quorum", ExclusiveLease, both("C", "D", "E"), true, "on a quorum"},
		{"both set the key on a quorum", LinearizableResource, both("C", "D", "E"), true, "on a quorum"},
		{"it set the key on a quorum", NoLateEffect, both("C", "D", "E"), true, "on a quorum"},
		{"one set it on too few nodes", ExclusiveBelief, both("D", "E"), false, "c2 was granted the lock at 0.012 s, but only 2 of the 3 nodes"},
		{"one set it on too few nodes", ExclusiveLease, both("D", "E"), false, "only 2 of the 3 nodes"},
		{"one lengthened its own keys on a quorum", ExclusiveLease, again("c2"), true, "on a quorum"},
		{"one lengthened the keys of another", ExclusiveLease, again("c3"), false, "only 1 of the 3 nodes"},
		{"one asked no node", ExclusiveLease, both(), false, "only 0 of the 3 nodes"},
		{"one asked no node", LinearizableResource, both(), false, "only 0 of the 3 nodes"},
		{"its keys were set after the answer", NoLateEffect, late, false, "c1 was granted the lock at 0.002 s, but only 0 of the 3 nodes"},
		{"nothing is kept on the nodes", ExclusiveLease, func(s *script) {
			both()(s)
			for i := range s.h.Events {
				if e := &s.h.Events[i]; e.F == history.KeySet {
					*e = history.Event{Index: int32(i), Time: e.Time, Process: "run", Type: history.Info, F: history.Point}
				}
			}
		}, false, "the lock keeps no key on the nodes"},
		{"what is kept on the nodes is not known", ExclusiveLease, func(s *script) {
			both()(s)
			for i := range s.h.Events {
				if e := &s.h.Events[i]; e.F == history.KeySet {
					e.F, e.Value.Client, e.Value.OwnRare().Detail = history.KeyUnclear, "", "ZADD"
				}
			}
		}, false, "it is not known what is in the lock's keys"},
		{"a free lock", DeadlockFree, starved("c2"), true, "nobody had the lock who still wanted it"},
		{"a free lock", MinorityTolerant, starved("c2"), true, "nobody had the lock who still wanted it"},
		{"a lock whose client has released it", DeadlockFree, starved("c1", "A", "B", "C"), true, "nobody had the lock"},
		{"a lock that is kept", DeadlockFree, kept("A", "B", "C"), true, "c1 kept the lock"},
		{"a lock that is said to be kept", DeadlockFree, kept("A"), false, "no node shows"},
		{"a key that is unclear", DeadlockFree, func(s *script) {
			kept("A", "B", "C")(s)
			for i := range s.h.Events {
				if e := &s.h.Events[i]; e.F == history.KeySet {
					e.F, e.Value.OwnRare().Detail = history.KeyUnclear, "SETBIT"
				}
			}
			s.sets(19000, "c3", "A")
		}, false, "not known whose keys"},
		{"a lock that a client still holds, promised too shortly", DeadlockFree, func(s *script) {
			s.grantedOn(1, "c1", 50, "A", "B", "C")
			s.phase(100, history.PhaseHealing)
			for ms := int64(101); ms < 9000; ms += 500 {
				s.refused(ms, ms+490, "c2")
			}
			s.phase(19000, history.PhaseDone)
		}, false, "c1"},
		// The bound is a second.
		{"a late release, and then a free lock", DeadlockFree, releasedAt(4000), true, "nobody had the lock who still wanted it"},
		{"a release so late that the lock was free for too short a time", DeadlockFree, releasedAt(8300), false, "the nodes had the keys of c1"},
		{"another's key deleted", OwnerRelease, func(s *script) {
			s.grantedOn(0, "c1", 900, "A")
			s.key(10, history.KeyDeleted, "A", "c2", "c1-owner", -1)
		}, true, "the keys on the nodes"},
		{"an orphan", NoOrphanLock, func(s *script) {
			s.key(0, history.KeySet, "A", "c1", "c1-owner", 5000)
			s.acquire(0, 1, "c1", 900, -1)
			s.release(10, 11, "c1")
			s.phase(3000, history.PhaseDone)
		}, true, "the keys on the nodes"},
		{"a renewal", NoResurrection, func(s *script) {
			*s = *onOneNode(900, func(s *script) { s.setsAgain(1105, 1100, "c1-owner") })
		}, true, "the keys on the nodes"},
		{"a loss", ToldWhenLost, func(s *script) { *s = *onOneNode(-1, nothing) }, true, "the lock was gone"},
		{"half a change", Atomic, func(s *script) {
			s.h.Header.Workload = "two-cells"
			s.cell(0, "c1", 1, "a", 1, history.OK)
			s.cell(3, "c1", 1, "b", 1, history.Fail)
			s.phase(10, history.PhaseDone)
		}, true, "the resource"},
	})
	if ok, why := Confirmed(&newScript().h, ExclusiveLease, nil); ok || why == "" {
		t.Errorf("what holds is confirmed: %v (%s)", ok, why)
	}
}

// TestConfirmedElsewhere: the lock keeps nothing on the nodes.
func TestConfirmedElsewhere(t *testing.T) {
	// Nobody gets the lock again after c1. The bound is a second.
	elsewhere := func(before func(s *script)) func(s *script) {
		return func(s *script) {
			before(s)
			s.phase(1000, history.PhaseHealing)
			for ms := int64(1001); ms < 5000; ms += 500 {
				s.refused(ms, ms+490, "c2")
			}
			s.phase(5000, history.PhaseDone)
		}
	}
	unanswered := func(s *script) {
		s.acquire(1, 2, "c1", -1, -1)
		s.release(50, 51, "c1")
		s.add(60, "c3", history.Invoke, history.Acquire, history.Value{})
		s.add(70, "c3", history.Info, history.Acquire, history.Value{})
	}
	checkConfirmed(t, []confirmation{
		{"a lock elsewhere that was given back", DeadlockFree, elsewhere(func(s *script) {
			s.acquire(1, 2, "c1", -1, -1)
			s.release(50, 51, "c1")
		}), true, "everybody who had been granted the lock had given it back"},
		{"a lock elsewhere, and a fault", DeadlockFree, elsewhere(func(s *script) {
			s.acquire(1, 2, "c1", -1, -1)
			s.release(50, 51, "c1")
			s.fault(60, true, 1, "cut", "A")
			s.fault(70, false, 1, "cut", "A")
		}), false, "faults struck"},
		{"a lock elsewhere, and a release of which nobody knows", DeadlockFree, elsewhere(func(s *script) {
			s.acquire(1, 2, "c1", 100, -1)
			s.add(50, "c1", history.Invoke, history.Release, history.Value{})
			s.add(51, "c1", history.Info, history.Release, history.Value{})
		}), false, "c1 had not given back"},
		{"a lock elsewhere that somebody may have got", DeadlockFree, elsewhere(unanswered), false, "c3 does not know"},
		{"a lock elsewhere whose program ended", DeadlockFree, elsewhere(func(s *script) {
			s.acquire(1, 2, "c1", -1, -1)
			s.release(50, 51, "c1")
			s.add(60, "c3", history.Info, history.ProgramEnded, history.Value{})
		}), false, "the program of c3 ended"},
		{"a lock elsewhere that nobody ever had", DeadlockFree, elsewhere(nothing), false, "nobody was ever granted"},
		{"a lock elsewhere that is kept", DeadlockFree, elsewhere(func(s *script) {
			s.acquire(1, 2, "c1", -1, -1)
		}), false, "keeps no key"},
	})
}
