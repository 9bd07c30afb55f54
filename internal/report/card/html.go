//go:build !js

package card

import (
	"embed"
	"fmt"
	"io"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/report/page"
	"github.com/redlock-sim/redlock-sim/internal/words"
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
	names := c.names()
	for i := range c.Locks {
		p.Columns = append(p.Columns, newColumn(c, &c.Locks[i], names[i]))
		p.HasCosts = p.HasCosts || len(c.Locks[i].Costs) > 0
	}
	p.Heading = strings.Join(names, ", ")
	for i, g := range c.Guarantees {
		row := row{Guarantee: g}
		for j := range p.Columns {
			row.Locks = append(row.Locks, p.Columns[j].Rows[i])
		}
		p.Rows = append(p.Rows, row)
	}
	return templates.Write(w, "card.tmpl", p)
}

// names are what the page calls the locks: by the name that a lock has itself, where it was named by its command alone.
func (c *Card) names() []string {
	names, times := make([]string, len(c.Locks)), make(map[string]int)
	for i := range c.Locks {
		l := &c.Locks[i]
		names[i] = l.Label
		program, _, _ := strings.Cut(l.Command, " ")
		if l.Name != "" && program != "" && strings.HasPrefix(l.Label, path.Base(program)) {
			names[i] = l.Name
		}
		times[names[i]]++
	}
	for i := range names {
		if times[names[i]] > 1 {
			names[i] = c.Locks[i].Label
		}
	}
	return names
}

type cardPage struct {
	*Card
	// Place says where the runs took place.
	Heading, Place string
	// Single: there is one lock.
	Single bool
	// HasCosts: something of what locks cost was measured.
	HasCosts bool
	Columns  []column
	// Rows set several locks side by side.
	Rows   []row
	Legend []meaning
}

type meaning struct {
	Badge page.Badge
	Means string
}

// column is a lock with its cells.
type column struct {
	*Lock
	// Title is what the page calls it, Anchor names its parts of the page.
	Title, Anchor string
	Sum           string
	// FactList are those of the lock.
	FactList []string
	CostRows []costRow
	// Parts are the guarantees by their state, the worst first; Lost those that are broken, Designed those that are by design, Doubtful
	// those that are unknown.
	Parts                    []part
	Lost, Designed, Doubtful []summary
	// Deployments are those in which something was tried, Rows what came of each guarantee.
	Deployments []string
	Rows        []summary
	// Troubles are the cells that a reader must see, the broken ones first; All all of them.
	Troubles, All []cellView
}

// part is how many guarantees have a state. From and Share are its part of a bar, in percent.
type part struct {
	Badge       page.Badge
	Count       int
	From, Share string
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
	Guarantee
	Lock  string
	Badge page.Badge
	Words string
	// Link leads to what is broken or unknown, or else to the run that decided.
	Link string
	// On is what came of it in each of the column's deployments.
	On []deployedView
}

// deployedView is a guarantee in one deployment; without a word it was not tried there.
type deployedView struct {
	Deployment string
	Badge      page.Badge
	Link       string
}

func newColumn(c *Card, l *Lock, title string) column {
	column := column{Lock: l, Title: title, Anchor: anchored(l.Label), Sum: l.sum(c), FactList: l.Facts()}
	for _, cell := range l.all() {
		one := cellView{Cell: cell, Badge: cellLooks[cell.State].badge, Anchor: anchored(l.Label + "-" + cell.ID),
			ReportLink: fileLink(cell.Report), ScenarioLink: fileLink(cell.Scenario)}
		column.All = append(column.All, one)
		if cell.troubles() {
			column.Troubles = append(column.Troubles, one)
		}
	}
	slices.SortStableFunc(column.Troubles, func(a, b cellView) int { return b.State.Worse(a.State) })
	column.guarantees(c)
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

// guarantees fills the rows, and what is counted of them.
func (c *column) guarantees(of *Card) {
	for _, d := range of.Deployments {
		tried := func(cell *Cell) bool {
			return slices.ContainsFunc(cell.Deployments, func(on Deployed) bool { return on.Deployment == d && on.State != NotApplicable })
		}
		if slices.ContainsFunc(c.all(), tried) {
			c.Deployments = append(c.Deployments, d)
		}
	}
	count := make(map[State]int)
	for _, g := range of.Guarantees {
		state, cells := c.Row(g.Name), c.cells(g.Name)
		row := summary{Guarantee: g, Lock: c.Title, Badge: cellLooks[state].badge}
		if len(cells) > 0 {
			row.Words = c.rowWords(g.Name)
		}
		for _, cell := range cells {
			if cell.State == state && row.Link == "" {
				row.Link = c.linkOf(cell)
			}
		}
		on := c.rowOn(g.Name)
		for _, d := range c.Deployments {
			one := deployedView{Deployment: d}
			if s, known := on[d]; known && s != NotApplicable {
				one.Badge = cellLooks[s].badge
				one.Link = c.linkOf(cellOn(cells, d, s))
			}
			row.On = append(row.On, one)
		}
		c.Rows = append(c.Rows, row)
		count[state]++
		switch state {
		case Broken:
			c.Lost = append(c.Lost, row)
		case ByDesign:
			c.Designed = append(c.Designed, row)
		case Unknown:
			c.Doubtful = append(c.Doubtful, row)
		case Kept, NotApplicable:
		}
	}
	from := 0
	for _, s := range slices.Backward(States()) {
		if n := count[s]; n > 0 {
			c.Parts = append(c.Parts, part{cellLooks[s].badge, n, report.Percent(from, len(of.Guarantees)), report.Percent(n, len(of.Guarantees))})
			from += n
		}
	}
}

// cellOn is the first cell that has the state in a deployment.
func cellOn(cells []*Cell, deployment string, s State) *Cell {
	i := slices.IndexFunc(cells, func(c *Cell) bool { return slices.Contains(c.Deployments, Deployed{deployment, s}) })
	return cells[i]
}

// linkOf leads to what the page says of a cell, where it says it in full, or else to the cell's report; empty: there is none.
func (c *column) linkOf(cell *Cell) string {
	if cell.troubles() {
		return "#" + anchored(c.Label+"-"+cell.ID)
	}
	if cell.State == ByDesign && cell.Report != "" {
		return fileLink(cell.Report) + "#picture"
	}
	return fileLink(cell.Report)
}

// Sound says that nothing is broken, where that is so: of what could be told.
func (c *column) Sound() string {
	kept := 0
	for i := range c.Rows {
		if c.Rows[i].Badge == cellLooks[Kept].badge {
			kept++
		}
	}
	switch {
	case len(c.Lost) > 0 || c.NotConforming != "" || kept+len(c.Designed) == 0:
		return ""
	case len(c.Doubtful) > 0:
		return fmt.Sprintf("Nothing was found to be broken, but of %s nothing is known.", words.Count(len(c.Doubtful), "guarantee"))
	}
	return "Nothing is broken in the runs that were made."
}

// PictureLink leads to the picture of the run that shows what is broken; empty: there is none.
func (c *cellView) PictureLink() string {
	if c.State != Broken || c.ReportLink == "" {
		return ""
	}
	return c.ReportLink + "#picture"
}

// Loud: it is broken.
func (c *cellView) Loud() bool { return c.State == Broken }

// anchored is a name of a place on the page.
func anchored(name string) string { return strings.ReplaceAll(name, "/", "-") }

// fileLink is the link to a file below the page's folder; empty: there is none.
func fileLink(path string) string {
	if path == "" {
		return ""
	}
	return (&url.URL{Path: "./" + path}).String()
}
