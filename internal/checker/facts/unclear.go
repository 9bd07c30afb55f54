package facts

import (
	"math"
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// noteUnknownPromise takes note that a promise is not known, and why.
func (f *Facts) noteUnknownPromise(event int, why string) {
	if f.UnknownPromise < 0 {
		f.UnknownPromise, f.WhyUnknownPromise = event, why
	}
}

// firstUnclear is the first event after which a node's key was not known, and the first in
// which a stranger changed one; -1 where there is none.
func firstUnclear(h *history.History) (unclear, stranger int) {
	unclear, stranger = -1, -1
	for i := range h.Events {
		e := &h.Events[i]
		if e.F != history.KeyUnclear || !concernsLock(h, e) {
			continue
		}
		if unclear < 0 {
			unclear = i
		}
		if e.Value.Stranger() {
			return unclear, i
		}
	}
	return unclear, stranger
}

// ConcernsLock reports that an event of a key is about a key of the lock.
func (f *Facts) ConcernsLock(e *history.Event) bool { return concernsLock(f.History, e) }

func concernsLock(h *history.History, e *history.Event) bool {
	return h.Header.LockKey == "" || e.Value.Key == "" || e.Value.Key == h.Header.LockKey
}

// unclearSpans are the stretches of the history in which a key of the lock was not known, from
// event to event.
func (f *Facts) unclearSpans() (list spans) {
	f.eachUnclear(func(_ string, s span) { list = append(list, s) })
	list.sortByStart()
	return list
}

// eachUnclear tells of these stretches, each with its node.
func (f *Facts) eachUnclear(tell func(node string, s span)) {
	since := make(map[NodeKey]int)
	for i := range f.History.Events {
		e := f.Event(i)
		switch e.F {
		case history.KeySet, history.KeyExtended, history.KeyDeleted, history.KeyExpired, history.KeyUnclear:
			at := KeyOf(e)
			if from, was := since[at]; was {
				tell(at.Node, span{from: int64(from), to: int64(i)})
				delete(since, at)
			}
			if e.F == history.KeyUnclear && f.ConcernsLock(e) {
				since[at] = i
			}
		}
	}
	for at, from := range since {
		tell(at.Node, span{from: int64(from), to: math.MaxInt64})
	}
}

// unseenSpans are, for each node, the stretches of events in which something of the lock's keys may not have been seen.
func (f *Facts) unseenSpans() map[string]spans {
	list := make(map[string]spans)
	f.eachUnclear(func(node string, s span) { list[node] = append(list[node], s) })
	add := func(node string, event int) {
		list[node] = append(list[node], span{from: int64(event), to: int64(event)})
	}
	begun := 0
	for i := range f.History.Events {
		e := f.Event(i)
		switch e.F {
		case history.NodeDown, history.NodeUp, history.NodePromoted, history.NodeDemoted:
			add(e.Process, i)
		case history.FaultBegin:
			for _, n := range f.History.Header.Nodes {
				if f.Faults[begun].MayForget(n) {
					add(n, i)
				}
			}
			begun++
		case history.KeySet, history.KeyExtended:
			if e.Value.Client == "" && f.ConcernsLock(e) {
				add(e.Process, i)
			}
		}
	}
	for _, s := range list {
		s.sortByStart()
	}
	return list
}

// SawOnKeys reports that such an event of a key of the lock was seen, and that a client did it, where
// that is known of such events.
func (f *Facts) SawOnKeys(what history.F) bool {
	return slices.ContainsFunc(f.History.Events, func(e history.Event) bool {
		return e.F == what && (e.Value.Client != "" || what == history.KeyUnclear) && f.ConcernsLock(&e)
	})
}
