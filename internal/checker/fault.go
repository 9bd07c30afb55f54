package checker

import (
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// fault is one fault that struck, from its begin to its end.
type fault struct {
	begin, end int // events; end is -1 where it lasted
	id         int
	took       time.Duration
	impact     *history.Impact
	// strikes are the effects of its impact, or all that there are on its target
	// where the history does not say what it did.
	strikes []history.Strike
}

// anything lists all that a fault can do.
var anything = []history.Does{history.Stops, history.Kills, history.Forgets, history.Delays, history.Drops,
	history.Breaks, history.BendsClock, history.Promotes}

func (v *view) collectFaults() {
	type name struct {
		id           int
		kind, target string
	}
	named := func(e *history.Event) name { return name{e.Value.ID(), e.Value.Fault(), e.Value.Target()} }
	open := make(map[name][]int)
	ids := make(map[int]bool)
	for i := range v.h.Events {
		e := &v.h.Events[i]
		switch e.F {
		case history.FaultBegin:
			ids[e.Value.ID()] = true
			open[named(e)] = append(open[named(e)], len(v.faults))
			v.faults = append(v.faults, fault{begin: i, end: -1, id: e.Value.ID(), took: time.Duration(e.Value.Took().V()),
				impact: e.Value.Impact(), strikes: v.strikesOf(e)})
		case history.FaultEnd:
			if list := open[named(e)]; len(list) > 0 {
				f := &v.faults[list[0]]
				f.end = i
				f.took = e.Time - v.at(f.begin)
				if e.Value.Took().IsSet() {
					f.took = time.Duration(e.Value.Took().V())
				}
				open[named(e)] = list[1:]
			}
		}
	}
	v.fired = len(ids)
}

// strikesOf says what a fault does. One that does not say so, or says what nobody
// here understands, may do anything to its target.
func (v *view) strikesOf(e *history.Event) []history.Strike {
	impact := e.Value.Impact()
	if impact != nil && len(impact.Effects) > 0 &&
		!slices.ContainsFunc(impact.Effects, func(s history.Strike) bool { return !slices.Contains(anything, s.Does) }) {
		return impact.Effects
	}
	var whom history.Strike
	switch target := e.Value.Target(); {
	case slices.Contains(v.h.Header.Nodes, target):
		whom.Nodes = []string{target}
	case slices.Contains(v.h.Header.Clients, target):
		whom.Clients = []string{target}
	default:
		whom.Resource = true // something that is neither
	}
	all := make([]history.Strike, len(anything))
	for i, does := range anything {
		all[i] = whom
		all[i].Does = does
	}
	return all
}

// does reports whether the fault does something of a kind.
func (f *fault) does(d history.Does) bool {
	return slices.ContainsFunc(f.strikes, func(s history.Strike) bool { return s.Does == d })
}

// strikesClient reports whether the fault does something of a kind to a client,
// strikesNode whether to a node.
func (f *fault) strikesClient(d history.Does, client string) bool {
	return slices.ContainsFunc(f.strikes, func(s history.Strike) bool { return s.Does == d && slices.Contains(s.Clients, client) })
}

func (f *fault) strikesNode(d history.Does, node string) bool {
	return slices.ContainsFunc(f.strikes, func(s history.Strike) bool { return s.Does == d && slices.Contains(s.Nodes, node) })
}

// mayForget reports whether a node may have other keys after the fault than before.
func (f *fault) mayForget(node string) bool {
	return f.strikesNode(history.Kills, node) || f.strikesNode(history.Forgets, node) || f.strikesNode(history.Promotes, node)
}

// clients are those that the fault strikes themselves, not by a link.
func (f *fault) clients() []string {
	var list []string
	for _, s := range f.strikes {
		list = append(list, s.Clients...)
	}
	return list
}

// killed is the event at which a client was killed between two others, -1 where
// it was not; to is -1 for the end of the history.
func (v *view) killed(client string, from, to int) int {
	for i := range v.faults {
		f := &v.faults[i]
		if f.begin > from && (to < 0 || f.begin < to) && f.strikesClient(history.Kills, client) {
			return f.begin
		}
	}
	return -1
}
