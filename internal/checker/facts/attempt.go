package facts

import (
	"slices"
	"sort"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// attemptBefore is a client's latest attempt before an event, -1 for none.
func (f *Facts) attemptBefore(client string, event int) int {
	attempts := f.Attempts[client]
	n := sort.Search(len(attempts), func(n int) bool { return f.Ops[attempts[n]].Call > event })
	if n == 0 {
		return -1
	}
	return attempts[n-1]
}

// AskedUntil is when a client stopped asking in the i-th of its attempts: at the
// answer, or else at its next attempt.
func (f *Facts) AskedUntil(acquires []int, i int) time.Duration {
	o := &f.Ops[acquires[i]]
	if o.Return < 0 && i+1 < len(acquires) {
		return f.At(f.Ops[acquires[i+1]].Call)
	}
	return f.At(o.Return)
}

// RenewalUnderWay reports that a client had asked for a renewal when an event came, and had
// no answer yet: it may arrive at the nodes after it.
func (f *Facts) RenewalUnderWay(client string, event int) bool {
	for i := range f.Ops {
		o := &f.Ops[i]
		if o.F == history.Extend && o.Process == client && o.Call < event && (o.Return < 0 || o.Return > event) {
			return true
		}
	}
	return false
}

// LeftAfterAnswer says whether the command that set a key left its client after the answer to
// its attempt. Where no link told, it did if a renewal is under way: that is so of our own locks
// alone.
func (f *Facts) LeftAfterAnswer(g *Grant, set int) Certainty {
	switch at := f.Event(set).Value.At(); {
	case at.IsSet() && time.Duration(at.V()) > f.At(g.Return):
		return Yes
	case at.IsSet():
		return No
	case f.History.Header.Quorum == 0 && f.RenewalUnderWay(g.Client, set):
		return Yes
	}
	return Unsure
}

// SeveralLocks reports that clients asked for more than one lock: whose keys are which is
// not known then.
func (f *Facts) SeveralLocks() bool {
	first := slices.IndexFunc(f.Ops, func(o history.Op) bool { return o.F == history.Acquire })
	for i := range f.Ops {
		if f.Ops[i].F == history.Acquire && f.HolderOf(i).Lock != f.HolderOf(first).Lock {
			return true
		}
	}
	return false
}

// Quorum is how many nodes have to hold the lock.
func (f *Facts) Quorum() int {
	if f.History.Header.Quorum > 0 {
		return f.History.Header.Quorum
	}
	return f.NodesTotal()/2 + 1
}

// Certainty says whether something is so.
type Certainty uint8

// The larger, the more certain.
const (
	No Certainty = iota
	Unsure
	Yes
)

// FirstAttemptWithoutOwner is, for each client that made an attempt without telling its owner
// value, the event at which it began the first such: from then on it may have used any.
func (f *Facts) FirstAttemptWithoutOwner() map[string]int {
	first := make(map[string]int)
	for client, acquires := range f.Attempts {
		if n := slices.IndexFunc(acquires, func(op int) bool { return f.ownerOf(op) == "" }); n >= 0 {
			first[client] = f.Ops[acquires[n]].Call
		}
	}
	return first
}

// nextCall is when a client begins the operation after one, -1 where it begins none.
func (f *Facts) nextCall(client string, op int) int {
	for i := op + 1; i < len(f.Ops); i++ {
		if f.Ops[i].Process == client {
			return f.Ops[i].Call
		}
	}
	return -1
}
