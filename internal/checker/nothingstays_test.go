package checker

import (
	"context"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// leavesBehind is a run in which c1 has the lock on node A from 5 to 100 ms, and the release is answered at 102 ms. The key lives
// until 1004 ms.
func leavesBehind(meanwhile func(s *script)) *script {
	s := newScript()
	s.h.Header.Nodes = s.h.Header.Nodes[:1]
	s.add(0, "c1", history.Invoke, history.Acquire, history.Value{})
	s.key(4, history.KeySet, "A", "c1", "c1-owner", 1000)
	s.granted(5, "c1", -1, -1)
	s.release(100, 102, "c1")
	meanwhile(s)
	s.phase(3300, history.PhaseDone)
	return s
}

func TestNothingStays(t *testing.T) {
	deleted := func(ms int64) func(s *script) {
		return func(s *script) { s.key(ms, history.KeyDeleted, "A", "c1", "c1-owner", -1) }
	}
	set := func(ms, at int64) func(s *script) {
		return func(s *script) {
			deleted(102)(s)
			s.key(ms, history.KeySet, "A", "c1", "c1-owner", 1000)
			s.h.Events[len(s.h.Events)-1].Value.OwnOutcome().At = ns(at)
		}
	}
	answered := func(outcome history.Type) func(s *script) {
		return func(s *script) { s.h.Events[4].Type = outcome }
	}
	struck := func(from, to int64, strike history.Strike) func(s *script) {
		return func(s *script) { s.strikes(from, to, strike) }
	}
	cut := func(from, to string) history.Strike {
		return history.Strike{Does: history.Drops, Links: []history.Link{{From: from, To: to}}}
	}
	for _, c := range []struct {
		name string
		with func(s *script)
		want Verdict
	}{
		{"it stays", nothing, Violated},
		{"the release deletes it", deleted(102), Holds},
		{"a late deletion", deleted(602), Holds},
		{"too late", deleted(603), Violated},
		{"the release overtakes the acquire", set(103, 50), Violated},
		{"set after the release was asked for", set(103, 100), Holds},
		{"the release was refused", answered(history.Fail), Violated},
		{"nobody knows what came of the release", answered(history.Info), Unknown},
		{"the attempt failed", func(s *script) {
			s.h.Events[2].Type = history.Fail
			s.h.Events = s.h.Events[:3]
		}, Violated},
		{"the client was killed", struck(103, 104, history.Strike{Does: history.Kills, Clients: []string{"c1"}}), Unknown},
		{"the attempt was cancelled, which is no excuse", func(s *script) {
			struck(103, 103, history.Strike{Does: history.Cancels, Clients: []string{"c1"}})(s)
		}, Violated},
		{"a fault after half a TTL", struck(603, 604, history.Strike{Does: history.Stops, Nodes: []string{"A"}}), Violated},
		{"its message was lost", struck(602, 604, cut("c1", "A")), Unknown},
		{"another's message was lost", struck(602, 604, cut("c2", "A")), Violated},
		{"its message to the resource was lost", struck(602, 604, cut("c1", history.ResourceProcess)), Violated},
	} {
		s := leavesBehind(c.with)
		f := Judge(context.Background(), &s.h, []Property{NothingStays}, Options{})[0]
		if checkShape(t, &s.h, f); f.Verdict != c.want {
			t.Errorf("%s: %v (%s)", c.name, f.Verdict, f.Why)
		}
	}
}
