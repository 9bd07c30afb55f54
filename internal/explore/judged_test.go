package explore

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/scenario/scenariotest"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

// TestJudgedBrieflyIsJudged: the quick judgement of a search or a sweep gives each
// property the verdict that the full one gives, with random faults on top of every
// shipped scenario.
func TestJudgedBrieflyIsJudged(t *testing.T) {
	seeds := uint64(suite.Amount(t, 20, 4))
	ctx, all := context.Background(), checker.Properties()
	seen := make(map[string]int)
	for _, s := range scenariotest.OnModels(t) {
		for i := range s.Variants {
			setup := &s.Variants[i].Setup
			d, err := newDrawer(setup, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			own := setup.Faults.List
			b := newBench(ctx, s.Name, nil)
			b.faults = len(own)
			for seed := range seeds {
				setup.Faults.List = slices.Concat(own, d.draw(seed))
				brief, err := b.run(setup, seed, all)
				if err != nil {
					t.Fatal(err)
				}
				o := b.options(setup)
				o.Fast, o.Brief = false, false
				for _, f := range checker.Judge(ctx, brief.history, all, o) {
					seen[fmt.Sprintf("%s %v", f.Property, f.Verdict)]++
					if got := brief.of(f.Property); got != f.Verdict {
						t.Errorf("%s, %s, seed %d: %s is %v briefly, %v in full: %s", s.Name, s.Variants[i].Name, seed, f.Property, got, f.Verdict, f.Why)
					}
				}
			}
			b.close()
		}
	}
	for _, p := range claims {
		for _, v := range []checker.Verdict{checker.Holds, checker.Violated, checker.Unknown} {
			if seen[fmt.Sprintf("%s %v", p, v)] == 0 {
				t.Errorf("%s was never %v", p, v)
			}
		}
	}
}

// TestSearchCountsJudged: of each property, a search counts the runs that put it to
// the test; also when it is continued.
func TestSearchCountsJudged(t *testing.T) {
	// c2 comes only after c1 has given the lock back, unless c1 is held up.
	s := Search{Scenario: parse(t, "name: test\nlock: {algorithm: redlock, retry: {attempts: 1}}\n"),
		Seeds: 300, Variant: scenario.DefaultVariant, Properties: claims}
	r := search(t, s)
	for _, p := range claims {
		runs, drawn := r.JudgedOn(string(p))
		if runs == 0 || runs >= r.Runs && p == checker.LinearizableResource || drawn == 0 || drawn > r.Drawn {
			t.Errorf("%s: %d of %d runs judged, %d of %d drawn afresh", p, runs, r.Runs, drawn, r.Drawn)
		}
	}
	both, _ := r.JudgedOn("exclusive-lease + linearizable-resource")
	one, _ := r.JudgedOn("linearizable-resource")
	if both > one {
		t.Errorf("%d judged of both, %d of one", both, one)
	}
	for _, c := range r.Classes {
		if runs, _ := r.JudgedOn(c.Name); runs < c.Runs {
			t.Errorf("%s violated by %d runs, of %d judged", c.Name, c.Runs, runs)
		}
	}
	half := s
	half.Seeds = 112 // whole generations
	half.Save = func(st *State, last bool) error {
		if last {
			s.From = st
		}
		return nil
	}
	search(t, half)
	if again := search(t, s); !reflect.DeepEqual(again.Judged, r.Judged) {
		t.Errorf("continued %+v, at once %+v", again.Judged, r.Judged)
	}
}

// TestClass: a run stands for the strongest of what the nodes confirm, and for the lock's word where they confirm nothing.
func TestClass(t *testing.T) {
	s := Search{Properties: []checker.Property{checker.ExclusiveLease, checker.BackedGrant}}
	violated := []checker.Finding{{Property: checker.BackedGrant, Verdict: checker.Violated},
		{Property: checker.ExclusiveLease, Verdict: checker.Violated}}
	const both = "exclusive-lease + backed-grant"
	for _, c := range []struct {
		findings []checker.Finding
		doubted  []checker.Property
		class    string
		property checker.Property
	}{
		{violated, nil, both, checker.ExclusiveLease},
		{violated, []checker.Property{checker.ExclusiveLease}, both, checker.BackedGrant},
		{violated, s.Properties, both + wordAlone, checker.ExclusiveLease},
		{violated[:1], []checker.Property{checker.BackedGrant}, "backed-grant" + wordAlone, checker.BackedGrant},
		{nil, nil, "", ""},
	} {
		if class, property := s.class(&verdicts{findings: c.findings, doubted: c.doubted}); class != c.class || property != c.property {
			t.Errorf("%v, doubted %v: %q, %q; want %q, %q", c.findings, c.doubted, class, property, c.class, c.property)
		}
	}
}
