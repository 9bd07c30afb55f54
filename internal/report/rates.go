package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/words"
)

// Rates is how often something was violated: a grid of settings, or one list.
type Rates struct {
	// Heading and Lead head the page; Replay is the command that measures again.
	Heading, Lead, Replay string
	// Live: the runs were made among real servers.
	Live  bool
	Grids []RateGrid
	// Classes are kinds of violations and how often each came.
	Classes []RateLine
	// Found are scenarios that were written, with a word on each.
	Found []FoundScenario
}

// RateGrid is the rate of one property over two settings.
type RateGrid struct {
	Title string
	// X and Y name the settings; Columns and Rows are their values. A grid with
	// one setting has one row without a name.
	X, Y          string
	Columns, Rows []string
	// Cells go row by row.
	Cells []Rate
}

// Rate is how many of the Judged runs, those that put the property to the test,
// violated it, with the 95 % interval of that share.
type Rate struct {
	Runs, Judged, Violated uint64
	Low, High              float64
}

// Share is the rate, of one.
func (r Rate) Share() float64 { return float64(r.Violated) / float64(max(r.Judged, 1)) }

// Few reports that fewer than half of the runs were judged, so that the rate may be
// that of special ones.
func (r Rate) Few() bool { return 2*r.Judged < r.Runs }

// Of says of how many runs the rate is, where it is not of all.
func (r Rate) Of() string {
	if r.Judged == r.Runs {
		return ""
	}
	return fmt.Sprintf("of %d", r.Judged)
}

// RateLine is how often one thing came.
type RateLine struct {
	Name string
	Rate
}

// String is the rate in words: "1.56 % (1.5 to 1.62) of 900".
func (r Rate) String() string {
	switch {
	case r.Runs == 0:
		return "no run"
	case r.Judged == 0:
		return "none judged"
	}
	return strings.TrimSpace(fmt.Sprintf("%.3g %% (%.3g to %.3g) %s", 100*r.Share(), 100*r.Low, 100*r.High, r.Of()))
}

// FoundScenario is a scenario that a search wrote. Link leads to it, and Report to the
// page of its run; both are relative to the page.
type FoundScenario struct{ Path, Note, Link, Report string }

// Sizes of a grid's drawing, in the units of its SVG.
const (
	rateLabel  = 150
	rateWidth  = 104
	rateHeight = 60
	rateHead   = 46
)

// WriteRates writes a page with the rates as heat maps. Every cell has its
// number, so that colour only repeats it.
func WriteRates(w io.Writer, r Rates) error {
	p := ratesPage{Rates: r}
	for _, g := range r.Grids {
		p.Maps = append(p.Maps, g.heatMap())
	}
	return render(w, "rates.tmpl", p)
}

type ratesPage struct {
	Rates
	Maps []heatMap
}

type heatMap struct {
	RateGrid
	Width, Height int
	Heads, Sides  []heatLabel
	Tiles         []heatTile
}

type heatLabel struct {
	X, Y int
	Text string
}

type heatTile struct {
	X, Y, Width, Height int
	// TextX, TextY, AsideY and OfY place the number, its interval, and of how many.
	TextX, TextY, AsideY, OfY int
	Opacity                   string
	Text, Aside, Of, Title    string
	// Few were judged.
	Few bool
}

func (g RateGrid) heatMap() heatMap {
	m := heatMap{RateGrid: g, Width: rateLabel + rateWidth*len(g.Columns), Height: rateHead + rateHeight*max(len(g.Rows), 1)}
	for i, c := range g.Columns {
		m.Heads = append(m.Heads, heatLabel{rateLabel + rateWidth*i + rateWidth/2, rateHead - 10, c})
	}
	for i, r := range g.Rows {
		m.Sides = append(m.Sides, heatLabel{rateLabel - 10, rateHead + rateHeight*i + rateHeight/2 + 4, r})
	}
	for i, c := range g.Cells {
		column, row := i%len(g.Columns), i/len(g.Columns)
		m.Tiles = append(m.Tiles, g.tile(c, column, row))
	}
	return m
}

func (g RateGrid) tile(c Rate, column, row int) heatTile {
	t := heatTile{X: rateLabel + rateWidth*column + 1, Y: rateHead + rateHeight*row + 1, Width: rateWidth - 2, Height: rateHeight - 2, Opacity: "0", Text: "no run"}
	t.TextX, t.TextY, t.AsideY, t.OfY = t.X+t.Width/2, t.Y+19, t.Y+35, t.Y+50
	if c.Runs == 0 {
		return t
	}
	t.Few, t.Of, t.Text = c.Few(), c.Of(), "none judged"
	if c.Judged > 0 {
		// Up to two thirds, so that the text on it stays readable on both grounds.
		t.Opacity = fmt.Sprintf("%.3f", 0.66*c.Share())
		t.Text = fmt.Sprintf("%.1f %%", 100*c.Share())
		t.Aside = fmt.Sprintf("%.1f to %.1f", 100*c.Low, 100*c.High)
	}
	if t.Few {
		t.Of += " (few)"
	}
	t.Title = fmt.Sprintf("%s %s: violated in %d of %s, %s in all", g.X, g.Columns[column], c.Violated, words.Count(c.Judged, "judged run"), words.Count(c.Runs, "run"))
	if row < len(g.Rows) && g.Rows[row] != "" {
		t.Title = fmt.Sprintf("%s %s, %s", g.Y, g.Rows[row], t.Title)
	}
	return t
}
