package checker

import (
	"context"
	"fmt"
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/checker/facts"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// judgeHolderServed: the fence refuses nothing that a client does inside its own validity.
func judgeHolderServed(_ context.Context, j *judge, _ Options) Finding {
	f := Finding{Method: "comparison with the resource's own log",
		Effort: Effort{Operations: len(j.Ops), Of: "operations of valid holders at the fence"}}
	if !j.fenced() {
		return unknown("the resource checked no tokens", f.Effort)
	}
	first, refusals := -1, 0
	var one *facts.Effect // the first that came to the fence
	several := false
	for i := range j.Effects {
		x := &j.Effects[i]
		if !x.Accepted && !x.Refused {
			continue
		}
		// Who comes first, or comes back with the token that all others had, is refused by no mark.
		if one == nil {
			one = x
		}
		several = several || x.Client() != one.Client() || x.Token() != one.Token()
		if !j.insideValidity(x) {
			continue
		}
		if several {
			f.Effort.Chances++
		}
		if x.Refused {
			if refusals++; first < 0 {
				first = i
			}
		}
	}
	if first >= 0 {
		return j.refusedHolderFinding(f, &j.Effects[first], refusals)
	}
	return f.noViolation("no valid holder came to the fence after another token had come", "%s of valid holders at the fence, none refused",
		words.Count(f.Effort.Chances, "operation"))
}

// fenced reports whether the resource looks at who comes: it keeps the highest token,
// or refused somebody.
func (j *judge) fenced() bool {
	for i := range j.Effects {
		if x := &j.Effects[i]; x.Highest().IsSet() || x.Refused {
			return true
		}
	}
	return false
}

// insideValidity reports that an effect surely lies inside the validity of the grant
// under which its client acted.
func (j *judge) insideValidity(x *facts.Effect) bool {
	if len(x.Writes) == 0 {
		return false
	}
	for _, op := range x.Writes {
		under := j.GrantsActedUnder(x.Client(), j.Ops[op].Call)
		if len(under) == 0 || slices.ContainsFunc(under, func(g *facts.Grant) bool { return !j.insideGrant(x, op, g) }) {
			return false
		}
	}
	return true
}

// insideGrant reports that an effect, if it belongs to an operation, surely lies inside the validity of a grant.
func (j *judge) insideGrant(x *facts.Effect, op int, g *facts.Grant) bool {
	o := &j.Ops[op]
	// What was answered before the belief ended was done before, whatever the stamps.
	answered := o.Type != history.Info && (g.End < 0 || o.Return < g.End)
	if !answered && x.To >= j.BelievedUntil(g) {
		return false
	}
	p := g.PromiseWith(func(r facts.Renewal) bool { return r.Return < o.Call })
	return !p.Given || x.To < p.End
}

func (j *judge) refusedHolderFinding(f Finding, x *facts.Effect, refusals int) Finding {
	if j.brief {
		return violatedBriefly(f)
	}
	o := &j.Ops[x.Write]
	g := j.GrantBefore(x.Client(), o.Call)
	f.Verdict = Violated
	f.Why = fmt.Sprintf("%s, whose validity had not ended", refusalWords(x))
	if refusals > 1 {
		f.Why = fmt.Sprintf("%d operations of valid holders were refused; the first: %s", refusals, refusalWords(x))
	}
	f.Events = sortedEvents(g.Call, g.Return, o.Call, x.Event, o.Return)
	held := CounterOp{Client: g.Client, Op: "holds the lock", Events: sortedEvents(g.Call, g.Return), From: j.At(g.Return), To: x.To,
		Believed: j.promiseWords(g), True: "the fence refused it"}
	op := CounterOp{Client: x.Client(), Op: string(x.Op()) + "s", Events: sortedEvents(o.Call, x.Event, o.Return),
		From: j.At(o.Call), To: j.At(o.Return), Believed: "the resource serves the holder", True: "it was refused"}
	if o.Return < 0 {
		op.To = -1
	}
	why := j.whyRefused(x, g)
	f.Counterexample = &Counterexample{Operations: []CounterOp{held, op}, From: f.Effort.Operations, Impossible: x.Event,
		Assumption: string(why.cause)}
	s := j.newStory()
	s.tellReason(why, x.Event)
	s.tellGrant(g, j.At(x.Event))
	s.tellFaults(j.At(g.Call), j.At(x.Event), x.Client())
	if y := j.lastForeignMark(x); y != nil {
		if other := j.GrantBefore(y.Client(), y.Event); other != nil {
			s.tellGrant(other, j.At(x.Event))
		}
		s.tell(turning, y.Event, "%s of %s left token %d at the resource", y.Op(), y.Client(), y.Token().V())
	}
	s.tellAt(turning, x.From, x.Event, "%s, while its validity went on", refusalWords(x))
	f.Counterexample.setStory(s)
	return f
}

// lastForeignMark is the last accepted effect of another client with a token, before one
// that was refused; nil for none.
func (j *judge) lastForeignMark(x *facts.Effect) *facts.Effect {
	for i := len(j.Effects) - 1; i >= 0; i-- {
		if y := &j.Effects[i]; y.Event < x.Event && y.Accepted && y.Token().IsSet() && y.Client() != x.Client() {
			return y
		}
	}
	return nil
}

// whyRefused finds what a refusal shows to have been assumed in vain: two clients held
// the lock at once, the other was late, or the tokens do not follow the grants.
func (j *judge) whyRefused(x *facts.Effect, g *facts.Grant) reason {
	y := j.lastForeignMark(x)
	if y == nil {
		return reason{cause: servesHolder, events: []int{x.Event}}
	}
	other := j.GrantBefore(y.Client(), y.Event)
	if first, second := j.clashingGrants(j.Leases(), g, other); first != nil {
		return j.whyGranted(first, second, second.Return)
	}
	if j.LateUnder(y) != nil || other == nil {
		return reason{cause: actsInTime, events: j.acceptedMarks(y, x)}
	}
	return j.whyUnordered(other, g)
}

// acceptedMarks are the effects of a client with one token that the resource had accepted before a refusal.
func (j *judge) acceptedMarks(y, before *facts.Effect) (events []int) {
	for i := range j.Effects {
		z := &j.Effects[i]
		if z.Event < before.Event && z.Accepted && z.Client() == y.Client() && z.Token() == y.Token() {
			events = append(events, z.Event)
		}
	}
	return events
}
