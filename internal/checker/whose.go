package checker

import (
	"maps"
	"math"
	"slices"
	"sort"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// kept is what is known of a key-set after which the key is not surely that of the client that set it: a
// waiter that was refused counted itself in the key, or wrote the holder's value back.
type kept struct {
	// set is the last key-set of the client whose key it was, and may be.
	set int
	// sure: it still is. Otherwise nobody knows whose the key is: the writer may have been granted
	// the lock, or its value stands in the place of the holder's.
	sure bool
}

// claim is what is known of a key on a node, from the last key-set of the client whose key it is.
type claim struct {
	client string
	set    int
	// granted: the grant of the acquire op rests on it, which told the owner value told.
	granted bool
	op      int
	told    string
	// proof is the value that shows the holder's claim, empty where none does.
	proof string
	// value is what stands in the key.
	value string
	// doubt: somebody else may have been granted the lock by a later key-set.
	doubt bool
}

// sure reports that the key is its client's.
func (c *claim) sure() bool { return !c.doubt && (c.proof == "" || c.value == c.proof) }

// prove takes note of the value that the holder left in its key.
func (c *claim) prove() {
	if c.proof = ""; c.granted && c.told == c.value {
		c.proof = c.told
	}
}

// collectKept finds the key-sets that leave a key to its holder.
func (v *view) collectKept() {
	r := rests{v: v, gone: make(map[int]int), lost: make(map[int]int), sets: make(map[nodeKey][]int)}
	if r.look(); len(r.sets) == 0 {
		return
	}
	v.kept, v.renewedOver = make(map[int]kept), make(map[int]claim)
	now := make(map[nodeKey]*claim)
	fault := 0
	for i := range v.h.Events {
		e := v.event(i)
		k := nodeKey{e.Process, e.Value.Key}
		switch e.F {
		case history.NodeDown, history.NodeUp, history.NodePromoted, history.NodeDemoted:
			maps.DeleteFunc(now, func(k nodeKey, _ *claim) bool { return k.node == e.Process })
		case history.FaultBegin:
			f := &v.faults[fault]
			fault++
			maps.DeleteFunc(now, func(k nodeKey, _ *claim) bool { return f.mayForget(k.node) })
		case history.KeyDeleted, history.KeyExpired, history.KeyUnclear:
			delete(now, k)
		case history.KeySet:
			if e.Value.Client == "" {
				delete(now, k)
				continue
			}
			if c := now[k]; c != nil && c.sure() && r.renewsBySet(i) {
				v.renewedOver[i] = *c
			}
			now[k] = r.set(now[k], i)
		}
	}
}

// set is what is known of a key after a key-set of a client.
func (r *rests) set(c *claim, i int) *claim {
	value := &r.v.event(i).Value
	foreign := c != nil && c.granted && c.client != value.Client
	holder := ""
	if foreign {
		holder = c.client
	}
	op, granted := r.on(i, holder)
	if foreign && granted != yes {
		c.value, c.doubt = value.Owner, c.doubt || granted == unsure
		r.v.kept[i] = kept{c.set, c.sure()}
		return c
	}
	next := &claim{client: value.Client, set: i, value: value.Owner, granted: granted == yes}
	if next.granted {
		next.op, next.told = op, r.v.owner(op)
	} else if c != nil && c.client == value.Client {
		next.granted, next.op, next.told, next.doubt = c.granted, c.op, c.told, c.doubt
	}
	if next.prove(); !next.sure() {
		r.v.kept[i] = kept{i, false}
	}
	return next
}

// renewsBySet reports that a key-set of a client is a renewal of the grant that it has, or had.
func (r *rests) renewsBySet(i int) bool {
	v, e := r.v, r.v.event(i)
	attempts := v.acquires[e.Value.Client]
	n := sort.Search(len(attempts), func(n int) bool { return v.ops[attempts[n]].Call > i })
	if n == 0 {
		return false
	}
	g := v.grantOf(attempts[n-1])
	if g == nil || g.ret >= i || v.afterAnswer(g, i) != yes {
		return false
	}
	list := r.sets[nodeKey{e.Process, e.Value.Key}]
	same := func(set int) bool {
		before := &v.event(set).Value
		return before.Client == e.Value.Client && before.Owner == e.Value.Owner && before.Owner != ""
	}
	return g.openAt(i) || slices.ContainsFunc(list[sort.SearchInts(list, g.call):sort.SearchInts(list, i)], same)
}

// rests finds out on which key-sets grants rest.
type rests struct {
	v *view
	// sets are the key-sets of each key; gone is the event in which what one of them left is next seen
	// to be gone, lost that after which it is next not known any more.
	sets       map[nodeKey][]int
	gone, lost map[int]int
}

// look reads the history from its end.
func (r *rests) look() {
	v := r.v
	gone, lost, nodeLost := make(map[nodeKey]int), make(map[nodeKey]int), make(map[string]int)
	fault := len(v.faults)
	nodes := make(map[string]bool)
	for i := range v.h.Events {
		if e := v.event(i); e.F == history.KeySet {
			nodes[e.Process] = true
		}
	}
	for i := len(v.h.Events) - 1; i >= 0; i-- {
		e := v.event(i)
		k := nodeKey{e.Process, e.Value.Key}
		switch e.F {
		case history.KeyDeleted, history.KeyExpired:
			gone[k] = i
		case history.KeyUnclear:
			lost[k] = i
		case history.NodeDown, history.NodeUp, history.NodePromoted, history.NodeDemoted:
			nodeLost[e.Process] = i
		case history.FaultBegin:
			fault--
			for n := range nodes {
				if v.faults[fault].mayForget(n) {
					nodeLost[n] = i
				}
			}
		case history.KeySet:
			r.sets[k] = append(r.sets[k], i)
			r.gone[i], r.lost[i] = next(gone, k), min(next(lost, k), next(nodeLost, k.node))
		}
	}
	for _, list := range r.sets {
		slices.Reverse(list)
	}
}

// never is an event that never comes.
const never = math.MaxInt

func next[K comparable](events map[K]int, of K) int {
	if i, comes := events[of]; comes {
		return i
	}
	return never
}

// on says whether a grant of its client rests on a key-set, and by which attempt. The holder is the
// client whose key it was, if another's grant rested on it.
func (r *rests) on(i int, holder string) (op int, granted certainty) {
	v, e := r.v, r.v.event(i)
	attempts := v.acquires[e.Value.Client]
	n := sort.Search(len(attempts), func(n int) bool { return v.ops[attempts[n]].Call > i })
	if n == 0 {
		return -1, no
	}
	op = attempts[n-1]
	o, to := &v.ops[op], len(v.h.Events)
	k := nodeKey{e.Process, e.Value.Key}
	switch {
	case o.Type == history.OK:
		to = max(o.Return, r.asked(k, e.Value.Client, op))
	case o.Return >= 0:
		to = o.Return
	case n < len(attempts):
		to = v.ops[attempts[n]].Call
	}
	switch {
	case o.Type == history.Fail:
		return op, no
	case i > to && o.Type == history.OK:
		if g := v.grantOf(op); g.ends < 0 || i < g.ends {
			return op, yes
		}
		return op, no
	case r.gone[i] < to, holder != "" && r.setAgain(k, holder, i, to):
		return op, no
	case o.Type != history.OK, r.lost[i] < to:
		return op, unsure
	}
	return op, yes
}

// asked is the last key-set of an attempt that left the client before the answer: it can be observed late. -1: none is known to have.
func (r *rests) asked(k nodeKey, client string, op int) int {
	v, o, list := r.v, &r.v.ops[op], r.sets[k]
	attempts := v.acquires[client]
	next, n := len(v.h.Events), sort.SearchInts(attempts, op)
	if n+1 < len(attempts) {
		next = v.ops[attempts[n+1]].Call
	}
	for i := sort.SearchInts(list, next) - 1; i >= 0 && list[i] > o.Return; i-- {
		value := &v.event(list[i]).Value
		if value.Client == client && value.At().IsSet() && time.Duration(value.At().V()) <= v.at(o.Return) {
			return list[i]
		}
	}
	return -1
}

// setAgain reports that a client sets a key between two events.
func (r *rests) setAgain(k nodeKey, client string, from, to int) bool {
	list := r.sets[k]
	n := sort.SearchInts(list, from+1)
	for ; n < len(list) && list[n] < to; n++ {
		if r.v.event(list[n]).Value.Client == client {
			return true
		}
	}
	return false
}

// leaves reports that a key-set did not make the key that of the client that set it.
func (v *view) leaves(set int) bool {
	k, is := v.kept[set]
	return is && k.set != set
}

// renewedOverKey is whose a key was before a key-set that is a renewal.
func (v *view) renewedOverKey(set int) (before claim, renews bool) {
	before, renews = v.renewedOver[set]
	return before, renews
}

// keyOf is whose a key is after a key-set: the client, and the key-set by which it is. The client is
// empty where nobody knows.
func (v *view) keyOf(set int) (client string, by int) {
	k, is := v.kept[set]
	switch {
	case !is:
		return v.event(set).Value.Client, set
	case !k.sure:
		return "", set
	}
	return v.event(k.set).Value.Client, k.set
}
