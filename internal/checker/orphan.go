package checker

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// keyLife is the life of one key on one node, from its setting to its end.
type keyLife struct {
	// set is the event that it begins with, by the key-set that made it its client's, with the value
	// owner. value is what stands in it.
	set, by              int
	client, owner, value string
	// latest is the last key-set by which it is its client's.
	latest int
	// end is the event that ended it, -1 where none did; expires the instant at
	// which it would end by itself, forever where it has no TTL.
	end     int
	expires time.Duration
	renewed int // the last renewal, -1 for none
	// forgotten is the event after which nothing would be known of it, had it not ended before; -1 for none.
	forgotten int
}

// judgeOrphans: no key of the lock stays for longer than the TTL after its owner
// no longer wants it. An owner stops wanting a key when a release is asked for, when an acquire fails or
// its outcome stays unknown, and when the client is killed. Only what is certain
// counts: a key is known to live until its own TTL has passed or it is seen to go,
// whichever is first, and where the node's clock was tampered with, only while
// something is done to it.
func judgeOrphans(_ context.Context, v *view, _ Options) Finding {
	f := Finding{Effort: Effort{Operations: len(v.ops), Of: "keys no longer wanted"}, Method: "replay of the nodes' keys"}
	ttl := time.Duration(v.h.Header.TTL)
	lives := v.keyLives()
	if len(lives) == 0 {
		return unknown("no node reported its keys", f.Effort)
	}
	if ttl <= 0 {
		return unknown("the history does not say the lock's TTL", f.Effort)
	}
	owners, none := v.ownerClients(), "every owner still wanted its keys"
	for i := range lives {
		k := &lives[i]
		if k.client == "" {
			k.client = owners[k.owner]
		}
		if k.client == "" {
			continue
		}
		lost, event, dead := v.interestEnd(k)
		if lost == forever {
			continue
		}
		none = "no key was watched for longer than the TTL after it was no longer wanted"
		from := max(lost, v.at(k.set))
		if k.renewed >= 0 && v.at(k.renewed) > from && (v.underWay(k.client, event) || v.leftBefore(k.renewed, lost)) {
			from = v.at(k.renewed)
		}
		if known := min(v.end, v.at(k.forgotten)); known > from+ttl || dead && k.expires == forever && k.forgotten < 0 {
			f.Effort.Chances++
		}
		last := min(k.expires, v.at(k.end), v.end)
		endless := k.expires == forever && k.end < 0
		if last > from+ttl || dead && endless {
			return v.orphan(f, k, event, last-lost)
		}
	}
	return f.tried(none, "%d %s, none left for longer than %s", f.Effort.Chances, f.Effort.What(), length(ttl))
}

// keyLives replays what the nodes told of the lock's key.
func (v *view) keyLives() []keyLife {
	var lives []keyLife
	open, kept := make(map[nodeKey]int), make(map[nodeKey][]int)
	lockKey := v.h.Header.LockKey
	fault := 0
	for i := range v.h.Events {
		e := v.event(i)
		if lockKey != "" && e.Value.Key != "" && e.Value.Key != lockKey {
			continue
		}
		k := nodeKey{e.Process, e.Value.Key}
		at, known := open[k]
		switch e.F {
		case history.KeySet:
			client, by := v.keyOf(i)
			if known && v.goesOn(open, lives, k, i) {
				continue
			}
			if known {
				lives[at].end = i
			}
			open[k] = len(lives)
			kept[k] = append(kept[k], len(lives))
			lives = append(lives, keyLife{set: i, by: by, latest: by, client: client, owner: v.event(by).Value.Owner,
				value: e.Value.Owner, end: -1, expires: v.expiry(i), renewed: -1, forgotten: -1})
		case history.KeyExtended:
			switch {
			case known && lives[at].value == e.Value.Owner && v.leased():
			case known && lives[at].value == e.Value.Owner:
				lives[at].renewed = i
				if !v.keepsEnd(e) {
					lives[at].expires = v.expiry(i)
				}
			case known: // another has taken its place, unseen
				lives[at].end = i
				delete(open, k)
			}
		case history.KeyDeleted, history.KeyExpired:
			if known {
				lives[at].end = i
				delete(open, k)
			}
		case history.KeyUnclear:
			v.forget(open, kept, lives, i, func(key nodeKey) bool { return key == k })
		case history.FaultBegin:
			f := &v.faults[fault]
			fault++
			v.forget(open, kept, lives, i, func(key nodeKey) bool { return f.mayForget(key.node) })
		case history.NodeDown:
			v.forget(open, kept, lives, i, func(key nodeKey) bool { return key.node == e.Process })
		}
	}
	return lives
}

// goesOn reports that a key-set begins no new life of a key: somebody else wrote into it, or its client renewed a lease in the value.
func (v *view) goesOn(open map[nodeKey]int, lives []keyLife, key nodeKey, set int) bool {
	k := &lives[open[key]]
	switch _, by := v.keyOf(set); {
	case by != set && by == k.latest:
		if k.value = v.event(set).Value.Owner; !v.leased() {
			k.expires = v.expiry(set)
		}
	case v.renewsLease(k, set):
		v.renewLease(open, lives, key, set)
	default:
		return false
	}
	return true
}

// forget ends the lives of keys that may be gone: what is no longer known to be there
// is not held against anybody. kept are all lives since nothing was known before.
func (v *view) forget(open map[nodeKey]int, kept map[nodeKey][]int, lives []keyLife, event int, gone func(nodeKey) bool) {
	for k, list := range kept {
		if !gone(k) {
			continue
		}
		for _, at := range list {
			if lives[at].forgotten < 0 {
				lives[at].forgotten = event
			}
		}
		if at, known := open[k]; known {
			lives[at].expires, lives[at].end = min(lives[at].expires, v.at(event)), event
		}
		delete(open, k)
		delete(kept, k)
	}
}

// keepsEnd reports that a key that was prolonged ends when it would have ended. That it was seen is no
// proof that it lived until then: a node that was stopped while it carried the command out tells of it when it goes on.
func (v *view) keepsEnd(e *history.Event) bool {
	return v.h.Header.Program != "" && e.Value.Client != "" && !e.Value.At().IsSet()
}

// expiry is when a key ends by itself, at the earliest.
func (v *view) expiry(event int) time.Duration {
	e := v.event(event)
	if v.leased() {
		return v.leaseEnd(event)
	}
	if !e.Value.TTL().IsSet() {
		return forever
	}
	for i := range v.faults {
		if v.faults[i].strikesNode(history.BendsClock, e.Process) {
			return e.Time
		}
	}
	return v.ranOut(e)
}

// interestEnd is when the owner of a key had done with it, at which event, and
// whether the owner was killed; forever where it never had. Where several attempts used
// the key's owner value, it is the last of their ends.
func (v *view) interestEnd(k *keyLife) (at time.Duration, event int, dead bool) {
	at = forever
	for n, attempt := range v.attemptsFor(k) {
		t, e, d := v.attemptEnd(k.client, attempt)
		if n == 0 || t > at {
			at, event, dead = t, e, d
		}
	}
	return at, event, dead
}

// attemptEnd is when a client had done with the keys of one attempt.
func (v *view) attemptEnd(client string, attempt int) (at time.Duration, event int, dead bool) {
	o := &v.ops[attempt]
	if kill := v.killed(client, o.Call, o.Return); kill >= 0 {
		return v.at(kill), kill, true
	}
	if o.Type != history.OK {
		return v.at(o.Return), o.Return, false
	}
	g := v.grantOf(attempt)
	if g.how == released && v.ops[g.release].Type == history.Info {
		if kill := v.killed(client, g.ends, v.nextCall(client, g.release)); kill >= 0 {
			return v.at(kill), kill, true // the lock may not have learned of the release
		}
	}
	return v.at(g.ends), g.ends, g.how == killed
}

// nextCall is when a client begins the operation after one, -1 where it begins none.
func (v *view) nextCall(client string, op int) int {
	for i := op + 1; i < len(v.ops); i++ {
		if v.ops[i].Process == client {
			return v.ops[i].Call
		}
	}
	return -1
}

// attemptsFor are the acquires that may have set a key: those with its owner value, or
// else the client's latest before it that told none.
func (v *view) attemptsFor(k *keyLife) []int {
	var same []int
	silent := -1
	for _, i := range v.acquires[k.client] {
		switch owner := v.owner(i); {
		case owner != "" && owner == k.owner:
			same = append(same, i)
		case owner == "" && v.at(v.ops[i].Call) <= v.at(k.by):
			silent = i
		}
	}
	if len(same) == 0 && silent >= 0 {
		return []int{silent}
	}
	return same
}

// leftBefore reports that a link told of a command that it left its client before an instant.
func (v *view) leftBefore(event int, at time.Duration) bool {
	return v.event(event).Value.At().IsSet() && v.left(event) <= at
}

// underWay reports that a client had asked for a renewal when an event came, and had
// no answer yet: it may arrive at the nodes after it.
func (v *view) underWay(client string, event int) bool {
	for i := range v.ops {
		o := &v.ops[i]
		if o.F == history.Extend && o.Process == client && o.Call < event && (o.Return < 0 || o.Return > event) {
			return true
		}
	}
	return false
}

func (v *view) orphan(f Finding, k *keyLife, lost int, outlived time.Duration) Finding {
	node := v.event(k.set).Process
	f.Verdict = Violated
	f.Why = fmt.Sprintf("the key of %s on node %s was still there %s after its owner no longer wanted it", k.client, node, length(outlived))
	if k.expires == forever {
		f.Why = fmt.Sprintf("the key of %s on node %s has no TTL and stayed after its owner no longer wanted it", k.client, node)
	}
	f.Events = sortedEvents(k.set, k.renewed, lost)
	why, late := comesInTime, k.renewed >= 0 && v.at(k.renewed) > v.at(lost)
	switch {
	case k.expires == forever:
		why = hasTTL
	case late:
		why = notRenewed
	}
	c := &Counterexample{From: f.Effort.Chances, Impossible: -1, Assumption: string(why)}
	c.Operations = []CounterOp{{Client: k.client, Op: "sets the key on node " + node, Events: f.Events,
		From: v.at(k.set), To: -1, Believed: "the key is gone when it is no longer needed", True: "the key stayed"}}
	s := v.newStory()
	s.rests(k.set)
	if v.event(lost).F == history.FaultBegin {
		s.rests(lost)
	}
	s.tell(turning, k.set, "%s set the key on node %s%s", k.client, node, v.setForWords(k.set))
	if late {
		s.rests(k.renewed)
	}
	if k.renewed >= 0 {
		by := cmp.Or(v.event(k.renewed).Value.Client, k.client)
		s.tell(turning, k.renewed, "%s renewed the key on node %s%s", by, node, v.setForWords(k.renewed))
	}
	s.faults(v.at(k.set), v.end, k.client)
	if g := v.grantBefore(k.client, len(v.h.Events)); g != nil {
		s.grant(g, v.end)
		if g.ends >= 0 && g.how != killed {
			s.end(g, "")
		}
	}
	if v.event(lost).F == history.Acquire {
		s.tell(turning, lost, "the attempt of %s failed or has an unknown outcome", k.client)
	}
	s.tell(turning, len(v.h.Events)-1, "the key was still there %s after its owner no longer wanted it", length(outlived))
	c.tells(s)
	f.Counterexample = c
	return f
}
