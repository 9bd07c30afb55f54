//go:build !js

package report

import (
	"io"
	"net/url"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/report/page"
)

// WriteCardHTML writes a card as one page that needs nothing else. Its links lead to files in the
// card's folder.
func WriteCardHTML(w io.Writer, c *Card) error {
	p := cardPage{Card: c, Single: len(c.Locks) == 1}
	_, p.Place = c.place()
	for _, legend := range cardLegend {
		p.Legend = append(p.Legend, cardMeaning{cellLooks[legend.State].badge, legend.Means})
	}
	var labels []string
	for i := range c.Locks {
		l := &c.Locks[i]
		labels = append(labels, l.Label)
		p.Columns = append(p.Columns, newCardColumn(c, l))
		p.HasCosts = p.HasCosts || len(l.Costs) > 0
	}
	p.Heading = strings.Join(labels, ", ")
	for _, g := range c.Guarantees {
		row := cardRow{CardGuarantee: g}
		for i := range c.Locks {
			l := &c.Locks[i]
			cells := l.cells(g.Name)
			one := cardSummary{Label: l.Label, Badge: cellLooks[l.Row(g.Name)].badge}
			if len(cells) > 0 {
				one.Words = l.rowWords(g.Name)
			}
			row.Locks = append(row.Locks, one)
		}
		p.Rows = append(p.Rows, row)
	}
	return templates.Write(w, "card.tmpl", p)
}

type cardPage struct {
	*Card
	// Place says where the runs took place.
	Heading, Place string
	// Single: there is one lock, so there is room for sentences in the table.
	Single bool
	// HasCosts: something of what locks cost was measured.
	HasCosts bool
	Columns  []cardColumn
	Rows     []cardRow
	Legend   []cardMeaning
}

type cardMeaning struct {
	Badge page.Badge
	Means string
}

// cardColumn is a lock with its cells.
type cardColumn struct {
	*CardLock
	Sum string
	// FactList are those of the lock.
	FactList []string
	CostRows []cardCostRow
	// Troubles are the cells that a reader must see, All all of them.
	Troubles, All []cardCell
}

type cardCell struct {
	*Cell
	Badge page.Badge
	// Anchor names it on the page. ReportLink and ScenarioLink lead to its files.
	Anchor, ReportLink, ScenarioLink string
}

// cardCostRow is what a lock costs in one setting: Figures are the columns.
type cardCostRow struct {
	Setting, Link string
	Figures       []costRow
}

type cardRow struct {
	CardGuarantee
	Locks []cardSummary
}

// cardSummary is what a row says of one lock.
type cardSummary struct {
	Label string
	Badge page.Badge
	Words string
}

func newCardColumn(c *Card, l *CardLock) cardColumn {
	column := cardColumn{CardLock: l, Sum: l.sum(c), FactList: l.facts()}
	for _, cell := range l.all() {
		one := cardCell{Cell: cell, Badge: cellLooks[cell.State].badge, Anchor: strings.NewReplacer("/", "-").Replace(l.Label + "-" + cell.ID),
			ReportLink: fileLink(cell.Report), ScenarioLink: fileLink(cell.Scenario)}
		column.All = append(column.All, one)
		if cell.troubles() {
			column.Troubles = append(column.Troubles, one)
		}
	}
	for i := range l.Costs {
		cost := &l.Costs[i]
		row := cardCostRow{Setting: cost.Scenario + ", " + cost.Variant, Link: fileLink(cost.Report)}
		for _, figure := range costRows(&Variant{Cost: &cost.Cost}) {
			if !figure.Known {
				figure.Value = "–"
			}
			row.Figures = append(row.Figures, figure)
		}
		column.CostRows = append(column.CostRows, row)
	}
	return column
}

// fileLink is the link to a file below the page's folder; empty: there is none.
func fileLink(path string) string {
	if path == "" {
		return ""
	}
	return (&url.URL{Path: "./" + path}).String()
}
