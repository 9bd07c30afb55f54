package naive

import (
	"math"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// asksItsTTL: "No grant's client asks for too little."
func (t *terms) asksItsTTL() answer {
	if t.header.Quorum <= 0 || t.givenTTL("") <= 0 && !t.endless() || t.leased() {
		return cannotTell
	}
	// "Without a TTL: no key that it asks for has an end. Read "for ever" for "an instant that is not earlier than the TTL after"."
	given := func(client string) int64 {
		if t.endless() {
			return forever
		}
		return t.givenTTL(client)
	}
	violated, chances := false, false
	for _, g := range t.grants {
		// "Re-entries are not judged, nor are grants whose client's clock a fault bends, or whose client a fault stops between the
		// invocation of the `acquire` and the end of the belief."
		if g.outer != nil || t.bentClock(g.client) || t.stopped(g.client, g.call, g.end) > 0 {
			continue
		}
		// "Looked at is what it asks for once the last of those of its events stands whose `at` is not after the answer, and the last
		// `key-deleted` of its that stands before the answer, and after each later one."
		last := -1
		for i := range t.events {
			if t.asks(g, i) && t.events[i].Value.At().V() <= g.ret || t.takesBack(g, i) && i < g.answered {
				last = i
			}
		}
		for i := last; i >= 0 && i < len(t.events); i++ {
			// "Events count no more that stand after the client was told of the loss"
			if (t.asks(g, i) || t.takesBack(g, i)) && !t.toldBefore(g, i) {
				all, enough := t.nodesAsked(g, i+1, given(g.client))
				violated = violated || all >= t.header.Quorum && enough < t.header.Quorum
				// "Chances: grants whose client asks for a quorum of nodes then."
				chances = chances || i == last && all >= t.header.Quorum
			}
		}
	}
	return found(violated, chances && t.unclear() == len(t.events))
}

// toldBefore: "Events count no more that stand after the client was told of the loss of the grant, or before which one stands whose
// `at` is not before the first instant at which the grant can have been lost."
func (t *terms) toldBefore(g *grant, i int) bool {
	if g.loss == nil {
		return false
	}
	for j := range i + 1 {
		if t.asks(g, j) && t.events[j].Value.At().V() >= g.loss.from {
			return true
		}
	}
	return i > g.loss.event
}

// nodesAsked counts the nodes of which the client of a grant asks for the lock by the events before one, and those of which it asks
// for enough.
func (t *terms) nodesAsked(g *grant, before int, ttl int64) (all, enough int) {
	// "of the node's keys, one at least is asked for until an instant that is not earlier than the TTL after it, less the allowance: a tenth
	// of the TTL, or `ttl_step` if that is more"
	allowed := max(ttl/10, t.step(g.client))
	if t.endless() { // "and no allowance"
		allowed = 0
	}
	nodes := map[string]bool{}
	for at, a := range t.asksFor(g, func(i int) bool { return i < before }) {
		end := later(a.since, ttl)
		nodes[at.node] = nodes[at.node] || later(a.until, allowed).V() >= end.V() || t.bentNode(at.node)
	}
	for _, is := range nodes {
		if all++; is {
			enough++
		}
	}
	return all, enough
}

// bentNode: "a fault bends the clock of the node".
func (t *terms) bentNode(node string) bool {
	for i := range t.events {
		if t.events[i].F == history.FaultBegin && t.strikes(i, history.BendsClock).nodes[node] {
			return true
		}
	}
	return false
}

// trueValidity: "A validity that a lock program tells is true."
func (t *terms) trueValidity() answer {
	if t.header.Quorum <= 0 || t.givenTTL("") <= 0 || t.endless() {
		return cannotTell
	}
	violated, chances := false, false
	for _, g := range t.grants {
		// "Re-entries are not judged, nor are grants of clients whose clock a fault bends, or that a fault stops between the invocation of the
		// `acquire` and its answer."
		told := g.said.ValidUntil()
		if !told.IsSet() || g.outer != nil || t.bentClock(g.client) || t.stopped(g.client, g.call, g.ret) > 0 {
			continue
		}
		// "it is not after the answer; or it is later than the TTL after the instant since when the client asks for the lock, by more
		// than the allowance. What the client asks for by events that stand after the answer, and whose `at` is not after it, counts, too,
		// unless [...] it has another owner value than the grant tells, or its `at` is before the instant since when the client asks for
		// the key by the events that stand before the answer."
		before := t.asksFor(g, func(i int) bool { return i < g.answered })
		since := t.asksSinceBy(g, func(i int) bool {
			v := &t.events[i].Value
			if i < g.answered || !t.asks(g, i) {
				return i < g.answered
			}
			last, some := before[place{t.events[i].Process, v.Key}]
			late := some && v.At().V() < last.since
			return v.At().V() <= g.ret && (v.Owner == "" || g.said.Owner == "" || v.Owner == g.said.Owner) && !late
		})
		ttl := t.givenTTL(g.client)
		// "If the client asks for fewer nodes than a quorum by then, only the first is judged. So it is of a grant that was answered a
		// hundredth of the TTL (at most a second) before the last event of the history, or later".
		asked := since > math.MinInt64 && t.last-g.ret > min(ttl/100, 1_000_000_000)
		violated = violated || told.V() <= g.ret || asked && told.V() > later(later(since, ttl).V(), max(ttl/10, t.step(g.client))).V()
		// "Chances: grants that told a `valid_until` and of which both are judged."
		chances = chances || asked
	}
	return found(violated, chances && t.unclear() == len(t.events))
}
