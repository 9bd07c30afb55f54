package checker

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker/facts"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// apart is by how much the difference between stamps of two clients may be wrong.
func (j *judge) apart(a, b string) time.Duration { return j.History.Clocks.Between(a, b) }

// surelyOverlap reports that two stretches of two clients share more than one instant, or that one is a single instant strictly inside the
// other, however far apart the clocks of the two are: each begins before the other ends.
func (j *judge) surelyOverlap(a, b string, fromA, toA, fromB, toB time.Duration) bool {
	apart := j.apart(a, b)
	return fromA < toB-apart && fromB < toA-apart
}

// clashByClocks finds two holdings that surely overlap, the pair whose second begins first. Holdings are those of one lock, sorted by their
// beginning, and those of one client do not overlap.
func (j *judge) clashByClocks(ctx context.Context, holdings []facts.Holding) (first, second int, found bool) {
	var open []int // what may still overlap with what begins later
	for b := range holdings {
		if ctx.Err() != nil {
			return 0, 0, false
		}
		open = slices.DeleteFunc(open, func(a int) bool { return holdings[a].To <= holdings[b].From })
		y := &holdings[b]
		for _, a := range open {
			x := &holdings[a]
			if j.surelyOverlap(j.Grants[x.Grant].Client, j.Grants[y.Grant].Client, x.From, x.To, y.From, y.To) {
				return a, b, true
			}
		}
		open = append(open, b)
	}
	return 0, 0, false
}

// NotInLog reports that a finding says no more than that a lock log has nothing of what its property is about: no tokens, no writes, no
// lock that was taken over. That the lock was never contended is told once.
func NotInLog(f Finding) bool {
	return f.Verdict == Unknown && f.Effort.Chances == 0 && len(f.Events) == 0 && f.Property != ExclusiveLease
}

// inDoubt is the finding that what clocks show is a violation, and that they may be too far apart to show it.
func (j *judge) inDoubt(f Finding, a, b *facts.Grant, what string, args ...any) Finding {
	f.Verdict, f.Events = Unknown, sortedEvents(a.Call, a.Return, a.End, b.Call, b.Return, b.End)
	f.Why = fmt.Sprintf(what, args...) + fmt.Sprintf(", by clocks that may be %s apart", length(j.apart(a.Client, b.Client)))
	return f
}

// byClocks says by how much the clocks of two clients may differ, where there are several.
func (j *judge) byClocks(a, b string) string {
	if apart := j.apart(a, b); apart > 0 {
		return fmt.Sprintf(", by clocks that are at most %s apart", length(apart))
	}
	return ""
}

// takeover is, of a grant of a lock log, the first grant of its lock to another client that was surely asked for after it had been
// answered, and fits; nil for none.
func (j *judge) takeover(list []int, g *facts.Grant, fits func(*facts.Grant) bool) *facts.Grant {
	// Those that were answered before are none: the list is in the order of answers.
	n := sort.Search(len(list), func(i int) bool { return j.At(j.Grants[list[i]].Return) >= j.At(g.Return) })
	for _, i := range list[n:] {
		next := &j.Grants[i]
		if next.Client == g.Client {
			continue
		}
		if j.At(next.Return)-j.apart(g.Client, next.Client) > j.BelievedUntil(g) {
			return nil
		}
		if j.At(g.Return) < j.At(next.Call)-j.apart(g.Client, next.Client) && fits(next) {
			return next
		}
	}
	return nil
}

// grantsByLock are the places of the grants of each lock, in the order of their answers.
func (j *judge) grantsByLock() map[string][]int {
	byLock := make(map[string][]int)
	for i := range j.Grants {
		byLock[j.Grants[i].Lock] = append(byLock[j.Grants[i].Lock], i)
	}
	return byLock
}

// judgeToldInLog: a holder that relies on being told of a loss is told within one TTL of when another client was granted the lock.
func (j *judge) judgeToldInLog(ctx context.Context, f Finding) Finding {
	f.Method, f.Effort.Of = "comparison of grants", "grants that others took over"
	byLock := j.grantsByLock()
	for i := range j.Grants {
		g := &j.Grants[i]
		ttl := time.Duration(j.Event(g.Return).Value.TTL().V())
		if ctx.Err() != nil {
			return unknown(cancelled, f.Effort)
		}
		if g.Outer >= 0 || ttl == 0 || j.Event(g.Return).Value.ValidUntil().IsSet() {
			continue // the end of its validity tells its client
		}
		next := j.takeover(byLock[g.Lock], g, func(*facts.Grant) bool { return true })
		if next == nil {
			continue
		}
		f.Effort.Chances++
		told := min(j.BelievedUntil(g), j.At(g.LossTold()))
		if late := told - j.At(next.Return) - j.apart(g.Client, next.Client); late > ttl {
			f.Verdict = Violated
			f.Why = fmt.Sprintf("%s was granted the lock, and %s was not told for %s; its TTL is %s%s", next.Client, g.Client,
				length(told-j.At(next.Return)), length(ttl), j.byClocks(g.Client, next.Client))
			return j.takeoverFinding(f, g, next, told)
		}
	}
	return f.noViolation("no lock that renews itself was taken over", "%s, and each holder was told",
		words.Count(f.Effort.Chances, "lock")+" taken over")
}

// judgeReleasesInLog: a release does not say that it gave back a lock that another client had been granted after the holder's validity had
// ended.
func (j *judge) judgeReleasesInLog(ctx context.Context, f Finding) Finding {
	f.Method = "comparison of grants"
	byLock := j.grantsByLock()
	for i := range j.Grants {
		g := &j.Grants[i]
		release := j.ReleaseOf(g)
		if ctx.Err() != nil {
			return unknown(cancelled, f.Effort)
		}
		last := g.LastPromise()
		if g.Outer >= 0 || release == nil || release.Return < 0 || !last.Given || g.ToldLoss() {
			continue
		}
		next := j.takeover(byLock[g.Lock], g, func(next *facts.Grant) bool {
			apart := j.apart(g.Client, next.Client)
			return last.End < j.At(next.Call)-apart && j.At(next.Return) < j.At(release.Call)-apart
		})
		if next == nil {
			continue
		}
		if f.Effort.Chances++; release.Type == history.OK {
			f.Verdict = Violated
			f.Why = fmt.Sprintf("%s gave back the lock, though it had been granted to %s since%s", g.Client, next.Client,
				j.byClocks(g.Client, next.Client))
			return j.takeoverFinding(f, g, next, j.At(release.Return))
		}
	}
	return f.noViolation("nobody gave back a lock that another client had been granted meanwhile", "%s, and each said so",
		words.Count(f.Effort.Chances, "release")+" in vain")
}

// takeoverFinding makes the finding about a grant and the next one of its lock.
func (j *judge) takeoverFinding(f Finding, g, next *facts.Grant, until time.Duration) Finding {
	if j.brief {
		return violatedBriefly(f)
	}
	c := &Counterexample{From: len(j.Grants), Impossible: next.Return}
	for _, x := range []*facts.Grant{g, next} {
		op := CounterOp{Client: x.Client, Op: j.holds(), Events: sortedEvents(x.Call, x.Return, x.End), From: j.At(x.Return), To: j.At(x.End),
			Believed: j.promiseWords(x)}
		if x.End < 0 {
			op.To = -1
		}
		c.Operations = append(c.Operations, op)
	}
	s := j.newStory()
	s.decidedBy(next.Return)
	s.tellGrant(g, until)
	s.tell(decisive, next.Return, "%s", j.grantWords(next))
	s.tellEnd(g, "")
	if release := j.ReleaseOf(g); release != nil && release.Return >= 0 && release.Type == history.OK {
		s.tell(turning, release.Return, "the release of %s said that it had given the lock back", g.Client)
	}
	c.setStory(s)
	return f.withCounterexample(c)
}
