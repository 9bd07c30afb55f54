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

// judgePermits: no more clients than a lock has permits, and no writer beside anybody, are at once inside the validity that it promised
// them.
func judgePermits(_ context.Context, j *judge, _ Options) Finding {
	permits := j.permits()
	holdings := j.Leases()
	f := Finding{Method: "interval sweep", Effort: Effort{Operations: len(j.Ops), Of: "contended"}}
	if !j.History.Header.Shares() {
		return unknown("the lock is no semaphore, and has no readers", f.Effort)
	}
	f.Effort.Chances = j.attemptsBeside(permits, slices.Concat(holdings, j.LeasesOfKilled()))
	var crowd []facts.Holding
	for part := range slices.Values(j.splitByLock(holdings)) {
		if c := j.firstCrowd(part, permits); c != nil && (crowd == nil || c[permits].From < crowd[permits].From) {
			crowd = c
		}
	}
	if crowd != nil {
		return j.crowdFinding(f, crowd, len(holdings))
	}
	if j.History.Header.Modes {
		return f.noViolation("nobody asked for the lock while one held it beside whom that client may not",
			"at no time did a writer hold the lock beside anybody (%s, %d %s)", words.Count(len(j.Grants), "grant"), f.Effort.Chances,
			f.Effort.What())
	}
	return f.noViolation(fmt.Sprintf("nobody asked while %s taken", areTaken(permits)), "at no time did more than %s hold %s (%s, %d %s)",
		words.Count(permits, "client"), words.Count(permits, "permit"), words.Count(len(j.Grants), "grant"), f.Effort.Chances, f.Effort.What())
}

// areTaken says that all permits are.
func areTaken(permits int) string {
	if permits == 1 {
		return "the permit was"
	}
	return fmt.Sprintf("all %d permits were", permits)
}

// firstCrowd are the first holdings, one more than there are permits, of which each two clash; the last of them made it so. Holdings are
// those of one lock, sorted by their beginning. Readers do not clash with each other, nor those of one client, which may read and write.
func (j *judge) firstCrowd(holdings []facts.Holding, permits int) []facts.Holding {
	var open []facts.Holding
	for _, h := range holdings {
		open = slices.DeleteFunc(open, func(o facts.Holding) bool { return o.To <= h.From })
		g := &j.Grants[h.Grant]
		beside := slices.DeleteFunc(slices.Clone(open), func(o facts.Holding) bool { return j.Grants[o.Grant].Client == g.Client })
		if h.From == h.To { // it must lie strictly inside the others
			beside = slices.DeleteFunc(beside, func(o facts.Holding) bool { return o.From == h.From })
		}
		if g.Shared {
			beside = slices.DeleteFunc(beside, func(o facts.Holding) bool { return j.Grants[o.Grant].Shared })
		}
		if len(beside) >= permits {
			return append(slices.Clone(beside[:permits]), h)
		}
		if h.From < h.To {
			open = append(open, h)
		}
	}
	return nil
}

// attemptsBeside counts the attempts during which so many other clients had permits at once, for more than one instant. Of readers it
// counts those during which there was a writer.
func (j *judge) attemptsBeside(permits int, holdings []facts.Holding) (attempts int) {
	for client, acquires := range j.Attempts {
		for n, op := range acquires {
			lock, asked, until := j.HolderOf(op).Lock, j.At(j.Ops[op].Call), j.triedUntil(acquires, n)
			reads := j.IsShared(op)
			if g := j.GrantOf(op); g != nil {
				reads = g.Shared // a re-entry is what it re-enters
			}
			var beside []facts.Holding
			for _, h := range holdings {
				g := &j.Grants[h.Grant]
				if h.From, h.To = max(h.From, asked), min(h.To, until); h.From < h.To && g.Client != client && g.Lock == lock &&
					(!g.Shared || !reads) {
					beside = append(beside, h)
				}
			}
			if slices.ContainsFunc(beside, func(h facts.Holding) bool { return len(j.clientsAt(h.From, beside)) >= permits }) {
				attempts++
			}
		}
	}
	return attempts
}

// clientsAt are the clients of those holdings that last from an instant on for longer than it.
func (j *judge) clientsAt(at time.Duration, holdings []facts.Holding) (clients []string) {
	for _, h := range holdings {
		if c := j.Grants[h.Grant].Client; h.From <= at && h.To > at && !slices.Contains(clients, c) {
			clients = append(clients, c)
		}
	}
	return clients
}

// crowdFinding makes the finding that more clients than there are permits were inside at once.
func (j *judge) crowdFinding(f Finding, crowd []facts.Holding, from int) Finding {
	if j.brief {
		return violatedBriefly(f)
	}
	last := crowd[len(crowd)-1]
	overlap := Interval{From: last.From, To: min(last.To, j.End)}
	for _, h := range crowd {
		overlap.To = min(overlap.To, h.To)
	}
	held := j.crowdWords(crowd)
	f.Verdict, f.Why = Violated, fmt.Sprintf("%s for %s", held, length(overlap.To-overlap.From))
	why := j.whyCrowd(crowd)
	c := &Counterexample{From: from, Impossible: j.beginEvent(last), Overlap: &overlap, Assumption: string(why.cause)}
	s := j.newStory()
	s.decidedBy(why.events...)
	var clients []string
	for _, h := range crowd {
		g := &j.Grants[h.Grant]
		clients = append(clients, g.Client)
		op := j.holdingOp(h, &j.Grants[last.Grant], last.From)
		op.True = held
		c.Operations = append(c.Operations, op)
		f.Events = sortedEvents(append(f.Events, g.Call, g.Return, g.End)...)
	}
	for _, h := range crowd[:len(crowd)-1] {
		s.tellGrant(&j.Grants[h.Grant], j.At(c.Impossible))
	}
	if why.late != nil {
		back := j.ReleaseOf(why.late).Return
		s.tellGrant(why.late, j.At(why.late.Return))
		s.tell(turning, back, "%s had given %s back, %s after its validity had ended", why.late.Client, j.itsLock(),
			length(j.At(back)-why.late.LastPromise().End))
	}
	if why.unheard >= 0 {
		o := &j.Ops[why.unheard]
		s.tell(turning, o.Return, "%s had asked for %s, and gave up without an answer", o.Process, j.theLock())
	}
	first := &j.Grants[crowd[0].Grant]
	s.tellFaults(j.At(first.Call), j.At(c.Impossible), clients...)
	others := fmt.Sprintf("%s still held the %s", words.Count(len(crowd)-1, "client"), words.Count(j.permits(), "permit"))
	if j.History.Header.Modes {
		others = j.withMode(&j.Grants[crowd[0].Grant]) + " still held it"
	}
	s.tell(decisive, c.Impossible, "%s, while %s", j.grantWords(&j.Grants[last.Grant]), others)
	c.setStory(s)
	return f.withCounterexample(c)
}

// crowdWords say who held the lock beside whom.
func (j *judge) crowdWords(crowd []facts.Holding) string {
	if j.History.Header.Modes {
		return fmt.Sprintf("%s and %s held the lock", j.withMode(&j.Grants[crowd[0].Grant]), j.withMode(&j.Grants[crowd[1].Grant]))
	}
	return fmt.Sprintf("%d clients held %s", len(crowd), words.Count(j.permits(), "permit"))
}

// withMode names the client of a grant, and says whether it reads or writes: "c1, a reader,".
func (j *judge) withMode(g *facts.Grant) string {
	if g.Shared {
		return g.Client + ", a reader,"
	}
	return g.Client + ", a writer,"
}

// crowded is why more clients held a semaphore than it has permits.
type crowded struct {
	reason
	// late is a grant that was given back when its validity was over; nil: none was. unheard is an attempt, as a place in Facts.Ops, of
	// which its client did not learn what came of it; -1: there was none.
	late    *facts.Grant
	unheard int
}

// whyCrowd finds why a permit too many was granted: a clock that a fault bends, a node that forgot its permits, or a permit that was
// given back after its end. Otherwise the grant itself is all that shows it.
func (j *judge) whyCrowd(crowd []facts.Holding) (w crowded) {
	first, last := &j.Grants[crowd[0].Grant], crowd[len(crowd)-1]
	began := j.beginEvent(last)
	w.cause, w.events, w.unheard = permitTaken, []int{began}, -1
	for i := range j.Faults {
		if f := &j.Faults[i]; f.Begin < began && f.Does(history.BendsClock) && (f.End < 0 || f.End > first.Call) {
			w.cause, w.events = permitClock, append(w.events, f.Begin)
		}
	}
	if w.cause == permitClock {
		return w
	}
	for _, node := range j.History.Header.Nodes {
		if lost := j.FaultsOn(node, first.Call, began, history.Kills, history.Forgets, history.Promotes); len(lost) > 0 {
			w.cause, w.events = remembers, append(w.events, lost...)
			return w
		}
	}
	for i := range j.Grants {
		if g := &j.Grants[i]; g.Lock == first.Lock && j.givenBackLate(g, began) {
			w.cause, w.late = permitOnce, g
			w.events = append(w.events[:1], j.faultsThatHeldUp(g, j.At(j.ReleaseOf(g).Return))...)
		}
	}
	if w.late == nil {
		var held []int
		if w.unheard, held = j.attemptUnheard(first.Lock, began); w.unheard >= 0 {
			w.cause, w.events = permitUnheld, append(w.events, held...)
		}
	}
	return w
}

// attemptUnheard is the last attempt before an event of which its client did not learn what came of it, because of faults that struck it
// or its way to the nodes; -1: there is none.
func (j *judge) attemptUnheard(lock string, before int) (op int, faults []int) {
	op = -1
	for i := range j.Ops {
		o := &j.Ops[i]
		if o.F != history.Acquire || o.Type != history.Info || o.Return < 0 || o.Return >= before || j.HolderOf(i).Lock != lock {
			continue
		}
		var struck []int
		for n := range j.Faults {
			f := &j.Faults[n]
			its := func(s history.Strike) bool {
				return len(s.Nodes) > 0 || slices.ContainsFunc(s.Links, func(l history.Link) bool { return l.From == o.Process })
			}
			if f.Begin < o.Return && (f.End < 0 || f.End > o.Call) && slices.ContainsFunc(f.Strikes, its) {
				struck = append(struck, f.Begin)
			}
		}
		if len(struck) > 0 {
			op, faults = i, struck
		}
	}
	return op, faults
}

// givenBackLate reports that a grant was given back before an event, and that nobody minded that its validity was over by then.
func (j *judge) givenBackLate(g *facts.Grant, before int) bool {
	back := j.ReleaseOf(g)
	return back != nil && back.Type == history.OK && back.Return < before && g.LastPromise().EndedBefore(j.At(back.Return))
}
