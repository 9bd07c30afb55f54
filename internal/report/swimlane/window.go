package swimlane

import (
	"slices"
	"sort"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// Window is what of a run is drawn. View is what one sees at first, Extent what
// one can zoom out to; View lies inside Extent.
type Window struct {
	View, Extent Span
	// Whole says that Extent is the whole run.
	Whole bool
}

// Frame chooses what to draw of a run: around focus, with room on both sides,
// and with about limit events at most in the extent. A zero focus means that
// there is nothing to look at in particular. Where the focus alone has more
// events than that, only what surrounds the instant core is drawn.
func Frame(h *history.History, end time.Duration, focus Span, core time.Duration, limit int) Window {
	run := Span{0, max(end, 1)}
	if h == nil || len(h.Events) <= limit {
		return Window{View: viewOf(run, focus), Extent: run, Whole: true}
	}
	view := focus
	if focus == (Span{}) {
		view = Span{0, h.Events[limit/2].Time}
	}
	view = viewOf(run, view)
	at := func(t time.Duration) int {
		return sort.Search(len(h.Events), func(i int) bool { return h.Events[i].Time >= t })
	}
	first, last := at(view.From), at(view.To)
	if spare := limit - (last - first); spare > 0 {
		first, last = max(0, first-spare/2), min(len(h.Events)-1, last+spare/2)
		extent := Span{min(view.From, h.Events[first].Time), max(view.To, h.Events[last].Time)}
		return Window{View: view, Extent: extent}
	}
	first = max(0, min(at(core), len(h.Events)-1)-limit/2)
	last = min(len(h.Events)-1, first+limit)
	view = Span{h.Events[first].Time, max(h.Events[last].Time, h.Events[first].Time+1)}
	return Window{View: view, Extent: view}
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

// Crop leaves out what lies outside the window's extent, and of a lane with more
// than limit things those that are not in view before those that are. It
// returns how many it left out inside the extent.
func (s *Scene) Crop(w Window, limit int) (dropped int) {
	for i := range s.Clients {
		c := &s.Clients[i]
		c.Holds = keep(c.Holds, w, limit, &dropped, func(h Hold) Span { return h.Span })
		c.Marks = keep(c.Marks, w, limit, &dropped, func(m Mark) Span { return m.Span })
	}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		n.Keys = keep(n.Keys, w, limit, &dropped, func(k KeyHold) Span { return k.Span })
		n.Down = keep(n.Down, w, limit, &dropped, func(d Span) Span { return d })
		n.Unclear = keep(n.Unclear, w, limit, &dropped, func(u Span) Span { return u })
	}
	s.Quorum = keep(s.Quorum, w, limit, &dropped, func(q QuorumHold) Span { return q.Span })
	s.Effects = keep(s.Effects, w, limit, &dropped, func(e Effect) Span { return Span{e.At, e.At} })
	s.Bands = keep(s.Bands, w, limit, &dropped, func(b Band) Span { return b.Span })
	return dropped
}

func keep[T any](list []T, w Window, limit int, dropped *int, where func(T) Span) []T {
	var inside []T
	seen := 0
	for _, t := range list {
		if where(t).Touches(w.Extent) {
			inside = append(inside, t)
			if where(t).Touches(w.View) {
				seen++
			}
		}
	}
	if len(inside) <= limit {
		return inside
	}
	*dropped += len(inside) - limit
	inView, outOfView := min(seen, limit), limit-min(seen, limit)
	kept := inside[:0]
	for _, t := range inside {
		room := &outOfView
		if where(t).Touches(w.View) {
			room = &inView
		}
		if *room > 0 {
			*room--
			kept = append(kept, t)
		}
	}
	return kept
}

// Cast leaves at most limit client lanes: those named in must, and then the
// ones busiest within the span. Where it has to leave some out, it leaves out
// all that do nothing in the span. It returns how many it left out; the order
// stays.
func (s *Scene) Cast(must []string, span Span, limit int) (dropped int) {
	if len(s.Clients) <= limit {
		return 0
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
	slices.Sort(order)
	dropped = len(s.Clients) - len(order)
	kept := make([]ClientLane, 0, len(order))
	for _, i := range order {
		kept = append(kept, s.Clients[i])
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
