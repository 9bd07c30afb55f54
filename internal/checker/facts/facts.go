// Package facts says what a history tells: who was granted the lock, until when its client
// believed in it and what it was promised, which faults struck whom, whose a key on a node was
// and until when, which commands left a client, and which operations took effect at the
// resource. It passes no verdict: the judges of package checker, one for each property, ask it.
//
// Of finds the facts of a history; a judge only reads them. The example shows it.
//
// Events and operations are named by their places in History.Events and Ops, -1 for none. A
// field or method that says "event" has such a place; a time.Duration is an instant of the
// run, Forever for one that never comes. Two events with equal times may have happened in
// either order, unless they are of one client or of one node: those happened in the order of
// their places.
//
//   - facts.go: the history, its events and their times
//   - grant.go, promise.go, loss.go, holding.go: who had the lock as its client saw it
//   - attempt.go, command.go: what a client asked for, and when its commands left it
//   - fault.go, disturbance.go: what struck whom
//   - keyreplay.go, keyowner.go, keylife.go, backing.go, lease.go, unclear.go: the lock's keys
//     on the nodes
//   - cluster.go: nodes of the lock that are Redis Clusters of several servers
//   - section.go: what the resource saw
//
// docs/reference/properties.md defines the terms; each function here follows a paragraph of it.
package facts

import (
	"math"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/scenario/workload"
)

// Facts are those of one history. They are found once, and only read afterwards.
type Facts struct {
	History *history.History
	// Workload is that of the history.
	Workload workload.Workload
	Ops      []history.Op
	// OpAt is for each event the operation in Ops that it invokes or completes, -1 for none.
	OpAt []int32
	// Finished: the run came to its end.
	Finished bool
	// End is the time of the last event.
	End time.Duration
	// Grants are in the order in which they were given; byClient has the
	// places of each client's.
	Grants   []Grant
	byClient map[string][]int
	// byHolder has those of each client and lock, locks the locks of each client.
	byHolder map[Holder][]int
	locks    map[string][]string
	// Attempts has the acquires of each client, as places in Ops.
	Attempts map[string][]int
	// Upgrades are the acquires of readers that ask to write before they have left.
	Upgrades []int
	// Faults are in the order of their begins.
	Faults []Fault
	// FaultsSeen is how many different faults took effect.
	FaultsSeen int
	// ProgramEnds are the events in which a lock program ended by itself, and its client with it.
	ProgramEnds []int
	Sections    []Section
	// sameNamed are the operations on the resource, by name.
	sameNamed []sameNamed
	Effects   []Effect
	// FirstUnclear is the first event after which a node's key was not known, -1 for none.
	FirstUnclear int
	// FirstStranger is the first event in which a stranger changed a key of the lock, -1 for none.
	FirstStranger int
	// UnknownPromise is an event of which it is not known what a lock promised, -1 for none;
	// WhyUnknownPromise says why.
	UnknownPromise    int
	WhyUnknownPromise string
	// commandsOf are the commands of each client of a lock program; keys has the keys that they are about; setsKeys: a client was seen
	// to set one.
	commandsOf map[string]*clientCommands
	keys       *KeyReplay
	setsKeys   bool
	// askedInside are the events at which a client asked for a lock inside a section of it.
	askedInside map[Holder][]int
	// foreignSets are the key-sets that leave a key to the client whose it was.
	foreignSets map[int]foreignSet
	// clusterOf is the Redis Cluster that each server is of, where each node of the lock is one.
	clusterOf map[string]string
	// renewedOver has, for each key-set that is a renewal, whose the key was before it.
	renewedOver map[int]Claim
}

// Forever is the end of what has none.
const Forever = time.Duration(math.MaxInt64)

// Of finds the facts of a history. Its events must be numbered, and in the order of their times.
func Of(h *history.History) *Facts {
	f := grantsOf(h, h.Ops())
	f.collectSections()
	f.collectEffects()
	f.collectForeignSets()
	f.readPromises()
	f.endPromisesAtLosses()
	return f
}

// OfGrants finds the facts about grants and faults alone. The operations are the history's.
func OfGrants(h *history.History, ops []history.Op) *Facts {
	f := grantsOf(h, ops)
	if slices.ContainsFunc(f.Grants, func(g Grant) bool { return g.loss >= 0 }) {
		f.collectSections() // what a loss ends depends on effects
		f.collectEffects()
	}
	f.collectForeignSets()
	f.readPromises()
	f.endPromisesAtLosses()
	return f
}

// grantsOf finds faults and grants, without the promises that only the nodes tell, and without losses.
func grantsOf(h *history.History, ops []history.Op) *Facts {
	f := &Facts{History: h, Workload: workload.Of(workload.Name(h.Header.Workload)),
		Ops: ops, Finished: h.Done(), byClient: make(map[string][]int),
		byHolder: make(map[Holder][]int), locks: make(map[string][]string), UnknownPromise: -1}
	f.FirstUnclear, f.FirstStranger = firstUnclear(h)
	f.End = h.End()
	f.OpAt = make([]int32, len(h.Events))
	for i := range f.OpAt {
		f.OpAt[i] = -1
	}
	f.Attempts = make(map[string][]int)
	granted := 0
	for i := range f.Ops {
		o := &f.Ops[i]
		if f.OpAt[o.Call] = int32(i); o.Return >= 0 {
			f.OpAt[o.Return] = int32(i)
		}
		if o.F == history.Acquire {
			if o.Type == history.OK {
				granted++
			}
			f.Attempts[o.Process] = append(f.Attempts[o.Process], i)
		}
	}
	f.collectFaults()
	f.collectClusters()
	f.Grants = make([]Grant, 0, granted)
	f.collectGrants()
	return f
}

// Event is the one at a place.
func (f *Facts) Event(i int) *history.Event { return &f.History.Events[i] }

// At is the time of an event; Forever for -1.
func (f *Facts) At(i int) time.Duration {
	if i < 0 {
		return Forever
	}
	return f.History.Events[i].Time
}
