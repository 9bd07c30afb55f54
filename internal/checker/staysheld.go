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

// keeper is a client that has asked for a lock which renews, and what has become of its grant.
type keeper struct {
	client string
	// call is the invocation of its acquire; g is nil until it was granted.
	call  int
	grant *facts.Grant
	facts.Presence
}

// judgeStaysHeld: a lock that renews stays its holder's for as long as the holder works and the nodes answer.
func judgeStaysHeld(_ context.Context, j *judge, _ Options) Finding {
	f := Finding{Effort: Effort{Operations: len(j.Ops), Of: "grants for longer than the TTL"}, Method: "replay of the nodes' keys"}
	ttl := j.TTL("")
	switch {
	case !j.Renews():
		return unknown("the lock does not renew itself", f.Effort)
	case j.LeaseInValue():
		return unknown("the lock keeps its lease in the value of its key, so a key that stays does not show that it was renewed", f.Effort)
	case j.SeveralLocks():
		return unknown("the history is about several locks", f.Effort)
	case ttl <= 0:
		return unknown(j.whyNoTTL(), f.Effort)
	}
	keys, quorum, disturbances := j.ReplayKeys(), j.Quorum(), j.NewDisturbances()
	doubt := -1
	var keepers []*keeper
	for i := range j.History.Events {
		excuses := j.excusesKeepers(keys, i)
		known := keys.Apply(i)
		rest := keepers[:0]
		for _, k := range keepers {
			ends := k.grant != nil && k.grant.End == i
			if ends || excuses(k) {
				f.Effort.Chances += k.neededRenewal(j, j.At(i))
			} else {
				rest = append(rest, k)
			}
		}
		var granted bool
		if keepers, granted = j.followKeepers(rest, i); !known && !granted {
			continue
		}
		rest = keepers[:0]
		for _, k := range keepers {
			if k.grant != nil {
				surely, maybe := keys.NodesWithKeyOf(k.grant)
				k.Update(surely >= quorum, maybe >= quorum, i)
			}
			ttl = j.TTL(k.client)
			switch {
			case k.GoneSince < 0:
				rest = append(rest, k)
			case 10*disturbances.Stalled(j.At(i)-2*ttl, j.At(i)) < ttl:
				return j.notKeptFinding(f, k, ttl)
			default:
				doubt = i
			}
		}
		keepers = rest
	}
	for _, k := range keepers {
		f.Effort.Chances += k.neededRenewal(j, j.End)
	}
	if doubt >= 0 {
		f.Verdict, f.Events = Unknown, []int{doubt}
		f.Why = "a lock was gone at " + words.Instant(j.At(doubt)) + ", and the machine had stalled"
		return f
	}
	return f.noViolation("no lock was held for longer than its TTL, undisturbed", "%d %s, %skept",
		f.Effort.Chances, f.Effort.What(), eachIfSeveral(f.Effort.Chances))
}

// neededRenewal is 1 for a grant that needed a renewal up to an instant, else 0.
func (k *keeper) neededRenewal(j *judge, to time.Duration) int {
	if k.grant != nil && k.WasThere && to-j.At(k.grant.Return) > j.TTL(k.client) {
		return 1
	}
	return 0
}

// followKeepers takes in what an event says of attempts, and reports whether one got the lock.
func (j *judge) followKeepers(keepers []*keeper, i int) (list []*keeper, granted bool) {
	e, op := j.Event(i), j.OpAt[i]
	if e.F != history.Acquire || op < 0 {
		return keepers, false
	}
	waits := slices.IndexFunc(keepers, func(k *keeper) bool { return k.grant == nil && k.client == e.Process })
	without := func() []*keeper {
		if waits < 0 {
			return keepers
		}
		return slices.Delete(keepers, waits, waits+1)
	}
	if e.Type == history.Invoke {
		keepers = without() // the answer to the one before never came
		if j.History.Header.LockOf(e.Process).Renews && !j.struckWhenAsking(e.Process, i) {
			keepers = append(keepers, &keeper{client: e.Process, call: i, Presence: facts.NotYetThere})
		}
		return keepers, false
	}
	g := j.GrantOf(int(op))
	if waits < 0 || g == nil || g.Outer >= 0 {
		return without(), false
	}
	keepers[waits].grant = g
	return keepers, true
}

// excusesKeepers says which keepers an event excuses, by what was known before it.
func (j *judge) excusesKeepers(keys *facts.KeyReplay, i int) func(*keeper) bool {
	e := j.Event(i)
	switch e.F {
	case history.FaultBegin:
		f := keys.FaultAt(i)
		return func(k *keeper) bool { return j.mayKeepFromRenewing(f, k.client) }
	case history.NodeDown, history.NodePromoted, history.NodeDemoted:
		return func(*keeper) bool { return true }
	case history.KeyUnclear:
		return func(*keeper) bool { return j.ConcernsLock(e) }
	case history.KeySet, history.KeyExtended, history.KeyDeleted:
		key := keys.State(e)
		if key == nil {
			break
		}
		was := *key // the event has its say before anybody asks
		return func(k *keeper) bool {
			return e.Value.Client != k.client && (was.Unsure || was.Client == k.client && was.Set > k.call)
		}
	}
	return func(*keeper) bool { return false }
}

// mayKeepFromRenewing reports that a fault may keep a client from renewing its lock: it strikes the client, a node, or a link that
// is not that of another client or of the resource.
func (j *judge) mayKeepFromRenewing(f *facts.Fault, client string) bool {
	others := func(end string) bool {
		return end == history.ResourceProcess || end != client && j.isClient(end)
	}
	return slices.ContainsFunc(f.Strikes, func(s history.Strike) bool {
		return len(s.Nodes) > 0 || slices.Contains(s.Clients, client) ||
			slices.ContainsFunc(s.Links, func(l history.Link) bool { return !others(l.From) && !others(l.To) })
	})
}

// struckWhenAsking reports that a fault which hinders a client lasts when it asks for the lock.
func (j *judge) struckWhenAsking(client string, call int) bool {
	return slices.ContainsFunc(j.Faults, func(f facts.Fault) bool {
		return f.Begin < call && (f.End < 0 || f.End > call) && j.mayKeepFromRenewing(&f, client)
	})
}

// deletionsLike are the deletions of keys of the lock by whoever made one of them, while a grant was held: a majority may have been left
// without one of them, and not without all.
func (j *judge) deletionsLike(one int, g *facts.Grant) (list []int) {
	for i := g.Call; i < g.EndOr(len(j.History.Events)); i++ {
		if e := j.Event(i); e.F == history.KeyDeleted && e.Value.Client == j.Event(one).Value.Client && j.ConcernsLock(e) {
			list = append(list, i)
		}
	}
	return list
}

func (j *judge) notKeptFinding(f Finding, k *keeper, ttl time.Duration) Finding {
	g, last := k.grant, -1
	for i := k.call; i < k.GoneSince; i++ {
		e := j.Event(i)
		if (e.F == history.KeySet || e.F == history.KeyExtended) && e.Value.Client == g.Client && j.ConcernsLock(e) {
			last = i
		}
	}
	f.Verdict = Violated
	f.Why = fmt.Sprintf("the lock of %s was gone %s after it was granted: it was not kept (the TTL is %s)",
		g.Client, length(j.At(k.GoneSince)-j.At(g.Return)), length(ttl))
	c := &Counterexample{From: f.Effort.Chances + 1, Impossible: k.GoneSince,
		Assumption: "that a lock which renews is renewed while its holder works"}
	decides := []int{g.Return} // nobody renewed it
	if e := j.Event(k.GoneSince); e.F == history.KeyDeleted {
		decides = j.deletionsLike(k.GoneSince, g)
		switch e.Value.Client {
		case g.Client:
			c.Assumption = string(keepsOwn)
		case "":
			c.Assumption = string(remembers)
		default:
			c.Assumption = string(ownDelete)
		}
	}
	c.Operations = []CounterOp{{Client: g.Client, Op: "holds the lock", Events: sortedEvents(g.Call, g.Return, last, k.GoneSince, g.End),
		From: j.At(g.Return), To: min(j.At(g.End), j.End),
		Believed: j.promiseWords(g), True: "its lock was gone at " + words.Instant(j.At(k.GoneSince))}}
	s := j.newStory()
	s.decidedBy(decides...)
	s.tellGrant(g, j.At(k.GoneSince))
	if last >= 0 {
		e := j.Event(last)
		did := map[bool]string{true: "set", false: "renewed"}[e.F == history.KeySet]
		s.tell(turning, last, "%s %s its key on node %s for the last time", g.Client, did, e.Process)
	}
	s.tell(turning, k.GoneSince, "the lock of %s was gone: %s", g.Client, j.goneWords(k.GoneSince))
	s.tellEnd(g, "")
	c.setStory(s)
	return f.withCounterexample(c)
}
