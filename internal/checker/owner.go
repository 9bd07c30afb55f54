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
	o := owning{j: j, owners: j.ClientByOwnerValue(), silent: j.FirstAttemptWithoutOwner(),
		setBy: make(map[facts.NodeKey]int), asked: make(map[string]bool)}
	for i := range j.History.Events {
		e := j.Event(i)
		var owner string
		set, chance := -1, false
		switch e.F {
		case history.Acquire:
			o.ask(e, i)
		case history.KeySet:
			owner, set, chance = o.renewed(e, i)
			o.setBy[facts.KeyOf(e)] = i
		case history.KeyDeleted, history.KeyExtended:
			owner, set, chance = o.touched(e, i)
		default:
			o.forget(e)
		}
		if chance {
			f.Effort.Chances++
		}
		if owner != "" && owner != e.Value.Client {
			return j.strangersKey(f, i, set, owner)
		}
	}
	return f.tried("no node reported a release or a renewal after another client had asked for the lock", "%d %s, %sof the client's own key",
		f.Effort.Chances, f.Effort.What(), each(f.Effort.Chances))
}

// owning is what is known of whose the keys are, event after event.
type owning struct {
	j      *judge
	owners map[string]string
	silent map[string]int
	// setBy is the last key-set of each key, as far as its node has not forgotten it since.
	setBy map[facts.NodeKey]int
	// asked are the clients that have asked for the lock; of told of them, every attempt told its owner value.
	asked map[string]bool
	told  int
	fault int
}

// ask takes note of an event of an attempt.
func (o *owning) ask(e *history.Event, i int) {
	if e.Type == history.Invoke && !o.asked[e.Process] {
		o.asked[e.Process] = true
		o.told++
	}
	if from, did := o.silent[e.Process]; did && i == from {
		o.told--
	}
}

// forget takes note of an event after which it is not known any more who set a key, or that it is gone.
func (o *owning) forget(e *history.Event) {
	switch e.F {
	case history.NodeDown, history.NodeUp, history.NodePromoted, history.NodeDemoted:
		maps.DeleteFunc(o.setBy, func(k facts.NodeKey, _ int) bool { return k.Node == e.Process })
	case history.FaultBegin:
		f := &o.j.Faults[o.fault]
		o.fault++
		maps.DeleteFunc(o.setBy, func(k facts.NodeKey, _ int) bool { return f.MayForget(k.Node) })
	case history.KeyExpired, history.KeyUnclear:
		delete(o.setBy, facts.KeyOf(e))
	}
}

// renewed is whose key a renewal by a key-set touched, and by which key-set it was that client's; empty: nobody is known to be touched.
func (o *owning) renewed(e *history.Event, i int) (owner string, set int, chance bool) {
	before, renewal := o.j.RenewedOver(i)
	switch {
	case !renewal, o.j.LeaseInValue() && e.Time >= o.j.LeaseMayBeOverAt(before.Set):
	case before.Client == e.Value.Client:
		return before.Client, before.Set, others(o.asked, e.Value.Client) > 0
	case before.Granted && o.j.GrantOf(before.Op).OpenAt(i):
		return before.Client, before.Set, true
	}
	return "", -1, false
}

// touched is the same of a release, or a renewal that gave the key another end.
func (o *owning) touched(e *history.Event, i int) (owner string, set int, chance bool) {
	k := facts.KeyOf(e)
	set, known := o.setBy[k]
	if e.F == history.KeyDeleted {
		delete(o.setBy, k)
	}
	if e.Value.Client == "" {
		return "", -1, false
	}
	askers := len(o.asked)
	if by := &o.j.Event(set).Value; known && by.Client != "" && by.Owner == e.Value.Owner {
		owner, set = o.j.OwnerAfter(set)
	} else {
		set = -1
		if from, did := o.silent[e.Value.Client]; !did || i <= from {
			owner, askers = o.owners[e.Value.Owner], o.told
		}
	}
	if owner == "" || o.j.LeaseInValue() && (set < 0 || e.Time >= o.j.LeaseMayBeOverAt(set)) {
		return "", -1, false
	}
	if o.asked[e.Value.Client] {
		askers--
	}
	return owner, set, owner != e.Value.Client || askers > 0
}

// others counts the clients that asked for the lock, without one.
func others(asked map[string]bool, client string) int {
	if asked[client] {
		return len(asked) - 1
	}
	return len(asked)
}

func (j *judge) strangersKey(f Finding, event, set int, owner string) Finding {
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
	s.rests(event)
	if set >= 0 {
		c.Operations = append(c.Operations, CounterOp{Client: owner, Op: "sets the key on node " + e.Process,
			Events: []int{set}, From: j.At(set), To: j.At(set)})
		s.tell(turning, set, "%s set the key on node %s%s", owner, e.Process, j.setForWords(set))
	}
	c.Operations = append(c.Operations, CounterOp{Client: e.Value.Client, Op: verb + " the key on node " + e.Process,
		Events: []int{event}, From: e.Time, To: e.Time, Believed: "the key is its own", True: "the key is that of " + owner})
	if g := j.GrantBefore(e.Value.Client, event); g != nil {
		s.grant(g, e.Time)
		s.faults(j.At(g.Call), e.Time, owner, e.Value.Client)
		if g.End >= 0 && g.End < event {
			s.end(g, "")
		}
	}
	if g := j.GrantBefore(owner, event); g != nil {
		s.grant(g, e.Time)
	}
	how := ""
	if e.F == history.KeyDeleted {
		how = j.meanwhileWords(e.Value.Client, event)
	}
	s.tell(turning, event, "%s %s the key on node %s, which was that of %s%s", e.Value.Client, verb, e.Process, owner, how)
	c.tells(s)
	f.Counterexample = c
	return f
}
