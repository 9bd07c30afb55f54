package checker

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// keeper is a client that has asked for a lock which renews, and what has become of its grant.
type keeper struct {
	client string
	// call is the invocation of its acquire; g is nil until it was granted.
	call int
	g    *grant
	presence
}

// judgeStaysHeld: a lock that renews stays its holder's for as long as the holder works and the nodes answer.
func judgeStaysHeld(_ context.Context, v *view, _ Options) Finding {
	f := Finding{Effort: Effort{Operations: len(v.ops), Of: "grants for longer than the TTL"}, Method: "replay of the nodes' keys"}
	ttl := time.Duration(v.h.Header.TTL)
	switch {
	case !v.h.Header.Renews:
		return unknown("the lock does not renew itself", f.Effort)
	case v.leased():
		return unknown("the lock keeps its lease in the value of its key, so a key that stays does not show that it was renewed", f.Effort)
	case v.severalLocks():
		return unknown("the history is about several locks", f.Effort)
	case ttl <= 0:
		return unknown("the history does not say the lock's TTL", f.Effort)
	}
	keys, quorum := v.nodeKeys(), v.quorum()
	doubt := -1
	var keepers []*keeper
	for i := range v.h.Events {
		excuses := v.excusesKeepers(keys, i)
		known := keys.see(i)
		rest := keepers[:0]
		for _, k := range keepers {
			ends := k.g != nil && k.g.ends == i
			if ends || excuses(k) {
				f.Effort.Chances += k.renewed(v, v.at(i), ttl)
			} else {
				rest = append(rest, k)
			}
		}
		var granted bool
		if keepers, granted = v.followKeepers(rest, i); !known && !granted {
			continue
		}
		rest = keepers[:0]
		for _, k := range keepers {
			if k.g != nil {
				surely, maybe := keys.have(k.g)
				k.see(surely >= quorum, maybe >= quorum, i)
			}
			switch {
			case k.gone < 0:
				rest = append(rest, k)
			case 10*v.stalled(v.at(i)-2*ttl, v.at(i)) < ttl:
				return v.notKept(f, k, ttl)
			default:
				doubt = i
			}
		}
		keepers = rest
	}
	for _, k := range keepers {
		f.Effort.Chances += k.renewed(v, v.end, ttl)
	}
	if doubt >= 0 {
		f.Verdict, f.Events = Unknown, []int{doubt}
		f.Why = "a lock was gone at " + words.Instant(v.at(doubt)) + ", and the machine had stalled"
		return f
	}
	return f.tried("no lock was held for longer than its TTL, undisturbed", "%d %s, %skept",
		f.Effort.Chances, f.Effort.What(), each(f.Effort.Chances))
}

// renewed is 1 for a grant that needed a renewal up to an instant, else 0.
func (k *keeper) renewed(v *view, to, ttl time.Duration) int {
	if k.g != nil && k.there && to-v.at(k.g.ret) > ttl {
		return 1
	}
	return 0
}

// followKeepers takes in what an event says of attempts, and reports whether one got the lock.
func (v *view) followKeepers(keepers []*keeper, i int) (list []*keeper, granted bool) {
	e, op := v.event(i), v.opAt[i]
	if e.F != history.Acquire || op < 0 {
		return keepers, false
	}
	waits := slices.IndexFunc(keepers, func(k *keeper) bool { return k.g == nil && k.client == e.Process })
	switch g := v.grantOf(int(op)); {
	case e.Type == history.Invoke:
		if waits >= 0 { // its answer never came
			keepers = slices.Delete(keepers, waits, waits+1)
		}
		if !v.struckAlready(e.Process, i) {
			keepers = append(keepers, &keeper{client: e.Process, call: i, presence: absent})
		}
	case waits < 0:
	case g == nil || g.outer >= 0:
		keepers = slices.Delete(keepers, waits, waits+1)
	default:
		keepers[waits].g = g
		return keepers, true
	}
	return keepers, false
}

// excusesKeepers says which keepers an event excuses, by what was known before it.
func (v *view) excusesKeepers(keys *nodeKeys, i int) func(*keeper) bool {
	e := v.event(i)
	switch e.F {
	case history.FaultBegin:
		f := keys.fault(i)
		return func(k *keeper) bool { return v.hinders(f, k.client) }
	case history.NodeDown, history.NodePromoted, history.NodeDemoted:
		return func(*keeper) bool { return true }
	case history.KeyUnclear:
		return func(*keeper) bool { return ofLock(v.h, e) }
	case history.KeySet, history.KeyExtended, history.KeyDeleted:
		key := keys.key(e)
		if key == nil {
			break
		}
		was := *key // the event has its say before anybody asks
		return func(k *keeper) bool {
			return e.Value.Client != k.client && (was.unsure || was.client == k.client && was.set > k.call)
		}
	}
	return func(*keeper) bool { return false }
}

// hinders reports that a fault may keep a client from renewing its lock: it strikes the client, a node, or a link that
// is not that of another client or of the resource.
func (v *view) hinders(f *fault, client string) bool {
	others := func(end string) bool {
		return end == history.ResourceProcess || end != client && slices.Contains(v.h.Header.Clients, end)
	}
	return slices.ContainsFunc(f.strikes, func(s history.Strike) bool {
		return len(s.Nodes) > 0 || slices.Contains(s.Clients, client) ||
			slices.ContainsFunc(s.Links, func(l history.Link) bool { return !others(l.From) && !others(l.To) })
	})
}

// struckAlready reports that a fault which hinders a client lasts when it asks for the lock.
func (v *view) struckAlready(client string, call int) bool {
	return slices.ContainsFunc(v.faults, func(f fault) bool {
		return f.begin < call && (f.end < 0 || f.end > call) && v.hinders(&f, client)
	})
}

// stalled is for how long in a stretch of the run this machine stalled.
func (v *view) stalled(from, to time.Duration) (sum time.Duration) {
	for i := range v.h.Events {
		if e := v.event(i); e.F == history.Stalled {
			sum += max(0, min(to, e.Time)-max(from, e.Time-time.Duration(e.Value.Took().V())))
		}
	}
	return sum
}

func (v *view) notKept(f Finding, k *keeper, ttl time.Duration) Finding {
	g, last := k.g, -1
	for i := k.call; i < k.gone; i++ {
		if e := v.event(i); (e.F == history.KeySet || e.F == history.KeyExtended) && e.Value.Client == g.client && ofLock(v.h, e) {
			last = i
		}
	}
	f.Verdict = Violated
	f.Why = fmt.Sprintf("the lock of %s was gone %s after it was granted: it was not kept (the TTL is %s)",
		g.client, length(v.at(k.gone)-v.at(g.ret)), length(ttl))
	c := &Counterexample{From: f.Effort.Chances + 1, Impossible: k.gone,
		Assumption: "that a lock which renews is renewed while its holder works"}
	decides := g.ret // nobody renewed it
	if e := v.event(k.gone); e.F == history.KeyDeleted {
		decides = k.gone
		switch e.Value.Client {
		case g.client:
			c.Assumption = string(keepsOwn)
		case "":
			c.Assumption = string(remembers)
		default:
			c.Assumption = string(ownDelete)
		}
	}
	c.Operations = []CounterOp{{Client: g.client, Op: "holds the lock", Events: sortedEvents(g.call, g.ret, last, k.gone, g.ends),
		From: v.at(g.ret), To: min(v.at(g.ends), v.end), Believed: promiseWords(g), True: "its lock was gone at " + words.Instant(v.at(k.gone))}}
	s := v.newStory()
	s.rests(decides)
	s.grant(g, v.at(k.gone))
	if last >= 0 {
		e := v.event(last)
		did := map[bool]string{true: "set", false: "renewed"}[e.F == history.KeySet]
		s.tell(turning, last, "%s %s its key on node %s for the last time", g.client, did, e.Process)
	}
	s.tell(turning, k.gone, "the lock of %s was gone: %s", g.client, v.wentWords(k.gone))
	s.end(g, "")
	c.tells(s)
	return f.shown(c)
}
