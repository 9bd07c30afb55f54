package checker

import (
	"fmt"
	"strings"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/testkit/golden"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// twoGrants lets c2 have the lock from 102 ms on, while c1 has it from 12 to 200 ms. Before
// comes first, c1 is granted after mine, and c2 after its own.
func twoGrants(before, mine, its func(s *script)) func(s *script) {
	return func(s *script) {
		before(s)
		s.add(10, "c1", history.Invoke, history.Acquire, history.Value{})
		mine(s)
		s.granted(12, "c1", 900, -1)
		s.add(20, "c2", history.Invoke, history.Acquire, history.Value{})
		its(s)
		s.granted(102, "c2", 990, -1)
		s.release(200, 201, "c1")
		s.release(210, 211, "c2")
	}
}

func nothing(*script) {}

// on gives the grants of a script each to one node alone.
func (s *script) on(nodes ...string) {
	for i := range s.h.Events {
		if e := &s.h.Events[i]; e.F == history.Acquire && e.Type == history.OK {
			e.Value.OwnGrant().Nodes, nodes = nodes[:1], nodes[1:]
		}
	}
}

// counterexamples are histories that violate a property, each for a reason of its own, and
// some at a border of what is told of them.
var counterexamples = []struct {
	name     string
	property Property
	write    func(s *script)
}{
	// What became of keys.
	{"a renewal that sets an expired key", NoResurrection, func(s *script) {
		*s = *onOneNode(900, func(s *script) { s.setsAgain(1105, 1100, "c1-owner") })
	}},
	{"a renewal that sets a key which the release of another deleted", NoResurrection, func(s *script) {
		*s = *onOneNode(2900, func(s *script) {
			s.h.Events[3].F, s.h.Events[3].Value.Client = history.KeyDeleted, "c2"
			s.setsAgain(1105, 1100, "c1-owner")
		})
	}},
	{"a holder of an expired lock is not told", ToldWhenLost, func(s *script) { *s = *onOneNode(-1, nothing) }},
	{"a holder is not told that another has set its key", ToldWhenLost, func(s *script) {
		*s = *onOneNode(-1, func(s *script) {
			s.h.Events = s.h.Events[:3]
			s.add(1003, "c2", history.Invoke, history.Acquire, history.Value{})
			s.key(1005, history.KeySet, "A", "c2", "c2-owner", 1000)
			s.granted(1006, "c2", -1, -1)
			s.fault(1010, true, 1, "pause", "c1")
			s.fault(1060, false, 1, "pause", "c1")
		})
	}},
	{"a holder is not told that a node lost its memory", ToldWhenLost, func(s *script) {
		*s = *onOneNode(-1, func(s *script) {
			s.h.Events[3].F, s.h.Events[3].Value = history.NodeDown, history.Value{}
			s.add(1060, "A", history.Info, history.NodeUp, history.Value{Rare: &history.Rare{Detail: "nothing"}})
		})
	}},
	{"a release that says yes of a lock that had expired", ToldAtRelease, func(s *script) { *s = *givesBack(history.OK, nothing) }},
	{"an alarm though two of three nodes have the lock", NoFalseAlarm, func(s *script) {
		*s = *renewing(3, 1000, func(s *script) {
			s.key(1100, history.KeyDeleted, "C", "c2", "c1-owner", -1)
			s.lost(1200, "c1")
		})
	}},
	{"a program that ends when a node dies", KeepsRunning, func(s *script) {
		s.h.Header.Program = "1.0"
		s.acquire(0, 1, "c1", 900, -1)
		s.add(2, "c2", history.Invoke, history.Acquire, history.Value{})
		s.fault(10, true, 1, "kill", "A")
		s.ends(12, "c2", "exit status 1", "node:events:495", "      throw er;", "", "Error: read ECONNRESET", "    at TCP.onStreamRead")
	}},
	// What grants rest on.
	{"a grant whose command failed", BackedGrant, func(s *script) {
		*s = *asksUnder(func(s *script) {
			s.fault(11, true, 1, "cut", "all clients to A")
			s.fault(12, false, 1, "cut", "all clients to A")
		}, nothing)
	}},
	{"a grant whose key its own client deleted", BackedGrant, func(s *script) {
		*s = *asksUnder(func(s *script) {
			s.release(10, 11, "c1")
			s.key(11, history.KeyDeleted, "A", "c1", "c1-owner", -1)
			s.sets(12, "c2", "A")
			s.key(13, history.KeyDeleted, "A", "c2", "c2-owner", -1)
		}, nothing)
	}},
	{"a grant for an old key of one's own", BackedGrant, func(s *script) {
		s.h.Header.Nodes = []string{"A"}
		s.add(0, "c2", history.Invoke, history.Acquire, history.Value{})
		s.sets(2, "c2", "A")
		s.add(4, "c2", history.Info, history.Acquire, history.Value{})
		s.acquire(10, 20, "c2", 900, -1)
	}},
	{"a grant of too few nodes", BackedGrant, func(s *script) { s.grantedOn(0, "c1", 900, "B", "D") }},
	{"a lock that was never renewed", StaysHeld, func(s *script) { *s = *renewing(1, 0, expires(1004, "A")) }},
	{"a lock that its holder deleted", StaysHeld, func(s *script) {
		*s = *renewing(3, 1000, func(s *script) {
			s.key(1200, history.KeyDeleted, "A", "c1", "c1-owner", -1)
			s.key(1201, history.KeyDeleted, "B", "c1", "c1-owner", -1)
		})
	}},
	// What the sections of a resource did.
	{"lost update, after a read that failed", LinearizableResource, func(s *script) {
		s.read(0, "c1", 1, 0)
		s.add(2, "c1", history.Invoke, history.Read, history.Value{Section: 1})
		s.add(3, "c1", history.Fail, history.Read, history.Value{Section: 1})
		s.read(4, "c2", 1, 0)
		s.write(6, "c1", 1, 1, history.OK, -1)
		s.write(9, "c2", 1, 1, history.OK, -1)
	}},
	{"a write that a read did not see", LinearizableResource, func(s *script) {
		s.write(0, "c1", 1, 5, history.OK, -1)
		s.read(4, "c2", 1, 0)
		s.write(6, "c2", 1, 1, history.OK, -1)
	}},
	{"a value from nowhere", LinearizableResource, func(s *script) { s.read(0, "c1", 0, 7) }},
	{"an old value in the end", LinearizableResource, func(s *script) {
		s.read(0, "c1", 1, 0)
		s.write(2, "c1", 1, 1, history.OK, -1)
		s.read(4, "c2", 0, 0)
	}},
	{"a job that ran twice", LinearizableResource, func(s *script) {
		s.h.Header.Workload = "jobs"
		s.write(0, "c1", 1, 7, history.OK, -1)
		s.write(2, "c2", 1, 7, history.OK, -1)
	}},
	{"a mail sent twice", LinearizableResource, func(s *script) {
		s.h.Header.Workload = "side-effect"
		s.cell(0, "c1", 1, "mail", 1, history.OK)
		s.cell(2, "c2", 1, "mail", 1, history.OK)
	}},
	{"an element lost", LinearizableResource, func(s *script) {
		s.h.Header.Workload = "append"
		s.write(0, "c1", 1, 10, history.OK, -1)
		s.readList(4, "c2", 0, nil)
	}},
	{"an append that the next did not see", LinearizableResource, func(s *script) {
		s.h.Header.Workload = "append"
		s.write(0, "c1", 1, 10, history.OK, -1)
		s.readList(4, "c2", 1, nil)
		s.write(6, "c2", 1, 20, history.OK, -1)
	}},
	{"an append that the next did not see, and a look in the end that failed", LinearizableResource, func(s *script) {
		s.h.Header.Workload = "append"
		s.write(0, "c1", 1, 10, history.OK, -1)
		s.readList(4, "c2", 1, nil)
		s.write(6, "c2", 1, 20, history.OK, -1)
		s.add(10, "c3", history.Invoke, history.Read, history.Value{})
		s.add(11, "c3", history.Fail, history.Read, history.Value{})
	}},
	{"an element from nowhere", LinearizableResource, func(s *script) {
		s.h.Header.Workload = "append"
		s.readList(0, "c1", 1, []int64{99})
		s.write(2, "c1", 1, 10, history.OK, -1)
	}},
	{"more sold than there was", LinearizableResource, func(s *script) {
		s.h.Header.Workload = "stock"
		s.write(0, "c1", 1, -1, history.OK, -1)
	}},
	{"the fence let an old token pass", LinearizableResource, func(s *script) {
		s.h.Header.ChecksOrder = true
		v := history.Value{Section: 1, Number: history.Some(5), Token: history.Some(1)}
		s.add(0, "c1", history.Invoke, history.Write, v)
		s.read(1, "c2", 1, 0)
		s.write(3, "c2", 1, 1, history.OK, 2)
		e := v
		e.Client, e.Outcome = "c1", &history.Outcome{Op: history.Write, At: ns(10), Accepted: history.SomeBool(true)}
		s.add(10, history.ResourceProcess, history.Info, history.Effect, e)
		s.add(11, "c1", history.OK, history.Write, v)
		s.read(20, "c3", 0, 1)
	}},
	{"a write after the release, in which the other got the lock", LinearizableResource, func(s *script) {
		s.acquire(0, 1, "c1", 900, -1)
		s.read(2, "c1", 1, 0)
		s.add(4, "c2", history.Invoke, history.Acquire, history.Value{})
		s.add(10, "c1", history.Invoke, history.Release, history.Value{})
		s.granted(10, "c2", 900, -1)
		s.add(11, "c1", history.OK, history.Release, history.Value{})
		s.read(12, "c2", 1, 0)
		s.write(14, "c2", 1, 1, history.OK, -1)
		s.write(16, "c1", 1, 1, history.OK, -1)
	}},
	{"both granted in one instant, the one asked for before a promotion was over", LinearizableResource, func(s *script) {
		s.add(0, "c1", history.Invoke, history.Acquire, history.Value{})
		s.fault(1, true, 1, "promote", "A")
		s.fault(3, false, 1, "promote", "A")
		s.add(5, "c2", history.Invoke, history.Acquire, history.Value{})
		s.granted(10, "c1", 900, -1)
		s.granted(10, "c2", 900, -1)
		s.read(11, "c1", 1, 0)
		s.read(13, "c2", 1, 0)
		s.write(15, "c1", 1, 1, history.OK, -1)
		s.write(17, "c2", 1, 1, history.OK, -1)
	}},
	{"a write after the release, beside a hold that had ended as the next was given", LinearizableResource, func(s *script) {
		s.acquire(0, 1, "c1", 900, -1)
		s.acquire(2, 3, "c2", 900, -1)
		s.read(3, "c2", 1, 0)
		s.release(4, 5, "c2")
		s.release(5, 5, "c1")
		s.acquire(5, 5, "c1", 900, -1)
		s.read(6, "c1", 1, 0)
		s.write(8, "c1", 1, 1, history.OK, -1)
		s.write(10, "c2", 1, 1, history.OK, -1)
	}},

	// What became of the first holder's key.
	{"set over another, which stood from the start", ExclusiveBelief, twoGrants(
		func(s *script) { s.key(0, history.KeySet, "A", "c1", "c1-owner", 1000) }, nothing,
		func(s *script) { s.key(101, history.KeySet, "A", "c2", "c2-owner", 1000) })},
	{"the second's key stood from the start", ExclusiveBelief, twoGrants(
		func(s *script) { s.key(0, history.KeySet, "A", "c2", "c2-owner", 1000) },
		func(s *script) { s.key(11, history.KeySet, "A", "c1", "c1-owner", 1000) }, nothing)},
	{"the second's key stood from the start, and was gone before it was asked for", ExclusiveBelief, twoGrants(
		func(s *script) {
			s.key(0, history.KeySet, "A", "c2", "c2-owner", 5)
			s.key(5, history.KeyExpired, "A", "", "c2-owner", -1)
		},
		func(s *script) { s.key(11, history.KeySet, "A", "c1", "c1-owner", 1000) }, nothing)},
	{"each set over the other, where one node had gone down", ExclusiveBelief, twoGrants(
		func(s *script) { s.key(0, history.KeySet, "A", "c1", "c1-owner", 1000) }, nothing,
		func(s *script) {
			s.add(50, "A", history.Info, history.NodeDown, history.Value{})
			s.key(60, history.KeySet, "A", "c2", "c2-owner", 1000)
			s.key(61, history.KeySet, "B", "c2", "c2-owner", 1000)
			s.key(70, history.KeySet, "B", "c1", "c1-owner", 1000)
		})},
	{"keys that tell no owner value, the first deleted by the second", ExclusiveBelief, twoGrants(nothing,
		func(s *script) { s.key(11, history.KeySet, "A", "c1", "", 1000) },
		func(s *script) {
			s.key(50, history.KeyDeleted, "A", "c2", "", -1)
			s.key(101, history.KeySet, "A", "c2", "", 1000)
		})},
	{"keys that tell no owner value", ExclusiveBelief, twoGrants(nothing,
		func(s *script) { s.key(11, history.KeySet, "A", "c1", "", 1000) },
		func(s *script) { s.key(101, history.KeySet, "A", "c2", "", 1000) })},
	{"another node went down", ExclusiveBelief, twoGrants(nothing,
		func(s *script) { s.key(11, history.KeySet, "A", "c1", "c1-owner", 1000) },
		func(s *script) {
			s.add(50, "B", history.Info, history.NodeDown, history.Value{})
			s.key(101, history.KeySet, "A", "c2", "c2-owner", 1000)
		})},
	{"the node went down", ExclusiveBelief, twoGrants(nothing,
		func(s *script) { s.key(11, history.KeySet, "A", "c1", "c1-owner", 1000) },
		func(s *script) {
			s.add(50, "A", history.Info, history.NodeDown, history.Value{})
			s.key(101, history.KeySet, "A", "c2", "c2-owner", 1000)
		})},
	{"a replica without the key", ExclusiveBelief, twoGrants(nothing,
		func(s *script) { s.key(11, history.KeySet, "A", "c1", "c1-owner", 1000) },
		func(s *script) {
			s.add(50, "B", history.Info, history.NodePromoted, history.Value{})
			s.key(101, history.KeySet, "B", "c2", "c2-owner", 1000)
		})},
	{"the old primary renews when there is a new one", ExclusiveBelief, twoGrants(nothing,
		func(s *script) { s.key(11, history.KeySet, "A", "c1", "c1-owner", 1000) },
		func(s *script) {
			s.add(50, "B", history.Info, history.NodePromoted, history.Value{})
			s.key(60, history.KeyExtended, "A", "c1", "c1-owner", 1000)
			s.key(101, history.KeySet, "B", "c2", "c2-owner", 1000)
		})},
	{"the old primary grants when there is a new one", ExclusiveBelief, twoGrants(
		func(s *script) { s.add(1, "B", history.Info, history.NodePromoted, history.Value{}) },
		func(s *script) { s.key(11, history.KeySet, "B", "c1", "c1-owner", 1000) },
		func(s *script) { s.key(101, history.KeySet, "A", "c2", "c2-owner", 1000) })},
	{"no node in common, and another replica promoted", ExclusiveBelief, func(s *script) {
		twoGrants(nothing,
			func(s *script) { s.key(11, history.KeySet, "A", "c1", "c1-owner", 1000) },
			func(s *script) {
				s.add(50, "C", history.Info, history.NodePromoted, history.Value{})
				s.key(101, history.KeySet, "B", "c2", "c2-owner", 1000)
			})(s)
		s.on("A", "B")
	}},
	{"no node in common, but for the key of an earlier attempt", ExclusiveBelief, func(s *script) {
		twoGrants(
			func(s *script) { s.key(1, history.KeySet, "A", "c1", "c1-early", 1000) },
			func(s *script) { s.key(11, history.KeySet, "B", "c1", "c1-owner", 1000) },
			func(s *script) {
				s.key(50, history.KeyDeleted, "A", "c1", "c1-early", -1)
				s.key(101, history.KeySet, "A", "c2", "c2-owner", 1000)
			})(s)
		s.on("B", "A")
	}},
	{"gone in the instant at which it was taken", ExclusiveBelief, twoGrants(nothing,
		func(s *script) { s.key(11, history.KeySet, "A", "c1", "c1-owner", 90) },
		func(s *script) { s.key(101, history.KeySet, "A", "c2", "c2-owner", 1000) })},
	{"gone before the promise was over", ExclusiveBelief, twoGrants(nothing,
		func(s *script) { s.key(11, history.KeySet, "A", "c1", "c1-owner", 50) },
		func(s *script) {
			s.key(61, history.KeyExpired, "A", "", "c1-owner", -1)
			s.key(101, history.KeySet, "A", "c2", "c2-owner", 1000)
		})},
	{"gone before it was asked for", ExclusiveBelief, twoGrants(
		func(s *script) {
			s.key(0, history.KeySet, "A", "c1", "c1-owner", 5)
			s.key(5, history.KeyExpired, "A", "", "c1-owner", -1)
		}, nothing,
		func(s *script) { s.key(101, history.KeySet, "A", "c2", "c2-owner", 1000) })},
	{"run out, unseen, in the instant in which it was asked for", ExclusiveBelief, twoGrants(
		func(s *script) { s.key(0, history.KeySet, "A", "c1", "c1-owner", 10) }, nothing,
		func(s *script) { s.key(101, history.KeySet, "A", "c2", "c2-owner", 1000) })},
	{"set by the first event, and deleted by another", ExclusiveBelief, twoGrants(
		func(s *script) {
			s.key(0, history.KeySet, "A", "c1", "c1-owner", 5000)
			s.key(5, history.KeyDeleted, "A", "c2", "c1-owner", -1)
		}, nothing,
		func(s *script) { s.key(101, history.KeySet, "A", "c2", "c2-owner", 1000) })},
	{"run out, unseen, before it was asked for", ExclusiveBelief, twoGrants(
		func(s *script) { s.key(0, history.KeySet, "A", "c1", "c1-owner", 5) }, nothing,
		func(s *script) { s.key(101, history.KeySet, "A", "c2", "c2-owner", 1000) })},

	// What the faults say where the nodes tell nothing of keys.
	{"a node killed in the instant of the grant", ExclusiveBelief, twoGrants(nothing, nothing,
		func(s *script) { s.fault(102, true, 1, "kill", "A") })},
	{"a node killed after the grant", ExclusiveBelief, func(s *script) {
		twoGrants(nothing, nothing, nothing)(s)
		s.fault(212, true, 1, "kill", "A")
	}},
	{"a promotion that was over in the instant of the asking", ExclusiveBelief, twoGrants(
		func(s *script) {
			s.fault(5, true, 1, "promote", "A")
			s.fault(10, false, 1, "promote", "A")
		}, nothing, nothing)},
	{"a promotion that was over before the asking", ExclusiveBelief, twoGrants(
		func(s *script) {
			s.fault(5, true, 1, "promote", "A")
			s.fault(9, false, 1, "promote", "A")
		}, nothing, nothing)},
	{"a client killed", ExclusiveBelief, twoGrants(nothing, func(s *script) { s.fault(11, true, 1, "kill", "c3") }, nothing)},

	// What is told of two holders.
	{"a node paused", ExclusiveBelief, twoGrants(nothing, nothing, func(s *script) {
		s.fault(30, true, 1, "pause", "B")
		s.fault(40, false, 1, "pause", "B")
	})},
	{"a client paused, that ran on in the instant of the grant", ExclusiveBelief, twoGrants(nothing, nothing, func(s *script) {
		s.fault(50, true, 1, "pause", "c1")
		s.fault(102, false, 1, "pause", "c1")
	})},
	{"paused at a point, for no time", ExclusiveBelief, func(s *script) {
		s.add(0, "c1", history.Info, history.Point, history.Value{Extra: &history.Extra{Point: "before-acquire"}})
		s.fault(0, true, 1, "pause", "c1")
		s.fault(0, false, 1, "pause", "c1")
		s.acquire(0, 1, "c1", 900, -1)
		s.acquire(2, 3, "c2", 900, -1)
		s.release(4, 5, "c1")
		s.release(6, 7, "c2")
	}},
	{"a write answered in the instant of the grant", ExclusiveBelief, twoGrants(nothing, nothing,
		func(s *script) { s.write(101, "c1", 1, 1, history.OK, -1) })},
	{"the nodes are not known", ExclusiveBelief, func(s *script) {
		twoGrants(nothing, nothing, nothing)(s)
		s.h.Header.Nodes = nil
	}},
	{"neither gave it back", ExclusiveBelief, func(s *script) {
		s.acquire(0, 1, "c1", -1, -1)
		s.acquire(2, 4, "c2", -1, -1)
		s.phase(9, history.PhaseDone)
	}},
	{"the history breaks off with a write", ExclusiveBelief, func(s *script) {
		s.acquire(0, 1, "c1", -1, -1)
		s.acquire(2, 4, "c2", -1, -1)
		s.write(8, "c1", 1, 1, history.OK, -1)
	}},
	{"three at once", ExclusiveBelief, func(s *script) {
		s.acquire(0, 1, "c1", -1, -1)
		s.acquire(2, 3, "c2", -1, -1)
		s.acquire(4, 5, "c3", -1, -1)
		s.release(7, 8, "c2")
	}},
	{"two locks, of which the one was held twice before the other", ExclusiveBelief, func(s *script) {
		s.named(0, "c1", "a")
		s.named(2, "c2", "b")
		s.named(4, "c3", "b")
		s.named(6, "c4", "a")
	}},
	{"two locks held twice in the same instant", ExclusiveBelief, func(s *script) {
		s.named(0, "c1", "a")
		s.named(2, "c2", "b")
		s.add(4, "c4", history.Invoke, history.Acquire, history.Value{Extra: &history.Extra{Lock: "a"}})
		s.named(4, "c3", "b")
		s.add(5, "c4", history.OK, history.Acquire, history.Value{})
		s.phase(9, history.PhaseDone)
	}},

	// What came late.
	{"two writes late, the first never answered", NoLateEffect, func(s *script) {
		s.acquire(0, 1, "c1", 100, -1)
		s.sent(50, "c1", 1, 150)
		s.write(160, "c1", 2, 2, history.OK, -1)
	}},
	{"a client that never ran on", NoLateEffect, func(s *script) {
		s.acquire(0, 1, "c1", 100, -1)
		s.add(50, "c1", history.Invoke, history.Write, history.Value{Section: 1, Number: history.Some(1)})
		s.fault(60, true, 1, "pause", "c1")
		s.effect(150, "c1", 1)
	}},
	{"a client that had run on before", NoLateEffect, func(s *script) {
		s.acquire(0, 1, "c1", 100, -1)
		s.fault(20, true, 1, "pause", "c1")
		s.fault(40, false, 1, "pause", "c1")
		s.sent(50, "c1", 1, 150)
	}},
	{"an effect that nobody asked for", NoLateEffect, func(s *script) {
		s.acquire(0, 1, "c1", 100, -1)
		s.effect(150, "c1", 9)
	}},
	{"others got the lock in the instants of the grant and of the effect", NoLateEffect, func(s *script) {
		s.acquire(0, 1, "c1", 100, -1)
		s.acquire(1, 1, "c2", 50, -1)
		s.acquire(120, 130, "c2", 400, -1)
		s.acquire(140, 150, "c3", 400, -1)
		s.sent(150, "c1", 1, 150)
	}},
	{"late under the grant that was re-entered", NoLateEffect, func(s *script) {
		s.acquire(0, 1, "c1", 900, -1)
		s.acquire(2, 3, "c1", 2000, -1)
		s.release(20, 21, "c1")
		s.write(1000, "c1", 1, 1, history.OK, -1)
	}},

	// Who was refused, who asked in vain, what was left, what was taken.
	{"two valid holders refused, the first without an answer", HolderServed, func(s *script) {
		s.acquire(0, 1, "c1", 900, 1)
		v := history.Value{Section: 1, Number: history.Some(1), Token: history.Some(1)}
		s.add(5, "c1", history.Invoke, history.Write, v)
		e := v
		e.Client, e.Outcome = "c1", &history.Outcome{Op: history.Write, At: ns(6), Accepted: history.SomeBool(false), Highest: history.Some(2)}
		s.add(6, history.ResourceProcess, history.Info, history.Effect, e)
		s.write(7, "c1", 2, 1, history.Fail, 1)
	}},
	{"the latest grant before the vain attempt", DeadlockFree, func(s *script) {
		s.acquire(0, 1, "c1", -1, -1)
		s.release(2, 3, "c1")
		s.phase(10, history.PhaseHealing)
		s.add(20, "c3", history.Invoke, history.Acquire, history.Value{})
		s.add(490, "c2", history.Invoke, history.Acquire, history.Value{})
		s.granted(500, "c2", -1, -1)
		s.release(500, 500, "c2")
		s.add(7000, "c3", history.Fail, history.Acquire, history.Value{})
	}},
	{"two shut out, the later one first by name", DeadlockFree, func(s *script) {
		s.acquire(0, 1, "c1", -1, -1)
		s.phase(10, history.PhaseHealing)
		s.add(20, "c3", history.Invoke, history.Acquire, history.Value{})
		s.add(30, "c2", history.Invoke, history.Acquire, history.Value{})
		s.phase(9000, history.PhaseDone)
	}},
	{"two shut out from one instant on", DeadlockFree, func(s *script) {
		s.acquire(0, 1, "c1", -1, -1)
		s.phase(10, history.PhaseHealing)
		s.add(20, "c3", history.Invoke, history.Acquire, history.Value{})
		s.add(20, "c2", history.Invoke, history.Acquire, history.Value{})
		s.phase(9000, history.PhaseDone)
	}},
	{"left by an attempt that failed", NoOrphanLock, func(s *script) {
		s.add(0, "c1", history.Invoke, history.Acquire, history.Value{Owner: "c1-owner"})
		s.key(1, history.KeySet, "A", "c1", "c1-owner", 5000)
		s.add(2, "c1", history.Fail, history.Acquire, history.Value{})
		s.phase(4000, history.PhaseDone)
	}},
	{"a key that stays after the release", NothingStays, func(s *script) { *s = *leavesBehind(nothing) }},
	{"another's key deleted, which stood from the start", OwnerRelease, func(s *script) {
		s.key(0, history.KeySet, "A", "c1", "c1-owner", 1000)
		s.key(1, history.KeyDeleted, "A", "c2", "c1-owner", -1)
	}},
	{"another's key renewed, whose setting nobody saw", OwnerRelease, func(s *script) {
		s.acquire(0, 1, "c2", 900, -1)
		s.key(1500, history.KeyExtended, "A", "c1", "c2-owner", 1000)
	}},
	{"a cell done, another write without an answer, and then dead", Atomic, func(s *script) {
		s.h.Header.Workload = "two-cells"
		s.cell(0, "c1", 1, "a", 1, history.OK)
		s.add(2, "c1", history.Invoke, history.Write, history.Value{Section: 1, Key: "a", Number: history.Some(2)})
		s.fault(3, true, 1, "kill", "c1")
	}},
	{"an append without an answer in one list", Atomic, func(s *script) {
		s.h.Header.Workload = "transactions"
		s.add(0, "c1", history.Invoke, history.Transact, history.Value{Section: 1, Number: history.Some(1)})
		s.pairLook(20, "c2", 0, []int64{1}, nil)
	}},
}

// named lets a client have a lock of a name, for ever.
func (s *script) named(ms int64, client, lock string) {
	s.add(ms, client, history.Invoke, history.Acquire, history.Value{Extra: &history.Extra{Lock: lock}})
	s.add(ms+1, client, history.OK, history.Acquire, history.Value{})
}

// sent is a write that is never answered, and takes effect.
func (s *script) sent(ms int64, client string, section int, at int64) {
	s.add(ms, client, history.Invoke, history.Write, history.Value{Section: section, Number: history.Some(1)})
	s.effect(at, client, section)
}

func (s *script) effect(ms int64, client string, section int) {
	s.add(ms, history.ResourceProcess, history.Info, history.Effect, history.Value{Section: section, Number: history.Some(1),
		Client: client, Outcome: &history.Outcome{Op: history.Write, At: ns(ms), Accepted: history.SomeBool(true)}})
}

// TestCounterexamples: what a reader is told of a violation, all of it.
func TestCounterexamples(t *testing.T) {
	var text strings.Builder
	for _, c := range counterexamples {
		s := newScript()
		c.write(s)
		f := judgeOne(t, &s.h, c.property, Options{})
		if f.Verdict != Violated {
			t.Errorf("%s: %v, %q; want a violation", c.name, f.Verdict, f.Why)
		}
		fmt.Fprintf(&text, "\n%s\n", c.name)
		tell(&text, &f)
	}
	golden.Compare(t, "testdata/counterexamples.txt", text.String())
}

// tell writes a finding, all of it.
func tell(w *strings.Builder, f *Finding) {
	fmt.Fprintf(w, "  %s: %s: %s (%s; %s, %d %s, %s) %v\n", f.Property, f.Verdict, f.Why, f.Method,
		words.Count(f.Effort.Operations, "operation"), f.Effort.Chances, f.Effort.What(), words.Count(f.Effort.Faults, "fault"), f.Events)
	c := f.Counterexample
	if c == nil {
		return
	}
	fmt.Fprintf(w, "    %s, shrunk from %d; impossible at event %d; %s\n",
		words.Count(len(c.Operations), "operation"), c.From, c.Impossible, c.Assumption)
	if c.Overlap != nil {
		fmt.Fprintf(w, "    overlap %v to %v\n", c.Overlap.From, c.Overlap.To)
	}
	for _, o := range c.Operations {
		fmt.Fprintf(w, "    %s %s, %v to %v %v; believed %q; true %q\n", o.Client, o.Op, o.From, o.To, o.Events, o.Believed, o.True)
	}
	for _, s := range c.Story {
		fmt.Fprintf(w, "      %v %d %s\n", s.At, s.Event, s.Text)
	}
}
