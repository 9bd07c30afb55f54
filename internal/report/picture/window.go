package picture

import (
	"slices"
	"sort"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// Frame chooses what of a run is seen at first: the focus, with room on both sides. A
// zero focus means that there is nothing to look at in particular. Where the focus, or a
// run without one, has more than limit events, only what surrounds the instant core is.
func Frame(h *history.History, end time.Duration, focus Span, core time.Duration, limit int) Span {
	view := viewOf(Span{0, max(end, 1)}, focus)
	if h == nil || len(h.Events) <= limit {
		return view
	}
	at := func(t time.Duration) int {
		return sort.Search(len(h.Events), func(i int) bool { return h.Events[i].Time >= t })
	}
	if at(view.To)-at(view.From) <= limit {
		return view
	}
	first := max(0, min(at(core), len(h.Events)-1)-limit/2)
	last := min(len(h.Events)-1, first+limit)
	return Span{h.Events[first].Time, max(h.Events[last].Time, h.Events[first].Time+1)}
}

// viewOf gives the focus room to breathe; a focus that fills much of the run,
// or none, shows all of it.
func viewOf(run, focus Span) Span {
	if focus == (Span{}) {
		return run
	}
	room := max(focus.Length()*15/100, 2*time.Millisecond)
	view := Span{max(run.From, focus.From-room), min(run.To, focus.To+room)}
	if view.Length()*2 > run.Length() {
		return run
	}
	return view
}

// Thin leaves out things of a scene until it has about limit of them: such as are
// shorter than some length, and as near to the one before them. That length is returned; it is 0
// if nothing was left out. What touches the view stays, unless it is too much by itself.
func (s *Scene) Thin(view Span, limit int) time.Duration {
	if s.size(Span{0, s.End}) <= limit {
		return s.Apart
	}
	keep := view
	if s.size(view) > limit/2 {
		keep = Span{-1, -1}
	}
	for length := s.shortest(); ; length *= 2 {
		s.thin(keep, length)
		if s.size(Span{0, s.End}) <= limit || length > s.End {
			return length
		}
	}
}

// shortest is the first length that Thin tries.
func (s *Scene) shortest() time.Duration { return max(s.End/50_000, 1) }

// thinLongest thins the lists that are longer than a limit, a first time.
func (s *Scene) thinLongest(view Span, limit int) {
	for _, l := range s.longest() {
		if l.length > limit {
			l.thin(view, s.shortest())
			s.Apart = s.shortest()
		}
	}
}

// size counts the things within a span.
func (s *Scene) size(span Span) int {
	n := 0
	for _, l := range s.lists() {
		for i := range l.length {
			if l.at(i).Touches(span) {
				n++
			}
		}
	}
	return n
}

func (s *Scene) thin(view Span, length time.Duration) {
	for _, l := range s.lists() {
		l.thin(view, length)
	}
}

func (l list) thin(view Span, length time.Duration) {
	var kept []int
	last := -length
	for i := range l.length {
		at := l.at(i)
		if at.Touches(view) || at.Length() >= length || at.From-last >= length {
			kept, last = append(kept, i), at.From
		}
	}
	l.keep(kept)
}

// list is a list of things of which a scene may have many. keep leaves those at the places.
type list struct {
	length int
	at     func(i int) Span
	keep   func(places []int)
}

// longest are the lists that grow with the sections of a run.
func (s *Scene) longest() []list {
	all := []list{
		listOf(&s.Quorum, func(q *QuorumHold) Span { return q.Span }),
		listOf(&s.Effects, func(e *Effect) Span { return Span{e.At, e.At} }),
	}
	for i := range s.Clients {
		c := &s.Clients[i]
		all = append(all, listOf(&c.Holds, func(h *Hold) Span { return h.Span }), listOf(&c.Marks, func(m *Mark) Span { return m.Span }))
	}
	for i := range s.Nodes {
		all = append(all, listOf(&s.Nodes[i].Keys, func(k *KeyHold) Span { return k.Span }))
	}
	return all
}

func (s *Scene) lists() []list {
	all := append(s.longest(), listOf(&s.Bands, func(b *Band) Span { return b.Span }))
	for i := range s.Witnesses {
		l := &s.Witnesses[i]
		all = append(all, listOf(&l.Sees, func(v *Sight) Span { return v.Span }), listOf(&l.Idle, func(t *Span) Span { return *t }),
			listOf(&l.Deeds, func(d *Deed) Span { return Span{d.At, d.At} }))
	}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		all = append(all, listOf(&n.Down, func(d *Span) Span { return *d }),
			listOf(&n.Unclear, func(u *Span) Span { return *u }), listOf(&n.Primary, func(p *Span) Span { return *p }))
	}
	return all
}

func listOf[T any](all *[]T, where func(*T) Span) list {
	return list{len(*all), func(i int) Span { return where(&(*all)[i]) }, func(places []int) {
		kept := make([]T, len(places))
		for i, at := range places {
			kept[i] = (*all)[at]
		}
		*all = kept
	}}
}

// Cast leaves at most limit client lanes: those named in must, and then the
// ones busiest within the span. Where it has to leave some out, it leaves out
// all that do nothing in the span. It returns whom it left out; the order
// stays.
func (s *Scene) Cast(must []string, span Span, limit int) (dropped []string) {
	if len(s.Clients) <= limit {
		return nil
	}
	weights := make([]int, len(s.Clients))
	order := make([]int, 0, len(s.Clients))
	for i, c := range s.Clients {
		weights[i] = c.busy(span)
		if slices.Contains(must, c.Name) {
			weights[i] += 1 << 30
		}
		if weights[i] > 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return weights[b] - weights[a] })
	order = order[:min(limit, len(order))]
	kept := make([]ClientLane, 0, len(order))
	for i := range s.Clients {
		if slices.Contains(order, i) {
			kept = append(kept, s.Clients[i])
		} else {
			dropped = append(dropped, s.Clients[i].Name)
		}
	}
	s.Clients = kept
	return dropped
}

// busy counts what the lane shows within a span.
func (c *ClientLane) busy(span Span) int {
	n := 0
	for i := range c.Holds {
		if c.Holds[i].Touches(span) {
			n++
		}
	}
	for i := range c.Marks {
		if c.Marks[i].Touches(span) {
			n++
		}
	}
	return n
}

// Density counts the operations that began in each of n equal parts of a run.
func Density(h *history.History, end time.Duration, n int) []int {
	counts := make([]int, n)
	if h == nil || end <= 0 {
		return counts
	}
	for i := range h.Events {
		if e := &h.Events[i]; e.IsOp() && e.Type == history.Invoke {
			counts[min(n-1, int(float64(e.Time)/float64(end)*float64(n)))]++
		}
	}
	return counts
}
