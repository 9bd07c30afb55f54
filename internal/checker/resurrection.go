package checker

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// attempt is a client's latest attempt and, once it was answered, its grant.
type attempt struct {
	g *grant
	presence
	// counted: its lock was gone while the client believed in it, and could be brought back.
	counted bool
	// early are the losses that the client was told of before the answer.
	early []int
	// sets are the keys that the client set since it asked, with their values.
	sets map[nodeValue]int
	// valued are the keys that it set to some value.
	valued map[nodeKey]bool
}

// nodeValue is a value in a key on a node.
type nodeValue struct{ node, key, owner string }

// judgeResurrections: no renewal brings back a lock that was gone from the nodes.
func judgeResurrections(_ context.Context, v *view, _ Options) Finding {
	f := Finding{Effort: Effort{Operations: len(v.ops), Of: "grants whose keys had gone"}, Method: "replay of the nodes' keys"}
	if v.severalLocks() {
		return unknown("the history is about several locks", f.Effort)
	}
	keys, quorum := v.nodeKeys(), v.quorum()
	latest := make(map[string]*attempt)
	doubt := -1
	for i := range v.h.Events {
		e := v.event(i)
		var a *attempt
		if e.F == history.KeySet && ofLock(v.h, e) {
			a = latest[e.Value.Client]
		}
		_, before := holdersOf(keys, a)
		known := keys.see(i)
		if a != nil {
			value := v.valueSet(e)
			set, again := a.sets[value]
			surely, _ := holdersOf(keys, a)
			if again && before < quorum && surely >= quorum && v.bringsBack(a, i) {
				switch v.afterAnswer(a.g, i) {
				case yes:
					return v.resurrection(f, a, set, i)
				case unsure:
					doubt = i
				}
			}
			a.sets[value] = i
			if v.leased() || value.owner != "" {
				a.valued[nodeKey{value.node, value.key}] = true
			}
		}
		// A key-set of another key, too, can be the last that came late.
		if granted := v.followAttempts(latest, keys, i); !known && !granted && e.F != history.KeySet {
			continue
		}
		for _, a := range latest {
			if a.g == nil {
				continue
			}
			surely, maybe := keys.have(a.g)
			a.see(surely >= quorum, maybe >= quorum, i)
			if surely == maybe && keys.back(a.g, a.valued) >= quorum && v.couldBeBroughtBack(a, i) {
				a.counted = true
				f.Effort.Chances++
			}
		}
	}
	if doubt >= 0 {
		f.Verdict, f.Events = Unknown, []int{doubt}
		f.Why = fmt.Sprintf("it is not known when the command left %s that set its key again at %s",
			v.event(doubt).Value.Client, words.Instant(v.at(doubt)))
		return f
	}
	return f.tried("no client's keys were seen to go while it held the lock", "%d %s, none brought back", f.Effort.Chances, f.Effort.What())
}

// valueSet is what a key-set wrote, and where. A renewal of a lease in the value writes another: there all count as one.
func (v *view) valueSet(e *history.Event) nodeValue {
	if v.leased() {
		return nodeValue{node: e.Process, key: e.Value.Key}
	}
	return nodeValue{e.Process, e.Value.Key, e.Value.Owner}
}

// mayRenew reports that a key-set, of a value that the client has set before, can be a renewal of a grant.
func (v *view) mayRenew(g *grant, set int) bool {
	if v.leased() {
		return v.sent(set) < v.at(g.ends) // later it may be the release
	}
	return v.event(set).Value.Owner != ""
}

// followAttempts notes what an event says of the latest attempt of each client, and reports
// whether one got the lock.
func (v *view) followAttempts(latest map[string]*attempt, keys *nodeKeys, i int) (granted bool) {
	e := v.event(i)
	switch op := v.opAt[i]; {
	case e.F == history.FaultBegin:
		for client := range latest {
			if keys.fault(i).strikesClient(history.Kills, client) {
				delete(latest, client)
			}
		}
	case e.F == history.Lost:
		switch a := latest[e.Process]; {
		case a == nil:
		case a.g == nil:
			a.early = append(a.early, i)
		case v.about(a.g, i):
			delete(latest, e.Process)
		}
	case e.F != history.Acquire || op < 0:
	case e.Type == history.Invoke:
		latest[e.Process] = &attempt{sets: make(map[nodeValue]int), valued: make(map[nodeKey]bool), presence: absent}
	case latest[e.Process] == nil:
	case e.Type == history.OK:
		g := v.grantOf(int(op))
		if slices.ContainsFunc(latest[e.Process].early, func(loss int) bool { return v.about(g, loss) }) {
			delete(latest, e.Process)
			return false
		}
		latest[e.Process].g = g
		return true
	default:
		delete(latest, e.Process)
	}
	return false
}

// holdersOf counts the nodes that surely have the lock of a client's grant, and those that
// may have it.
func holdersOf(keys *nodeKeys, a *attempt) (surely, maybe int) {
	if a == nil || a.g == nil {
		return 0, 0
	}
	return keys.have(a.g)
}

// comesLate reports that a key which the client set before the answer to its attempt is
// seen only after an event: the lock may not have been gone.
func (v *view) comesLate(g *grant, event int) bool {
	for i := event + 1; i < len(v.h.Events); i++ {
		e := v.event(i)
		if e.F == history.KeySet && e.Value.Client == g.client && e.Value.At().IsSet() &&
			time.Duration(e.Value.At().V()) <= v.at(g.ret) && time.Duration(e.Value.At().V()) >= v.at(g.call) {
			return true
		}
	}
	return false
}

// certainty says whether something is so.
type certainty uint8

const (
	no certainty = iota
	unsure
	yes
)

// bringsBack reports that a key-set of an attempt that was granted may be a renewal of a grant whose lock had been there.
func (v *view) bringsBack(a *attempt, i int) bool {
	return a.there && v.mayRenew(a.g, i) && !v.comesLate(a.g, i)
}

// couldBeBroughtBack reports that the lock of a grant is gone while its client believes in it, and was not counted yet.
func (v *view) couldBeBroughtBack(a *attempt, i int) bool {
	early := !v.leased() || v.at(i) < v.at(a.g.ends) // of a command in the instant of the end, nobody knows whether it is the release
	return a.gone >= 0 && !a.counted && a.g.openAt(i) && early && !v.comesLate(a.g, i)
}

// afterAnswer says whether the command that set a key left its client after the answer to
// its attempt. Where no link told, it did if a renewal is under way: that is so of our own locks
// alone.
func (v *view) afterAnswer(g *grant, set int) certainty {
	switch at := v.event(set).Value.At(); {
	case at.IsSet() && time.Duration(at.V()) > v.at(g.ret):
		return yes
	case at.IsSet():
		return no
	case v.h.Header.Quorum == 0 && v.underWay(g.client, set):
		return yes
	}
	return unsure
}

func (v *view) resurrection(f Finding, a *attempt, before, set int) Finding {
	g, e := a.g, v.event(set)
	f.Verdict = Violated
	f.Why = fmt.Sprintf("%s set its key on node %s again %s after its lock was gone", g.client, e.Process, length(e.Time-v.at(a.gone)))
	c := &Counterexample{From: f.Effort.Chances, Impossible: set,
		Assumption: "that a renewal lengthens a lease which is still there, and begins none"}
	c.Operations = []CounterOp{
		{Client: g.client, Op: "gets the lock", Events: sortedEvents(g.call, g.ret),
			From: v.at(g.call), To: v.at(g.ret), Believed: promiseWords(g), True: "its keys had gone at " + words.Instant(v.at(a.gone))},
		{Client: g.client, Op: "sets the key on node " + e.Process + " again",
			Events: sortedEvents(before, a.gone, set), From: e.Time, To: e.Time,
			Believed: "it renews its lock", True: "there was nothing to renew"},
	}
	s := v.newStory()
	s.rests(set)
	s.grant(g, e.Time)
	s.faults(v.at(g.ret), e.Time, g.client)
	s.tell(turning, a.gone, "the lock of %s was gone: %s", g.client, v.wentWords(a.gone))
	s.tell(turning, set, "%s set the key on node %s again", g.client, e.Process)
	if g.ends >= 0 && g.ends < set {
		s.end(g, "")
	}
	c.tells(s)
	return f.shown(c)
}

// wentWords tell of the event with which a key of the lock went.
func (v *view) wentWords(event int) string {
	switch e := v.event(event); e.F {
	case history.KeyExpired:
		return "its key on node " + e.Process + " had expired"
	case history.KeyDeleted:
		if e.Value.Client == "" {
			return "its key on node " + e.Process + " was deleted"
		}
		return e.Value.Client + " deleted its key on node " + e.Process
	case history.KeySet:
		return "the key on node " + e.Process + " is that of " + e.Value.Client
	case history.NodeDown:
		return "node " + e.Process + " went down and lost its data"
	}
	return "too few nodes had its key"
}
