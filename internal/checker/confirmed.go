package checker

import (
	"fmt"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// Confirmed reports whether a violation is confirmed by what the nodes and the resource
// saw, and not by the word of the lock alone, and says in words why. The counterexample is one of this
// history; nil: there is no violation. docs/reference/properties.md says what each property needs.
func Confirmed(h *history.History, p Property, c *Counterexample) (ok bool, why string) {
	if c == nil {
		return false, "it is no violation that is shown"
	}
	v := newView(h)
	switch p {
	case BackedGrant, OwnerRelease, NoOrphanLock, NoResurrection, AsksItsTTL, TrueValidity:
		return true, "the keys on the nodes show it"
	case ToldWhenLost, StaysHeld:
		return true, "the keys on the nodes show that the lock was gone"
	case Atomic, Isolated, Durable:
		return true, "what the resource kept shows it"
	}
	switch {
	case v.sees(history.KeySet):
	case v.sees(history.KeyUnclear):
		return false, "it is not known what is in the lock's keys on the nodes, so they cannot confirm it"
	default:
		return false, "the lock keeps no key on the nodes, so they cannot confirm it"
	}
	if p == DeadlockFree || p == MinorityTolerant {
		return v.confirmStarvation(c)
	}
	return v.confirmGrants(c)
}

// sees reports that such an event of a key of the lock was seen, and that a client did it, where
// that is known of such events.
func (v *view) sees(f history.F) bool {
	return slices.ContainsFunc(v.h.Events, func(e history.Event) bool {
		return e.F == f && (e.Value.Client != "" || f == history.KeyUnclear) && ofLock(v.h, &e)
	})
}

// confirmGrants: of each grant of a counterexample, the nodes saw its client set the lock's
// key on a quorum.
func (v *view) confirmGrants(c *Counterexample) (ok bool, why string) {
	some := false
	for i := range c.Operations {
		for _, g := range v.grantsOf(&c.Operations[i]) {
			for g.outer >= 0 { // it rests on the keys of the grant that it re-entered
				g = &v.grants[g.outer]
			}
			some = true
			if n := v.nodesAsked(g); n < v.quorum() {
				return false, fmt.Sprintf("%s was granted the lock at %s, but only %d of the %s that it needs saw it set the key",
					g.client, instant(v.at(g.ret)), n, plural(v.quorum(), "node"))
			}
		}
	}
	if !some {
		return false, "no grant is part of what shows it"
	}
	return true, "the nodes saw each client that is part of it set the lock's key on a quorum"
}

// grantsOf are the grants that an operation of a counterexample is about, or under which its
// client did it.
func (v *view) grantsOf(o *CounterOp) (list []*grant) {
	for _, i := range o.Events {
		if e := v.event(i); e.F == history.Acquire && e.Type == history.OK && v.opAt[i] >= 0 {
			if g := v.grantOf(int(v.opAt[i])); g != nil {
				list = append(list, g)
			}
		}
	}
	if len(list) > 0 || len(o.Events) == 0 {
		return list
	}
	return v.actsUnder(o.Client, o.Events[0])
}

// nodesAsked counts the nodes that saw the client of a grant set a key of the lock in its
// attempt.
func (v *view) nodesAsked(g *grant) int {
	nodes := make(map[string]bool)
	for i := g.call + 1; i < g.lastEvent(len(v.h.Events)); i++ {
		e := v.event(i)
		inTime := !e.Value.At().IsSet() || time.Duration(e.Value.At().V()) <= v.at(g.ret)
		its := e.F == history.KeySet && e.Value.Client == g.client && !v.leaves(i)
		if its && inTime && ofLock(v.h, e) && slices.Contains(v.h.Header.Nodes, e.Process) {
			nodes[e.Process] = true
		}
	}
	return len(nodes)
}

// confirmStarvation: while a client asked in vain, a quorum of nodes had for longer than the bound the lock of nobody who still
// held it; or, if a holder is said to have kept it, once of that holder.
func (v *view) confirmStarvation(c *Counterexample) (ok bool, why string) {
	kept := c.Assumption == string(keptLock)
	from, to := c.Operations[0].From, c.Operations[0].To
	free, longest := from, time.Duration(0) // since when nobody has had it
	keys := v.nodeKeys()
	for i := range v.h.Events {
		keys.see(i)
		next := to
		if i+1 < len(v.h.Events) {
			next = min(v.at(i+1), to)
		}
		if next < from {
			continue
		}
		if v.at(i) > to {
			break
		}
		holder, doubt := v.hasIt(keys, i, max(from, v.at(i)))
		switch {
		case holder != nil && kept:
			return true, fmt.Sprintf("the keys on the nodes show that %s kept the lock", holder.client)
		case holder != nil:
			why = fmt.Sprintf("the nodes had the keys of %s at %s, which had not asked to release", holder.client, instant(max(from, v.at(i))))
			free = next
		case doubt:
			why = "it is not known whose keys the nodes had at " + instant(max(from, v.at(i)))
			free = next
		}
		longest = max(longest, next-free)
	}
	switch {
	case kept && why != "":
		return false, why
	case kept:
		return false, "no node shows that somebody kept the lock"
	case why == "", c.Bound > 0 && longest > c.Bound:
		return true, "the keys on the nodes show that nobody had the lock who still wanted it"
	}
	return false, why
}

// hasIt is a holder of whose lock a quorum of nodes surely has the keys after an event, at an instant; doubt: they may have those of one.
func (v *view) hasIt(keys *nodeKeys, i int, at time.Duration) (holder *grant, doubt bool) {
	for n := range v.grants {
		g := &v.grants[n]
		if g.ret > i || g.ends >= 0 && g.ends <= i || v.leased() && g.lastPromise().cut(forever) <= at {
			continue
		}
		surely, maybe := keys.have(g)
		if surely >= v.quorum() {
			return g, false
		}
		doubt = doubt || maybe >= v.quorum()
	}
	return nil, doubt
}
