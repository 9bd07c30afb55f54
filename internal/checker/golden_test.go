package checker

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redlock-sim/redlock-sim/internal/words"
)

var update = flag.Bool("update", false, "write the golden files in testdata anew")

// Golden compares a text with a file in testdata, or writes it.
func Golden(t *testing.T, name, got string) {
	t.Helper()
	golden := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s (-want +got; -update accepts):\n%s", golden, diff)
	}
}

// Tell writes a finding, all of it.
func Tell(w *strings.Builder, f *Finding) {
	fmt.Fprintf(w, "  %s: %s: %s (%s; %s, %d %s, %s) %v\n", f.Property, f.Verdict, f.Why, f.Method,
		words.Count(f.Effort.Operations, "operation"), f.Effort.Chances, f.Effort.What(), words.Count(f.Effort.Faults, "fault"), f.Events)
	c := f.Counterexample
	if c == nil {
		return
	}
	fmt.Fprintf(w, "    %s, shrunk from %d; impossible at event %d; %s\n",
		words.Count(len(c.Operations), "operation"), c.From, c.Impossible, c.Assumption)
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
