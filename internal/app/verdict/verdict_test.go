package verdict

import (
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/report"
)

// What is not as expected is undecided where a machine that was too slow can have brought it about, and only there.
func TestSlowMachine(t *testing.T) {
	fast, slow := &report.Pace{Late: 99 * time.Millisecond, Allowed: 100 * time.Millisecond},
		&report.Pace{Late: 101 * time.Millisecond, Allowed: 100 * time.Millisecond}
	const late = "node A did not answer within 20s"
	const holds, violated, unknown = checker.Holds, checker.Violated, checker.Unknown
	for name, c := range map[string]struct {
		pace     *report.Pace
		fenced   bool
		property checker.Property
		verdict  checker.Verdict
		expected checker.Verdict
		// late: no-late-effect is violated, too.
		late bool
		want string
		// unknown: the run tells nothing.
		unknown string
	}{
		"a bound of time":                    {slow, false, checker.DeadlockFree, violated, holds, false, "undecided", ""},
		"a bound of time, and fast":          {fast, false, checker.DeadlockFree, violated, holds, false, "unexpected", ""},
		"a bound of time, virtual":           {nil, false, checker.DeadlockFree, violated, holds, false, "unexpected", ""},
		"a holder that stood still":          {slow, false, checker.NoLateEffect, violated, holds, false, "undecided", ""},
		"a promise that was broken":          {slow, false, checker.ExclusiveLease, violated, holds, false, "unexpected", ""},
		"a key of another":                   {slow, false, checker.OwnerRelease, violated, holds, false, "unexpected", ""},
		"lost after a late write":            {slow, false, checker.LinearizableResource, violated, holds, true, "undecided", ""},
		"lost after a late write, and fence": {slow, true, checker.LinearizableResource, violated, holds, true, "unexpected", ""},
		"lost without a late write":          {slow, false, checker.LinearizableResource, violated, holds, false, "unexpected", ""},
		"not shown":                          {slow, false, checker.ExclusiveLease, holds, violated, false, "undecided", ""},
		"not shown, and fast":                {fast, false, checker.ExclusiveLease, holds, violated, false, "unexpected", ""},
		"not judged":                         {slow, false, checker.ExclusiveLease, unknown, holds, false, "undecided", ""},
		"shown":                              {slow, false, checker.ExclusiveLease, violated, violated, false, "met", ""},
		"holds":                              {slow, false, checker.ExclusiveLease, holds, holds, false, "met", ""},
		"nothing expected":                   {slow, false, checker.ExclusiveBelief, violated, 0, false, "met", ""},
		"broke off":                          {fast, false, checker.ExclusiveLease, unknown, holds, false, "undecided", late},
		"broke off, and nothing is amiss":    {fast, false, checker.ExclusiveLease, holds, holds, false, "undecided", late},
	} {
		v := report.Variant{Pace: c.pace, Unknown: c.unknown, History: &history.History{Header: history.Header{ChecksOrder: c.fenced}}}
		v.Properties = append(v.Properties, report.Judged(checker.Finding{Property: c.property, Verdict: c.verdict}, c.expected))
		if c.late {
			v.Properties = append(v.Properties, report.Judged(checker.Finding{Property: checker.NoLateEffect, Verdict: violated}, 0))
		}
		excuse(&v)
		Settle(&v)
		got := "undecided"
		switch {
		case v.Met:
			got = "met"
		case v.Properties[0].Unexpected():
			got = "unexpected"
		}
		if got != c.want || v.Undecided != (got == "undecided") || (v.TooSlow != "") != (got == "undecided") {
			t.Errorf("%s: %s (undecided %v, too slow %q), want %s", name, got, v.Undecided, v.TooSlow, c.want)
		}
	}
}
