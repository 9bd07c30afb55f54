package checker

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// asked is a run of a lock program on nodes of which a quorum must hold it.
func asked(quorum int) *script {
	s := newScript()
	s.h.Header.Quorum, s.h.Header.Program = quorum, "1.0"
	return s
}

// changes is a change of the lock's key, seen at ms, whose command left the client at
// left and asked for the key until then; until < 0: for ever.
func (s *script) changes(ms int64, node string, f history.F, client string, left, until int64) {
	v := history.Value{Key: "lock", Owner: client + "-owner", Client: client, Outcome: &history.Outcome{At: ns(left)}}
	if until >= 0 {
		v.OwnGrant().ValidUntil = ns(until)
	}
	s.add(ms, node, history.Info, f, v)
}

// holdsAndAsks lets c1 get the lock until 1001 ms, and ask for it again.
func holdsAndAsks(s *script) {
	s.changes(5, "A", history.KeySet, "c1", 1, 1001)
	s.granted(10, "c1", -1, -1)
	s.add(20, "c1", history.Invoke, history.Acquire, history.Value{Extra: &history.Extra{Inner: true}})
}

// takesInside lets c1 set the key then, with an owner value, get the lock, and give it back.
func takesInside(s *script, ms int64, owner string) {
	s.changes(ms, "A", history.KeySet, "c1", ms-2, ms+998)
	s.h.Events[len(s.h.Events)-1].Value.Owner = owner
	s.add(ms+1, "c1", history.OK, history.Acquire, history.Value{Owner: owner})
	s.add(ms+2, "c1", history.Invoke, history.Release, history.Value{Owner: owner})
	s.add(ms+3, "c1", history.OK, history.Release, history.Value{Owner: owner})
}

func TestPromiseIsWhatWasGiven(t *testing.T) {
	two := func(s *script, at int64) { // a second client on all nodes
		s.add(at, "c2", history.Invoke, history.Acquire, history.Value{})
		for _, n := range []string{"A", "B", "C"} {
			s.changes(at+5, n, history.KeySet, "c2", at+1, at+1001)
		}
		s.granted(at+10, "c2", -1, -1)
		s.refused(at+12, at+14, "c3") // which could have been granted
		s.add(at+20, "run", history.Info, history.Phase, history.Value{Rare: &history.Rare{Detail: history.PhaseDone}})
	}
	for name, c := range map[string]struct {
		quorum int
		told   func(s *script) // between the request of c1 at 0 and the end
		second int64
		want   Verdict
		why    string
	}{
		"a second holder inside of it": {1, func(s *script) {
			s.changes(5, "A", history.KeySet, "c1", 1, 1001)
			s.granted(10, "c1", -1, -1)
		}, 500, Violated, ""},
		"a second holder after it": {1, func(s *script) {
			s.changes(5, "A", history.KeySet, "c1", 1, 1001)
			s.granted(10, "c1", -1, -1)
		}, 1100, Holds, ""},
		"it counts from when the command left, not from when it came": {1, func(s *script) {
			s.changes(900, "A", history.KeySet, "c1", 1, 1001)
			s.granted(910, "c1", -1, -1)
		}, 1100, Holds, ""},
		"what it takes inside is another grant's": {1, func(s *script) {
			holdsAndAsks(s)
			takesInside(s, 1005, "c1-inside")
		}, 1100, Holds, ""},
		"what it takes inside by the same value when its key is gone": {1, func(s *script) {
			holdsAndAsks(s)
			s.add(1002, "A", history.Info, history.KeyExpired, history.Value{Key: "lock", Owner: "c1-owner"})
			takesInside(s, 1005, "c1-owner")
		}, 1100, Holds, ""},
		"what it takes again inside by the same value": {1, func(s *script) {
			holdsAndAsks(s)
			takesInside(s, 905, "c1-owner")
		}, 1100, Violated, ""},
		"a key without an end": {1, func(s *script) {
			s.changes(5, "A", history.KeySet, "c1", 1, -1)
			s.granted(10, "c1", -1, -1)
		}, 900, Violated, ""},
		"a key without an end promises no more than the lock was given": {1, func(s *script) {
			s.changes(5, "A", history.KeySet, "c1", 1, -1)
			s.granted(10, "c1", -1, -1)
		}, 1100, Holds, ""},
		"a lock that asks for less": {1, func(s *script) {
			s.changes(5, "A", history.KeySet, "c1", 1, 2)
			s.granted(10, "c1", -1, -1)
		}, 900, Violated, ""},
		"a lock that asks for more": {1, func(s *script) {
			s.changes(5, "A", history.KeySet, "c1", 1, 1_000_001)
			s.granted(10, "c1", -1, -1)
		}, 1100, Holds, ""},
		"a lock whose keys live longer by design": {1, func(s *script) {
			s.h.Header.TTLExtra = int64(200 * time.Millisecond)
			s.changes(5, "A", history.KeySet, "c1", 1, 1001)
			s.granted(10, "c1", -1, -1)
		}, 900, Holds, ""},
		"the history does not say the TTL": {1, func(s *script) {
			s.h.Header.TTL = 0
			s.changes(5, "A", history.KeySet, "c1", 1, 1001)
			s.granted(10, "c1", -1, -1)
		}, 900, Unknown, "the TTL that the lock was given"},
		"the second latest of three nodes": {2, func(s *script) {
			s.changes(3, "A", history.KeySet, "c1", 1, 1001)
			s.changes(704, "B", history.KeySet, "c1", 702, 1702)
			s.changes(805, "C", history.KeySet, "c1", 803, 1803)
			s.granted(810, "c1", -1, -1)
		}, 1600, Violated, ""},
		"not the latest of them": {2, func(s *script) {
			s.changes(3, "A", history.KeySet, "c1", 1, 1001)
			s.changes(704, "B", history.KeySet, "c1", 702, 1702)
			s.changes(805, "C", history.KeySet, "c1", 803, 1803)
			s.granted(810, "c1", -1, -1)
		}, 1750, Holds, ""},
		"of a retry, the last try": {1, func(s *script) {
			s.changes(5, "A", history.KeySet, "c1", 1, 1001)
			s.changes(15, "A", history.KeyDeleted, "c1", 11, -1)
			s.changes(505, "A", history.KeySet, "c1", 501, 1501)
			s.granted(510, "c1", -1, -1)
		}, 1300, Violated, ""},
		"a key of its own beside that of all": {1, func(s *script) {
			s.changes(5, "A", history.KeySet, "c1", 1, 1001)
			s.granted(10, "c1", -1, -1)
			s.changes(905, "A", history.KeySet, "c1", 901, 1901)
			s.h.Events[len(s.h.Events)-1].Value.Key = "beat of c1"
		}, 1500, Holds, ""},
		"a key that was taken back does not count": {2, func(s *script) {
			s.changes(3, "A", history.KeySet, "c1", 1, 9001)
			s.changes(4, "A", history.KeyDeleted, "c1", 2, -1)
			s.changes(5, "B", history.KeySet, "c1", 2, 1002)
			s.changes(6, "C", history.KeySet, "c1", 3, 1003)
			s.granted(10, "c1", -1, -1)
		}, 1500, Holds, ""},
		"a renewal": {1, func(s *script) {
			s.changes(5, "A", history.KeySet, "c1", 1, 1001)
			s.granted(10, "c1", -1, -1)
			s.changes(505, "A", history.KeyExtended, "c1", 500, 1500)
		}, 1300, Violated, ""},
		"a renewal that left after the release was asked for": {1, func(s *script) {
			s.changes(5, "A", history.KeySet, "c1", 1, 1001)
			s.granted(10, "c1", -1, -1)
			s.add(400, "c1", history.Invoke, history.Release, history.Value{})
			s.changes(505, "A", history.KeyExtended, "c1", 500, 1500)
		}, 600, Holds, ""},
		"a told validity goes before the keys": {1, func(s *script) {
			s.changes(5, "A", history.KeySet, "c1", 1, 5001)
			s.granted(10, "c1", 300, -1)
		}, 500, Holds, ""},
		"a told validity that was over counts as none": {1, func(s *script) {
			s.changes(5, "A", history.KeySet, "c1", 1, 1001)
			s.granted(10, "c1", 9, -1)
		}, 500, Violated, ""},
		"a grant that rests on too few nodes counts from its answer": {2, func(s *script) {
			s.changes(5, "A", history.KeySet, "c1", 1, 1001)
			s.granted(110, "c1", -1, -1)
		}, 1095, Violated, ""},
		"and no longer than the TTL": {2, func(s *script) {
			s.changes(5, "A", history.KeySet, "c1", 1, 1001)
			s.granted(110, "c1", -1, -1)
		}, 1105, Holds, ""},
		"an end that was seen late": {1, func(s *script) {
			s.changes(5, "A", history.KeySet, "c1", 1, -1) // INCR, then PEXPIRE
			s.granted(10, "c1", -1, -1)
			s.changes(11, "A", history.KeyExtended, "c1", 6, 1006)
		}, 900, Violated, ""},
		"and no more than that": {1, func(s *script) {
			s.changes(5, "A", history.KeySet, "c1", 1, -1)
			s.granted(10, "c1", -1, -1)
			s.changes(11, "A", history.KeyExtended, "c1", 6, 1006)
		}, 1100, Holds, ""},
		"a key that gets its first end late is asked for since it was set": {1, func(s *script) {
			s.changes(5, "A", history.KeySet, "c1", 1, -1)
			s.granted(10, "c1", -1, -1)
			s.changes(521, "A", history.KeyExtended, "c1", 516, 1516)
		}, 1100, Holds, ""},
		"a renewal that shortens": {1, func(s *script) {
			s.changes(5, "A", history.KeySet, "c1", 1, 1001)
			s.granted(10, "c1", -1, -1)
			s.changes(521, "A", history.KeyExtended, "c1", 516, 517)
		}, 1400, Violated, ""},
		"a key that was seen late": {2, func(s *script) {
			s.changes(5, "A", history.KeySet, "c1", 1, 1001)
			s.granted(10, "c1", -1, -1)
			s.changes(505, "A", history.KeyExtended, "c1", 500, 1500)
			s.changes(506, "B", history.KeySet, "c1", 2, 1002)
		}, 900, Violated, ""},
		"a key that was seen late promises no more than it asked for": {2, func(s *script) {
			s.changes(5, "A", history.KeySet, "c1", 1, 1001)
			s.granted(10, "c1", -1, -1)
			s.changes(505, "A", history.KeyExtended, "c1", 500, 1500)
			s.changes(506, "B", history.KeySet, "c1", 2, 1002)
		}, 1100, Holds, ""},
		"a command that came after the answer is a renewal, if there was a quorum without it": {2, func(s *script) {
			s.changes(3, "A", history.KeySet, "c1", 1, 1001)
			s.changes(404, "B", history.KeySet, "c1", 402, 1402)
			s.granted(410, "c1", -1, -1)
			s.acquire(1100, 1110, "c3", 1140, -1)
			s.release(1120, 1130, "c3")
			s.changes(1150, "C", history.KeySet, "c1", 403, 1403)
		}, 1500, Holds, ""},
		"such a renewal": {2, func(s *script) {
			s.changes(3, "A", history.KeySet, "c1", 1, 1001)
			s.changes(404, "B", history.KeySet, "c1", 402, 1402)
			s.granted(410, "c1", -1, -1)
			s.changes(450, "C", history.KeySet, "c1", 403, 1403)
		}, 1300, Violated, ""},
		"a key taken back after the answer was promised before": {1, func(s *script) {
			s.changes(5, "A", history.KeySet, "c1", 1, 1001)
			s.granted(10, "c1", -1, -1)
			s.changes(20, "A", history.KeyDeleted, "c1", 15, -1)
		}, 500, Violated, ""},
		"renewals of both kinds": {1, func(s *script) {
			s.changes(5, "A", history.KeySet, "c1", 1, 101)
			s.granted(10, "c1", -1, -1)
			s.changes(95, "A", history.KeyExtended, "c1", 90, 190)
			s.add(150, "c1", history.Invoke, history.Extend, history.Value{})
			s.add(160, "c1", history.OK, history.Extend, history.Value{Grant: &history.Grant{ValidUntil: ns(600)}})
		}, 500, Violated, ""},
		"a renewal that was seen after the release was asked for": {1, func(s *script) {
			s.changes(5, "A", history.KeySet, "c1", 1, 101)
			s.granted(10, "c1", -1, -1)
			s.add(400, "c1", history.Invoke, history.Release, history.Value{})
			s.changes(410, "A", history.KeyExtended, "c1", 390, 1390)
		}, 500, Holds, ""},
		"a key that was unclear": {1, func(s *script) {
			s.changes(5, "A", history.KeySet, "c1", 1, 1001)
			s.granted(10, "c1", -1, -1)
			s.unclear(20, "A", "", "SETBIT")
		}, 500, Unknown, "a key of its lock was unclear"},
		"a key that was unclear before": {1, func(s *script) {
			s.h.Events = s.h.Events[:0]
			s.unclear(0, "A", "", "SETBIT")
			s.key(0, history.KeyDeleted, "A", "", "", -1)
			s.add(0, "c1", history.Invoke, history.Acquire, history.Value{})
			s.changes(5, "A", history.KeySet, "c1", 1, 1001)
			s.granted(10, "c1", -1, -1)
		}, 500, Violated, ""},
		"a key that was clear again when the lock asked for it": {1, func(s *script) {
			s.unclear(2, "A", "", "SETBIT")
			s.key(3, history.KeyDeleted, "A", "", "", -1)
			s.changes(5, "A", history.KeySet, "c1", 4, 1004)
			s.granted(10, "c1", -1, -1)
		}, 500, Violated, ""},
		"a key that was clear again after the lock had asked for it": {1, func(s *script) {
			s.unclear(2, "A", "", "SETBIT")
			s.key(4, history.KeyDeleted, "A", "", "", -1)
			s.changes(5, "A", history.KeySet, "c1", 3, 1003)
			s.granted(10, "c1", -1, -1)
		}, 500, Unknown, "a key of its lock was unclear"},
		"a key that was unclear after the release was asked for": {1, func(s *script) {
			s.changes(5, "A", history.KeySet, "c1", 1, 1001)
			s.granted(10, "c1", -1, -1)
			s.add(400, "c1", history.Invoke, history.Release, history.Value{})
			s.unclear(401, "A", "", "SETBIT")
			s.key(402, history.KeyDeleted, "A", "", "", -1)
		}, 500, Holds, ""},
		"a re-entry of which the nodes see nothing": {1, func(s *script) {
			s.changes(5, "A", history.KeySet, "c1", 1, 1001)
			s.granted(10, "c1", -1, -1)
			s.acquire(20, 30, "c1", -1, -1)
			s.changes(905, "A", history.KeyExtended, "c1", 900, 1900)
		}, 1500, Violated, ""},
		"a re-entry that tells its end": {1, func(s *script) {
			s.changes(5, "A", history.KeySet, "c1", 1, 1001)
			s.granted(10, "c1", -1, -1)
			s.acquire(20, 30, "c1", 2000, -1)
			s.release(40, 50, "c1")
		}, 1500, Holds, ""},
		"a grant that rests on nothing": {1, func(s *script) { s.granted(10, "c1", -1, -1) }, 500, Violated, ""},
		"a command that left nobody knows when": {1, func(s *script) {
			s.key(5, history.KeySet, "A", "c1", "c1-owner", 1000)
			s.granted(10, "c1", -1, -1)
		}, 500, Unknown, "nobody saw when"},
		"a loss that was told": {1, func(s *script) {
			s.changes(5, "A", history.KeySet, "c1", 1, 1001)
			s.granted(10, "c1", -1, -1)
			s.add(400, "c1", history.Info, history.Lost, history.Value{Owner: "c1-owner", Outcome: &history.Outcome{At: ns(390)}})
		}, 500, Holds, ""},
		"a loss of another grant": {1, func(s *script) {
			s.changes(5, "A", history.KeySet, "c1", 1, 1001)
			s.granted(10, "c1", -1, -1)
			s.add(400, "c1", history.Info, history.Lost, history.Value{Owner: "older", Outcome: &history.Outcome{At: ns(390)}})
		}, 500, Violated, ""},
		"a loss of a grant whose owner is not known": {1, func(s *script) {
			s.changes(5, "A", history.KeySet, "c1", 1, 1001)
			s.add(10, "c1", history.OK, history.Acquire, history.Value{})
			s.add(400, "c1", history.Info, history.Lost, history.Value{Owner: "c1-owner", Outcome: &history.Outcome{At: ns(390)}})
		}, 500, Holds, ""},
		"a loss of an older grant, told late": {1, func(s *script) {
			s.changes(5, "A", history.KeySet, "c1", 1, 1001)
			s.add(9, "c1", history.Info, history.Lost, history.Value{Outcome: &history.Outcome{At: ns(-5)}})
			s.granted(10, "c1", -1, -1)
		}, 500, Violated, ""},
		"a loss of an older grant, told late, with its owner": {1, func(s *script) {
			s.changes(5, "A", history.KeySet, "c1", 1, 1001)
			s.add(9, "c1", history.Info, history.Lost, history.Value{Owner: "older", Outcome: &history.Outcome{At: ns(5)}})
			s.granted(10, "c1", -1, -1)
		}, 500, Violated, ""},
		"a loss of another lock": {1, func(s *script) {
			s.changes(5, "A", history.KeySet, "c1", 1, 1001)
			s.add(9, "c1", history.Info, history.Lost, history.Value{Extra: &history.Extra{Lock: "x"}, Outcome: &history.Outcome{At: ns(9)}})
			s.granted(10, "c1", -1, -1)
		}, 500, Violated, ""},
		"a loss of a lock that was re-entered": {1, func(s *script) {
			s.changes(5, "A", history.KeySet, "c1", 1, 1001)
			s.granted(10, "c1", -1, -1)
			s.acquire(20, 30, "c1", -1, -1)
			s.add(300, "c1", history.Info, history.Lost, history.Value{Owner: "c1-owner", Outcome: &history.Outcome{At: ns(290)}})
			s.release(310, 320, "c1")
		}, 500, Holds, ""},
		"a renewal after a loss": {1, func(s *script) {
			s.changes(5, "A", history.KeySet, "c1", 1, 1001)
			s.granted(10, "c1", -1, -1)
			s.add(300, "c1", history.Info, history.Lost, history.Value{Outcome: &history.Outcome{At: ns(290)}})
			s.changes(400, "A", history.KeyExtended, "c1", 390, 1390)
		}, 500, Holds, ""},
		"a loss without an end, and no instant": {1, func(s *script) {
			s.changes(5, "A", history.KeySet, "c1", 1, -1)
			s.granted(10, "c1", -1, -1)
			s.add(300, "c1", history.Info, history.Lost, history.Value{})
		}, 500, Unknown, "but not since when"},
		"a loss since nobody knows when, and another holder when the promise was over": {1, func(s *script) {
			s.h.Header.TTL = int64(300 * time.Millisecond)
			s.changes(5, "A", history.KeySet, "c1", 1, 301)
			s.granted(10, "c1", -1, -1)
			s.add(600, "c1", history.Info, history.Lost, history.Value{Outcome: &history.Outcome{At: ns(600), AtError: int64(590e6)}})
		}, 0, Holds, ""},
		"a loss since nobody knows when, and another holder before the grant": {1, func(s *script) {
			s.h.Events = s.h.Events[:0]
			s.add(-40, "c3", history.Invoke, history.Acquire, history.Value{})
			s.add(-30, "c3", history.OK, history.Acquire, history.Value{Grant: &history.Grant{ValidUntil: ns(-20)}})
			s.add(0, "c1", history.Invoke, history.Acquire, history.Value{})
			s.changes(5, "A", history.KeySet, "c1", 1, 1001)
			s.granted(10, "c1", -1, -1)
			s.add(300, "c1", history.Info, history.Lost, history.Value{Outcome: &history.Outcome{At: ns(290), AtError: int64(590e6)}})
		}, 500, Holds, ""},
		"a loss that was told before the answer was on record": {1, func(s *script) {
			s.changes(5, "A", history.KeySet, "c1", 1, 1001)
			s.add(9, "c1", history.Info, history.Lost, history.Value{Outcome: &history.Outcome{At: ns(9)}})
			s.granted(10, "c1", -1, -1)
		}, 500, Holds, ""},
		"a loss since nobody knows when, and another holder since": {1, func(s *script) {
			s.changes(5, "A", history.KeySet, "c1", 1, 1001)
			s.granted(10, "c1", -1, -1)
			s.add(600, "c1", history.Info, history.Lost, history.Value{Outcome: &history.Outcome{At: ns(600), AtError: int64(590e6)}})
		}, 0, Unknown, "but not since when"},
		"a loss since nobody knows when, and nobody after it": {1, func(s *script) {
			s.changes(5, "A", history.KeySet, "c1", 1, 1001)
			s.granted(10, "c1", -1, -1)
			s.add(100, "c1", history.Info, history.Lost, history.Value{Outcome: &history.Outcome{At: ns(100), AtError: int64(50e6)}})
		}, 500, Holds, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := asked(c.quorum)
			s.add(0, "c1", history.Invoke, history.Acquire, history.Value{})
			c.told(s)
			if c.second > 0 {
				two(s, c.second)
			} else {
				s.changes(600, "A", history.KeySet, "c2", 550, 1550)
				s.add(600, "c2", history.Invoke, history.Acquire, history.Value{})
				s.granted(600, "c2", 1550, -1)
				s.refused(602, 604, "c3")
				s.add(620, "run", history.Info, history.Phase, history.Value{Rare: &history.Rare{Detail: history.PhaseDone}})
			}
			f := Judge(context.Background(), &s.h, []Property{ExclusiveLease}, Options{})[0]
			if f.Verdict != c.want || !strings.Contains(f.Why, c.why) {
				t.Errorf("%v: %s\nwant %v: %s", f.Verdict, f.Why, c.want, c.why)
			}
		})
	}
}

// TestPromisesAskedFor: what a report shows of promises. What makes none later is no renewal.
func TestPromisesAskedFor(t *testing.T) {
	s := asked(2)
	s.h.Header.TTL = int64(100 * time.Millisecond)
	for _, until := range []int64{101, -1} {
		at := int64(1000) * int64(len(s.h.Events))
		s.add(at, "c1", history.Invoke, history.Acquire, history.Value{})
		for _, n := range []string{"A", "B"} {
			if until >= 0 {
				until = at + 101
			}
			s.changes(at+5, n, history.KeySet, "c1", at+1, until)
		}
		s.granted(at+10, "c1", -1, -1)
		if until >= 0 {
			s.changes(at+20, "A", history.KeyExtended, "c1", at+15, at+115)
			s.changes(at+21, "B", history.KeyExtended, "c1", at+16, at+116)
		}
		s.release(at+30, at+31, "c1")
	}
	var got []string
	for b := range Beliefs(&s.h, s.h.Ops()) {
		got = append(got, fmt.Sprint(b.Promises))
	}
	if want := []string{"[{10ms 101ms} {21ms 115ms}]", "[{8.01s 8.101s}]"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// What is not known of a promise takes a violation back, too: the effect was late only
// under the shortest promise that there can have been.
func TestVaguePromisesAccuseNobody(t *testing.T) {
	s := asked(1)
	s.add(0, "c1", history.Invoke, history.Acquire, history.Value{})
	s.granted(10, "c1", -1, -1)
	s.read(20, "c1", 1, 0)
	s.write(30, "c1", 1, 1, history.OK, -1)
	s.release(40, 50, "c1")
	s.add(60, "run", history.Info, history.Phase, history.Value{Rare: &history.Rare{Detail: history.PhaseDone}})
	f := Judge(context.Background(), &s.h, []Property{NoLateEffect, LinearizableResource}, Options{})
	if f[0].Verdict != Unknown || strings.Contains(f[1].Why, "promised") {
		t.Errorf("%+v", f)
	}
}

// TestPromisesMatter: what is said of promises, where other properties rest on it.
func TestPromisesMatter(t *testing.T) {
	// A client has the lock for 100 ms; its command that left then asks for 100 ms more.
	renewed := func(s *script, last int64) {
		s.add(0, "c1", history.Invoke, history.Acquire, history.Value{})
		s.changes(5, "A", history.KeySet, "c1", 1, 101)
		s.granted(10, "c1", -1, -1)
		s.add(20, "c1", history.Invoke, history.Write, history.Value{Section: 1, Number: history.Some(1)})
		e := history.Value{Client: "c1", Section: 1, Number: history.Some(1),
			Outcome: &history.Outcome{Op: history.Write, At: ns(last), Accepted: history.SomeBool(true)}}
		s.add(last+1, history.ResourceProcess, history.Info, history.Effect, e)
	}
	lost := func(s *script, at, by int64) {
		s.add(at, "c1", history.Info, history.Lost, history.Value{Outcome: &history.Outcome{At: ns(at), AtError: by * int64(time.Millisecond)}})
	}
	for name, c := range map[string]struct {
		property Property
		told     func(s *script)
		want     Verdict
	}{
		"a write after the promise": {NoLateEffect, func(s *script) { renewed(s, 102) }, Violated},
		"a write while the renewal was under way": {NoLateEffect, func(s *script) {
			renewed(s, 102)
			s.changes(110, "A", history.KeyExtended, "c1", 99, 199)
		}, Holds},
		"a write before the renewal left": {NoLateEffect, func(s *script) {
			renewed(s, 102)
			s.changes(110, "A", history.KeyExtended, "c1", 103, 203)
		}, Violated},
		"a write after the promise, and a loss told since": {NoLateEffect, func(s *script) {
			renewed(s, 102)
			lost(s, 110, 60)
		}, Violated},
		"a write after the promise, in the instant in which it may have been lost": {NoLateEffect, func(s *script) {
			renewed(s, 92)
			lost(s, 110, 60)
		}, Unknown},
		"a write before a loss": {NoLateEffect, func(s *script) {
			renewed(s, 49)
			lost(s, 110, 60)
		}, Holds},
		"a write before the end of a renewal without one": {NoLateEffect, func(s *script) {
			renewed(s, 182)
			s.changes(203, "A", history.KeyExtended, "c1", 90, -1)
		}, Holds},
		"a loss gives the lock to nobody": {DeadlockFree, func(s *script) {
			s.phase(0, history.PhaseHealing)
			renewed(s, 30)
			lost(s, 40, 0)
			s.acquire(50, 110, "c2", 900, -1)
		}, Holds},
		"what is renewed for ever is free when its client is dead, and its lease is over": {DeadlockFree, func(s *script) {
			s.phase(0, history.PhaseHealing)
			renewed(s, 30)
			s.changes(40, "A", history.KeyExtended, "c1", 39, -1)
			s.fault(50, true, 1, "kill", "c1")
			s.acquire(60, 200, "c2", 900, -1)
		}, Violated},
	} {
		t.Run(name, func(t *testing.T) {
			s := asked(1)
			s.h.Header.TTL = int64(100 * time.Millisecond)
			c.told(s)
			s.add(1000, "run", history.Info, history.Phase, history.Value{Rare: &history.Rare{Detail: history.PhaseDone}})
			f := Judge(context.Background(), &s.h, []Property{c.property}, Options{GrantWithin: 50 * time.Millisecond})[0]
			if f.Verdict != c.want {
				t.Errorf("%v: %s\nwant %v", f.Verdict, f.Why, c.want)
			}
		})
	}
}

// TestKeyThatIsTakenAgain: a lock that tells no owner value takes its own key once more by an extension. The key is then that of the later
// grant. What the client renews in between makes it nobody else's.
func TestKeyThatIsTakenAgain(t *testing.T) {
	for name, c := range map[string]struct {
		left   int64 // when the extension at 405 ms left the client, which asks again from 400 to 410
		answer history.Type
		renews bool
		want   Verdict
	}{
		"by an attempt that was granted":                     {401, history.OK, false, Holds},
		"by an attempt of which nobody knows what came":      {401, history.Info, false, Violated},
		"by a renewal before":                                {399, history.OK, false, Violated},
		"by one that was granted, of a lock that renews":     {401, history.OK, true, Holds},
		"by one that was not granted, of a lock that renews": {401, history.Info, true, Violated},
	} {
		t.Run(name, func(t *testing.T) {
			s := asked(1)
			s.h.Header.Renews = c.renews
			changed := func(ms int64, f history.F, left int64) {
				s.add(ms, "A", history.Info, f, history.Value{Key: "lock", Client: "c1", Outcome: &history.Outcome{At: ns(left)},
					Grant: &history.Grant{TTL: ns(9000), ValidUntil: ns(left + 9000)}})
			}
			s.add(0, "c1", history.Invoke, history.Acquire, history.Value{})
			changed(5, history.KeySet, 1)
			s.add(10, "c1", history.OK, history.Acquire, history.Value{})
			s.add(400, "c1", history.Invoke, history.Acquire, history.Value{})
			changed(405, history.KeyExtended, c.left)
			s.add(410, "c1", c.answer, history.Acquire, history.Value{})
			s.add(1800, "c1", history.Invoke, history.Release, history.Value{})
			s.add(2500, "c1", history.Info, history.Release, history.Value{})
			changed(2799, history.KeyDeleted, 1801)
			s.add(3500, "run", history.Info, history.Phase, history.Value{Rare: &history.Rare{Detail: history.PhaseDone}})
			if f := Judge(context.Background(), &s.h, []Property{NoOrphanLock}, Options{})[0]; f.Verdict != c.want {
				t.Errorf("%v: %s\nwant %v", f.Verdict, f.Why, c.want)
			}
		})
	}
}

// TestAskedAtTheInstantOfTheEnd: what leaves the client at the instant of the answer was asked for before it, also if the client gives the
// lock back at once.
func TestAskedAtTheInstantOfTheEnd(t *testing.T) {
	s := asked(1)
	s.add(0, "c1", history.Invoke, history.Acquire, history.Value{})
	s.changes(5, "A", history.KeySet, "c1", 1, 300_001)
	s.granted(200, "c1", 1200, -1)
	s.release(200, 202, "c1")
	s.changes(203, "A", history.KeyExtended, "c1", 200, 1200)
	s.add(310, "run", history.Info, history.Phase, history.Value{Rare: &history.Rare{Detail: history.PhaseDone}})
	if f := Judge(context.Background(), &s.h, []Property{TrueValidity}, Options{})[0]; f.Verdict != Holds {
		t.Errorf("%v: %s", f.Verdict, f.Why)
	}
}
