package facts

import (
	"sort"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// Promise is what a lock says of the end of a grant. Most grants of a lease have
// one; the zero promise is none, and has no end that could be counted with.
type Promise struct {
	End   time.Duration
	Given bool
}

// promiseUntil is what a value of an event promises.
func promiseUntil(end history.Int) Promise { return Promise{time.Duration(end.V()), end.IsSet()} }

// EndedBefore reports that the promise had ended before an instant.
func (p Promise) EndedBefore(at time.Duration) bool { return p.Given && p.End < at }

// EarlierOf is the earlier of an instant and the end of the promise.
func (p Promise) EarlierOf(at time.Duration) time.Duration {
	if p.Given {
		return min(at, p.End)
	}
	return at
}

// LaterOf is that one of two promises that ends later; one without an end wins.
func (p Promise) LaterOf(q Promise) Promise {
	if p.Given && (!q.Given || q.End > p.End) {
		return q
	}
	return p
}

// Renewal is a renewal that succeeded: when it was asked for, and the event of its answer.
type Renewal struct {
	Asked  time.Duration
	Return int
	Until  time.Duration
}

// inherit gives a re-entry the promise of the grant that it re-entered where its
// own is shorter or missing: the client acts under both.
func (g *Grant) inherit(last Promise, own bool) {
	if !last.Given || !own {
		g.Until = last
	} else {
		g.Until = g.Until.LaterOf(last)
	}
}

// LastPromise is the latest end that the lock ever promised for a grant.
func (g *Grant) LastPromise() Promise {
	return g.PromiseWith(func(Renewal) bool { return true })
}

// PromiseWith is the latest end that the lock promised for a grant, by itself or by those
// renewals that count. One for ever is none.
func (g *Grant) PromiseWith(counts func(Renewal) bool) Promise {
	p := g.Until
	if !p.Given {
		return p
	}
	for _, x := range g.Renewals {
		if x.Until > p.End && counts(x) {
			p.End = x.Until
		}
	}
	p.Given = p.End < Forever
	return p
}

// promiseAskedBy is a grant's promise with the renewals that had been asked for by an
// instant.
func (f *Facts) promiseAskedBy(g *Grant, at time.Duration) Promise {
	return g.PromiseWith(func(x Renewal) bool { return x.Asked <= at })
}

// promiseBefore is the promise of a grant by what was told before an event.
func (f *Facts) promiseBefore(g *Grant, event int) Promise {
	if g.loss < 0 || g.loss >= event {
		return g.promiseWithoutLoss(event)
	}
	return Promise{g.promiseWithoutLoss(g.loss).EarlierOf(f.earliestLoss(g)), true}
}

// promiseWithoutLoss is that promise as if no loss had been told. A grant can be re-entered as often
// as it is renewed: so what was found once is kept.
func (g *Grant) promiseWithoutLoss(event int) Promise {
	n := sort.Search(len(g.Renewals), func(i int) bool { return g.Renewals[i].Return >= event })
	for k := len(g.longestUntil); k < n; k++ {
		end := g.Renewals[k].Until
		if k > 0 {
			end = max(end, g.longestUntil[k-1])
		}
		g.longestUntil = append(g.longestUntil, end)
	}
	p := g.Until
	if n > 0 {
		p.End = max(p.End, g.longestUntil[n-1])
	}
	p.Given = p.Given && p.End < Forever
	return p
}

// PromiseAt is the promise of a client that believes in a grant when an event comes, which its second entries can have lengthened.
func (f *Facts) PromiseAt(g *Grant, event int) Promise {
	p := f.promiseBefore(g, event)
	for _, i := range f.GrantsTo(g.Client, g.Lock) {
		if again := &f.Grants[i]; again.Return < event && again.OpenAt(event) {
			p = p.LaterOf(f.promiseBefore(again, event))
		}
	}
	return p
}

// PromiseForEffect is the promise up to which an effect may come, with its grant; none where it is under no grant, or
// nobody knows when it came; endless: it has no end with all its renewals. Where the effect may belong to several writes, the
// promise that ends last counts.
func (f *Facts) PromiseForEffect(x *Effect) (last *Grant, until Promise, endless bool) {
	if !x.known && len(x.Writes) == 0 {
		return nil, Promise{}, true
	}
	consider := func(g *Grant) {
		endless = endless || !g.LastPromise().Given
		if p := f.promiseAskedBy(g, x.To); last == nil || until.LaterOf(p) != until {
			last, until = g, p
		}
	}
	for _, w := range x.Writes {
		under := f.GrantsActedUnder(x.Client(), f.Ops[w].Call)
		if len(under) == 0 {
			return nil, Promise{}, true
		}
		for _, g := range under {
			consider(g)
		}
	}
	if len(x.Writes) == 0 {
		for _, i := range f.byClient[x.Client()] {
			if g := &f.Grants[i]; f.At(g.Return) <= x.From {
				consider(g)
			}
		}
	}
	return last, until, endless
}

// LateUnder is the grant after the end of whose promise an effect came; nil: it was not late, or nobody can tell.
func (f *Facts) LateUnder(x *Effect) *Grant {
	g, until, _ := f.PromiseForEffect(x)
	if !until.EndedBefore(x.From) {
		return nil
	}
	return g
}
