package picture

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/report/plain"
)

// label is text in a picture. Which wording it gets, and where, depends on the room: place
// decides for the page as it is written, and page/picture.js, by the same rules, for the
// screen that the page is on.
type label struct {
	Class string
	// A and B are the stretch of time that the label is about. Inside are the wordings for
	// inside of it, the best first, and Outside those for behind its end or before its beginning.
	A, B            int64
	Inside, Outside []string
	// Rows are the baselines that it may have.
	Rows []int
	// Rank says who comes first. Labels with Join that leave each other no room become one.
	Rank int
	Join bool
	// Once: of all labels with the same word, one is enough.
	Once string
	// Near: it is on the page itself. Else it is packed with its shape; Offset and Length are the units
	// from there, where it is about a part of the shape.
	Near           bool
	Offset, Length int64

	// Shown: there was room. X is where, in per cent of the width; End: to the left of it.
	Shown bool
	X     string
	Y     int
	Text  string
	End   bool
}

// Rules is what the script must know to place the label.
func (l label) Rules() string {
	// What a page must not obey is written out before it becomes JSON: the script would undo it after.
	shown := func(texts []string) []string {
		list := make([]string, len(texts))
		for i, text := range texts {
			list[i] = string(plain.HTML([]byte(text)))
		}
		return list
	}
	data, err := json.Marshal([]any{l.Rank, l.Rows, shown(l.Inside), shown(l.Outside), l.Join, l.Once})
	if err != nil {
		panic(err) // strings and numbers
	}
	return string(data)
}

// Ranks of labels: what a picture is about comes first.
const (
	rankOverlap = iota
	rankBroken
	rankFault
	rankBelief
	rankNode
	rankMark
	rankRead
)

// Room around labels, in pixels.
const (
	labelInset = 5
	labelGap   = 8
)

// joined is how many labels are put together before the others are counted.
const joined = 4

// textWidth is about how wide a text is, rather more than less.
func textWidth(s string) float64 { return 7.4 * float64(len([]rune(s))) }

// stretch is what a label takes of its row, in pixels.
type stretch struct{ from, to float64 }

// placer places labels in a plot.
type placer struct {
	view  Span
	width float64
	taken map[string][]stretch
	once  map[string]bool
	// joins is the last label of each row that others may join.
	joins map[string]*joint
}

type joint struct {
	label *label
	texts []string
	at    int
}

func (p *placer) pixels(ns int64) float64 {
	return float64(time.Duration(ns)-p.view.From) / float64(p.view.Length()) * p.width
}

// place decides which labels are shown in a plot of some width, and where.
func place(lanes []*lane, view Span, width float64) {
	p := &placer{view: view, width: width, taken: map[string][]stretch{}, once: map[string]bool{}, joins: map[string]*joint{}}
	type entry struct {
		lane  int
		label *label
	}
	var order []entry
	for i, l := range lanes {
		for j := range l.Shapes {
			if s := &l.Shapes[j]; s.Label != nil && !s.Far {
				order = append(order, entry{i, s.Label})
			}
		}
	}
	slices.SortStableFunc(order, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.label.Rank, b.label.Rank), cmp.Compare(a.label.A, b.label.A))
	})
	for _, e := range order {
		p.place(e.lane, e.label)
	}
}

func (p *placer) place(lane int, l *label) {
	from, to := p.pixels(l.A), p.pixels(l.B)
	if to < 0 || from > p.width || l.Once != "" && p.once[l.Once] {
		return
	}
	from, to = max(from, 0), min(to, p.width)
	rowOf := func(y int) string { return fmt.Sprint(lane, " ", y) }
	for _, text := range l.Inside {
		for _, y := range l.Rows {
			if p.inside(rowOf(y), l, text, from+labelInset, to-labelInset, textWidth(text)) {
				l.Y = y
				return
			}
		}
	}
	for _, text := range l.Outside {
		w := textWidth(text)
		for _, y := range l.Rows {
			if p.at(rowOf(y), l, text, to+labelInset, to+labelInset+w, false) || l.Join && p.join(rowOf(y), l, to) ||
				p.at(rowOf(y), l, text, from-labelInset-w, from-labelInset, true) {
				l.Y = y
				return
			}
		}
	}
}

// inside puts a text into a stretch, behind what stands there already.
func (p *placer) inside(row string, l *label, text string, from, to, w float64) bool {
	for at := p.inTheWay(row, from, from+w, -1); at >= 0; at = p.inTheWay(row, from, from+w, -1) {
		from = p.taken[row][at].to + labelGap
	}
	return from+w <= to && p.at(row, l, text, from, from+w, false)
}

// inTheWay is the place of a text that leaves another no room, or -1. The one at except does not count.
func (p *placer) inTheWay(row string, from, to float64, except int) int {
	return slices.IndexFunc(p.taken[row], func(t stretch) bool {
		return t.from < to+labelGap && from < t.to+labelGap && (except < 0 || t != p.taken[row][except])
	})
}

// at puts a text where it stands free.
func (p *placer) at(row string, l *label, text string, from, to float64, end bool) bool {
	if from < 0 || to > p.width || p.inTheWay(row, from, to, -1) >= 0 {
		return false
	}
	l.Shown, l.Text, l.End, l.X = true, text, end, decimal(from/p.width*100)
	if end {
		l.X = decimal(to / p.width * 100)
	}
	p.taken[row] = append(p.taken[row], stretch{from, to})
	p.once[l.Once] = true
	if l.Join {
		p.joins[row] = &joint{l, []string{text}, len(p.taken[row]) - 1}
	}
	return true
}

// join adds a label to the one before it, if that stands where it would begin.
func (p *placer) join(row string, l *label, from float64) bool {
	j := p.joins[row]
	if j == nil || (j.label.Rank == rankBroken) != (l.Rank == rankBroken) { // what is in order is not painted as what is not
		return false
	}
	texts := append(slices.Clone(j.texts), l.Outside[0])
	text := joinedText(texts)
	box := &p.taken[row][j.at]
	wide, reach := stretch{box.from, box.from + textWidth(text)}, box.to+labelGap
	if j.label.End { // it grows to the left; what joins is close to what it is about
		wide, reach = stretch{box.to - textWidth(text), box.to}, box.to+labelInset+2*labelGap
	}
	if from > reach || wide.from < 0 || wide.to > p.width || p.inTheWay(row, wide.from, wide.to, j.at) >= 0 {
		return false
	}
	*box, j.texts, j.label.Text = wide, texts, text
	return true
}

func joinedText(texts []string) string {
	if len(texts) > joined {
		return strings.Join(texts[:joined-1], " · ") + fmt.Sprintf(" · %d more", len(texts)-joined+1)
	}
	return strings.Join(texts, " · ")
}
