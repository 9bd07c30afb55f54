package checker

import (
	"context"
	"strings"
	"testing"

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
	v := history.Value{Key: "lock", Owner: client + "-owner", Client: client, At: ns(left)}
	if until >= 0 {
		v.ValidUntil = ns(until)
	}
	s.add(ms, node, history.Info, f, v)
}

func TestPromiseIsWhatWasAskedFor(t *testing.T) {
	two := func(s *script, at int64) { // a second client on all nodes
		s.add(at, "c2", history.Invoke, history.Acquire, history.Value{})
		for _, n := range []string{"A", "B", "C"} {
			s.changes(at+5, n, history.KeySet, "c2", at+1, at+1001)
		}
		s.granted(at+10, "c2", -1, -1)
		s.add(at+20, "run", history.Info, history.Phase, history.Value{Detail: history.PhaseDone})
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
		"a lock without an end": {1, func(s *script) {
			s.changes(5, "A", history.KeySet, "c1", 1, -1)
			s.granted(10, "c1", -1, -1)
		}, 50_000, Violated, ""},
		"the second latest of three nodes": {2, func(s *script) {
			s.changes(3, "A", history.KeySet, "c1", 1, 1001)
			s.changes(4, "B", history.KeySet, "c1", 2, 2002)
			s.changes(5, "C", history.KeySet, "c1", 3, 3003)
			s.granted(10, "c1", -1, -1)
		}, 1500, Violated, ""},
		"not the latest of them": {2, func(s *script) {
			s.changes(3, "A", history.KeySet, "c1", 1, 1001)
			s.changes(4, "B", history.KeySet, "c1", 2, 2002)
			s.changes(5, "C", history.KeySet, "c1", 3, 3003)
			s.granted(10, "c1", -1, -1)
		}, 2500, Holds, ""},
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
		"too few nodes were seen": {2, func(s *script) {
			s.changes(5, "A", history.KeySet, "c1", 1, 5001)
			s.granted(10, "c1", -1, -1)
		}, 500, Unknown, "the keys of its lock were seen on 1 of 2 nodes"},
		"no key was seen": {1, func(s *script) { s.granted(10, "c1", -1, -1) }, 500, Unknown, "on 0 of 1 node"},
		"a loss that was told": {1, func(s *script) {
			s.changes(5, "A", history.KeySet, "c1", 1, 1001)
			s.granted(10, "c1", -1, -1)
			s.add(400, "c1", history.Info, history.Lost, history.Value{Owner: "c1-owner", At: ns(390)})
		}, 500, Holds, ""},
		"a loss of another grant": {1, func(s *script) {
			s.changes(5, "A", history.KeySet, "c1", 1, 1001)
			s.granted(10, "c1", -1, -1)
			s.add(400, "c1", history.Info, history.Lost, history.Value{Owner: "older", At: ns(390)})
		}, 500, Violated, ""},
		"a loss that was told before the answer was on record": {1, func(s *script) {
			s.changes(5, "A", history.KeySet, "c1", 1, 1001)
			s.add(9, "c1", history.Info, history.Lost, history.Value{At: ns(9)})
			s.granted(10, "c1", -1, -1)
		}, 500, Holds, ""},
		"a loss since nobody knows when, and another holder since": {1, func(s *script) {
			s.changes(5, "A", history.KeySet, "c1", 1, 1001)
			s.granted(10, "c1", -1, -1)
			s.add(600, "c1", history.Info, history.Lost, history.Value{At: ns(600), AtError: int64(590e6)})
		}, 0, Unknown, "but not since when"},
		"a loss since nobody knows when, and nobody after it": {1, func(s *script) {
			s.changes(5, "A", history.KeySet, "c1", 1, 1001)
			s.granted(10, "c1", -1, -1)
			s.add(100, "c1", history.Info, history.Lost, history.Value{At: ns(100), AtError: int64(50e6)})
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
				s.add(620, "run", history.Info, history.Phase, history.Value{Detail: history.PhaseDone})
			}
			f := Judge(context.Background(), &s.h, []Property{ExclusiveLease, ExclusiveBelief}, Options{})
			if lost := strings.HasPrefix(name, "a loss") && name != "a loss of another grant"; !strings.Contains(name, "release") && (f[1].Verdict == Violated) == lost {
				t.Errorf("belief: %v: %s", f[1].Verdict, f[1].Why)
			}
			if f[0].Verdict != c.want || !strings.Contains(f[0].Why, c.why) {
				t.Errorf("%v: %s\nwant %v: %s", f[0].Verdict, f[0].Why, c.want, c.why)
			}
		})
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
	s.add(60, "run", history.Info, history.Phase, history.Value{Detail: history.PhaseDone})
	f := Judge(context.Background(), &s.h, []Property{NoLateEffect, LinearizableResource}, Options{})
	if f[0].Verdict != Unknown || strings.Contains(f[1].Why, "promised") {
		t.Errorf("%+v", f)
	}
}
