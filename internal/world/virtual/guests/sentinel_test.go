//go:build linux && amd64

package guests

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/redis/sentinel"
	"github.com/redlock-sim/redlock-sim/internal/scenario/resource"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/virtual"
)

// schedules is how many random schedules the model of Sentinel is held against real sentinels with. The medians of
// the steps are compared from a hundred on: a few say nothing.
var schedules = flag.Int("schedules", 4, "random schedules for the comparison of Sentinel's model with real sentinels")

// Medians of the steps of a failover may differ by this share, and by this much: sentinels look around ten to
// twenty times a second.
const (
	medianShare = 0.15
	medianSlack = 100 * time.Millisecond
)

// ordeal is what a schedule does to servers and sentinels.
type ordeal struct {
	name  string
	after time.Duration
	spec  world.Sentinel
	// begin strikes, end heals.
	begin func(w world.World) (end func() error, err error)
}

// healsAfter is how long an ordeal lasts.
const healsAfter = 8 * time.Second

// seenFor is how long is looked on after it: an old primary is made a replica about ten seconds after it is back.
func seenFor() time.Duration {
	if *schedules < 100 {
		return time.Second
	}
	return 14 * time.Second
}

func drawOrdeal(seed uint64) ordeal {
	r := rand.New(rand.NewPCG(seed, 24))
	names := []string{"s1", "s2", "s3"}
	o := ordeal{after: time.Duration(r.Int64N(int64(3 * time.Second))),
		spec: world.Sentinel{Names: names, Quorum: 2, DownAfter: time.Second + time.Duration(r.IntN(3))*500*time.Millisecond,
			FailoverTimeout: 6 * time.Second}}
	one := names[r.IntN(3)]
	cut := func(groups ...[]string) func(w world.World) (func() error, error) {
		return func(w world.World) (func() error, error) {
			group := func(name string) int {
				return slices.IndexFunc(groups, func(g []string) bool { return slices.Contains(g, name) })
			}
			links := slices.DeleteFunc(slices.Clone(w.Links()), func(l world.Link) bool {
				from, to := group(l.From), group(l.To)
				return from < 0 || to < 0 || from == to
			})
			return w.Disturb(links, world.Disturbance{Kind: world.Cut})
		}
	}
	kill := func(who ...string) func(w world.World) (func() error, error) {
		return func(w world.World) (func() error, error) {
			for _, name := range who {
				if err := w.Kill(name); err != nil {
					return nil, err
				}
			}
			return func() error {
				for _, name := range who {
					if err := w.Restart(name, world.KeepData); err != nil {
						return err
					}
				}
				return nil
			}, nil
		}
	}
	pause := func(who string) func(w world.World) (func() error, error) {
		return func(w world.World) (func() error, error) { return func() error { return w.Resume(who) }, w.Pause(who) }
	}
	others := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == one })
	ordeals := []ordeal{
		{name: "the primary dies", begin: kill("A")},
		{name: "the primary stands still", begin: pause("A")},
		{name: "the primary is cut off", begin: cut([]string{"A"}, []string{"B", "C", "s1", "s2", "s3"})},
		{name: "the primary and a sentinel die", begin: kill("A", one)},
		{name: "the primary and a sentinel are cut off", begin: cut([]string{"A", one}, append([]string{"B", "C"}, others...))},
		{name: "a sentinel stands still", begin: pause(one)},
	}
	chosen := ordeals[seed%uint64(len(ordeals))]
	o.name, o.begin = chosen.name, chosen.begin
	return o
}

// ordealSpec is the world of an ordeal, which has no clients.
func ordealSpec(seed uint64, o ordeal) world.Spec {
	s := world.Spec{Name: "ordeal", Seed: seed, Replicated: true, Sentinel: &o.spec,
		Lock:     lock.Config{Algorithm: "set-nx-px", Key: "lock", TTL: time.Minute, NodeTimeout: time.Second, Retry: lock.Retry{Attempts: 1}},
		Resource: resource.Config{Kind: resource.Register, Key: "resource", Fence: resource.NoFence},
		Needs:    []world.Power{world.CutPower, world.CrashPower, world.PausePower}}
	for _, name := range []string{"A", "B", "C"} {
		s.Nodes = append(s.Nodes, world.Node{Name: name, Persistence: world.NoPersistence})
	}
	return s
}

// undergo runs an ordeal, and returns what was seen, when it began and when it ended.
func (o ordeal) undergo(t *testing.T, w world.World) (seen []history.Event, began, ended time.Duration) {
	hooks := world.Hooks{Record: func(e history.Event) int {
		e.Time = w.Now()
		seen = append(seen, e)
		return len(seen) - 1
	}}
	if err := w.Start(hooks); err != nil {
		t.Fatal(err)
	}
	var err error
	w.Go(func() {
		var end func() error
		w.Sleep(o.after)
		began = w.Now()
		if end, err = o.begin(w); err != nil {
			return
		}
		w.Sleep(healsAfter)
		ended = w.Now()
		err = end()
		w.Sleep(seenFor())
	})
	w.Wait()
	if err != nil {
		t.Fatal(err)
	}
	return seen, began, ended
}

// steps is when what happened first, counted from the ordeal's begin; the demotion from its end.
func steps(seen []history.Event, began, ended time.Duration) map[string]time.Duration {
	first := make(map[string]time.Duration)
	note := func(step string, at time.Duration) {
		if _, known := first[step]; !known && at >= 0 {
			first[step] = at
		}
	}
	for _, e := range seen {
		word := e.Value.Detail()
		if e.F == history.NodeDemoted && e.Process == "A" {
			note("6 the old primary is a replica", e.Time-ended)
		}
		if e.F != history.Sentinel || e.Time < began {
			continue
		}
		switch {
		case word == sentinel.SDown && e.Value.Target() == "A":
			note("1 +sdown", e.Time-began)
		case word == sentinel.ODown:
			note("2 +odown", e.Time-began)
		case word == sentinel.ElectedLeader:
			note("3 +elected-leader", e.Time-began)
		case word == sentinel.PromotedSlave:
			note("4 +promoted-slave", e.Time-began)
		case word == sentinel.SwitchMaster:
			note("5 +switch-master", e.Time-began)
		}
	}
	return first
}

// explain holds what sentinels told against Sentinel's rules.
func explain(o ordeal, seen []history.Event, slack time.Duration) error {
	var trace []sentinel.Event
	for _, e := range seen {
		if e.F == history.Sentinel {
			trace = append(trace, sentinel.Event{At: e.Time, Sentinel: e.Process,
				Word: e.Value.Detail(), Target: e.Value.Target(), Epoch: uint64(e.Value.Epoch().V())})
		}
	}
	return sentinel.Explains(sentinel.Rules{Settings: sentinel.Settings{Quorum: o.spec.Quorum,
		DownAfter: o.spec.DownAfter, FailoverTimeout: o.spec.FailoverTimeout},
		Sentinels: o.spec.Names, Primary: "A", Slack: slack}, trace)
}

// TestModelOfSentinel: elections are random, so the model cannot foretell them. But it must be able to do all that real sentinels do, and
// take as long for it.
func TestModelOfSentinel(t *testing.T) {
	suite.All(t)
	server := redis(t)
	took := map[string]map[string][]time.Duration{"real": {}, "model": {}}
	for seed := range uint64(*schedules) {
		o := drawOrdeal(seed)
		for which, open := range map[string]func(world.Spec) (world.World, error){
			"real":  func(s world.Spec) (world.World, error) { return Open(context.Background(), s, Options{Server: server}) },
			"model": func(s world.Spec) (world.World, error) { return virtual.Open(context.Background(), s) },
		} {
			w, err := open(ordealSpec(seed, o))
			if err != nil {
				t.Fatal(err)
			}
			seen, began, ended := o.undergo(t, w)
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			if err := explain(o, seen, time.Millisecond); err != nil {
				t.Errorf("seed %d, %s: Sentinel's rules do not allow what the %s did: %v\n%s", seed, o.name, which, err, listing(seen))
			}
			for step, at := range steps(seen, began, ended) {
				took[which][step] = append(took[which][step], at)
			}
		}
	}
	all := map[string]bool{}
	for _, list := range took {
		for step := range list {
			all[step] = true
		}
	}
	for _, step := range slices.Sorted(func(yield func(string) bool) {
		for step := range all {
			if !yield(step) {
				return
			}
		}
	}) {
		real, model := took["real"][step], took["model"][step]
		a, b := median(real), median(model)
		t.Logf("%-32s real %3d times, median %-7v model %3d times, median %-7v", step, len(real), a, len(model), b)
		if *schedules < 100 {
			continue
		}
		if apart := (a - b).Abs(); apart > medianSlack && float64(apart) > medianShare*float64(max(a, b)) {
			t.Errorf("%s: the medians are %v apart", step, apart)
		}
		if apart := len(real) - len(model); apart*apart > 4*max(len(real), len(model)) {
			t.Errorf("%s: it happened %d times to real sentinels, and %d times to the model", step, len(real), len(model))
		}
	}
}

func median(list []time.Duration) time.Duration {
	if len(list) == 0 {
		return 0
	}
	slices.SortFunc(list, cmp.Compare)
	return list[len(list)/2].Round(time.Millisecond)
}

func listing(seen []history.Event) string {
	var b strings.Builder
	for _, e := range seen {
		fmt.Fprintf(&b, "%v %s %s %s %s %v\n", e.Time, e.Process, e.F, e.Value.Detail(), e.Value.Target(), e.Value.Epoch().V())
	}
	return b.String()
}
