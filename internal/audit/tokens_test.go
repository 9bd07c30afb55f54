package audit

import (
	"slices"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/scenario/scenariotest"
)

// TestKeepingCounts: the control of a fencing scenario has all its faults but those by which counts are lost, and a scenario without such
// faults has no control.
func TestKeepingCounts(t *testing.T) {
	for name, want := range map[string][]string{
		"equal-token":       {"hold", "pause"},
		"counter-restart":   {"pause"},
		"consensus-tokens":  nil,
		"token-before-lock": {"none"},
	} {
		list := scenariotest.Shipped(t)
		s := list[slices.IndexFunc(list, func(s *scenario.Scenario) bool { return s.Name == name })]
		before := len(s.Variants[0].Setup.Faults.List)
		v, ok := keepingCounts(s.Variants[0])
		if !ok {
			if !slices.Equal(want, []string{"none"}) {
				t.Errorf("%s has no control", name)
			}
			continue
		}
		var kinds []string
		for _, f := range v.Setup.Faults.List {
			kinds = append(kinds, f.Kind)
		}
		if !slices.Equal(kinds, want) || v.Setup.Faults.Mix != nil {
			t.Errorf("the control of %s has %q, want %q", name, kinds, want)
		}
		if len(s.Variants[0].Setup.Faults.List) != before {
			t.Errorf("the scenario %s has lost faults", name)
		}
	}
}
