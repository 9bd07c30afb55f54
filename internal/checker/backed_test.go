package checker

import (
	"context"
	"strings"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// leftAt lets the command of the last event leave its client at a time.
func (s *script) leftAt(ms int64) {
	s.h.Events[len(s.h.Events)-1].Value.OwnOutcome().At = ns(ms)
}

// asksUnder lets c2 ask for a lock on one node that c1 has had, and be told at 20 ms that it has it.
func asksUnder(meanwhile, after func(s *script)) *script {
	s := newScript()
	s.h.Header.Nodes = []string{"A"}
	s.grantedOn(0, "c1", -1, "A")
	s.add(10, "c2", history.Invoke, history.Acquire, history.Value{})
	meanwhile(s)
	s.granted(20, "c2", -1, -1)
	after(s)
	s.add(900, "c2", history.Invoke, history.Release, history.Value{})
	s.phase(2600, history.PhaseDone)
	return s
}

func deletes(ms int64, client string) func(s *script) {
	return func(s *script) { s.key(ms, history.KeyDeleted, "A", client, client+"-owner", -1) }
}

func both(list ...func(s *script)) func(s *script) {
	return func(s *script) {
		for _, f := range list {
			f(s)
		}
	}
}

// TestBackedGrant: what a grant of c2 rests on.
func TestBackedGrant(t *testing.T) {
	sets := func(ms int64) func(s *script) { return func(s *script) { s.sets(ms, "c2", "A") } }
	free := both(func(s *script) { s.add(11, "c1", history.Invoke, history.Release, history.Value{}) }, deletes(11, "c1"))
	left := func(ms int64) func(s *script) { return func(s *script) { s.leftAt(ms) } }
	for _, c := range []struct {
		name            string
		meanwhile, then func(s *script)
		want            Verdict
		says            string
	}{
		{"its own key", both(free, sets(12)), nothing, Holds, "2 grants, each with its keys on enough nodes"},
		{"a command whose error is swallowed", func(s *script) {
			s.fault(11, true, 1, "cut", "all clients to A")
			s.fault(12, false, 1, "cut", "all clients to A")
		}, nothing, Violated, string(failedIsDone)},
		{"a refusal that is ignored, or a node that is not asked", nothing, nothing, Violated, string(grantedUnasked)},
		{"a key that its own client deletes", both(free, sets(12), deletes(13, "c2")), nothing, Violated, string(deletedKeeps)},
		{"a key that its own client deletes, nobody knows whether before the answer",
			both(free, sets(12)), deletes(30, "c2"), Holds, "1 grant"},
		{"a key that its own client deletes once it gave the lock back", both(free, sets(12)),
			both(func(s *script) { s.add(800, "c2", history.Invoke, history.Release, history.Value{}) }, deletes(810, "c2")), Holds, "2 grants"},
		{"a key that another deletes", both(free, sets(12), deletes(13, "c3")), nothing, Holds, ""},
		{"a key that ran out", both(free, sets(12), func(s *script) { s.key(14, history.KeyExpired, "A", "", "c2-owner", -1) }),
			nothing, Holds, "2 grants"},
		{"a key that an unknown command has changed", both(free, sets(12), func(s *script) { s.unclear(13, "A", "c2", "EVAL") }),
			nothing, Holds, "1 grant"},
		{"a key that is unknown later", both(free, sets(12)), func(s *script) { s.unclear(23, "A", "c2", "EVAL") }, Holds, "2 grants"},
		{"a key that it set again", both(free, sets(12), deletes(13, "c2"), sets(14)), nothing, Holds, ""},
		{"a key that is observed late", free, both(sets(22), left(12)), Holds, ""},
		{"a key that left later", free, both(sets(22), left(21)), Violated, ""},
		{"a key of which nobody knows when it left", free, sets(22), Holds, "1 grant"},
		{"a node that was killed", both(free, func(s *script) { s.fault(12, true, 1, "kill", "A") }), nothing, Holds, "1 grant"},
		{"a node that was promoted", both(free, func(s *script) { s.add(12, "A", history.Info, history.NodePromoted, history.Value{}) }),
			nothing, Holds, "1 grant"},
		{"a key that was handed over", both(free, func(s *script) { s.key(12, history.KeySet, "A", "c1", "c2-owner", 1000) }),
			nothing, Holds, "1 grant"},
		{"a key of nobody", both(free, func(s *script) { s.key(12, history.KeySet, "A", "", "x", 1000) }), nothing, Holds, "1 grant"},
	} {
		s := asksUnder(c.meanwhile, c.then)
		f := Judge(context.Background(), &s.h, []Property{BackedGrant}, Options{})[0]
		says := f.Why
		if x := f.Counterexample; x != nil {
			says += ": " + x.Assumption
			checkShape(t, &s.h, f)
			if ok, why := Confirmed(&s.h, f.Property, f.Counterexample); !ok {
				t.Errorf("%s: not confirmed: %s", c.name, why)
			}
		}
		if f.Verdict != c.want || !strings.Contains(says, c.says) {
			t.Errorf("%s: %v (%s), want %v (%s)", c.name, f.Verdict, says, c.want, c.says)
		}
	}
}

// inClusters makes each node of the lock a Redis Cluster.
func (s *script) inClusters() {
	s.h.Header.Nodes, s.h.Header.Clusters = nil, nil
	for _, c := range []history.ClusterNodes{{Name: "cluster1", Nodes: []string{"A", "B"}}, {Name: "cluster2", Nodes: []string{"C", "D"}},
		{Name: "cluster3", Nodes: []string{"E", "F"}}} {
		s.h.Header.Nodes, s.h.Header.Clusters = append(s.h.Header.Nodes, c.Nodes...), append(s.h.Header.Clusters, c)
	}
}

// TestBackedByEnoughNodes: how many nodes it takes.
func TestBackedByEnoughNodes(t *testing.T) {
	for _, c := range []struct {
		name  string
		write func(s *script)
		want  Verdict
		why   string
	}{
		{"a majority", func(s *script) { s.grantedOn(0, "c1", 900, "A", "B", "C") }, Holds, "1 grant, with its keys"},
		{"a minority", func(s *script) { s.grantedOn(0, "c1", 900, "A", "B") }, Violated, "on 2 of the 3 nodes"},
		{"the program's quorum", func(s *script) {
			s.h.Header.Quorum = 2
			s.grantedOn(0, "c1", 900, "A", "B")
		}, Holds, ""},
		{"a majority of clusters", func(s *script) {
			s.inClusters()
			s.grantedOn(0, "c1", 900, "A", "D")
			s.on("cluster1")
		}, Holds, "1 grant, with its keys"},
		{"two servers of one cluster", func(s *script) {
			s.inClusters()
			s.grantedOn(0, "c1", 900, "A", "B")
			s.on("cluster1")
		}, Violated, "on 1 of the 2 clusters"},
		{"keys that were not there together", func(s *script) {
			s.add(0, "c1", history.Invoke, history.Acquire, history.Value{})
			for i, n := range []string{"A", "B", "C"} {
				s.sets(int64(10*i+1), "c1", n)
				s.key(int64(10*i+2), history.KeyExpired, n, "", "c1-owner", -1)
			}
			s.granted(40, "c1", 900, -1)
		}, Holds, ""},
		{"one node, where clients see a primary alone", func(s *script) {
			s.grantedOn(0, "c1", 900, "A")
			s.on(history.PrimaryProcess)
		}, Holds, ""},
		{"a re-entry", func(s *script) {
			s.grantedOn(0, "c1", 900, "A", "B", "C")
			s.acquire(10, 12, "c1", 900, -1)
		}, Holds, "1 grant"},
		{"a key beside the lock's", func(s *script) {
			s.h.Header.Quorum = 1
			s.grantedOn(0, "c1", -1, "A")
			s.release(5, 6, "c1")
			s.grantedOn(7, "c3", -1, "A")
			s.add(10, "c2", history.Invoke, history.Acquire, history.Value{})
			s.sets(12, "c2", "A")
			s.h.Events[len(s.h.Events)-1].Value.Key = "lock-of-c2"
			s.granted(20, "c2", -1, -1)
		}, Holds, "2 grants"},
		{"an old key of its own", func(s *script) {
			s.add(0, "c2", history.Invoke, history.Acquire, history.Value{})
			s.sets(2, "c2", "A", "B", "C")
			s.add(4, "c2", history.Info, history.Acquire, history.Value{})
			s.acquire(10, 20, "c2", 900, -1)
		}, Violated, "on 0 of the 3 nodes"},
		{"an old key of its own that it renews", func(s *script) {
			s.add(0, "c2", history.Invoke, history.Acquire, history.Value{})
			s.sets(2, "c2", "A", "B", "C")
			s.add(4, "c2", history.Info, history.Acquire, history.Value{})
			s.add(10, "c2", history.Invoke, history.Acquire, history.Value{})
			for _, n := range []string{"A", "B", "C"} {
				s.key(12, history.KeyExtended, n, "c2", "c2-owner", 1000)
			}
			s.granted(20, "c2", 900, -1)
		}, Holds, "1 grant"},
		{"two locks", func(s *script) {
			s.acquire(0, 1, "c1", -1, -1)
			s.add(2, "c2", history.Invoke, history.Acquire, history.Value{Extra: &history.Extra{Lock: "x"}})
		}, Unknown, "several locks"},
		{"no keys at all", func(s *script) { s.acquire(0, 1, "c1", 900, -1) }, Unknown, "keeps no key on the nodes"},
	} {
		s := newScript()
		c.write(s)
		s.phase(2600, history.PhaseDone)
		f := Judge(context.Background(), &s.h, []Property{BackedGrant}, Options{})[0]
		if c.name == "an old key of its own" && f.Counterexample.Assumption != string(oldKeyStands) {
			t.Errorf("%s: %s", c.name, f.Counterexample.Assumption)
		}
		if f.Verdict != c.want || !strings.Contains(f.Why, c.why) {
			t.Errorf("%s: %v (%s), want %v (%s)", c.name, f.Verdict, f.Why, c.want, c.why)
		}
	}
}
