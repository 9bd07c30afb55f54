package checker

import (
	"context"
	"fmt"
	"sort"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// judgeLateEffects: nothing that a client does to the resource takes effect
// after the validity of the grant under which it acted.
func judgeLateEffects(ctx context.Context, v *view, _ Options) Finding {
	f := Finding{Method: "comparison with the resource's own log", Effort: Effort{Operations: len(v.ops), Of: "writes under a promise"}}
	first, firstBy, lates := -1, time.Duration(0), 0
	refused := -1
	for i := range v.effects {
		if ctx.Err() != nil {
			return unknown("the check was cancelled", f.Effort)
		}
		x := &v.effects[i]
		if !x.changes() {
			continue
		}
		if x.refused {
			refused = i
		}
		if !x.accepted && !x.refused {
			continue
		}
		_, until, endless := v.promisedFor(x)
		if until.given && !endless {
			f.Effort.Chances++
		}
		if x.accepted && until.over(x.from) {
			if lates++; first < 0 {
				first, firstBy = i, x.from-until.end
			}
		}
	}
	if first >= 0 {
		return v.lateEffect(f, &v.effects[first], firstBy, lates)
	}
	if n := v.missingEffects(); n > 0 {
		f.Verdict, f.Why = Unknown, fmt.Sprintf("the resource reported no effect of %s", plural(n, "answered write"))
		return f
	}
	f = f.tried("nothing was written under a promise that ends", "%s, %sinside its own validity",
		plural(f.Effort.Chances, "write"), each(f.Effort.Chances))
	if f.Verdict == Holds && refused >= 0 {
		f.Why, f.Events = refusalWords(&v.effects[refused]), sortedEvents(v.effects[refused].event)
	}
	return f
}

// lateUnder is the grant after the end of whose promise an effect came; nil: it was not late, or nobody can tell.
func (v *view) lateUnder(x *effect) *grant {
	g, until, _ := v.promisedFor(x)
	if !until.over(x.from) {
		return nil
	}
	return g
}

// promisedFor is the promise up to which an effect may come, with its grant; none where it is under no grant, or
// nobody knows when it came; endless: it has no end with all its renewals. Where the effect may belong to several writes, the
// promise that ends last counts.
func (v *view) promisedFor(x *effect) (last *grant, until promise, endless bool) {
	if !x.known && len(x.writes) == 0 {
		return nil, promise{}, true
	}
	consider := func(g *grant) {
		endless = endless || !g.lastPromise().given
		if p := v.promiseAt(g, x.to); last == nil || until.longer(p) != until {
			last, until = g, p
		}
	}
	for _, w := range x.writes {
		under := v.actsUnder(x.client(), v.ops[w].Call)
		if len(under) == 0 {
			return nil, promise{}, true
		}
		for _, g := range under {
			consider(g)
		}
	}
	if len(x.writes) == 0 {
		for _, i := range v.byClient[x.client()] {
			if g := &v.grants[i]; v.at(g.ret) <= x.from {
				consider(g)
			}
		}
	}
	return last, until, endless
}

// grantBefore is the latest grant that a client had been given before an event,
// nil for none.
func (v *view) grantBefore(client string, event int) *grant {
	return v.latestBefore(v.byClient[client], event)
}

// actsUnder are the grants under which a client does what it asks for in an event. What it asks for names
// no lock: it is under the latest grant of each lock, those that it has given back left out if others are open.
func (v *view) actsUnder(client string, event int) (open []*grant) {
	var ended []*grant
	for _, lock := range v.locks[client] {
		switch g := v.latestGrant(client, lock, event); {
		case g == nil:
		case g.ends >= 0 && g.ends < event:
			ended = append(ended, g)
		default:
			open = append(open, g)
		}
	}
	if len(open) == 0 {
		return ended
	}
	return open
}

// grantsTo are the places of a client's grants of a lock.
func (v *view) grantsTo(client, lock string) []int { return v.byHolder[holder{client, lock}] }

// locksOf are the locks that a client was granted.
func (v *view) locksOf(client string) []string { return v.locks[client] }

// latestGrant is the latest grant of a lock that a client had been given before an event, or what that re-entered; nil for none.
func (v *view) latestGrant(client, lock string, event int) *grant {
	return v.latestBefore(v.grantsTo(client, lock), event)
}

// latestBefore is the last of some grants of a client that was answered before an event, or what that re-entered.
func (v *view) latestBefore(list []int, event int) *grant {
	n := sort.Search(len(list), func(i int) bool { return v.grants[list[i]].ret >= event })
	if n == 0 {
		return nil
	}
	g := &v.grants[list[n-1]]
	for g.outer >= 0 && g.ends >= 0 && g.ends < event {
		g = &v.grants[g.outer]
	}
	return g
}

// promiseAt is a grant's promise with the renewals that had been asked for by an
// instant.
func (v *view) promiseAt(g *grant, at time.Duration) promise {
	return g.promise(func(x extension) bool { return x.asked <= at })
}

// missingEffects counts the writes that were answered OK and of which the
// resource knows nothing: those of a name beyond the accepted effects of that name.
func (v *view) missingEffects() int {
	missing := 0
	for i := range v.namesakes {
		answered := 0
		for _, op := range v.namesakes[i].ops {
			if o := &v.ops[op]; (o.F == history.Write || o.F == history.CAS) && o.Type == history.OK {
				answered++
			}
		}
		missing += max(0, answered-v.namesakes[i].accepted)
	}
	return missing
}

func refusalWords(x *effect) string {
	what := string(x.op())
	switch {
	case x.token().IsSet() && x.highest().IsSet():
		return fmt.Sprintf("%s with token %d refused after token %d", what, x.token().V(), x.highest().V())
	case x.token().IsSet():
		return fmt.Sprintf("%s with token %d refused", what, x.token().V())
	}
	return fmt.Sprintf("%s of %s refused", what, x.client())
}

func (v *view) lateEffect(f Finding, x *effect, by time.Duration, lates int) Finding {
	if v.brief {
		return violatedBriefly(f)
	}
	g := v.lateUnder(x)
	f.Verdict = Violated
	f.Why = fmt.Sprintf("a write of %s took effect %s after its validity had ended", x.client(), length(by))
	if lates > 1 {
		f.Why = fmt.Sprintf("%d writes took effect after the validity of their grants; the first, of %s, by %s", lates, x.client(), length(by))
	}
	op := CounterOp{Client: x.client(), Op: "writes", Events: []int{x.event}, From: x.from, To: x.from,
		Believed: promiseWords(g), True: fmt.Sprintf("the write took effect at %s or later", words.Instant(x.from))}
	if x.number().IsSet() {
		op.Op = fmt.Sprintf("writes %d", x.number().V())
	}
	if x.write >= 0 {
		o := &v.ops[x.write]
		op.Events = sortedEvents(x.event, o.Call, o.Return)
		op.From, op.To = v.at(o.Call), v.at(o.Return)
		if op.To == forever {
			op.To = -1
		}
	}
	hold := CounterOp{Client: g.client, Op: "holds the lock", Events: sortedEvents(g.call, g.ret), From: v.at(g.ret),
		To: x.from - by, Believed: promiseWords(g)}
	f.Events = sortedEvents(append([]int{g.call, g.ret}, op.Events...)...)
	why := v.whyLate(x, g)
	f.Counterexample = &Counterexample{
		Operations: []CounterOp{hold, op}, From: f.Effort.Operations, Impossible: x.event,
		Assumption: string(why.cause),
	}
	s := v.newStory()
	s.rests(why.events...)
	s.grant(g, x.from)
	s.faults(v.at(g.call), x.from, x.client())
	for i := range v.grants {
		if other := &v.grants[i]; other.client != g.client && v.at(other.ret) > v.at(g.ret) && v.at(other.ret) < x.from {
			s.tell(turning, other.ret, "%s", v.grantWords(other))
			s.writes(v.at(other.ret), x.from, other.client)
		}
	}
	if x.write >= 0 {
		s.tell(filler, v.ops[x.write].Call, "%s sent its write", x.client())
	}
	what := "a write"
	if x.number().IsSet() {
		what = fmt.Sprintf("the write of %d", x.number().V())
	}
	s.tellAt(turning, x.from, x.event, "%s by %s took effect, %s after its validity had ended", what, x.client(), length(by))
	f.Counterexample.tells(s)
	return f
}
