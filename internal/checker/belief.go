package checker

import (
	"iter"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker/facts"
	"github.com/redlock-sim/redlock-sim/internal/history"
)

// Belief is a stretch in which a client believed that it held a lock: from the answer to
// its acquire to the event that ended it. A grant and the re-entries into it are one.
type Belief struct {
	Client, Lock, Owner string
	Token               history.Int
	During              Interval
	// Granted is the event of the answer, Ended that of the end, -1 where the history ended
	// first. End says what happened to the client then: "asks to release".
	Granted, Ended int
	End            string
	// Promises are the ends of validity that the client was told, in that order.
	Promises []Promise
}

// Promise is an end of validity, and when the client was told of it.
type Promise struct{ Made, Until time.Duration }

var ends = [...]string{facts.Endless: "holds on", facts.Released: "asks to release", facts.Dropped: "forgets it", facts.Killed: "is killed",
	facts.Superseded: "asks for the lock anew"}

// Beliefs are those of a history's clients, as the verdicts count them, in the order
// of their grants. The operations are the history's.
func Beliefs(h *history.History, ops []history.Op) iter.Seq[Belief] {
	all := facts.OfGrants(h, ops)
	return func(yield func(Belief) bool) {
		for i := range all.Grants {
			// What a re-entry re-entered lasts at least as long.
			if g := &all.Grants[i]; g.Outer < 0 && !yield(belief(all, g)) {
				return
			}
		}
	}
}

func belief(f *facts.Facts, g *facts.Grant) Belief {
	b := Belief{Client: g.Client, Lock: g.Lock, Owner: g.Owner, Token: g.Token, Granted: g.Return, Ended: g.End, End: ends[g.Ending],
		During: Interval{From: f.At(g.Return), To: min(f.At(g.End), f.End)}}
	if g.Until.Given {
		b.Promises = append(b.Promises, Promise{b.During.From, g.Until.End})
	}
	for _, x := range g.Renewals {
		b.Promises = append(b.Promises, Promise{f.At(x.Return), x.Until})
	}
	return b
}
