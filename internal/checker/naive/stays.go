package naive

import (
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// staysHeld: "Of a grant of a lock that renews, the lock is gone after an event that stands before the end of the belief, and
// the grant is not excused by then." Unknown "if the header does not say that the lock renews, if the history does not say
// the TTL, if clients asked for more than one lock, if it is not known who is to blame for a lock that was gone, or if a key
// of the lock was ever unclear."
func (t *terms) staysHeld() answer {
	renews := t.header.Renews
	for client := range t.header.Differ {
		renews = renews || t.renews(client)
	}
	if !renews || t.ttl("") <= 0 || !t.oneLock() || t.leased() {
		return cannotTell
	}
	violated, chances, nobodyToBlame := false, false, false
	for _, g := range t.grants {
		// "Re-entries are not judged", nor are grants of clients whose lock does not renew.
		if g.outer != nil || !t.renews(g.client) {
			continue
		}
		ttl := t.ttl(g.client)
		excused := t.excusedFrom(g)
		// "Only the first event counts after which the lock of a grant is gone."
		goes := g.answered
		for goes < len(t.events) && !t.gone(g, goes) {
			goes++
		}
		switch {
		case goes >= min(g.ended, excused):
			// "Chances: grants of which a quorum surely had the lock, if more than the TTL passed from the answer to the
			// end of the belief, to the event that excuses the grant, or to the end of the history, whichever is first."
			last := min(g.ended, excused)
			until := t.last
			if last < len(t.events) {
				until = t.time(last)
			}
			chances = chances || last > g.answered && t.wasThere(g, last) && until-g.ret > ttl
		case 10*t.stalls(t.time(goes)-2*ttl, t.time(goes)) >= ttl:
			nobodyToBlame = true
		default:
			violated = true
		}
	}
	if !violated && nobodyToBlame {
		return cannotTell
	}
	return found(violated, chances && t.unclear() == len(t.events))
}

// excusedFrom is the first event that excuses a grant: len(events) for none, its invocation for a fault that began before.
func (t *terms) excusedFrom(g *grant) int {
	for i := range t.events[:g.invoked] {
		if t.hinders(i, g.client) && t.lasts(i, g.invoked) {
			return g.invoked
		}
	}
	for i := g.invoked + 1; i < len(t.events); i++ {
		switch e := &t.events[i]; e.F {
		case history.FaultBegin:
			if t.hinders(i, g.client) {
				return i
			}
		case history.NodeDown, history.NodePromoted, history.NodeDemoted:
			return i
		case history.KeyUnclear:
			if t.ofLock(i) {
				return i
			}
		case history.KeySet, history.KeyExtended, history.KeyDeleted:
			// "of another client, or without a client, of a key of the lock, if the key on this node was the client's
			// before the event by a `key-set` that stands after the invocation, or if nobody knew what it was."
			if e.Value.Client == g.client || !t.ofLock(i) || !slices.Contains(t.header.Nodes, e.Process) {
				break
			}
			if was := t.knownOnce(e.Process, e.Value.Key, i-1); was.unknown || was.client == g.client && was.set > g.invoked {
				return i
			}
		}
	}
	return len(t.events)
}

// hinders: "The begin of a fault that strikes the client, a node, or a link, unless one end of the link is another client
// or the resource."
func (t *terms) hinders(i int, client string) bool {
	s := t.strikes(i, anything)
	if s.clients[client] || len(s.nodes) > 0 {
		return true
	}
	for _, l := range s.links {
		excuses := true
		for _, end := range []string{l.From, l.To} {
			if end == history.ResourceProcess || slices.Contains(t.header.Clients, end) && end != client {
				excuses = false
			}
		}
		if excuses {
			return true
		}
	}
	return false
}

// stalls: "the parts of all stalls" in a stretch; "the stall lasted for its `took`, up to the event."
func (t *terms) stalls(from, to int64) (sum int64) {
	for i, e := range t.events {
		if e.F == history.Stalled {
			if part := min(to, t.time(i)) - max(from, t.time(i)-e.Value.Took().V()); part > 0 {
				sum += part
			}
		}
	}
	return sum
}
