package audit

import (
	"strings"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/app/trial"
	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/report/card"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
)

// TestByDesignHasAReason: what is not demanded of a lock is by design only of a guarantee that says why a design gives it up. A program
// whose run did not finish keeps running or not: nobody knows.
func TestByDesignHasAReason(t *testing.T) {
	for _, c := range []struct {
		guarantee scenario.Guarantee
		property  report.PropertyResult
		want      card.State
		why       string
	}{
		{"keeps-running", report.PropertyResult{Name: checker.KeepsRunning, Verdict: checker.Unknown, Why: "the run did not finish"},
			card.Unknown, "Keeps-running is undecided: the run did not finish."},
		{"keeps-running", report.PropertyResult{Name: checker.KeepsRunning, Verdict: checker.Holds, Why: "none ended by itself"},
			card.Kept, "None ended by itself."},
		{"memory-loss", report.PropertyResult{Name: checker.ExclusiveLease, Verdict: checker.Unknown, Why: "the run did not finish"},
			card.ByDesign, scenario.Guarantee("memory-loss").ByDesign()},
		{"memory-loss", report.PropertyResult{Name: checker.ExclusiveLease, Verdict: checker.Unknown, Expected: checker.Holds,
			Why: "nobody asked"},
			card.Unknown, "Exclusive-lease is undecided: nobody asked."},
	} {
		one := &trial.Trial{Result: &report.Result{}}
		v := &report.Variant{Name: "x", Properties: []report.PropertyResult{c.property}}
		var of variantTally
		of.add(&tally{question: &question{guarantee: c.guarantee}, lock: &Lock{}}, one, v, &v.Properties[0])
		var cell card.Cell
		of.conclude(c.guarantee, &Lock{StandIn: &scenario.StandIn{}}, &cell)
		if cell.State != c.want || !strings.HasPrefix(cell.Why, c.why) {
			t.Errorf("%s, %s: %s, %q; want %s, %q", c.guarantee, c.property.Verdict, cell.State, cell.Why, c.want, c.why)
		}
	}
}

func TestSpeaks(t *testing.T) {
	deciding := &report.PropertyResult{Name: checker.ExclusiveLease}
	for _, test := range []struct {
		guarantee scenario.Guarantee
		property  checker.Property
		want      bool
	}{
		{"exclusive", checker.ExclusiveLease, true},
		{"exclusive", checker.BackedGrant, true},
		{"exclusive", checker.NoLateEffect, false},
		// A lock that tells no validity is granted when its lease is over: nobody else need have come by then.
		{"client-clock", checker.NoLateEffect, true},
		{"client-clock", checker.LinearizableResource, false},
		// A key whose end is a time of the client's clock is over at once, and never set, while the two clocks differ.
		{"client-clock", checker.BackedGrant, true},
		{"node-clock-jump", checker.BackedGrant, true},
		{"late-messages", checker.NoLateEffect, false},
	} {
		if got := speaks(test.guarantee, &report.PropertyResult{Name: test.property}, deciding); got != test.want {
			t.Errorf("%s speaks for %s: %v", test.property, test.guarantee, got)
		}
	}
}
