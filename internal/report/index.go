//go:build !js

package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/report/page"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// IndexEntry is a result on a suite's page.
type IndexEntry struct {
	Result *Result
	// Link is the path of the result's HTML report, relative to the page; ""
	// where there is none.
	Link string
	// Earlier are the runs of the scenario before this one, the newest first.
	Earlier []IndexEntry
}

// WriteIndex writes a suite's page: how many scenarios came out how, what is not as expected and why, what has changed since the runs
// before, what was slow, and a row for each scenario, which opens. Missing are the shards that a merged page lacks.
func WriteIndex(w io.Writer, entries []IndexEntry, missing ...string) error {
	results := make([]*Result, len(entries))
	for i := range entries {
		results[i] = entries[i].Result
	}
	t := tallyOf(results)
	p := indexPage{Badge: outcomeBadge(t.worst), Heading: words.Count(t.scenarios, "scenario") + " on trial",
		Lead: t.words() + ".", Missing: missing}
	if len(missing) > 0 && t.worst <= undecided {
		p.Badge = outcomeBadge(undecided)
	}
	if t.errors > 0 {
		p.Lead += " " + words.Count(t.errors, "error") + "."
	}
	if t.runs > t.scenarios {
		p.Lead += " With 95 % intervals."
	}
	p.Columns, p.LockFacts = columnsOf(results), lockOf(results)
	p.Guarantees = wordsOf(results, func(r *Result) []string { return []string{r.Guarantee} })
	p.Tags = wordsOf(results, func(r *Result) []string { return r.Tags })
	for v := checker.Holds; v <= checker.Unknown; v++ {
		p.Verdicts = append(p.Verdicts, verdictBadge(v))
	}
	entryOf := make(map[*Result]IndexEntry)
	for _, e := range entries {
		entryOf[e.Result] = e
	}
	var cases []indexCase
	for _, g := range repeatsOf(results) {
		cases = append(cases, caseOf(g, entryOf))
	}
	p.sort(cases)
	p.slowest(cases)
	p.since(cases)
	return templates.Write(w, "index.tmpl", p)
}

type indexPage struct {
	Badge   page.Badge
	Heading string
	Lead    string
	Missing []string
	// LockFacts are those of the lock program that all results are about.
	LockFacts []string
	Columns   []checker.Property
	// Parts are the scenarios by what came of them, what needs a look first.
	Parts []indexPart
	// NotApplicable are those of which nothing was run.
	NotApplicable []indexCase
	// Tried: some were tried more than once.
	Tried bool
	// Took is how long all runs took, summed, Slow are those that took longest.
	Took string
	Slow []slowCase
	// Changed are the scenarios that came out otherwise than when they ran before; Before is how many ran before.
	Before  int
	Changed []indexCase
	// Verdicts, Guarantees and Tags are what the rows can be filtered by, as by Columns.
	Verdicts         []page.Badge
	Guarantees, Tags []string
}

// indexPart are the scenarios of one outcome. From and Share are its part of the bar, in percent.
type indexPart struct {
	ID          string
	Badge       page.Badge
	Count       int
	From, Share string
	Cases       []indexCase
}

// indexCase is a scenario, with all its runs.
type indexCase struct {
	Scenario, Title, Link string
	Guarantee             string
	Tags                  []string
	Badge                 page.Badge
	// Reasons say what is not as expected, and why: what was reached before what is undecided. More is how many are not among them.
	Reasons []indexReason
	More    int
	// Counts are how often each verdict came.
	Counts []indexCount
	Took   string
	// Tried: a variant was tried more than once.
	Tried bool
	// Note sums up the runs where there were more than one, and Runs leads to each.
	Note string
	Runs []indexRun
	// Earlier are the runs before, the newest first, and Changes what came out otherwise in the newest of them.
	Earlier  []indexRun
	Changes  []string
	Variants []indexRow
	worst    outcome
	took     time.Duration
}

// indexReason is why a scenario is not as expected, in the colour Class.
type indexReason struct{ Class, Text string }

type indexCount struct {
	Badge page.Badge
	Count int
}

// indexRow is a variant.
type indexRow struct {
	Variant string
	Badge   page.Badge
	Trouble string
	Cells   []indexCell
	worst   outcome
}

// indexRun is one of several runs of a scenario.
type indexRun struct {
	Seed  uint64
	When  string
	Link  string
	Badge page.Badge
	Loud  bool
}

// indexCell is a verdict.
type indexCell struct {
	Property checker.Property
	Badge    page.Badge
	// Verdicts are all that came, in words. Aside stands beside the verdict.
	Verdicts         string
	Link, Why, Aside string
	Loud             bool
	// Undecided: it is loud, and no verdict was reached, or none that can be blamed on anybody.
	Undecided bool
}

// slowCase is a scenario that took long: Share is its time in percent of the longest.
type slowCase struct {
	Scenario, Link, Took, Share string
}

// Outcome is what the filter calls the outcome of a case.
func (c *indexCase) Outcome() string { return partID(c.worst) }

// Loud: a reader of the suite must see it.
func (c *indexCase) Loud() bool { return isLoud(c.worst) }

// partID is the anchor of an outcome's part, and what the filter calls it.
func partID(o outcome) string {
	return strings.ReplaceAll(strings.ToLower(outcomeBadge(o).Word), " ", "-")
}

// sort puts the cases into parts, the worst first.
func (p *indexPage) sort(cases []indexCase) {
	slices.SortStableFunc(cases, func(a, b indexCase) int {
		return cmp.Or(cmp.Compare(b.worst, a.worst), cmp.Compare(a.Scenario, b.Scenario))
	})
	from := 0
	for i := range cases {
		c := &cases[i]
		p.Tried = p.Tried || c.Tried
		if i == 0 || cases[i-1].worst != c.worst {
			p.Parts = append(p.Parts, indexPart{ID: partID(c.worst), Badge: c.Badge})
		}
		at := &p.Parts[len(p.Parts)-1]
		if at.Count++; c.worst == notApplicable {
			p.NotApplicable = append(p.NotApplicable, *c)
			continue
		}
		at.Cases = append(at.Cases, *c)
	}
	for i := range p.Parts {
		at := &p.Parts[i]
		at.From, at.Share = Percent(from, len(cases)), Percent(at.Count, len(cases))
		from += at.Count
	}
}

// mostSlow bounds the list of what was slow.
const mostSlow = 5

// slowest says how long the runs took, and which took longest.
func (p *indexPage) slowest(cases []indexCase) {
	var all time.Duration
	for i := range cases {
		all += cases[i].took
	}
	if all == 0 {
		return
	}
	p.Took = words.Length(all)
	long := slices.SortedStableFunc(slices.Values(cases), func(a, b indexCase) int { return cmp.Compare(b.took, a.took) })
	for _, c := range long[:min(len(long), mostSlow)] {
		if c.took == 0 || len(cases) == 1 {
			break
		}
		p.Slow = append(p.Slow, slowCase{c.Scenario, c.Link, c.Took, Percent(int(c.took), int(long[0].took))})
	}
}

// since finds what came out otherwise than before.
func (p *indexPage) since(cases []indexCase) {
	for _, c := range cases {
		if len(c.Earlier) > 0 {
			p.Before++
		}
		if len(c.Changes) > 0 {
			p.Changed = append(p.Changed, c)
		}
	}
}

// wordsOf are the words that any result has, sorted.
func wordsOf(results []*Result, of func(*Result) []string) (found []string) {
	for _, r := range results {
		found = append(found, of(r)...)
	}
	slices.Sort(found)
	return slices.DeleteFunc(slices.Compact(found), func(word string) bool { return word == "" })
}

// columnsOf are the properties that any result has, in the usual order and
// then as they come.
func columnsOf(results []*Result) []checker.Property {
	var found []checker.Property
	for _, r := range results {
		for i := range r.Variants {
			for _, p := range r.Variants[i].Properties {
				if !slices.Contains(found, p.Name) {
					found = append(found, p.Name)
				}
			}
		}
	}
	slices.SortStableFunc(found, func(a, b checker.Property) int { return columnRank(a) - columnRank(b) })
	return found
}

func columnRank(p checker.Property) int {
	if i := slices.Index(checker.Properties(), p); i >= 0 {
		return i
	}
	return len(checker.Properties())
}

// caseOf is a scenario with all its runs: what it came to is the worst of them.
func caseOf(g *repeated, entryOf map[*Result]IndexEntry) indexCase {
	first := g.runs[0]
	c := indexCase{Scenario: first.Scenario, Title: first.Title, Link: entryOf[first].Link, Guarantee: first.Guarantee, Tags: first.Tags}
	counts := make(map[checker.Verdict]int)
	for _, r := range g.runs {
		c.worst = max(c.worst, outcomeOf(r))
		c.took += time.Duration(r.WallMS) * time.Millisecond
		for i := range r.Variants {
			v := &r.Variants[i]
			c.Tried = c.Tried || len(v.Tries) > 1
			for j := range v.Properties {
				counts[v.Properties[j].Verdict]++
			}
		}
	}
	for v := checker.Holds; v <= checker.Unknown; v++ {
		if counts[v] > 0 {
			c.Counts = append(c.Counts, indexCount{verdictBadge(v), counts[v]})
		}
	}
	c.Badge = outcomeBadge(c.worst)
	if c.took > 0 {
		c.Took = words.Length(c.took)
	}
	if len(g.runs) > 1 {
		c.Note = g.words()
		for _, r := range g.runs {
			c.Runs = append(c.Runs, indexRun{Seed: r.Seed, Link: entryOf[r].Link, Loud: isLoud(outcomeOf(r))})
		}
		c.Variants = repeatedRows(g, entryOf)
	} else {
		c.Variants = indexRows(entryOf[first])
	}
	c.reasons(first)
	for _, e := range entryOf[first].Earlier {
		o := outcomeOf(e.Result)
		c.Earlier = append(c.Earlier, indexRun{Seed: e.Result.Seed, When: when(e.Result), Link: e.Link, Badge: outcomeBadge(o), Loud: isLoud(o)})
	}
	if len(c.Earlier) > 0 {
		c.Changes = changesSince(entryOf[first].Earlier[0].Result, first)
	}
	return c
}

// when is when a run began, to the minute.
func when(r *Result) string {
	at, err := time.Parse(time.RFC3339, r.Started)
	if err != nil {
		return fmt.Sprintf("seed %d", r.Seed)
	}
	return at.Format("2006-01-02 15:04")
}

// A row that is not opened says what is not as expected, up to mostReasons; of what is undecided only up to mostDoubts reasons in all.
const (
	mostReasons = 20
	mostDoubts  = 3
)

func (c *indexCase) reasons(first *Result) {
	var wrong, doubts []indexReason
	add := func(undecided bool, text string) {
		if undecided {
			doubts = append(doubts, indexReason{"undecided", text})
		} else {
			wrong = append(wrong, indexReason{"unsafe", text})
		}
	}
	if first.Error != "" {
		add(false, first.Error)
	}
	for i := range c.Variants {
		v := &c.Variants[i]
		if isLoud(v.worst) && v.Trouble != "" && v.Trouble != first.Error {
			add(v.worst != failed, v.Variant+": "+v.Trouble)
		}
		for _, cell := range v.Cells {
			if cell.Loud {
				reason := fmt.Sprintf("%s: %s %s, %s: %s", v.Variant, cell.Property, cell.Badge.Word, cell.Aside, cell.Why)
				add(cell.Undecided, strings.TrimSuffix(reason, ": "))
			}
		}
	}
	shown := min(len(wrong), mostReasons)
	doubtful := min(len(doubts), max(0, mostDoubts-shown))
	c.Reasons, c.More = slices.Concat(wrong[:shown], doubts[:doubtful]), len(wrong)-shown+len(doubts)-doubtful
}

// changesSince says which variants of a scenario did not come out as they did before.
func changesSince(before, now *Result) (list []string) {
	then := make(map[string]string)
	for i := range before.Variants {
		v := &before.Variants[i]
		for j := range v.Properties {
			p := &v.Properties[j]
			then[v.Name+"\n"+string(p.Name)] = expectationMet(p) + verdictWord(p.Verdict)
		}
	}
	if a, b := outcomeOf(before), outcomeOf(now); a != b {
		list = append(list, fmt.Sprintf("%s, was %s", strings.ToLower(outcomeBadge(b).Word), strings.ToLower(outcomeBadge(a).Word)))
	}
	for i := range now.Variants {
		v := &now.Variants[i]
		for j := range v.Properties {
			p := &v.Properties[j]
			was, ok := then[v.Name+"\n"+string(p.Name)]
			if is := expectationMet(p) + verdictWord(p.Verdict); ok && was != is && p.Expected != 0 {
				list = append(list, fmt.Sprintf("%s: %s %s, was %s", v.Name, p.Name, is, was))
			}
		}
	}
	return list
}

// expectationMet says before a verdict that it is not the expected one.
func expectationMet(p *PropertyResult) string {
	if p.Met {
		return ""
	}
	return "unexpectedly "
}

func indexRows(e IndexEntry) (rows []indexRow) {
	r := e.Result
	for _, v := range r.Variants {
		row := indexRow{Variant: v.Name, worst: variantOutcome(&v), Trouble: cmp.Or(v.Error, v.NotApplicable)}
		if v.NotApplicable == "" && (r.Error != "" || r.Interrupted) {
			row.worst = max(row.worst, outcomeOf(r))
		}
		if row.Trouble == "" {
			row.Trouble = r.Error
		}
		row.Badge = outcomeBadge(row.worst)
		for i := range v.Properties {
			row.Cells = append(row.Cells, indexCellOf(&v.Properties[i], e.Link))
		}
		rows = append(rows, row)
	}
	return rows
}

// repeatedRows are those of a scenario that was run more than once: one for each variant.
// Each cell leads to the first run that did not come out as expected, or else to the first.
func repeatedRows(g *repeated, entryOf map[*Result]IndexEntry) (rows []indexRow) {
	for _, r := range g.runs {
		for i := range r.Variants {
			v := &r.Variants[i]
			at := slices.IndexFunc(rows, func(row indexRow) bool { return row.Variant == v.Name })
			if at < 0 {
				at = len(rows)
				rows = append(rows, indexRow{Variant: v.Name})
			}
			row := &rows[at]
			row.worst, row.Trouble = max(row.worst, variantOutcome(v)), cmp.Or(row.Trouble, v.Error, r.Error, v.NotApplicable)
			if r.Error != "" || r.Interrupted {
				row.worst = max(row.worst, outcomeOf(r))
			}
		}
	}
	for i := range rows {
		row := &rows[i]
		row.Badge = outcomeBadge(row.worst)
		for j := range g.rows {
			if of := &g.rows[j]; of.variant == row.Variant && of.property != "" {
				row.Cells = append(row.Cells, repeatedCell(of, entryOf[append(slices.Clone(of.off), g.runs[0])[0]].Link))
			}
		}
	}
	return rows
}

func repeatedCell(row *repeatedRow, link string) indexCell {
	c := indexCell{Property: row.property, Why: row.Why, Loud: len(row.off) > 0,
		Undecided: len(row.off) > 0 && !row.reached, Link: PropertyLink(link, row.property), Aside: row.often()}
	came := row.verdicts()
	c.Badge = verdictBadge(came[0].verdict)
	for _, v := range came {
		c.Verdicts += " " + v.verdict.String()
	}
	if c.Loud {
		c.Aside += "; " + row.beside()
	}
	return c
}

// PropertyLink leads to a property on a report; empty: there is none.
func PropertyLink(link string, name checker.Property) string {
	if n := propertyID(name); n > 0 && link != "" {
		return fmt.Sprintf("%s#p%d", link, n)
	}
	return link
}

func indexCellOf(p *PropertyResult, link string) indexCell {
	c := indexCell{Property: p.Name, Badge: verdictBadge(p.Verdict), Verdicts: p.Verdict.String(),
		Why: p.Why, Loud: !p.Met, Undecided: isUndecided(p), Link: PropertyLink(link, p.Name)}
	if p.Expected != 0 || p.ByDesign || p.Verdict != checker.Holds {
		c.Aside = expectationWords(p)
	}
	if tried := p.triedWords(); tried != "" {
		c.Aside = strings.TrimPrefix(c.Aside+", "+tried, ", ")
	}
	return c
}
