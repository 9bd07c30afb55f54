package explore

import (
	"context"
	"reflect"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/scenario/scenariotest"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

const head = "name: test\nlock: {algorithm: redlock, ttl: 500ms, switches: {recheck_elapsed: true}}\nworkload: {clients: 3, sections: 2}\n"

func parse(t testing.TB, text string) *scenario.Scenario {
	t.Helper()
	s, err := scenario.Parse("test.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var claims = []checker.Property{checker.ExclusiveLease, checker.NoLateEffect, checker.LinearizableResource}

func search(t *testing.T, s Search) Report {
	t.Helper()
	s.Variant = s.Scenario.Variants[0].Name
	if s.Properties == nil {
		s.Properties = claims
	}
	r, err := s.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestSearchIsRepeatable: the same seeds find the same, with however many
// workers.
func TestSearchIsRepeatable(t *testing.T) {
	s := Search{Scenario: parse(t, head), Seeds: 500}
	one := search(t, s)
	s.Workers = 3
	three := search(t, s)
	if one.Runs != 500 || !reflect.DeepEqual(one.Classes, three.Classes) || one.Behaviours != three.Behaviours {
		t.Errorf("one worker found %+v, three %+v", one, three)
	}
	s.StopAt = 2      // no worker begins what comes behind it
	var runs []uint64 // the second violation may be like the first one
	for _, s.Workers = range []int{1, 3} {
		r := search(t, s)
		if runs = append(runs, r.Runs); r.Violations() != 2 || r.Runs > one.Found[1].Run+1 || r.Runs != runs[0] {
			t.Errorf("%d workers found %d in %d runs, want 2 in %d at most, and as many as others: %d",
				s.Workers, r.Violations(), r.Runs, one.Found[1].Run+1, runs[0])
		}
	}
	if one.Behaviours < 20 || one.Violations() == 0 {
		t.Errorf("%d behaviours, %d violations", one.Behaviours, one.Violations())
	}
}

// TestSearchFindsMistakes: every mistake is found, soon, that shows without a
// watchdog or replicas; and a correct lock whose faults it is made for is not
// accused.
func TestSearchFindsMistakes(t *testing.T) {
	for _, test := range []struct {
		name, text string
		kinds      []string
		property   checker.Property
		found      bool
	}{
		{"an unfenced write", "", []string{"pause"}, checker.NoLateEffect, true},
		{"trusted elapsed time", "lock: {algorithm: redlock, ttl: 500ms, switches: {recheck_elapsed: false}}\n",
			[]string{"pause"}, checker.ExclusiveLease, true},
		{"a quorum of the reachable", "lock: {algorithm: redlock, ttl: 500ms, switches: {quorum: reachable}}\n",
			[]string{"cut"}, checker.ExclusiveLease, true},
		{"a plain delete", "lock: {algorithm: redlock, ttl: 500ms, switches: {release: delete}}\n",
			[]string{"pause"}, checker.ExclusiveLease, true},
		{"clocks that jump", "", []string{"clock"}, checker.ExclusiveLease, true},
		{"nodes that forget", "", []string{"kill", "cut"}, checker.ExclusiveLease, true},
		{"pauses alone", "", []string{"pause"}, checker.ExclusiveLease, false},
		{"delays alone", "", []string{"latency", "hold", "stall", "cut"}, checker.ExclusiveLease, false},
		{"a fenced resource", "fencing: {tokens: quorum-counter}\n",
			[]string{"pause", "latency", "hold", "cut"}, checker.LinearizableResource, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			text := "name: test\nworkload: {clients: 3, sections: 2, start: together}\n"
			if test.text == "" || test.text[0] == 'f' {
				text += "lock: {algorithm: redlock, ttl: 500ms}\n"
			}
			s := Search{Scenario: parse(t, text+test.text), Drawing: Drawing{Kinds: test.kinds}, Seeds: 3000, StopAt: 1,
				Properties: []checker.Property{test.property}}
			r := search(t, s)
			if found := r.Violations() > 0; found != test.found {
				t.Errorf("found: %v, want %v (%d runs) %+v", found, test.found, r.Runs, r.Found)
			}
			t.Logf("%d runs, %d behaviours", r.Runs, r.Behaviours)
		})
	}
}

// TestShrink: what is shrunk fails again from its file, and is small.
func TestShrink(t *testing.T) {
	s := Search{Scenario: parse(t, head), Seeds: 400, Drawing: Drawing{Kinds: []string{"pause", "clock", "latency", "kill"}}}
	s.Variant, s.Properties = scenario.DefaultVariant, claims
	r := search(t, s)
	if len(r.Found) == 0 {
		t.Fatal("nothing was found")
	}
	few := 0
	for _, f := range r.Found {
		shrunk, err := s.Shrink(context.Background(), f)
		if err != nil {
			t.Fatal(err)
		}
		failsFromFile(t, shrunk)
		if len(shrunk.Setup.Faults.List) <= 3 {
			few++
		}
	}
	if few < len(r.Found)*9/10 {
		t.Errorf("%d of %d have three faults or fewer", few, len(r.Found))
	}
	t.Logf("%d of %d have three faults or fewer", few, len(r.Found))
}

func TestBound(t *testing.T) {
	if got, want := Bound(200_000), "0 in 200,000 runs: at most 1.5 in 100,000, with 95 % confidence"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := Bound(30), "0 in 30 runs: at most 10 in 100, with 95 % confidence"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestShippedScenariosCanBeSearched: a search of each of them, and of each of its
// variants, goes through, and all that it hands over is a scenario that still fails.
func TestShippedScenariosCanBeSearched(t *testing.T) {
	seeds := suite.Amount(t, 500, 40)
	defer debug.SetGCPercent(debug.SetGCPercent(800)) // as sim search does
	for _, s := range scenariotest.OnModels(t) {
		for i, v := range s.Variants {
			n := seeds / len(s.Variants)
			if v.Setup.Nodes.Watched() { // with sentinels a run takes a hundred times as long: one variant will do
				if n = suite.Amount(t, 20, 2); i > 0 {
					continue
				}
			}
			q := Search{Scenario: s, Variant: v.Name, First: uint64(i * n), Seeds: uint64(n), Workers: 2, Properties: claims}
			r, err := q.Run(context.Background())
			if err != nil || r.Runs != q.Seeds {
				t.Errorf("%s, %s: %d runs, %v", s.Name, v.Name, r.Runs, err)
			}
			kept, err := q.ShrinkBest(context.Background(), firsts(r.Found))
			if err != nil || len(kept) != len(r.Classes) {
				t.Errorf("%s, %s: %d kept of %d classes, %v", s.Name, v.Name, len(kept), len(r.Classes), err)
			}
			for _, k := range kept {
				failsFromFile(t, k)
			}
		}
	}
}

// firsts are the first of each class.
func firsts(found []Found) []Found {
	return slices.CompactFunc(found, func(a, b Found) bool { return a.Class == b.Class })
}

// failsFromFile: what was found was shrunk, and fails again when it is run from its file.
func failsFromFile(t *testing.T, k *Shrunk) {
	t.Helper()
	text, err := k.YAML("found", "a test")
	if err != nil || k.Failed != nil {
		t.Fatalf("run %d: not shrunk: %v, %v", k.Run, k.Failed, err)
	}
	back := parse(t, text)
	b := newBench(context.Background(), "found", nil)
	defer b.close()
	v, err := b.run(&back.Variants[0].Setup, k.Seed, claims)
	if err != nil || !v.violated(k.Property) {
		t.Errorf("seed %d: %s holds when run again from the file (%v)\n%s", k.Seed, k.Property, err, text)
	}
}

// TestDrawnIsValid: what is drawn, for models and for real servers, and what is made of it by many changes, is what
// the loader accepts: also where the scenario has killed a node for good, the
// resource is on the node, the time is short, or the lease long.
func TestDrawnIsValid(t *testing.T) {
	for name, text := range map[string]string{
		"plain": head,
		"dead":  head + "faults:\n  - at: 0s\n    kill: {node: A}\n  - at: 10ms\n    kill: {client: c2}\n",
		"store": "name: test\nlock: {algorithm: set-nx-px}\nnodes: {count: 1}\nresource: {store: lock-node}\n",
		"short": head + "time_limit: 200ms\n",
		"long":  "name: test\nlock: {algorithm: redlock, ttl: 1h}\ntime_limit: 1h\n",
		"tiny":  "name: test\nlock: {algorithm: redlock, ttl: 10ms, node_timeout: 5ms}\n",
		"replicas": "name: test\nlock: {algorithm: set-nx-px}\nnodes: {count: 3, topology: replicated}\n" +
			"faults:\n  - at: 0s\n    kill: {node: B}\n",
		"cluster": inCluster,
	} {
		setup := &parse(t, text).Variants[0].Setup
		d, err := newDrawer(setup, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		own := setup.Faults.List
		drawn, seeds := 0, suite.Amount(t, 300, 60)
		aimed := newAim(d, []string{"SET", "EVALSHA"})
		for seed := range uint64(seeds) {
			if d.aim = nil; seed%2 == 1 {
				d.aim = aimed
			}
			s := d.follow(Lineage{seed})
			for n := range uint64(4) {
				setup.Faults.List = slices.Concat(own, s.faults)
				drawn += len(s.faults)
				text, err := scenario.Encode(nil, scenario.Head{Name: "x"}, setup, nil)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := scenario.Parse("drawn", []byte(text)); err != nil {
					t.Fatalf("%s, seed %d, %d changes: %v\n%s", name, seed, n, err, text)
				}
				s = d.mutated(s, seed<<8+n)
			}
		}
		if drawn < seeds*4*2 {
			t.Errorf("%s: %d faults drawn", name, drawn)
		}
	}
}

const inCluster = "name: test\nlock: {algorithm: set-nx-px, ttl: 1s}\nnodes: {topology: cluster, node_timeout: 2s}\n"

// TestDrawnInCluster: all by which a Redis Cluster loses a lock is drawn there, and faults that last for longer than a failover takes.
func TestDrawnInCluster(t *testing.T) {
	drawnWhereNodesFailOver(t, inCluster, 4*time.Second,
		`cut: {groups: \[\[A, c1\], \[B, C, D, E, F, c2\]\]`, `cut: {groups: \[\[A\], \[B, C, D, E, F\]\], bus: true`,
		`cut: {.*bus: true, direction: requests`,
		`promote: {node: D}`, `promote: {node: D, failover: force}`, `promote: {node: D, failover: plain}`,
		`move-slot: {to: [BC], for`, `move-slot: {to: [BC], keys: last`, `move-slot: {to: [BC], keys: left`)
}

// TestDrawnUnderSentinel: the primary, with some of the clients or none, loses the sentinels and its replicas.
func TestDrawnUnderSentinel(t *testing.T) {
	drawnWhereNodesFailOver(t, "name: test\nlock: {algorithm: set-nx-px, ttl: 1s}\nnodes: {topology: sentinel, count: 3, down_after: 2s}\n",
		4*time.Second, `cut: {groups: \[\[A, c1\], \[B, C, s1, s2, s3, c2\]\]`, `cut: {groups: \[\[A\], \[B, C, s1, s2, s3, c1, c2\]\]`)
}

// drawnWhereNodesFailOver makes sure that faults are drawn in a scenario, as it writes them, that A is away for so long, that many of them
// may let nodes fail over, and that A, which has what the lock has, is struck most.
func drawnWhereNodesFailOver(t *testing.T, text string, long time.Duration, wants ...string) {
	t.Helper()
	setup := &parse(t, text).Variants[0].Setup
	d, err := newDrawer(setup, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	d.aim = newAim(d, nil)
	var drawn strings.Builder
	away := make(map[string]bool)
	all, splits, onNodes, onHolder := 0, 0, 0, 0
	for seed := range uint64(500) {
		setup.Faults.List = d.draw(seed)
		text, err := scenario.Encode(nil, scenario.Head{Name: "x"}, setup, nil)
		if err != nil {
			t.Fatal(err)
		}
		drawn.WriteString(text)
		for _, f := range setup.Faults.List {
			if f.Params.Target() == "A" && f.Params.Length() > long {
				away[f.Kind] = true
			}
			all++
			if slices.Contains([]string{"cut", "pause", "kill", "promote", "move-slot"}, f.Kind) {
				splits++
			}
			if slices.Contains([]string{"pause", "kill"}, f.Kind) && slices.Contains(d.cast.Nodes, f.Params.Target()) {
				onNodes++
				if f.Params.Target() == "A" {
					onHolder++
				}
			}
		}
	}
	if 3*splits < all || 9*onNodes > 20*onHolder {
		t.Errorf("of %d faults %d may let nodes fail over; of %d nodes that are away %d are A", all, splits, onNodes, onHolder)
	}
	for _, want := range wants {
		if !regexp.MustCompile(want).MatchString(drawn.String()) {
			t.Errorf("never drawn: %s", want)
		}
	}
	if !away["pause"] || !away["kill"] {
		t.Errorf("A is never away for long: %v", away)
	}
}

// TestUnshrunkIsKept: what does not fail again, as when a search is continued with
// another version, is handed over as it was found, with the reason, beside the rest.
func TestUnshrunkIsKept(t *testing.T) {
	s := Search{Scenario: parse(t, head), Variant: scenario.DefaultVariant, Properties: claims, Seeds: 400}
	r := search(t, s)
	if len(r.Found) == 0 {
		t.Fatal("nothing was found")
	}
	good, bad := r.Found[0], r.Found[0]
	bad.Property = checker.OrderedTokens // no tokens: never violated
	kept, err := s.ShrinkBest(context.Background(), []Found{bad, good, bad})
	if err != nil || len(kept) != 2 {
		t.Fatalf("%d kept, %v", len(kept), err)
	}
	failsFromFile(t, kept[1])
	k := kept[0]
	if k.Failed == nil || len(k.Setup.Faults.List) != k.From || k.From == 0 {
		t.Fatalf("%d of %d faults, %v", len(k.Setup.Faults.List), k.From, k.Failed)
	}
	text, err := k.YAML("found", "a test")
	if err != nil || !strings.Contains(text, "It was not shrunk:") {
		t.Errorf("%v\n%s", err, text)
	}
	parse(t, text)
}
