package checker

import (
	"context"
	"fmt"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker/facts"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// judgeLateEffects: nothing that a client does to the resource takes effect
// after the validity of the grant under which it acted.
func judgeLateEffects(ctx context.Context, j *judge, _ Options) Finding {
	f := Finding{Method: "comparison with the resource's own log", Effort: Effort{Operations: len(j.Ops), Of: "writes under a promise"}}
	first, firstBy, lates := -1, time.Duration(0), 0
	refused, perhaps := -1, -1
	for i := range j.Effects {
		if ctx.Err() != nil {
			return unknown("the check was cancelled", f.Effort)
		}
		x := &j.Effects[i]
		if !x.Changes() {
			continue
		}
		if x.Refused {
			refused = i
		}
		if !x.Accepted && !x.Refused {
			continue
		}
		_, until, endless := j.PromiseForEffect(x)
		if until.Given && !endless {
			f.Effort.Chances++
		}
		if x.Accepted && until.EndedBefore(x.From) {
			if lates++; first < 0 {
				first, firstBy = i, x.From-until.End
			}
		} else if x.Accepted && j.History.Clocks != nil && until.EndedBefore(x.To) {
			perhaps = i
		}
	}
	if first >= 0 {
		return j.lateEffectFinding(f, &j.Effects[first], firstBy, lates)
	}
	if perhaps >= 0 {
		f.Verdict, f.Why = Unknown, fmt.Sprintf("a write of %s was under way when its validity ended", j.Effects[perhaps].Client())
		return f
	}
	if n := j.MissingEffects(); n > 0 {
		f.Verdict, f.Why = Unknown, fmt.Sprintf("the resource reported no effect of %s", words.Count(n, "answered write"))
		return f
	}
	f = f.noViolation("nothing was written under a promise that ends", "%s, %sinside its own validity",
		words.Count(f.Effort.Chances, "write"), eachIfSeveral(f.Effort.Chances))
	if f.Verdict == Holds && refused >= 0 {
		f.Why, f.Events = refusalWords(&j.Effects[refused]), sortedEvents(j.Effects[refused].Event)
	}
	return f
}

func refusalWords(x *facts.Effect) string {
	if !x.Token().IsSet() {
		return fmt.Sprintf("%s of %s refused", x.Op(), x.Client())
	}
	if !x.Highest().IsSet() {
		return fmt.Sprintf("%s with token %d refused", x.Op(), x.Token().V())
	}
	return fmt.Sprintf("%s with token %d refused after token %d", x.Op(), x.Token().V(), x.Highest().V())
}

func (j *judge) lateEffectFinding(f Finding, x *facts.Effect, by time.Duration, lates int) Finding {
	if j.brief {
		return violatedBriefly(f)
	}
	g := j.LateUnder(x)
	f.Verdict = Violated
	f.Why = fmt.Sprintf("a write of %s took effect %s after its validity had ended", x.Client(), length(by))
	if lates > 1 {
		f.Why = fmt.Sprintf("%d writes took effect after the validity of their grants; the first, of %s, by %s", lates, x.Client(), length(by))
	}
	op := CounterOp{Client: x.Client(), Op: "writes", Events: []int{x.Event}, From: x.From, To: x.From,
		Believed: j.promiseWords(g), True: fmt.Sprintf("the write took effect at %s or later", words.Instant(x.From))}
	if x.Number().IsSet() {
		op.Op = fmt.Sprintf("writes %d", x.Number().V())
	}
	if x.Write >= 0 {
		o := &j.Ops[x.Write]
		op.Events = sortedEvents(x.Event, o.Call, o.Return)
		op.From, op.To = j.At(o.Call), j.At(o.Return)
		if op.To == facts.Forever {
			op.To = -1
		}
	}
	held := CounterOp{Client: g.Client, Op: j.holds(), Events: sortedEvents(g.Call, g.Return), From: j.At(g.Return),
		To: x.From - by, Believed: j.promiseWords(g)}
	f.Events = sortedEvents(append([]int{g.Call, g.Return}, op.Events...)...)
	why := j.whyLate(x, g)
	f.Counterexample = &Counterexample{
		Operations: []CounterOp{held, op}, From: f.Effort.Operations, Impossible: x.Event,
		Assumption: string(why.cause),
	}
	s := j.newStory()
	s.decidedBy(why.events...)
	s.tellGrant(g, x.From)
	s.tellFaults(j.At(g.Call), x.From, x.Client())
	for i := range j.Grants {
		if other := &j.Grants[i]; other.Client != g.Client && j.At(other.Return) > j.At(g.Return) && j.At(other.Return) < x.From {
			s.tell(turning, other.Return, "%s", j.grantWords(other))
			s.tellWrites(j.At(other.Return), x.From, other.Client)
		}
	}
	if x.Write >= 0 {
		s.tell(filler, j.Ops[x.Write].Call, "%s sent its write", x.Client())
	}
	what := "a write"
	if x.Number().IsSet() {
		what = fmt.Sprintf("the write of %d", x.Number().V())
	}
	s.tellAt(turning, x.From, x.Event, "%s by %s took effect, %s after its validity had ended", what, x.Client(), length(by))
	f.Counterexample.setStory(s)
	return f
}
