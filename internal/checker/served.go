package checker

import (
	"context"
	"fmt"
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// judgeServed: the fence refuses nothing that a client does inside its own validity.
func judgeServed(_ context.Context, v *view, _ Options) Finding {
	f := Finding{Method: "comparison with the resource's own log",
		Effort: Effort{Operations: len(v.ops), Of: "operations of valid holders at the fence"}}
	if !v.fenced() {
		return unknown("the resource checked no tokens", f.Effort)
	}
	first, refusals := -1, 0
	var one *effect // the first that came to the fence
	several := false
	for i := range v.effects {
		x := &v.effects[i]
		if !x.accepted && !x.refused {
			continue
		}
		// Who comes first, or comes back with the token that all others had, is refused by no mark.
		if one == nil {
			one = x
		}
		several = several || x.client() != one.client() || x.token() != one.token()
		if !v.insideValidity(x) {
			continue
		}
		if several {
			f.Effort.Chances++
		}
		if x.refused {
			if refusals++; first < 0 {
				first = i
			}
		}
	}
	if first >= 0 {
		return v.refusedHolder(f, &v.effects[first], refusals)
	}
	return f.tried("no valid holder came to the fence after another token had come", "%s of valid holders at the fence, none refused",
		plural(f.Effort.Chances, "operation"))
}

// fenced reports whether the resource looks at who comes: it keeps the highest token,
// or refused somebody.
func (v *view) fenced() bool {
	for i := range v.effects {
		if x := &v.effects[i]; x.highest().IsSet() || x.refused {
			return true
		}
	}
	return false
}

// insideValidity reports that an effect surely lies inside the validity of the grant
// under which its client acted.
func (v *view) insideValidity(x *effect) bool {
	if len(x.writes) == 0 {
		return false
	}
	for _, op := range x.writes {
		under := v.actsUnder(x.client(), v.ops[op].Call)
		if len(under) == 0 || slices.ContainsFunc(under, func(g *grant) bool { return !v.insideGrant(x, op, g) }) {
			return false
		}
	}
	return true
}

// insideGrant reports that an effect, if it belongs to an operation, surely lies inside the validity of a grant.
func (v *view) insideGrant(x *effect, op int, g *grant) bool {
	o := &v.ops[op]
	// What was answered before the belief ended was done before, whatever the stamps.
	answered := o.Type != history.Info && (g.ends < 0 || o.Return < g.ends)
	if !answered && x.to >= v.believedUntil(g) {
		return false
	}
	p := g.promise(func(r extension) bool { return r.ret < o.Call })
	return !p.given || x.to < p.end
}

func (v *view) refusedHolder(f Finding, x *effect, refusals int) Finding {
	if v.brief {
		return violatedBriefly(f)
	}
	o := &v.ops[x.write]
	g := v.grantBefore(x.client(), o.Call)
	f.Verdict = Violated
	f.Why = fmt.Sprintf("%s, whose validity had not ended", refusalWords(x))
	if refusals > 1 {
		f.Why = fmt.Sprintf("%d operations of valid holders were refused; the first: %s", refusals, refusalWords(x))
	}
	f.Events = sortedEvents(g.call, g.ret, o.Call, x.event, o.Return)
	hold := CounterOp{Client: g.client, Op: "holds the lock", Events: sortedEvents(g.call, g.ret), From: v.at(g.ret), To: x.to,
		Believed: promiseWords(g), True: "the fence refused it"}
	op := CounterOp{Client: x.client(), Op: string(x.op()) + "s", Events: sortedEvents(o.Call, x.event, o.Return),
		From: v.at(o.Call), To: v.at(o.Return), Believed: "the resource serves the holder", True: "it was refused"}
	if o.Return < 0 {
		op.To = -1
	}
	why := v.whyRefused(x, g)
	f.Counterexample = &Counterexample{Operations: []CounterOp{hold, op}, From: f.Effort.Operations, Impossible: x.event,
		Assumption: string(why.cause)}
	s := v.newStory()
	s.culprit(why, x.event)
	s.grant(g, v.at(x.event))
	s.faults(v.at(g.call), v.at(x.event), x.client())
	if y := v.newerMark(x); y != nil {
		if other := v.grantBefore(y.client(), y.event); other != nil {
			s.grant(other, v.at(x.event))
		}
		s.tell(turning, y.event, "%s of %s left token %d at the resource", y.op(), y.client(), y.token().V())
	}
	s.tellAt(turning, x.from, x.event, "%s, while its validity went on", refusalWords(x))
	f.Counterexample.tells(s)
	return f
}

// newerMark is the last accepted effect of another client with a token, before one
// that was refused; nil for none.
func (v *view) newerMark(x *effect) *effect {
	for i := len(v.effects) - 1; i >= 0; i-- {
		if y := &v.effects[i]; y.event < x.event && y.accepted && y.token().IsSet() && y.client() != x.client() {
			return y
		}
	}
	return nil
}

// whyRefused finds what a refusal shows to have been assumed in vain: two clients held
// the lock at once, the other was late, or the tokens do not follow the grants.
func (v *view) whyRefused(x *effect, g *grant) culprit {
	y := v.newerMark(x)
	if y == nil {
		return culprit{cause: servesHolder, events: []int{x.event}}
	}
	other := v.grantBefore(y.client(), y.event)
	if first, second := v.clashOf(v.leases(), g, other); first != nil {
		return v.whyGranted(first, second, second.ret)
	}
	if v.lateUnder(y) != nil || other == nil {
		return culprit{cause: actsInTime, events: v.marks(y, x)}
	}
	return v.whyUnordered(other, g)
}

// marks are the effects of a client with one token that the resource had accepted before a refusal.
func (v *view) marks(y, before *effect) (events []int) {
	for i := range v.effects {
		z := &v.effects[i]
		if z.event < before.event && z.accepted && z.client() == y.client() && z.token() == y.token() {
			events = append(events, z.event)
		}
	}
	return events
}
