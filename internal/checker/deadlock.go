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
