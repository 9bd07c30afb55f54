package live_test

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/live"
	"github.com/redlock-sim/redlock-sim/internal/world/live/docker"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server"
)

// needDocker skips where no engine answers, and builds the image where one does.
func needDocker(t testing.TB) {
	t.Helper()
	if err := engineReady(); err != nil {
		suite.Lacks(t, "a Docker engine (make docker-engine starts one): "+err.Error())
	}
	if err := imageBuilt(); err != nil {
		t.Fatalf("make docker-image: %v", err)
	}
}

var engineReady = sync.OnceValue(func() error {
	_, err := server.Settle(context.Background(), server.Docker, "")
	if err == nil {
		_, err = exec.LookPath("docker") // which builds the image
	}
	return err
})

var imageBuilt = sync.OnceValue(func() error {
	cmd := exec.Command("sh", "../../../scripts/docker-image.sh")
	cmd.Stderr = os.Stderr
	return cmd.Run()
})

func openInDocker(t testing.TB, s world.Spec, o *observed) *live.World {
	t.Helper()
	needDocker(t)
	w, err := live.Open(context.Background(), s,
		live.Options{ClientCommand: []string{os.Args[0], "client"}, Options: server.Options{Nodes: server.Docker}})
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

func TestNodesInDockerAreObserved(t *testing.T) {
	o := &observed{}
	w := openInDocker(t, spec(t, 3), o)
	a := mustOK(t, w, "c1", history.Acquire)
	mustOK(t, w, "c1", history.Write)
	mustOK(t, w, "c1", history.Release)
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	for _, node := range []string{"A", "B", "C"} {
		set := o.find(func(e history.Event) bool {
			return e.Process == node && e.F == history.KeySet && e.Value.Client == "c1" && e.Value.Owner == a.Value.Owner
		})
		if len(set) != 1 {
			t.Errorf("node %s: the key was set %d times by c1", node, len(set))
		}
	}
	if got := o.find(func(e history.Event) bool { return e.F == history.Effect }); len(got) != 1 {
		t.Errorf("%d effects on the resource, want 1", len(got))
	}
	for _, part := range []string{"redis", "docker", "image"} {
		if w.Versions()[part] == "" {
			t.Errorf("no version of %s in %v", part, w.Versions())
		}
	}
}

func TestAPausedContainerDoesNotAnswer(t *testing.T) {
	suite.All(t)
	s := spec(t, 3)
	s.Lock.NodeTimeout = time.Second
	w := openInDocker(t, s, &observed{})
	if err := w.Pause("B"); err != nil {
		t.Fatal(err)
	}
	if a := mustOK(t, w, "c1", history.Acquire); slices.Contains(a.Value.Nodes(), "B") {
		t.Errorf("granted by %v", a.Value.Nodes())
	}
	mustOK(t, w, "c1", history.Release)
	for range 2 { // resuming what is not paused is no error
		if err := w.Resume("B"); err != nil {
			t.Fatal(err)
		}
	}
	// B first has to work off what came in the meantime.
	suite.Eventually(t, "a grant of B", func() bool {
		a := mustOK(t, w, "c1", history.Acquire)
		mustOK(t, w, "c1", history.Release)
		return slices.Contains(a.Value.Nodes(), "B")
	})
	// What is paused can be killed.
	if err := w.Pause("C"); err != nil {
		t.Fatal(err)
	}
	if err := w.Kill("C"); err != nil {
		t.Fatal(err)
	}
	if w.Alive("C") {
		t.Error("C lives")
	}
}

func TestTheClockOfAContainerMoves(t *testing.T) {
	suite.All(t)
	s := spec(t, 1)
	s.Needs = []world.Power{world.NodeClockPower}
	o := &observed{}
	w := openInDocker(t, s, o)
	mustOK(t, w, "c1", history.Acquire)
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
	if err := w.ResetClock("A", world.WallClock); err != nil {
		t.Fatal(err)
	}
}

// What a node still knows of an acknowledged write after its container was
// killed: with its volume, without, and as after a power cut.
func TestWhatAKilledContainerLeaves(t *testing.T) {
	suite.All(t)
	for _, c := range []struct {
		persistence world.Persistence
		keep        world.Keep
		held        bool
	}{
		{world.NoPersistence, world.KeepData, false},
		{world.AOFAlways, world.KeepData, true},
		{world.AOFAlways, world.KeepSynced, true},
		{world.AOFAlways, world.KeepNothing, false},
		{world.AOFNo, world.KeepData, true},
		{world.AOFNo, world.KeepSynced, false},
	} {
		t.Run(c.persistence.String()+"/"+c.keep.String(), func(t *testing.T) {
			s := spec(t, 1)
			s.Nodes[0].Persistence = c.persistence
			w := openInDocker(t, s, &observed{})
			mustOK(t, w, "c1", history.Acquire)
			crash(t, w, c.keep)
			want := history.OK
			if c.held {
				want = history.Fail
			}
			if a := do(w, "c2", history.Acquire); a.Type != want {
				t.Errorf("after the crash c2's acquire was %v (%s), want %v", a.Type, a.Error, want)
			}
		})
	}
}

// The same as for a process: a release right after an fsync is taken back, and a pause is
// no fsync.
func TestAPowerCutTakesWhatAContainerHadNotSynced(t *testing.T) {
	suite.All(t)
	for _, pause := range []bool{false, true} {
		s := spec(t, 1)
		s.Nodes[0].Persistence = world.AOFEverysec
		s.Needs = []world.Power{world.PowerCutPower}
		w := openInDocker(t, s, &observed{})
		meanwhile := nothing
		if pause {
			meanwhile = pausing(t, w)
		}
		takesBackARelease(t, w, meanwhile)
	}
}

func TestContainersReplicateOverALink(t *testing.T) {
	suite.All(t)
	s := spec(t, 3)
	s.Replicated = true
	w := openInDocker(t, s, &observed{})
	if got := links(w, "B", "A"); len(got) != 1 {
		t.Fatalf("%d links from the replica to its primary", len(got))
	}
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

// An image without libfaketime runs, and cannot move its clock.
func TestAnImageWithoutLibfaketimeIsRefusedByName(t *testing.T) {
	suite.All(t)
	needDocker(t)
	const plain = "redlock-sim-test-plain:1"
	build := exec.Command("docker", "build", "--quiet", "--tag", plain, "-")
	build.Stdin = strings.NewReader("FROM " + docker.DefaultImage + "\nLABEL redlock-sim.preload=\"\"\n")
	if out, err := suite.CombinedOutput(t, build); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command("docker", "rmi", plain).Run() })
	o := server.Options{Nodes: server.Docker, Image: plain}
	if err := server.Prepare(context.Background(), o,
		[]world.Demand{{Power: world.PausePower, Node: "A", By: "fault 1 (pause of node A)"}}); err != nil {
		t.Errorf("a pause: %v", err)
	}
	err := server.Prepare(context.Background(), o, []world.Demand{{Power: world.NodeClockPower, Node: "A", By: "fault 2 (clock of node A)"}})
	if err == nil || !strings.Contains(err.Error(), "fault 2 (clock of node A) is not possible") || !strings.Contains(err.Error(), plain) {
		t.Errorf("a clock: %v", err)
	}
}
