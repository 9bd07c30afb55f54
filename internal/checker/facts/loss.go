package facts

import (
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// noteLoss takes note of an event in which a client's lock told that it had lost a grant, where it
// is about that grant: it may be an older one that was lost.
func (f *Facts) noteLoss(g *Grant, event int) {
	if g.loss >= 0 || !f.LossConcerns(g, event) {
		return
	}
	told := &f.Event(event).Value
	if !told.At().IsSet() {
		f.noteUnknownPromise(event, fmt.Sprintf("%s was told that it had lost the lock, but not since when", g.Client))
		return
	}
	g.loss, g.lostAt, g.lostError = event, time.Duration(told.At().V()), time.Duration(told.AtError())
	if f.heldOnAfter(g, g.lostAt, event) {
		g.lostAt, g.lostError = f.At(event), 0
	}
}

// heldOnAfter reports that a client cannot have been told at an instant of the loss of a grant that it is told of in
// an event: it was granted the lock or renewed it after that, or acted under it.
func (f *Facts) heldOnAfter(g *Grant, at time.Duration, event int) bool {
	if at > f.At(event) || at < f.At(g.Call) {
		return true
	}
	if event < g.Return {
		return false
	}
	for i := event - 1; i > g.Call && f.At(i) > at; i-- {
		if f.showsThatHeld(g, at, i) {
			return true
		}
	}
	return false
}

// showsThatHeld reports that an event after an instant shows that a client held on to a grant.
func (f *Facts) showsThatHeld(g *Grant, at time.Duration, i int) bool {
	e, op := f.Event(i), int(f.OpAt[i])
	switch {
	case e.F == history.KeySet || e.F == history.KeyExtended:
		return e.Value.Client == g.Client && e.Value.At().IsSet() && time.Duration(e.Value.At().V()) > at
	case e.Process != g.Client || op < 0 || e.F == history.Release || e.F == history.Forget:
		return false
	case e.F == history.Acquire:
		return e.Type == history.OK && f.HolderOf(op).Lock == g.Lock
	case e.F == history.Extend:
		return e.Type == history.OK && e.Value.ValidUntil().IsSet() && f.HolderOf(op).Lock == g.Lock && f.IsRenewedBy(g, op)
	}
	other := func(under *Grant) bool { return under.Lock != g.Lock }
	return e.Type == history.Invoke && !slices.ContainsFunc(f.GrantsActedUnder(g.Client, i), other)
}

// ToldLoss reports that the client of a grant was told of its loss, LossTold in which event; -1: it never was.
func (g *Grant) ToldLoss() bool { return g.loss >= 0 }
func (g *Grant) LossTold() int  { return g.loss }

// LossConcerns reports that an event in which a client's lock told of a loss may be about a grant of its, for which the client had
// asked before.
func (f *Facts) LossConcerns(g *Grant, event int) bool {
	told := &f.Event(event).Value
	if told.Lock() != g.Lock || told.Owner != "" && g.Owner != "" && told.Owner != g.Owner {
		return false
	}
	if !told.At().IsSet() || time.Duration(told.At().V()) >= f.At(g.Call) {
		return true
	}
	older := func(i int) bool { return f.Grants[i].op < g.op && f.Grants[i].Owner == g.Owner }
	return told.Owner != "" && g.Owner != "" && !slices.ContainsFunc(f.GrantsTo(g.Client, g.Lock), older)
}

// IsAlarm reports that an event tells the client of a grant that the lock is lost.
func (f *Facts) IsAlarm(g *Grant, event int) bool {
	e, op := f.Event(event), int(f.OpAt[event])
	if e.Process != g.Client || event <= g.Call {
		return false
	}
	if e.F == history.Lost {
		return f.LossConcerns(g, event)
	}
	return e.F == history.Extend && e.Type == history.Fail && op >= 0 && f.HolderOf(op).Lock == g.Lock &&
		f.Ops[op].Call > g.Return && g.OpenAt(f.Ops[op].Call) && f.IsRenewedBy(g, op)
}

// earliestLoss is the first instant at which a grant can have been lost of which the lock told
// that it was.
func (f *Facts) earliestLoss(g *Grant) time.Duration {
	return max(g.lostAt-g.lostError, f.At(g.Call))
}

// endPromisesAtLosses ends promises where the lock has told that it lost the grant: at the instant
// that it told, or, where it only told that it was between two, at the first of them. No
// renewal counts after that.
func (f *Facts) endPromisesAtLosses() {
	var m *activity
	for i := range f.Grants {
		g := &f.Grants[i]
		if g.loss < 0 {
			continue
		}
		from := f.earliestLoss(g)
		to := g.promiseWithoutLoss(g.loss).EarlierOf(g.lostAt)
		g.unlost = g.LastPromise()
		g.Until = Promise{g.Until.EarlierOf(from), true}
		g.Renewals = slices.DeleteFunc(g.Renewals, func(x Renewal) bool { return x.Return > g.loss })
		for n := range g.Renewals {
			g.Renewals[n].Until = min(g.Renewals[n].Until, from)
		}
		g.longestUntil = nil
		if from >= to {
			continue
		}
		if m == nil {
			m = f.newActivity()
		}
		if m.happenedIn(g, from, to) {
			f.noteUnknownPromise(g.loss, fmt.Sprintf("%s was told at %s that it had lost the lock, but not since when",
				g.Client, words.Instant(f.At(g.loss))))
		}
	}
}

// activity says what happened while it is not known whether a grant was lost.
type activity struct {
	facts *Facts
	// grantsOfLock has the grants of each lock, in their order; nextOfOther is of each grant the next
	// of its lock to another client, -1 for none.
	grantsOfLock map[string][]int
	nextOfOther  []int
	// effects are those of each client.
	effects map[string]spans
}

func (f *Facts) newActivity() *activity {
	m := &activity{facts: f, grantsOfLock: make(map[string][]int), nextOfOther: make([]int, len(f.Grants)), effects: make(map[string]spans)}
	for i := range f.Grants {
		m.grantsOfLock[f.Grants[i].Lock] = append(m.grantsOfLock[f.Grants[i].Lock], i)
	}
	for _, list := range m.grantsOfLock {
		next := -1
		for n, i := range slices.Backward(list) {
			if n+1 < len(list) && f.Grants[list[n+1]].Client != f.Grants[i].Client {
				next = list[n+1]
			}
			m.nextOfOther[i] = next
		}
	}
	for i := range f.Effects {
		x := &f.Effects[i]
		m.effects[x.Client()] = append(m.effects[x.Client()], span{from: int64(x.From), to: int64(x.To)})
	}
	for _, s := range m.effects {
		s.sortByStart()
	}
	return m
}

// happenedIn reports that somebody else was granted the lock of a grant in a stretch, or that
// its client may have done something in it.
func (m *activity) happenedIn(g *Grant, from, to time.Duration) bool {
	if m.effects[g.Client].overlaps(int64(from), int64(to)) {
		return true
	}
	given := func(i int) time.Duration { return m.facts.At(m.facts.Grants[i].Return) }
	list := m.grantsOfLock[g.Lock]
	n := sort.Search(len(list), func(i int) bool { return given(list[i]) >= from })
	if n == len(list) {
		return false
	}
	first := list[n]
	if m.facts.Grants[first].Client == g.Client {
		first = m.nextOfOther[first]
	}
	return first >= 0 && given(first) <= to
}
