package facts

import (
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// Fault is one fault that struck, from its begin to its end.
type Fault struct {
	Begin, End int // events; End is -1 where it lasted
	id         int
	Took       time.Duration
	Impact     *history.Impact
	// Strikes are the effects of its impact, or all that there are on its target
	// where the history does not say what it did.
	Strikes []history.Strike
	// Cancelled are the clients whose attempts it cancelled, which strikes nobody.
	Cancelled []string
}

// allEffects lists all that a fault can do.
var allEffects = []history.Does{history.Stops, history.Kills, history.Forgets, history.Delays, history.Silences, history.Drops,
	history.Breaks, history.Refuses, history.BendsClock, history.Promotes}

// collectFaults pairs the begins of faults with their ends.
func (f *Facts) collectFaults() {
	type name struct {
		id           int
		kind, target string
	}
	named := func(e *history.Event) name { return name{e.Value.ID(), e.Value.Fault(), e.Value.Target()} }
	open := make(map[name][]int)
	ids := make(map[int]bool)
	for i := range f.History.Events {
		e := &f.History.Events[i]
		switch e.F {
		case history.FaultBegin:
			ids[e.Value.ID()] = true
			open[named(e)] = append(open[named(e)], len(f.Faults))
			fault := Fault{Begin: i, End: -1, id: e.Value.ID(), Took: time.Duration(e.Value.Took().V()), Impact: e.Value.Impact()}
			fault.Strikes, fault.Cancelled = f.strikesOf(e)
			f.Faults = append(f.Faults, fault)
		case history.FaultEnd:
			if list := open[named(e)]; len(list) > 0 {
				fault := &f.Faults[list[0]]
				fault.End = i
				fault.Took = e.Time - f.At(fault.Begin)
				if e.Value.Took().IsSet() {
					fault.Took = time.Duration(e.Value.Took().V())
				}
				open[named(e)] = list[1:]
			}
		case history.ProgramEnded:
			f.ProgramEnds = append(f.ProgramEnds, i)
		}
	}
	f.FaultsSeen = len(ids)
}

// strikesOf says what a fault does. One that does not say so, or says what nobody
// here understands, may do anything to its target. To cancel an attempt strikes nobody.
func (f *Facts) strikesOf(e *history.Event) (strikes []history.Strike, cancelled []string) {
	impact := e.Value.Impact()
	cancels := func(s history.Strike) bool { return s.Does == history.Cancels }
	strange := func(s history.Strike) bool { return !cancels(s) && !slices.Contains(allEffects, s.Does) }
	if impact != nil && len(impact.Effects) > 0 && !slices.ContainsFunc(impact.Effects, strange) {
		if !slices.ContainsFunc(impact.Effects, cancels) {
			return impact.Effects, nil
		}
		for _, s := range impact.Effects {
			if cancels(s) {
				cancelled = append(cancelled, s.Clients...)
			} else {
				strikes = append(strikes, s)
			}
		}
		return strikes, cancelled
	}
	var whom history.Strike
	switch target := e.Value.Target(); {
	case slices.Contains(f.History.Header.Nodes, target):
		whom.Nodes = []string{target}
	case slices.Contains(f.History.Header.Clients, target):
		whom.Clients = []string{target}
	default:
		whom.Resource = true // something that is neither
	}
	all := make([]history.Strike, len(allEffects))
	for i, does := range allEffects {
		all[i] = whom
		all[i].Does = does
	}
	return all, nil
}

// Does reports whether the fault does something of a kind.
func (fault *Fault) Does(d history.Does) bool {
	return slices.ContainsFunc(fault.Strikes, func(s history.Strike) bool { return s.Does == d })
}

// StrikesClient reports whether the fault does something of a kind to a client.
func (fault *Fault) StrikesClient(d history.Does, client string) bool {
	return slices.ContainsFunc(fault.Strikes, func(s history.Strike) bool { return s.Does == d && slices.Contains(s.Clients, client) })
}

// StrikesNode reports whether the fault does something of a kind to a node.
func (fault *Fault) StrikesNode(d history.Does, node string) bool {
	return slices.ContainsFunc(fault.Strikes, func(s history.Strike) bool { return s.Does == d && slices.Contains(s.Nodes, node) })
}

// MayForget reports whether a node may have other keys after the fault than before.
func (fault *Fault) MayForget(node string) bool {
	return fault.StrikesNode(history.Kills, node) || fault.StrikesNode(history.Forgets, node) || fault.StrikesNode(history.Promotes, node)
}

// Clients are those that the fault strikes themselves, not by a link.
func (fault *Fault) Clients() []string {
	var list []string
	for _, s := range fault.Strikes {
		list = append(list, s.Clients...)
	}
	return list
}

// KilledBetween is the event at which a client was killed between two others, by a fault or because its lock program ended; -1
// where it was not; to is -1 for the end of the history.
func (f *Facts) KilledBetween(client string, from, to int) int {
	if to < 0 {
		to = len(f.History.Events)
	}
	first := to
	for _, i := range f.ProgramEnds {
		if i > from && i < first && f.Event(i).Process == client {
			first = i
		}
	}
	for i := range f.Faults {
		fault := &f.Faults[i]
		if fault.Begin > from && fault.Begin < first && fault.StrikesClient(history.Kills, client) {
			first = fault.Begin
		}
	}
	if first == to {
		return -1
	}
	return first
}

// StoppedFor is for how long in a stretch of the run a client stood still.
func (f *Facts) StoppedFor(client string, from, to time.Duration) (sum time.Duration) {
	last := from
	for i := range f.Faults { // in the order of their begins
		fault := &f.Faults[i]
		if !fault.StrikesClient(history.Stops, client) {
			continue
		}
		begin, end := max(f.At(fault.Begin), last), min(f.At(fault.End), to)
		if begin < end {
			sum += end - begin
			last = end
		}
	}
	return sum
}

// ClientsWithBentClocks are those of which nobody knows how long a TTL is.
func (f *Facts) ClientsWithBentClocks() map[string]bool {
	bent := make(map[string]bool)
	for i := range f.Faults {
		for _, s := range f.Faults[i].Strikes {
			for _, c := range s.Clients {
				bent[c] = bent[c] || s.Does == history.BendsClock
			}
		}
	}
	return bent
}

// bendsClockOf reports that a fault bends the clock of a node.
func (f *Facts) bendsClockOf(node string) bool {
	for i := range f.Faults {
		if f.Faults[i].StrikesNode(history.BendsClock, node) {
			return true
		}
	}
	return false
}

// FaultsOn are the begins of the faults that did something of these kinds to a node between two events.
func (f *Facts) FaultsOn(node string, from, to int, does ...history.Does) (begins []int) {
	for i := range f.Faults {
		fault := &f.Faults[i]
		strikes := func(d history.Does) bool { return fault.StrikesNode(d, node) }
		if fault.Begin > from && fault.Begin < to && slices.ContainsFunc(does, strikes) {
			begins = append(begins, fault.Begin)
		}
	}
	return begins
}

// struckBetween reports that a fault did something of these kinds to a node between two
// events. That the node went down is as good as a kill.
func (f *Facts) struckBetween(node string, from, to int, does ...history.Does) bool {
	return len(f.FaultsOn(node, from, to, does...)) > 0 ||
		slices.Contains(does, history.Kills) && f.sawNodeEvent(history.NodeDown, node, from, to)
}

// sawNodeEvent reports an event of a node between two others.
func (f *Facts) sawNodeEvent(what history.F, node string, from, to int) bool {
	for i := from; i < to; i++ {
		if e := f.Event(i); e.F == what && e.Process == node {
			return true
		}
	}
	return false
}

// PromotedBetween reports that a node was promoted between two events, or that a fault may have promoted it.
func (f *Facts) PromotedBetween(node string, from, to int) bool {
	return f.sawNodeEvent(history.NodePromoted, node, from, to) || f.struckBetween(node, from, to, history.Promotes)
}
