package live_test

import (
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/live"
)

// clustered is a world with a Redis Cluster. Its nodes are patient: a busy machine must look like no dead node.
func clustered(t *testing.T, o *observed) *live.World {
	s := spec(t, 6)
	s.Lock = lock.Config{Algorithm: "set-nx-px", Key: "lock",
		TTL: time.Minute, NodeTimeout: 2 * time.Second, Retry: lock.Retry{Attempts: 1}}
	s.Replicated, s.Cluster = true, &world.Cluster{Primaries: 3, NodeTimeout: 5 * time.Second, MaxLag: 10 * time.Second}
	s.Needs = []world.Power{world.CutPower, world.CrashPower, world.ReplicaPower}
	return open(t, s, o)
}

// sees waits until a node has told something of the cluster.
func (o *observed) sees(t *testing.T, what string, match func(history.Event) bool) {
	t.Helper()
	suite.Eventually(t, what, func() bool { return len(o.find(match)) > 0 })
}

// knows reports that a node told something about another, or that it became something.
func knows(node string, f history.F, detail, about string) func(history.Event) bool {
	return func(e history.Event) bool {
		r := e.Value.Rare
		return e.Process == node && e.F == f && (detail == "" || r != nil && r.Detail == detail && r.Target == about)
	}
}

// Clients follow the slot of the lock to another primary that gets it with its keys, and to a replica that takes it over, and what is
// done to the key is seen wherever it is.
func TestClusterMovesTheLock(t *testing.T) {
	t.Parallel()
	o := &observed{}
	w := clustered(t, o)
	peers := 0
	for _, l := range w.Links() {
		if !w.IsClient(l.From) {
			peers++
		}
	}
	if peers != 2*6*5 {
		t.Errorf("%d links between 6 nodes", peers)
	}
	first := mustOK(t, w, "c1", history.Acquire)
	if a := do(w, "c2", history.Acquire); a.Type == history.OK {
		t.Fatal("two clients have the lock")
	}
	finish, err := w.MoveSlot("B", world.KeysFirst)
	if err != nil {
		t.Fatal(err)
	}
	o.sees(t, "A sends clients to B", knows("A", history.Cluster, history.ClusterSends, "B"))
	if a := do(w, "c2", history.Acquire); a.Type == history.OK {
		t.Fatal("the lock is lost between two primaries")
	}
	mustOK(t, w, "c1", history.Release) // A says ASK
	if err := finish(); err != nil {
		t.Fatal(err)
	}
	o.sees(t, "B has the slot", knows("B", history.NodePromoted, "", ""))
	o.sees(t, "A has it no more", knows("A", history.NodeDemoted, "", ""))
	second := mustOK(t, w, "c2", history.Acquire) // A says MOVED
	suite.Eventually(t, "the replica has the key", func() bool {
		return len(o.find(func(e history.Event) bool {
			return e.Process == "E" && e.F == history.KeySet && e.Value.Owner == second.Value.Owner
		})) > 0
	})
	if err := w.Promote("E"); err != nil {
		t.Fatal(err)
	}
	o.sees(t, "E has taken the slot over", knows("E", history.Cluster, history.ClusterSlot, "E"))
	o.sees(t, "B knows that", knows("B", history.Cluster, history.ClusterSlot, "E"))
	if a := do(w, "c1", history.Acquire); a.Type == history.OK {
		t.Error("the lock is lost with a takeover")
	}
	mustOK(t, w, "c2", history.Release)
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	deleted := func(node, owner, client string) func(history.Event) bool {
		return func(e history.Event) bool {
			return e.Process == node && e.F == history.KeyDeleted && e.Value.Owner == owner && e.Value.Client == client
		}
	}
	for what, match := range map[string]func(history.Event) bool{
		"c1 released at B": deleted("B", first.Value.Owner, "c1"), "c2 released at E": deleted("E", second.Value.Owner, "c2"),
	} {
		if n := len(o.find(match)); n != 1 {
			t.Errorf("%s: %d times", what, n)
		}
	}
	if unclear := o.find(func(e history.Event) bool { return e.F == history.KeyUnclear }); len(unclear) > 0 {
		t.Errorf("what keys hold is not clear: %+v", unclear)
	}
}

// A node that is cut off from the others is taken for failed, and its replica elected. It hears of that when it is back.
func TestClusterElects(t *testing.T) {
	suite.All(t)
	o := &observed{}
	w := clustered(t, o)
	var cut []world.Link
	for _, l := range w.Links() {
		if (l.From == "A") != (l.To == "A") && l.From != "c1" {
			cut = append(cut, l)
		}
	}
	lift, err := w.Disturb(cut, world.Disturbance{Kind: world.Cut})
	if err != nil {
		t.Fatal(err)
	}
	mustOK(t, w, "c1", history.Acquire)
	o.sees(t, "B takes A for failed", knows("B", history.Cluster, history.ClusterFailed, "A"))
	o.sees(t, "D is elected", knows("D", history.NodePromoted, "", ""))
	o.sees(t, "A serves nobody any more", knows("A", history.Cluster, history.ClusterRefuses, ""))
	if err := lift(); err != nil {
		t.Fatal(err)
	}
	o.sees(t, "A knows of its successor", knows("A", history.NodeDemoted, "", ""))
	suite.Eventually(t, "c2 is granted the lock", func() bool { return do(w, "c2", history.Acquire).Type == history.OK })
}
