package live_test

import (
	"context"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/live"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server"
)

// What stays from run to run: the processes, and none of the data. Whatever a run did to them, the
// next one finds them as new.
func TestKeptServersAreAsNew(t *testing.T) {
	var kept live.Kept
	defer func() {
		if err := kept.Close(); err != nil {
			t.Error(err)
		}
		if left := machine.Descendants(); len(left) > 0 {
			t.Errorf("processes are left: %v", left)
		}
	}()
	s := spec(t, 3)
	dir := s.Dir
	var first []int
	for run, spoil := range []func(*live.World){
		func(w *live.World) { mustOK(t, w, "c1", history.Acquire) }, // it keeps the lock
		func(w *live.World) { check(t, w.Pause("A"), w.Pause("B")) },
		func(w *live.World) { check(t, w.Kill("C"), w.Kill("c2")) },
		func(w *live.World) { check(t, w.Pause("c1")) },
		func(*live.World) {},
	} {
		s := spec(t, 3)
		s.Dir = dir
		w, err := live.Open(context.Background(), s, live.Options{ClientCommand: []string{os.Args[0], "client"}, Kept: &kept, Options: server.Options{Nodes: server.Process}})
		if err != nil {
			t.Fatalf("run %d: %v", run+1, err)
		}
		var o observed
		check(t, w.Start(o.hooks()))
		for _, c := range []string{"c1", "c2"} {
			mustOK(t, w, c, history.Acquire)
			mustOK(t, w, c, history.Write)
			mustOK(t, w, c, history.Release)
		}
		check(t, w.Flush())
		if keys := o.find(func(e history.Event) bool { return e.F == history.KeySet && e.Process == "A" }); len(keys) != 2 {
			t.Errorf("run %d: the key was set %d times on A, want 2: %v", run+1, len(keys), keys)
		}
		now := machine.Descendants()
		if slices.Sort(now); run == 0 {
			first = now
		} else if run == 1 && !slices.Equal(now, first) {
			t.Errorf("the processes are %v, want those of the first run, %v", now, first)
		}
		spoil(w)
		if err := w.Close(); err != nil {
			t.Fatalf("run %d: %v", run+1, err)
		}
	}
}

func check(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Two faults may kill the same client or node, one while the other brings it back: there is one of each
// at any time, and none at the end.
func TestKilledTwiceAtOnce(t *testing.T) {
	var o observed
	w := open(t, spec(t, 1), &o)
	before := len(machine.Descendants())
	for range 3 {
		for _, target := range []string{"c1", "A"} {
			var group sync.WaitGroup
			for i := range 3 {
				group.Go(func() {
					time.Sleep(time.Duration(i) * 7 * time.Millisecond) // they overlap
					if err := w.Kill(target); err != nil {
						t.Error(err)
					}
					if err := w.Restart(target, world.KeepNothing); err != nil {
						t.Error(err)
					}
				})
			}
			group.Wait()
		}
		if now := len(machine.Descendants()); now != before {
			t.Fatalf("there are %d processes, want %d", now, before)
		}
		mustOK(t, w, "c1", history.Acquire)
		mustOK(t, w, "c1", history.Release)
	}
}
