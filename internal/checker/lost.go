package checker

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// lose takes note of an event in which a client's lock told that it had lost a grant, where it
// is about that grant: it may be an older one that was lost.
func (v *view) lose(g *grant, event int) {
	switch {
	case g.loss >= 0 || !v.about(g, event):
	case !v.event(event).Value.At().IsSet():
		v.isVague(event, fmt.Sprintf("%s was told that it had lost the lock, but not since when", g.client))
	default:
		told := &v.event(event).Value
		g.loss, g.lostAt, g.lostError = event, time.Duration(told.At().V()), time.Duration(told.AtError())
		if v.heldOn(g, g.lostAt, event) {
			g.lostAt, g.lostError = v.at(event), 0
		}
	}
}

// heldOn reports that a client cannot have been told at an instant of the loss of a grant that it is told of in
// an event: it was granted the lock or renewed it after that, or acted under it.
func (v *view) heldOn(g *grant, at time.Duration, event int) bool {
	if at > v.at(event) || at < v.at(g.call) {
		return true
	}
	if event < g.ret {
		return false
	}
	for i := event - 1; i > g.call && v.at(i) > at; i-- {
		if v.isSign(g, at, i) {
			return true
		}
	}
	return false
}

// isSign reports that an event after an instant shows that a client held on to a grant.
func (v *view) isSign(g *grant, at time.Duration, i int) bool {
	e, op := v.event(i), int(v.opAt[i])
	switch {
	case e.F == history.KeySet || e.F == history.KeyExtended:
		return e.Value.Client == g.client && e.Value.At().IsSet() && time.Duration(e.Value.At().V()) > at
	case e.Process != g.client || op < 0 || e.F == history.Release:
		return false
	case e.F == history.Acquire:
		return e.Type == history.OK && v.key(op).lock == g.lock
	case e.F == history.Extend:
		return e.Type == history.OK && e.Value.ValidUntil().IsSet() && v.key(op).lock == g.lock && v.isRenewedBy(g, op)
	}
	other := func(under *grant) bool { return under.lock != g.lock }
	return e.Type == history.Invoke && !slices.ContainsFunc(v.actsUnder(g.client, i), other)
}

// about reports that an event in which a client's lock told of a loss may be about a grant of its, for which the client had
// asked before.
func (v *view) about(g *grant, event int) bool {
	told := &v.event(event).Value
	if told.Lock() != g.lock || told.Owner != "" && g.owner != "" && told.Owner != g.owner {
		return false
	}
	if !told.At().IsSet() || time.Duration(told.At().V()) >= v.at(g.call) {
		return true
	}
	older := func(i int) bool { return v.grants[i].op < g.op && v.grants[i].owner == g.owner }
	return told.Owner != "" && g.owner != "" && !slices.ContainsFunc(v.grantsTo(g.client, g.lock), older)
}

// lostFrom is the first instant at which a grant can have been lost of which the lock told
// that it was.
func (v *view) lostFrom(g *grant) time.Duration {
	return max(g.lostAt-g.lostError, v.at(g.call))
}

// promiseBefore is the promise of a grant by what was told before an event.
func (v *view) promiseBefore(g *grant, event int) promise {
	if g.loss < 0 || g.loss >= event {
		return g.unlostBefore(event)
	}
	return promise{g.unlostBefore(g.loss).cut(v.lostFrom(g)), true}
}

// unlostBefore is that promise as if no loss had been told. A grant can be re-entered as often
// as it is renewed: so what was found once is kept.
func (g *grant) unlostBefore(event int) promise {
	n := sort.Search(len(g.extends), func(i int) bool { return g.extends[i].ret >= event })
	for k := len(g.longest); k < n; k++ {
		end := g.extends[k].until
		if k > 0 {
			end = max(end, g.longest[k-1])
		}
		g.longest = append(g.longest, end)
	}
	p := g.until
	if n > 0 {
		p.end = max(p.end, g.longest[n-1])
	}
	p.given = p.given && p.end < forever
	return p
}

// cutLosses ends promises where the lock has told that it lost the grant: at the instant
// that it told, or, where it only told that it was between two, at the first of them. No
// renewal counts after that.
func (v *view) cutLosses() {
	var m *meanwhile
	for i := range v.grants {
		g := &v.grants[i]
		if g.loss < 0 {
			continue
		}
		from := v.lostFrom(g)
		to := g.unlostBefore(g.loss).cut(g.lostAt)
		g.lease = g.lastPromise()
		g.until = promise{g.until.cut(from), true}
		g.extends = slices.DeleteFunc(g.extends, func(x extension) bool { return x.ret > g.loss })
		for n := range g.extends {
			g.extends[n].until = min(g.extends[n].until, from)
		}
		g.longest = nil
		if from >= to {
			continue
		}
		if m == nil {
			m = v.newMeanwhile()
		}
		if m.matters(g, from, to) {
			v.isVague(g.loss, fmt.Sprintf("%s was told at %s that it had lost the lock, but not since when", g.client, words.Instant(v.at(g.loss))))
		}
	}
}

// meanwhile says what happened while it is not known whether a grant was lost.
type meanwhile struct {
	v *view
	// locks are the grants of each lock, in their order; other is of each grant the next
	// of its lock to another client, -1 for none.
	locks map[string][]int
	other []int
	// effects are those of each client.
	effects map[string]spans
}

func (v *view) newMeanwhile() *meanwhile {
	m := &meanwhile{v: v, locks: make(map[string][]int), other: make([]int, len(v.grants)), effects: make(map[string]spans)}
	for i := range v.grants {
		m.locks[v.grants[i].lock] = append(m.locks[v.grants[i].lock], i)
	}
	for _, list := range m.locks {
		next := -1
		for n, i := range slices.Backward(list) {
			if n+1 < len(list) && v.grants[list[n+1]].client != v.grants[i].client {
				next = list[n+1]
			}
			m.other[i] = next
		}
	}
	for i := range v.effects {
		x := &v.effects[i]
		m.effects[x.client()] = append(m.effects[x.client()], span{from: int64(x.from), to: int64(x.to)})
	}
	for _, s := range m.effects {
		s.ready()
	}
	return m
}

// matters reports that somebody else was granted the lock of a grant in a stretch, or that
// its client may have done something in it.
func (m *meanwhile) matters(g *grant, from, to time.Duration) bool {
	if m.effects[g.client].meet(int64(from), int64(to)) {
		return true
	}
	given := func(i int) time.Duration { return m.v.at(m.v.grants[i].ret) }
	list := m.locks[g.lock]
	n := sort.Search(len(list), func(i int) bool { return given(list[i]) >= from })
	if n == len(list) {
		return false
	}
	first := list[n]
	if m.v.grants[first].client == g.client {
		first = m.other[first]
	}
	return first >= 0 && given(first) <= to
}

// spans are stretches of time, or of events, with their ends, sorted by where they begin.
type spans []span

// span is one of them. last is the latest end of it and those before it.
type span struct{ from, to, last int64 }

func (s spans) ready() {
	slices.SortFunc(s, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	last := int64(math.MinInt64)
	for i := range s {
		last = max(last, s[i].to)
		s[i].last = last
	}
}

// meet reports that one of them has an instant in common with a stretch.
func (s spans) meet(from, to int64) bool {
	n := sort.Search(len(s), func(i int) bool { return s[i].from > to })
	return n > 0 && s[n-1].last >= from
}
