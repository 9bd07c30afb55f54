package report_test

import (
	"strings"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/report"
)

// TestBusy: a rate above the bound is called busy, one at the bound is not, and without a bound none is.
func TestBusy(t *testing.T) {
	for _, c := range []struct {
		most int
		busy bool
	}{{0, false}, {199, true}, {200, false}} {
		cost := checker.Cost{Most: c.most, Waiting: &checker.Rate{Commands: 400, Time: 2 * time.Second}}
		row := report.CostRows(&cost)[4].Value
		if line := report.CostWords(&cost); strings.Contains(line, "busy") != c.busy || strings.Contains(row, "busy") != c.busy {
			t.Errorf("within %d: %q and %q, want busy %v", c.most, line, row, c.busy)
		}
	}
}
