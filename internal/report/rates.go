package report

import (
	"fmt"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/words"
)

// Rates is how often something was violated: a grid of settings, or one list.
type Rates struct {
	// Heading and Lead head the page; Replay is the command that measures again.
	Heading, Lead, Replay string
	// Missing are the shards that a merged page lacks.
	Missing []string
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
	if r.Runs == 0 {
		return "no run"
	}
	if r.Judged == 0 {
		return "none judged"
	}
	return strings.TrimSpace(fmt.Sprintf("%.3g %% (%.3g to %.3g) %s", 100*r.Share(), 100*r.Low, 100*r.High, r.Of()))
}

// FoundScenario is a scenario that a search wrote. Link leads to it, and Report to the
// page of its run; both are relative to the page.
type FoundScenario struct{ Path, Note, Link, Report string }

type heatMap struct {
	RateGrid
	Lines []HeatLine
}

// HeatLine is a row of a grid; At is the value of Y, empty where there is none.
type HeatLine struct {
	At    string     `json:"at"`
	Tiles []HeatTile `json:"tiles"`
}

// HeatTile is a cell. Opacity is that of its colour.
type HeatTile struct {
	At      string `json:"at"`
	Opacity string `json:"opacity"`
	Text    string `json:"text"`
	Aside   string `json:"aside,omitempty"`
	Of      string `json:"of,omitempty"`
	Title   string `json:"title,omitempty"`
	// Few were judged.
	Few bool `json:"few,omitempty"`
}

// Heat is the map of a grid, for a page that draws it itself. Rows that are missing are left out.
func (g RateGrid) Heat() []HeatLine { return g.heatMap().Lines }

func (g RateGrid) heatMap() heatMap {
	m := heatMap{RateGrid: g}
	for i, c := range g.Cells {
		column, row := i%len(g.Columns), i/len(g.Columns)
		if column == 0 {
			m.Lines = append(m.Lines, HeatLine{})
			if row < len(g.Rows) {
				m.Lines[row].At = g.Rows[row]
			}
		}
		line := &m.Lines[row]
		line.Tiles = append(line.Tiles, g.tile(c, g.Columns[column], line.At))
	}
	return m
}

func (g RateGrid) tile(c Rate, x, y string) HeatTile {
	t := HeatTile{At: x, Opacity: "0", Text: "no run"}
	if c.Runs == 0 {
		return t
	}
	t.Few, t.Of, t.Text = c.Few(), c.Of(), "none judged"
	if c.Judged > 0 {
		// At most so much that the text on it stays readable on both grounds.
		t.Opacity = fmt.Sprintf("%.3f", 0.55*c.Share())
		t.Text = fmt.Sprintf("%.1f %%", 100*c.Share())
		t.Aside = fmt.Sprintf("%.1f to %.1f", 100*c.Low, 100*c.High)
	}
	if t.Few {
		t.Of += " (few)"
	}
	t.Title = fmt.Sprintf("%s %s: violated in %d of %s, %s in all",
		g.X, x, c.Violated, words.Count(c.Judged, "judged run"), words.Count(c.Runs, "run"))
	if y != "" {
		t.Title = fmt.Sprintf("%s %s, %s", g.Y, y, t.Title)
	}
	return t
}
