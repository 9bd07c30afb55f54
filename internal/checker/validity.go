package checker

import (
	"context"
	"fmt"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker/facts"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// judgeTrueValidity: a validity that a lock program tells is true.
func judgeTrueValidity(_ context.Context, j *judge, _ Options) Finding {
	f := Finding{Effort: Effort{Operations: len(j.Ops), Of: "told ends"}, Method: "comparison of what was told with the TTL"}
	if why := j.whyNothingAsked(); why != "" {
		return unknown(why, f.Effort)
	}
	if j.Endless() {
		return unknown(j.whyNoTTL(), f.Effort)
	}
	bent := j.ClientsWithBentClocks()
	for i := range j.Grants {
		g := &j.Grants[i]
		told := j.Event(g.Return).Value.ValidUntil()
		if !told.IsSet() || g.Outer >= 0 || bent[g.Client] || j.StoppedFor(g.Client, j.At(g.Call), j.At(g.Return)) > 0 {
			continue
		}
		until, since := time.Duration(told.V()), j.AskedSince(g)
		if j.End-j.At(g.Return) <= min(j.GivenTTL(g.Client)/100, time.Second) {
			since = facts.NeverAsked // what it sent at the end may not have been seen
		}
		if since != facts.NeverAsked {
			f.Effort.Chances++
		}
		if until <= j.At(g.Return) {
			return j.untrueValidityFinding(f, g, until, fmt.Sprintf("%s was told of a validity that had ended %s before",
				g.Client, length(j.At(g.Return)-until)))
		}
		if since != facts.NeverAsked && until > j.LatestTrueEnd(g.Client, since) {
			return j.untrueValidityFinding(f, g, until, fmt.Sprintf("%s was told of a validity until %s, and asked for the lock at %s for %s",
				g.Client, words.Instant(until), words.Instant(since), length(j.GivenTTL(g.Client))))
		}
	}
	return f.noViolation("no validity was told after a request that was seen", "%d %s, %strue",
		f.Effort.Chances, f.Effort.What(), eachIfSeveral(f.Effort.Chances))
}

func (j *judge) untrueValidityFinding(f Finding, g *facts.Grant, until time.Duration, why string) Finding {
	f.Verdict, f.Why = Violated, why
	if j.brief {
		return violatedBriefly(f)
	}
	op := CounterOp{Client: g.Client, Op: "is granted the lock", Events: sortedEvents(g.Call, g.Return),
		From: j.At(g.Call), To: j.At(g.Return), Believed: "holds the lock until " + words.Instant(until), True: why}
	s := j.newStory()
	s.decidedBy(g.Return)
	s.tell(turning, g.Return, "%s", why)
	s.tell(setting, g.Call, "%s asked for the lock", g.Client)
	s.tellEnd(g, "")
	c := &Counterexample{Operations: []CounterOp{op}, From: f.Effort.Chances, Impossible: g.Return, Assumption: string(tellsTrue)}
	c.setStory(s)
	return f.withCounterexample(c)
}
