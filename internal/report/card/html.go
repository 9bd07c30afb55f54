//go:build !js

package card

import (
	"embed"
	"io"
	"net/url"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/report/page"
)

//go:embed card.tmpl
var files embed.FS

var templates = page.Parse(files, nil)

// WriteHTML writes a card as one page that needs nothing else. Its links lead to files in the
// card's folder.
func WriteHTML(w io.Writer, c *Card) error {
	p := cardPage{Card: c, Single: len(c.Locks) == 1}
	_, p.Place = c.place()
	for _, legend := range legend {
		p.Legend = append(p.Legend, meaning{cellLooks[legend.State].badge, legend.Means})
	}
	var labels []string
	for i := range c.Locks {
		l := &c.Locks[i]
		labels = append(labels, l.Label)
		p.Columns = append(p.Columns, newColumn(c, l))
		p.HasCosts = p.HasCosts || len(l.Costs) > 0
	}
	p.Heading = strings.Join(labels, ", ")
	for _, g := range c.Guarantees {
		row := row{Guarantee: g}
		for i := range c.Locks {
			l := &c.Locks[i]
			cells := l.cells(g.Name)
			one := summary{Label: l.Label, Badge: cellLooks[l.Row(g.Name)].badge, ByDeployment: c.byDeployment(l, g.Name)}
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
	Columns  []column
	Rows     []row
	Legend   []meaning
}

type meaning struct {
	Badge page.Badge
	Means string
}

// column is a lock with its cells.
type column struct {
	*Lock
	Sum string
	// FactList are those of the lock.
	FactList []string
	CostRows []costRow
	// Troubles are the cells that a reader must see, All all of them.
	Troubles, All []cellView
}

type cellView struct {
	*Cell
	Badge page.Badge
	// Anchor names it on the page. ReportLink and ScenarioLink lead to its files.
	Anchor, ReportLink, ScenarioLink string
}

// costRow is what a lock costs in one setting: Figures are the columns.
type costRow struct {
	Setting, Link string
	Figures       []report.CostRow
}

type row struct {
	Guarantee
	Locks []summary
}

// summary is what a row says of one lock.
type summary struct {
	Label string
	Badge page.Badge
	Words string
	// ByDeployment says how it differs from one deployment to another; empty: it does not.
	ByDeployment string
}

func newColumn(c *Card, l *Lock) column {
	column := column{Lock: l, Sum: l.sum(c), FactList: l.Facts()}
	for _, cell := range l.all() {
		one := cellView{Cell: cell, Badge: cellLooks[cell.State].badge, Anchor: strings.NewReplacer("/", "-").Replace(l.Label + "-" + cell.ID),
			ReportLink: fileLink(cell.Report), ScenarioLink: fileLink(cell.Scenario)}
		column.All = append(column.All, one)
		if cell.troubles() {
			column.Troubles = append(column.Troubles, one)
		}
	}
	for i := range l.Costs {
		cost := &l.Costs[i]
		row := costRow{Setting: cost.Scenario + ", " + cost.Variant, Link: fileLink(cost.Report)}
		for _, figure := range report.CostRows(&cost.Cost) {
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
