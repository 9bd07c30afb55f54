package virtual_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/scenario/scenariotest"
	"github.com/redlock-sim/redlock-sim/internal/testkit/golden"
)

// TestCauses: each violation that a shipped scenario expects names the assumption that
// failed there. (A random schedule can show a property violated in more than one way.) The list was read by hand beside the stories of the
// scenarios; a new line needs the same.
func TestCauses(t *testing.T) {
	var list strings.Builder
	for _, s := range scenariotest.OnModels(t) {
		for _, v := range s.Variants {
			var wanted []checker.Property
			for _, e := range v.Expect {
				if e.Verdict == checker.Violated {
					wanted = append(wanted, e.Property)
				}
			}
			told := make(map[checker.Property][]string)
			for seed := range uint64(5) {
				h := act(t, s, v, seed, nil, fresh)
				for _, f := range checker.Judge(context.Background(), h, wanted, checker.Options{GrantWithin: v.Setup.GrantWithin}) {
					if f.Counterexample == nil {
						t.Errorf("%s, %s, seed %d: %s: %s", s.Name, v.Name, seed, f.Property, f.Why)
					} else if cause := f.Counterexample.Assumption; !slices.Contains(told[f.Property], cause) {
						told[f.Property] = append(told[f.Property], cause)
					}
				}
			}
			for _, p := range wanted {
				slices.Sort(told[p])
				for _, cause := range told[p] {
					fmt.Fprintf(&list, "%-28s %-22s %-22s %s\n", s.Name, v.Name, p, cause)
				}
			}
		}
	}
	golden.Compare(t, "testdata/causes.txt", list.String())
}
