package live_test

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
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
// next one finds them as new, and has logs of its own.
func TestKeptServersAreAsNew(t *testing.T) {
	for name, reuse := range map[string]func(*live.Options) (closed func() error){
		"kept":    func(o *live.Options) func() error { o.Kept = new(live.Kept); return o.Kept.Close },
		"resting": func(o *live.Options) func() error { o.Resting = new(live.Resting); return o.Resting.Close },
	} {
		t.Run(name, func(t *testing.T) {
			o := live.Options{ClientCommand: []string{os.Args[0], "client"}, Options: server.Options{Nodes: server.Process}}
			closed := reuse(&o)
			defer func() {
				if err := closed(); err != nil {
					t.Error(err)
				}
				if left := machine.Descendants(); len(left) > 0 {
					t.Errorf("processes are left: %v", left)
				}
			}()
			dir := ""
			if o.Kept != nil { // it writes into one folder
				dir = t.TempDir()
			}
			var first []int
			for run, spoil := range []func(*live.World){
				func(w *live.World) { mustOK(t, w, "c1", history.Acquire) }, // it keeps the lock
				func(w *live.World) { check(t, w.Pause("A"), w.Pause("B")) },
				func(w *live.World) { check(t, w.Kill("C"), w.Kill("c2")) },
				func(w *live.World) { check(t, w.Kill("A"), w.Restart("A", world.KeepNothing)) },
				func(w *live.World) { check(t, w.Pause("c1")) },
				func(*live.World) {},
			} {
				now := reused(t, o, dir, run, spoil)
				if slices.Sort(now); run == 0 {
					first = now
				} else if run == 1 && !slices.Equal(now, first) {
					t.Errorf("the processes are %v, want those of the first run, %v", now, first)
				}
			}
		})
	}
}

// reused makes a run, spoils what it leaves, and returns its processes.
func reused(t *testing.T, o live.Options, dir string, run int, spoil func(*live.World)) []int {
	s := spec(t, 3)
	s.Dir = cmp.Or(dir, s.Dir)
	w, err := live.Open(context.Background(), s, o)
	if err != nil {
		t.Fatalf("run %d: %v", run+1, err)
	}
	var seen observed
	check(t, w.Start(seen.hooks()))
	for _, c := range []string{"c1", "c2"} {
		mustOK(t, w, c, history.Acquire)
		mustOK(t, w, c, history.Write)
		mustOK(t, w, c, history.Release)
	}
	check(t, w.Flush())
	if keys := seen.find(func(e history.Event) bool { return e.F == history.KeySet && e.Process == "A" }); len(keys) != 2 {
		t.Errorf("run %d: the key was set %d times on A, want 2: %v", run+1, len(keys), keys)
	}
	now := machine.Descendants()
	spoil(w)
	if err := w.Close(); err != nil {
		t.Fatalf("run %d: %v", run+1, err)
	}
	for _, log := range []string{"node-A.log", "resource.log", "client-c1.log"} {
		if _, err := os.Stat(filepath.Join(s.Dir, log)); err != nil {
			t.Errorf("run %d: %v", run+1, err)
		}
	}
	return now
}

// Runs that happen side by side share what rests, and never the same server at once.
func TestRestingServersSideBySide(t *testing.T) {
	var resting live.Resting
	o := live.Options{ClientCommand: []string{os.Args[0], "client"}, Resting: &resting, Options: server.Options{Nodes: server.Process}}
	for range 2 {
		var runs []*live.World
		for range 3 {
			w, err := live.Open(context.Background(), spec(t, 1), o)
			if err != nil {
				t.Fatal(err)
			}
			var seen observed
			check(t, w.Start(seen.hooks()))
			runs = append(runs, w)
		}
		for _, w := range runs { // the lock is free in each, whoever has it in the others
			mustOK(t, w, "c1", history.Acquire)
		}
		for _, w := range runs {
			check(t, w.Close())
		}
	}
	if now := len(machine.Descendants()); now != 3*(2+2) { // a node and the resource, two clients
		t.Errorf("%d processes rest, want those of three runs", now)
	}
	check(t, resting.Close())
	if left := machine.Descendants(); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
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
