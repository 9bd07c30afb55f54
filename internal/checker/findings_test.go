package checker_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/runner"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/words"
	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/virtual"
)

var update = flag.Bool("update", false, "write testdata/findings.txt anew")

// TestFindings: what a reader is told of a run of every shipped scenario, with one seed:
// verdict, reason, counterexample, story and the assumption that failed.
func TestFindings(t *testing.T) {
	files, err := scenario.Find([]string{"../../scenarios"})
	if err != nil {
		t.Fatal(err)
	}
	var engine virtual.Engine
	defer engine.Close()
	var text strings.Builder
	for _, file := range files {
		s, err := scenario.Load(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range s.Variants {
			out, err := runner.Run(runner.Config{Scenario: s.Name, Variant: v, Seed: 1, World: "virtual", Started: time.Unix(0, 0),
				Open: func(spec world.Spec) (world.World, error) { return engine.Open(context.Background(), spec) }})
			if err != nil {
				t.Fatal(err)
			}
			options := checker.Options{Faults: len(v.Setup.Faults.List), GrantWithin: v.Setup.GrantWithin}
			fmt.Fprintf(&text, "\n%s, %s: %d events\n", s.Name, v.Name, len(out.History.Events))
			for _, f := range checker.Judge(context.Background(), out.History, checker.Properties(), options) {
				tell(&text, &f)
			}
		}
	}
	golden := filepath.Join("testdata", "findings.txt")
	if *update {
		if err := os.WriteFile(golden, []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(text.String(), "\n")); diff != "" {
		t.Errorf("findings (-want +got; -update accepts):\n%s", diff)
	}
}

// tell writes a finding, all of it.
func tell(w *strings.Builder, f *checker.Finding) {
	fmt.Fprintf(w, "  %s: %s: %s (%s; %s, %d %s, %s) %v\n", f.Property, f.Verdict, f.Why, f.Method,
		words.Count(f.Effort.Operations, "operation"), f.Effort.Chances, f.Effort.What(), words.Count(f.Effort.Faults, "fault"), f.Events)
	c := f.Counterexample
	if c == nil {
		return
	}
	fmt.Fprintf(w, "    %s, shrunk from %d; impossible at event %d; %s\n", words.Count(len(c.Operations), "operation"), c.From, c.Impossible, c.Assumption)
	if c.Overlap != nil {
		fmt.Fprintf(w, "    overlap %v to %v\n", c.Overlap.From, c.Overlap.To)
	}
	for _, o := range c.Operations {
		fmt.Fprintf(w, "    %s %s, %v to %v %v; believed %q; true %q\n", o.Client, o.Op, o.From, o.To, o.Events, o.Believed, o.True)
	}
	for _, s := range c.Story {
		fmt.Fprintf(w, "      %v %d %s\n", s.At, s.Event, s.Text)
	}
}
