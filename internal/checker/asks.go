package checker

import (
	"context"
	"fmt"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// judgeAsks: a lock program asks its nodes for the TTL that it was given.
func judgeAsks(_ context.Context, v *view, _ Options) Finding {
	f := Finding{Effort: Effort{Operations: len(v.ops), Of: "grants"}, Method: "comparison of what was asked for with the TTL"}
	switch why := v.asksNothing(); {
	case why != "":
		return unknown(why, f.Effort)
	case v.leased():
		return unknown("the lock keeps its lease in the value of its key, whatever end the key has", f.Effort)
	}
	bent := v.clientsWithBentClocks()
	for i := range v.grants {
		g := &v.grants[i]
		if g.outer >= 0 || bent[g.client] || v.stopped(g.client, v.at(g.call), v.at(g.ends)) > 0 {
			continue
		}
		asked, short := v.asksTooLittle(g)
		if asked {
			f.Effort.Chances++
		}
		if short >= 0 {
			return v.tooLittle(f, g, short)
		}
	}
	return f.tried("no grant's commands were seen", "%d %s, %sasked for with the TTL",
		f.Effort.Chances, f.Effort.What(), each(f.Effort.Chances))
}

// asksNothing says why a history tells nothing of what a lock program asked for and was given; empty: it does.
func (v *view) asksNothing() string {
	switch {
	case v.h.Header.Quorum <= 0:
		return "the lock is no program that keeps it in Redis"
	case v.givenTTL() <= 0:
		return "the history does not say the TTL that the lock was given"
	}
	return ""
}

// asksTooLittle reports that the client of a grant asked a quorum of nodes for it by what it did before the answer, and the first
// event, of that or later, by which it asked for too little; -1 for none.
func (v *view) asksTooLittle(g *grant) (some bool, short int) {
	if v.asks[g.client] == nil {
		return false, -1
	}
	events, last, quorum := v.during(g), -1, v.h.Header.Quorum
	for n, i := range events {
		deleted := v.event(i).F == history.KeyDeleted
		if deleted && i < g.ret || !deleted && v.left(i) <= v.at(g.ret) {
			last = n
		}
	}
	asked, little := v.newAsked(), -1
	for n, i := range events {
		if g.loss >= 0 && (i > g.loss || v.event(i).F != history.KeyDeleted && v.left(i) >= v.lostFrom(g)) {
			break
		}
		asked.count(i)
		e := v.event(i)
		if k, asks := asked.nodes[e.Process][e.Value.Key]; asks && asked.tooLittle(k) {
			little = i
		}
		if n < last || last < 0 {
			continue
		}
		all, enough := asked.nodesAsked()
		some = some || n == last && all >= quorum
		if all >= quorum && enough < quorum {
			return some, little
		}
	}
	return some, -1
}

// nodesAsked counts the nodes that were asked for the lock, and those of them that were asked for enough.
func (a *askedFor) nodesAsked() (all, enough int) {
	for node, keys := range a.nodes {
		short := true
		for _, k := range keys {
			short = short && a.tooLittle(k)
		}
		if len(keys) > 0 {
			all++
			if !short || a.v.bendsNode(node) {
				enough++
			}
		}
	}
	return all, enough
}

// tooLittle reports that a key is asked for for less than the TTL.
func (a *askedFor) tooLittle(k ask) bool {
	return after(k.until, a.v.allowance()) < after(k.since, a.v.givenTTL())
}

// allowance is by how much less than its TTL a lock may ask for: a tenth, for clocks that run at other rates, or the step of its ends.
func (v *view) allowance() time.Duration {
	return max(v.givenTTL()/10, time.Duration(v.h.Header.TTLStep))
}

// latestTrueEnd is the latest end of a validity that may be told of a lock which was asked for at an instant.
func (v *view) latestTrueEnd(asked time.Duration) time.Duration {
	return after(after(asked, v.givenTTL()), v.allowance())
}

// bendsNode reports that a fault bends the clock of a node.
func (v *view) bendsNode(node string) bool {
	for i := range v.faults {
		if v.faults[i].strikesNode(history.BendsClock, node) {
			return true
		}
	}
	return false
}

func (v *view) tooLittle(f Finding, g *grant, event int) Finding {
	e := v.event(event)
	node, asked := e.Process, length(max(0, time.Duration(e.Value.ValidUntil().V())-v.left(event)))
	f.Verdict = Violated
	f.Why = fmt.Sprintf("%s asked node %s for the lock for %s; the TTL that it was given is %s", g.client, node, asked, length(v.givenTTL()))
	if v.brief {
		return violatedBriefly(f)
	}
	op := CounterOp{Client: g.client, Op: "holds the lock",
		Events: sortedEvents(g.call, g.ret, event, g.ends), From: v.at(g.ret), To: v.at(g.ends),
		Believed: promiseWords(g), True: "the key was asked for until " + words.Instant(time.Duration(e.Value.ValidUntil().V()))}
	s := v.newStory()
	s.rests(event)
	s.grant(g, v.at(event))
	s.tell(turning, event, "%s asked node %s for the key for %s", g.client, node, asked)
	s.end(g, "")
	c := &Counterexample{Operations: []CounterOp{op}, From: f.Effort.Chances, Impossible: event, Assumption: string(asksTTL)}
	c.tells(s)
	return f.shown(c)
}

// judgeValidities: a validity that a lock program tells is true.
func judgeValidities(_ context.Context, v *view, _ Options) Finding {
	f := Finding{Effort: Effort{Operations: len(v.ops), Of: "told ends"}, Method: "comparison of what was told with the TTL"}
	if why := v.asksNothing(); why != "" {
		return unknown(why, f.Effort)
	}
	bent := v.clientsWithBentClocks()
	for i := range v.grants {
		g := &v.grants[i]
		told := v.event(g.ret).Value.ValidUntil()
		if !told.IsSet() || g.outer >= 0 || bent[g.client] || v.stopped(g.client, v.at(g.call), v.at(g.ret)) > 0 {
			continue
		}
		until, since := time.Duration(told.V()), v.askedBy(g)
		if since != nobody {
			f.Effort.Chances++
		}
		switch {
		case until <= v.at(g.ret):
			return v.untrue(f, g, until, fmt.Sprintf("%s was told of a validity that had ended %s before", g.client, length(v.at(g.ret)-until)))
		case since != nobody && until > v.latestTrueEnd(since):
			return v.untrue(f, g, until, fmt.Sprintf("%s was told of a validity until %s, and asked for the lock at %s for %s",
				g.client, words.Instant(until), words.Instant(since), length(v.givenTTL())))
		}
	}
	return f.tried("no validity was told", "%d %s, %strue", f.Effort.Chances, f.Effort.What(), each(f.Effort.Chances))
}

// askedBy is since when the client of a grant asked for the lock by what it did before the answer; nobody: for fewer nodes than a quorum.
func (v *view) askedBy(g *grant) time.Duration {
	asked := v.newAsked()
	for _, i := range v.during(g) {
		if i < g.ret || v.event(i).F != history.KeyDeleted && v.left(i) <= v.at(g.ret) {
			asked.count(i)
		}
	}
	return asked.since(v.h.Header.Quorum)
}

func (v *view) untrue(f Finding, g *grant, until time.Duration, why string) Finding {
	f.Verdict, f.Why = Violated, why
	if v.brief {
		return violatedBriefly(f)
	}
	op := CounterOp{Client: g.client, Op: "is granted the lock", Events: sortedEvents(g.call, g.ret), From: v.at(g.call), To: v.at(g.ret),
		Believed: "holds the lock until " + words.Instant(until), True: why}
	s := v.newStory()
	s.rests(g.ret)
	s.tell(turning, g.ret, "%s", why)
	s.tell(setting, g.call, "%s asked for the lock", g.client)
	s.end(g, "")
	c := &Counterexample{Operations: []CounterOp{op}, From: f.Effort.Chances, Impossible: g.ret, Assumption: string(tellsTrue)}
	c.tells(s)
	return f.shown(c)
}
