package facts

import (
	"cmp"
	"slices"
	"time"
)

// Holding is a stretch of run time during which a client surely was inside a
// grant: it had been told of it, and it had not yet ended.
type Holding struct {
	From, To time.Duration
	// Asked is when it was asked for, Over when the answer to its end had come:
	// the holding began after the one and was over at the other.
	Asked, Over time.Duration
	// Grant is where it began, as a place in Facts.Grants; End is the event
	// that ended it, -1 where it was the end of a promise or of the history.
	Grant, End int
}

// Beliefs last from an acquire's answer to the release's request, or to a loss that the
// lock told. Inside re-entered grants of one client there is one belief.
func (f *Facts) Beliefs() []Holding {
	list := make([]Holding, 0, len(f.Grants))
	for i := range f.Grants {
		g := &f.Grants[i]
		h := Holding{From: f.At(g.Return), To: f.BelievedUntil(g), Asked: f.At(g.Call), Over: f.endAnswered(g), Grant: i, End: g.End}
		if g.loss >= 0 {
			h.To = min(h.To, max(f.earliestLoss(g), h.From))
		}
		list = append(list, h)
	}
	return f.merged(list)
}

// endAnswered is when the end of a grant had been answered.
func (f *Facts) endAnswered(g *Grant) time.Duration {
	if g.Ending == Released {
		return f.At(f.Ops[g.release].Return)
	}
	return f.At(g.End)
}

// Leases are the beliefs cut off where the promise ended, or where others may have found the lease over. A renewal that came
// in time lengthens the stretch; one that came late begins another.
func (f *Facts) Leases() []Holding {
	list := make([]Holding, 0, len(f.Grants))
	for i := range f.Grants {
		g := &f.Grants[i]
		add := func(asked, from time.Duration, until Promise) {
			h := Holding{From: from, To: f.BelievedUntil(g), Asked: asked, Over: f.endAnswered(g), Grant: i, End: g.End}
			if until.EndedBefore(h.To) {
				h.To, h.Over, h.End = until.End, until.End, -1
			}
			// A promise that was over when it was given is no holding. A grant that was
			// released in the instant of its answer is one: it was believed, if briefly.
			if !until.Given || from < until.End {
				list = append(list, h)
			}
		}
		asked, from, until := f.At(g.Call), f.At(g.Return), f.heldUntil(g, g.Until, g.Return)
		for _, x := range g.Renewals {
			if !until.Given || x.Return > g.EndOr(x.Return) {
				break
			}
			further := f.heldUntil(g, Promise{x.Until, true}, x.Return).End
			if told := f.At(x.Return); until.EndedBefore(told) {
				add(asked, from, until)
				asked, from, until.End = x.Asked, told, further
			}
			until.End = max(until.End, further)
		}
		add(asked, from, until)
	}
	return f.merged(list)
}

// merged sorts holdings by lock and beginning and joins those of one client that
// overlap, or that touch where one is of a re-entry and the other of the grant that it
// re-entered.
func (f *Facts) merged(list []Holding) []Holding {
	slices.SortFunc(list, func(a, b Holding) int {
		return cmp.Or(cmp.Compare(f.Grants[a.Grant].Lock, f.Grants[b.Grant].Lock), cmp.Compare(a.From, b.From), cmp.Compare(a.Grant, b.Grant))
	})
	joined := list[:0]
	type mode struct { // what a client reads and what it writes are two
		Holder
		shared bool
	}
	last := make(map[mode]lastHolding)
	for _, h := range list {
		g := &f.Grants[h.Grant]
		k := mode{Holder{g.Client, g.Lock}, g.Shared}
		l := last[k]
		touches := func(i int) bool { return f.Grants[i].Outer == h.Grant || g.Outer == i }
		if len(l.grants) == 0 || h.From > joined[l.at].To || h.From == joined[l.at].To && !slices.ContainsFunc(l.grants, touches) {
			last[k] = lastHolding{len(joined), append(l.grants[:0], h.Grant)}
			joined = append(joined, h)
			continue
		}
		before := &joined[l.at]
		if h.To > before.To {
			before.To, before.Over, before.End = h.To, h.Over, h.End
			l.grants = l.grants[:0]
		}
		if h.To == before.To {
			l.grants = append(l.grants, h.Grant)
		}
		last[k] = l
	}
	return joined
}

// lastHolding says where a client's latest holding is, and which grants it ends with.
type lastHolding struct {
	at     int
	grants []int
}

// LeasesOfKilled last from the kill of a holder to the end of its promise. The lock cannot know that the holder is dead, and keeps
// others out as ever.
func (f *Facts) LeasesOfKilled() (list []Holding) {
	for i := range f.Grants {
		g := &f.Grants[i]
		if last := g.LastPromise(); g.Ending == Killed && last.Given && last.End > f.At(g.End) {
			list = append(list, Holding{From: f.At(g.End), To: last.End, Grant: i})
		}
	}
	slices.SortFunc(list, func(a, b Holding) int {
		return cmp.Or(cmp.Compare(f.Grants[a.Grant].Lock, f.Grants[b.Grant].Lock), cmp.Compare(a.From, b.From), cmp.Compare(a.Grant, b.Grant))
	})
	return list
}
