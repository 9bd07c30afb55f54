package explore

import (
	"context"
	"math"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
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
		{"trusted elapsed time", "lock: {algorithm: redlock, ttl: 500ms, switches: {recheck_elapsed: false}}\n", []string{"pause"}, checker.ExclusiveLease, true},
		{"a quorum of the reachable", "lock: {algorithm: redlock, ttl: 500ms, switches: {quorum: reachable}}\n", []string{"cut"}, checker.ExclusiveLease, true},
		{"a plain delete", "lock: {algorithm: redlock, ttl: 500ms, switches: {release: delete}}\n", []string{"pause"}, checker.ExclusiveLease, true},
		{"clocks that jump", "", []string{"clock"}, checker.ExclusiveLease, true},
		{"nodes that forget", "", []string{"kill", "cut"}, checker.ExclusiveLease, true},
		{"pauses alone", "", []string{"pause"}, checker.ExclusiveLease, false},
		{"delays alone", "", []string{"latency", "hold", "stall", "cut"}, checker.ExclusiveLease, false},
		{"a fenced resource", "fencing: {tokens: quorum-counter}\n", []string{"pause", "latency", "hold", "cut"}, checker.LinearizableResource, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			text := "name: test\nworkload: {clients: 3, sections: 2, start: together}\n"
			if test.text == "" || test.text[0] == 'f' {
				text += "lock: {algorithm: redlock, ttl: 500ms}\n"
			}
			s := Search{Scenario: parse(t, text+test.text), Kinds: test.kinds, Seeds: 3000, StopAt: 1, Properties: []checker.Property{test.property}}
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
	s := Search{Scenario: parse(t, head), Seeds: 400, Kinds: []string{"pause", "clock", "latency", "kill"}}
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
		text, err := shrunk.YAML("found", "a test")
		if err != nil {
			t.Fatal(err)
		}
		back := parse(t, text)
		b := newBench(context.Background(), "found")
		v, err := b.run(&back.Variants[0].Setup, f.Seed, claims)
		b.close()
		if err != nil || !v.violated(f.Property) {
			t.Errorf("seed %d: %s holds when run again from the file (%v)\n%s", f.Seed, f.Property, err, text)
		}
		if len(shrunk.Setup.Faults.List) <= 3 {
			few++
		}
	}
	if few < len(r.Found)*9/10 {
		t.Errorf("%d of %d have three faults or fewer", few, len(r.Found))
	}
	t.Logf("%d of %d have three faults or fewer", few, len(r.Found))
}

func TestWilson(t *testing.T) {
	for _, test := range []struct {
		k, n      uint64
		low, high float64
	}{{0, 0, 0, 1}, {0, 100, 0, 0.0370}, {50, 100, 0.4038, 0.5962}, {100, 100, 0.9630, 1}, {1, 10, 0.0179, 0.4042}} {
		low, high := Wilson(test.k, test.n)
		if math.Abs(low-test.low) > 1e-4 || math.Abs(high-test.high) > 1e-4 {
			t.Errorf("%d of %d: %.4f to %.4f, want %.4f to %.4f", test.k, test.n, low, high, test.low, test.high)
		}
	}
}

func TestBound(t *testing.T) {
	if got, want := Bound(200_000), "0 in 200000 runs: at most 1.5 in 100,000 at 95 %"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := Bound(30), "0 in 30 runs: at most 10 in 100 at 95 %"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestShippedScenariosCanBeSearched: a search runs on top of each of them.
func TestShippedScenariosCanBeSearched(t *testing.T) {
	files, _ := filepath.Glob("../../scenarios/*.yaml")
	for _, file := range files {
		s, err := scenario.Load(file)
		if err != nil {
			t.Fatal(err)
		}
		if r := search(t, Search{Scenario: s, Seeds: 30, Workers: 2}); r.Runs != 30 {
			t.Errorf("%s: %d runs", s.Name, r.Runs)
		}
	}
}
