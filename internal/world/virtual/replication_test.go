package virtual

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

// replicated is a world of a primary A with the replicas B and C.
func replicated(t *testing.T) *World {
	return small(t, func(s *world.Spec) {
		s.Replicated = true
		s.Nodes = append(s.Nodes, world.Node{Name: "C"})
	})
}

func onReplica(t *testing.T, w *World, d world.Disturbance, replica string) func() error {
	t.Helper()
	d.Direction = world.Both
	lift, err := w.Disturb(links(w, replica, "A"), d)
	if err != nil {
		t.Fatal(err)
	}
	return lift
}

func TestReplicasFollow(t *testing.T) {
	w := replicated(t)
	inClient(w, "c1", func(e *env) {
		do(e, command.Set("lock", "mine", time.Second))
		if r, took := do(e, command.Wait(2, 0)); r.Int != 2 || took < 400*time.Microsecond {
			t.Errorf("%d replicas have it after %v", r.Int, took)
		}
		if held(w, "B") != "mine" || held(w, "C") != "mine" {
			t.Error("a replica has not got the key")
		}
		do(e, command.Del("lock"))
		e.Sleep(10 * time.Millisecond)
		if held(w, "B") != "" {
			t.Error("a replica kept a key that was deleted")
		}
	})
}

// TestWaitCountsOfItsConnection: WAIT is about the writes of its connection. On
// another connection of the pool, it asks for nothing.
func TestWaitCountsOfItsConnection(t *testing.T) {
	w := replicated(t)
	lift := onReplica(t, w, world.Disturbance{Kind: world.Hold}, "B")
	onReplica(t, w, world.Disturbance{Kind: world.Hold}, "C")
	inClient(w, "c1", func(e *env) {
		do(e, command.Set("lock", "mine", time.Minute))
		if r, took := do(e, command.Wait(1, 50*time.Millisecond)); r.Int != 0 || took < 50*time.Millisecond {
			t.Errorf("%d replicas have it after %v", r.Int, took)
		}
		other := command.Wait(1, 50*time.Millisecond)
		other.OtherConnection = true
		if r, took := do(e, other); r.Int != 2 || took > 5*time.Millisecond {
			t.Errorf("on another connection: %d replicas after %v", r.Int, took)
		}
		if held(w, "B") != "" {
			t.Error("a held change arrived")
		}
		_ = lift()
		if r, _ := do(e, command.Wait(1, time.Second)); r.Outcome != command.Done || held(w, "B") != "mine" {
			t.Errorf("after the hold: %+v, B has %q", r, held(w, "B"))
		}
	})
}

// TestAStalledReplicaConnectsAnew: a stall keeps back what goes over the connection
// that is open. A replica that connects anew follows again.
func TestAStalledReplicaConnectsAnew(t *testing.T) {
	w := replicated(t)
	lift := onReplica(t, w, world.Disturbance{Kind: world.Stall}, "B")
	inClient(w, "c1", func(e *env) {
		wait := func(value string, want int64) {
			t.Helper()
			do(e, command.Set("lock", value, time.Minute))
			if r, _ := do(e, command.Wait(2, 50*time.Millisecond)); r.Int != want {
				t.Errorf("%d replicas have %s, want %d", r.Int, value, want)
			}
		}
		wait("first", 1)
		_ = lift()
		wait("second", 2)
		lift = onReplica(t, w, world.Disturbance{Kind: world.Stall}, "B")
		wait("third", 1)
		_ = lift()
		_ = onReplica(t, w, world.Disturbance{Kind: world.Cut}, "B")() // its end breaks the connection
		onReplica(t, w, world.Disturbance{Kind: world.Stall}, "B")     // and here none is open
		e.Sleep(10 * time.Millisecond)
		wait("fourth", 2)
	})
}

// TestALimitedReplicationIsLate: a replication link with little bandwidth carries one
// change after the other, and a slow close keeps the replica from connecting anew.
func TestALimitedReplicationIsLate(t *testing.T) {
	w := replicated(t)
	lift := onReplica(t, w, world.Disturbance{Kind: world.Bandwidth, Rate: 500}, "B") // 200 ms a change
	inClient(w, "c1", func(e *env) {
		began := w.Now()
		do(e, command.Set("lock", "first", time.Minute))
		do(e, command.Set("lock", "second", time.Minute))
		if r, _ := do(e, command.Wait(2, 90*time.Millisecond)); r.Int != 1 || held(w, "B") != "" {
			t.Errorf("%d replicas have it, B has %q", r.Int, held(w, "B"))
		}
		e.Sleep(began + 220*time.Millisecond - w.Now())
		if held(w, "B") != "first" || held(w, "C") != "second" {
			t.Errorf("B has %q, C %q", held(w, "B"), held(w, "C"))
		}
		e.Sleep(200 * time.Millisecond)
		if held(w, "B") != "second" {
			t.Errorf("B has %q", held(w, "B"))
		}
		_ = lift()
		onReplica(t, w, world.Disturbance{Kind: world.SlowClose, Delay: time.Second}, "B")
		_ = onReplica(t, w, world.Disturbance{Kind: world.Cut}, "B")() // its end breaks the connection
		do(e, command.Set("lock", "third", time.Minute))
		e.Sleep(900 * time.Millisecond)
		if held(w, "B") != "second" {
			t.Errorf("B connected anew too soon: it has %q", held(w, "B"))
		}
		e.Sleep(200 * time.Millisecond)
		if held(w, "B") != "third" {
			t.Errorf("B has %q", held(w, "B"))
		}
	})
}

// TestAReplicaCatchesUpWithinItsLimit: a replication link that ends each connection after
// some bytes carries what they hold, and the next connection carries on, on which two messages each way come first.
func TestAReplicaCatchesUpWithinItsLimit(t *testing.T) {
	w := replicated(t)
	onReplica(t, w, world.Disturbance{Kind: world.LimitData, Bytes: 4*peerMessageSize + peerMessageSize/2}, "B")
	inClient(w, "c1", func(e *env) {
		for _, value := range []string{"first", "second", "third", "fourth", "fifth"} {
			do(e, command.Set("lock", value, time.Minute))
		}
		if got := held(w, "B"); got == "fifth" {
			t.Error("the fifth change passed the limit")
		}
		e.Sleep(10 * time.Millisecond)
		if held(w, "B") != "fifth" {
			t.Errorf("on the next connection B got %q", held(w, "B"))
		}
	})
}

// TestFailoverForgets: a primary dies with a key that its replica had not got.
func TestFailoverForgets(t *testing.T) {
	w := replicated(t)
	onReplica(t, w, world.Disturbance{Kind: world.Cut}, "B")
	inClient(w, "c1", func(e *env) {
		do(e, command.Set("lock", "mine", time.Minute))
		if err := w.Kill("A"); err != nil {
			t.Error(err)
		}
		if err := w.Promote("B"); err != nil {
			t.Error(err)
		}
		if r, _ := do(e, command.SetNX("lock", "theirs", time.Minute).Within(50*time.Millisecond)); !r.OK() {
			t.Errorf("the new primary: %+v", r)
		}
		e.Sleep(100 * time.Millisecond) // a copy takes some time
		if held(w, "B") != "theirs" || held(w, "C") != "theirs" {
			t.Errorf("B has %q, and C, which follows it now, %q", held(w, "B"), held(w, "C"))
		}
	})
	if w.Promote("B") != nil || w.Promote("X") == nil {
		t.Error("promotions")
	}
}

// TestPromotionCopiesWhatDiffers: a replica that misses nothing goes on from where it is; one that has more than its new primary gets a
// copy, of which what is other is recorded. The primary makes one copy after the other.
func TestPromotionCopiesWhatDiffers(t *testing.T) {
	for _, ahead := range []bool{false, true} {
		w := replicated(t)
		events := recorded(w)
		inClient(w, "c1", func(e *env) {
			do(e, command.Set("lock", "mine", time.Minute))
			do(e, command.Wait(2, 0))
			if ahead {
				onReplica(t, w, world.Disturbance{Kind: world.Hold}, "B")
				do(e, command.Del("lock"))
				e.Sleep(10 * time.Millisecond)
			}
			from, began := len(*events), w.Now()
			if err := w.Promote("B"); err != nil {
				t.Fatal(err)
			}
			e.Sleep(100 * time.Millisecond)
			var copied []time.Duration
			for _, x := range append(of(events, from, "A"), of(events, from, "C")...) {
				if x.F != history.KeySet || x.Value.Owner != "mine" {
					t.Errorf("ahead %v: %s shows %s", ahead, x.Process, x.F)
				}
				copied = append(copied, x.Time-began)
			}
			slices.Sort(copied)
			if !ahead && len(copied) != 0 || ahead && (len(copied) != 2 || copied[0] < fullSyncTakes || copied[1] < 2*fullSyncTakes) {
				t.Errorf("ahead %v: copies after %v", ahead, copied)
			}
			if held(w, "A") != "mine" || held(w, "C") != "mine" {
				t.Errorf("ahead %v: A has %q, C %q", ahead, held(w, "A"), held(w, "C"))
			}
		})
	}
}

// TestCopyTakesKeysAway: a key that the primary does not have is gone, and the history tells of it.
func TestCopyTakesKeysAway(t *testing.T) {
	w := replicated(t)
	events := recorded(w)
	inClient(w, "c1", func(e *env) {
		onReplica(t, w, world.Disturbance{Kind: world.Hold}, "B")
		do(e, command.Set("lock", "mine", time.Minute))
		do(e, command.Set("short", "mine", 5*time.Millisecond))
		do(e, command.Wait(1, 0))
		from := len(*events)
		if err := w.Promote("B"); err != nil {
			t.Fatal(err)
		}
		e.Sleep(100 * time.Millisecond)
		for _, name := range []string{"A", "C"} {
			if got := of(events, from, name); len(got) != 1 || got[0].F != history.KeyDeleted || len(w.model(name).memory.Items) > 0 {
				t.Errorf("%s shows %+v", name, got)
			}
		}
	})
}

// TestReplicaCatchesUp: what a cut lost comes after it; a primary that came
// back empty empties its replicas.
func TestReplicaCatchesUp(t *testing.T) {
	w := replicated(t)
	lift := onReplica(t, w, world.Disturbance{Kind: world.Cut}, "B")
	inClient(w, "c1", func(e *env) {
		do(e, command.Set("lock", "mine", time.Minute))
		e.Sleep(time.Second)
		if held(w, "B") != "" {
			t.Error("the cut let a change through")
		}
		_ = lift()
		e.Sleep(3 * time.Second)
		if held(w, "B") != "mine" {
			t.Error("the replica did not catch up")
		}
		_ = w.Kill("A")
		_ = w.Restart("A", world.KeepNothing)
		e.Sleep(5 * time.Second)
		if held(w, "A") != "" || held(w, "B") != "" {
			t.Errorf("A has %q, B has %q", held(w, "A"), held(w, "B"))
		}
	})
}

// A promotion breaks the connections to the old primary: who waits there for an answer is told at once that none will come.
func TestPromotionBreaksConnections(t *testing.T) {
	w := replicated(t)
	inClient(w, "c1", func(e *env) {
		if _, err := w.Disturb([]world.Link{w.client("c1").links[0].name}, world.Disturbance{Kind: world.Hold}); err != nil {
			t.Fatal(err)
		}
		w.Go(func() { _ = w.Promote("B") })
		r, took := do(e, command.Set("lock", "mine", time.Second).Within(time.Hour))
		if r.Outcome != command.Unknown || took > 10*time.Millisecond {
			t.Errorf("%+v after %v", r, took)
		}
	})
}

// WAIT counts the replicas that are connected: what one acknowledged before its connection broke does not count.
func TestWaitCountsConnectedReplicas(t *testing.T) {
	w := replicated(t)
	inClient(w, "c1", func(e *env) {
		do(e, command.Set("lock", "mine", time.Minute))
		if r, _ := do(e, command.Wait(2, 50*time.Millisecond)); r.Int != 2 {
			t.Fatalf("%d replicas have it", r.Int)
		}
		onReplica(t, w, world.Disturbance{Kind: world.Cut}, "B")
		w.model("B").role.follows.conn.breakUp()
		if r, _ := do(e, command.Wait(2, 50*time.Millisecond)); r.Int != 1 {
			t.Errorf("one is cut off, and %d have it", r.Int)
		}
	})
}

// TestReplicasSeeACommandWhole: what one command does to several keys, or twice to one, comes to a replica at once. Here the key that a
// SET replaces has run out, so that it is deleted first.
func TestReplicasSeeACommandWhole(t *testing.T) {
	w := replicated(t)
	inClient(w, "c1", func(e *env) {
		do(e, command.Set("lock", "first", 20*time.Millisecond))
		e.Sleep(30 * time.Millisecond)
		onReplica(t, w, world.Disturbance{Kind: world.Bandwidth, Rate: 500}, "B") // 200 ms a message
		do(e, command.Set("lock", "second", time.Minute))
		if e.Sleep(300 * time.Millisecond); held(w, "B") != "second" {
			t.Errorf("B has %q", held(w, "B"))
		}
	})
}

// TestReplicasSeeFlushallWhole: it is one command, however many keys there are.
func TestReplicasSeeFlushallWhole(t *testing.T) {
	w := replicated(t)
	inClient(w, "c1", func(e *env) {
		do(e, command.Set("lock", "mine", time.Minute))
		do(e, command.Set("other", "mine", time.Minute))
		do(e, command.Wait(2, 0))
		onReplica(t, w, world.Disturbance{Kind: world.Bandwidth, Rate: 500}, "B") // 200 ms a message
		if err := w.Wipe("A"); err != nil {
			t.Fatal(err)
		}
		if e.Sleep(300 * time.Millisecond); len(w.node("B").model().memory.Items) > 0 {
			t.Errorf("B has %d keys", len(w.node("B").model().memory.Items))
		}
	})
}

// TestNobodyRefusesAnOperator: that the last command of a client was refused is nothing to FLUSHALL and to a lack of memory.
func TestNobodyRefusesAnOperator(t *testing.T) {
	for name, lose := range map[string]func(*World) error{
		"flush": func(w *World) error { return w.Wipe("A") },
		"evict": func(w *World) error { return w.Evict("A") },
	} {
		w := replicated(t)
		inClient(w, "c1", func(e *env) {
			do(e, command.Set("lock", "mine", time.Minute))
			w.node("A").model().memory.Refuse = noReplicas // as the last command of a client left it
			if err := lose(w); err != nil || held(w, "A") != "" {
				t.Errorf("%s: A has %q: %v", name, held(w, "A"), err)
			}
		})
	}
}

// TestReplicasRefuseFlushall: it is a write.
func TestReplicasRefuseFlushall(t *testing.T) {
	w := replicated(t)
	inClient(w, "c1", func(e *env) {
		do(e, command.Set("lock", "mine", time.Minute))
		do(e, command.Wait(2, 0))
		if err := w.Wipe("B"); err == nil || !strings.Contains(err.Error(), "READONLY") || held(w, "B") != "mine" {
			t.Errorf("B has %q: %v", held(w, "B"), err)
		}
		if err := w.Promote("B"); err != nil {
			t.Fatal(err)
		}
		if err := w.Wipe("B"); err != nil || held(w, "B") != "" {
			t.Errorf("the primary B has %q: %v", held(w, "B"), err)
		}
	})
}

// TestReplicationDrawsForItself: how long messages between servers take does not depend on what clients send, nor the other way round.
func TestReplicationDrawsForItself(t *testing.T) {
	took := func(dies bool) (client time.Duration) {
		w := replicated(t)
		if dies {
			if err := w.Kill("B"); err != nil {
				t.Fatal(err)
			}
		}
		inClient(w, "c1", func(e *env) {
			for range 10 {
				_, each := do(e, command.Set("lock", "mine", time.Second))
				client += each
			}
		})
		return client
	}
	if with, without := took(false), took(true); with != without {
		t.Errorf("ten commands take %v, and %v with a replica less", with, without)
	}
}
