package report

import (
	"fmt"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/report/plain"
	"github.com/redlock-sim/redlock-sim/internal/report/swimlane"
	"github.com/redlock-sim/redlock-sim/internal/words"
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
			said := "two holders at once, " + words.Duration(span.Length())
			if name == checker.ExclusiveLease {
				said = "inside two promises at once, " + words.Duration(span.Length())
			}
			if span.To <= span.From || len(list) > 0 && list[0].Span == span {
				continue
			}
			list = append(list, overlap{span, said})
		}
	}
	return list
}

// overlaps boxes the stretch over all clients and writes its length on top.
func (e *easel) overlaps(list []overlap, top, bottom int) {
	for i, o := range list {
		row := top + i*overlapHeight
		box := bar("overlap", o.Span, row, bottom-row)
		box.Title = o.Words
		if i > 0 {
			box.Class = "overlap second"
		}
		box.inside("overlap-words", rankOverlap, []int{row + 15}, o.Words).Outside = []string{o.Words, words.Duration(o.Length())}
		e.behind.Shapes = append(e.behind.Shapes, box)
	}
}

// nodeRow is the baseline of text in a node's lane.
const nodeRow = 13

// nodes draws who had the majority, and then what each node kept.
func (e *easel) nodes() {
	if len(e.scene.Nodes) == 0 {
		return
	}
	e.y += groupGap
	if e.scene.KeysSeen {
		e.quorum()
	}
	e.pic.Led, e.pic.Watched = e.scene.Replicated, len(e.scene.Sentinels) > 0
	splitY := e.y
	if len(e.scene.Splits) > 0 {
		e.y += overlapHeight
	}
	var before string
	for i := range e.scene.Nodes {
		n := &e.scene.Nodes[i]
		l := lane{Kind: "node", Name: n.Name, H: nodeHeight}
		e.bands(&l, nodeRow)
		lives(&l, n)
		bands := len(l.Shapes)
		pattern := ""
		for _, k := range n.Keys {
			pattern += k.Owner + "\x00"
			e.key(&l, &k)
		}
		l.Quiet = bands == 0 && (len(n.Keys) == 0 || pattern == before)
		before = pattern
		e.add(l)
	}
	for i := range e.scene.Sentinels {
		e.sentinel(&e.scene.Sentinels[i])
	}
	for _, s := range e.scene.Splits {
		box := bar("overlap split", s, splitY, e.y-splitY)
		box.Title = "two primaries at once, " + words.Duration(s.Length())
		box.inside("overlap-words", rankOverlap, []int{splitY + 15}, box.Title).Outside = []string{box.Title, words.Duration(s.Length())}
		e.behind.Shapes = append(e.behind.Shapes, box)
	}
}

// sentinel draws whom a sentinel took for the primary, and what it did about that.
func (e *easel) sentinel(n *swimlane.SentinelLane) {
	l := lane{Kind: "node", Name: n.Name, H: nodeHeight}
	e.bands(&l, nodeRow)
	for i, v := range n.Sees {
		class := "sight"
		if i%2 == 1 {
			class = "sight odd"
		}
		s := bar(class, v.Span, 2, nodeHeight-6)
		s.Event, s.Step = v.Event, v.Event >= 0
		s.Title = fmt.Sprintf("%s takes %s for the primary", n.Name, v.Primary)
		s.inside("node-words", rankNode, []int{nodeRow}, "primary "+v.Primary, v.Primary)
		l.Shapes = append(l.Shapes, s)
	}
	for _, t := range n.Tilt {
		s := bar("unclear", t, 2, nodeHeight-6)
		s.Step, s.Title = true, n.Name+" is in TILT: it trusts no times, and decides nothing"
		s.inside("node-words", rankNode, []int{nodeRow}, "TILT")
		l.Shapes = append(l.Shapes, s)
	}
	for _, d := range n.Deeds {
		s := at("line", "deed", d.At, nodeHeight-6, 6)
		s.Event, s.Title = d.Event, fmt.Sprintf("%s: %s %s", n.Name, d.Word, d.About)
		if d.Epoch.IsSet() {
			s.Title += fmt.Sprintf(", epoch %d", d.Epoch.V())
		}
		l.Shapes = append(l.Shapes, s)
	}
	e.add(l)
}

// lives draws when a node was dead, when nobody knew its key, and when it became the primary.
func lives(l *lane, n *swimlane.NodeLane) {
	for _, d := range n.Down {
		s := bar("down", d, 4, nodeHeight-10)
		s.Step = true
		s.Title = n.Name + " is down"
		s.inside("node-words", rankNode, []int{nodeRow}, "down")
		l.Shapes = append(l.Shapes, s)
	}
	for _, u := range n.Unclear {
		s := bar("unclear", u, 4, nodeHeight-10)
		s.Step = true
		s.Title = fmt.Sprintf("nobody knows what %s has as its key", n.Name)
		s.inside("node-words", rankNode, []int{nodeRow}, "not known")
		l.Shapes = append(l.Shapes, s)
	}
	for _, p := range n.Primary {
		s := bar("primary", p, nodeHeight-4, 3)
		s.Title = n.Name + " serves as the primary"
		l.Shapes = append(l.Shapes, s)
	}
	for _, t := range n.Promoted {
		s := at("line", "promoted", t, 0, nodeHeight-2)
		s.Step, s.Title = true, n.Name+" becomes the primary"
		s.beside("node-words", rankBroken, []int{nodeRow}, "primary")
		l.Shapes = append(l.Shapes, s)
	}
}

func (e *easel) quorum() {
	l := lane{Kind: "quorum", Name: "quorum", H: quorumHeight}
	if e.scene.Replicated {
		l.Name = "primary"
	}
	for i, q := range e.scene.Quorum {
		s := bar("quorum", q.Span, 3, quorumHeight-8)
		s.Step = true
		number := fmt.Sprintf("%d of %d", q.Most, len(e.scene.Nodes))
		if q.Least != q.Most {
			number = fmt.Sprintf("%d to %d of %d", q.Least, q.Most, len(e.scene.Nodes))
		}
		who := holder(q.Client, q.Owner)
		s.Title = fmt.Sprintf("a majority has the key of %s (%s nodes)", who, number)
		name := s.inside("quorum-words", rankNode, []int{3 + 12}, who+"  "+number, who)
		if e.scene.Replicated {
			s.Title = "the primary has the key of " + who
			name.Inside = []string{who}
		}
		if i+1 < len(e.scene.Quorum) { // two primaries may each have a key
			name.B = min(name.B, max(name.A, int64(e.scene.Quorum[i+1].From)))
		}
		l.Shapes = append(l.Shapes, s)
	}
	e.add(l)
}

// key draws a node's key: its holder, and a tick where it ran out.
func (e *easel) key(l *lane, k *swimlane.KeyHold) {
	who := holder(k.Client, k.Owner)
	class := "key"
	if e.scene.Turns[k.Owner]%2 == 1 {
		// Every second owner's keys are drawn hollow, so that a change of holder
		// shows.
		class = "key odd"
	}
	s := bar(class, k.Span, 2, nodeHeight-6)
	s.Event = k.Event
	end := "deleted or taken over"
	if k.Expired {
		end = "expired"
	}
	s.Title = fmt.Sprintf("%s has the key of %s; then it is %s", l.Name, who, end)
	s.inside("node-words", rankMark, []int{nodeRow}, who)
	l.Shapes = append(l.Shapes, s)
	if k.Expired {
		t := at("line", "expired", k.To, 0, nodeHeight-2)
		t.Title = fmt.Sprintf("the key of %s on %s expired", who, l.Name)
		l.Shapes = append(l.Shapes, t)
	}
}

// holder names who a key belongs to: the client, or the key's value where no
// operation tells whose it is.
func holder(client, owner string) string {
	if client != "" {
		return client
	}
	return "“" + plain.Clip(owner, 10) + "”"
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

// violationsOf are the stretches of run time in which properties were violated.
func violationsOf(v *Variant) []swimlane.Span {
	var list []swimlane.Span
	for i := range v.Properties {
		p := &v.Properties[i]
		if p.Verdict != checker.Violated {
			continue
		}
		var span swimlane.Span
		if c := p.Counterexample; c != nil && c.Overlap != nil {
			span = swimlane.Span{From: c.Overlap.From, To: c.Overlap.To}
		} else if at, ok := momentOf(v, p); ok {
			span = swimlane.Span{From: at, To: at}
			if c := p.Counterexample; c == nil || c.Impossible < 0 { // no one event broke it
				for _, i := range p.Events {
					if i >= 0 && i < len(v.History.Events) {
						span.To = max(span.To, v.History.Events[i].Time)
					}
				}
			}
		} else {
			continue
		}
		if !slices.Contains(list, span) {
			list = append(list, span)
		}
	}
	return list
}

// momentOf is when a property was violated: at the event that makes its counterexample impossible,
// or else at the first event of the violation.
func momentOf(v *Variant, p *PropertyResult) (time.Duration, bool) {
	events := p.Events
	if c := p.Counterexample; c != nil {
		events = append([]int{c.Impossible}, events...)
	}
	for _, i := range events {
		if v.History != nil && i >= 0 && i < len(v.History.Events) {
			return v.History.Events[i].Time, true
		}
	}
	return 0, false
}

// coreOf is the instant that a picture must show if it can show but one.
func coreOf(v *Variant) time.Duration {
	lead := pictured(v)
	if lead == nil {
		return 0
	}
	if c := lead.Counterexample; c != nil && c.Overlap != nil {
		return c.Overlap.From
	}
	if at, ok := momentOf(v, lead); ok {
		return at
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
