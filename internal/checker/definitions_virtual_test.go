package checker_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/nemesis"
	"github.com/redlock-sim/redlock-sim/internal/runner"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/scenario/scenariotest"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/virtual"
)

// stage acts shipped scenarios out in the virtual world, with random faults on top.
type stage struct {
	engine   virtual.Engine
	variants []scenario.Variant
	names    []string
}

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{}
	for _, loaded := range scenariotest.OnModels(t) {
		for _, v := range loaded.Variants {
			s.variants, s.names = append(s.variants, v), append(s.names, loaded.Name)
		}
	}
	t.Cleanup(s.engine.Close)
	return s
}

// run acts out a variant that the seed chooses. Two of three runs have a random mix of
// faults on top of those of the scenario.
func (s *stage) run(t *testing.T, seed uint64) (*history.History, checker.Options, string) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 0x7374616765))
	i := r.IntN(len(s.variants))
	v := s.variants[i]
	if r.IntN(3) > 0 {
		v.Setup.Faults.Mix = nemesis.DrawMix(r, v.Setup.Lock.Span())
	}
	if r.IntN(4) == 0 {
		v.Expect = append(v.Expect[:len(v.Expect):len(v.Expect)],
			scenario.ExpectedVerdict{Property: checker.DeadlockFree, Verdict: checker.Holds})
	}
	if n := &v.Setup.Workload.Sections; *n > 3 && v.Setup.Workload.Kind != "transactions" {
		*n = 1 + r.IntN(3)
	}
	if v.Setup.Workload.Start == "together" && r.IntN(2) == 0 {
		v.Setup.Workload.Clients = 3
	}
	o := checker.Options{GrantWithin: v.Setup.GrantWithin, Fast: seed%2 == 0, Brief: seed%4 < 2}
	origin := fmt.Sprintf("seed %d: %s/%s", seed, s.names[i], v.Name)
	out, err := runner.Run(s.config(i, v, seed))
	if err != nil {
		t.Fatalf("%s: %v", origin, err)
	}
	return out.History, o, origin
}

// config runs a variant of the i-th scenario.
func (s *stage) config(i int, v scenario.Variant, seed uint64) runner.Config {
	return runner.Config{Scenario: s.names[i], Variant: v, Seed: seed, World: "virtual", Started: time.Unix(0, 0),
		Open: func(spec world.Spec) (world.World, error) { return s.engine.Open(context.Background(), spec) }}
}

// longest is of how many events a history is compared at most: the page takes its time.
const longest = 400

// TestDefinitionsOnVirtualRuns: the judges say what the page says of runs in the virtual
// world, of all shipped scenarios with random faults on top.
func TestDefinitionsOnVirtualRuns(t *testing.T) {
	s := newStage(t)
	compared := 0
	n, first := suite.Amount(t, 2500, 250), firstSeed(t)
	for i := range n {
		h, o, origin := s.run(t, first+uint64(i))
		if len(h.Events) <= longest {
			compared++
			agree(t, h, o, origin)
			agree(t, asProgram(h), o, origin+", as a program")
		}
	}
	if 10*compared < 8*n {
		t.Errorf("of %d runs only %d were short enough to be compared", n, compared)
	}
}
