package naive

import (
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// comesBack: "A client whose open connections went silent gets the lock again within `grant_within`,
// if new connections work."
func (t *terms) comesBack() answer {
	violated, chances := false, false
	for _, client := range t.header.Clients {
		for at := 0; at < len(t.events); at++ {
			if t.silence(client, at) != at {
				continue
			}
			w := between{stretch{t.time(at), t.last}, at, len(t.events)}
			for i := at + 1; i < len(t.events); i++ {
				if t.silence(client, i) != at {
					w.to, w.end = t.time(i), i
					break
				}
			}
			v, c := t.silent(client, w)
			violated, chances = violated || v, chances || c
		}
	}
	return found(violated, chances)
}

// silence is the begin of the fault that makes the silence which a client is in after an event; -1: it is in none. "A silence of
// a client begins with a fault that silences a link from it to a node. It ends at the first event after which that fault has
// ended, or another fault is in force that silences such a link and began later, or one that does something else than to silence. Where
// such a fault is in force when the silence would begin, there is none."
func (t *terms) silence(client string, at int) int {
	latest := -1
	for i := range t.events[:at+1] {
		if t.events[i].F != history.FaultBegin {
			continue
		}
		s := t.strikes(i, history.Silences)
		impact := t.events[i].Value.Impact()
		alone := impact != nil && len(struckBy(&t.events[i])) > 0 &&
			!slices.ContainsFunc(struckBy(&t.events[i]), func(f history.Strike) bool { return f.Does != history.Silences })
		link := func(l history.Link) bool { return l.From == client && slices.Contains(t.header.Nodes, l.To) }
		if alone && slices.ContainsFunc(s.links, link) {
			latest = i
		}
	}
	if latest < 0 || !t.lasts(latest, at) {
		return -1
	}
	for i := range t.events[:at+1] { // another fault, now or at any time of the silence
		e := &t.events[i]
		if e.F != history.FaultBegin {
			continue
		}
		impact := e.Value.Impact()
		more := impact == nil || len(impact.Effects) == 0 ||
			slices.ContainsFunc(struckBy(e), func(f history.Strike) bool { return f.Does != history.Silences })
		if more && (i > latest || t.lasts(i, latest)) {
			return -1
		}
	}
	return latest
}

// silent reports whether a client waited in vain in a silence, and whether there were chances: "Only stretches count in which no other
// client has the lock, as far as is known: each grant of another client has been given back. A stretch begins with the silence, a
// grant of the client, or when that is so, whichever is last. It ends with the next grant of anybody, or with the silence."
func (t *terms) silent(client string, w between) (violated, chances bool) {
	from, since := w.from, w.begin
	var back []int64
	for _, g := range t.grants {
		inside := g.answered > w.begin && g.answered < w.end
		if inside && from <= g.ret {
			some, inVain := t.waits(client, since, stretch{from, g.ret})
			violated, chances = violated || inVain, chances || some && g.client == client
		}
		switch {
		case g.answered >= w.end:
		case g.client != client:
			back = append(back, t.givenBack(g))
			from = max(from, t.freeFrom(back))
		case inside:
			from, since = max(from, g.ret), g.answered
		}
	}
	if from <= w.to {
		_, inVain := t.waits(client, since, stretch{from, w.to})
		violated = violated || inVain
	}
	return violated, chances
}

// waits: "A client waits while an `acquire` that does not say `inner`, or a `release`, of its is under way: from the invocation to the
// completion, or, if it is
// never completed, to the client's next `acquire` or `release`. One that was completed before the silence began, or before the client's
// latest grant in it was answered, does not count, and neither does this grant's own `acquire`. A client that waits again and again
// counts as waiting all the time, from the first of these requests on. The exception is a gap between two requests of more than half
// the bound."
func (t *terms) waits(client string, since int, within stretch) (some, inVain bool) {
	var s *stretch
	asks := func(p *op) bool {
		return p.client == client && (p.f == history.Acquire && !p.asked.Inner() || p.f == history.Release)
	}
	for _, p := range t.ops {
		if !asks(p) || p.answered >= 0 && p.answered <= since {
			continue
		}
		from, to := max(p.call, within.from), min(p.ret, within.to)
		for _, q := range t.ops {
			if p.answered < 0 && asks(q) && q.invoked > p.invoked {
				to = min(to, q.call)
			}
		}
		if from > to {
			continue
		}
		if s == nil || 2*(from-s.to) > t.bound {
			s = &stretch{from, to}
		}
		s.to = max(s.to, to)
		some, inVain = true, inVain || s.to-s.from > t.bound
	}
	return some, inVain
}
