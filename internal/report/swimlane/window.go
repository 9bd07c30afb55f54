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
// and with at most limit events in the extent. A zero focus means that
// there is nothing to look at in particular.
func Frame(h *history.History, end time.Duration, focus Span, limit int) Window {
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

// Crop leaves out what lies outside the span, and bars beyond limit a lane.
// It returns how many it left out inside the span.
func (s *Scene) Crop(span Span, limit int) (dropped int) {
	for i := range s.Clients {
		c := &s.Clients[i]
		c.Holds = keep(c.Holds, limit, &dropped, func(h Hold) bool { return h.Touches(span) })
		c.Marks = keep(c.Marks, limit, &dropped, func(m Mark) bool { return m.Touches(span) })
	}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		n.Keys = keep(n.Keys, limit, &dropped, func(k KeyHold) bool { return k.Touches(span) })
	}
	s.Quorum = keep(s.Quorum, limit, &dropped, func(q QuorumHold) bool { return q.Touches(span) })
	s.Effects = keep(s.Effects, limit, &dropped, func(e Effect) bool { return e.At >= span.From && e.At <= span.To })
	s.Bands = keep(s.Bands, limit, &dropped, func(b Band) bool { return b.Touches(span) })
	return dropped
}

func keep[T any](list []T, limit int, dropped *int, in func(T) bool) []T {
	kept := slices.DeleteFunc(slices.Clone(list), func(t T) bool { return !in(t) })
	if len(kept) > limit {
		*dropped += len(kept) - limit
		kept = kept[:limit]
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
	for i := range s.Clients {
		c := &s.Clients[i]
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
