package checker

import (
	"fmt"
	"math"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// known takes back a verdict that rests on promises or keys of which something is not
// known. Of promises even a violation may be wrong then. Of keys a
// violation was seen in what is known, and stays. For ordered-tokens, keys only say of more
// grants that they are later: what was compared without them stands.
func (v *view) known(f Finding) Finding {
	if v.vague >= 0 && f.Property.row().promised {
		return Finding{Property: f.Property, Effort: f.Effort, Method: f.Method, Verdict: Unknown, Events: []int{v.vague}, Why: v.vagueWhy}
	}
	if v.unclear < 0 || f.Verdict == Violated || !f.Property.row().keyed || f.Property == OrderedTokens && f.Verdict == Holds {
		return f
	}
	e := v.event(v.unclear)
	f.Verdict, f.Events = Unknown, []int{v.unclear}
	f.Why = fmt.Sprintf("it is not known what %s left in the key on node %s at %s", e.Value.Detail(), e.Process, words.Instant(e.Time))
	return f
}

// isVague takes note that a promise is not known, and why.
func (v *view) isVague(event int, why string) {
	if v.vague < 0 {
		v.vague, v.vagueWhy = event, why
	}
}

// firstUnclear is the first event after which a node's key was not known, and the first in
// which a stranger changed one; -1 where there is none.
func firstUnclear(h *history.History) (unclear, stranger int) {
	unclear, stranger = -1, -1
	for i := range h.Events {
		e := &h.Events[i]
		if e.F != history.KeyUnclear || !ofLock(h, e) {
			continue
		}
		if unclear < 0 {
			unclear = i
		}
		if e.Value.Stranger() {
			return unclear, i
		}
	}
	return unclear, stranger
}

// ofLock reports that an event of a key is about a key of the lock.
func ofLock(h *history.History, e *history.Event) bool {
	return h.Header.LockKey == "" || e.Value.Key == "" || e.Value.Key == h.Header.LockKey
}

// unclearSpans are the stretches of the history in which a key of the lock was not known, from
// event to event.
func (v *view) unclearSpans() (list spans) {
	v.eachUnclear(func(_ string, s span) { list = append(list, s) })
	list.ready()
	return list
}

// eachUnclear tells of these stretches, each with its node.
func (v *view) eachUnclear(tell func(node string, s span)) {
	since := make(map[nodeKey]int)
	for i := range v.h.Events {
		e := v.event(i)
		switch e.F {
		case history.KeySet, history.KeyExtended, history.KeyDeleted, history.KeyExpired, history.KeyUnclear:
			at := nodeKey{e.Process, e.Value.Key}
			if from, was := since[at]; was {
				tell(at.node, span{from: int64(from), to: int64(i)})
				delete(since, at)
			}
			if e.F == history.KeyUnclear && ofLock(v.h, e) {
				since[at] = i
			}
		}
	}
	for at, from := range since {
		tell(at.node, span{from: int64(from), to: math.MaxInt64})
	}
}
