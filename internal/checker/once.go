package checker

import (
	"context"
	"fmt"
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/checker/facts"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// done is the work of a tick as one client did it.
type done struct {
	client string
	// op is the write, a place in Facts.Ops; event is the answer to it, or the effect of one whose outcome its client does not know.
	op, event int
}

// judgeOnce: of each tick at most one client does the work.
func judgeOnce(_ context.Context, j *judge, _ Options) Finding {
	f := Finding{Method: "comparison of who did the work of each tick"}
	f.Effort = Effort{Operations: len(j.Ops), Of: "ticks that another client asked for"}
	if !j.Workload.Ticks {
		return unknown(fmt.Sprintf("the workload %q has no ticks", j.History.Header.Workload), f.Effort)
	}
	work := j.workOfTicks()
	var twice []done
	for _, by := range work {
		if len(by) > 1 && (twice == nil || by[1].event < twice[1].event) {
			twice = by[:2]
		}
	}
	if twice != nil {
		return j.twiceFinding(f, twice)
	}
	others := make(map[int]bool)
	for i := range j.Ops {
		o := &j.Ops[i]
		tick := j.Event(o.Call).Value.Section
		if by := work[tick]; o.F == history.Acquire && len(by) > 0 && by[0].client != o.Process {
			others[tick] = true
		}
	}
	f.Effort.Chances = len(others)
	return f.noViolation("nobody asked for the lock at a tick whose work another client did",
		"no tick's work was done by two clients (%s, %d %s)",
		words.Count(len(work), "tick"), f.Effort.Chances, f.Effort.What())
}

// workOfTicks has the clients that did the work of each tick, each once, in the order in which it is known.
func (j *judge) workOfTicks() map[int][]done {
	work := make(map[int][]done)
	for i := range j.Ops {
		if o := &j.Ops[i]; o.F == history.Write && o.Type == history.OK {
			tick := j.Event(o.Call).Value.Section
			work[tick] = append(work[tick], done{o.Process, i, o.Return})
		}
	}
	for i := range j.Effects {
		if x := &j.Effects[i]; x.Accepted && x.Op() == history.Write && x.Write >= 0 {
			work[x.Section()] = append(work[x.Section()], done{x.Client(), x.Write, x.Event})
		}
	}
	delete(work, 0) // outside a section
	for tick, all := range work {
		slices.SortFunc(all, func(a, b done) int { return a.event - b.event })
		var first []done
		for _, d := range all {
			if !slices.ContainsFunc(first, func(o done) bool { return o.client == d.client }) {
				first = append(first, d)
			}
		}
		work[tick] = first
	}
	return work
}

// twiceFinding makes the finding that two clients did the work of one tick.
func (j *judge) twiceFinding(f Finding, by []done) Finding {
	if j.brief {
		return violatedBriefly(f)
	}
	last, tick := by[1].event, j.Event(j.Ops[by[1].op].Call).Value.Section
	f.Verdict, f.Why = Violated, fmt.Sprintf("%s and %s both did the work of tick %d", by[0].client, by[1].client, tick)
	var grants []*facts.Grant
	for _, d := range by {
		grants = append(grants, j.GrantBefore(d.client, j.Ops[d.op].Call))
	}
	why := j.whyTwice(by, grants)
	c := &Counterexample{From: len(j.Ops), Impossible: last, Assumption: string(why.cause)}
	s := j.newStory()
	s.tellReason(why, last)
	begin := facts.Forever
	for i, d := range by {
		op, _ := j.counterOp(d.op, "does the work of tick %d", tick)
		op.Events = sortedEvents(append(op.Events, d.event)...)
		begin = min(begin, op.From)
		if g := grants[i]; g != nil {
			begin = min(begin, j.At(g.Call))
			s.tellGrant(g, j.At(last))
			if g.End < last && g.End >= 0 {
				s.tellEnd(g, "")
			}
		}
		c.Operations = append(c.Operations, op)
	}
	c.Operations[1].True = by[0].client + " had done it"
	s.tellFaults(begin, j.At(last), by[0].client, by[1].client)
	s.tell(turning, by[0].event, "%s did the work of tick %d", by[0].client, tick)
	s.tell(decisive, last, "%s did the work of tick %d once more", by[1].client, tick)
	c.setStory(s)
	return f.withCounterexample(c)
}

// whyTwice finds why two clients did the work of one tick: both held the lock, one of them worked after its validity had ended, or the
// lock was free again when the second asked.
func (j *judge) whyTwice(by []done, grants []*facts.Grant) reason {
	last := by[1].event
	if a, b := j.clashingGrants(j.Leases(), grants[0], grants[1]); a != nil {
		return j.whyGranted(a, b, b.Return)
	}
	for i, g := range grants {
		if g != nil && g.LastPromise().EndedBefore(j.At(by[i].event)) {
			return reason{cause: actsInTime, events: []int{by[i].event, last}}
		}
	}
	return reason{cause: keptForTick, events: []int{last}}
}
