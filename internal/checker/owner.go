package checker

import (
	"context"
	"fmt"
	"maps"

	"github.com/redlock-sim/redlock-sim/internal/checker/facts"
	"github.com/redlock-sim/redlock-sim/internal/history"
)

// judgeOwners: nobody's release or renewal touches another owner's key. Whose a
// key is, is told by whose grant rests on it, or else by who set it last on that node; where that was
// not seen, or the node may have forgotten it since, by which client alone used the owner value that
// was in it.
func judgeOwners(_ context.Context, j *judge, _ Options) Finding {
	f := Finding{Effort: Effort{Operations: len(j.Ops), Of: "key changes by release or renewal"}, Method: "replay of the nodes' keys"}
	o := keyOwners{j: j, clientByValue: j.ClientByOwnerValue(), anonymousSince: j.FirstAttemptWithoutOwner(),
		lastSet: make(map[facts.NodeKey]int), askers: make(map[string]bool)}
	for i := range j.History.Events {
		e := j.Event(i)
		var owner string
		set, chance := -1, false
		switch e.F {
		case history.Acquire:
			o.noteAttempt(e, i)
		case history.KeySet:
			owner, set, chance = o.ownerRenewedOver(e, i)
			o.lastSet[facts.KeyOf(e)] = i
		case history.KeyDeleted, history.KeyExtended:
			owner, set, chance = o.ownerTouched(e, i)
		default:
			o.forgetKeys(e)
		}
		if chance {
			f.Effort.Chances++
		}
		if owner != "" && owner != e.Value.Client {
			return j.foreignKeyFinding(f, i, set, owner)
		}
	}
	return f.noViolation("no node reported a release or a renewal after another client had asked for the lock",
		"%d %s, %sof the client's own key", f.Effort.Chances, f.Effort.What(), eachIfSeveral(f.Effort.Chances))
}

// keyOwners is what is known of whose the keys are, event after event.
type keyOwners struct {
	j *judge
	// clientByValue is whose an owner value is; anonymousSince is since when each client may have used any.
	clientByValue  map[string]string
	anonymousSince map[string]int
	// lastSet is the last key-set of each key, as far as its node has not forgotten it since.
	lastSet map[facts.NodeKey]int
	// askers are the clients that have asked for the lock; of namedAskers of them, every attempt told its owner value.
	askers      map[string]bool
	namedAskers int
	// begun is how many faults have begun.
	begun int
}

// noteAttempt takes note of an event of an attempt.
func (o *keyOwners) noteAttempt(e *history.Event, i int) {
	if e.Type == history.Invoke && !o.askers[e.Process] {
		o.askers[e.Process] = true
		o.namedAskers++
	}
	if from, did := o.anonymousSince[e.Process]; did && i == from {
		o.namedAskers--
	}
}

// forgetKeys takes note of an event after which it is not known any more who set a key, or that it is gone.
func (o *keyOwners) forgetKeys(e *history.Event) {
	switch e.F {
	case history.NodeDown, history.NodeUp, history.NodePromoted, history.NodeDemoted:
		maps.DeleteFunc(o.lastSet, func(k facts.NodeKey, _ int) bool { return k.Node == e.Process })
	case history.FaultBegin:
		f := &o.j.Faults[o.begun]
		o.begun++
		maps.DeleteFunc(o.lastSet, func(k facts.NodeKey, _ int) bool { return f.MayForget(k.Node) })
	case history.KeyExpired, history.KeyUnclear:
		delete(o.lastSet, facts.KeyOf(e))
	}
}

// ownerRenewedOver is whose key a renewal by a key-set touched, and by which key-set it was that
// client's; empty: nobody's is known to be touched.
func (o *keyOwners) ownerRenewedOver(e *history.Event, i int) (owner string, set int, chance bool) {
	before, renewal := o.j.RenewedOver(i)
	if !renewal || o.j.LeaseByClock() && e.Time >= o.j.LeaseMayBeOverAt(before.Set) {
		return "", -1, false
	}
	if before.Client == e.Value.Client {
		return before.Client, before.Set, countOthers(o.askers, e.Value.Client) > 0
	}
	if before.Granted && o.j.GrantOf(before.Op).OpenAt(i) {
		return before.Client, before.Set, true
	}
	return "", -1, false
}

// ownerTouched is the same of a release, or a renewal that gave the key another end.
func (o *keyOwners) ownerTouched(e *history.Event, i int) (owner string, set int, chance bool) {
	k := facts.KeyOf(e)
	set, known := o.lastSet[k]
	if e.F == history.KeyDeleted {
		delete(o.lastSet, k)
	}
	if e.Value.Client == "" {
		return "", -1, false
	}
	askers := len(o.askers)
	if by := &o.j.Event(set).Value; known && by.Client != "" && by.Owner == e.Value.Owner {
		owner, set = o.j.OwnerAfter(set)
	} else {
		set = -1
		if from, did := o.anonymousSince[e.Value.Client]; !did || i <= from {
			owner, askers = o.clientByValue[e.Value.Owner], o.namedAskers
		}
	}
	if owner == "" || o.j.LeaseByClock() && (set < 0 || e.Time >= o.j.LeaseMayBeOverAt(set)) {
		return "", -1, false
	}
	if o.askers[e.Value.Client] {
		askers--
	}
	return owner, set, owner != e.Value.Client || askers > 0
}

// countOthers counts the clients that asked for the lock, without one.
func countOthers(asked map[string]bool, client string) int {
	if asked[client] {
		return len(asked) - 1
	}
	return len(asked)
}

func (j *judge) foreignKeyFinding(f Finding, event, set int, owner string) Finding {
	e := j.Event(event)
	verb := "deleted"
	switch e.F {
	case history.KeyExtended:
		verb = "renewed"
	case history.KeySet:
		verb = "renewed its lock, and overwrote"
	}
	f.Verdict = Violated
	f.Why = fmt.Sprintf("%s %s the key of %s on node %s", e.Value.Client, verb, owner, e.Process)
	f.Events = sortedEvents(set, event)
	c := &Counterexample{From: f.Effort.Chances, Impossible: event, Assumption: "that a client which releases or renews still has the key"}
	s := j.newStory()
	s.decidedBy(event)
	if set >= 0 {
		c.Operations = append(c.Operations, CounterOp{Client: owner, Op: "sets the key on node " + e.Process,
			Events: []int{set}, From: j.At(set), To: j.At(set)})
		s.tell(turning, set, "%s set the key on node %s%s", owner, e.Process, j.setForWords(set))
	}
	c.Operations = append(c.Operations, CounterOp{Client: e.Value.Client, Op: verb + " the key on node " + e.Process,
		Events: []int{event}, From: e.Time, To: e.Time, Believed: "the key is its own", True: "the key is that of " + owner})
	if g := j.GrantBefore(e.Value.Client, event); g != nil {
		s.tellGrant(g, e.Time)
		s.tellFaults(j.At(g.Call), e.Time, owner, e.Value.Client)
		if g.End >= 0 && g.End < event {
			s.tellEnd(g, "")
		}
	}
	if g := j.GrantBefore(owner, event); g != nil {
		s.tellGrant(g, e.Time)
	}
	how := ""
	if e.F == history.KeyDeleted {
		how = j.meanwhileWords(e.Value.Client, event)
	}
	s.tell(turning, event, "%s %s the key on node %s, which was that of %s%s%s", e.Value.Client, verb, e.Process, owner, how,
		j.sameValueWords(e.Value.Client, event, set))
	c.setStory(s)
	f.Counterexample = c
	return f
}
