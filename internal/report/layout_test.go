package report_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/app/trial"
	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/report/compare"
	"github.com/redlock-sim/redlock-sim/internal/report/reporttest"
	"github.com/redlock-sim/redlock-sim/internal/report/reporttest/tab"
	"github.com/redlock-sim/redlock-sim/internal/scenario/scenariotest"
)

// shipped are the results of all scenarios that sim ships, in the virtual world.
func shipped(t *testing.T) []report.IndexEntry {
	t.Helper()
	list, out := scenariotest.OnModels(t), t.TempDir()
	entries := make([]report.IndexEntry, len(list))
	var wg sync.WaitGroup
	for i, s := range list {
		wg.Go(func() {
			got, err := trial.Run(context.Background(), s, trial.Options{Seed: 1, World: request.Virtual, Out: out, Now: time.Now})
			if err != nil {
				t.Error(err)
				return
			}
			entries[i] = report.IndexEntry{Result: got.Result, Link: filepath.Base(got.Report)}
		})
	}
	wg.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return entries
}

// others are results of which the shipped scenarios have none.
func others() []report.IndexEntry {
	entries := repeats()
	for i, r := range []*report.Result{reporttest.Unexpected(),
		reporttest.Undecided(), reporttest.Failed(), reporttest.Program(), reporttest.Interrupted()} {
		r.ScenarioDigest = fmt.Sprint(i) // else it is one of the repeated runs
		entries = append(entries, report.IndexEntry{Result: r, Link: "report.html"})
	}
	waiting := reporttest.Undecided()
	waiting.Scenario, waiting.Guarantee, waiting.Tags, waiting.Undecided = "waiting", "progress", []string{"library", "redis-docs"}, false
	v := &waiting.Variants[0]
	v.Name, v.Undecided, v.Properties[0].Verdict, v.Properties[0].Met = "only", false, checker.Holds, true
	waiting.Met, v.Met = true, true
	v.Tries = []report.Try{{Seed: 1}, {Seed: 2}}
	return append(entries, report.IndexEntry{Result: waiting, Link: "report.html"})
}

// suitePage has all scenarios that sim ships, and what they do not show.
func suitePage(t *testing.T) []byte {
	return []byte(write(t, func(w *bytes.Buffer) error { return report.WriteIndex(w, slices.Concat(others(), shipped(t))) }))
}

func TestSuitePageIsReadable(t *testing.T) {
	b := tab.New(t)
	doc := suitePage(t)
	b.Readable("suite", func() { b.OpenFile(doc) })
	if n := tab.Eval[int](b, `[...document.querySelectorAll(".case.loud")]
		.filter((el) => !el.querySelector(".why")?.checkVisibility()).length`); n > 0 {
		t.Errorf("%d scenarios that were not as expected do not say why", n)
	}
	var hostile []report.IndexEntry
	for _, r := range reporttest.All() {
		hostile = append(hostile, report.IndexEntry{Result: r})
	}
	doc = []byte(write(t, func(w *bytes.Buffer) error { return report.WriteIndex(w, hostile) }))
	for _, width := range []int64{1400, 390} {
		b.Size(width, 900)
		b.OpenFile(doc)
		if got := tab.Eval[int64](b, `document.documentElement.scrollWidth`); got > width {
			t.Errorf("with words of any length the page is %d px wide in a window of %d px", got, width)
		}
	}
}

// The filter shows the rows that fit, keeps its state in the address, and works without a mouse.
func TestFilterOfASuite(t *testing.T) {
	b := tab.New(t)
	b.Size(1280, 900)
	doc := []byte(write(t, func(w *bytes.Buffer) error { return report.WriteIndex(w, others()) }))
	url := b.OpenFile(doc)
	found := func() string { return tab.Eval[string](b, `document.querySelector(".sift output").textContent`) }
	rows := func() string {
		return tab.Eval[string](b, `[...document.querySelectorAll(".case")].filter((el) => el.checkVisibility())
			.map((el) => el.querySelector("strong").textContent).join(" ")`)
	}
	// Tab goes from field to field in this order.
	fields := []string{"q", "outcome", "verdict", "property", "guarantee", "tag"}
	all := rows()
	for _, c := range []struct {
		state map[string]string
		want  string
	}{
		{map[string]string{"q": "LATE write through"}, "leaky-fence"},
		{map[string]string{"outcome": "not-as-expected"}, "gc-pause leaky-fence"},
		{map[string]string{"verdict": "unknown"}, "gc-pause gc-pause no-contention"},
		{map[string]string{"property": "linearizable-resource", "verdict": "violated", "outcome": "not-as-expected"}, "gc-pause leaky-fence"},
		{map[string]string{"guarantee": "progress"}, "waiting"},
		{map[string]string{"tag": "library", "q": "only"}, "waiting"},
		{map[string]string{"outcome": "tried-again"}, "waiting"},
		{map[string]string{"tag": "library", "outcome": "not-as-expected"}, ""},
	} {
		b.Do(chromedp.Focus(chromedp.CSS(`.sift input`)))
		for i, name := range fields {
			if i > 0 {
				b.Do(chromedp.KeyEvent(kb.Tab))
			}
			if word := c.state[name]; word != "" {
				b.Do(chromedp.KeyEvent(cmp.Or(map[string]string{"not-as-expected": "not as", "tried-again": "tried"}[word], word)))
			}
		}
		said := fmt.Sprintf("%d of %d scenarios", len(strings.Fields(c.want)), len(strings.Fields(all)))
		if got := rows(); got != c.want || found() != said {
			t.Errorf("%v: %s, %q, want %q", c.state, found(), got, c.want)
		}
		address := tab.Eval[string](b, `location.href`)
		b.Do(chromedp.Navigate("about:blank"), chromedp.Navigate(address))
		if got := rows(); got != c.want {
			t.Errorf("%v: the address %s shows %q, want %q", c.state, address, got, c.want)
		}
		b.Do(chromedp.Focus(chromedp.CSS(`.sift button`)), chromedp.KeyEvent(kb.Enter))
		if got := rows() + tab.Eval[string](b, `location.hash`); got != all {
			t.Errorf("%v: after a reset there is %q", c.state, got)
		}
	}
	b.Do(chromedp.Navigate(url + "#tag=elsewhere&outcome=as-expected"))
	if got := found(); !strings.HasPrefix(got, "0 of ") {
		t.Errorf("a tag that no row has: %s", got)
	}
	b.Do(chromedp.Navigate(url + "#tag=kleppmann"))
	if got := found(); strings.HasPrefix(got, "0 of ") {
		t.Errorf("a new address in the same page: %s", got)
	}
	b.WithoutScripts()
	b.Do(chromedp.Navigate("about:blank"), chromedp.Navigate(url+"#outcome=not-as-expected"))
	if got := rows(); got != all {
		t.Errorf("without scripts there is %q, want %q", got, all)
	}
	if tab.Eval[bool](b, `document.querySelector(".sift").checkVisibility()`) {
		t.Error("without scripts there is a filter that does nothing")
	}
}

// rates are those of a sweep with many columns, of one with one setting, and of a search.
func rates() report.Rates {
	r := report.Rates{Heading: "gc-pause: how often", Lead: "Variant unfenced, 200 runs for each point, in the virtual world.",
		Replay: "sim sweep scenarios/gc-pause.yaml --variant " +
			"unfenced --property linearizable-resource --steps 7 --runs 200 --seed 1 --x lock.ttl=200ms..10s",
		Found: []report.FoundScenario{{Path: "reports/found/gc-pause-linearizable-resource-no-late-effect-1.yaml",
			Note: "1 of 5 faults, violated in 10 of 10 runs",
			Link: "a.yaml", Report: "report.html",
			Happened: "no-late-effect violated: a write of c1 took effect 352 ms after its validity had ended",
			Replay:   "sim replay a.yaml"}},
		Search: &report.Looked{Runs: 3000,
			Faults:  []report.LookedFault{{Kind: "pause", Planned: 1800, Began: 1650}, {Kind: "hold-message", Planned: 7}, {Kind: "evict"}},
			LeftOut: []report.LeftOut{{"promote", "there is no replica that a fault can promote"}, {"clock", "a lock is not meant to survive that"}},
			Curve:   []report.CurvePoint{{Runs: 100, Behaviours: 90}, {Runs: 3000, Behaviours: 2000}},
			Properties: []report.LookedProperty{{Name: "linearizable-resource", Judged: 1200, Violated: 3,
				Why: []string{"the resource was read twice (1800 runs)"}},
				{Name: "stays-held"}}, Waypoints: []report.Waypoint{{Name: "two clients asked for the lock at once", Runs: 2999},
				{Name: "a key expired while its client held the lock"}}},
		Worth: []string{"linearizable-resource: 0 in 1,200 runs: at most 0.25 in 100, with 95 % confidence"}}
	for _, n := range []int{3, 7, 12, 18} {
		g := report.RateGrid{Title: "linearizable-resource", X: "lock.node_timeout", Y: "faults.random.pause"}
		if n == 12 {
			g.Y = ""
		}
		for i := range n {
			g.Columns = append(g.Columns, fmt.Sprintf("%d.5ms", 100*i))
		}
		g.Rows = []string{"exp(mean=50ms)", "uniform(1s, 2s)", "4s"}[:max(1, 3*len(g.Y)/19)]
		if g.Y == "" {
			g.Rows = []string{""}
		}
		for i := range n * len(g.Rows) {
			judged := uint64(1000 - 100*(i%11))
			violated := judged * uint64(i%5) / 4
			g.Cells = append(g.Cells, report.RateOf(violated, judged, 1000))
		}
		g.Cells[0] = report.Rate{}
		r.Grids = append(r.Grids, g)
	}
	for _, name := range []string{"exclusive-belief", "exclusive-lease, linearizable-resource, no-late-effect, owner-release"} {
		r.Classes = append(r.Classes, report.RateLine{Name: name, Rate: report.RateOf(5, 900, 1000)})
	}
	return r
}

func TestOtherPagesAreReadable(t *testing.T) {
	b := tab.New(t)
	for name, doc := range otherPages(t) {
		b.Readable(name, func() { b.OpenFile(doc) })
	}
}

// otherPages are a page of rates and a comparison.
func otherPages(t *testing.T) map[string][]byte {
	slow := reporttest.Unexpected()
	slow.Scenario, slow.Variants[0].WallMS = "gc-pause", 9000
	slow.Versions["redis"], slow.World = "8.0.0", "virtual"
	c := compare.Results([]*report.Result{reporttest.GCPause(), reporttest.Cost()}, []*report.Result{slow, reporttest.Undecided()})
	return map[string][]byte{
		"rates":      []byte(write(t, func(w *bytes.Buffer) error { return report.WriteRates(w, rates()) })),
		"comparison": []byte(write(t, func(w *bytes.Buffer) error { return compare.WriteHTML(w, c) })),
	}
}

// Every kind of page can be heard, and used without a mouse.
func TestPagesAreSound(t *testing.T) {
	for name, r := range reporttest.All() {
		reporttest.Sound(t, name, page(t, r))
	}
	for name, doc := range otherPages(t) {
		reporttest.Sound(t, name, doc)
	}
	reporttest.Sound(t, "suite", []byte(write(t, func(w *bytes.Buffer) error { return report.WriteIndex(w, others()) })))
}

// No part of a nav is cut off, or asks for scrolling sideways.
func TestNavIsWhole(t *testing.T) {
	b := tab.New(t)
	docs := otherPages(t)
	for name, r := range reporttest.All() {
		docs[name] = page(t, r)
	}
	for _, width := range []int64{1280, 901, 800, 390} {
		b.Size(width, 900)
		for name, doc := range docs {
			b.OpenFile(doc)
			if cut := tab.Eval[[]string](b, `[...document.querySelectorAll("nav")].flatMap(n => n.scrollWidth > n.clientWidth + 1 ? [n.innerText] :
				[...n.querySelectorAll("a")].filter(a => a.getBoundingClientRect().right > innerWidth).map(a => a.innerText))`); len(cut) > 0 {
				t.Errorf("%s at %d px: a nav is cut: %q", name, width, cut)
			}
		}
	}
}

// Before the script shows the filter of a suite, its place is kept: nothing below moves when it comes.
func TestFilterMovesNothing(t *testing.T) {
	b := tab.New(t)
	doc := []byte(write(t, func(w *bytes.Buffer) error { return report.WriteIndex(w, others()) }))
	for _, width := range []int64{1280, 390} {
		b.Size(width, 900)
		b.OpenFile(doc)
		if moved := tab.Eval[float64](b, `(() => {
			const part = document.querySelector(".part"), after = part.getBoundingClientRect().top;
			document.querySelector(".sift").hidden = true;
			document.querySelector(".sift output").textContent = "";
			return Math.abs(part.getBoundingClientRect().top - after);
		})()`); moved > 1 {
			t.Errorf("at %d px the rows move by %v px when the filter comes", width, moved)
		}
	}
}
