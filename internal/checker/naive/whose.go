package naive

import (
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// whose is to whom a key on a node belongs after an event. No client: nobody was seen to set it.
type whose struct {
	client string
	// set is the last key-set of that client, attempt the one that a grant of its rests on; nil: none does.
	set     int
	attempt *op
	// left is what the client left in the key, value is what stands in it.
	left, value string
	// doubtful: it is not known whether a grant of another client rests on a later key-set.
	doubtful bool
}

// known reports that it is known whose the key is: "it is not known if it is not known whether a grant
// rests on the new `key-set`, or if the holder's claim was overwritten. The claim is the owner value
// that the holder's grant told, if the holder left it in the key."
func (w whose) known() bool {
	claimed := w.attempt != nil && w.attempt.owner != "" && w.attempt.owner == w.left
	return w.client != "" && !w.doubtful && (!claimed || w.value == w.left)
}

// whoseKey follows a key through the events that stand before event i.
func (t *terms) whoseKey(node, key string, i int) (w whose) {
	for j := range t.events[:i] {
		e := &t.events[j]
		here := e.Process == node && e.Value.Key == key
		switch {
		// "A `key-set` without a client, a `key-deleted`, `key-expired` or `key-unclear` ends all this. So does
		// it that the node goes down, comes up, is promoted or is demoted, and a fault [...]."
		case t.mayForget(j, node):
			w = whose{}
		case !here:
		case e.F == history.KeyDeleted, e.F == history.KeyExpired, e.F == history.KeyUnclear:
			w = whose{}
		case e.F == history.KeySet && e.Value.Client == "":
			w = whose{}
		case e.F == history.KeySet:
			w = t.setBy(w, j)
		}
	}
	return w
}

// setBy: "After a `key-set` the key belongs to the client that set it, unless it was another client's whose grant
// rests on it, and the grant of the client that set it surely does not, or is not known to. Then
// it stays the holder's: what was written changes its value and its end, and nothing else."
func (t *terms) setBy(w whose, j int) whose {
	v := &t.events[j].Value
	anothers := w.client != "" && w.client != v.Client && w.attempt != nil
	before := ""
	if anothers {
		before = w.client
	}
	p := t.attemptOf(j)
	rests := t.restsOn(p, j, before)
	if anothers && rests != surely {
		w.value, w.doubtful = v.Owner, w.doubtful || rests == perhaps
		return w
	}
	now := whose{client: v.Client, set: j, left: v.Owner, value: v.Owner}
	switch {
	case rests == surely:
		now.attempt = p
	case w.client == v.Client:
		now.attempt, now.doubtful = w.attempt, w.doubtful
	}
	return now
}

// attemptOf: "A `key-set` of a client belongs to its attempt: its latest `acquire` whose invocation stands
// before the event." Nil: there is none.
func (t *terms) attemptOf(j int) (latest *op) {
	for _, p := range t.ops {
		if p.f == history.Acquire && p.client == t.events[j].Value.Client && p.invoked < j {
			latest = p
		}
	}
	return latest
}

// likely says whether something is so.
type likely int

const (
	not likely = iota
	perhaps
	surely
)

// restsOn: "The client's grant rests on the `key-set` if the attempt was answered `ok`, and if the key stayed
// until the answer". before is the client whose key it was.
func (t *terms) restsOn(p *op, j int, before string) likely {
	if p == nil || p.outcome == history.Fail {
		return not
	}
	v, to := &t.events[j].Value, t.tried(p)
	if p.outcome == history.OK {
		g := t.grants[slices.IndexFunc(t.grants, func(g *grant) bool { return g.op == p })]
		to = max(to, t.lastTry(p, j, g.ret))
		// "If the `key-set` stands after the stretch, it must stand before the end of the belief."
		if j > to {
			if j < g.ended {
				return surely
			}
			return not
		}
	}
	// "(the stretch then ends with the completion, or the client's next attempt)"
	rests := surely
	if p.outcome != history.OK {
		rests = perhaps
	}
	for i := j + 1; i < to; i++ {
		e := &t.events[i]
		here := e.Process == t.events[j].Process && e.Value.Key == v.Key
		switch {
		case here && (e.F == history.KeyDeleted || e.F == history.KeyExpired):
			return not
		case here && e.F == history.KeySet && before != "" && e.Value.Client == before:
			return not
		case here && e.F == history.KeyUnclear, t.mayForget(i, t.events[j].Process):
			rests = perhaps
		}
	}
	return rests
}

// lastTry: "The stretch lasts to the answer, or to the last `key-set` of the attempt (of this key on this
// node) whose `at` is not after the answer, if that one stands later."
func (t *terms) lastTry(p *op, j int, answer int64) (last int) {
	for i := range t.events {
		e, same := &t.events[i], t.events[j].Value
		if e.F == history.KeySet && e.Process == t.events[j].Process && e.Value.Key == same.Key && e.Value.Client == same.Client &&
			t.attemptOf(i) == p && e.Value.At().IsSet() && e.Value.At().V() <= answer {
			last = i
		}
	}
	return last
}

// stays reports that a key-set leaves the key to another client, or that it is not known whose it is then.
func (t *terms) stays(i int) bool {
	e := &t.events[i]
	if e.F != history.KeySet || e.Value.Client == "" {
		return false
	}
	w := t.whoseOnce(e.Process, e.Value.Key, i+1)
	return w.set != i
}

// whoseOnce keeps what whoseKey has found.
func (t *terms) whoseOnce(node, key string, i int) whose {
	type question struct {
		node, key string
		i         int
	}
	if t.whoseKnown == nil {
		t.whoseKnown = map[any]whose{}
	}
	q := question{node, key, i}
	if _, found := t.whoseKnown[q]; !found {
		t.whoseKnown[q] = t.whoseKey(node, key, i)
	}
	return t.whoseKnown[q]
}
