package facts

import (
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// Disturbances say what can have kept clients and nodes from what they told one another.
type Disturbances struct {
	facts *Facts
	// nodeEvents are those in which a node went down, came up, was promoted or was demoted.
	nodeEvents []int
	// stalls are the events that tell that this machine stalled.
	stalls []int
}

// NewDisturbances looks for them in a history.
func (f *Facts) NewDisturbances() *Disturbances {
	d := &Disturbances{facts: f}
	for i := range f.History.Events {
		switch f.Event(i).F {
		case history.NodeDown, history.NodeUp, history.NodePromoted, history.NodeDemoted:
			d.nodeEvents = append(d.nodeEvents, i)
		case history.Stalled:
			d.stalls = append(d.stalls, i)
		}
	}
	return d
}

// Stalled is for how long in a stretch of the run this machine stalled.
func (d *Disturbances) Stalled(from, to time.Duration) (sum time.Duration) {
	for _, i := range d.stalls {
		e := d.facts.Event(i)
		sum += max(0, min(to, e.Time)-max(from, e.Time-time.Duration(e.Value.Took().V())))
	}
	return sum
}

// Struck reports that a fault struck a client at some instant of a stretch, or that its lock program had ended.
func (d *Disturbances) Struck(client string, from, to time.Duration) bool {
	return slices.ContainsFunc(d.facts.ProgramEnds, func(i int) bool {
		return d.facts.Event(i).Process == client && d.facts.At(i) <= to
	}) || d.anyIn(from, to, func(s history.Strike) bool { return slices.Contains(s.Clients, client) })
}

// Between reports that something disturbed what a client and a node told one another, at some instant of a stretch.
func (d *Disturbances) Between(client, node string, from, to time.Duration) bool {
	return d.BetweenBut("", client, node, from, to)
}

// BetweenBut is Between, but for an effect that faults have.
func (d *Disturbances) BetweenBut(not history.Does, client, node string, from, to time.Duration) bool {
	touches := func(l history.Link) bool { return d.touches(l, client, node) }
	return d.anyIn(from, to, func(s history.Strike) bool {
		return s.Does != not && (slices.Contains(s.Nodes, node) || slices.ContainsFunc(s.Links, touches))
	}) || slices.ContainsFunc(d.nodeEvents, func(i int) bool {
		e := d.facts.Event(i)
		return e.Process == node && e.Time >= from && e.Time <= to
	})
}

// BetweenAny reports that something disturbed what a client and some node told one another.
func (d *Disturbances) BetweenAny(client string, from, to time.Duration) bool {
	return slices.ContainsFunc(d.facts.History.Header.Nodes, func(node string) bool { return d.Between(client, node, from, to) })
}

// anyIn reports that a fault which does such a thing lasts at some instant of a stretch.
func (d *Disturbances) anyIn(from, to time.Duration, does func(history.Strike) bool) bool {
	return slices.ContainsFunc(d.facts.Faults, func(f Fault) bool {
		return d.facts.At(f.Begin) <= to && d.facts.At(f.End) >= from && slices.ContainsFunc(f.Strikes, does)
	})
}

// touches reports that a link may be on the way between a client and a node.
func (d *Disturbances) touches(l history.Link, client, node string) bool {
	h := &d.facts.History.Header
	other := func(end string) bool {
		return end == history.ResourceProcess || end != client && slices.Contains(h.Clients, end)
	}
	elsewhere := func(from, to string) bool { return from == client && to != node && slices.Contains(h.Nodes, to) }
	return !other(l.From) && !other(l.To) && !elsewhere(l.From, l.To) && !elsewhere(l.To, l.From)
}
