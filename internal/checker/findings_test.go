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
	"github.com/redlock-sim/redlock-sim/internal/testkit/golden"
	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/virtual"
)

// TestFindings: the verdicts of a run of every shipped scenario, with one seed, and what a reader is told first of
// what is violated: the reason, and the assumption that failed. TestCounterexamples has all that is told.
func TestFindings(t *testing.T) {
	var engine virtual.Engine
	defer engine.Close()
	var text strings.Builder
	for _, s := range scenariotest.OnModels(t) {
		for _, v := range s.Variants {
			out, err := runner.Run(runner.Config{Scenario: s.Name, Variant: v, Seed: 1, World: "virtual", Started: time.Unix(0, 0),
				Open: func(spec world.Spec) (world.World, error) { return engine.Open(context.Background(), spec) }})
			if err != nil {
				t.Fatal(err)
			}
			options := checker.Options{Faults: len(v.Setup.Faults.List), GrantWithin: v.Setup.GrantWithin}
			verdicts := make(map[checker.Verdict][]string)
			var violations strings.Builder
			for _, f := range checker.Judge(context.Background(), out.History, checker.Properties(), options) {
				verdicts[f.Verdict] = append(verdicts[f.Verdict], string(f.Property))
				if c := f.Counterexample; c != nil {
					fmt.Fprintf(&violations, "  %s: %s\n    failed: %s\n", f.Property, f.Why, c.Assumption)
				}
			}
			fmt.Fprintf(&text, "\n%s, %s\n", s.Name, v.Name)
			for _, verdict := range []checker.Verdict{checker.Violated, checker.Holds, checker.Unknown} {
				if list := verdicts[verdict]; list != nil {
					fmt.Fprintf(&text, "  %s: %s\n", verdict, strings.Join(list, " "))
				}
			}
			text.WriteString(violations.String())
		}
	}
	golden.Compare(t, "testdata/findings.txt", text.String())
}
