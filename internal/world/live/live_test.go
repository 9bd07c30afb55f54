package live_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/scenario/resource"
	"github.com/redlock-sim/redlock-sim/internal/scenario/workload"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/client"
	"github.com/redlock-sim/redlock-sim/internal/world/client/process"
	"github.com/redlock-sim/redlock-sim/internal/world/live"
	"github.com/redlock-sim/redlock-sim/internal/world/worldtest"
)

// The test binary is its own client, as sim is.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "client" {
		if err := process.Serve(os.Stdin, os.Stdout, os.Stderr); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	// The thread that starts children lives as long as the program.
	goleak.VerifyTestMain(suite.Live(m),
		goleak.IgnoreTopFunction("github.com/redlock-sim/redlock-sim/internal/machine.onStarterThread.func1.1"))
}

// spec is a world of n nodes and two clients with a Redlock. Its times are long: a busy machine takes its time.
// A test that waits for them in vain makes them shorter.
func spec(t testing.TB, n int) world.Spec {
	s := world.Spec{
		Name: t.Name(), Dir: t.TempDir(), Seed: 1, Clients: []string{"c1", "c2"},
		Lock: lock.Config{Algorithm: "redlock", Key: "lock", TTL: time.Minute, NodeTimeout: 5 * time.Second,
			FanOut: lock.AtOnce, Drift: lock.Drift{DriftFactor: 0.01, DriftConstant: 2 * time.Millisecond}, Retry: lock.Retry{Attempts: 1}},
		Resource: resource.Config{Kind: resource.Register, Key: "resource", Fence: resource.NoFence},
		Points:   []string{workload.BeforeWrite},
	}
	for i := range n {
		s.Nodes = append(s.Nodes, world.Node{Name: string(rune('A' + i)), Persistence: world.NoPersistence})
	}
	return s
}

func TestRefusesTheUnknown(t *testing.T) {
	worldtest.RefusesTheUnknown(t, spec(t, 1), func(s world.Spec) (world.World, error) {
		w, err := live.Open(t.Context(), s, live.Options{ClientCommand: []string{os.Args[0], "client"}})
		if err != nil {
			return nil, err
		}
		return w, nil
	})
}

// observed collects what a world reports.
type observed struct {
	mu     sync.Mutex
	events []history.Event
	point  func(client, point string)
}

func (o *observed) hooks() world.Hooks {
	return world.Hooks{
		Record: func(e history.Event) int {
			o.mu.Lock()
			defer o.mu.Unlock()
			o.events = append(o.events, e)
			return len(o.events) - 1
		},
		Point: func(client, point string) {
			if o.point != nil {
				o.point(client, point)
			}
		},
	}
}

func (o *observed) find(match func(history.Event) bool) []history.Event {
	o.mu.Lock()
	defer o.mu.Unlock()
	var found []history.Event
	for _, e := range o.events {
		if match(e) {
			found = append(found, e)
		}
	}
	return found
}

func open(t testing.TB, s world.Spec, o *observed) *live.World {
	t.Helper()
	w, err := live.Open(context.Background(), s, live.Options{ClientCommand: []string{os.Args[0], "client"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := w.Start(o.hooks()); err != nil {
		t.Fatal(err)
	}
	return w
}

func do(w *live.World, name string, f history.F) client.Answer {
	return w.Client(name).Do(client.Request{F: f, Section: 1, Number: history.Some(1)})
}

func mustOK(t testing.TB, w *live.World, name string, f history.F) client.Answer {
	t.Helper()
	a := do(w, name, f)
	if a.Type != history.OK {
		t.Fatalf("%s %s: %v %s", name, f, a.Type, a.Error)
	}
	return a
}

// isGranted has a client ask for the lock until it gets it.
func isGranted(t testing.TB, w *live.World, name string) (a client.Answer) {
	t.Helper()
	suite.Succeeds(t, "the lock for "+name, func() error {
		if a = do(w, name, history.Acquire); a.Type != history.OK {
			return fmt.Errorf("%v %s", a.Type, a.Error)
		}
		return nil
	})
	return a
}

func TestASectionLeavesItsTraces(t *testing.T) {
	t.Parallel()
	o := &observed{}
	w := open(t, spec(t, 3), o)
	a := mustOK(t, w, "c1", history.Acquire)
	if len(a.Value.Nodes()) != 3 || !a.Value.ValidUntil().IsSet() {
		t.Errorf("grant: %+v", a.Value)
	}
	if left := time.Duration(a.Value.ValidUntil().V()) - w.Now(); left <= 0 || left > time.Minute {
		t.Errorf("the promise lasts %v", left)
	}
	if refused := do(w, "c2", history.Acquire); refused.Type != history.Fail {
		t.Errorf("c2 acquired what c1 holds: %v", refused.Type)
	}
	mustOK(t, w, "c1", history.Read)
	mustOK(t, w, "c1", history.Write)
	mustOK(t, w, "c1", history.Release)
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	for _, node := range []string{"A", "B", "C"} {
		for _, f := range []history.F{history.KeySet, history.KeyDeleted} {
			got := o.find(func(e history.Event) bool {
				return e.Process == node && e.F == f && e.Value.Client == "c1" && e.Value.Owner == a.Value.Owner
			})
			if len(got) != 1 {
				t.Errorf("node %s: %d times %s by c1", node, len(got), f)
			}
		}
	}
	effects := o.find(func(e history.Event) bool { return e.F == history.Effect })
	if len(effects) != 2 || effects[1].Value.Op() != history.Write || !effects[1].Value.Accepted().V {
		t.Errorf("effects: %+v", effects)
	}
	if at := time.Duration(effects[1].Value.At().V()); at < 0 || at > w.Now() {
		t.Errorf("the write took effect at %v, now is %v", at, w.Now())
	}
}

func TestAPausedClientDoesNothing(t *testing.T) {
	t.Parallel()
	o := &observed{}
	w := open(t, spec(t, 1), o)
	paused := w.NewSignal()
	o.point = func(client, point string) {
		if err := w.Pause(client); err != nil {
			t.Error(err)
		}
		paused.Fire()
	}
	mustOK(t, w, "c1", history.Acquire)
	answered := make(chan client.Answer, 1)
	go func() { answered <- do(w, "c1", history.Write) }()
	if !paused.Wait(suite.Patience) {
		t.Fatal("c1 never came to its write")
	}
	// Everybody else goes on, and sees that nothing was written.
	for range 20 {
		if a := do(w, "c2", history.Read); a.Value.Number.V() != 0 {
			t.Fatal("a stopped client wrote")
		}
	}
	if len(answered) != 0 {
		t.Fatal("a stopped client answered")
	}
	if err := w.Resume("c1"); err != nil {
		t.Fatal(err)
	}
	if a := suite.Receive(t, "the answer of c1", answered); a.Type != history.OK {
		t.Errorf("after the pause: %+v", a)
	}
	if a := mustOK(t, w, "c2", history.Read); a.Value.Number.V() != 1 {
		t.Errorf("read %v", a.Value.Number)
	}
}

func TestAPausedNodeDoesNotAnswer(t *testing.T) {
	t.Parallel()
	s := spec(t, 3)
	s.Lock.NodeTimeout = time.Second
	w := open(t, s, &observed{})
	if err := w.Pause("B"); err != nil {
		t.Fatal(err)
	}
	if a := mustOK(t, w, "c1", history.Acquire); slices.Contains(a.Value.Nodes(), "B") {
		t.Errorf("granted by %v", a.Value.Nodes())
	}
	if err := w.Resume("B"); err != nil {
		t.Fatal(err)
	}
}

func links(w *live.World, from string, to ...string) []world.Link {
	var list []world.Link
	for _, l := range w.Links() {
		if l.From == from && slices.Contains(to, l.To) {
			list = append(list, l)
		}
	}
	return list
}

func TestACutIsAsymmetricBetweenClients(t *testing.T) {
	t.Parallel()
	s := spec(t, 5)
	s.Lock.NodeTimeout = time.Second
	w := open(t, s, &observed{})
	lift, err := w.Disturb(links(w, "c1", "C", "D", "E"), world.Disturbance{Kind: world.Cut, Direction: world.Both})
	if err != nil {
		t.Fatal(err)
	}
	if a := do(w, "c1", history.Acquire); a.Type != history.Fail {
		t.Errorf("c1 acquired with two of five nodes: %+v", a)
	}
	mustOK(t, w, "c2", history.Acquire)
	mustOK(t, w, "c2", history.Release)
	if err := lift(); err != nil {
		t.Fatal(err)
	}
	mustOK(t, w, "c1", history.Acquire)
}

func TestAHeldWriteArrivesWhenTheHoldEnds(t *testing.T) {
	t.Parallel()
	o := &observed{}
	w := open(t, spec(t, 1), o)
	atWrite := w.NewSignal()
	o.point = func(string, string) { atWrite.Fire() }
	lift, err := w.Disturb(links(w, "c1", history.ResourceProcess), world.Disturbance{Kind: world.Hold, Direction: world.Requests})
	if err != nil {
		t.Fatal(err)
	}
	answered := make(chan client.Answer, 1)
	go func() { answered <- do(w, "c1", history.Write) }()
	if !atWrite.Wait(suite.Patience) {
		t.Fatal("c1 never came to its write")
	}
	for range 20 {
		if a := mustOK(t, w, "c2", history.Read); a.Value.Number.V() != 0 {
			t.Fatal("a held message arrived")
		}
	}
	if err := lift(); err != nil {
		t.Fatal(err)
	}
	if a := suite.Receive(t, "the answer of c1", answered); a.Type != history.OK {
		t.Errorf("after the hold: %+v", a)
	}
}

// A client that gives up and closes its connection does not call back what it
// has sent.
func TestAHeldReleaseArrivesAfterTheClientGaveUp(t *testing.T) {
	t.Parallel()
	o := &observed{}
	s := spec(t, 1)
	s.Lock.NodeTimeout = time.Second
	w := open(t, s, o)
	mustOK(t, w, "c1", history.Acquire)
	lift, err := w.Disturb(links(w, "c1", "A"), world.Disturbance{Kind: world.Hold, Direction: world.Requests})
	if err != nil {
		t.Fatal(err)
	}
	if a := do(w, "c1", history.Release); a.Type != history.Info {
		t.Errorf("a release whose answer never came: %+v", a)
	}
	if err := lift(); err != nil {
		t.Fatal(err)
	}
	suite.Eventually(t, "the held release", func() bool {
		return len(o.find(func(e history.Event) bool { return e.F == history.KeyDeleted })) == 1
	})
}

// A client whose connection is stalled gets through on a new one; what it had sent
// on the first arrives when the stall ends, behind what it sent later.
func TestAStalledReleaseIsOvertaken(t *testing.T) {
	t.Parallel()
	o := &observed{}
	s := spec(t, 1)
	s.Lock.NodeTimeout = time.Second
	s.Lock.Mistakes.SameValue = true
	w := open(t, s, o)
	deleted := func() int {
		return len(o.find(func(e history.Event) bool { return e.F == history.KeyDeleted }))
	}
	mustOK(t, w, "c1", history.Acquire)
	lift, err := w.Disturb(links(w, "c1", "A"), world.Disturbance{Kind: world.Stall, Direction: world.Both})
	if err != nil {
		t.Fatal(err)
	}
	if a := do(w, "c1", history.Release); a.Type != history.Info {
		t.Errorf("a release whose answer never came: %+v", a)
	}
	isGranted(t, w, "c1") // its own key is in the way, which the clean-up removes
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	before := deleted()
	if err := lift(); err != nil {
		t.Fatal(err)
	}
	suite.Eventually(t, "the stalled release", func() bool { return deleted() != before })
}

func TestANodesClockMovesAndComesBack(t *testing.T) {
	t.Parallel()
	if _, err := machine.FindFaketime(); err != nil {
		suite.Lacks(t, "libfaketime")
	}
	s := spec(t, 1)
	s.Needs = []world.Power{world.NodeClockPower}
	o := &observed{}
	w := open(t, s, o)
	mustOK(t, w, "c1", history.Acquire)
	if a := do(w, "c2", history.Acquire); a.Type != history.Fail {
		t.Fatalf("c2 acquired before the jump: %+v", a)
	}
	if err := w.SetClock("A", world.WallClock, world.ClockFault{Jump: 61 * time.Second, Rate: 1}); err != nil {
		t.Fatal(err)
	}
	mustOK(t, w, "c2", history.Acquire)
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if got := o.find(func(e history.Event) bool { return e.F == history.KeyExpired }); len(got) != 1 {
		t.Errorf("%d expired keys were observed", len(got))
	}
	mustOK(t, w, "c2", history.Release)
	if err := w.ResetClock("A", world.WallClock); err != nil {
		t.Fatal(err)
	}
	if a := mustOK(t, w, "c1", history.Acquire); a.Value.Validity().V() > int64(time.Minute) {
		t.Errorf("validity %v", a.Value.Validity())
	}
}

func TestAClientsWallClockJumps(t *testing.T) {
	t.Parallel()
	s := spec(t, 1)
	s.Lock.Clock = lock.Wall
	s.Lock.TTL = 10 * time.Second
	w := open(t, s, &observed{})
	mustOK(t, w, "c1", history.Acquire)
	if err := w.SetClock("c1", world.WallClock, world.ClockFault{Jump: 20 * time.Second, Rate: 1}); err != nil {
		t.Fatal(err)
	}
	a := w.Client("c1").Do(client.Request{F: history.Write, Section: 1, Number: history.Some(1), Check: true})
	if a.Type != history.Fail || !strings.Contains(a.Error, "validity had ended") {
		t.Errorf("a client whose clock jumped past its lease: %+v", a)
	}
}

func TestReplicasFollowAndTakeOver(t *testing.T) {
	t.Parallel()
	s := spec(t, 2)
	s.Replicated = true
	w := open(t, s, &observed{})
	lift, err := w.Disturb(links(w, "B", "A"), world.Disturbance{Kind: world.Hold, Direction: world.Both})
	if err != nil {
		t.Fatal(err)
	}
	mustOK(t, w, "c1", history.Acquire)
	if err := w.Kill("A"); err != nil {
		t.Fatal(err)
	}
	if err := w.Promote("B"); err != nil {
		t.Fatal(err)
	}
	isGranted(t, w, "c2") // the replica never heard of c1's key
	if err := lift(); err != nil {
		t.Fatal(err)
	}
}

func TestAKilledClientIsGoneAndCanReturn(t *testing.T) {
	t.Parallel()
	o := &observed{}
	w := open(t, spec(t, 1), o)
	mustOK(t, w, "c1", history.Acquire)
	if err := w.Kill("c1"); err != nil {
		t.Fatal(err)
	}
	if a := do(w, "c1", history.Write); a.Type != history.Info || !a.Gone {
		t.Errorf("a dead client answered %+v", a)
	}
	if err := w.Restart("c1", world.KeepData); err != nil {
		t.Fatal(err)
	}
	mustOK(t, w, "c1", history.Read)
}
