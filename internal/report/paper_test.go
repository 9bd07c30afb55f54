package report_test

import (
	"bytes"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/report/compare"
	"github.com/redlock-sim/redlock-sim/internal/report/reporttest/tab"
)

// A suite with all that sim ships, and a comparison of two, have at most five pages of paper, also where everything went wrong. What is
// folded on the screen stays so.
func TestOverviewsFitOnFivePages(t *testing.T) {
	b := tab.New(t)
	entries := shipped(t)
	good, bad := make([]*report.Result, len(entries)), make([]*report.Result, len(entries))
	wrong := make([]report.IndexEntry, len(entries))
	for i, e := range entries {
		good[i], bad[i] = e.Result, broken(e.Result)
		wrong[i] = report.IndexEntry{Result: bad[i]}
	}
	c := compare.Results(good, bad)
	for name, doc := range map[string][]byte{
		"suite":        []byte(write(t, func(w *bytes.Buffer) error { return report.WriteIndex(w, entries) })),
		"broken suite": []byte(write(t, func(w *bytes.Buffer) error { return report.WriteIndex(w, wrong) })),
		"comparison":   []byte(write(t, func(w *bytes.Buffer) error { return compare.WriteHTML(w, c) })),
	} {
		b.OpenFile(doc)
		n := b.Pages(b.Print(chromedp.PaperA4))
		if n < 1 || n > 5 {
			t.Errorf("%s: %d pages, want at most five", name, n)
		}
		t.Logf("%s: %d pages", name, n)
	}
}

// broken is a result in which nothing is as expected.
func broken(r *report.Result) *report.Result {
	wrong := *r
	wrong.Met, wrong.Variants = false, nil
	for _, v := range r.Variants {
		v.Met = false
		properties := v.Properties
		v.Properties = nil
		for _, p := range properties {
			p.Verdict, p.Met = checker.Violated, false
			v.Properties = append(v.Properties, p)
		}
		wrong.Variants = append(wrong.Variants, v)
	}
	return &wrong
}
