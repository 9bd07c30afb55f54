package facts

import (
	"maps"
	"math"
	"slices"
	"sort"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// foreignSet is what is known of a key-set after which the key is not surely that of the client that set it: a
// waiter that was refused counted itself in the key, or wrote the holder's value back.
type foreignSet struct {
	// ownerSet is the last key-set of the client whose key it was, and may be.
	ownerSet int
	// sure: it still is. Otherwise nobody knows whose the key is: the writer may have been granted
	// the lock, or its value stands in the place of the holder's.
	sure bool
}

// Claim is what is known of a key on a node, from the last key-set of the client whose key it is.
type Claim struct {
	Client string
	Set    int
	// Granted: the grant of the acquire Op rests on it, which told the owner value toldOwner.
	Granted   bool
	Op        int
	toldOwner string
	// proof is the value that shows the holder's claim, empty where none does.
	proof string
	// value is what stands in the key.
	value string
	// doubtful: somebody else may have been granted the lock by a later key-set.
	doubtful bool
}

// isSure reports that the key is its client's.
func (c *Claim) isSure() bool { return !c.doubtful && (c.proof == "" || c.value == c.proof) }

// prove takes note of the value that the holder left in its key.
func (c *Claim) prove() {
	if c.proof = ""; c.Granted && c.toldOwner == c.value {
		c.proof = c.toldOwner
	}
}

// collectForeignSets finds the key-sets that leave a key to its holder.
func (f *Facts) collectForeignSets() {
	r := keySets{facts: f, goneAt: make(map[int]int), unknownAfter: make(map[int]int), sets: make(map[NodeKey][]int)}
	if r.index(); len(r.sets) == 0 {
		return
	}
	f.foreignSets, f.renewedOver = make(map[int]foreignSet), make(map[int]Claim)
	now := make(map[NodeKey]*Claim)
	begun := 0
	for i := range f.History.Events {
		e := f.Event(i)
		k := KeyOf(e)
		switch e.F {
		case history.NodeDown, history.NodeUp, history.NodePromoted, history.NodeDemoted:
			maps.DeleteFunc(now, func(k NodeKey, _ *Claim) bool { return k.Node == e.Process })
		case history.FaultBegin:
			fault := &f.Faults[begun]
			begun++
			maps.DeleteFunc(now, func(k NodeKey, _ *Claim) bool { return fault.MayForget(k.Node) })
		case history.KeyDeleted, history.KeyExpired, history.KeyUnclear:
			delete(now, k)
		case history.KeySet:
			if e.Value.Client == "" {
				delete(now, k)
				continue
			}
			if c := now[k]; c != nil && c.isSure() && r.renewsBySet(i) {
				f.renewedOver[i] = *c
			}
			now[k] = r.claimAfter(now[k], i)
		}
	}
}

// keySets finds out on which key-sets grants rest.
type keySets struct {
	facts *Facts
	// sets are the key-sets of each key; goneAt is the event in which what one of them left is next seen
	// to be gone, unknownAfter that after which it is next not known any more.
	sets                 map[NodeKey][]int
	goneAt, unknownAfter map[int]int
}

// index reads the history from its end.
func (r *keySets) index() {
	f := r.facts
	gone, lost, nodeLost := make(map[NodeKey]int), make(map[NodeKey]int), make(map[string]int)
	begun := len(f.Faults)
	nodes := make(map[string]bool)
	for i := range f.History.Events {
		if e := f.Event(i); e.F == history.KeySet {
			nodes[e.Process] = true
		}
	}
	for i := len(f.History.Events) - 1; i >= 0; i-- {
		e := f.Event(i)
		k := KeyOf(e)
		switch e.F {
		case history.KeyDeleted, history.KeyExpired:
			gone[k] = i
		case history.KeyUnclear:
			lost[k] = i
		case history.NodeDown, history.NodeUp, history.NodePromoted, history.NodeDemoted:
			nodeLost[e.Process] = i
		case history.FaultBegin:
			begun--
			for n := range nodes {
				if f.Faults[begun].MayForget(n) {
					nodeLost[n] = i
				}
			}
		case history.KeySet:
			r.sets[k] = append(r.sets[k], i)
			r.goneAt[i], r.unknownAfter[i] = nextEvent(gone, k), min(nextEvent(lost, k), nextEvent(nodeLost, k.Node))
		}
	}
	for _, list := range r.sets {
		slices.Reverse(list)
	}
}

// neverComes is an event that never comes.
const neverComes = math.MaxInt

func nextEvent[K comparable](events map[K]int, of K) int {
	if i, comes := events[of]; comes {
		return i
	}
	return neverComes
}

// claimAfter is what is known of a key after a key-set of a client.
func (r *keySets) claimAfter(c *Claim, i int) *Claim {
	value := &r.facts.Event(i).Value
	foreign := c != nil && c.Granted && c.Client != value.Client
	holder := ""
	if foreign {
		holder = c.Client
	}
	op, granted := r.grantRestsOn(i, holder)
	if foreign && granted != Yes {
		c.value, c.doubtful = value.Owner, c.doubtful || granted == Unsure
		r.facts.foreignSets[i] = foreignSet{c.Set, c.isSure()}
		return c
	}
	next := &Claim{Client: value.Client, Set: i, value: value.Owner, Granted: granted == Yes}
	if next.Granted {
		next.Op, next.toldOwner = op, r.facts.ownerOf(op)
	} else if c != nil && c.Client == value.Client {
		next.Granted, next.Op, next.toldOwner, next.doubtful = c.Granted, c.Op, c.toldOwner, c.doubtful
	}
	if next.prove(); !next.isSure() {
		r.facts.foreignSets[i] = foreignSet{i, false}
	}
	return next
}

// renewsBySet reports that a key-set of a client is a renewal of the grant that it has, or had.
func (r *keySets) renewsBySet(i int) bool {
	f, e := r.facts, r.facts.Event(i)
	attempts := f.Attempts[e.Value.Client]
	n := sort.Search(len(attempts), func(n int) bool { return f.Ops[attempts[n]].Call > i })
	if n == 0 {
		return false
	}
	g := f.GrantOf(attempts[n-1])
	if g == nil || g.Return >= i || f.LeftAfterAnswer(g, i) != Yes {
		return false
	}
	list := r.sets[KeyOf(e)]
	same := func(set int) bool {
		before := &f.Event(set).Value
		return before.Client == e.Value.Client && before.Owner == e.Value.Owner && before.Owner != ""
	}
	return g.OpenAt(i) || slices.ContainsFunc(list[sort.SearchInts(list, g.Call):sort.SearchInts(list, i)], same)
}

// grantRestsOn says whether a grant of its client rests on a key-set, and by which attempt. The holder is the
// client whose key it was, if another's grant rested on it.
func (r *keySets) grantRestsOn(i int, holder string) (op int, granted Certainty) {
	f, e := r.facts, r.facts.Event(i)
	attempts := f.Attempts[e.Value.Client]
	n := sort.Search(len(attempts), func(n int) bool { return f.Ops[attempts[n]].Call > i })
	if n == 0 {
		return -1, No
	}
	op = attempts[n-1]
	o, to := &f.Ops[op], len(f.History.Events)
	k := KeyOf(e)
	switch {
	case o.Type == history.OK:
		to = max(o.Return, r.lastSetBeforeAnswer(k, e.Value.Client, op))
	case o.Return >= 0:
		to = o.Return
	case n < len(attempts):
		to = f.Ops[attempts[n]].Call
	}
	switch {
	case o.Type == history.Fail:
		return op, No
	case i > to && o.Type == history.OK:
		if g := f.GrantOf(op); g.End < 0 || i < g.End {
			return op, Yes
		}
		return op, No
	case r.goneAt[i] < to, holder != "" && r.setsAgain(k, holder, i, to):
		return op, No
	case o.Type != history.OK, r.unknownAfter[i] < to:
		return op, Unsure
	}
	return op, Yes
}

// lastSetBeforeAnswer is the last key-set of an attempt that left the client before the answer: it
// can be observed late. -1: none is known to have.
func (r *keySets) lastSetBeforeAnswer(k NodeKey, client string, op int) int {
	f, o, list := r.facts, &r.facts.Ops[op], r.sets[k]
	attempts := f.Attempts[client]
	next, n := len(f.History.Events), sort.SearchInts(attempts, op)
	if n+1 < len(attempts) {
		next = f.Ops[attempts[n+1]].Call
	}
	for i := sort.SearchInts(list, next) - 1; i >= 0 && list[i] > o.Return; i-- {
		value := &f.Event(list[i]).Value
		if value.Client == client && value.At().IsSet() && time.Duration(value.At().V()) <= f.At(o.Return) {
			return list[i]
		}
	}
	return -1
}

// setsAgain reports that a client sets a key between two events.
func (r *keySets) setsAgain(k NodeKey, client string, from, to int) bool {
	list := r.sets[k]
	n := sort.SearchInts(list, from+1)
	for ; n < len(list) && list[n] < to; n++ {
		if r.facts.Event(list[n]).Value.Client == client {
			return true
		}
	}
	return false
}

// LeavesOwner reports that a key-set did not make the key that of the client that set it.
func (f *Facts) LeavesOwner(set int) bool {
	k, is := f.foreignSets[set]
	return is && k.ownerSet != set
}

// RenewedOver is whose a key was before a key-set that is a renewal.
func (f *Facts) RenewedOver(set int) (before Claim, renews bool) {
	before, renews = f.renewedOver[set]
	return before, renews
}

// OwnerAfter is whose a key is after a key-set: the client, and the key-set by which it is. The client is
// empty where nobody knows.
func (f *Facts) OwnerAfter(set int) (client string, by int) {
	k, is := f.foreignSets[set]
	if !is {
		return f.Event(set).Value.Client, set
	}
	if !k.sure {
		return "", set
	}
	return f.Event(k.ownerSet).Value.Client, k.ownerSet
}

// OverwroteByRenewal reports that a client renewed its lock by a key-set that overwrote the key of another.
func (f *Facts) OverwroteByRenewal(set int) bool {
	before, renews := f.RenewedOver(set)
	return renews && before.Client != f.Event(set).Value.Client
}

// SetForGrant reports whether a key-set was done for a grant.
func (f *Facts) SetForGrant(e *history.Event, g *Grant) bool {
	if g.Owner == "" || e.Value.Owner == "" {
		return e.Value.Client == g.Client
	}
	return e.Value.Owner == g.Owner && (e.Value.Client == "" || e.Value.Client == g.Client)
}

// NodesSetFor is on how many nodes a key was set for a grant.
func (f *Facts) NodesSetFor(g *Grant) int {
	nodes := make(map[string]bool)
	for i := g.Call; i < g.EndOr(len(f.History.Events)); i++ {
		if e := f.Event(i); e.F == history.KeySet && f.SetForGrant(e, g) {
			nodes[e.Process] = true
		}
	}
	return CountAll(f, nodes)
}

// NodesSetInAttempt counts the nodes that saw the client of a grant set a key of the lock in its
// attempt, or lengthen its own: a lock that has one value for several grants does that where the key of the one before is still there.
func (f *Facts) NodesSetInAttempt(g *Grant) int {
	nodes := make(map[string]bool)
	for i := g.Call + 1; i < g.EndOr(len(f.History.Events)); i++ {
		e := f.Event(i)
		inTime := !e.Value.At().IsSet() || time.Duration(e.Value.At().V()) <= f.At(g.Return)
		its := e.Value.Client == g.Client && (e.F == history.KeySet && !f.LeavesOwner(i) || e.F == history.KeyExtended && f.lengthensOwn(i))
		if its && inTime && f.ConcernsLock(e) && slices.Contains(f.History.Header.Nodes, e.Process) {
			nodes[e.Process] = true
		}
	}
	return CountAll(f, nodes)
}

// lengthensOwn reports that a key-extended is of the client whose key it is.
func (f *Facts) lengthensOwn(extended int) bool {
	set := f.KeySetBefore(f.Event(extended).Process, extended)
	if set < 0 {
		return false
	}
	client, _ := f.OwnerAfter(set)
	return client == f.Event(extended).Value.Client
}

// ClientByOwnerValue maps the owner values that only one client used to that client. A value that somebody
// wrote into another's key says nothing of whose it is.
func (f *Facts) ClientByOwnerValue() map[string]string {
	owners := make(map[string]string)
	note := func(owner, client string) {
		if owner == "" || client == "" {
			return
		}
		if before, ok := owners[owner]; ok && before != client {
			client = ""
		}
		owners[owner] = client
	}
	for i := range f.History.Events {
		e := f.Event(i)
		switch e.F {
		case history.Acquire:
			note(e.Value.Owner, e.Process)
		case history.KeySet:
			if f.LeavesOwner(i) {
				owners[e.Value.Owner] = ""
			}
			note(e.Value.Owner, e.Value.Client)
		}
	}
	return owners
}

// KeySetBefore is the last key-set of a key of the lock that stood on a node when an event came, as far as was seen; -1: there was none.
func (f *Facts) KeySetBefore(node string, event int) int {
	gone := make(map[string]bool)
	for i := event - 1; i >= 0; i-- {
		e := f.Event(i)
		if e.Process != node {
			continue
		}
		switch e.F {
		case history.NodeDown:
			return -1
		case history.KeyDeleted, history.KeyExpired, history.KeyUnclear:
			gone[e.Value.Key] = true
		case history.KeySet:
			if f.ConcernsLock(e) && !gone[e.Value.Key] {
				return i
			}
		}
	}
	return -1
}
