package naive

import (
	"maps"
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// stretch is a time without a gap.
type stretch struct{ from, to int64 }

// between is a stretch that begins with an event, and ends with one.
type between struct {
	stretch
	begin, end int
}

// deadlockFree: "Once the faults are lifted (phase `healing`), somebody gets the lock within
// `grant_within`."
func (t *terms) deadlockFree() answer {
	for _, e := range t.events {
		if e.F == history.Phase && e.Value.Detail() == history.PhaseHealing {
			healed := between{stretch{int64(e.Time), t.last}, int(e.Index), len(t.events)}
			violated, chances := t.starved([]between{healed})
			// "Until the first grant after healing it makes no difference who has the lock: So a
			// holder that keeps it for longer than the bound is a violation, too."
			until := t.last
			for _, g := range slices.Backward(t.grants) {
				if g.ret >= healed.from {
					until = g.ret
				}
			}
			_, kept := t.wanted(stretch{healed.from, until})
			return found(violated || kept || t.upgradeWaits(healed.from), chances)
		}
	}
	return cannotTell
}

// upgradeWaits: "So after the phase `healing` an upgrade must not be asked for, without a break, for longer than the bound while nobody
// else is at work." Between two instants at which something is told or ends, nothing changes.
func (t *terms) upgradeWaits(healing int64) bool {
	at := []int64{healing, t.last}
	for _, e := range t.events {
		at = append(at, int64(e.Time))
	}
	for _, g := range t.grants {
		at = append(at, t.givenBack(g))
	}
	slices.Sort(at)
	for _, p := range t.ops {
		from := healing // since when it has been asked for while nobody else was at work
		for i := 1; i < len(at); i++ {
			a, b := at[i-1], at[i]
			if a == b {
				continue
			}
			idle := !slices.ContainsFunc(t.grants, func(g *grant) bool { return g.client != p.client && t.atWork(g, a, b) })
			switch {
			case a < healing || b > t.last || !t.upgrading(p, a, b) || !idle:
				from = b
			case b-from > t.bound:
				return true
			}
		}
	}
	return false
}

// atWork: "Another client is at work from the answer of each grant of it until that is given back, but not at the instants at which the
// grant is a reader's and the client asks for an upgrade itself." From a to b nothing changes.
func (t *terms) atWork(g *grant, a, b int64) bool {
	waits := g.reads() && slices.ContainsFunc(t.ops, func(p *op) bool { return p.client == g.client && t.upgrading(p, a, b) })
	return g.ret <= a && t.givenBack(g) >= b && !waits
}

// upgrading: "An upgrade is asked for from its invocation to its answer (if there is none, to the client's next `acquire`), or until the
// client is killed."
func (t *terms) upgrading(p *op, a, b int64) bool {
	to := int64(forever)
	if i := min(t.tried(p), t.killed(p.client, p.invoked)); i < len(t.events) {
		to = t.time(i)
	}
	return p.upgrades && p.call <= a && to >= b
}

// minorityTolerant: "The same as deadlock-free (without the rules for a holder that keeps
// the lock and for upgrades), while some nodes but fewer than half are struck by a fault, and nothing else
// is."
func (t *terms) minorityTolerant() answer {
	var within []between
	open := false
	for i := range t.events {
		if struck := t.minorityStruck(i); struck && !open {
			within, open = append(within, between{stretch{t.time(i), t.last}, i, len(t.events)}), true
		} else if !struck && open {
			w := &within[len(within)-1]
			w.to, w.end, open = t.time(i), i, false
		}
	}
	return found(t.starved(within))
}

// lasts reports that the fault that begins in event i is there when event at has come: "A
// fault lasts to its `fault-end` (same `fault`, `id` and `target`; each ends the first such
// fault that has not ended), or to the end of the history."
func (t *terms) lasts(i, at int) bool {
	b := &t.events[i].Value
	begun := 0
	for j := range t.events[:at+1] {
		e := &t.events[j]
		if e.Value.Fault() != b.Fault() || e.Value.ID() != b.ID() || e.Value.Target() != b.Target() {
			continue
		}
		switch {
		case e.F == history.FaultBegin && j <= i:
			begun++
		case e.F == history.FaultEnd:
			if begun > 0 {
				begun--
			}
			if j > i && begun == 0 {
				return false
			}
		}
	}
	return i <= at
}

// minorityStruck: "A node is struck by a fault on the node itself or on a link from a
// client to it. Stretches during which a client, the resource, a link to the resource or a
// replication link is struck are left out."
func (t *terms) minorityStruck(at int) bool {
	nodes := map[string]bool{}
	for i, e := range t.events[:at+1] {
		if e.F != history.FaultBegin || !t.lasts(i, at) {
			continue
		}
		s := t.strikes(i, anything)
		if s.other || len(s.clients) > 0 {
			return false
		}
		for n := range s.nodes {
			nodes[n] = true
		}
		for _, l := range s.links {
			if !slices.Contains(t.header.Nodes, l.To) || slices.Contains(t.header.Nodes, l.From) {
				return false
			}
			nodes[l.To] = true
		}
	}
	return len(nodes) > 0 && 2*t.count(slices.Collect(maps.Keys(nodes))) < t.total()
}

// starved reports whether somebody asked for the free lock in vain during one of these
// stretches, and whether there were chances: "The time begins when the lock is free, as
// far as is known, and a client asks for it. Violated if one client asked for longer than
// the bound during a stretch in which the lock was free. A stretch in which the lock is
// free ends with the next grant. It may be a single instant. Chances: stretches in which
// the lock was free and a client asked for it, up to a grant whose `acquire` does not say `inner`. Several locks of one
// history count as one."
func (t *terms) starved(within []between) (violated, chances bool) {
	for _, w := range within {
		from := w.from // when the lock is free
		var back []int64
		for _, g := range t.grants {
			if g.ret > w.to {
				break
			}
			if from <= g.ret && g.ret >= w.from {
				some, inVain := t.wanted(stretch{from, g.ret})
				// "The grant stands after the event that began the stretch [...], and before the one that ended it"
				violated, chances = violated || inVain, chances || some && !g.asked.Inner() && g.answered > w.begin && g.answered < w.end
			}
			back = append(back, t.givenBack(g))
			from = max(from, g.ret, t.freeFrom(back))
		}
		if from <= w.to {
			_, inVain := t.wanted(stretch{from, w.to})
			violated = violated || inVain
		}
	}
	return violated, chances
}

// givenBack: "The lock is free once every grant so far has been given back: its release
// was answered, or its promise is over. An answer of unknown outcome does not count as an
// answer. A grant without a promise is also given back when its client is killed, forgets it, or asks
// again without re-entering and without `inner`. A loss gives nothing back: its promise counts as if the loss had
// not been told, because the keys may stay until then."
func (t *terms) givenBack(g *grant) int64 {
	back, promised := g.unlost(all)
	if !promised {
		back = forever
	}
	for _, p := range t.ops {
		if p.f == history.Release && slices.Contains(p.ends, g) && p.outcome != history.Info {
			back = min(back, p.ret)
		}
		if !promised && p.f == history.Forget && slices.Contains(p.ends, g) {
			back = min(back, p.call)
		}
		asksAnew := p.f == history.Acquire && p.client == g.client && p.lock == g.lock && p.outer == nil && !p.asked.Inner()
		if !promised && asksAnew && p.invoked > g.answered {
			back = min(back, p.call)
		}
	}
	if i := t.killed(g.client, g.answered); !promised && i < len(t.events) {
		back = min(back, t.time(i))
	}
	return max(back, g.ret)
}

// wanted reports whether somebody asked for the lock, and whether in vain for longer than
// the bound: "While the lock is free, a client that asks again and again counts as asking
// all the time, from its first request on. The exception is a gap between two requests of
// more than half the bound; and a request that was granted is the last. A killed client no longer asks. An attempt that is never
// answered ends with the client's next attempt. An `acquire` that says `inner` does not count: its client has the lock."
func (t *terms) wanted(free stretch) (some, inVain bool) {
	asks := map[string]*stretch{}
	over := map[string]bool{} // "a request that was granted is the last"
	for _, p := range t.ops {
		if p.f != history.Acquire || p.asked.Inner() {
			continue
		}
		from, to := max(p.call, free.from), free.to
		if i := min(t.tried(p), t.killed(p.client, p.invoked)); i < len(t.events) {
			to = min(to, t.time(i))
		}
		if from > to {
			continue
		}
		s := asks[p.client]
		if s == nil || 2*(from-s.to) > t.bound || over[p.client] {
			s = &stretch{from, to}
			asks[p.client] = s
		}
		over[p.client] = p.outcome == history.OK
		s.to = max(s.to, to)
		some, inVain = true, inVain || s.to-s.from > t.bound
	}
	return some, inVain
}

// killed is the first event after i that kills the client.
func (t *terms) killed(client string, i int) int {
	for i++; i < len(t.events) && !t.kills(i)[client]; i++ {
	}
	return i
}
