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
	for _, want := range []string{"25 % (19 to 31)", ">25</text>", "0 % (0 to 0) of 120", "no run", "of 49 (few)",
		`<rect class="edge few" x="0.00%"`, "0.556 % (0.2 to 1.2) of 900", "lock.ttl 200ms: violated in 50 of 200 judged runs, 200 runs in all",
		"sim sweep x", "reports/found/a.yaml", `href="../a.yaml"`, `href="../a/report.html"`, "&lt;over&gt;"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if n := strings.Count(page, `<rect class="edge few" x="0`); n != 1 {
		t.Errorf("%d cells say that few runs were judged, want 1", n)
	}
	for _, bad := range []string{"<script>", "<b>1 of"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page lets %q through", bad)
		}
	}
}

// The page of a search says in a sentence what was found, what was looked at, and what was never reached.
func TestSearchSaysWhatItNeverReached(t *testing.T) {
	write := func(l *report.Looked) string {
		var b bytes.Buffer
		err := report.WriteRates(&b, report.Rates{Heading: "a search", Search: l, Found: []report.FoundScenario{{
			Path: "a.yaml", Note: "1 of 5 faults",
			Happened: "no-late-effect violated: a write of c1 took effect", Link: "a.yaml", Report: "a/report.html",
			Picture: []byte(`<svg onload="alert(1)"/>`), Width: 900, Height: 300}}})
		if err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	l := &report.Looked{Runs: 1000, LeftOut: []report.LeftOut{{"clock", "not meant"}, {"promote", "no replica"}, {"evict", "not meant"}},
		Faults: []report.LookedFault{{Kind: "pause", Planned: 600, Began: 500}, {Kind: "hold", Planned: 2}, {Kind: "cut"}},
		Properties: []report.LookedProperty{{Name: "no-late-effect", Judged: 900, Violated: 3},
			{Name: "stays-held", Why: []string{"nobody renewed (1000 runs)"}}},
		Waypoints: []report.Waypoint{{Name: "a key expired", Runs: 4}, {Name: "there were two primaries"}},
		Curve:     []report.CurvePoint{{Runs: 100, Behaviours: 50}, {Runs: 500, Behaviours: 95}, {Runs: 1000, Behaviours: 100}}}
	page := write(l)
	for _, want := range []string{">no-late-effect violated: a write of c1 took effect</a>", "<li>stays-held: nobody renewed (1000 runs)</li>",
		"<li>there were two primaries</li>", "<li>hold: drawn in 2 runs, took effect in none</li>", "<li>cut: never drawn, by chance</li>",
		"Never reached, in 1,000 runs", "1 of 2 were put to the test", "1 of 6 took effect", "1 of 2 were reached", "900 of 1,000",
		"<li>left out of this search: clock, evict (not meant); promote (no replica)</li>",
		"95 behaviours after half of the runs, 100 at the end: few are new",
		`width="900" height="300" alt="Picture of the run: no-late-effect`, `points="0,100 100.0,50.0 500.0,5.0 1000.0,0.0"`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(page, "onload") {
		t.Error("the page has a picture's code as its own")
	}
	if first, last := strings.Index(page, `row">stays-held<`), strings.Index(page, `row">no-late-effect<`); first < 0 || first > last {
		t.Error("what was tested least is not the first")
	}
	l.Properties, l.Waypoints, l.Faults = l.Properties[:1], l.Waypoints[:1], l.Faults[:1]
	once := write(l)
	if strings.Count(once, "nothing is left") != 2 {
		t.Error("where kinds of faults were not drawn, the page says that nothing is left")
	}
	l.LeftOut = nil
	l.Curve[1].Behaviours = 20
	page = write(l)
	if strings.Contains(page, `class="never"`) || strings.Count(page, "nothing is left") != 3 ||
		!strings.Contains(page, "what it did not draw, it did not see") ||
		!strings.Contains(page, "new ones still come") {
		t.Error("the page says that something was not reached, or that nothing is left")
	}
}
