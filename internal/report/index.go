//go:build !js

package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

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
}

// WriteIndex writes a suite's page: a row for each variant of each scenario, a
// column for each property, regressions first. Each verdict leads to its report. Missing are the
// shards that a merged page lacks.
func WriteIndex(w io.Writer, entries []IndexEntry, missing ...string) error {
	results := make([]*Result, len(entries))
	for i := range entries {
		results[i] = entries[i].Result
	}
	t := tallyOf(results)
	p := indexPage{Badge: outcomeBadge(t.worst), Heading: words.GroupedCount(t.scenarios, "scenario") + " on trial",
		Lead: t.words() + ".", Missing: missing}
	if len(missing) > 0 && t.worst <= undecided {
		p.Badge = outcomeBadge(undecided)
	}
	if t.errors > 0 {
		p.Lead += " " + words.GroupedCount(t.errors, "error") + "."
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
	links := make(map[*Result]string)
	for _, e := range entries {
		links[e.Result] = e.Link
	}
	for _, g := range repeatsOf(results) {
		if len(g.runs) > 1 {
			p.Rows = append(p.Rows, repeatedRows(g, p.Columns, links)...)
			continue
		}
		p.Rows = append(p.Rows, indexRows(IndexEntry{g.runs[0], links[g.runs[0]]}, p.Columns)...)
	}
	slices.SortStableFunc(p.Rows, func(a, b indexRow) int {
		return cmp.Or(cmp.Compare(b.worst, a.worst), cmp.Compare(a.Scenario, b.Scenario), cmp.Compare(a.Variant, b.Variant))
	})
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
	Rows      []indexRow
	// Verdicts, Guarantees and Tags are what the rows can be filtered by, as by Columns.
	Verdicts         []page.Badge
	Guarantees, Tags []string
}

type indexRow struct {
	Scenario, Title, Variant, Link string
	Guarantee                      string
	Tags                           []string
	// Note sums up the runs where there were more than one, and Runs leads to each.
	Note    string
	Runs    []indexRun
	Badge   page.Badge
	Trouble string
	Cells   []indexCell
	// Loud: it is not as expected.
	Loud  bool
	worst outcome
}

// indexRun is one of several runs of a scenario.
type indexRun struct {
	Seed uint64
	Link string
	Loud bool
}

// indexCell is a verdict; Badge has no word where the property was not judged.
type indexCell struct {
	Property checker.Property
	Badge    page.Badge
	// Verdicts are all that came, in words.
	Verdicts string
	// Aside stands beside the verdict. Short is how often it came, in the lines of a narrow column.
	Link, Title, Aside string
	Short              []string
	Loud               bool
}

// AsExpected is "yes" or "no"; empty: the row is neither.
func (r indexRow) AsExpected() string {
	if r.Loud {
		return "no"
	}
	if r.worst == asExpected {
		return "yes"
	}
	return ""
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

func indexRows(e IndexEntry, columns []checker.Property) []indexRow {
	r := e.Result
	row := indexRow{Scenario: r.Scenario, Title: r.Title, Link: e.Link, Guarantee: r.Guarantee, Tags: r.Tags}
	if len(r.Variants) == 0 {
		row.worst, row.Trouble = outcomeOf(r), r.Error
		row.Badge, row.Cells, row.Loud = outcomeBadge(row.worst), make([]indexCell, len(columns)), isLoud(row.worst)
		return []indexRow{row}
	}
	var rows []indexRow
	for _, v := range r.Variants {
		row := row
		row.Variant, row.worst, row.Trouble = v.Name, variantOutcome(&v), cmp.Or(v.Error, v.NotApplicable)
		if v.NotApplicable == "" && (r.Error != "" || r.Interrupted) {
			row.worst = max(row.worst, outcomeOf(r))
		}
		if row.Trouble == "" {
			row.Trouble = r.Error
		}
		row.Badge, row.Loud = outcomeBadge(row.worst), isLoud(row.worst)
		for _, name := range columns {
			row.Cells = append(row.Cells, indexCellOf(&v, name, e.Link))
		}
		rows = append(rows, row)
	}
	return rows
}

// repeatedRows are those of a scenario that was run more than once: one for each variant.
// Each cell leads to the first run that did not come out as expected, or else to the first.
func repeatedRows(g *repeated, columns []checker.Property, links map[*Result]string) (rows []indexRow) {
	first := g.runs[0]
	var runs []indexRun
	for _, r := range g.runs {
		runs = append(runs, indexRun{r.Seed, links[r], isLoud(outcomeOf(r))})
	}
	for _, r := range g.runs {
		for i := range r.Variants {
			v := &r.Variants[i]
			at := slices.IndexFunc(rows, func(row indexRow) bool { return row.Variant == v.Name })
			if at < 0 {
				at = len(rows)
				rows = append(rows, indexRow{Scenario: first.Scenario, Title: first.Title, Variant: v.Name, Link: links[first],
					Guarantee: first.Guarantee, Tags: first.Tags, Note: g.words(), Runs: runs})
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
		row.Badge, row.Loud = outcomeBadge(row.worst), isLoud(row.worst)
		for _, name := range columns {
			var c indexCell
			for j := range g.rows {
				if of := &g.rows[j]; of.variant == row.Variant && of.property == name {
					c = repeatedCell(of, append(slices.Clone(of.off), first)[0], links)
				}
			}
			row.Cells = append(row.Cells, c)
		}
	}
	return rows
}

func repeatedCell(row *repeatedRow, shown *Result, links map[*Result]string) indexCell {
	c := indexCell{Property: row.property, Title: row.Why, Loud: len(row.off) > 0, Link: links[shown], Aside: row.often()}
	came := row.verdicts()
	c.Badge, c.Short = verdictBadge(came[0].verdict), came[0].short(row.Runs)
	for _, v := range came {
		c.Verdicts += " " + v.verdict.String()
	}
	if c.Loud {
		c.Aside += "; " + row.beside()
	}
	if n := propertyID(row.property); n > 0 && c.Link != "" {
		c.Link = fmt.Sprintf("%s#p%d", c.Link, n)
	}
	return c
}

// isLoud: a reader of the suite must see it.
func isLoud(o outcome) bool { return o != asExpected && o != notApplicable }

func indexCellOf(v *Variant, name checker.Property, link string) indexCell {
	for _, p := range v.Properties {
		if p.Name != name {
			continue
		}
		c := indexCell{Property: name, Badge: verdictBadge(p.Verdict), Verdicts: p.Verdict.String(), Title: p.Why, Loud: !p.Met, Link: link}
		if n := propertyID(name); n > 0 && link != "" {
			c.Link = fmt.Sprintf("%s#p%d", link, n)
		}
		if !p.Met || p.Expected == 0 && (p.ByDesign || p.Verdict != checker.Holds) {
			c.Aside = expectationWords(&p)
		}
		if tried := p.triedWords(); tried != "" {
			c.Aside = strings.TrimPrefix(c.Aside+", "+tried, ", ")
		}
		return c
	}
	return indexCell{}
}
