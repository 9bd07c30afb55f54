package compare_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/report/compare"
	"github.com/redlock-sim/redlock-sim/internal/report/reporttest"
	"github.com/redlock-sim/redlock-sim/internal/report/terminal"
)

func write(t *testing.T, f func(*bytes.Buffer) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := f(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestResults(t *testing.T) {
	gc := reporttest.GCPause
	with := func(change func(*report.Result)) []*report.Result {
		r := gc()
		change(r)
		return []*report.Result{r}
	}
	set := func(v checker.Verdict, met bool) func(*report.Result) {
		return func(r *report.Result) {
			p := &r.Variants[1].Properties[3]
			p.Verdict, p.Met = v, met
		}
	}
	repeat := func(n, bad int) []*report.Result {
		var list []*report.Result
		for i := range n {
			r := gc()
			if i < bad {
				set(checker.Violated, false)(r)
			}
			list = append(list, r)
		}
		return list
	}
	one := []*report.Result{gc()}
	for name, c := range map[string]struct {
		a, b       []*report.Result
		regression bool
		kinds      string
	}{
		"the same":            {one, one, false, ""},
		"nothing":             {nil, nil, false, ""},
		"broken":              {one, with(set(checker.Violated, false)), true, "regressed"},
		"mended":              {with(set(checker.Violated, false)), one, false, "mended"},
		"undecided now":       {one, with(set(checker.Unknown, false)), true, "regressed"},
		"could not run":       {one, with(func(r *report.Result) { r.Error = "no redis-server" }), true, "regressed"},
		"gone":                {one, with(func(r *report.Result) { r.Variants = r.Variants[:1] }), false, "gone gone gone gone gone"},
		"new":                 {with(func(r *report.Result) { r.Variants = r.Variants[:1] }), one, false, "added added added added added"},
		"new and bad":         {nil, []*report.Result{reporttest.Undecided()}, false, "added"},
		"new, could not run":  {nil, with(func(r *report.Result) { r.Error, r.Variants = "no redis-server", nil }), false, "added"},
		"gone, could not run": {with(func(r *report.Result) { r.Error, r.Variants = "no redis-server", nil }), nil, false, "gone"},
		"more often":          {repeat(10, 1), repeat(10, 4), true, "regressed"},
		"as often":            {repeat(10, 1), repeat(20, 2), false, ""},
		"less often":          {repeat(10, 4), repeat(10, 1), false, "mended"},
		"unasked, but broken": {one, with(func(r *report.Result) { r.Variants[1].Properties[4].Verdict = checker.Violated }), true, "regressed"},
		"expected otherwise": {one, with(func(r *report.Result) {
			set(checker.Violated, true)(r)
			r.Variants[1].Properties[3].Expected = checker.Violated
		}), false, "changed"},
	} {
		t.Run(name, func(t *testing.T) {
			got := compare.Results(c.a, c.b)
			var kinds []string
			for _, ch := range got.Changes {
				kinds = append(kinds, string(ch.Kind))
			}
			if got.Regression != c.regression || strings.Join(kinds, " ") != c.kinds {
				t.Errorf("regression %v, kinds %q; want %v, %q", got.Regression, kinds, c.regression, c.kinds)
			}
			for _, f := range []func(*bytes.Buffer) error{
				func(b *bytes.Buffer) error { return compare.WriteJSON(b, got) },
				func(b *bytes.Buffer) error { return compare.WriteHTML(b, got) },
				func(b *bytes.Buffer) error { return compare.WriteText(b, got, terminal.Options{}) },
			} {
				write(t, f)
			}
		})
	}
}

// Runs that are not of the same thing never pass as unchanged.
func TestSaysInWhatTheRunsDiffer(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*report.Result)
		want   string // in the text
		head   string // of the page
	}{
		"world": {func(r *report.Result) { r.World, r.Nodes = "virtual", "" },
			"world: live before, virtual after", "No verdict changed, but the runs differ"},
		"nodes": {func(r *report.Result) { r.Nodes = "docker" },
			"nodes: process before, docker after", "No verdict changed, but the runs differ"},
		"facts": {func(r *report.Result) { r.Facts = []string{"3 nodes"} },
			"settings: 5 nodes, ttl 1s, 2 clients before, 3 nodes after", "No verdict changed, but the runs differ"},
		"file": {func(r *report.Result) { r.ScenarioDigest = strings.Repeat("f", 64) },
			"scenario file: ", "No verdict changed, but the runs differ"},
		"fewer": {func(r *report.Result) { r.Variants = r.Variants[:1] },
			"0 verdicts changed, 4 the same, 5 on one side only", "No verdict changed, but the runs differ"},
		"others": {func(r *report.Result) { r.Scenario = "other" }, "NOTHING TO COMPARE", "Nothing could be compared"},
		"none":   {func(*report.Result) {}, "NO REGRESSION 0 verdicts changed, 9 the same\n", "Nothing changed"},
	} {
		before, after := reporttest.GCPause(), reporttest.GCPause()
		before.ScenarioDigest, after.ScenarioDigest = strings.Repeat("0", 64), strings.Repeat("0", 64)
		c.change(after)
		got := compare.Results([]*report.Result{before}, []*report.Result{after})
		text := write(t, func(b *bytes.Buffer) error { return compare.WriteText(b, got, terminal.Options{}) })
		if !strings.Contains(text, c.want) {
			t.Errorf("%s: no %q in\n%s", name, c.want, text)
		}
		page := write(t, func(b *bytes.Buffer) error { return compare.WriteHTML(b, got) })
		if !strings.Contains(page, "<h1>"+c.head+"</h1>") {
			t.Errorf("%s: the page is not headed %q", name, c.head)
		}
		if got.Regression || name == "world" && len(got.Timings) > 0 {
			t.Errorf("%s: regression %v, timings %v", name, got.Regression, got.Timings)
		}
	}
}

// What got worse is a regression of the same runs alone. In another world, or with another scenario file, it is undecided.
func TestWorseInOtherRunsIsUndecided(t *testing.T) {
	for name, c := range map[string]struct {
		change             func(*report.Result)
		regression         bool
		unclear            int
		kinds, want, badge string
	}{
		"the same runs": {func(*report.Result) {}, true, 0, "regressed", "REGRESSION 1 verdict changed, 8 the same\n", "Regression"},
		"nodes": {func(r *report.Result) { r.Nodes = "docker" }, true, 0,
			"regressed", "REGRESSION 1 verdict changed, 8 the same, but the runs themselves differ\n", "Regression"},
		"world": {func(r *report.Result) { r.World, r.Nodes = "virtual", "" }, false, 1, "changed",
			"UNDECIDED 1 verdict changed, 8 the same, but the runs themselves differ; 1 worse, which may be because the runs differ\n",
			"Undecided"},
		"file": {func(r *report.Result) { r.ScenarioDigest = strings.Repeat("f", 64) }, false, 1,
			"changed", "(cannot be compared: another scenario file)", "Undecided"},
	} {
		before, after := reporttest.GCPause(), reporttest.GCPause()
		before.ScenarioDigest, after.ScenarioDigest = strings.Repeat("0", 64), strings.Repeat("0", 64)
		p := &after.Variants[1].Properties[3]
		p.Verdict, p.Met = checker.Violated, false
		c.change(after)
		got := compare.Results([]*report.Result{before}, []*report.Result{after})
		var kinds []string
		for _, ch := range got.Changes {
			kinds = append(kinds, string(ch.Kind))
		}
		if got.Regression != c.regression || got.Unclear != c.unclear || strings.Join(kinds, " ") != c.kinds {
			t.Errorf("%s: regression %v, %d unclear, %q", name, got.Regression, got.Unclear, kinds)
		}
		text := write(t, func(b *bytes.Buffer) error { return compare.WriteText(b, got, terminal.Options{Width: 200}) })
		if !strings.Contains(text, c.want) {
			t.Errorf("%s: no %q in\n%s", name, c.want, text)
		}
		page := write(t, func(b *bytes.Buffer) error { return compare.WriteHTML(b, got) })
		if !strings.Contains(page, "<title>"+c.badge+":") {
			t.Errorf("%s: the page is not %q", name, c.badge)
		}
	}
}

func TestGolden(t *testing.T) {
	slow := reporttest.Unexpected()
	slow.Scenario, slow.Variants[0].WallMS = "gc-pause", 9000
	slow.Versions["redis"] = "8.0.0"
	c := compare.Results([]*report.Result{reporttest.GCPause()}, []*report.Result{slow})
	reporttest.SameAs(t, "compare.txt", []byte(write(t, func(b *bytes.Buffer) error { return compare.WriteText(b, c, terminal.Options{}) })))
	reporttest.SameAs(t, "compare.json", []byte(write(t, func(b *bytes.Buffer) error { return compare.WriteJSON(b, c) })))
	reporttest.SameAs(t, "compare.html", []byte(write(t, func(b *bytes.Buffer) error { return compare.WriteHTML(b, c) })))
}

// How long a run took that took no real time says nothing of the lock.
func TestTimesOfVirtualRunsAreNoise(t *testing.T) {
	for world, want := range map[string]int{"live": 1, "virtual": 0} {
		before, after := reporttest.GCPause(), reporttest.GCPause()
		before.World, after.World = world, world
		after.Variants[0].WallMS = before.Variants[0].WallMS + 60_000
		if got := compare.Results([]*report.Result{before}, []*report.Result{after}); len(got.Timings) != want {
			t.Errorf("%s: %d timings, want %d", world, len(got.Timings), want)
		}
	}
}

// The page begins with what got worse, says how many there are of each, and tells a difference of many scenarios once.
func TestPageBeginsWithWhatGotWorse(t *testing.T) {
	var before, after []*report.Result
	for i := range 5 {
		r, changed := reporttest.GCPause(), reporttest.GCPause()
		r.Scenario, changed.Scenario = fmt.Sprint("s", i), fmt.Sprint("s", i)
		changed.Nodes = "docker"
		if i == 3 {
			p := &changed.Variants[0].Properties[1]
			p.Verdict, p.Met, p.Why = checker.Violated, false, "the culprit"
		}
		before, after = append(before, r), append(after, changed)
	}
	c := compare.Results(before, after)
	c.Link(func(r *report.Result) string { return r.Nodes + "/" + r.Scenario + ".html" })
	got := write(t, func(b *bytes.Buffer) error { return compare.WriteHTML(b, c) })
	if !strings.Contains(got, `href="docker/s3.html#p`) || !strings.Contains(got, `href="`+reporttest.GCPause().Nodes+`/s3.html#p`) {
		t.Error("what got worse does not lead to the reports of both sides")
	}
	worse, differ := strings.Index(got, "the culprit"), strings.Index(got, "Each difference")
	if !strings.Contains(got, "<h1>1 verdict got worse</h1>") || worse < 0 || differ < worse {
		t.Errorf("the page does not begin with what got worse: %d, %d", worse, differ)
	}
	cause, first := strings.Index(got, "nodes: process before, docker after, in all 5 scenarios"), strings.Index(got, "<section")
	if cause < 0 || cause > first {
		t.Errorf("in what the runs differ is not told on top: %d, %d", cause, first)
	}
	if n := strings.Count(got, `<th scope="row">nodes</th>`); n != 1 || !strings.Contains(got, "s0, s1, s2, s3, s4") {
		t.Errorf("a difference of five scenarios is told %d times", n)
	}
}

// Where the lock did the same, and something else is expected of it, no verdict changed. The page says so, and names both expectations.
func TestOnlyExpectationsChanged(t *testing.T) {
	before, after := reporttest.GCPause(), reporttest.GCPause()
	before.ScenarioDigest, after.ScenarioDigest = strings.Repeat("0", 64), strings.Repeat("f", 64)
	p := &after.Variants[1].Properties[3]
	p.Expected, p.Met = checker.Violated, false
	got := compare.Results([]*report.Result{before}, []*report.Result{after})
	if got.Regression || got.Unclear != 1 || len(got.Changes) != 1 || got.Changes[0].Kind != compare.Changed {
		t.Errorf("%+v", got)
	}
	page := write(t, func(b *bytes.Buffer) error { return compare.WriteHTML(b, got) })
	for _, want := range []string{
		"<h1>No verdict changed, but 1 expectation did: 1 not as expected any more</h1>", "Not as expected any more, for that reason alone: 1.",
		"scenario file: changed in gc-pause", `<span class="lab">Expected before</span>holds`, `<span class="lab">Expected after</span>violated`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q", want)
		}
	}
	for _, wrong := range []string{"got worse", "got better", `id="apart"`} {
		if strings.Contains(page, wrong) {
			t.Errorf("%q: the verdict did not change", wrong)
		}
	}
	if n := strings.Count(page, "the same</span>"); n != 1 || strings.Contains(page, "verdicts the same") {
		t.Errorf("how many are the same is said %d times or more", n)
	}
	_, expected, _ := strings.Cut(page, `id="expected"`)
	if expected, _, _ = strings.Cut(expected, "</section>"); expected == "" || strings.Contains(expected, "<details") {
		t.Error("what has changed is folded")
	}
	text := write(t, func(b *bytes.Buffer) error { return compare.WriteText(b, got, terminal.Options{}) })
	for _, want := range []string{
		"expected   gc-pause / fenced: ", "expected holds before, violated now",
		"UNDECIDED 0 verdicts changed, 8 the same, the expectation of 1 changed, but the runs themselves differ; 1 not as expected now, because",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	after.Variants[1].Properties[3].Verdict = checker.Violated // now the lock did something else, too
	got = compare.Results([]*report.Result{before}, []*report.Result{after})
	page = write(t, func(b *bytes.Buffer) error { return compare.WriteHTML(b, got) })
	if !strings.Contains(page, "<h1>1 verdict got worse with another scenario file, in gc-pause</h1>") ||
		!strings.Contains(page, "<h2 id=\"apart-h\">Got worse with another scenario file") {
		t.Error("a verdict that changed with its expectation is not told as worse with another file")
	}
}

// Another seed is named, but it makes no other runs of them.
func TestNamesSeeds(t *testing.T) {
	runs := func(seeds ...uint64) (list []*report.Result) {
		for _, seed := range seeds {
			r := reporttest.GCPause()
			r.Seed = seed
			list = append(list, r)
		}
		return list
	}
	for want, sides := range map[string][2][]*report.Result{
		"seed: 5 before, 6 after, in gc-pause":                       {runs(5), runs(6)},
		"seed: 5 before, 4 seeds from 9 to 12 after, in gc-pause":    {runs(5), runs(12, 9, 10, 11)},
		"fencing.check: not set before, false after, in gc-pause / ": {runs(5), runs(5)},
	} {
		if strings.HasPrefix(want, "fencing") {
			v := &sides[1][0].Variants[0]
			v.Settings = append([]string{"fencing.check: false"}, v.Settings...)
		}
		c := compare.Results(sides[0], sides[1])
		text := write(t, func(b *bytes.Buffer) error { return compare.WriteText(b, c, terminal.Options{Width: 200}) })
		page := write(t, func(b *bytes.Buffer) error { return compare.WriteHTML(b, c) })
		if !strings.Contains(text, want) || !strings.Contains(page, "<li>"+want) {
			t.Errorf("no %q in\n%s", want, text)
		}
		if differ := strings.Contains(text, "the runs themselves differ"); differ == strings.HasPrefix(want, "seed") {
			t.Errorf("%s: the runs differ: %v", want, differ)
		}
	}
}

// Scenarios that one side has alone are named in one line; what is not as expected of them has a line of its own, and is in the title.
func TestScenariosOfOneSideAreToldOnce(t *testing.T) {
	var before, after []*report.Result
	for _, name := range []string{"a", "b", "c", "both"} {
		r := reporttest.GCPause()
		r.Scenario = name
		before = append(before, r)
	}
	bad := reporttest.GCPause()
	bad.Scenario, bad.Variants[1].Properties[3].Met = "new", false
	after = []*report.Result{before[3], bad}
	c := compare.Results(before, after)
	text := write(t, func(b *bytes.Buffer) error { return compare.WriteText(b, c, terminal.Options{Width: 200}) })
	page := write(t, func(b *bytes.Buffer) error { return compare.WriteHTML(b, c) })
	for _, want := range []string{"\ngone       3 scenarios are only in the first: a, b, c\n", "added      new / fenced: ",
		"\nadded      1 scenario is only in the second: new\n"} {
		if !strings.Contains("\n"+text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if n := strings.Count(text, "gone "); n != 1 {
		t.Errorf("what is gone is told %d times", n)
	}
	for _, want := range []string{"<p>3 scenarios are only in the first: a, b, c.</p>",
		"<h1>No verdict changed, but the runs differ: 1 only after, not as expected</h1>"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q", want)
		}
	}
}

// On a narrow terminal no line is wider than it.
func TestTextFitsANarrowTerminal(t *testing.T) {
	before, after := reporttest.GCPause(), reporttest.GCPause()
	before.ScenarioDigest, after.ScenarioDigest = strings.Repeat("0", 64), strings.Repeat("f", 64)
	after.Variants[1].Properties[3].Expected, after.Variants[1].Properties[3].Met = checker.Violated, false
	c := compare.Results([]*report.Result{before}, []*report.Result{after})
	text := write(t, func(b *bytes.Buffer) error { return compare.WriteText(b, c, terminal.Options{Width: 44}) })
	for line := range strings.Lines(text) {
		if n := len(strings.TrimRight(line, "\n")); n > 44 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

// Another lock in the place of many is told once, and not again as other settings.
func TestAnotherLockIsToldOnce(t *testing.T) {
	var before, after []*report.Result
	for i, own := range []string{"redlock", "set-nx-px", "watchdog", "redlock", "multi-exec"} {
		x, y := reporttest.GCPause(), reporttest.GCPause()
		x.Scenario, y.Scenario = fmt.Sprint("s", i), fmt.Sprint("s", i)
		x.Facts, y.Facts = []string{own, "5 nodes"}, []string{"my-lock 1.2", "5 nodes"}
		x.Variants[0].Settings = append(x.Variants[0].Settings, "lock.switches.value: constant")
		for j := range y.Variants {
			y.Variants[j].Lock = &report.Lock{Name: "my-lock", Version: "1.2", InPlace: true}
		}
		before, after = append(before, x), append(after, y)
	}
	text := write(t, func(b *bytes.Buffer) error {
		return compare.WriteText(b, compare.Results(before, after), terminal.Options{Width: 200})
	})
	if want := "differs    lock: 4 different ones before, my-lock 1.2 after, in all 5 scenarios\nNO REG"; !strings.HasPrefix(text, want) {
		t.Errorf("want %q first, got\n%s", want, text)
	}
}

// The title and the chip name the lock where it is known to be another, and the scenario. What got worse comes first, then what is not as
// expected any more, what was mended, and what changed otherwise.
func TestPageNamesAnotherLock(t *testing.T) {
	before, after := reporttest.GCPause(), reporttest.GCPause()
	before.ScenarioDigest, after.ScenarioDigest = strings.Repeat("0", 64), strings.Repeat("f", 64)
	before.Variants[1].Settings = []string{"lock.algorithm: redlock"}
	after.Variants[1].Settings = []string{"lock.algorithm: set-nx-px"}
	better, worse := &before.Variants[1].Properties[0], &after.Variants[1].Properties[3]
	better.Met = false
	better.Verdict = checker.Unknown
	worse.Verdict, worse.Met = checker.Violated, false
	c := compare.Results([]*report.Result{before}, []*report.Result{after})
	page := write(t, func(b *bytes.Buffer) error { return compare.WriteHTML(b, c) })
	const how = "got worse or better with another lock and scenario file, in gc-pause"
	if !strings.Contains(page, "<h1>2 verdicts "+how+"</h1>") || strings.Count(page, how) < 2 {
		t.Errorf("the title or the chip does not say %q", how)
	}
	text := write(t, func(b *bytes.Buffer) error { return compare.WriteText(b, c, terminal.Options{Width: 200}) })
	first, then := strings.Index(text, "\nworse      gc-pause / fenced: "), strings.Index(text, "\nbetter     gc-pause / fenced: ")
	if first < 0 || then < first {
		t.Errorf("what got worse is not first:\n%s", text)
	}

	before, after = reporttest.GCPause(), reporttest.GCPause()
	before.Variants[0].Properties[0].Met, before.Variants[0].Properties[0].Verdict = false, checker.Unknown
	after.Variants[1].Properties[3].Verdict, after.Variants[1].Properties[3].Met = checker.Violated, false
	c = compare.Results([]*report.Result{before}, []*report.Result{after})
	page = write(t, func(b *bytes.Buffer) error { return compare.WriteHTML(b, c) })
	at, mended := strings.Index(page, `<section id="worse"`), strings.Index(page, `<section id="better"`)
	if !strings.Contains(page, "<h1>1 verdict got worse, 1 verdict mended</h1>") || at < 0 || mended < at {
		t.Errorf("what was mended is not said as that, after what got worse: %d, %d", at, mended)
	}
}
