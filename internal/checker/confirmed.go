package checker

import (
	"fmt"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker/facts"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// Confirmed reports whether a violation is confirmed by what the nodes and the resource
// saw, and not by the word of the lock alone, and says in words why. The counterexample is one of this
// history; nil: there is no violation. docs/reference/properties.md says what each property needs.
func Confirmed(h *history.History, p Property, c *Counterexample) (ok bool, why string) {
	if c == nil {
		return false, "it is no violation that is shown"
	}
	j := newJudge(h)
	switch p {
	case BackedGrant, OwnerRelease, NoOrphanLock, NothingStays, NoResurrection, AsksItsTTL, TrueValidity:
		return true, "the keys on the nodes show it"
	case KeepsRunning:
		return true, "the process of the lock program is gone"
	case NoFalseAlarm:
		return true, "the keys on the nodes show that the lock was there"
	case ToldWhenLost, ToldAtRelease, StaysHeld:
		return true, "the keys on the nodes show that the lock was gone"
	case Atomic, Isolated, Durable:
		return true, "what the resource kept shows it"
	}
	if !j.SawOnKeys(history.KeySet) {
		if j.SawOnKeys(history.KeyUnclear) {
			return false, "it is not known what is in the lock's keys on the nodes, so they cannot confirm it"
		}
		if p == DeadlockFree && c.Assumption != string(keptLock) {
			return j.confirmGivenBack(&c.Operations[0])
		}
		return false, "the lock keeps no key on the nodes, so they cannot confirm it"
	}
	if p == DeadlockFree || p == MinorityTolerant || p == ComesBack {
		return j.confirmStarvation(c)
	}
	return j.confirmGrants(c)
}

// ShownByKeys reports that nothing shows a violation of a property but the lock's keys: where it is not known which keys are the lock's,
// or whose, it cannot be judged.
func ShownByKeys(p Property) bool {
	switch p {
	case ExclusiveBelief, ExclusiveLease, NoLateEffect, HolderServed, LinearizableResource, AtMostOnce, OrderedTokens,
		Atomic, Isolated, Durable:
		return false // the grants of clients do, or the resource
	}
	return true
}

// confirmGrants: of each grant of a counterexample, the nodes saw its client set the lock's
// key on a quorum.
func (j *judge) confirmGrants(c *Counterexample) (ok bool, why string) {
	some := false
	for i := range c.Operations {
		for _, g := range j.grantsShown(&c.Operations[i]) {
			for g.Outer >= 0 { // it rests on the keys of the grant that it re-entered
				g = &j.Grants[g.Outer]
			}
			some = true
			if n := j.NodesSetInAttempt(g); n < j.Quorum() {
				return false, fmt.Sprintf("%s was granted the lock at %s, but only %d of the %s that it needs saw it set the key",
					g.Client, words.Instant(j.At(g.Return)), n, j.countNodes(j.Quorum()))
			}
		}
	}
	if !some {
		return false, "no grant is part of what shows it"
	}
	return true, "the nodes saw each client that is part of it set the lock's key on a quorum"
}

// grantsShown are the grants that an operation of a counterexample is about, or under which its
// client did it.
func (j *judge) grantsShown(o *CounterOp) (list []*facts.Grant) {
	for _, i := range o.Events {
		if e := j.Event(i); e.F == history.Acquire && e.Type == history.OK && j.OpAt[i] >= 0 {
			if g := j.GrantOf(int(j.OpAt[i])); g != nil {
				list = append(list, g)
			}
		}
	}
	if len(list) > 0 || len(o.Events) == 0 {
		return list
	}
	return j.GrantsActedUnder(o.Client, o.Events[0])
}

// confirmStarvation: while a client asked in vain, a quorum of nodes had for longer than the bound the lock of nobody who still
// held it; or, if a holder is said to have kept it, once of that holder.
func (j *judge) confirmStarvation(c *Counterexample) (ok bool, why string) {
	kept := c.Assumption == string(keptLock)
	from, to := c.Operations[0].From, c.Operations[0].To
	free, longest := from, time.Duration(0) // since when nobody has had it
	keys := j.ReplayKeys()
	for i := range j.History.Events {
		keys.Apply(i)
		next := to
		if i+1 < len(j.History.Events) {
			next = min(j.At(i+1), to)
		}
		if next < from {
			continue
		}
		if j.At(i) > to {
			break
		}
		holder, doubt := j.holderByKeys(keys, i, max(from, j.At(i)))
		switch {
		case holder != nil && kept:
			return true, fmt.Sprintf("the keys on the nodes show that %s kept the lock", holder.Client)
		case holder != nil:
			why = fmt.Sprintf("the nodes had the keys of %s at %s, which had not asked to release", holder.Client, words.Instant(max(from, j.At(i))))
			free = next
		case doubt:
			why = "it is not known whose keys the nodes had at " + words.Instant(max(from, j.At(i)))
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

// confirmGivenBack: a client asked in vain for a lock that keeps nothing on the nodes, although nothing had struck anything, and everybody
// who had ever had the lock had given it back.
func (j *judge) confirmGivenBack(asks *CounterOp) (ok bool, why string) {
	const cannot = "the lock keeps no key on the nodes, so they cannot confirm it, and "
	if slices.ContainsFunc(j.Faults, func(f facts.Fault) bool { return len(f.Strikes) > 0 }) {
		return false, cannot + "faults struck"
	}
	for i := range j.History.Events {
		if e := j.Event(i); e.F == history.ProgramEnded {
			return false, cannot + fmt.Sprintf("the program of %s ended", e.Process)
		}
	}
	for client, attempts := range j.Attempts {
		for n, i := range attempts {
			o := &j.Ops[i]
			asksStill := n == len(attempts)-1 && j.At(o.Return) >= asks.To
			if o.Type == history.Info && !asksStill && j.At(o.Call) < asks.To {
				return false, cannot + fmt.Sprintf("%s does not know whether it was granted the lock", client)
			}
		}
	}
	given := 0
	for i := range j.Grants {
		g := &j.Grants[i]
		if j.At(g.Return) >= asks.To {
			continue
		}
		if at, ok := j.GivenBack(g); !ok || at > asks.From {
			return false, cannot + fmt.Sprintf("%s had not given back what it was granted at %s", g.Client, words.Instant(j.At(g.Return)))
		}
		given++
	}
	if given == 0 {
		return false, cannot + "nobody was ever granted the lock"
	}
	return true, "nothing had struck anything, and everybody who had been granted the lock had given it back"
}

// holderByKeys is a holder of whose lock a quorum of nodes surely has the keys after an event, at an
// instant; doubt: they may have those of one.
func (j *judge) holderByKeys(keys *facts.KeyReplay, i int, at time.Duration) (holder *facts.Grant, doubt bool) {
	for n := range j.Grants {
		g := &j.Grants[n]
		if g.Return > i || g.End >= 0 && g.End <= i || j.LeaseInValue() && g.LastPromise().EarlierOf(facts.Forever) <= at {
			continue
		}
		surely, maybe := keys.NodesWithKeyOf(g)
		if surely >= j.Quorum() {
			return g, false
		}
		doubt = doubt || maybe >= j.Quorum()
	}
	return nil, doubt
}
