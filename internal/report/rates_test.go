package report_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/report"
)

func TestRatesShowEveryNumber(t *testing.T) {
	var b bytes.Buffer
	err := report.WriteRates(&b, report.Rates{
		Heading: "gc-pause <over> its ttl", Replay: "sim sweep x",
		Grids: []report.RateGrid{{Title: "linearizable-resource", X: "lock.ttl", Y: "faults.pause",
			Columns: []string{"200ms", "1s"}, Rows: []string{"exp(mean=50ms)", "</svg><script>"},
			Cells: []report.Rate{{Runs: 200, Judged: 200, Violated: 50, Low: 0.19, High: 0.31}, {Runs: 200, Judged: 120},
				{Runs: 100, Judged: 49, Violated: 49, Low: 0.93, High: 1}, {}}}},
		Classes: []report.RateLine{{Name: "exclusive-lease", Rate: report.Rate{Runs: 1000, Judged: 900, Violated: 5, Low: 0.002, High: 0.012}}},
		Found: []report.FoundScenario{{Path: "reports/found/a.yaml",
			Note: "<b>1 of 5 faults</b>", Link: "../a.yaml", Report: "../a/report.html"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, want := range []string{"25.0 %", "19.0 to 31.0", "0.0 %", "100.0 %", "no run", "of 120</span>", "of 49 (few)",
		`class="tile few"`, "0.556 % (0.2 to 1.2) of 900", "lock.ttl 200ms: violated in 50 of 200 judged runs, 200 runs in all",
		"sim sweep x", "reports/found/a.yaml", `href="../a.yaml"`, `href="../a/report.html"`, "&lt;over&gt;"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if n := strings.Count(page, `class="tile few"`); n != 1 {
		t.Errorf("%d cells say that few runs were judged, want 1", n)
	}
	for _, bad := range []string{"<script>", "<b>1 of"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page lets %q through", bad)
		}
	}
}
