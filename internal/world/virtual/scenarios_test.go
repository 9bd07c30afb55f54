package virtual_test

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/runner"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/scenario/scenariotest"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/virtual"
)

// act runs a variant in a virtual world that open makes.
func act(
	t testing.TB, s *scenario.Scenario, v scenario.Variant, seed uint64, file *bytes.Buffer, open func(world.Spec) (world.World, error),
) *history.History {
	t.Helper()
	c := runner.Config{Scenario: s.Name, Variant: v, Seed: seed, World: "virtual", Started: time.Unix(0, 0), Open: open}
	if file != nil {
		c.History = file
	}
	out, err := runner.Run(c)
	if err != nil || out.TimedOut || out.Interrupted {
		t.Fatalf("%s, %s, seed %d: timed out %v, interrupted %v, %v", s.Name, v.Name, seed, out.TimedOut, out.Interrupted, err)
	}
	return out.History
}

func fresh(spec world.Spec) (world.World, error) { return virtual.Open(context.Background(), spec) }

// TestScenariosAsInTheLiveWorld acts out every shipped scenario and wants the
// verdicts that its file expects, which are those of the live world.
func TestScenariosAsInTheLiveWorld(t *testing.T) {
	seeds := uint64(suite.Amount(t, 20, 3))
	for _, s := range scenariotest.OnModels(t) {
		t.Run(s.Name, func(t *testing.T) {
			for _, v := range s.Variants {
				for seed := range seeds {
					h := act(t, s, v, seed, nil, fresh)
					var wanted []checker.Property
					for _, p := range checker.Properties() {
						if v.Expected(p) != 0 {
							wanted = append(wanted, p)
						}
					}
					findings := checker.Judge(context.Background(), h,
						wanted, checker.Options{Faults: len(v.Setup.Faults.List), GrantWithin: v.Setup.GrantWithin})
					for _, f := range findings {
						if want := v.Expected(f.Property); f.Verdict != want {
							t.Errorf("%s, seed %d: %s is %v, expected %v: %s", v.Name, seed, f.Property, f.Verdict, want, f.Why)
						}
					}
				}
			}
		})
	}
}

// TestSameSeedSameHistory acts out a thousand seeds twice: in a fresh world, and
// in one that has been used for others before.
func TestSameSeedSameHistory(t *testing.T) {
	all := scenariotest.OnModels(t)
	seeds := uint64(suite.Amount(t, 1000, 200))
	var engine virtual.Engine
	defer engine.Close()
	reused := func(spec world.Spec) (world.World, error) { return engine.Open(context.Background(), spec) }
	var last []byte
	for seed := range seeds {
		s := all[seed%uint64(len(all))]
		v := s.Variants[seed/uint64(len(all))%uint64(len(s.Variants))]
		var first, second bytes.Buffer
		act(t, s, v, seed, &first, fresh)
		act(t, s, v, seed, &second, reused)
		if !bytes.Equal(first.Bytes(), second.Bytes()) {
			t.Fatalf("%s, %s, seed %d: two histories\n%s\n%s", s.Name, v.Name, seed, first.Bytes(), second.Bytes())
		}
		if bytes.Equal(first.Bytes(), last) {
			t.Fatalf("%s: seeds make no difference", s.Name)
		}
		last = first.Bytes()
	}
}
