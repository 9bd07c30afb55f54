// Package compare says what changed between two runs or suites, as text, JSON and HTML.
package compare

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// Comparison is what changed between two runs or suites.
type Comparison struct {
	// Regression says that something got worse; Changes has what.
	Regression bool `json:"regression"`
	Before     Side `json:"before"`
	After      Side `json:"after"`
	// Differences set the sides themselves apart: they may be why a verdict changed.
	Differences []Difference `json:"differences,omitempty"`
	Changes     []Change     `json:"changes"`
	Timings     []Timing     `json:"timings,omitempty"`
	// Same counts the verdicts that did not change, Compared those that both sides
	// have.
	Same     int `json:"same"`
	Compared int `json:"compared"`
	// Unclear is how many got worse, but in another world or with another scenario file, or only because something else is expected:
	// whether that is a regression cannot be said.
	Unclear int `json:"unclear,omitempty"`
	// scenarios is how many both sides have.
	scenarios int
}

// headline says in a few words what came of a comparison: what got worse first.
func (c *Comparison) headline() string {
	worse, better, changed, expected := c.count(Regressed), c.count(Mended), 0, 0
	var apart []Change
	for i := range c.Changes {
		switch ch := &c.Changes[i]; {
		case ch.apart != "":
			apart = append(apart, *ch)
		case ch.expectedOtherwise():
			expected++
		case ch.Kind == Changed:
			changed++
		}
	}
	parts := []string{}
	if worse > 0 {
		parts = append(parts, words.Count(worse, "verdict")+" got worse")
	}
	if better > 0 {
		parts = append(parts, words.Count(better, "verdict")+" mended")
	}
	if len(apart) > 0 {
		parts = append(parts, words.Count(len(apart), "verdict")+" got "+c.apartHeading(apart))
	}
	if changed > 0 {
		parts = append(parts, words.Count(changed, "verdict")+" changed")
	}
	var unmet []string
	if n := c.newlyUnmet(); n > 0 {
		unmet = append(unmet, fmt.Sprintf("%d not as expected any more: the expectation changed", n))
	}
	if n := c.newAndUnmet(); n > 0 {
		unmet = append(unmet, fmt.Sprintf("%d only after, not as expected", n))
	}
	switch {
	case c.Compared == 0:
		return "Nothing could be compared"
	case len(parts) > 0:
		return strings.Join(slices.Concat(parts, unmet), ", ")
	case expected > 0:
		text := "No verdict changed, but " + words.Count(expected, "expectation") + " did"
		if n := c.newlyUnmet(); n > 0 {
			text += fmt.Sprintf(": %d not as expected any more", n)
		}
		if n := c.newAndUnmet(); n > 0 {
			text += ", " + unmet[len(unmet)-1]
		}
		return text
	case len(unmet) > 0:
		return "No verdict changed, but the runs differ: " + unmet[0]
	case c.differ() || c.oneSided() > 0:
		return "No verdict changed, but the runs differ"
	}
	return "Nothing changed"
}

// apartHeading says of changes for the worse or the better why they are not called so, and where: "worse with another lock and scenario
// file, in gc-pause".
func (c *Comparison) apartHeading(changes []Change) string {
	var how, by, where []string
	add := func(list *[]string, word string) {
		if !slices.Contains(*list, word) {
			*list = append(*list, word)
		}
	}
	for i := range changes {
		word := "better"
		if changes[i].worse {
			word = "worse"
		}
		add(&how, word)
		add(&where, changes[i].Scenario)
		switch what := changes[i].apart; {
		case what == "world":
			add(&by, "in another world")
		case c.anotherLock(changes[i].Scenario, changes[i].Variant):
			add(&by, "with another lock and "+what)
		default:
			add(&by, "with another "+what)
		}
	}
	slices.Sort(by)
	slices.SortFunc(how, func(x, y string) int { return cmp.Compare(y, x) }) // worse first
	text := strings.Join(how, " or ") + " " + strings.Join(by, " or ")
	switch {
	case len(where) == 0:
		return text
	case len(where) <= mostPairs:
		return text + ", in " + strings.Join(where, ", ")
	}
	return text + ", in " + words.Count(len(where), "scenario")
}

// anotherLock reports that a scenario, or a variant of it, has another lock, or one with other settings, on the other side.
func (c *Comparison) anotherLock(scenario, variant string) bool {
	return slices.ContainsFunc(c.Differences, func(d Difference) bool {
		return d.Scenario == scenario && (d.What == "lock" || d.What == "settings" && d.Variant == variant && d.setsLock())
	})
}

// expectedOtherwise reports that the verdict is the same, and only what is expected of it has changed.
func (c *Change) expectedOtherwise() bool {
	return c.Expected != nil && c.Kind == Changed && c.sameVerdict()
}

// sameVerdict reports that each verdict is as frequent on both sides.
func (c *Change) sameVerdict() bool {
	return c.rate(c.Before.Violated, c.After.Violated) == 0 && c.rate(c.Before.Holds, c.After.Holds) == 0
}

// rate is how much more often something was after than before. The sides may differ in runs, hence the cross multiplication.
func (c *Change) rate(before, after int) int { return after*c.Before.Runs - before*c.After.Runs }

// count is how many changes are of a kind.
func (c *Comparison) count(k Kind) (n int) {
	for i := range c.Changes {
		if c.Changes[i].Kind == k {
			n++
		}
	}
	return n
}

// newAndUnmet is how many verdicts only the second side has, not as expected.
func (c *Comparison) newAndUnmet() (n int) {
	for i := range c.Changes {
		if ch := &c.Changes[i]; ch.Kind == Added && ch.Unmet() {
			n++
		}
	}
	return n
}

// oneSided counts the verdicts that cannot be compared: one side alone has them.
func (c *Comparison) oneSided() int { return c.count(Gone) + c.count(Added) }

// Side sums up one of the two.
type Side struct {
	Results    int               `json:"results"`
	Variants   int               `json:"variants"`
	Unexpected int               `json:"unexpected"`
	Undecided  int               `json:"undecided"`
	Versions   map[string]string `json:"versions,omitempty"`
}

// Kind says what a change means.
type Kind string

const (
	// Regressed: as expected before, and not so now.
	Regressed Kind = "regressed"
	// Mended: the other way round.
	Mended Kind = "mended"
	// Changed: other verdicts, neither better nor worse.
	Changed Kind = "changed"
	// Gone: judged before, and no longer. Added: the other way round.
	Gone  Kind = "gone"
	Added Kind = "added"
)

// Change is a property, or a variant as a whole, that came out differently.
type Change struct {
	Kind     Kind   `json:"kind"`
	Scenario string `json:"scenario"`
	Variant  string `json:"variant,omitempty"`
	// Property is empty where the variant could be run on one side only.
	Property checker.Property `json:"property,omitempty"`
	Before   report.Counts    `json:"before"`
	After    report.Counts    `json:"after"`
	// Expected is what was expected on each side; absent where that is the same.
	Expected *Expectations `json:"expected,omitempty"`
	// Why is what was seen after, Note a remark on the comparison itself.
	Why  string `json:"why,omitempty"`
	Note string `json:"note,omitempty"`
	// Runs are the run before and the run after that show it, where there is one; Reports lead to them.
	Runs    [2]*report.Result `json:"-"`
	Reports [2]string         `json:"-"`
	// apart is by what the runs were not of the same thing, where a change is for the better or for the worse; worse: for the worse.
	apart string
	worse bool
	// alone: its scenario is on one side only.
	alone bool
}

// Expectations are what was expected on the two sides; a side is absent where nothing was.
type Expectations struct {
	Before checker.Verdict `json:"before,omitzero"`
	After  checker.Verdict `json:"after,omitzero"`
}

// words say both.
func (e *Expectations) words() string {
	return fmt.Sprintf("expected %s before, %s now", report.ExpectedWord(e.Before), report.ExpectedWord(e.After))
}

// Link has each change lead to the reports of the runs that show it. reportOf is the address of a run's report; empty: it has none.
func (c *Comparison) Link(reportOf func(*report.Result) string) {
	for i := range c.Changes {
		ch := &c.Changes[i]
		for side, r := range ch.Runs {
			if r != nil {
				ch.Reports[side] = report.PropertyLink(reportOf(r), ch.Property)
			}
		}
	}
}

// showing is the run that shows best how a property came out, of a scenario's: one in which it is not as expected, or else the first that
// has it. Without a property, it is about the variant.
func showing(results []*report.Result, k report.CountKey) (best *report.Result) {
	for _, r := range results {
		for i := range r.Variants {
			v := &r.Variants[i]
			if v.Name != k.Variant || v.NotApplicable != "" {
				continue
			}
			if k.Property == "" && best == nil {
				best = r
			}
			for j := range v.Properties {
				if p := &v.Properties[j]; p.Name != k.Property {
					continue
				} else if !p.Met {
					return r
				} else if best == nil {
					best = r
				}
			}
		}
	}
	return best
}

func byScenario(results []*report.Result) map[string][]*report.Result {
	found := make(map[string][]*report.Result)
	for _, r := range results {
		found[r.Scenario] = append(found[r.Scenario], r)
	}
	return found
}

// Timing is a variant that took notably longer or shorter. It is for the
// reader: a machine's load is no regression of a lock.
type Timing struct {
	Scenario string        `json:"scenario"`
	Variant  string        `json:"variant"`
	Before   time.Duration `json:"before_ns"`
	After    time.Duration `json:"after_ns"`
}

// Results says what changed from a to b. Results of the same scenario are
// counted together, so that repeated runs compare as rates.
func Results(a, b []*report.Result) Comparison {
	before, after := report.CountVerdicts(a), report.CountVerdicts(b)
	c := Comparison{Before: sideOf(a), After: sideOf(b), Differences: differencesOf(a, b), Changes: []Change{}}
	sides := sidesOf(slices.Concat(a, b))
	runs := [2]map[string][]*report.Result{byScenario(a), byScenario(b)}
	for name := range runs[0] {
		if len(runs[1][name]) > 0 {
			c.scenarios++
		}
	}
	keys := maps.Clone(before)
	maps.Copy(keys, after)
	for _, k := range slices.SortedFunc(maps.Keys(keys), compareKeys) {
		x, y := before[k], after[k]
		if k.Property == "" {
			if t, ok := timingOf(k, x, y); ok && !sides[[2]string{k.Scenario}].noRealTime() && !c.elsewhere(k.Scenario) {
				c.Timings = append(c.Timings, t)
			}
		} else if x != nil && y != nil {
			c.Compared++
		}
		change, ok := changeOf(k, x, y)
		if !ok {
			if k.Property != "" {
				c.Same++
			}
			continue
		}
		if what := c.apart(k.Scenario); what != "" && (change.Kind == Regressed || change.Kind == Mended) {
			change.apart, change.worse = what, change.Kind == Regressed
			change.Kind = Changed
			change.Note = strings.TrimSuffix("cannot be compared: another "+what+"; "+change.Note, "; ")
		}
		if change.worse || change.expectedOtherwise() && change.rate(change.Before.Unmet, change.After.Unmet) > 0 {
			c.Unclear++
		}
		for side := range runs {
			change.Runs[side] = showing(runs[side][k.Scenario], k)
		}
		change.alone = len(runs[0][k.Scenario]) == 0 || len(runs[1][k.Scenario]) == 0
		c.Regression = c.Regression || change.Kind == Regressed
		c.Changes = append(c.Changes, change)
	}
	slices.SortStableFunc(c.Changes, func(x, y Change) int { return x.rank() - y.rank() })
	return c
}

// rank is the order of changes: what got worse first, then what is not as expected any more, what was mended, and all else.
func (c *Change) rank() int {
	switch {
	case c.Kind == Regressed:
		return 0
	case c.worse:
		return 1
	case c.expectedOtherwise() && c.rate(c.Before.Unmet, c.After.Unmet) > 0:
		return 2
	case c.Kind == Mended || c.apart != "":
		return 3
	case c.Kind == Changed:
		return 4
	}
	return 5
}

// elsewhere reports that a scenario was run in another world or on other nodes: its
// times do not compare.
func (c *Comparison) elsewhere(scenario string) bool {
	return slices.ContainsFunc(c.Differences, func(d Difference) bool {
		return d.Scenario == scenario && (d.What == "world" || d.What == "nodes")
	})
}

// apart says by what a scenario's runs were not of the same thing; empty: they were. Other nodes or settings are no such reason: the
// lock is one of the settings, and what changed with it or with its servers is what is asked.
func (c *Comparison) apart(scenario string) string {
	for _, d := range c.Differences {
		if d.Scenario == scenario && (d.What == "world" || d.What == "scenario file") {
			return d.What
		}
	}
	return ""
}

func compareKeys(x, y report.CountKey) int {
	return cmp.Or(cmp.Compare(x.Scenario, y.Scenario), cmp.Compare(x.Variant, y.Variant), cmp.Compare(x.Property, y.Property))
}

// changeOf says what became of one cell, and whether that is worth a word.
func changeOf(k report.CountKey, x, y *report.Counted) (Change, bool) {
	c := Change{Scenario: k.Scenario, Variant: k.Variant, Property: k.Property}
	if x != nil {
		c.Before = x.Counts
	}
	if y != nil {
		c.After, c.Why = y.Counts, y.Why
	}
	whole := k.Property == ""
	failedBefore, failedAfter := c.Before.Failed > 0, c.After.Failed > 0
	const oneSided = "cannot be compared"
	switch {
	case whole && x == nil && failedAfter:
		c.Kind, c.Note = Added, oneSided
	case whole && y == nil && failedBefore:
		c.Kind, c.Note = Gone, oneSided
	case whole && failedAfter && !failedBefore:
		c.Kind, c.Note = Regressed, "could not be run"
	case whole && failedBefore && !failedAfter:
		c.Kind, c.Note = Mended, "could not be run before"
	case whole:
		// Whether a variant came or went is told by its properties.
		return c, false
	case x == nil:
		c.Kind, c.Note = Added, oneSided
		if c.After.Unmet > 0 {
			c.Note = "not as expected, but it " + oneSided
		}
	case y == nil:
		c.Kind, c.Note = Gone, oneSided
	default:
		return judgeChange(c, x, y)
	}
	return c, true
}

func judgeChange(c Change, x, y *report.Counted) (Change, bool) {
	if x.Expected != y.Expected {
		c.Expected = &Expectations{x.Expected, y.Expected}
		c.Note = c.Expected.words()
	}
	unmet := c.rate(c.Before.Unmet, c.After.Unmet)
	switch {
	case c.Expected != nil && c.sameVerdict():
		// The lock did the same. Whether that is worse is a question of what to expect of it.
		c.Kind = Changed
	case unmet > 0:
		c.Kind = Regressed
	case unmet < 0:
		c.Kind = Mended
	case x.Expected == 0 && y.Expected == 0 && c.rate(c.Before.Violated, c.After.Violated) > 0:
		// Nothing is expected of the property, but it was sound before.
		c.Kind = Regressed
	case !c.sameVerdict():
		c.Kind = Changed
	default:
		return c, false
	}
	return c, true
}

// timingOf compares medians; less than a fifth or 50 ms is noise.
func timingOf(k report.CountKey, x, y *report.Counted) (Timing, bool) {
	if x == nil || y == nil || len(x.Walls) == 0 || len(y.Walls) == 0 {
		return Timing{}, false
	}
	median := func(walls []int64) time.Duration {
		s := slices.Sorted(slices.Values(walls))
		return time.Duration(s[len(s)/2]) * time.Millisecond
	}
	t := Timing{Scenario: k.Scenario, Variant: k.Variant, Before: median(x.Walls), After: median(y.Walls)}
	diff := (t.After - t.Before).Abs()
	return t, diff > 50*time.Millisecond && diff*5 > t.Before
}

func sideOf(results []*report.Result) Side {
	s := Side{Results: len(results), Versions: map[string]string{}}
	s.Variants, s.Unexpected, s.Undecided = report.CountSurprises(results)
	for _, r := range results {
		maps.Copy(s.Versions, r.Versions)
	}
	return s
}
