package explore

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/runner"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/scenario/workload"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

// foundOf is what a few searches for a target find.
func foundOf(tb testing.TB, t *target, searches uint64) (s Search, found []Found) {
	tb.Helper()
	for i := range searches {
		s = t.search(tb, i<<32, false, 6000)
		r, err := s.Run(context.Background())
		if err != nil {
			tb.Fatal(err)
		}
		found = append(found, r.Found...)
	}
	return s, found
}

// few is how many faults a shrunk schedule should have at most.
const few = 3

// TestShrunkAreSmall: 95 % of what is found, of all targets, comes down to three
// faults or fewer.
func TestShrunkAreSmall(t *testing.T) {
	searches := uint64(suite.Amount(t, 4, 1))
	small, all := 0, 0
	for _, target := range slices.Concat(switchTargets, faultTargets) {
		s, found := foundOf(t, &target, searches)
		for _, f := range found {
			k, err := s.Shrink(context.Background(), f)
			if err != nil {
				t.Fatalf("%s: %v", target.name, err)
			}
			all++
			if n := len(k.Setup.Faults.List); n <= few {
				small++
			} else {
				t.Logf("%s: run %d has %d faults", target.name, f.Run, n)
			}
		}
	}
	if small*100 < all*95 {
		t.Errorf("%d of %d have %d faults or fewer", small, all, few)
	}
	t.Logf("%d of %d have %d faults or fewer", small, all, few)
}

// TestBestIsKept: of what was found of a class, that is kept which most other seeds show, and of such one with the fewest faults, whichever
// was found first.
func TestBestIsKept(t *testing.T) {
	s, found := foundOf(t, &switchTargets[0], 4)
	value := func(k *Shrunk) int { return 1000*k.Robust - len(k.Setup.Faults.List) }
	var values []int
	for _, f := range found {
		k, err := s.Shrink(context.Background(), f)
		if err != nil {
			t.Fatal(err)
		}
		values = append(values, value(k))
	}
	best := slices.Max(values)
	if best == slices.Min(values) {
		t.Fatal("all that was found is equally good")
	}
	for range 2 {
		kept, err := s.ShrinkBest(context.Background(), found)
		if err != nil || len(kept) != 1 {
			t.Fatalf("%d kept, %v", len(kept), err)
		}
		if k := kept[0]; value(k) != best {
			t.Errorf("kept is one with %d faults that %d of %d other seeds show; all are worth %d",
				len(k.Setup.Faults.List), k.Robust, k.OtherSeeds, values)
		}
		slices.Reverse(found)
	}
}

// afresh is a place where the lock makes no mistake, unlike in those that keep something from run to run.
type afresh struct{ Virtual }

func (a *afresh) Run(ctx context.Context, c runner.Config) (runner.Outcome, error) {
	c.Variant.Setup.Lock.Mistakes = lock.Mistakes{}
	return a.Virtual.Run(ctx, c)
}

// What shows only where something is kept from run to run is a mistake of sim: it is told as it was found, with the reason.
func TestShownAfresh(t *testing.T) {
	s := Search{Scenario: parse(t, plainDelete), Variant: scenario.DefaultVariant, Properties: []checker.Property{checker.ExclusiveLease},
		Seeds: 20_000, StopAt: 1, Workers: 1}
	r, err := s.Run(context.Background())
	if err != nil || len(r.Found) == 0 {
		t.Fatalf("%+v, %v", r.Found, err)
	}
	for name, test := range map[string]struct {
		fresh Place
		want  string
	}{"shown": {&Virtual{}, ""}, "not shown": {&afresh{}, "that is a mistake of sim"}} {
		s.Fresh = func() Place { return test.fresh }
		k, err := s.Shrink(context.Background(), r.Found[0])
		if err != nil {
			t.Fatal(err)
		}
		told := fmt.Sprint(k.Failed)
		if (k.Failed != nil) != (test.want != "") || !strings.Contains(told, test.want) || k.Failed != nil && len(k.Setup.Faults.List) != k.From {
			t.Errorf("%s: %s, with %d of %d faults", name, told, len(k.Setup.Faults.List), k.From)
		}
	}
}

// TestShrunkKeepsAReplica: a lock that waits for a replica is granted to nobody without one, and that needs no fault.
func TestShrunkKeepsAReplica(t *testing.T) {
	s := Search{Scenario: parse(t, "name: test\nnodes: {count: 2, topology: replicated}\ngrant_within: 400ms\n"+
		"lock: {algorithm: set-nx-wait, ttl: 500ms}\nworkload: {clients: 2, sections: 2}\n"), Variant: scenario.DefaultVariant,
		Drawing: Drawing{Kinds: []string{"pause", "hold"}}, Properties: []checker.Property{checker.DeadlockFree}, Seeds: 2000, StopAt: 8}
	r, err := s.Run(context.Background())
	if err != nil || len(r.Found) < s.StopAt {
		t.Fatalf("%d found, %v", len(r.Found), err)
	}
	for _, f := range r.Found {
		k, err := s.Shrink(context.Background(), f)
		if err != nil || k.Failed != nil {
			t.Fatal(err, k.Failed)
		}
		if k.Setup.Nodes.Count != 2 || len(k.Setup.Faults.List) == 0 {
			t.Errorf("%d nodes, %d faults; want 2 nodes, and what keeps the lock from being granted", k.Setup.Nodes.Count, len(k.Setup.Faults.List))
		}
	}
}

// TestShrunkNeedNoRace: where the clients of a search begin together, what it hands
// over lets them begin in turn, and does not depend on exact times.
func TestShrunkNeedNoRace(t *testing.T) {
	suite.All(t)
	for _, target := range faultTargets {
		if target.name != "reset" && target.name != "limit-data" {
			continue
		}
		s := target.search(t, 0, false, 6000)
		s.StopAt = keptPerClass
		r, err := s.Run(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		best, err := s.ShrinkBest(context.Background(), r.Found)
		if err != nil || len(best) != 1 {
			t.Fatalf("%s: %d found, %v", target.name, len(best), err)
		}
		if k := best[0]; k.Setup.Workload.Start != workload.InTurn || k.Robust < k.OtherSeeds {
			t.Errorf("%s: clients begin %s, %d of %d other seeds show it", target.name, k.Setup.Workload.Start, k.Robust, k.OtherSeeds)
		}
	}
}

func TestClientsAreRenamedEverywhere(t *testing.T) {
	setup := parse(t, `name: x
lock: {algorithm: redlock}
workload: {clients: 3}
faults:
  - on: {client: c1, point: acquired, and: {client: c2, point: before-acquire}}
    pause: {client: c3}
    until: {client: c1, point: released}
  - at: 0s
    cut: {client: c2, nodes: [A]}
  - at: 0s
    kill: {node: B}
`).Variants[0].Setup
	list := setup.Faults.List
	tell := func(list []scenario.Fault) (text string) {
		setup.Faults.List = list
		for _, f := range setup.Planned() {
			text += fmt.Sprintln(f.When, f.Fault.Target(), f.When.Until)
		}
		return text
	}
	before := tell(list)
	got := tell(renamed(list, map[string]string{"c1": "c2", "c2": "c3", "c3": "c1"}))
	want := strings.NewReplacer("c1", "c2", "c2", "c3", "c3", "c1").Replace(before)
	if got != want || tell(list) != before {
		t.Errorf("got\n%swant\n%sand untouched\n%s", got, want, tell(list))
	}
}

// BenchmarkShrink shrinks what searches for all targets find: how long one takes,
// and the share that needs at most 50 ms and has at most three faults then.
func BenchmarkShrink(b *testing.B) {
	type job struct {
		Search
		found Found
	}
	var jobs []job
	for _, target := range slices.Concat(switchTargets, faultTargets) {
		s, found := foundOf(b, &target, 4)
		for _, f := range found {
			jobs = append(jobs, job{s, f})
		}
	}
	var times []time.Duration
	within := 0
	for b.Loop() {
		j := jobs[len(times)%len(jobs)]
		began := time.Now()
		k, err := j.Shrink(context.Background(), j.found)
		if err != nil {
			b.Fatal(err)
		}
		took := time.Since(began)
		times = append(times, took)
		if took <= 50*time.Millisecond && len(k.Setup.Faults.List) <= few {
			within++
		}
	}
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, "ms-median")
	b.ReportMetric(float64(times[len(times)*95/100].Microseconds())/1000, "ms-95%")
	b.ReportMetric(100*float64(within)/float64(len(times)), "%within")
}

// TestProbeIsKept: what shows only because clients try for the lock at the end of a run is shrunk, and written, with that.
func TestProbeIsKept(t *testing.T) {
	lostRelease := target{"a renewal goes on", "nodes: {count: 1}\n" +
		"lock: {algorithm: watchdog, ttl: 500ms, node_timeout: 50ms, switches: {stop_renewal: false}}\nworkload: {clients: 1}\n" +
		"faults: [{on: {client: c1, point: before-release}, cut: {client: c1, nodes: [A], direction: requests, for: 100ms}}]\n",
		[]string{"latency"}, checker.NoOrphanLock, lock.Mistakes{KeepRenewing: true}}
	s := lostRelease.search(t, 1, true, 100)
	s.Properties, s.StopAt = append(s.Properties, checker.DeadlockFree), 0
	r, err := s.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	probed := 0
	for _, f := range r.Found {
		k, err := s.Shrink(context.Background(), f)
		if err != nil || k.Failed != nil {
			t.Fatalf("run %d: %v, %v", f.Run, err, k.Failed)
		}
		text, err := k.YAML("x", "y")
		if err != nil || f.Property == checker.NoOrphanLock && strings.Contains(text, "deadlock-free: anything") != (k.Probe != "") {
			t.Errorf("run %d, beside %q: %v\n%s", f.Run, k.Probe, err, text)
		}
		if k.Probe != "" {
			probed++
		}
	}
	if probed == 0 {
		t.Errorf("none of %d needs that clients try again", len(r.Found))
	}
}
