package checker

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// nodeKey is a key on one node.
type nodeKey struct{ node, key string }

// judgeOwners: nobody's release or renewal touches another owner's key. Whose a
// key is, is told by whose grant rests on it, or else by who set it last on that node; where that was
// not seen, or the node may have forgotten it since, by which client alone used the owner value that
// was in it.
func judgeOwners(_ context.Context, v *view, _ Options) Finding {
	f := Finding{Effort: Effort{Operations: len(v.ops), Of: "key changes by release or renewal"}, Method: "replay of the nodes' keys"}
	o := owning{v: v, owners: v.ownerClients(), silent: v.firstSilent(), setBy: make(map[nodeKey]int), asked: make(map[string]bool)}
	for i := range v.h.Events {
		e := v.event(i)
		var owner string
		set, chance := -1, false
		switch e.F {
		case history.Acquire:
			o.ask(e, i)
		case history.KeySet:
			owner, set, chance = o.renewed(e, i)
			o.setBy[nodeKey{e.Process, e.Value.Key}] = i
		case history.KeyDeleted, history.KeyExtended:
			owner, set, chance = o.touched(e, i)
		default:
			o.forget(e)
		}
		if chance {
			f.Effort.Chances++
		}
		if owner != "" && owner != e.Value.Client {
			return v.strangersKey(f, i, set, owner)
		}
	}
	return f.tried("no node reported a release or a renewal after another client had asked for the lock", "%d %s, %sof the client's own key",
		f.Effort.Chances, f.Effort.What(), each(f.Effort.Chances))
}

// owning is what is known of whose the keys are, event after event.
type owning struct {
	v      *view
	owners map[string]string
	silent map[string]int
	// setBy is the last key-set of each key, as far as its node has not forgotten it since.
	setBy map[nodeKey]int
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
		maps.DeleteFunc(o.setBy, func(k nodeKey, _ int) bool { return k.node == e.Process })
	case history.FaultBegin:
		f := &o.v.faults[o.fault]
		o.fault++
		maps.DeleteFunc(o.setBy, func(k nodeKey, _ int) bool { return f.mayForget(k.node) })
	case history.KeyExpired, history.KeyUnclear:
		delete(o.setBy, nodeKey{e.Process, e.Value.Key})
	}
}

// renewed is whose key a renewal by a key-set touched, and by which key-set it was that client's; empty: nobody is known to be touched.
func (o *owning) renewed(e *history.Event, i int) (owner string, set int, chance bool) {
	before, renewal := o.v.renewedOverKey(i)
	switch {
	case !renewal, o.v.leased() && e.Time >= o.v.mayBeOver(before.set):
	case before.client == e.Value.Client:
		return before.client, before.set, others(o.asked, e.Value.Client) > 0
	case before.granted && o.v.grantOf(before.op).openAt(i):
		return before.client, before.set, true
	}
	return "", -1, false
}

// touched is the same of a release, or a renewal that gave the key another end.
func (o *owning) touched(e *history.Event, i int) (owner string, set int, chance bool) {
	k := nodeKey{e.Process, e.Value.Key}
	set, known := o.setBy[k]
	if e.F == history.KeyDeleted {
		delete(o.setBy, k)
	}
	if e.Value.Client == "" {
		return "", -1, false
	}
	askers := len(o.asked)
	if by := &o.v.event(set).Value; known && by.Client != "" && by.Owner == e.Value.Owner {
		owner, set = o.v.keyOf(set)
	} else {
		set = -1
		if from, did := o.silent[e.Value.Client]; !did || i <= from {
			owner, askers = o.owners[e.Value.Owner], o.told
		}
	}
	if owner == "" || o.v.leased() && (set < 0 || e.Time >= o.v.mayBeOver(set)) {
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

// openAt reports that the belief in a grant is open when an event comes.
func (g *grant) openAt(event int) bool { return g.ends < 0 || event < g.ends }

// firstSilent is, for each client that made an attempt without telling its owner
// value, the event at which it began the first such: from then on it may have used any.
func (v *view) firstSilent() map[string]int {
	first := make(map[string]int)
	for client, acquires := range v.acquires {
		if n := slices.IndexFunc(acquires, func(op int) bool { return v.owner(op) == "" }); n >= 0 {
			first[client] = v.ops[acquires[n]].Call
		}
	}
	return first
}

// ownerClients maps the owner values that only one client used to that client. A value that somebody
// wrote into another's key says nothing of whose it is.
func (v *view) ownerClients() map[string]string {
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
	for i := range v.h.Events {
		e := v.event(i)
		switch e.F {
		case history.Acquire:
			note(e.Value.Owner, e.Process)
		case history.KeySet:
			if v.leaves(i) {
				owners[e.Value.Owner] = ""
			}
			note(e.Value.Owner, e.Value.Client)
		}
	}
	return owners
}

func (v *view) strangersKey(f Finding, event, set int, owner string) Finding {
	e := v.event(event)
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
	s := v.newStory()
	s.rests(event)
	if set >= 0 {
		c.Operations = append(c.Operations, CounterOp{Client: owner, Op: "sets the key on node " + e.Process,
			Events: []int{set}, From: v.at(set), To: v.at(set)})
		s.tell(turning, set, "%s set the key on node %s%s", owner, e.Process, v.setForWords(set))
	}
	c.Operations = append(c.Operations, CounterOp{Client: e.Value.Client, Op: verb + " the key on node " + e.Process,
		Events: []int{event}, From: e.Time, To: e.Time, Believed: "the key is its own", True: "the key is that of " + owner})
	if g := v.grantBefore(e.Value.Client, event); g != nil {
		s.grant(g, e.Time)
		s.faults(v.at(g.call), e.Time, owner, e.Value.Client)
		if g.ends >= 0 && g.ends < event {
			s.end(g, "")
		}
	}
	if g := v.grantBefore(owner, event); g != nil {
		s.grant(g, e.Time)
	}
	how := ""
	if e.F == history.KeyDeleted {
		how = v.meanwhileWords(e.Value.Client, event)
	}
	s.tell(turning, event, "%s %s the key on node %s, which was that of %s%s", e.Value.Client, verb, e.Process, owner, how)
	c.tells(s)
	f.Counterexample = c
	return f
}
