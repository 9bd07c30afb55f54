package checker_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/runner"
	"github.com/redlock-sim/redlock-sim/internal/scenario/scenariotest"
	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/virtual"
)

// TestFindings: what a reader is told of a run of every shipped scenario, with one seed:
// verdict, reason, counterexample, story and the assumption that failed.
func TestFindings(t *testing.T) {
	var engine virtual.Engine
	defer engine.Close()
	var text strings.Builder
	for _, s := range scenariotest.Shipped(t) {
		for _, v := range s.Variants {
			out, err := runner.Run(runner.Config{Scenario: s.Name, Variant: v, Seed: 1, World: "virtual", Started: time.Unix(0, 0),
				Open: func(spec world.Spec) (world.World, error) { return engine.Open(context.Background(), spec) }})
			if err != nil {
				t.Fatal(err)
			}
			options := checker.Options{Faults: len(v.Setup.Faults.List), GrantWithin: v.Setup.GrantWithin}
			fmt.Fprintf(&text, "\n%s, %s: %d events\n", s.Name, v.Name, len(out.History.Events))
			for _, f := range checker.Judge(context.Background(), out.History, checker.Properties(), options) {
				checker.Tell(&text, &f)
			}
		}
	}
	checker.Golden(t, "findings.txt", text.String())
}
