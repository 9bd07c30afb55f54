package checker

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker/facts"
	"github.com/redlock-sim/redlock-sim/internal/history"
)

// judgeNothingStays: without a fault no key of an attempt stays once the attempt is over.
func judgeNothingStays(_ context.Context, j *judge, o Options) Finding {
	f := Finding{Effort: Effort{Operations: len(j.Ops), Of: "keys of attempts that were over"}, Method: "replay of the nodes' keys"}
	ttl := j.keysMayStay(o, "")
	lives := j.KeyLives()
	switch {
	case len(lives) == 0:
		return unknown("no node reported its keys", f.Effort)
	case ttl <= 0:
		return unknown(j.whyNoTTL(), f.Effort)
	case j.LeaseInValue():
		return unknown("the lock keeps its lease in the value of its key, so a key that stays does not show that it is held", f.Effort)
	case j.SeveralLocks():
		return unknown("the history is about several locks", f.Effort)
	}
	disturbances := j.NewDisturbances()
	for i := range lives {
		k := &lives[i]
		ttl = j.keysMayStay(o, k.Client)
		since, over, ok := j.undisturbedEnd(disturbances, k, ttl, demanded{})
		if !ok {
			continue
		}
		if min(j.End, j.At(k.Forgotten)) > since+ttl/2 {
			f.Effort.Chances++
		}
		if last := j.lastsTo(k); last > since+ttl/2 {
			return j.stayedFinding(f, k, over, last-j.At(over))
		}
	}
	return f.noViolation("no attempt that no fault touched was over for "+length(ttl/2), "%d %s, none of which stayed",
		f.Effort.Chances, f.Effort.What())
}

// lastsTo is until when a key surely lived.
func (j *judge) lastsTo(k *facts.KeyLife) time.Duration { return min(k.Expires, j.At(k.End), j.End) }

// demanded is what is asked of the end of attempts: not is an effect of faults that disturbs nothing; however: releases need
// not have been answered with yes or no.
type demanded struct {
	not     history.Does
	however bool
}

// undisturbedEnd is since when a key should be gone, and the event in which its attempts were over; not ok where they were
// not, or something may have kept the key from going.
func (j *judge) undisturbedEnd(d *facts.Disturbances, k *facts.KeyLife, ttl time.Duration, o demanded,
) (since time.Duration, over int, ok bool) {
	if k.Client == "" {
		return 0, 0, false
	}
	from, over, release, ok := j.Over(k, o.however)
	if !ok || release >= 0 && j.Event(k.SetIn()).Value.At().IsSet() && j.LeftAt(k.SetIn()) >= j.At(release) {
		return 0, 0, false
	}
	since = max(j.At(over), j.At(k.Set))
	begin, end, node := j.At(from), since+ttl/2, j.Event(k.Set).Process
	return since, over, !d.Struck(k.Client, begin, end) && !d.BetweenBut(o.not, k.Client, node, begin, end)
}

func (j *judge) stayedFinding(f Finding, k *facts.KeyLife, over int, stayed time.Duration) Finding {
	node := j.Event(k.Set).Process
	f.Verdict = Violated
	f.Why = fmt.Sprintf("the key of %s stayed on node %s for %s after its attempt was over, and no fault touched it",
		k.Client, node, length(stayed))
	f.Events = sortedEvents(k.Set, over, k.End)
	c := &Counterexample{From: f.Effort.Chances + 1, Impossible: -1, Assumption: string(takesAllBack)}
	c.Operations = []CounterOp{{Client: k.Client, Op: "sets the key on node " + node, Events: f.Events,
		From: j.At(k.Set), To: -1, Believed: "the key is gone when the attempt is over", True: "the key stayed"}}
	s := j.newStory()
	s.decidedBy(k.Set)
	s.tell(turning, k.Set, "%s set the key on node %s%s", k.Client, node, j.setForWords(k.Set))
	what := "the release of %s was answered"
	if j.Event(over).F == history.Acquire {
		what = "the attempt of %s failed"
		j.tellCancels(s, k.Client, over)
	}
	s.tell(turning, over, what, k.Client)
	s.tellAt(turning, j.At(over)+stayed, len(j.History.Events)-1, "the key had stayed for %s", length(stayed))
	c.setStory(s)
	f.Counterexample = c
	return f
}

// tellCancels tells of what cancelled the attempt of a client that was over with an event.
func (j *judge) tellCancels(s *story, client string, over int) {
	for i := range j.Faults {
		f := &j.Faults[i]
		if f.Begin >= over || !slices.Contains(f.Cancelled, client) {
			continue
		}
		later := func(e history.Event) bool {
			return e.Process == client && e.F == history.Acquire && e.Type == history.Invoke
		}
		if !slices.ContainsFunc(j.History.Events[f.Begin:over], later) {
			s.tell(turning, f.Begin, "%s", j.faultWords(f))
		}
	}
}
