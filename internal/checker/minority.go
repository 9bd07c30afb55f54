package checker

import (
	"context"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker/facts"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// judgeMinority: while only a minority of the nodes is struck, the lock is still
// granted within the bound.
func judgeMinority(_ context.Context, j *judge, o Options) Finding {
	f := Finding{Effort: Effort{Operations: len(j.Ops), Of: "grants with a minority struck"}, Method: "time to the next grant"}
	windows := j.minorityWindows()
	if len(windows) == 0 {
		return unknown("at no time was only a minority of the nodes struck", f.Effort)
	}
	slowest := time.Duration(0)
	for _, x := range windows {
		w := j.watchGrants(x.window, x.closed, o.GrantWithin)
		f.Effort.Chances += w.granted
		slowest = max(slowest, w.slowest)
		if w.starved != nil {
			return j.starvationFinding(f, w.starved, o.GrantWithin, "with a minority of the nodes struck", x.event)
		}
	}
	return f.noViolation("no client asked for long enough while a minority was struck",
		"%s with a minority struck, the slowest after %s (bound %s)",
		words.Count(f.Effort.Chances, "grant"), length(slowest), length(o.GrantWithin))
}

// stretchOfEvents is a window that events open and close.
type stretchOfEvents struct {
	window
	closed int
}

// minorityWindows are the stretches of the run during which some nodes, but
// fewer than half, were struck, themselves or on a client's link to them, and
// nothing else was: a paused client or a cut link to the resource would be an excuse
// of its own.
func (j *judge) minorityWindows() []stretchOfEvents {
	type change struct {
		event, fault, by int
	}
	var changes []change
	for i := range j.Faults {
		changes = append(changes, change{j.Faults[i].Begin, i, 1})
		if j.Faults[i].End >= 0 {
			changes = append(changes, change{j.Faults[i].End, i, -1})
		}
	}
	slices.SortFunc(changes, func(a, b change) int { return a.event - b.event })
	struck, others := make(map[string]int), 0
	var list []stretchOfEvents
	open := -1
	for _, c := range changes {
		nodes, other := j.nodesStruck(&j.Faults[c.fault])
		for _, n := range nodes {
			if struck[n] += c.by; struck[n] == 0 {
				delete(struck, n)
			}
		}
		if other {
			others += c.by
		}
		clean := len(struck) > 0 && 2*facts.CountAll(j.Facts, struck) < j.NodesTotal() && others == 0
		if clean && open < 0 {
			open = len(list)
			list = append(list, stretchOfEvents{window{j.At(c.event), facts.Forever, c.event}, len(j.History.Events)})
		} else if !clean && open >= 0 {
			list[open].to, list[open].closed = j.At(c.event), c.event
			open = -1
		}
	}
	return list
}

// nodesStruck are the nodes that a fault strikes; other says that it strikes something
// else as well.
func (j *judge) nodesStruck(f *facts.Fault) (nodes []string, other bool) {
	for _, s := range f.Strikes {
		nodes = append(nodes, s.Nodes...)
		other = other || s.Resource || len(s.Clients) > 0
		for _, l := range s.Links {
			if slices.Contains(j.History.Header.Nodes, l.To) && !slices.Contains(j.History.Header.Nodes, l.From) {
				nodes = append(nodes, l.To)
			} else {
				other = true
			}
		}
	}
	slices.Sort(nodes)
	return slices.Compact(nodes), other
}
