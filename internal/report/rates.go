package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/report/plain"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// Rates is how often something was violated: a grid of settings, or one list.
type Rates struct {
	// Heading and Lead head the page; Replay is the command that measures again.
	Heading, Lead, Replay string
	// Result says in a sentence what came of a search; empty: it is none.
	Result string
	// Missing are the shards that a merged page lacks.
	Missing []string
	// Runs says what the runs were: "runs with real servers in virtual time"; empty: of models.
	Runs  string
	Grids []RateGrid
	// Classes are kinds of violations and how often each came.
	Classes []RateLine
	// Found are scenarios that were written, with a word on each.
	Found []FoundScenario
	// Worth says of each property what it is worth that nothing was found.
	Worth []string
	// Search is what a search looked at; nil: it is no search.
	Search *Looked
}

// Looked is what a search looked at, and what it never reached.
type Looked struct {
	Runs uint64
	// Curve is how many behaviours were seen after how many runs.
	Curve []CurvePoint
	// Properties are those that were looked at, Faults the kinds that could be drawn, Waypoints the states on the way to a violation that
	// there can be.
	Properties []LookedProperty
	Faults     []LookedFault
	Waypoints  []Waypoint
	// LeftOut are the kinds of faults that were not to be drawn.
	LeftOut []LeftOut
}

// LeftOut is a kind of fault that was not to be drawn, and why; Why may be empty.
type LeftOut struct{ Kind, Why string }

// LookedProperty says in how many runs a property was put to the test, and in how many it was violated. Why are the reasons why the others
// did not judge it.
type LookedProperty struct {
	Name             string
	Judged, Violated uint64
	Why              []string
}

// LookedFault says in how many runs a kind of fault was drawn, and in how many of these it took effect.
type LookedFault struct {
	Kind           string
	Planned, Began uint64
}

// Waypoint is a state, and how many runs came by it.
type Waypoint struct {
	Name string
	Runs uint64
}

// CurvePoint is how far a search was.
type CurvePoint struct {
	Runs       uint64
	Behaviours int
	Violations uint64
}

// Sight is one kind of thing that a search looks at: how many of how many it reached, and which it did not.
type Sight struct {
	// What is it, in the plural and the singular, One in a word, Link where the page has the figures, Reached
	// what it means that one of them was reached.
	What               [2]string
	One, Link, Reached string
	Seen               int
	// Counts are all of them with the runs that reached each, Never those that no run reached, with what is known of why.
	Counts []Waypoint
	Never  []string
	// LeftOut are those of Counts that were not to be reached. They are not in Never.
	LeftOut []LeftOut
}

// Sights are what the search looked at. Of each list the rarest is the first.
func (l *Looked) Sights() []Sight {
	properties := Sight{What: [2]string{"properties", "property"}, One: "property", Link: "properties", Reached: "were put to the test"}
	for _, p := range l.Properties {
		never := p.Name
		if len(p.Why) > 0 {
			never += ": " + p.Why[0]
		}
		properties.add(p.Name, p.Judged, never)
	}
	faults := Sight{What: [2]string{"kinds of faults", "kind of fault"}, One: "fault", Link: "faults", Reached: "took effect"}
	for _, f := range l.Faults {
		never := f.Kind + ": never drawn, by chance"
		if f.Planned > 0 {
			never = fmt.Sprintf("%s: drawn in %s, took effect in none", f.Kind, words.Count(f.Planned, "run"))
		}
		faults.add(f.Kind, f.Began, never)
	}
	for _, o := range l.LeftOut {
		faults.Counts = append(faults.Counts, Waypoint{Name: o.Kind})
	}
	faults.LeftOut = l.LeftOut
	states := Sight{What: [2]string{"states on the way to a violation", "state on the way to a violation"},
		One: "state", Link: "states", Reached: "were reached"}
	for _, w := range l.Waypoints {
		states.add(w.Name, w.Runs, w.Name)
	}
	return slices.DeleteFunc([]Sight{properties, faults, states}, func(s Sight) bool { return len(s.Counts) == 0 })
}

// add counts one; never says it where no run reached it.
func (s *Sight) add(name string, runs uint64, never string) {
	s.Counts = append(s.Counts, Waypoint{name, runs})
	if runs > 0 {
		s.Seen++
	} else {
		s.Never = append(s.Never, never)
	}
}

// NotDrawn says what was left out, and why: "left out of this search: clock, flush (a lock is not meant to survive that); promote (there is
// no replica that a fault can promote)"; empty: nothing was.
func (s *Sight) NotDrawn() string {
	var whys, list []string
	kinds := make(map[string][]string)
	for _, o := range s.LeftOut {
		if kinds[o.Why] == nil {
			whys = append(whys, o.Why)
		}
		kinds[o.Why] = append(kinds[o.Why], o.Kind)
	}
	for _, why := range whys {
		text := strings.Join(kinds[why], ", ")
		if why != "" {
			text += " (" + why + ")"
		}
		list = append(list, text)
	}
	if len(list) == 0 {
		return ""
	}
	return "left out of this search: " + strings.Join(list, "; ")
}

// Figure is "12 of 14".
func (s *Sight) Figure() string { return fmt.Sprintf("%d of %d", s.Seen, len(s.Counts)) }

// Words are "12 of 14 states on the way to a violation".
func (s *Sight) Words() string {
	if len(s.Counts) == 1 {
		return s.Figure() + " " + s.What[1]
	}
	return s.Figure() + " " + s.What[0]
}

// Rarest are the lists with the rarest first.
func (l *Looked) Rarest() Looked {
	r := *l
	r.Properties = slices.SortedStableFunc(slices.Values(l.Properties),
		func(a, b LookedProperty) int { return cmp.Compare(a.Judged, b.Judged) })
	r.Faults = slices.SortedStableFunc(slices.Values(l.Faults), func(a, b LookedFault) int { return cmp.Compare(a.Began, b.Began) })
	r.Waypoints = slices.SortedStableFunc(slices.Values(l.Waypoints), func(a, b Waypoint) int { return cmp.Compare(a.Runs, b.Runs) })
	return r
}

// Line is the curve as points of an SVG of 1000 by 100.
func (l *Looked) Line() string {
	if len(l.Curve) < 2 {
		return ""
	}
	last := l.Curve[len(l.Curve)-1]
	points := []string{"0,100"}
	for _, c := range l.Curve {
		x, y := float64(c.Runs)/float64(max(last.Runs, 1)), float64(c.Behaviours)/float64(max(last.Behaviours, 1))
		points = append(points, fmt.Sprintf("%.1f,%.1f", 1000*x, 100-100*y))
	}
	return strings.Join(points, " ")
}

// Flat reports that the second half of the runs brought less than a tenth of the behaviours.
func (l *Looked) Flat() bool { return 10*(l.Last().Behaviours-l.Half()) < l.Last().Behaviours }

// Last is the end of the curve.
func (l *Looked) Last() CurvePoint { return l.Curve[len(l.Curve)-1] }

// Half is how many behaviours were seen in the first half of the runs, between the points that are known.
func (l *Looked) Half() int {
	var from CurvePoint
	for _, to := range l.Curve {
		if 2*to.Runs >= l.Last().Runs && to.Runs > from.Runs {
			share := (float64(l.Last().Runs)/2 - float64(from.Runs)) / float64(to.Runs-from.Runs)
			return from.Behaviours + int(share*float64(to.Behaviours-from.Behaviours))
		}
		from = to
	}
	return from.Behaviours
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
	// Wrong is why there can be no run with these settings; empty: there can.
	Wrong string
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
	return "of " + words.Grouped(r.Judged)
}

// RateLine is how often one thing came: All is in how many runs, the rate is that of the schedules that were drawn afresh.
type RateLine struct {
	Name string
	All  uint64
	Rate
}

// String is the rate in words: "1.56 % (1.5 to 1.62) of 900".
func (r Rate) String() string {
	if r.Wrong != "" {
		return "cannot work: " + r.Wrong
	}
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
type FoundScenario struct {
	Path, Note, Link, Report string
	// Happened says in a sentence what happened, Replay how to see it again.
	Happened, Replay string
	// Picture is the picture of the run, as SVG of that size in pixels; nil: there is none.
	Picture       []byte
	Width, Height int
}

// heatMap is a grid as a page shows it: a matrix with axes, and the same figures as a table.
type heatMap struct {
	RateGrid
	Lines []HeatLine
	// Width is that of a cell, in percent; Cells are the cells with their places.
	Width string
	Cells []heatCell
	// Ticks name the columns. Height is that of all rows, AxisHeight that of the names below them, in pixels.
	Ticks              []heatTick
	Height, AxisHeight int
	// Narrow: a small screen has no room for the figures.
	Narrow bool
	// Open: there are so few points that the table is not folded.
	Open bool
	// Some cells have a dash for a rate: nothing was judged.
	Some bool
}

// heatCell is a cell of the matrix: X in percent, Y in pixels.
type heatCell struct {
	HeatTile
	X, Middle     string
	Y, Base, High int
	Share         string
	Rate          Rate
	Row           string
	Empty         bool
}

type heatTick struct{ Middle, Text string }

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

// Sizes of a matrix in pixels, and how many points a table has that is not folded.
const (
	heatRow      = 34
	heatLetter   = 7
	mostTick     = 16
	mostHeatOpen = 12
	mostFigures  = 7
)

func (g RateGrid) heatMap() heatMap {
	n := max(len(g.Columns), 1)
	m := heatMap{RateGrid: g, Width: Percent(1, n), Narrow: n > mostFigures, Open: len(g.Cells) <= mostHeatOpen}
	for i, c := range g.Columns {
		text := plain.Clip(c, mostTick)
		m.Ticks = append(m.Ticks, heatTick{Percent(2*i+1, 2*n), text})
		m.AxisHeight = max(m.AxisHeight, heatLetter*len([]rune(text))+12)
	}
	for i, c := range g.Cells {
		column, row := i%n, i/n
		if column == 0 {
			m.Lines = append(m.Lines, HeatLine{})
			if row < len(g.Rows) {
				m.Lines[row].At = g.Rows[row]
			}
		}
		line := &m.Lines[row]
		tile := g.tile(c, g.Columns[column], line.At)
		line.Tiles = append(line.Tiles, tile)
		cell := heatCell{HeatTile: tile, X: Percent(column, n), Middle: Percent(2*column+1, 2*n),
			Y: row * heatRow, Base: row*heatRow + heatRow/2 + 4,
			High: heatRow, Share: "–", Rate: c, Row: line.At, Empty: c.Judged == 0}
		if !cell.Empty {
			cell.Share = fmt.Sprintf("%.3g", 100*c.Share())
		}
		m.Some = m.Some || cell.Empty
		m.Cells = append(m.Cells, cell)
	}
	m.Height = heatRow * len(m.Lines)
	return m
}

// Percent is a share as an attribute of an SVG takes it.
func Percent(part, of int) string { return fmt.Sprintf("%.2f%%", 100*float64(part)/float64(of)) }

// heatOpacity is that of the colour of a share: at most so much that the text on it stays readable on both grounds.
func heatOpacity(share float64) string { return fmt.Sprintf("%.3f", 0.55*share) }

func (g RateGrid) tile(c Rate, x, y string) HeatTile {
	t := HeatTile{At: x, Opacity: "0", Text: "no run"}
	if c.Wrong != "" {
		t.Text, t.Title = "cannot work", fmt.Sprintf("%s %s: %s", g.X, x, c.Wrong)
		return t
	}
	if c.Runs == 0 {
		return t
	}
	t.Few, t.Of, t.Text = c.Few(), c.Of(), "none judged"
	if c.Judged > 0 {
		t.Opacity = heatOpacity(c.Share())
		t.Text = fmt.Sprintf("%.1f %%", 100*c.Share())
		t.Aside = fmt.Sprintf("%.1f to %.1f", 100*c.Low, 100*c.High)
	}
	if t.Few {
		t.Of += " (few)"
	}
	t.Title = fmt.Sprintf("%s %s: violated in %s of %s, %s in all",
		g.X, x, words.Grouped(c.Violated), words.Count(c.Judged, "judged run"), words.Count(c.Runs, "run"))
	if y != "" {
		t.Title = fmt.Sprintf("%s %s, %s", g.Y, y, t.Title)
	}
	return t
}
