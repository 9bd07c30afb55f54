package checker

import (
	"context"
	"fmt"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker/facts"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// judgeAsks: a lock program asks its nodes for the TTL that it was given.
func judgeAsks(_ context.Context, j *judge, _ Options) Finding {
	f := Finding{Effort: Effort{Operations: len(j.Ops), Of: "grants"}, Method: "comparison of what was asked for with the TTL"}
	switch why := j.asksNothing(); {
	case why != "":
		return unknown(why, f.Effort)
	case j.LeaseInValue():
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
			return j.tooLittle(f, g, short)
		}
	}
	return f.tried("no grant's commands were seen", "%d %s, %sasked for with the TTL",
		f.Effort.Chances, f.Effort.What(), each(f.Effort.Chances))
}

// asksNothing says why a history tells nothing of what a lock program asked for and was given; empty: it does.
func (j *judge) asksNothing() string {
	switch {
	case j.History.Header.Quorum <= 0:
		return "the lock is no program that keeps it in Redis"
	case j.GivenTTL() <= 0:
		return "the history does not say the TTL that the lock was given"
	}
	return ""
}

func (j *judge) tooLittle(f Finding, g *facts.Grant, event int) Finding {
	e := j.Event(event)
	node, asked := e.Process, length(max(0, time.Duration(e.Value.ValidUntil().V())-j.LeftAt(event)))
	f.Verdict = Violated
	f.Why = fmt.Sprintf("%s asked node %s for the lock for %s; the TTL that it was given is %s", g.Client, node, asked, length(j.GivenTTL()))
	if j.brief {
		return violatedBriefly(f)
	}
	op := CounterOp{Client: g.Client, Op: "holds the lock",
		Events: sortedEvents(g.Call, g.Return, event, g.End), From: j.At(g.Return), To: j.At(g.End),
		Believed: promiseWords(g), True: "the key was asked for until " + words.Instant(time.Duration(e.Value.ValidUntil().V()))}
	s := j.newStory()
	s.rests(event)
	s.grant(g, j.At(event))
	s.tell(turning, event, "%s asked node %s for the key for %s", g.Client, node, asked)
	s.end(g, "")
	c := &Counterexample{Operations: []CounterOp{op}, From: f.Effort.Chances, Impossible: event, Assumption: string(asksTTL)}
	c.tells(s)
	return f.shown(c)
}

// judgeValidities: a validity that a lock program tells is true.
func judgeValidities(_ context.Context, j *judge, _ Options) Finding {
	f := Finding{Effort: Effort{Operations: len(j.Ops), Of: "told ends"}, Method: "comparison of what was told with the TTL"}
	if why := j.asksNothing(); why != "" {
		return unknown(why, f.Effort)
	}
	bent := j.ClientsWithBentClocks()
	for i := range j.Grants {
		g := &j.Grants[i]
		told := j.Event(g.Return).Value.ValidUntil()
		if !told.IsSet() || g.Outer >= 0 || bent[g.Client] || j.StoppedFor(g.Client, j.At(g.Call), j.At(g.Return)) > 0 {
			continue
		}
		until, since := time.Duration(told.V()), j.AskedSince(g)
		if since != facts.NeverAsked {
			f.Effort.Chances++
		}
		switch {
		case until <= j.At(g.Return):
			return j.untrue(f, g, until, fmt.Sprintf("%s was told of a validity that had ended %s before", g.Client, length(j.At(g.Return)-until)))
		case since != facts.NeverAsked && until > j.LatestTrueEnd(since):
			return j.untrue(f, g, until, fmt.Sprintf("%s was told of a validity until %s, and asked for the lock at %s for %s",
				g.Client, words.Instant(until), words.Instant(since), length(j.GivenTTL())))
		}
	}
	return f.tried("no validity was told", "%d %s, %strue", f.Effort.Chances, f.Effort.What(), each(f.Effort.Chances))
}

func (j *judge) untrue(f Finding, g *facts.Grant, until time.Duration, why string) Finding {
	f.Verdict, f.Why = Violated, why
	if j.brief {
		return violatedBriefly(f)
	}
	op := CounterOp{Client: g.Client, Op: "is granted the lock", Events: sortedEvents(g.Call, g.Return),
		From: j.At(g.Call), To: j.At(g.Return), Believed: "holds the lock until " + words.Instant(until), True: why}
	s := j.newStory()
	s.rests(g.Return)
	s.tell(turning, g.Return, "%s", why)
	s.tell(setting, g.Call, "%s asked for the lock", g.Client)
	s.end(g, "")
	c := &Counterexample{Operations: []CounterOp{op}, From: f.Effort.Chances, Impossible: g.Return, Assumption: string(tellsTrue)}
	c.tells(s)
	return f.shown(c)
}
