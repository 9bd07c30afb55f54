//go:build !js

// Package observed writes what a look at a server, or at its files, told of locks as a page.
package observed

import (
	"embed"
	"html/template"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/keystory"
	"github.com/redlock-sim/redlock-sim/internal/report/page"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

//go:embed observed.tmpl
var files embed.FS

var templates = page.Parse(files, template.FuncMap{"clock": clock})

// Bounds of a page.
const (
	mostShown  = 50 // locks with pictures
	mostListed = 500
	mostLanes  = 12
	before     = 3 // moments before a finding
)

// WriteHTML writes a report as a page of its own.
func WriteHTML(w io.Writer, r *keystory.Report) error {
	v := view{Report: r, Badge: badges[r.Outcome], When: period(r.From.Wall, r.To.Wall)}
	for i := range r.Locks {
		k := &r.Locks[i]
		switch {
		case len(k.Findings) > 0 && len(v.Told) < mostShown:
			v.Told = append(v.Told, tell(k, len(v.Told)))
		case len(v.Quiet) < mostListed:
			v.Quiet = append(v.Quiet, k)
		default:
			v.More++
		}
	}
	for _, kind := range keystory.Kinds {
		for _, question := range []bool{false, true} {
			if row := countOf(r, kind.Word, question); row.Times > 0 {
				row.Meaning = kind.Title
				v.Kinds = append(v.Kinds, row)
			}
		}
	}
	return templates.Write(w, "observed.tmpl", v)
}

var badges = map[string]page.Badge{
	keystory.SomethingFound: {Class: "unsafe", Icon: "✗", Word: "Found"},
	keystory.NothingFound:   {Class: "safe", Icon: "✓", Word: "Nothing found"},
	keystory.NobodyKnown:    {Class: "undecided", Icon: "?", Word: "Unknown"},
	keystory.NoLockSeen:     {Class: "undecided", Icon: "?", Word: "No lock seen"},
}

type view struct {
	*keystory.Report
	Badge page.Badge
	When  string
	Kinds []kindRow
	// Told are the locks with findings, Quiet the others, More those that are not listed.
	Told  []told
	Quiet []*keystory.LockReport
	More  int
}

// kindRow is how often a kind was found.
type kindRow struct {
	Kind, Meaning string
	Question      bool
	Times, Locks  int
}

func countOf(r *keystory.Report, kind keystory.Kind, question bool) kindRow {
	row := kindRow{Kind: string(kind), Question: question}
	if question {
		kind += "?"
	}
	for i := range r.Locks {
		if n := r.Locks[i].Counts[kind]; n > 0 {
			row.Times += n
			row.Locks++
		}
	}
	return row
}

// told is a lock with findings.
type told struct {
	*keystory.LockReport
	ID     string
	Scenes []scene
	// Apart are findings whose moments are not kept any more.
	Apart []keystory.FindingReport
}

// scene is what befell a lock around findings.
type scene struct {
	ID   string
	Rows []row
	// Lanes and Marks are the picture; no lanes: the file has no times, or nobody is known to have held the lock.
	Lanes []lane
	Marks []mark
	Ticks []tick
	// Height is that of the picture.
	Height int
	// Others counts owners that are not drawn.
	Others int
}

type row struct {
	When, Text, Finding string
	// Number is that of the mark in the picture; 0: it has none.
	Number   int
	Question bool
}

type lane struct {
	Owner string
	Y     int
	Bars  []bar
}

type bar struct {
	X, Width, Class, Title string
}

type mark struct {
	X, Numbers, Class string
	at                float64
}

type tick struct{ X, Text, Class string }

const (
	laneHeight = 34
	barsFrom   = 30 // the marks stand above
)

func tell(k *keystory.LockReport, n int) told {
	t := told{LockReport: k, ID: "lock-" + strconv.Itoa(n+1)}
	shown := make(map[string]bool)
	number := 0
	for from := 0; from < len(k.Moments); {
		at := slices.IndexFunc(k.Moments[from:], func(m keystory.MomentReport) bool { return m.Finding != "" })
		if at < 0 {
			break
		}
		first := from + at
		end := first + 1
		for i := end; i < len(k.Moments) && i <= end+before; i++ { // what is near is one scene
			if k.Moments[i].Finding != "" {
				end = i + 1
			}
		}
		begin := max(from, first-before)
		last := min(end+1, len(k.Moments))
		s := k.Moments[begin:last]
		t.Scenes = append(t.Scenes, sceneOf(k, s, &number))
		t.Scenes[len(t.Scenes)-1].ID = t.ID + "-" + strconv.Itoa(len(t.Scenes))
		for i := range s {
			shown[s[i].Text] = true
		}
		from = last
	}
	for _, f := range k.Findings {
		if !shown[f.Text] {
			t.Apart = append(t.Apart, f)
		}
	}
	return t
}

func sceneOf(k *keystory.LockReport, moments []keystory.MomentReport, number *int) (s scene) {
	var times []time.Time
	for i := range moments {
		m := &moments[i]
		r := row{When: clock(m.At), Text: m.Text, Finding: m.Finding, Question: strings.HasSuffix(m.Finding, "?")}
		at, has := wall(&m.At)
		if has {
			times = append(times, at)
		}
		if m.Finding != "" {
			*number++
			r.Number = *number
		}
		s.Rows = append(s.Rows, r)
	}
	if len(times) < 2 || len(times) != len(moments) {
		return s
	}
	from, to := slices.MinFunc(times, time.Time.Compare), slices.MaxFunc(times, time.Time.Compare)
	if !to.After(from) {
		return s
	}
	edge := to.Sub(from) / 20
	a := axis{from: from.Add(-edge), to: to.Add(edge)}
	s.draw(k, a)
	for i := range s.Rows {
		if s.Rows[i].Number > 0 {
			s.mark(&s.Rows[i], a.share(times[i]))
		}
	}
	for i, class := range []string{"first", "", "", "end"} {
		at := from.Add(to.Sub(from) * time.Duration(i) / 3)
		s.Ticks = append(s.Ticks, tick{X: a.percent(at), Text: at.Format("15:04:05.000"), Class: class})
	}
	return s
}

// draw draws the holds of the time, a lane for each owner.
func (s *scene) draw(k *keystory.LockReport, a axis) {
	lanes := make(map[string]int)
	for i := range k.Holds {
		h := &k.Holds[i]
		begin, end, class := a.from, a.to, "held"
		if at, has := wall(h.From); has {
			begin = at
		}
		if at, has := wall(h.To); has {
			end = at
		}
		if h.Ending == "unknown" {
			class = "perhaps"
			if i+1 < len(k.Holds) {
				if at, has := wall(k.Holds[i+1].From); has {
					end = at
				}
			}
		}
		if !end.After(a.from) || !begin.Before(a.to) {
			continue
		}
		n, known := lanes[h.Owner]
		if !known {
			if len(s.Lanes) == mostLanes {
				s.Others++
				continue
			}
			n = len(s.Lanes)
			lanes[h.Owner] = n
			s.Lanes = append(s.Lanes, lane{Owner: h.Owner, Y: barsFrom + n*laneHeight})
		}
		b := bar{X: a.percent(begin), Width: a.width(begin, end), Class: class, Title: h.Owner + ": " + h.Ending}
		s.Lanes[n].Bars = append(s.Lanes[n].Bars, b)
	}
	s.Height = barsFrom + len(s.Lanes)*laneHeight
}

// mark marks a finding in the picture. Those that are too near for two numbers have one mark.
func (s *scene) mark(r *row, at float64) {
	const near = 0.03
	number := strconv.Itoa(r.Number)
	if n := len(s.Marks); n > 0 && at-s.Marks[n-1].at < near {
		m := &s.Marks[n-1]
		m.Numbers += ", " + number
		if !r.Question {
			m.Class = "unsafe"
		}
		return
	}
	m := mark{X: percent(at), Numbers: number, Class: "unsafe", at: at}
	if r.Question {
		m.Class = "undecided"
	}
	s.Marks = append(s.Marks, m)
}

// axis is the time that a picture shows.
type axis struct{ from, to time.Time }

func (a axis) share(t time.Time) float64 {
	return min(max(float64(t.Sub(a.from))/float64(a.to.Sub(a.from)), 0), 1)
}

func (a axis) percent(t time.Time) string { return percent(a.share(t)) }

// width is at least what can be seen.
func (a axis) width(from, to time.Time) string { return percent(max(a.share(to)-a.share(from), 0.003)) }

func percent(share float64) string { return strconv.FormatFloat(100*share, 'f', 2, 64) + "%" }

func wall(i *keystory.Instant) (time.Time, bool) {
	if i == nil || i.Wall == "" {
		return time.Time{}, false
	}
	t, err := time.Parse(time.RFC3339Nano, i.Wall)
	return t, err == nil
}

// clock is the time of day, or the place in the file.
func clock(i keystory.Instant) string {
	t, has := wall(&i)
	switch {
	case !has:
		return "entry " + words.Grouped(i.Entry)
	case i.Entry > 0:
		return t.Format("15:04:05")
	}
	return t.Format("15:04:05.000")
}

// period says when a look began and ended; empty: nobody knows.
func period(from, to string) string {
	a, hasA := wall(&keystory.Instant{Wall: from})
	b, hasB := wall(&keystory.Instant{Wall: to})
	if !hasA || !hasB {
		return ""
	}
	return keystory.Period(a, b)
}
