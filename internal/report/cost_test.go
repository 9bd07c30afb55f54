package report_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/report/reporttest"
)

func TestCostIsShown(t *testing.T) {
	r := reporttest.Cost()
	reporttest.SameAs(t, "cost.txt", []byte(text(t, r)))
	var b bytes.Buffer
	if err := report.WriteHTML(&b, r); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	from, to := strings.Index(page, `<section id="cost"`), strings.Index(page, `<section id="limits"`)
	if from < 0 || to < from {
		t.Fatal("the page has no section about cost")
	}
	reporttest.SameAs(t, "cost-section.html", []byte(page[from:to]))
	b.Reset()
	if err := report.WriteHTML(&b, reporttest.GCPause()); err != nil || strings.Contains(b.String(), `id="cost"`) {
		t.Errorf("a run that measured nothing has the section (%v)", err)
	}
}
