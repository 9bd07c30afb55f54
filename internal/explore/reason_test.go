package explore

import (
	"reflect"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
)

// TestWithoutNames: runs that differ in a client, a node or an instant have one reason, and what else differs stays.
func TestWithoutNames(t *testing.T) {
	for why, want := range map[string]string{
		"the run did not finish": "the run did not finish",
		"it is not known what c12 was promised at 1.050 s: the keys of its lock were seen on 0 of 1 node": "it is not known " +
			"what a client was promised: the keys of its lock were seen on 0 of 1 node",
		"it is not known what c1 was promised at 1.0 s: its lock asked for less later, at 2.500 s": "it is not known " +
			"what a client was promised: its lock asked for less later",
		"it is not known what INCR left in the key on node A at 0.123 s": "it is not known what INCR left in the key on a node",
		"2 of 3 planned faults never took effect":                        "2 of 3 planned faults never took effect",
	} {
		if got := withoutNames(why); got != want {
			t.Errorf("%q became %q, not %q", why, got, want)
		}
	}
}

// TestReasonsAreAllThatIsUnknown: of each property, the runs that judged it and those that say why they did not are all.
func TestReasonsAreAllThatIsUnknown(t *testing.T) {
	properties := checker.Properties()
	s := Search{Scenario: parse(t, "name: test\nlock: {algorithm: redlock, retry: {attempts: 1}}\n"),
		Seeds: 200, Variant: scenario.DefaultVariant, Properties: properties}
	r := search(t, s)
	var reasons int
	for _, p := range properties {
		runs, _ := r.JudgedOn(string(p))
		for _, reason := range r.Reasons {
			if reason.Property == p {
				runs += reason.Runs
				reasons++
			}
		}
		if runs != r.Runs {
			t.Errorf("%s: %d of %d runs judged it or say why not", p, runs, r.Runs)
		}
	}
	if reasons != len(r.Reasons) || reasons < len(properties)/2 {
		t.Errorf("%d reasons: %v", reasons, r.Reasons)
	}
	s.Workers = 3
	if again := search(t, s); !reflect.DeepEqual(again.Reasons, r.Reasons) {
		t.Errorf("with other workers %v, not %v", again.Reasons, r.Reasons)
	}
}
