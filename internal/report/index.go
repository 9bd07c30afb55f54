package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/checker"
)

// IndexEntry is a result on a suite's page.
type IndexEntry struct {
	Result *Result
	// Link is the path of the result's HTML report, relative to the page; ""
	// where there is none.
	Link string
}

// WriteIndex writes a suite's page: a row for each variant of each scenario, a
// column for each property, regressions first. Each verdict leads to its report.
func WriteIndex(w io.Writer, entries []IndexEntry) error {
	results := make([]*Result, len(entries))
	for i := range entries {
		results[i] = entries[i].Result
	}
	t := tallyOf(results)
	p := indexPage{Badge: outcomeBadge(t.worst), Heading: count(t.scenarios, "scenario") + " on trial",
		Lead: t.words() + "."}
	if t.errors > 0 {
		p.Lead += " " + count(t.errors, "error") + "."
	}
	p.Columns, p.LockFacts = columnsOf(results), lockOf(results)
	for _, e := range entries {
		p.Rows = append(p.Rows, indexRows(e, p.Columns)...)
	}
	slices.SortStableFunc(p.Rows, func(a, b indexRow) int {
		return cmp.Or(cmp.Compare(b.worst, a.worst), cmp.Compare(a.Scenario, b.Scenario), cmp.Compare(a.Variant, b.Variant))
	})
	return render(w, "index.tmpl", p)
}

type indexPage struct {
	Badge   badge
	Heading string
	Lead    string
	// LockFacts are those of the lock program that all results are about.
	LockFacts []string
	Columns   []checker.Property
	Rows      []indexRow
}

type indexRow struct {
	Scenario, Title, Variant, Link string
	Badge                          badge
	Trouble                        string
	Cells                          []indexCell
	// Loud: it is not as expected.
	Loud  bool
	worst outcome
}

// indexCell is a verdict; Badge has no word where the property was not judged.
type indexCell struct {
	Badge              badge
	Link, Title, Aside string
	Loud               bool
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
	row := indexRow{Scenario: r.Scenario, Title: r.Title, Link: e.Link}
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

// isLoud: a reader of the suite must see it.
func isLoud(o outcome) bool { return o != asExpected && o != notApplicable }

func indexCellOf(v *Variant, name checker.Property, link string) indexCell {
	for _, p := range v.Properties {
		if p.Name != name {
			continue
		}
		c := indexCell{Badge: verdictBadge(p.Verdict), Title: p.Why, Loud: !p.Met, Link: link}
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
