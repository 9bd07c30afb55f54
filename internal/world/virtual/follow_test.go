package virtual

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

// recorded collects the events of a world with their times.
func recorded(w *World) *[]history.Event {
	var events []history.Event
	_ = w.Start(world.Hooks{Record: func(e history.Event) int {
		e.Time = w.Now()
		events = append(events, e)
		return len(events) - 1
	}})
	return &events
}

// of are the events of a process since the n-th of all.
func of(events *[]history.Event, from int, process string) []history.Event {
	return slices.DeleteFunc(slices.Clone((*events)[from:]), func(e history.Event) bool { return e.Process != process })
}

// TestChangesTakeTheirTime: a change reaches a replica later than the primary, and
// never sooner than the least delay of a link.
func TestChangesTakeTheirTime(t *testing.T) {
	w := replicated(t)
	events := recorded(w)
	inClient(w, "c1", func(e *env) {
		for range 50 {
			from := len(*events)
			do(e, command.Set("lock", "mine", time.Minute))
			e.Sleep(50 * time.Millisecond)
			at, first := of(events, from, "A"), of(events, from, "B")
			if len(at) != 1 || len(first) != 1 || first[0].Time < at[0].Time+leastDelay || first[0].Time > at[0].Time+5*time.Millisecond {
				t.Fatalf("A sees %v, B sees %v", at, first)
			}
		}
	})
}

// TestLatencyOfAReplica: latency delays the changes, jitter spreads them evenly to
// both sides, but makes none faster than the link, and no change overtakes another.
func TestLatencyOfAReplica(t *testing.T) {
	const latency, jitter = 20 * time.Millisecond, 8 * time.Millisecond
	for _, d := range []world.Disturbance{{Kind: world.Latency, Latency: latency}, {Kind: world.Latency, Latency: latency, Jitter: jitter},
		{Kind: world.Latency, Latency: jitter / 8, Jitter: jitter}} {
		w := replicated(t)
		events := recorded(w)
		onReplica(t, w, d, "B")
		inClient(w, "c1", func(e *env) {
			least, most := time.Hour, time.Duration(0)
			for range 200 {
				from := len(*events)
				do(e, command.Set("lock", "mine", time.Minute))
				e.Sleep(100 * time.Millisecond)
				took := of(events, from, "B")[0].Time - of(events, from, "A")[0].Time
				least, most = min(least, took), max(most, took)
			}
			const delay = 2 * time.Millisecond // most that the link itself takes
			if least < max(d.Latency-d.Jitter, leastDelay) || most > d.Latency+d.Jitter+delay ||
				d.Jitter > 0 && (least > max(d.Latency-jitter/2, leastDelay+delaySpan) || most < d.Latency+jitter/2) {
				t.Errorf("jitter %v: changes took %v to %v", d.Jitter, least, most)
			}
			from := len(*events)
			for i := range 100 {
				do(e, command.Set("lock", command.Itoa(int64(i)), time.Minute))
			}
			e.Sleep(time.Second)
			for i, x := range of(events, from, "B") {
				if x.Value.Owner != command.Itoa(int64(i)) {
					t.Fatalf("jitter %v: change %s arrived as number %d", d.Jitter, x.Value.Owner, i)
				}
			}
		})
	}
}

// TestDirectionsOfAReplicaLink: changes go one way, acknowledgements the other.
func TestDirectionsOfAReplicaLink(t *testing.T) {
	for direction, want := range map[world.Direction]struct {
		has   string
		acked int64
	}{world.Answers: {"", 1}, world.Requests: {"mine", 1}, world.Both: {"", 1}} {
		for _, kind := range []world.DisturbanceKind{world.Hold, world.Cut} {
			w := replicated(t)
			if _, err := w.Disturb(links(w, "B", "A"), world.Disturbance{Kind: kind, Direction: direction}); err != nil {
				t.Fatal(err)
			}
			inClient(w, "c1", func(e *env) {
				do(e, command.Set("lock", "mine", time.Minute))
				if r, _ := do(e, command.Wait(2, 50*time.Millisecond)); r.Int != want.acked {
					t.Errorf("%s of %s: %d replicas acknowledged, want %d", kind, direction, r.Int, want.acked)
				}
				if got := held(w, "B"); got != want.has {
					t.Errorf("%s of %s: B has %q, want %q", kind, direction, got, want.has)
				}
			})
		}
	}
}

// TestWait: WAIT answers at once where enough replicas are known to have it, as
// soon as enough acknowledge, and else with as many as there are when the node looks for the first time after its timeout.
func TestWait(t *testing.T) {
	w := replicated(t)
	onReplica(t, w, world.Disturbance{Kind: world.Latency, Latency: 10 * time.Millisecond}, "B")
	lift := onReplica(t, w, world.Disturbance{Kind: world.Latency, Latency: 30 * time.Millisecond}, "C")
	inClient(w, "c1", func(e *env) {
		wait := func(what string, replicas int, want int64, least, most time.Duration) {
			t.Helper()
			r, took := do(e, command.Wait(replicas, 100*time.Millisecond))
			if r.Int != want || took < least || took > most {
				t.Errorf("%s: %d replicas after %v; want %d after %v to %v", what, r.Int, took, want, least, most)
			}
		}
		wait("nothing was written", 2, 2, 0, 5*time.Millisecond)
		do(e, command.Set("lock", "mine", time.Minute))
		wait("the faster one", 1, 1, 10*time.Millisecond, 25*time.Millisecond)
		wait("both", 2, 2, 30*time.Millisecond, 80*time.Millisecond)
		wait("both, once more", 2, 2, 0, 5*time.Millisecond)
		wait("more than there are", 3, 2, 100*time.Millisecond, 201*time.Millisecond)
		_ = lift()
		do(e, command.Set("lock", "again", time.Minute))
		wait("more than there are, again", 3, 2, 100*time.Millisecond, 201*time.Millisecond)
	})
}

// TestTwoWait: each WAIT gets its own answer.
func TestTwoWait(t *testing.T) {
	w := replicated(t)
	onReplica(t, w, world.Disturbance{Kind: world.Latency, Latency: 20 * time.Millisecond}, "C")
	for name, replicas := range map[string]int{"c1": 1, "c2": 2} {
		w.Go(func() {
			e := newEnv(w.thread(name), nil)
			do(e, command.Set("lock", name, time.Minute))
			if r, took := do(e, command.Wait(replicas, time.Second)); r.Int < int64(replicas) || took > 100*time.Millisecond {
				t.Errorf("%s: %d replicas after %v, want %d", name, r.Int, took, replicas)
			}
		})
	}
	w.Wait()
}

// TestWaitOfADeadPrimary: nobody answers it any more.
func TestWaitOfADeadPrimary(t *testing.T) {
	w := replicated(t)
	w.Go(func() { w.Sleep(50 * time.Millisecond); _ = w.Kill("A") })
	inClient(w, "c1", func(e *env) {
		if r, took := do(e, command.Wait(3, time.Second)); r.Outcome != command.Unknown || took > 60*time.Millisecond {
			t.Errorf("%+v after %v", r, took)
		}
	})
}

// TestWhatAReplicaShows: a replica's events are those of its own key.
func TestWhatAReplicaShows(t *testing.T) {
	w := replicated(t)
	events := recorded(w)
	inClient(w, "c1", func(e *env) {
		for _, c := range []struct {
			what command.Command
			want history.F
			ttl  time.Duration // 0: none
			has  string
		}{
			{command.Set("lock", "mine", time.Second), history.KeySet, time.Second, "mine"},
			{command.PExpire("lock", 5*time.Second), history.KeyExtended, 5 * time.Second, "mine"},
			{command.Set("lock", "theirs", 3*time.Second), history.KeySet, 3 * time.Second, "theirs"},
			{command.Set("lock", "theirs", 7*time.Second), history.KeyExtended, 7 * time.Second, "theirs"},
			{command.Del("lock"), history.KeyDeleted, 0, ""},
			{command.Set("lock", "for ever", 0), history.KeySet, 0, "for ever"},
			{command.PExpire("lock", 0), history.KeyDeleted, 0, ""},
		} {
			from := len(*events)
			do(e, c.what)
			e.Sleep(10 * time.Millisecond)
			got := of(events, from, "B")
			if len(got) != 1 || got[0].F != c.want || got[0].Value.TTL().IsSet() != (c.ttl > 0) || held(w, "B") != c.has {
				t.Errorf("%v %s: B shows %+v and has %q", c.what.Op, c.what.Value, got, held(w, "B"))
				continue
			}
			if left := time.Duration(got[0].Value.TTL().V()); c.ttl > 0 && (left > c.ttl || left < c.ttl-10*time.Millisecond) {
				t.Errorf("%v %s: it lives for %v, want %v", c.what.Op, c.what.Value, left, c.ttl)
			}
		}
		if n := w.model("B"); len(n.memory.Items) != 0 {
			t.Errorf("B keeps %+v", n.memory.Items)
		}
	})
}

// connected reports that changes flow to a replica.
func connected(w *World, replica string) bool {
	f := w.model(replica).role.follows
	return f != nil && f.connected
}

// TestReplicaConnectsAnew: what was under way on a broken connection is lost, and
// sent again. A replica that missed nothing starts from no copy.
func TestReplicaConnectsAnew(t *testing.T) {
	w := replicated(t)
	events := recorded(w)
	inClient(w, "c1", func(e *env) {
		do(e, command.Set("lock", "first", time.Minute))
		e.Sleep(10 * time.Millisecond)
		from := len(*events)
		breaks := func() { w.model("B").role.follows.conn.breakUp() }
		breaks()
		e.Sleep(10 * time.Millisecond)
		if got := of(events, from, "B"); !connected(w, "B") || len(got) != 0 {
			t.Errorf("it missed nothing: connected %v, and shows %+v", connected(w, "B"), got)
		}
		lift := onReplica(t, w, world.Disturbance{Kind: world.Latency, Latency: 10 * time.Millisecond}, "B")
		do(e, command.Set("lock", "second", time.Minute))
		breaks()
		if e.Sleep(20 * time.Millisecond); held(w, "B") != "first" {
			t.Errorf("B has %q: the change came over a broken connection", held(w, "B"))
		}
		if e.Sleep(60 * time.Millisecond); held(w, "B") != "second" {
			t.Errorf("B has %q after it connected anew", held(w, "B"))
		}
		_ = lift()
		// Each of these keeps it from connecting until it is over.
		for _, kind := range []world.DisturbanceKind{world.Cut, world.Hold, world.Reset, world.LimitData} {
			lift := onReplica(t, w, world.Disturbance{Kind: kind}, "B")
			breaks()
			do(e, command.Set("lock", string(kind), time.Minute))
			if e.Sleep(3 * replicationCron); held(w, "B") == string(kind) {
				t.Errorf("%s: the replica has the change", kind)
			}
			_ = lift()
			if e.Sleep(2 * replicationCron); held(w, "B") != string(kind) {
				t.Errorf("%s: B has %q in the end", kind, held(w, "B"))
			}
		}
	})
}

// TestWhatADeadPrimarySent: what a primary had sent when it died still reaches the replica over a late link, and so does
// what a hold kept back, once that is over.
func TestWhatADeadPrimarySent(t *testing.T) {
	for _, d := range []world.Disturbance{{Kind: world.Latency, Latency: 400 * time.Millisecond}, {Kind: world.Hold}} {
		w := replicated(t)
		inClient(w, "c1", func(e *env) {
			lift := onReplica(t, w, d, "B")
			do(e, command.Set("lock", "mine", time.Minute))
			_ = w.Kill("A")
			if e.Sleep(300 * time.Millisecond); held(w, "B") != "" {
				t.Errorf("%s: B has %q too early", d.Kind, held(w, "B"))
			}
			if d.Kind == world.Hold {
				_ = lift()
			}
			if e.Sleep(200 * time.Millisecond); held(w, "B") != "mine" {
				t.Errorf("%s: B has %q in the end", d.Kind, held(w, "B"))
			}
		})
	}
}

// TestPausedReplication: a replica that stands still takes in what it missed when it
// goes on, and acknowledges nothing meanwhile; a primary that stands still sends
// nothing.
func TestPausedReplication(t *testing.T) {
	w := replicated(t)
	inClient(w, "c1", func(e *env) {
		_ = w.Pause("B")
		do(e, command.Set("lock", "mine", time.Minute))
		if r, _ := do(e, command.Wait(2, 50*time.Millisecond)); r.Int != 1 || held(w, "B") != "" {
			t.Errorf("while B stands still: %d replicas acknowledged, B has %q", r.Int, held(w, "B"))
		}
		if _ = w.Resume("B"); held(w, "B") != "mine" {
			t.Errorf("B has %q when it goes on", held(w, "B"))
		}
		if r, _ := do(e, command.Wait(2, 50*time.Millisecond)); r.Int != 2 {
			t.Errorf("%d replicas acknowledged in the end", r.Int)
		}
		_ = w.Pause("A")
		w.model("B").role.follows.conn.breakUp()
		if e.Sleep(3 * replicationCron); connected(w, "B") {
			t.Error("a replica connected to a primary that stands still")
		}
		_ = w.Resume("A")
		if e.Sleep(2 * replicationCron); !connected(w, "B") {
			t.Error("the replica never connected again")
		}
	})
}

// TestDeadReplicaLeaves: it comes back as a node of its own, and the other replica
// is not concerned.
func TestDeadReplicaLeaves(t *testing.T) {
	w := replicated(t)
	inClient(w, "c1", func(e *env) {
		_ = w.Kill("C")
		_ = w.Restart("C", world.KeepNothing)
		do(e, command.Set("lock", "mine", time.Minute))
		if r, _ := do(e, command.Wait(2, 50*time.Millisecond)); r.Int != 1 {
			t.Errorf("%d replicas acknowledged, want 1", r.Int)
		}
		if e.Sleep(3 * replicationCron); held(w, "B") != "mine" || held(w, "C") != "" {
			t.Errorf("B has %q, C has %q", held(w, "B"), held(w, "C"))
		}
	})
}

// TestRestartedPrimaryIsCopied: whatever a primary comes back with, its replicas
// have soon, whether it is more or less than they had, and then they follow it.
func TestRestartedPrimaryIsCopied(t *testing.T) {
	for keep, want := range map[world.Keep]string{world.KeepNothing: "", world.KeepData: "mine"} {
		w := small(t, func(s *world.Spec) {
			s.Replicated = true
			s.Nodes = append(s.Nodes, world.Node{Name: "C"})
			s.Nodes[0].Persistence = world.AOFAlways
		})
		inClient(w, "c1", func(e *env) {
			do(e, command.Set("lock", "mine", time.Minute))
			do(e, command.Set("other", "1", 0))
			e.Sleep(10 * time.Millisecond)
			_ = w.Kill("A")
			if held(w, "B") != "mine" {
				t.Errorf("a replica lost the key with its primary: %q", held(w, "B"))
			}
			_ = w.Restart("A", keep)
			e.Sleep(3 * replicationCron)
			for _, n := range []string{"A", "B", "C"} {
				if held(w, n) != want || len(w.model(n).memory.Items) != len(w.model("A").memory.Items) {
					t.Errorf("with %s %s has %q, want %q", keep, n, held(w, n), want)
				}
			}
			do(e, command.Set("lock", "new", time.Minute))
			if r, _ := do(e, command.Wait(2, 50*time.Millisecond)); r.Int != 2 || held(w, "B") != "new" || held(w, "C") != "new" {
				t.Errorf("with %s: %d replicas acknowledged; B has %q, C %q", keep, r.Int, held(w, "B"), held(w, "C"))
			}
			// And once more, with a past shorter than what the replicas have applied.
			_ = w.Kill("A")
			_ = w.Restart("A", world.KeepNothing)
			do(e, command.Set("lock", "newest", time.Minute))
			if e.Sleep(3 * replicationCron); held(w, "B") != "newest" || held(w, "C") != "newest" || len(w.model("B").memory.Items) != 1 {
				t.Errorf("after a second restart B has %+v, C has %q", w.model("B").memory.Items, held(w, "C"))
			}
		})
	}
}

// TestPromotion: the new primary follows nobody, the other replica and the old primary follow it, and
// clients ask it.
func TestPromotion(t *testing.T) {
	w := replicated(t)
	inClient(w, "c1", func(e *env) {
		do(e, command.Set("lock", "mine", 300*time.Millisecond))
		e.Sleep(10 * time.Millisecond)
		began := w.Now()
		if err := w.Promote("B"); err != nil || w.Now() != began+promoteTakes {
			t.Errorf("promoted after %v: %v", w.Now()-began, err)
		}
		do(e, command.PExpire("lock", time.Minute))
		e.Sleep(time.Second)
		if held(w, "A") != "mine" || held(w, "B") != "mine" || held(w, "C") != "mine" {
			t.Errorf("A has %q, B %q, C %q: one does not follow the new primary", held(w, "A"), held(w, "B"), held(w, "C"))
		}
		if r, _ := do(e, command.Wait(2, 50*time.Millisecond)); r.Int != 2 {
			t.Errorf("%d replicas follow the new primary, want 2: the other one, and the old primary", r.Int)
		}
		_ = w.Pause("C")
		if w.Promote("C") == nil {
			t.Error("a node that stands still was promoted")
		}
		_ = w.Resume("C")
		_ = w.Kill("C")
		if w.Promote("C") == nil {
			t.Error("a dead node was promoted")
		}
	})
	w = replicated(t)
	w.Go(func() { w.Sleep(promoteTakes / 2); _ = w.Kill("B") })
	w.Go(func() {
		if w.Promote("B") == nil {
			t.Error("a node that died meanwhile was promoted")
		}
	})
	w.Wait()
	if plain := small(t, nil); plain.Promote("B") == nil {
		t.Error("a node was promoted where nobody follows")
	}
}

// TestReplicaSavesWhatItWasSent: a replica has a disk of its own.
func TestReplicaSavesWhatItWasSent(t *testing.T) {
	w := small(t, func(s *world.Spec) { s.Replicated = true; s.Nodes[1].Persistence = world.AOFAlways })
	inClient(w, "c1", func(e *env) {
		do(e, command.Set("lock", "mine", time.Minute))
		e.Sleep(10 * time.Millisecond)
		_ = w.Kill("B")
		_ = w.Restart("B", world.KeepSynced)
		if held(w, "B") != "mine" {
			t.Errorf("after a power cut B has %q", held(w, "B"))
		}
	})
}

// firstStep lets the message arrive that has waited longest; time passes where
// there is none.
type firstStep struct{}

func (firstStep) Next([]Step, Touched) int { return 0 }

// TestReplicasUnderAnOrder: where an Order decides, changes arrive in the order in
// which they were sent, also behind one that a latency delays.
func TestReplicasUnderAnOrder(t *testing.T) {
	engine := Engine{Order: firstStep{}}
	defer engine.Close()
	spec := replicated(t).spec
	w, err := engine.Open(context.Background(), spec)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	events := recorded(w)
	inClient(w, "c1", func(e *env) {
		do(e, command.Set("lock", "first", time.Minute))
		if r, took := do(e, command.Wait(2, time.Second)); r.Int != 2 || took > time.Millisecond {
			t.Errorf("%d replicas after %v: a message takes no time of its own", r.Int, took)
		}
		lift := onReplica(t, w, world.Disturbance{Kind: world.Latency, Latency: 10 * time.Millisecond}, "B")
		from := len(*events)
		do(e, command.Set("lock", "second", time.Minute))
		do(e, command.Set("lock", "third", time.Minute))
		e.Sleep(50 * time.Millisecond)
		var values []string
		for _, x := range of(events, from, "B") {
			values = append(values, x.Value.Owner)
			if x.Time < 10*time.Millisecond {
				t.Errorf("%s arrived after %v: the latency is 10 ms", x.Value.Owner, x.Time)
			}
		}
		if !slices.Equal(values, []string{"second", "third"}) {
			t.Errorf("B was sent %v", values)
		}
		do(e, command.Set("lock", "fourth", time.Minute))
		_ = lift() // lets it go at once
		do(e, command.Set("lock", "fifth", time.Minute))
		if r, took := do(e, command.Wait(2, time.Second)); r.Int != 2 || took > time.Millisecond || held(w, "B") != "fifth" {
			t.Errorf("%d replicas after %v, B has %q", r.Int, took, held(w, "B"))
		}
	})
}

// TestWaitAfterAReplicaConnectedAnew: what a replica had before its connection broke, it has to acknowledge anew.
func TestWaitAfterAReplicaConnectedAnew(t *testing.T) {
	w := replicated(t)
	inClient(w, "c1", func(e *env) {
		do(e, command.Set("lock", "mine", time.Minute))
		e.Sleep(10 * time.Millisecond)
		for _, name := range []string{"B", "C"} {
			w.model(name).role.follows.conn.breakUp()
		}
		e.Sleep(5 * time.Millisecond)
		for _, name := range []string{"B", "C"} {
			onReplica(t, w, world.Disturbance{Kind: world.Hold}, name)
		}
		if r, took := do(e, command.Wait(2, 50*time.Millisecond)); r.Int != 0 || took < 50*time.Millisecond {
			t.Errorf("%d replicas acknowledged after %v, over links that are held", r.Int, took)
		}
	})
}

// TestWaitForAPausedReplica: it acknowledges as soon as it goes on.
func TestWaitForAPausedReplica(t *testing.T) {
	w := replicated(t)
	inClient(w, "c1", func(e *env) {
		_ = w.Pause("B")
		do(e, command.Set("lock", "mine", time.Minute))
		w.Go(func() { w.Sleep(100 * time.Millisecond); _ = w.Resume("B") })
		if r, took := do(e, command.Wait(2, 2*time.Second).Within(3*time.Second)); r.Int != 2 || took > 110*time.Millisecond {
			t.Errorf("%d replicas acknowledged after %v", r.Int, took)
		}
	})
}

// TestChangesWithoutTheirCopy: a replica that stood still while the connection broke over which a copy came, and then changes, has neither.
func TestChangesWithoutTheirCopy(t *testing.T) {
	w := replicated(t)
	inClient(w, "c1", func(e *env) {
		do(e, command.Set("lock", "old", time.Minute))
		e.Sleep(10 * time.Millisecond)
		_ = w.Kill("A")
		_ = w.Restart("A", world.KeepNothing)
		b := w.model("B")
		for n := w.model("A"); !slices.ContainsFunc(n.followers, func(f *follower) bool { return f.replica == b }); {
			e.Sleep(10 * time.Microsecond)
		}
		_ = w.Pause("B") // its copy is being made
		e.Sleep(10 * time.Millisecond)
		do(e, command.Set("other", "new", time.Minute))
		e.Sleep(10 * time.Millisecond)
		b.role.follows.link.breakAll()
		e.Sleep(10 * time.Millisecond)
		if _ = w.Resume("B"); len(b.memory.Items) != 1 || held(w, "B") != "old" {
			t.Errorf("B has %+v", b.memory.Items)
		}
		e.Sleep(2 * replicationCron)
		if len(b.memory.Items) != 1 || b.memory.Items[0].Key != "other" {
			t.Errorf("B has %+v in the end", b.memory.Items)
		}
	})
}

// TestStaleAnswerUnderAnOrder: what a primary arranges with a replica is nothing to one that follows another by then.
func TestStaleAnswerUnderAnOrder(t *testing.T) {
	engine := Engine{Order: firstStep{}}
	defer engine.Close()
	w, err := engine.Open(context.Background(), replicated(t).spec)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	inClient(w, "c1", func(e *env) {
		do(e, command.Set("lock", "mine", time.Minute))
		e.Sleep(10 * time.Millisecond)
		_ = w.Promote("B")
		e.Sleep(10 * time.Millisecond)
		_ = w.Pause("B")
		w.model("C").role.follows.conn.breakUp() // C asks B again
		e.Sleep(3 * time.Second)
		_ = w.Pause("C")
		_ = w.Promote("A")
		_ = w.Resume("B")
		_ = w.Resume("C")
		e.Sleep(10 * time.Millisecond)
		if a, c := w.model("A"), w.model("C"); c.role.primary != a || c.role.id != a.role.id {
			t.Errorf("C has the data of %x and follows A, which has %x", c.role.id, a.role.id)
		}
	})
}

// TestReplicasHaveListsOfTheirOwn: what is pushed to a list on one node does not show on another.
func TestReplicasHaveListsOfTheirOwn(t *testing.T) {
	w := replicated(t)
	inClient(w, "c1", func(e *env) {
		push := func(node, element string) {
			n := w.model(node)
			n.seeClock()
			n.atOnce(func() { n.memory.RPush("list", element) })
		}
		for _, element := range []string{"1", "2", "3"} {
			push("A", element)
		}
		e.Sleep(10 * time.Millisecond)
		_ = w.Pause("A")
		_ = w.Promote("B")
		push("B", "new")
		push("A", "old")
		if got := w.model("B").memory.LRange("list"); !slices.Equal(got, []string{"1", "2", "3", "new"}) {
			t.Errorf("B has %q", got)
		}
	})
}

// TestPromotionWhileANodeStarts: a node that is not up yet is told nothing, and comes back as one of its own.
func TestPromotionWhileANodeStarts(t *testing.T) {
	w := replicated(t)
	inClient(w, "c1", func(e *env) {
		_ = w.Kill("C")
		w.Go(func() { _ = w.Restart("C", world.KeepNothing) })
		e.Sleep(3 * time.Millisecond)
		_ = w.Promote("B")
		e.Sleep(5 * time.Second)
		if p := w.model("C").role.primary; p != nil {
			t.Errorf("C follows %s", p.name)
		}
	})
}
