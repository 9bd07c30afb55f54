package checker

import (
	"iter"
	"time"

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

var ends = [...]string{endless: "holds on", released: "asks to release", killed: "is killed", superseded: "asks for the lock anew"}

// Beliefs are those of a history's clients, as the verdicts count them, in the order
// of their grants. The operations are the history's.
func Beliefs(h *history.History, ops []history.Op) iter.Seq[Belief] {
	v := viewOfGrants(h, ops)
	return func(yield func(Belief) bool) {
		for i := range v.grants {
			// What a re-entry re-entered lasts at least as long.
			if g := &v.grants[i]; g.outer < 0 && !yield(v.belief(g)) {
				return
			}
		}
	}
}

func (v *view) belief(g *grant) Belief {
	b := Belief{Client: g.client, Lock: g.lock, Owner: g.owner, Token: g.token, Granted: g.ret, Ended: g.ends, End: ends[g.how],
		During: Interval{From: v.at(g.ret), To: min(v.at(g.ends), v.end)}}
	if g.until.given {
		b.Promises = append(b.Promises, Promise{b.During.From, g.until.end})
	}
	for _, x := range g.extends {
		b.Promises = append(b.Promises, Promise{v.at(x.ret), x.until})
	}
	return b
}
