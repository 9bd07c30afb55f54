package report_test

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/app/verdict"
	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/report/card"
	"github.com/redlock-sim/redlock-sim/internal/report/reporttest"
	"github.com/redlock-sim/redlock-sim/internal/report/terminal"
)

// A run that broke off because the machine was too slow is undecided, and every form says so with the first line of the reason.
func TestTooSlow(t *testing.T) {
	r := reporttest.GCPause()
	slow := report.Variant{Name: "slow",
		Pace: &report.Pace{Allowed: time.Second}, Unknown: "node A did not answer within 20s\nnode B did not, either"}
	verdict.Settle(&slow)
	r.Variants = append(r.Variants, slow)
	verdict.SumUp(r)
	list := []*report.Result{reporttest.GCPause(), r}
	const why = "this machine was too slow for 1 of 2 runs: node A did not answer within 20s"
	for name, c := range map[string]struct {
		write func(io.Writer) error
		want  string
	}{
		"the last line": {func(w io.Writer) error {
			return report.WriteSummaryLine(w, list, 0, time.Second, terminal.Options{})
		}, "UNDECIDED 1 scenario, 2 runs, 3 variants, 0 unexpected, 1 undecided in 1.0 s; " + why + "\n"},
		"text": {func(w io.Writer) error { return report.WriteText(w, r, "", terminal.Options{}) },
			"    too slow: node A did not answer within 20s; so what is not as expected is undecided\n"},
		"Markdown": {func(w io.Writer) error { return report.WriteMarkdown(w, list) }, "**this machine was too slow for 1 of 2 runs&#58; node A"},
		"JUnit": {func(w io.Writer) error { return report.WriteJUnit(w, list, report.JUnitOptions{}) },
			`<failure message="this machine was too slow: node A did not answer within 20s" type="undecided"></failure>`},
		"JUnit, undecided is allowed": {func(w io.Writer) error { return report.WriteJUnit(w, list, report.JUnitOptions{AllowUndecided: true}) },
			`<skipped message="this machine was too slow: node A did not answer within 20s"></skipped>`},
		"HTML": {func(w io.Writer) error {
			return report.WriteHTML(w, r)
		}, "slow: this machine was too slow for the run: node A did not answer within 20s."},
	} {
		var out bytes.Buffer
		if err := c.write(&out); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), c.want) || strings.Contains(out.String(), "node B did not, either") {
			t.Errorf("%s does not say %q:\n%.4000s", name, c.want, &out)
		}
	}
	card := card.Card{Locks: []card.Lock{{Cells: []card.Cell{
		{ID: "a/b", Runs: 1}, {ID: "a/c", Runs: 3, TooSlow: true, Why: "This machine was too slow: no answer."}, {ID: "a/d"},
	}}}}
	if got := card.TooSlow(); got != "this machine was too slow for 1 of 2 cases, the first: no answer." {
		t.Error(got)
	}
}

// A run in virtual time that tells nothing is undecided, and every form says why. It is no matter of the machine.
func TestUnknown(t *testing.T) {
	r := reporttest.GCPause()
	r.World = "virtual"
	lost := report.Variant{Name: "lost", Unknown: "client c1 made the call 323, which is not modelled", History: r.Variants[0].History}
	verdict.Settle(&lost)
	r.Variants = append(r.Variants[:0:0], lost)
	verdict.SumUp(r)
	list := []*report.Result{r}
	for name, c := range map[string]struct {
		write func(io.Writer) error
		want  string
	}{
		"the last line": {func(w io.Writer) error {
			return report.WriteSummaryLine(w, list, 0, time.Second, terminal.Options{})
		}, "UNDECIDED 1 scenario, 1 variant, 0 unexpected, 1 undecided in 1.0 s\n"},
		"text": {func(w io.Writer) error { return report.WriteText(w, r, "", terminal.Options{}) },
			"    unknown: client c1 made the call 323, which is not modelled; so nothing was judged\n"},
		"Markdown": {func(w io.Writer) error { return report.WriteMarkdown(w, list) },
			"**gc-pause / lost is undecided:** the run tells nothing&#58; client c1 made the call 323"},
		"JUnit": {func(w io.Writer) error { return report.WriteJUnit(w, list, report.JUnitOptions{}) },
			`<failure message="the run tells nothing: client c1 made the call 323, which is not modelled" type="undecided"></failure>`},
		"HTML": {func(w io.Writer) error { return report.WriteHTML(w, r) },
			"lost: nothing was judged: client c1 made the call 323, which is not modelled."},
	} {
		var out bytes.Buffer
		if err := c.write(&out); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), c.want) || strings.Contains(out.String(), "too slow") {
			t.Errorf("%s does not say %q:\n%.4000s", name, c.want, &out)
		}
	}
}

// A run that broke off at its very end is undecided, too: nothing counts it as passed because all that it showed is as expected.
func TestBrokeOffAtTheEnd(t *testing.T) {
	r := reporttest.GCPause()
	v := &r.Variants[0]
	v.Properties = slices.DeleteFunc(v.Properties, func(p report.PropertyResult) bool { return !p.Met })
	v.Pace, v.Unknown = &report.Pace{Allowed: time.Second}, "node A did not stop within 2s"
	r.Variants = r.Variants[:1]
	verdict.Settle(v)
	verdict.SumUp(r)
	list := []*report.Result{r}
	var line, junit bytes.Buffer
	if err := report.WriteSummaryLine(&line, list, 0, time.Second, terminal.Options{}); err != nil {
		t.Fatal(err)
	}
	if want := "UNDECIDED 1 scenario, 1 variant, 0 unexpected, 1 undecided in"; !strings.HasPrefix(line.String(), want) {
		t.Errorf("%s, want %s", &line, want)
	}
	if err := report.WriteJUnit(&junit, list, report.JUnitOptions{}); err != nil {
		t.Fatal(err)
	}
	want := `<failure message="this machine was too slow: node A did not stop within 2s" type="undecided">`
	if !strings.Contains(junit.String(), want) {
		t.Errorf("no %s in\n%s", want, &junit)
	}
}
