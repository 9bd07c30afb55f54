package report_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/report/terminal"
)

// In a suite, what does not apply is counted by its reasons, each variant once.
func TestNotApplicableIsCounted(t *testing.T) {
	of := func(scenario string, reasons ...string) *report.Result {
		r := &report.Result{Scenario: scenario}
		for i, why := range reasons {
			v := report.Variant{Name: string(rune('a' + i)), NotApplicable: why}
			if why == "" {
				v.Properties = []report.PropertyResult{{Name: checker.ExclusiveLease, Verdict: checker.Holds, Met: true}}
			}
			r.Variants = append(r.Variants, v)
		}
		return r
	}
	many := "there are 5 nodes"
	none := "it tells no tokens, and that is a reason so long that it does not fit " +
		"into one line of a terminal of eighty or a hundred characters"
	results := []*report.Result{of("one", none, many), of("two", "", many), of("one", none, many)} // one was to be run twice
	var b bytes.Buffer
	if err := report.WriteNotApplicable(&b, results, terminal.Options{Width: 80}); err != nil {
		t.Fatal(err)
	}
	want := "not applicable   3 variants\n     2  there are 5 nodes\n" +
		"     1  it tells no tokens, and that is a reason so long that it does not fit\n" +
		"        into one line of a terminal of eighty or a hundred characters\n"
	if b.String() != want {
		t.Errorf("%s\nwant\n%s", b.String(), want)
	}
	b.Reset()
	if err := report.WriteSuiteText(&b, results[1], "", terminal.Options{}); err != nil || strings.Contains(b.String(), "not applicable") ||
		!strings.Contains(b.String(), "exclusive-lease") {
		t.Errorf("%v\n%s", err, b.String())
	}
	b.Reset()
	if err := report.WriteNotApplicable(&b, []*report.Result{of("three", "")}, terminal.Options{}); err != nil || b.Len() > 0 {
		t.Errorf("%v\n%s", err, b.String())
	}
}

// A run of which nothing was judged does not say on what its verdicts rest.
func TestTextDoesNotContradictItself(t *testing.T) {
	unknown := report.Variant{Name: "default", Interrupted: true, TimedOut: true, Undecided: true,
		Unknown: "two runs with seed 1 differ\nevent 7 differs in time\nfirst: at 1ms c1 got the lock\nagain: at 2ms c1 got the lock"}
	r := &report.Result{Scenario: "one", Interrupted: true, Variants: []report.Variant{unknown}}
	got := text(t, r)
	for _, want := range []string{"  interrupted: the run was stopped before its end\n",
		"    unknown: two runs with seed 1 differ; so nothing was judged\n" +
			"      event 7 differs in time\n      first: at 1ms c1 got the lock\n      again: at 2ms c1 got the lock\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "the verdicts judge") {
		t.Errorf("there are no verdicts:\n%s", got)
	}
	r.Variants[0].Unknown, r.Variants[0].Properties = "", []report.PropertyResult{{Name: checker.ExclusiveLease, Verdict: checker.Holds}}
	if got := text(t, r); strings.Count(got, "; the verdicts judge what was recorded") != 2 {
		t.Errorf("it does not say on what the verdicts rest:\n%s", got)
	}
}
