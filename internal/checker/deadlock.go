package checker

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker/facts"
	"github.com/redlock-sim/redlock-sim/internal/history"
)

// judgeDeadlock: once the faults are lifted, somebody is granted the lock within
// the bound.
func judgeDeadlock(_ context.Context, j *judge, o Options) Finding {
	f := Finding{Effort: Effort{Operations: len(j.Ops), Of: "grants after healing"}, Method: "time to the next grant"}
	healing := j.healingBegin()
	if healing < 0 {
		return unknown("the run had no healing phase", f.Effort)
	}
	w := j.watchGrants(window{j.At(healing), facts.Forever, healing}, len(j.History.Events), o.GrantWithin)
	f.Effort.Chances = w.granted
	if w.starved == nil {
		w.starved = j.clientShutOut(j.At(healing), o.GrantWithin)
	}
	if w.starved == nil {
		w.starved = j.upgradeStuck(j.At(healing), o.GrantWithin)
	}
	if w.starved != nil {
		return j.starvationFinding(f, w.starved, o.GrantWithin, "after healing", healing)
	}
	if w.granted > 0 {
		f.Verdict, f.Why = Holds, fmt.Sprintf("after healing, a client that asked got %s within %s (bound %s)",
			j.theLock(), length(w.slowest), length(o.GrantWithin))
		return f
	}
	f.Verdict, f.Why = Unknown, "no client asked for long enough after healing"
	return f
}

// healingBegin is the event at which the healing phase began, -1 for none.
func (j *judge) healingBegin() int {
	for i := range j.History.Events {
		if e := j.Event(i); e.F == history.Phase && e.Value.Detail() == history.PhaseHealing {
			return i
		}
	}
	return -1
}

// clientShutOut is who asked for the lock from an instant on for longer than the bound
// while nobody was granted it: not because it was free and could not be had, but
// because a holder kept it.
func (j *judge) clientShutOut(from, bound time.Duration) *starving {
	to := j.End
	for i := range j.Grants {
		if at := j.At(j.Grants[i].Return); at >= from {
			to = at
			break
		}
	}
	var longest *starving
	for _, s := range j.clientsAsking(slices.Sorted(maps.Keys(j.Attempts)), window{from: from, to: to}, bound/2) {
		if s.to-s.from > bound && (longest == nil || s.from < longest.from) {
			s.lockKept = true
			longest = &s
		}
	}
	return longest
}

// upgradeStuck is a reader who asked, from an instant on, to write for longer than the bound while nobody else was at work: all others
// were readers that asked the same.
func (j *judge) upgradeStuck(from, bound time.Duration) *starving {
	var first *starving
	for _, op := range j.Upgrades {
		asked := j.upgradeAsked(op)
		free := []window{{from: max(asked.from, from), to: min(asked.to, j.End)}}
		for i := range j.Grants {
			if g := &j.Grants[i]; g.Client != j.Ops[op].Process {
				for _, work := range j.atWork(g) {
					free = without(free, work)
				}
			}
		}
		for _, w := range free {
			if w.to-w.from > bound && (first == nil || w.from < first.from) {
				first = &starving{client: j.Ops[op].Process, from: w.from, to: w.to, attempts: 1, first: op, last: op, upgrade: true}
			}
		}
	}
	return first
}

// upgradeAsked is for how long a client asked for an upgrade.
func (j *judge) upgradeAsked(op int) window {
	o := &j.Ops[op]
	acquires := j.Attempts[o.Process]
	n, _ := slices.BinarySearch(acquires, op)
	asked := window{from: j.At(o.Call), to: j.AskedUntil(acquires, n)}
	if kill := j.KilledBetween(o.Process, o.Call, o.Return); kill >= 0 {
		asked.to = min(asked.to, j.At(kill))
	}
	return asked
}

// atWork is when the client of a grant was at work: until it gave it back, but not while it read, and asked to write.
func (j *judge) atWork(g *facts.Grant) []window {
	work := []window{{from: j.At(g.Return), to: j.FreeFrom(g)}}
	for _, op := range j.Upgrades {
		if g.Shared && j.Ops[op].Process == g.Client {
			work = without(work, j.upgradeAsked(op))
		}
	}
	return work
}

// without are some stretches without what lies in another.
func without(list []window, other window) (rest []window) {
	for _, w := range list {
		if other.from >= other.to || other.to <= w.from || other.from >= w.to {
			rest = append(rest, w)
			continue
		}
		if w.from < other.from {
			rest = append(rest, window{from: w.from, to: other.from})
		}
		if other.to < w.to {
			rest = append(rest, window{from: other.to, to: w.to})
		}
	}
	return rest
}
