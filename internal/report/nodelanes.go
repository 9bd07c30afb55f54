package report

import (
	"fmt"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/report/swimlane"
)

// overlap is a stretch in which two holders stood side by side, and in what
// sense.
type overlap struct {
	swimlane.Span
	Words string
}

// overlapsOf collects what the checker boxed in. Equal stretches are told once.
func overlapsOf(v *Variant) []overlap {
	var list []overlap
	for _, name := range []checker.Property{checker.ExclusiveBelief, checker.ExclusiveLease} {
		for _, p := range v.Properties {
			if p.Name != name || p.Counterexample == nil || p.Counterexample.Overlap == nil {
				continue
			}
			o := p.Counterexample.Overlap
			span := swimlane.Span{From: o.From, To: o.To}
			words := "two holders at once, " + shortDuration(span.Length())
			if name == checker.ExclusiveLease {
				words = "inside two promises at once, " + shortDuration(span.Length())
			}
			if span.To <= span.From || len(list) > 0 && list[0].Span == span {
				continue
			}
			list = append(list, overlap{span, words})
		}
	}
	return list
}

// overlaps boxes the stretch over all clients and writes its length on top.
func (e *easel) overlaps(list []overlap, top, bottom int) {
	for i, o := range list {
		box := e.bar("overlap", o.Span, top, bottom-top)
		box.Title = fmt.Sprintf("%s  %s", seconds(o.From), o.Words)
		box.TextY = 15
		if i > 0 {
			box.TextY, box.Class = 28, "overlap second"
		}
		if e.fits(o.Words, o.Span) {
			box.Text = o.Words
			e.pic.Behind = append(e.pic.Behind, box)
			continue
		}
		e.pic.Behind = append(e.pic.Behind, box)
		words := e.at("text", "overlap-words", o.To, top, overlapHeight)
		words.Text, words.TextY = o.Words, box.TextY
		if e.turn(&words); words.End {
			words.A, words.X = int64(o.From), e.percent(o.From)
		}
		e.pic.Behind = append(e.pic.Behind, words)
	}
}

// nodes draws who had the majority, and then what each node kept.
func (e *easel) nodes() {
	if len(e.scene.Nodes) == 0 {
		return
	}
	e.y += groupGap
	if e.scene.KeysSeen {
		e.quorum()
	}
	var before string
	for i := range e.scene.Nodes {
		n := &e.scene.Nodes[i]
		l := lane{Kind: "node", Name: n.Name, H: nodeHeight, Shapes: e.bands(n.Name, nodeHeight-2, 13)}
		l.Shapes = append(l.Shapes, e.lives(n, len(l.Shapes) > 0)...)
		bands := len(l.Shapes)
		pattern := ""
		for _, k := range n.Keys {
			pattern += k.Owner + "\x00"
			l.Shapes = append(l.Shapes, e.key(n.Name, &k)...)
		}
		l.Quiet = bands == 0 && (len(n.Keys) == 0 || pattern == before)
		before = pattern
		e.add(l)
	}
}

// lives draws when a node was dead, when nobody knew its key, and when it became the primary. Where a
// fault is named in the lane already, that says enough.
func (e *easel) lives(n *swimlane.NodeLane, named bool) []shape {
	var list []shape
	for _, d := range n.Down {
		s := e.bar("down", d, 4, nodeHeight-10)
		s.Step, s.TextY = true, 9
		s.Title = fmt.Sprintf("%s  %s is down, until %s", seconds(d.From), n.Name, seconds(d.To))
		if !named && e.fits("down", d) {
			s.Text = "down"
		}
		list = append(list, s)
	}
	for _, u := range n.Unclear {
		s := e.bar("unclear", u, 4, nodeHeight-10)
		s.Step, s.TextY = true, 9
		s.Title = fmt.Sprintf("%s  nobody knows what %s has as its key, until %s", seconds(u.From), n.Name, seconds(u.To))
		if e.fits("not known", u) {
			s.Text = "not known"
		}
		list = append(list, s)
	}
	for _, at := range n.Promoted {
		s := e.at("line", "promoted", at, 0, nodeHeight-2)
		s.Step, s.Title = true, fmt.Sprintf("%s  %s becomes the primary", seconds(at), n.Name)
		s.Text, s.TextY = "primary", 13
		e.turn(&s)
		list = append(list, s)
	}
	return list
}

func (e *easel) quorum() {
	l := lane{Kind: "quorum", Name: "quorum", H: quorumHeight}
	if e.scene.Replicated {
		l.Name = "primary"
	}
	for i, q := range e.scene.Quorum {
		s := e.bar("quorum", q.Span, 3, quorumHeight-8)
		s.TextY, s.Step = 12, true
		number := fmt.Sprintf("%d of %d", q.Most, len(e.scene.Nodes))
		if q.Least != q.Most {
			number = fmt.Sprintf("%d to %d of %d", q.Least, q.Most, len(e.scene.Nodes))
		}
		s.Title = fmt.Sprintf("%s  a majority has the key of %s (%s nodes), until %s", seconds(q.From), holder(q.Client, q.Owner), number, seconds(q.To))
		text := holder(q.Client, q.Owner) + "  " + number
		if e.scene.Replicated {
			s.Title = fmt.Sprintf("%s  the primary has the key of %s, until %s", seconds(q.From), holder(q.Client, q.Owner), seconds(q.To))
			text = holder(q.Client, q.Owner)
		}
		if e.fits(text, q.Span) {
			s.Text = text
		}
		l.Shapes = append(l.Shapes, s)
		next := e.window.View.To
		if i+1 < len(e.scene.Quorum) {
			next = e.scene.Quorum[i+1].From
		}
		if s.Text == "" && e.fits(text, swimlane.Span{From: q.To, To: next}) {
			words := e.at("text", "quorum-words", q.To, 3, quorumHeight-8)
			words.Text, words.TextY = text, 12
			l.Shapes = append(l.Shapes, words)
		}
	}
	e.add(l)
}

// key draws a node's key: its holder, and a tick where it ran out.
func (e *easel) key(node string, k *swimlane.KeyHold) []shape {
	who := holder(k.Client, k.Owner)
	class := "key"
	if e.scene.Turns[k.Owner]%2 == 1 {
		// Every second owner's keys are drawn hollow, so that a change of holder
		// shows.
		class = "key odd"
	}
	s := e.bar(class, k.Span, 2, nodeHeight-6)
	s.TextY, s.Event = 11, k.Event
	end := "deleted or taken over"
	if k.Expired {
		end = "expired"
	}
	s.Title = fmt.Sprintf("%s  %s has the key of %s; %s at %s", seconds(k.From), node, who, end, seconds(k.To))
	if e.fits(who, k.Span) {
		s.Text = who
	}
	list := []shape{s}
	if k.Expired {
		tick := e.at("line", "expired", k.To, 0, nodeHeight-2)
		tick.Title = fmt.Sprintf("%s  the key of %s on %s expired", seconds(k.To), who, node)
		list = append(list, tick)
	}
	return list
}

// holder names who a key belongs to: the client, or the key's value where no
// operation tells whose it is.
func holder(client, owner string) string {
	if client != "" {
		return client
	}
	return "“" + clip(owner, 10) + "”"
}

// focusOf is the stretch of run time that a variant's violation is told in.
func focusOf(v *Variant) swimlane.Span {
	var focus swimlane.Span
	found := false
	include := func(t time.Duration) {
		if t < 0 {
			return
		}
		if !found {
			focus, found = swimlane.Span{From: t, To: t}, true
		}
		focus = swimlane.Span{From: min(focus.From, t), To: max(focus.To, t)}
	}
	lead := pictured(v)
	if lead == nil {
		return focus
	}
	if c := lead.Counterexample; c != nil {
		for _, s := range c.Story {
			include(s.At)
		}
		for _, o := range c.Operations {
			include(o.From)
			include(o.To)
		}
		if c.Overlap != nil {
			include(c.Overlap.From)
			include(c.Overlap.To)
		}
	}
	if v.History != nil && !found {
		for _, at := range lead.Events[:min(len(lead.Events), 20)] {
			if at >= 0 && at < len(v.History.Events) {
				include(v.History.Events[at].Time)
			}
		}
	}
	if found && focus.Length() == 0 {
		focus.To += time.Millisecond
	}
	return focus
}

// coreOf is the instant that a picture must show if it can show but one.
func coreOf(v *Variant) time.Duration {
	lead := pictured(v)
	if lead == nil {
		return 0
	}
	events := lead.Events
	if c := lead.Counterexample; c != nil {
		if c.Overlap != nil {
			return c.Overlap.From
		}
		events = append([]int{c.Impossible}, events...)
	}
	for _, i := range events {
		if v.History != nil && i >= 0 && i < len(v.History.Events) {
			return v.History.Events[i].Time
		}
	}
	return focusOf(v).From
}

// pictured is the property that a variant's picture is about: the one whose story is
// told, or else the first that was violated.
func pictured(v *Variant) *PropertyResult {
	if lead := leadOf(v); lead != nil {
		return lead
	}
	for i := range v.Properties {
		if v.Properties[i].Verdict == checker.Violated {
			return &v.Properties[i]
		}
	}
	return nil
}
