package report_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/report/reporttest"
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

// The last lines of a suite name each verdict that is not as expected and its report, unexpected ones first, each once, and only so many.
func TestNamesOfWhatIsNotAsExpected(t *testing.T) {
	names := func(o terminal.Options, results ...*report.Result) string {
		var b bytes.Buffer
		at := func(r *report.Result) string { return "out/" + r.Scenario + "/report.html" }
		if err := report.WriteNames(&b, results, at, o); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	one := func(scenario string, expected, verdict checker.Verdict) *report.Result {
		return &report.Result{Scenario: scenario, Variants: []report.Variant{{Name: "default", Properties: []report.PropertyResult{
			{Name: checker.ExclusiveLease, Expected: expected, Verdict: verdict, Met: expected == verdict}}}}}
	}
	fine, broken := one("fine", checker.Holds, checker.Holds), one("broken", checker.Holds, checker.Violated)
	doubtful, unseen := one("doubtful", checker.Holds, checker.Unknown), one("unseen", checker.Violated, checker.Holds)
	got := names(terminal.Options{}, fine, doubtful, broken, unseen, broken)
	want := "unexpected  broken / default: exclusive-lease violated, expected holds, in 2 runs   out/broken/report.html\n" +
		"unexpected  unseen / default: exclusive-lease holds, expected violated   out/unseen/report.html\n" +
		"undecided   doubtful / default: exclusive-lease unknown, expected holds   out/doubtful/report.html\n"
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got := names(terminal.Options{}, fine); got != "" {
		t.Errorf("all is as expected, and yet: %s", got)
	}
	var many []*report.Result
	for i := range 25 {
		many = append(many, one(string(rune('a'+i)), checker.Holds, checker.Violated))
	}
	got = names(terminal.Options{}, many...)
	if strings.Count(got, "\n") != 21 || !strings.HasSuffix(got, "and 5 more: see the suite's page\n") {
		t.Errorf("25 are named so:\n%s", got)
	}
}

// Where a violation was expected and did not show, the story is not that of an expected violation in another variant.
func TestTextSaysWhatWasNotSeen(t *testing.T) {
	r := reporttest.GCPause()
	if got := text(t, r); !strings.Contains(got, "What happened in unfenced") {
		t.Fatalf("there is no story:\n%s", got)
	}
	for i := range r.Variants[1].Properties {
		if p := &r.Variants[1].Properties[i]; p.Verdict == checker.Holds {
			p.Expected, p.Met = checker.Violated, false
			want := "  Expected and not seen\n    fenced: a violation of " + string(p.Name) + ", which holds: " + p.Why
			if got := text(t, r); !strings.Contains(got, want[:100]) || strings.Contains(got, "What happened") {
				t.Errorf("no %q alone in\n%s", want, got)
			}
			return
		}
	}
	t.Fatal("nothing holds")
}
