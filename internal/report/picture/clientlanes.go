package picture

import (
	"fmt"
	"slices"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// Rows of a client's lane, from its top.
const (
	wordsRow  = 13
	beliefTop = 20
	beliefH   = 17
	beliefRow = beliefTop + 12
	truthTop  = 40
	truthH    = 7
	// gapRow is where a gap is named: there are no keys in it, so nothing stands in their row.
	gapRow   = 46
	belowRow = 60
)

// client draws what a client believed over what was true.
func (e *easel) client(c *ClientLane) {
	e.clientY[c.Name] = e.y
	l := lane{Kind: "client", Name: c.Name, H: clientHeight,
		Subs: []sub{{beliefTop + 12, "believes"}, {truthTop + 7, "has keys"}}}
	if !e.scene.KeysSeen {
		l.Subs = l.Subs[:1]
	}
	e.bands(&l, belowRow, wordsRow)
	for i := range c.Marks {
		if m := &c.Marks[i]; m.F == history.Acquire && m.To > m.From {
			s := bar("asking", m.Span, beliefTop, beliefH)
			s.Kind, s.Event, s.Title = "thread", m.Event, markTitle(c.Name, m)
			l.Shapes = append(l.Shapes, s)
		}
	}
	for i := range c.Holds {
		e.hold(&l, &c.Holds[i])
	}
	e.marks(&l, c)
	l.Quiet = len(c.Holds) == 0 && len(l.Shapes) == 0
	e.add(l)
}

// hold draws a belief, the part of it that had no keys behind it, and the ends
// that the lock promised.
func (e *easel) hold(l *lane, h *Hold) {
	texts := []string{"believes it holds the lock", "holds the lock", "holds"}
	if h.Token.IsSet() {
		token := ", token " + h.Token.String()
		texts = []string{texts[0] + token, texts[1] + token, "token " + h.Token.String()}
	}
	b := bar("belief", h.Span, beliefTop, beliefH)
	b.Event = h.Granted
	b.Title = l.Name + " believes it holds the lock"
	if h.Ended < 0 {
		b.Title += " (no end was seen)"
	}
	name := b.inside("belief-words", rankBelief, []int{beliefRow}, texts...)
	name.A, name.B = int64(longestBacked(h).From), int64(longestBacked(h).To)
	edge := at("line", "granted", h.From, beliefTop-3, beliefH+6)
	edge.Step, edge.Event = true, h.Granted
	edge.Title = l.Name + " got the lock"
	if h.Nodes > 0 {
		edge.Title += fmt.Sprintf(" on %s", words.Count(h.Nodes, "node"))
	}
	l.Shapes = append(l.Shapes, b)
	for _, g := range h.Gaps {
		s := bar("gap", g, beliefTop, beliefH)
		s.Kind, s.Step, s.Event = "hatch", g.Length() > e.view.Length()/200, h.Granted
		s.Title = fmt.Sprintf("%s believes it holds the lock, but has no %s", l.Name, e.proof())
		s.inside("gap-words", rankBelief, []int{gapRow}, "believes without keys, "+words.Length(g.Length()), "without keys")
		l.Shapes = append(l.Shapes, s)
	}
	for _, t := range h.Truth {
		s := bar("truth", t, truthTop, truthH)
		s.Title = fmt.Sprintf("%s has the key of %s", e.voters(), l.Name)
		l.Shapes = append(l.Shapes, s)
	}
	l.Shapes = append(l.Shapes, edge)
	if h.Ended >= 0 {
		end := at("line", "released", h.To, beliefTop-3, beliefH+6)
		end.Step, end.Event = true, h.Ended
		end.Title = l.Name + " " + h.End
		l.Shapes = append(l.Shapes, end)
	}
	e.promises(l, h)
}

// voters is whose keys make a holder, proof what a holder needs of them.
func (e *easel) voters() string {
	if e.scene.Clusters > 0 {
		return "a majority of clusters"
	} else if e.scene.Replicated {
		return "the primary"
	}
	return "a majority of nodes"
}

func (e *easel) proof() string {
	if e.scene.Replicated && e.scene.Clusters == 0 {
		return "key on the primary"
	}
	return "majority of keys"
}

// longestBacked is the longest part of a hold that had keys behind it; the label goes there.
func longestBacked(h *Hold) Span {
	best, from := Span{From: h.From, To: h.From}, h.From
	for _, g := range append(slices.Clone(h.Gaps), Span{From: h.To, To: h.To}) {
		if g.From-from > best.Length() {
			best = Span{From: from, To: g.From}
		}
		from = g.To
	}
	return best
}

// promises marks where the promised validity ended; in words only where the
// client went on beyond it.
func (e *easel) promises(l *lane, h *Hold) {
	for i, p := range h.Promises {
		if renewed := i+1 < len(h.Promises) && h.Promises[i+1].Made <= p.Until; renewed {
			continue
		}
		s := at("line", "promise", p.Until, beliefTop-5, truthTop+truthH-beliefTop+9)
		s.Title = fmt.Sprintf("the validity promised to %s ends", l.Name)
		if p.Until < h.To {
			s.Class, s.Step, s.Event = "promise broken", true, h.Granted
			s.beside("broken-words", rankBroken, []int{belowRow, wordsRow}, "promise ended "+words.Seconds(p.Until), "promise ended")
		}
		l.Shapes = append(l.Shapes, s)
	}
}

// marks draws the operations on the resource, and what failed.
func (e *easel) marks(l *lane, c *ClientLane) {
	for _, m := range c.Marks {
		s := at("line", "mark "+markClass(&m), m.From, 15, 5)
		s.Title, s.Event = markTitle(c.Name, &m), m.Event
		if m.F == history.Point {
			s.Kind, s.Class = "caret", "point"
			l.Shapes = append(l.Shapes, s)
			continue
		}
		if m.Type == history.OK && (m.F == history.Acquire || m.F == history.Release) {
			continue
		}
		s.beside("mark-words", rankMark, []int{wordsRow}, m.Text).Join = true
		l.Shapes = append(l.Shapes, s)
		if m.F != history.Acquire && m.Length() > e.view.Length()/100 {
			// An operation that takes its time shows how long.
			l.Shapes = append(l.Shapes, bar("taking "+markClass(&m), m.Span, 17, 2))
		}
	}
}

func markClass(m *Mark) string {
	switch m.Type {
	case history.Fail:
		return "fail"
	case history.Info:
		return "unsure"
	}
	return ""
}

func markTitle(client string, m *Mark) string {
	if m.F == history.Point {
		return fmt.Sprintf("%s is at point %s", client, m.Text)
	}
	outcome := map[history.Type]string{history.Fail: ", failed", history.Info: ", outcome unknown"}[m.Type]
	return client + ": " + strings.TrimRight(m.Text, " ✗?") + outcome
}

// resource draws what the resource let happen, and a thread up to whoever
// asked for it.
func (e *easel) resource() {
	l := lane{Kind: "resource", Name: "resource", H: resourceHeight}
	e.bands(&l, wordsRow)
	for _, f := range e.scene.Effects {
		from, known := e.clientY[f.Client]
		late := f.Late
		if known && f.Op != history.Read {
			e.behind.Shapes = append(e.behind.Shapes,
				at("line", "reach"+lateClass(late), f.At, from+beliefTop+beliefH, e.y+24-from-beliefTop-beliefH))
		}
		kind, class := "dot", string(f.Op)+lateClass(late)
		if !f.Accepted {
			kind, class = "ring", "refused"
		}
		s := at(kind, "effect "+class, f.At, 0, resourceHeight)
		s.Step, s.Event = true, f.Event
		s.Title = effectTitle(&f, late)
		name := s.beside("effect-words "+class, rankMark, []int{46}, EffectWords(&f))
		if late || !f.Accepted {
			name.Rank = rankBroken
		} else if f.Op == history.Read {
			name.Rank = rankRead
		}
		name.Join = true
		l.Shapes = append(l.Shapes, s)
	}
	e.add(l)
}

func lateClass(late bool) string {
	if late {
		return " late"
	}
	return ""
}

// effectText labels an effect: "c1 w 1", "c1 refused, 1 after 2".
func EffectWords(f *Effect) string {
	if !f.Accepted {
		if f.Token.IsSet() && f.Highest.IsSet() {
			return fmt.Sprintf("%s refused: token %s after %s", f.Client, f.Token, f.Highest)
		}
		return f.Client + " refused"
	}
	verb := string(f.Op)
	if f.Op == history.Read || f.Op == history.Write {
		verb = verb[:1]
	}
	text := f.Client + " " + verb
	if f.Number.IsSet() {
		text += " " + f.Number.String()
	}
	if f.Token.IsSet() && f.Op != history.Read {
		text += ", token " + f.Token.String()
	}
	return text
}

func effectTitle(f *Effect, late bool) string {
	what := fmt.Sprintf("%s of %s by %s", f.Op, f.Number, f.Client)
	if !f.Number.IsSet() {
		what = fmt.Sprintf("%s by %s", f.Op, f.Client)
	}
	verb := "applied"
	if !f.Accepted {
		verb = "refused"
	}
	text := fmt.Sprintf("the resource %s a %s", verb, what)
	if f.Token.IsSet() {
		text += ", token " + f.Token.String()
		if f.Highest.IsSet() {
			text += " after " + f.Highest.String()
		}
	}
	if late {
		text += ", after its promise had ended"
	}
	return text
}
