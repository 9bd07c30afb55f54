package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/report/swimlane"
)

// Rows of a client's lane, from its top.
const (
	wordsRow  = 13
	beliefTop = 20
	beliefH   = 17
	truthTop  = 40
	truthH    = 7
	bandWords = 60
)

// client draws what a client believed over what was true.
func (e *easel) client(c *swimlane.ClientLane) {
	e.clientY[c.Name] = e.y
	l := lane{Kind: "client", Name: c.Name, H: clientHeight,
		Subs: []label{{beliefTop + 12, "believes"}, {truthTop + 7, "has keys"}}}
	if !e.scene.KeysSeen {
		l.Subs = l.Subs[:1]
	}
	l.Shapes = e.bands(c.Name, clientHeight-4, bandWords)
	for i := range c.Marks {
		if m := &c.Marks[i]; m.F == history.Acquire && m.To > m.From {
			s := e.bar("asking", m.Span, beliefTop, beliefH)
			s.Kind, s.Event, s.Title = "thread", m.Event, markTitle(c.Name, m)
			l.Shapes = append(l.Shapes, s)
		}
	}
	for i := range c.Holds {
		l.Shapes = append(l.Shapes, e.hold(c.Name, &c.Holds[i])...)
	}
	l.Shapes = append(l.Shapes, e.marks(c)...)
	l.Quiet = len(c.Holds) == 0 && len(l.Shapes) == 0
	e.add(l)
}

// hold draws a belief, the part of it that had no keys behind it, and the ends
// that the lock promised.
func (e *easel) hold(client string, h *swimlane.Hold) []shape {
	texts := []string{"believes it holds the lock", "holds the lock", "holds"}
	if h.Token.Set {
		token := ", token " + h.Token.String()
		texts = []string{texts[0] + token, texts[1] + token, "token " + h.Token.String()}
	}
	b := e.bar("belief", h.Span, beliefTop, beliefH)
	b.Event, b.TextY = h.Granted, 12
	b.Title = fmt.Sprintf("%s  %s believes it holds the lock, until %s", seconds(h.From), client, seconds(h.To))
	if h.Ended < 0 {
		b.Title += " or longer"
	}
	for _, text := range texts {
		if b.Text == "" && e.fits(text, sure(h)) {
			b.Text = text
		}
	}
	edge := e.at("line", "granted", h.From, beliefTop-3, beliefH+6)
	edge.Step, edge.Event = true, h.Granted
	edge.Title = fmt.Sprintf("%s  %s got the lock", seconds(h.From), client)
	if h.Nodes > 0 {
		edge.Title += fmt.Sprintf(" on %s", count(h.Nodes, "node"))
	}
	list := []shape{b}
	for _, g := range h.Gaps {
		s := e.bar("gap", g, beliefTop, beliefH)
		s.Kind, s.TextY, s.Step, s.Event = "hatch", 12, g.Length() > e.window.View.Length()/200, h.Granted
		s.Title = fmt.Sprintf("%s  %s believes it holds the lock, but has no %s, for %s", seconds(g.From), client, e.proof(), shortDuration(g.Length()))
		if words := "believes without keys, " + shortDuration(g.Length()); e.fits(words, g) {
			s.Text = words
		}
		list = append(list, s)
	}
	for _, t := range h.Truth {
		s := e.bar("truth", t, truthTop, truthH)
		s.Title = fmt.Sprintf("%s  %s has the key of %s, until %s", seconds(t.From), e.voters(), client, seconds(t.To))
		list = append(list, s)
	}
	list = append(list, edge)
	if h.Ended >= 0 {
		end := e.at("line", "released", h.To, beliefTop-3, beliefH+6)
		end.Step, end.Event = true, h.Ended
		end.Title = fmt.Sprintf("%s  %s %s", seconds(h.To), client, h.End)
		list = append(list, end)
	}
	return append(list, e.promises(client, h)...)
}

// voters is whose keys make a holder, proof what a holder needs of them.
func (e *easel) voters() string {
	if e.scene.Replicated {
		return "the primary"
	}
	return "a majority of nodes"
}

func (e *easel) proof() string {
	if e.scene.Replicated {
		return "key on the primary"
	}
	return "majority of keys"
}

// sure is the part of a hold that had keys behind it; labels go there.
func sure(h *swimlane.Hold) swimlane.Span {
	s := h.Span
	for _, g := range h.Gaps {
		if g.To == s.To {
			s.To = g.From
		}
	}
	return s
}

// promises marks where the promised validity ended; in words only where the
// client went on beyond it.
func (e *easel) promises(client string, h *swimlane.Hold) []shape {
	var list []shape
	for i, p := range h.Promises {
		if renewed := i+1 < len(h.Promises) && h.Promises[i+1].Made <= p.Until; renewed {
			continue
		}
		s := e.at("line", "promise", p.Until, beliefTop-5, truthTop+truthH-beliefTop+9)
		s.Title = fmt.Sprintf("%s  the validity promised to %s ends", seconds(p.Until), client)
		if p.Until < h.To {
			s.Class, s.Step, s.Event = "promise broken", true, h.Granted
			s.Text, s.TextY = "promise ended "+seconds(p.Until), truthTop+truthH-beliefTop+5
			e.turn(&s)
		}
		list = append(list, s)
	}
	return list
}

// marks draws the operations on the resource, and what failed. Where labels
// would run into one another they become one.
func (e *easel) marks(c *swimlane.ClientLane) []shape {
	var list []shape
	for _, m := range c.Marks {
		s := e.at("line", "mark "+markClass(&m), m.From, 15, 5)
		s.Title, s.Event, s.TextY = markTitle(c.Name, &m), m.Event, wordsRow-15
		switch {
		case m.F == history.Point:
			s.Kind, s.Class = "caret", "point"
			list = append(list, s)
			continue
		case m.Type == history.OK && (m.F == history.Acquire || m.F == history.Release):
			continue
		}
		s.Text = m.Text
		list = append(list, s)
		if m.F != history.Acquire && m.Length() > e.window.View.Length()/100 {
			// An operation that takes its time shows how long.
			list = append(list, e.bar("taking "+markClass(&m), m.Span, 17, 2))
		}
	}
	return e.merge(list, wordsRow-15)
}

func markClass(m *swimlane.Mark) string {
	switch m.Type {
	case history.Fail:
		return "fail"
	case history.Info:
		return "unsure"
	}
	return ""
}

func markTitle(client string, m *swimlane.Mark) string {
	if m.F == history.Point {
		return fmt.Sprintf("%s  %s is at point %s", seconds(m.From), client, m.Text)
	}
	outcome := map[history.Type]string{history.Fail: ", failed", history.Info: ", outcome unknown"}[m.Type]
	return fmt.Sprintf("%s  %s: %s%s, took %s", seconds(m.From), client, strings.TrimRight(m.Text, " ✗?"), outcome, shortDuration(m.Length()))
}

// merge joins labels that would run into one another. The joined label is shown
// at first; the single ones come back when a reader zooms in. A label that has
// to stand left of its point, and finds another there, goes to the baseline
// aside.
func (e *easel) merge(list []shape, aside int) []shape {
	var out []shape
	free := -1e9
	place := func(s *shape) {
		x := e.pixels(time.Duration(s.A))
		if e.turn(s); s.End && x-textWidth(s.Text)-8 < free {
			s.TextY = aside
		}
		if s.TextY != aside {
			free = x + textWidth(s.Text) + 8
		}
	}
	for i := 0; i < len(list); {
		if list[i].Text == "" {
			out = append(out, list[i])
			i++
			continue
		}
		group, j := e.crowd(list, i)
		if len(group) == 1 {
			place(&list[i])
			out = append(out, list[i:j]...)
			i = j
			continue
		}
		joined := list[i]
		joined.Kind, joined.Class, joined.Step, joined.Event, joined.Title = "text", "many", false, -1, ""
		joined.Text = strings.Join(group, " · ")
		if len(group) > 4 {
			joined.Text = strings.Join(group[:3], " · ") + fmt.Sprintf(" · %d more", len(group)-3)
		}
		place(&joined)
		for k := i; k < j; k++ {
			if list[k].Text != "" {
				list[k].Class += " one"
			}
		}
		out = append(out, list[i:j]...)
		out = append(out, joined)
		i = j
	}
	return out
}

// crowd returns the labels from place i on that leave each other no room, and
// the place after the last of them.
func (e *easel) crowd(list []shape, i int) (words []string, after int) {
	end := e.pixels(time.Duration(list[i].A))
	for ; i < len(list); i++ {
		if list[i].Text == "" {
			continue
		}
		if len(words) > 0 && e.pixels(time.Duration(list[i].A)) > end {
			break
		}
		words = append(words, list[i].Text)
		end += textWidth(list[i].Text) + 12
	}
	return words, i
}

// resource draws what the resource let happen, and a thread up to whoever
// asked for it.
func (e *easel) resource() {
	l := lane{Kind: "resource", Name: "resource", H: resourceHeight}
	var list []shape
	for _, f := range e.scene.Effects {
		from, known := e.clientY[f.Client]
		late := e.late(&f)
		if known && f.Op != history.Read {
			t := e.at("line", "reach"+lateClass(late), f.At, from+beliefTop+beliefH, e.y+24-from-beliefTop-beliefH)
			e.pic.Behind = append(e.pic.Behind, t)
		}
		kind, class := "dot", string(f.Op)+lateClass(late)
		if !f.Accepted {
			kind, class = "ring", "refused"
		}
		s := e.at(kind, "effect "+class, f.At, 0, resourceHeight)
		s.Step, s.Event, s.TextY = true, f.Event, 46
		s.Text = effectText(&f)
		s.Title = seconds(f.At) + "  " + effectTitle(&f, late)
		list = append(list, s)
	}
	l.Shapes = append(e.bands("resource", resourceHeight-4, 12), e.merge(list, 10)...)
	e.add(l)
}

func lateClass(late bool) string {
	if late {
		return " late"
	}
	return ""
}

// late: the client's promise had ended before the effect.
func (e *easel) late(f *swimlane.Effect) bool {
	if f.Op == history.Read {
		return false
	}
	for _, c := range e.scene.Clients {
		if c.Name != f.Client {
			continue
		}
		late := false
		for _, h := range c.Holds {
			if h.From <= f.At && len(h.Promises) > 0 {
				late = f.At > h.Promises[len(h.Promises)-1].Until
			}
		}
		return late
	}
	return false
}

// effectText labels an effect: "c1 w 1", "c1 refused, 1 after 2".
func effectText(f *swimlane.Effect) string {
	if !f.Accepted {
		if f.Token.Set && f.Highest.Set {
			return fmt.Sprintf("%s refused: token %s after %s", f.Client, f.Token, f.Highest)
		}
		return f.Client + " refused"
	}
	verb := string(f.Op)
	if f.Op == history.Read || f.Op == history.Write {
		verb = verb[:1]
	}
	text := f.Client + " " + verb
	if f.Number.Set {
		text += " " + f.Number.String()
	}
	if f.Token.Set && f.Op != history.Read {
		text += ", token " + f.Token.String()
	}
	return text
}

func effectTitle(f *swimlane.Effect, late bool) string {
	what := fmt.Sprintf("%s of %s by %s", f.Op, f.Number, f.Client)
	if !f.Number.Set {
		what = fmt.Sprintf("%s by %s", f.Op, f.Client)
	}
	verb := "applied"
	if !f.Accepted {
		verb = "refused"
	}
	text := fmt.Sprintf("the resource %s a %s", verb, what)
	if f.Token.Set {
		text += ", token " + f.Token.String()
		if f.Highest.Set {
			text += " after " + f.Highest.String()
		}
	}
	if late {
		text += ", after its promise had ended"
	}
	return text
}
