package checker

import (
	"context"
	"fmt"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker/facts"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// judgeAsksItsTTL: a lock program asks its nodes for the TTL that it was given.
func judgeAsksItsTTL(_ context.Context, j *judge, _ Options) Finding {
	f := Finding{Effort: Effort{Operations: len(j.Ops), Of: "grants"}, Method: "comparison of what was asked for with the TTL"}
	if why := j.whyNothingAsked(); why != "" {
		return unknown(why, f.Effort)
	}
	if j.LeaseInValue() {
		return unknown("the lock keeps its lease in the value of its key, whatever end the key has", f.Effort)
	}
	bent := j.ClientsWithBentClocks()
	for i := range j.Grants {
		g := &j.Grants[i]
		if g.Outer >= 0 || bent[g.Client] || j.StoppedFor(g.Client, j.At(g.Call), j.At(g.End)) > 0 {
			continue
		}
		asked, short := j.AskedTooLittle(g)
		if asked {
			f.Effort.Chances++
		}
		if short >= 0 {
			return j.askedTooLittleFinding(f, g, short)
		}
	}
	return f.noViolation("no grant's commands were seen", "%d %s, %sasked for with the TTL",
		f.Effort.Chances, f.Effort.What(), eachIfSeveral(f.Effort.Chances))
}

// whyNothingAsked says why a history tells nothing of what a lock program asked for and was given; empty: it does.
func (j *judge) whyNothingAsked() string {
	if j.History.Header.Quorum <= 0 {
		return "the lock is no program that keeps it in Redis"
	}
	if j.GivenTTL("") <= 0 {
		return "the history does not say the TTL that the lock was given"
	}
	return ""
}

func (j *judge) askedTooLittleFinding(f Finding, g *facts.Grant, event int) Finding {
	e := j.Event(event)
	node, asked := e.Process, length(max(0, time.Duration(e.Value.ValidUntil().V())-j.LeftAt(event)))
	f.Verdict = Violated
	given := "the TTL that it was given is " + length(j.GivenTTL(g.Client))
	if j.Endless() {
		given = "it was given no TTL"
	}
	f.Why = fmt.Sprintf("%s asked node %s for the lock for %s; %s", g.Client, node, asked, given)
	if j.brief {
		return violatedBriefly(f)
	}
	op := CounterOp{Client: g.Client, Op: "holds the lock",
		Events: sortedEvents(g.Call, g.Return, event, g.End), From: j.At(g.Return), To: j.At(g.End),
		Believed: j.promiseWords(g), True: "the key was asked for until " + words.Instant(time.Duration(e.Value.ValidUntil().V()))}
	s := j.newStory()
	s.decidedBy(event)
	s.tellGrant(g, j.At(event))
	s.tell(turning, event, "%s asked node %s for the key for %s", g.Client, node, asked)
	s.tellEnd(g, "")
	c := &Counterexample{Operations: []CounterOp{op}, From: f.Effort.Chances, Impossible: event, Assumption: string(asksTTL)}
	c.setStory(s)
	return f.withCounterexample(c)
}
