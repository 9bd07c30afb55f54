package checker

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker/facts"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// attempt is a client's latest attempt and, once it was answered, its grant.
type attempt struct {
	g *facts.Grant
	facts.Presence
	// counted: its lock was gone while the client believed in it, and could be brought back.
	counted bool
	// early are the losses that the client was told of before the answer.
	early []int
	// sets are the keys that the client set since it asked, with their values.
	sets map[nodeValue]int
	// valued are the keys that it set to some value.
	valued map[facts.NodeKey]bool
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
		_, before := holdersOf(keys, a)
		known := keys.Apply(i)
		if a != nil {
			value := j.valueSet(e)
			set, again := a.sets[value]
			surely, _ := holdersOf(keys, a)
			if again && before < quorum && surely >= quorum && j.bringsBack(a, i) {
				switch j.LeftAfterAnswer(a.g, i) {
				case facts.Yes:
					return j.resurrection(f, a, set, i)
				case facts.Unsure:
					doubt = i
				}
			}
			a.sets[value] = i
			if j.LeaseInValue() || value.owner != "" {
				a.valued[facts.NodeKey{Node: value.node, Key: value.key}] = true
			}
		}
		// A key-set of another key, too, can be the last that came late.
		if granted := j.followAttempts(latest, keys, i); !known && !granted && e.F != history.KeySet {
			continue
		}
		for _, a := range latest {
			if a.g == nil {
				continue
			}
			surely, maybe := keys.CountNodes(a.g)
			a.Update(surely >= quorum, maybe >= quorum, i)
			if surely == maybe && keys.CountNodesIfSetAgain(a.g, a.valued) >= quorum && j.couldBeBroughtBack(a, i) {
				a.counted = true
				f.Effort.Chances++
			}
		}
	}
	if doubt >= 0 {
		f.Verdict, f.Events = Unknown, []int{doubt}
		f.Why = fmt.Sprintf("it is not known when the command left %s that set its key again at %s",
			j.Event(doubt).Value.Client, words.Instant(j.At(doubt)))
		return f
	}
	return f.tried("no client's keys were seen to go while it held the lock", "%d %s, none brought back", f.Effort.Chances, f.Effort.What())
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
	e := j.Event(i)
	switch op := j.OpAt[i]; {
	case e.F == history.FaultBegin:
		for client := range latest {
			if keys.FaultAt(i).StrikesClient(history.Kills, client) {
				delete(latest, client)
			}
		}
	case e.F == history.Lost:
		switch a := latest[e.Process]; {
		case a == nil:
		case a.g == nil:
			a.early = append(a.early, i)
		case j.LossConcerns(a.g, i):
			delete(latest, e.Process)
		}
	case e.F != history.Acquire || op < 0:
	case e.Type == history.Invoke:
		latest[e.Process] = &attempt{sets: make(map[nodeValue]int), valued: make(map[facts.NodeKey]bool), Presence: facts.NotYetThere}
	case latest[e.Process] == nil:
	case e.Type == history.OK:
		g := j.GrantOf(int(op))
		if slices.ContainsFunc(latest[e.Process].early, func(loss int) bool { return j.LossConcerns(g, loss) }) {
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
func holdersOf(keys *facts.KeyReplay, a *attempt) (surely, maybe int) {
	if a == nil || a.g == nil {
		return 0, 0
	}
	return keys.CountNodes(a.g)
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
	return a.WasThere && j.mayRenew(a.g, i) && !j.comesLate(a.g, i)
}

// couldBeBroughtBack reports that the lock of a grant is gone while its client believes in it, and was not counted yet.
func (j *judge) couldBeBroughtBack(a *attempt, i int) bool {
	early := !j.LeaseInValue() || j.At(i) < j.At(a.g.End) // of a command in the instant of the end, nobody knows whether it is the release
	return a.GoneSince >= 0 && !a.counted && a.g.OpenAt(i) && early && !j.comesLate(a.g, i)
}

func (j *judge) resurrection(f Finding, a *attempt, before, set int) Finding {
	g, e := a.g, j.Event(set)
	f.Verdict = Violated
	f.Why = fmt.Sprintf("%s set its key on node %s again %s after its lock was gone", g.Client, e.Process, length(e.Time-j.At(a.GoneSince)))
	c := &Counterexample{From: f.Effort.Chances, Impossible: set,
		Assumption: "that a renewal lengthens a lease which is still there, and begins none"}
	c.Operations = []CounterOp{
		{Client: g.Client, Op: "gets the lock", Events: sortedEvents(g.Call, g.Return),
			From: j.At(g.Call), To: j.At(g.Return), Believed: promiseWords(g), True: "its keys had gone at " + words.Instant(j.At(a.GoneSince))},
		{Client: g.Client, Op: "sets the key on node " + e.Process + " again",
			Events: sortedEvents(before, a.GoneSince, set), From: e.Time, To: e.Time,
			Believed: "it renews its lock", True: "there was nothing to renew"},
	}
	s := j.newStory()
	s.rests(set)
	s.grant(g, e.Time)
	s.faults(j.At(g.Return), e.Time, g.Client)
	s.tell(turning, a.GoneSince, "the lock of %s was gone: %s", g.Client, j.wentWords(a.GoneSince))
	s.tell(turning, set, "%s set the key on node %s again", g.Client, e.Process)
	if g.End >= 0 && g.End < set {
		s.end(g, "")
	}
	c.tells(s)
	return f.shown(c)
}

// wentWords tell of the event with which a key of the lock went.
func (j *judge) wentWords(event int) string {
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
