package checker_test

import (
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// stretch is a time without a gap.
type stretch struct{ from, to int64 }

func inside(list []stretch, from, to int64) bool {
	return slices.ContainsFunc(list, func(s stretch) bool { return s.from <= from && to <= s.to })
}

// deadlockFree: "Once the faults are lifted (phase `healing`), somebody gets the lock within
// `grant_within`."
func (t *terms) deadlockFree() answer {
	for i, e := range t.events {
		if e.F == history.Phase && e.Value.Detail == history.PhaseHealing {
			return t.granted([]stretch{{int64(e.Time), t.last}}, i)
		}
	}
	return cannotTell
}

// minorityTolerant: "The same, while some nodes but fewer than half are struck by a fault,
// and nothing else is."
func (t *terms) minorityTolerant() answer {
	var within []stretch
	t.pieces(t.faultTimes(), func(from, to int64) {
		if !t.minorityStruck(from, to) {
			return
		}
		if n := len(within); n > 0 && within[n-1].to == from {
			within[n-1].to = to
			return
		}
		within = append(within, stretch{from, to})
	})
	return t.granted(within, len(t.events))
}

// pieces calls f for the times between one instant and the next.
func (t *terms) pieces(instants []int64, f func(from, to int64)) {
	instants = append(slices.Clone(instants), 0, t.last)
	slices.Sort(instants)
	for i := 1; i < len(instants); i++ {
		if from, to := instants[i-1], instants[i]; from < to && from >= 0 && to <= t.last {
			f(from, to)
		}
	}
}

func (t *terms) faultTimes() (list []int64) {
	for i, e := range t.events {
		if e.F == history.FaultBegin {
			list = append(list, int64(e.Time), t.lifted(i))
		}
	}
	return list
}

// lifted is when the fault that begins in event i ends: at its end, or else when all are
// lifted, or else never.
func (t *terms) lifted(i int) int64 {
	b := &t.events[i]
	for _, e := range t.events[i:] {
		if e.F == history.FaultEnd && e.Value.Fault == b.Value.Fault && e.Value.ID == b.Value.ID && e.Value.Target == b.Value.Target {
			return int64(e.Time)
		}
	}
	for _, e := range t.events[i:] {
		if e.F == history.Phase && e.Value.Detail == history.PhaseHealing {
			return int64(e.Time)
		}
	}
	return t.last
}

// minorityStruck: "A node is struck by a fault on the node itself or on a link from a client
// to it. Stretches during which a client, the resource, a link to it or a replication link
// is struck are left out."
func (t *terms) minorityStruck(from, to int64) bool {
	nodes := map[string]bool{}
	for i, e := range t.events {
		if e.F != history.FaultBegin || int64(e.Time) > from || t.lifted(i) < to {
			continue
		}
		s := t.strikes(i, anything)
		if s.resource {
			return false
		}
		for c := range s.clients {
			if slices.Contains(t.header.Clients, c) || e.Value.Impact != nil || !slices.Contains(t.header.Nodes, c) {
				return false
			}
		}
		for n := range s.nodes {
			nodes[n] = true
		}
		for _, l := range s.links {
			node := l.To
			if slices.Contains(t.header.Nodes, l.From) {
				node = l.From
			}
			if !slices.Contains(t.header.Nodes, node) || !slices.Contains(t.header.Clients, l.From) && !slices.Contains(t.header.Clients, l.To) {
				return false
			}
			nodes[node] = true
		}
	}
	return len(nodes) > 0 && 2*len(nodes) < len(t.header.Nodes)
}

// granted: somebody gets each lock within the bound, during each of these stretches.
// "Time counts from when the lock was free for all that is known and somebody asked for it.
// Until the first grant after healing it makes no difference who has the lock."
func (t *terms) granted(within []stretch, healing int) answer {
	violated, chances := false, false
	var locks []string
	for _, p := range t.ops {
		if p.f == history.Acquire && !slices.Contains(locks, p.lock) {
			locks = append(locks, p.lock)
		}
	}
	for _, lock := range locks {
		first := int64(forever)
		for _, g := range slices.Backward(t.grants) {
			if g.lock == lock && g.answered > healing {
				first = g.ret
			}
		}
		asking := t.asking(lock)
		instants := []int64{}
		for _, s := range append(slices.Clone(within), asking...) {
			instants = append(instants, s.from, s.to)
		}
		for _, g := range t.grants {
			instants = append(instants, g.ret, t.givenBack(g))
		}
		begun, ended := int64(-1), int64(-1)
		t.pieces(instants, func(from, to int64) {
			waits := inside(asking, from, to) && inside(within, from, to) && (healing < len(t.events) && to <= first || t.free(lock, from))
			if !waits {
				return
			}
			if ended != from || begun < 0 || t.grantedAt(lock, from) {
				begun = from
			}
			ended = to
			violated = violated || to-begun > t.bound
			chances = chances || t.grantedAt(lock, to)
		})
	}
	return found(violated, chances || violated)
}

func (t *terms) grantedAt(lock string, at int64) bool {
	return slices.ContainsFunc(t.grants, func(g *grant) bool { return g.lock == lock && g.ret == at })
}

// free: "The lock is free once every grant so far has been given back."
func (t *terms) free(lock string, at int64) bool {
	return !slices.ContainsFunc(t.grants, func(g *grant) bool {
		return g.lock == lock && g.ret <= at && t.givenBack(g) > at
	})
}

// givenBack: "its release was answered, or its promise is over. A grant without a promise
// whose client was killed, or asked anew without re-entering, is given back at that event."
func (t *terms) givenBack(g *grant) int64 {
	back, promised := g.promise(all)
	if !promised {
		back = forever
	}
	for _, p := range t.ops {
		if p.f == history.Release && slices.Contains(p.ends, g) && p.answered >= 0 && p.outcome != history.Info {
			back = min(back, p.ret)
		}
		if !promised && p.f == history.Acquire && p.client == g.client && p.lock == g.lock && p.invoked > g.answered && p.outer == nil {
			back = min(back, p.call)
		}
	}
	for i := range t.events {
		if !promised && i > g.answered && t.strikes(i, history.Kills).clients[g.client] {
			back = min(back, int64(t.events[i].Time))
		}
	}
	return back
}

// asking is when clients ask for a lock: "A client that asks again and again counts as
// asking all the time, save where it pauses for more than half the bound. A killed client
// asks no more."
func (t *terms) asking(lock string) (list []stretch) {
	for _, p := range t.ops {
		if p.f != history.Acquire || p.lock != lock {
			continue
		}
		s := stretch{p.call, min(p.ret, t.last)}
		next := t.nextAcquire(p)
		if p.answered < 0 && next != nil {
			s.to = next.call
		}
		killed := t.killed(p.client, p.invoked)
		if killed < len(t.events) {
			s.to = min(s.to, int64(t.events[killed].Time))
		}
		if next != nil && next.lock == lock && next.invoked < killed && 2*(next.call-s.to) <= t.bound {
			s.to = max(s.to, next.call)
		}
		list = append(list, s)
	}
	return list
}

// nextAcquire is the next time that the client of an acquire asks.
func (t *terms) nextAcquire(p *op) *op {
	for _, q := range t.ops {
		if q.f == history.Acquire && q.client == p.client && q.invoked > p.invoked {
			return q
		}
	}
	return nil
}

// killed is the first event after i that kills the client.
func (t *terms) killed(client string, i int) int {
	for i++; i < len(t.events) && !t.strikes(i, history.Kills).clients[client]; i++ {
	}
	return i
}
