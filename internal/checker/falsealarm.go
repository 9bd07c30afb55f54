package checker

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker/facts"
	"github.com/redlock-sim/redlock-sim/internal/history"
)

// holder is a client that believes in a grant, and the nodes that have had its lock since the answer.
type holder struct {
	grant *facts.Grant
	nodes map[string]bool
	// gaveUp are those of them on which the client itself has deleted it since.
	gaveUp map[string]bool
	// until is the latest end of the validity that it was told; not set: it was told none.
	until history.Int
}

// alarms judges what holders are told of losses.
type alarms struct {
	*judge
	disturbances *facts.Disturbances
	bent         map[string]bool
	quorum       int
	// asked is when the last command about the lock left each client for each node.
	asked map[clientNode]time.Duration
}

type clientNode struct{ client, node string }

// judgeFalseAlarms: a holder that has its lock is not told that it has lost it.
func judgeFalseAlarms(_ context.Context, j *judge, _ Options) Finding {
	f := Finding{Effort: Effort{Operations: len(j.Ops), Of: "renewals of a lock that was there"}, Method: "replay of the nodes' keys"}
	switch {
	case j.SeveralLocks():
		return unknown("the history is about several locks", f.Effort)
	case j.TTL("") <= 0:
		return unknown(j.whyNoTTL(), f.Effort)
	case j.LeaseInValue():
		return unknown("the lock keeps its lease in the value of its key, so a key that stays does not show that it is held", f.Effort)
	}
	a := alarms{j, j.NewDisturbances(), j.ClientsWithBentClocks(), j.Quorum(), make(map[clientNode]time.Duration)}
	keys := j.ReplayKeys()
	var holders []*holder
	for i := range j.History.Events {
		changed := keys.Apply(i)
		holders = slices.DeleteFunc(holders, func(h *holder) bool { return h.grant.End == i })
		e := j.Event(i)
		if op := j.OpAt[i]; op >= 0 && e.F == history.Acquire && e.Type == history.OK {
			if g := j.GrantOf(int(op)); g.Outer < 0 && !a.bent[g.Client] {
				h := &holder{g, make(map[string]bool), make(map[string]bool), e.Value.ValidUntil()}
				for _, n := range j.History.Header.Nodes {
					h.nodes[n] = true
				}
				holders, changed = append(holders, h), true
			}
		}
		if changed {
			for _, h := range holders {
				a.keep(h, keys, i)
			}
		}
		asks := (e.F == history.KeySet || e.F == history.KeyExtended) && e.Value.Client != "" && j.ConcernsLock(e)
		if asks {
			a.asked[clientNode{e.Value.Client, e.Process}] = j.SentAt(i)
		}
		for _, h := range holders {
			h.noteValidity(j, i)
			alarm := i > h.grant.Return && j.IsAlarm(h.grant, i)
			renews := asks && e.Value.Client == h.grant.Client
			if (!alarm && !renews) || !a.wouldBeFalse(h, i) {
				continue
			}
			if f.Effort.Chances++; alarm {
				return j.falseAlarmFinding(f, h, i)
			}
		}
	}
	return f.noViolation("no lock that was there was renewed", "%d %s, and nobody was told of a loss", f.Effort.Chances, f.Effort.What())
}

// keep leaves the nodes that still have the lock after an event. What the client deletes itself it has not lost.
func (a *alarms) keep(h *holder, keys *facts.KeyReplay, event int) {
	e := a.Event(event)
	if node := e.Process; a.ConcernsLock(e) && h.nodes[node] {
		asked, some := a.asked[clientNode{h.grant.Client, node}]
		own := e.F == history.KeyDeleted && e.Value.Client == h.grant.Client && e.Value.At().IsSet()
		delete(h.gaveUp, node)
		if own && some && a.SentAt(event) > asked {
			h.gaveUp[node] = true
		}
	}
	keys.KeepThose(h.grant, h.nodes)
	for node := range h.gaveUp {
		h.nodes[node] = true
	}
}

// noteValidity takes note of a validity that a renewal told.
func (h *holder) noteValidity(j *judge, event int) {
	e, op := j.Event(event), int(j.OpAt[event])
	if e.F != history.Extend || e.Type != history.OK || op < 0 || e.Process != h.grant.Client || j.HolderOf(op).Lock != h.grant.Lock {
		return
	}
	if until := e.Value.ValidUntil(); until.IsSet() && j.IsRenewedBy(h.grant, op) && (!h.until.IsSet() || until.V() > h.until.V()) {
		h.until = until
	}
}

// wouldBeFalse reports that a holder which is told of a loss in an event has its lock, and could know it.
func (a *alarms) wouldBeFalse(h *holder, event int) bool {
	client, at := h.grant.Client, a.At(event)
	ttl := a.TTL(client)
	over := h.until.IsSet() && time.Duration(h.until.V()) <= at
	if over || facts.CountAll(a.Facts, h.nodes) < a.quorum || a.disturbances.Struck(client, at-ttl, at) {
		return false
	}
	good := a.CountNodes()
	for n := range h.nodes {
		asked, some := a.asked[clientNode{client, n}]
		if some && asked >= at-ttl/2 && !a.disturbances.Between(client, n, at-ttl, at+ttl/10) && !a.goesSoon(client, n, event) {
			good.Add(n)
		}
	}
	return good.N >= a.quorum
}

// goesSoon reports that something of a node which was seen soon after an event may have been before it: it can be seen late.
func (a *alarms) goesSoon(client, node string, event int) bool {
	at := a.At(event)
	for i := event + 1; i < len(a.History.Events) && a.At(i) <= at+a.TTL(client)/10; i++ {
		e := a.Event(i)
		if e.Process != node || !a.ConcernsLock(e) {
			continue
		}
		switch e.F {
		case history.KeySet, history.KeyExtended, history.KeyDeleted, history.KeyExpired, history.KeyUnclear:
			return e.Value.Client != client
		}
	}
	return false
}

func (j *judge) falseAlarmFinding(f Finding, h *holder, alarm int) Finding {
	g := h.grant
	f.Verdict = Violated
	f.Why = fmt.Sprintf("%s was told that it had lost the lock, which %d of %s had", g.Client, facts.CountAll(j.Facts, h.nodes),
		j.countNodes(j.NodesTotal()))
	c := &Counterexample{From: f.Effort.Chances, Impossible: alarm, Assumption: string(tellsTrueLoss)}
	c.Operations = []CounterOp{{Client: g.Client, Op: "holds the lock", Events: sortedEvents(g.Call, g.Return, alarm),
		From: j.At(g.Return), To: j.At(alarm), Believed: "it has lost the lock", True: "enough nodes had its keys, and answered"}}
	s := j.newStory()
	s.decidedBy(alarm)
	for i := alarm + 1; i < len(j.History.Events) && j.At(i) <= j.At(alarm); i++ { // a refusal, which the client then tells as a loss
		if j.IsAlarm(g, i) {
			s.decidedBy(i)
		}
	}
	s.tellGrant(g, j.At(alarm))
	s.tellFaults(j.At(g.Return), j.At(alarm), g.Client)
	what := "was told that it had lost the lock"
	if j.Event(alarm).F == history.Extend {
		what = "was refused to renew the lock, as if it had lost it"
	}
	s.tell(decisive, alarm, "%s %s; %s had its keys", g.Client, what, j.countNodes(facts.CountAll(j.Facts, h.nodes)))
	c.setStory(s)
	return f.withCounterexample(c)
}
