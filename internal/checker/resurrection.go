package checker

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker/facts"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// attempt is a client's latest attempt and, once it was answered, its grant.
type attempt struct {
	grant *facts.Grant
	facts.Presence
	// chanceCounted: its lock was gone while the client believed in it, and could be brought back.
	chanceCounted bool
	// earlyLosses are the losses that the client was told of before the answer.
	earlyLosses []int
	// lastSet are the keys that the client set since it asked, with their values.
	lastSet map[nodeValue]int
	// keysSet are the keys that it set to some value.
	keysSet map[facts.NodeKey]bool
}

// nodeValue is a value in a key on a node.
type nodeValue struct{ node, key, owner string }

// judgeResurrections: no renewal brings back a lock that was gone from the nodes.
func judgeResurrections(_ context.Context, j *judge, _ Options) Finding {
	f := Finding{Effort: Effort{Operations: len(j.Ops), Of: "grants whose keys had gone"}, Method: "replay of the nodes' keys"}
	if j.SeveralLocks() {
		return unknown("the history is about several locks", f.Effort)
	}
	keys, quorum := j.ReplayKeys(), j.Quorum()
	latest := make(map[string]*attempt)
	doubt := -1
	for i := range j.History.Events {
		e := j.Event(i)
		var a *attempt
		if e.F == history.KeySet && j.ConcernsLock(e) {
			a = latest[e.Value.Client]
		}
		_, before := nodesWithKeyOf(keys, a)
		known := keys.Apply(i)
		if a != nil {
			set, again := a.noteSet(j.valueSet(e), i, j.LeaseInValue())
			surely, _ := nodesWithKeyOf(keys, a)
			if again && before < quorum && surely >= quorum && j.bringsBack(a, i) {
				after := j.LeftAfterAnswer(a.grant, i)
				if after == facts.Yes {
					return j.resurrectionFinding(f, a, set, i)
				}
				if after == facts.Unsure {
					doubt = i
				}
			}
		}
		// A key-set of another key, too, can be the last that came late.
		if granted := j.followAttempts(latest, keys, i); known || granted || e.F == history.KeySet {
			f.Effort.Chances += j.countChancesToBringBack(latest, keys, i)
		}
	}
	if doubt >= 0 {
		f.Verdict, f.Events = Unknown, []int{doubt}
		f.Why = fmt.Sprintf("it is not known when the command left %s that set its key again at %s",
			j.Event(doubt).Value.Client, words.Instant(j.At(doubt)))
		return f
	}
	return f.noViolation("no client's keys were seen to go while it held the lock", "%d %s, none brought back",
		f.Effort.Chances, f.Effort.What())
}

// noteSet takes note of a key-set of the client. It returns the one before that set the same value.
func (a *attempt) noteSet(value nodeValue, event int, leaseInValue bool) (before int, again bool) {
	before, again = a.lastSet[value]
	a.lastSet[value] = event
	if leaseInValue || value.owner != "" {
		a.keysSet[facts.NodeKey{Node: value.node, Key: value.key}] = true
	}
	return before, again
}

// countChancesToBringBack takes note of which grants' locks are on the nodes after an event, and counts those that are gone now, and
// that their clients could bring back.
func (j *judge) countChancesToBringBack(latest map[string]*attempt, keys *facts.KeyReplay, event int) (chances int) {
	quorum := j.Quorum()
	for _, a := range latest {
		if a.grant == nil {
			continue
		}
		surely, maybe := keys.NodesWithKeyOf(a.grant)
		a.Update(surely >= quorum, maybe >= quorum, event)
		if surely == maybe && keys.NodesIfSetAgain(a.grant, a.keysSet) >= quorum && j.couldBeBroughtBack(a, event) {
			a.chanceCounted = true
			chances++
		}
	}
	return chances
}

// valueSet is what a key-set wrote, and where. A renewal of a lease in the value writes another: there all count as one.
func (j *judge) valueSet(e *history.Event) nodeValue {
	if j.LeaseInValue() {
		return nodeValue{node: e.Process, key: e.Value.Key}
	}
	return nodeValue{e.Process, e.Value.Key, e.Value.Owner}
}

// mayRenew reports that a key-set, of a value that the client has set before, can be a renewal of a grant.
func (j *judge) mayRenew(g *facts.Grant, set int) bool {
	if j.LeaseInValue() {
		return j.SentAt(set) < j.At(g.End) // later it may be the release
	}
	return j.Event(set).Value.Owner != ""
}

// followAttempts notes what an event says of the latest attempt of each client, and reports
// whether one got the lock.
func (j *judge) followAttempts(latest map[string]*attempt, keys *facts.KeyReplay, i int) (granted bool) {
	e, op := j.Event(i), j.OpAt[i]
	if e.F == history.FaultBegin {
		fault := keys.FaultAt(i)
		maps.DeleteFunc(latest, func(client string, _ *attempt) bool { return fault.StrikesClient(history.Kills, client) })
		return false
	}
	if e.F == history.ProgramEnded {
		delete(latest, e.Process)
		return false
	}
	if e.F == history.Lost {
		j.noteLoss(latest, i)
		return false
	}
	if e.F != history.Acquire || op < 0 {
		return false
	}
	if e.Type == history.Invoke {
		latest[e.Process] = &attempt{lastSet: make(map[nodeValue]int), keysSet: make(map[facts.NodeKey]bool), Presence: facts.NotYetThere}
		return false
	}
	a := latest[e.Process]
	if a == nil {
		return false
	}
	g := j.GrantOf(int(op))
	lost := func(loss int) bool { return j.LossConcerns(g, loss) }
	if e.Type != history.OK || slices.ContainsFunc(a.earlyLosses, lost) {
		delete(latest, e.Process)
		return false
	}
	a.grant = g
	return true
}

// noteLoss takes note that a client was told of a loss: its lock is none any more that it could bring back.
func (j *judge) noteLoss(latest map[string]*attempt, event int) {
	client := j.Event(event).Process
	a := latest[client]
	if a == nil {
		return
	}
	if a.grant == nil {
		a.earlyLosses = append(a.earlyLosses, event)
	} else if j.LossConcerns(a.grant, event) {
		delete(latest, client)
	}
}

// nodesWithKeyOf counts the nodes that surely have the lock of a client's grant, and those that
// may have it.
func nodesWithKeyOf(keys *facts.KeyReplay, a *attempt) (surely, maybe int) {
	if a == nil || a.grant == nil {
		return 0, 0
	}
	return keys.NodesWithKeyOf(a.grant)
}

// comesLate reports that a key which the client set before the answer to its attempt is
// seen only after an event: the lock may not have been gone.
func (j *judge) comesLate(g *facts.Grant, event int) bool {
	for i := event + 1; i < len(j.History.Events); i++ {
		e := j.Event(i)
		if e.F == history.KeySet && e.Value.Client == g.Client && e.Value.At().IsSet() &&
			time.Duration(e.Value.At().V()) <= j.At(g.Return) && time.Duration(e.Value.At().V()) >= j.At(g.Call) {
			return true
		}
	}
	return false
}

// bringsBack reports that a key-set of an attempt that was granted may be a renewal of a grant whose lock had been there.
func (j *judge) bringsBack(a *attempt, i int) bool {
	return a.WasThere && j.mayRenew(a.grant, i) && !j.comesLate(a.grant, i)
}

// couldBeBroughtBack reports that the lock of a grant is gone while its client believes in it, and was not counted yet.
func (j *judge) couldBeBroughtBack(a *attempt, i int) bool {
	early := !j.LeaseInValue() || j.At(i) < j.At(a.grant.End) // of a command in the instant of the end, nobody knows whether it is the release
	return a.GoneSince >= 0 && !a.chanceCounted && a.grant.OpenAt(i) && early && !j.comesLate(a.grant, i)
}

func (j *judge) resurrectionFinding(f Finding, a *attempt, before, set int) Finding {
	g, e := a.grant, j.Event(set)
	f.Verdict = Violated
	f.Why = fmt.Sprintf("%s set its key on node %s again %s after its lock was gone", g.Client, e.Process, length(e.Time-j.At(a.GoneSince)))
	c := &Counterexample{From: f.Effort.Chances, Impossible: set,
		Assumption: "that a renewal lengthens a lease which is still there, and begins none"}
	c.Operations = []CounterOp{
		{Client: g.Client, Op: "gets the lock", Events: sortedEvents(g.Call, g.Return),
			From: j.At(g.Call), To: j.At(g.Return), Believed: j.promiseWords(g), True: "its keys had gone at " + words.Instant(j.At(a.GoneSince))},
		{Client: g.Client, Op: "sets the key on node " + e.Process + " again",
			Events: sortedEvents(before, a.GoneSince, set), From: e.Time, To: e.Time,
			Believed: "it renews its lock", True: "there was nothing to renew"},
	}
	s := j.newStory()
	s.decidedBy(set)
	s.tellGrant(g, e.Time)
	s.tellFaults(j.At(g.Return), e.Time, g.Client)
	s.tell(turning, a.GoneSince, "the lock of %s was gone: %s", g.Client, j.goneWords(a.GoneSince))
	s.tell(turning, set, "%s set the key on node %s again", g.Client, e.Process)
	if g.End >= 0 && g.End < set {
		s.tellEnd(g, "")
	}
	c.setStory(s)
	return f.withCounterexample(c)
}

// goneWords tell of the event with which a key of the lock went.
func (j *judge) goneWords(event int) string {
	switch e := j.Event(event); e.F {
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
