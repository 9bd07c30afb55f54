package report_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/report/reporttest"
	"github.com/redlock-sim/redlock-sim/internal/report/terminal"
)

func text(t *testing.T, r *report.Result) string {
	t.Helper()
	return textWith(t, r, "", terminal.Options{})
}

func textWith(t *testing.T, r *report.Result, path string, o terminal.Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := report.WriteText(&b, r, path, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestTextGolden(t *testing.T) {
	path := "reports/gc-pause/20261120-204501-42/report.html"
	for name, o := range map[string]terminal.Options{
		"gc-pause.txt":         {},
		"gc-pause-narrow.txt":  {Unicode: true, Width: 60},
		"gc-pause-colored.txt": {Unicode: true, Color: true},
	} {
		t.Run(name, func(t *testing.T) { reporttest.SameAs(t, name, []byte(textWith(t, reporttest.GCPause(), path, o))) })
	}
}

func TestTextTellsOfWhatWentWrong(t *testing.T) {
	for name, c := range map[string]struct {
		result *report.Result
		want   []string
	}{
		"unexpected":  {reporttest.Unexpected(), []string{"violated, expected holds", "What happened in fenced"}},
		"undecided":   {reporttest.Undecided(), []string{"? linearizable-resource", "unknown, expected holds", "never fired: fault 1, pause c1"}},
		"interrupted": {reporttest.Interrupted(), []string{"interrupted: the run was stopped before its end"}},
		"error":       {reporttest.Failed(), []string{"error: no redis-server"}},
		"empty":       {&report.Result{}, []string{"(unnamed)", "seed 0"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := text(t, c.result)
			for _, want := range c.want {
				if !strings.Contains(got, want) {
					t.Errorf("no %q in:\n%s", want, got)
				}
			}
		})
	}
}

func TestTextEmitsNoForeignEscapes(t *testing.T) {
	for _, color := range []bool{false, true} {
		got := textWith(t, reporttest.Hostile(), "a\x1b]0;b\a", terminal.Options{Color: color, Unicode: true})
		for i, r := range got {
			if color && strings.HasPrefix(got[i:], "\x1b[") {
				end := strings.IndexByte(got[i:], 'm')
				if code := got[i+2 : i+end]; !slices.Contains(strings.Fields("1 2 32 33 1;31 31 0"), code) {
					t.Fatalf("escape sequence %q is not ours", got[i:i+end+1])
				}
				continue
			}
			if r != '\n' && unicode.In(r, unicode.Cc, unicode.Cf) {
				t.Errorf("color %v: rune %U at byte %d of:\n%q", color, r, i, got)
			}
		}
	}
}

func TestSummaryLine(t *testing.T) {
	gc, o := reporttest.GCPause(), terminal.Options{}
	twice, both := reporttest.GCPause(), reporttest.GCPause() // two verdicts of a variant, and one of each variant
	twice.Variants[1].Properties[2].Met, twice.Variants[1].Properties[3].Met = false, false
	both.Variants[0].Properties[3].Met, both.Variants[1].Properties[3].Met = false, false
	for _, p := range []*report.PropertyResult{&twice.Variants[1].Properties[2], &twice.Variants[1].Properties[3],
		&both.Variants[0].Properties[3], &both.Variants[1].Properties[3]} {
		p.Verdict = checker.Violated
	}
	other := reporttest.Failed()
	other.Scenario, other.Error, other.Variants = "other", "", reporttest.GCPause().Variants
	for _, c := range []struct {
		results []*report.Result
		lost    int
		want    string
	}{
		{[]*report.Result{gc}, 0, "DONE 1 scenario, 2 variants, 0 unexpected, 0 undecided in 2.4 s\n"},
		{nil, 0, "DONE 0 scenarios, 0 variants, 0 unexpected, 0 undecided in 2.4 s\n"},
		{[]*report.Result{gc, reporttest.Unexpected()}, 0, "FAIL 2 scenarios, 4 variants, 1 unexpected, 0 undecided in 2.4 s\n"},
		{[]*report.Result{twice}, 0, "FAIL 1 scenario, 2 variants, 2 unexpected verdicts in 1 variant, 0 undecided in 2.4 s\n"},
		{[]*report.Result{both}, 0, "FAIL 1 scenario, 2 variants, 2 unexpected, 0 undecided in 2.4 s\n"},
		{[]*report.Result{both, other}, 0, "FAIL 2 scenarios, 4 variants, 2 unexpected verdicts in 1 scenario, 0 undecided in 2.4 s\n"},
		{[]*report.Result{reporttest.Undecided()}, 0, "UNDECIDED 1 scenario, 1 variant, 0 unexpected, 1 undecided in 2.4 s\n"},
		{[]*report.Result{reporttest.Unexpected(), reporttest.Failed()},
			0, "ERROR 2 scenarios, 2 variants, 1 unexpected, 0 undecided, 1 error in 2.4 s\n"},
		{[]*report.Result{gc}, 1, "ERROR 1 scenario, 2 variants, 0 unexpected, 0 undecided, 1 error in 2.4 s\n"},
		{[]*report.Result{reporttest.Interrupted()}, 0, "INTERRUPTED 1 scenario, 1 variant, 0 unexpected, 1 undecided in 2.4 s\n"},
	} {
		var b bytes.Buffer
		if err := report.WriteSummaryLine(&b, c.results, c.lost, 2400*time.Millisecond, o); err != nil {
			t.Fatal(err)
		}
		if b.String() != c.want {
			t.Errorf("got  %swant %s", b.String(), c.want)
		}
	}
}

func TestTextMarksAnExpectationThatNobodyHad(t *testing.T) {
	r := &report.Result{Scenario: "s", Variants: []report.Variant{{Name: "default", Properties: []report.PropertyResult{
		{Name: checker.OwnerRelease, Verdict: checker.Holds, Met: true, Why: "fine"}}}}}
	got := text(t, r)
	if !strings.Contains(got, "holds\n") || strings.Contains(got, "as expected") {
		t.Errorf("a verdict without an expectation must stand alone:\n%s", got)
	}
}
