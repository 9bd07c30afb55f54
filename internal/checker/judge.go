package checker

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker/facts"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// Options say what the checker cannot read in the history.
type Options struct {
	// Timeout and Memory bound the search for an explanation; a judgement that
	// would take more is Unknown. 0: DefaultTimeout, DefaultMemory.
	Timeout time.Duration
	Memory  int64
	// Faults is how many faults the scenario planned to fire at least once;
	// where fewer took effect, what holds is Unknown.
	Faults int
	// Until are the numbers of the faults that were to last until something happens. Where that did not happen before everything healed,
	// what holds is Unknown.
	Until []int
	// GrantWithin bounds the liveness properties: a client must get the lock
	// within it. 0: DefaultGrantWithin.
	GrantWithin time.Duration
	// Fast trusts the direct algorithms alone. Without it their answers on
	// histories of at most ConfirmUpTo operations are confirmed by porcupine.
	Fast bool
	// Brief leaves out what shows a violation, or tells of an exclusion that holds: the
	// verdict is all that is asked for.
	Brief bool
}

// Defaults of Options.
const (
	DefaultTimeout     = 30 * time.Second
	DefaultMemory      = 1 << 30
	DefaultGrantWithin = 5 * time.Second
)

// ConfirmUpTo is the most operations for which porcupine is asked to confirm
// what a direct algorithm decided.
const ConfirmUpTo = 500

func (o Options) withDefaults() Options {
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Memory <= 0 {
		o.Memory = DefaultMemory
	}
	if o.GrantWithin <= 0 {
		o.GrantWithin = DefaultGrantWithin
	}
	return o
}

// judge decides what the facts of one history show. Whatever it calls by a name with a capital
// letter is a fact: docs/reference/properties.md defines it, package facts finds it, and it holds for all
// properties alike. The rest is what one property demands of the facts, and how a violation of
// it is told.
type judge struct {
	*facts.Facts
	// brief: only the verdict is asked for.
	brief bool
}

func newJudge(h *history.History) *judge { return &judge{Facts: facts.Of(h)} }

// Judge decides the given properties of a history, in their order. A cancelled
// context makes what is not yet decided Unknown.
func Judge(ctx context.Context, h *history.History, properties []Property, o Options) []Finding {
	o = o.withDefaults()
	findings := make([]Finding, 0, len(properties))
	if why := whyDisordered(h); why != "" {
		for _, p := range properties {
			findings = append(findings, Finding{Property: p, Verdict: Unknown, Why: why})
		}
		return findings
	}
	j := newJudge(h)
	j.brief = o.Brief
	for _, p := range properties {
		var f Finding
		switch judge := p.row().judge; {
		case judge == nil:
			f = Finding{Verdict: Unknown, Why: fmt.Sprintf("no such property: %q", p)}
		case j.History.Header.Shares() && p.OfOneHolder():
			f = Finding{Verdict: Unknown, Why: j.whatShares() + ", and the property is about locks with one holder"}
		case j.History.Header.AtLeast > 0 && p.row().freed:
			f = Finding{Verdict: Unknown, Why: "the lock stays for a while after its release (at_least), " +
				"and the property is about locks that are free then"}
		case j.History.Header.Carried && p.ofKeys():
			f = Finding{Verdict: Unknown, Why: "keys of the lock were there when the run began, and the property is about whose they are"}
		case ctx.Err() != nil:
			f = Finding{Verdict: Unknown, Why: "the check was cancelled"}
		default:
			f = judge(ctx, j, o)
		}
		f.Property = p
		f.Effort.Faults = len(j.Faults)
		findings = append(findings, j.withdrawIfUnclear(j.withdrawIfUntested(f, o)))
	}
	crossReference(findings)
	return findings
}

// crossReference points from what a violation rests on to the property that this violates by itself: two holders can follow from a
// key that one client took from another.
func crossReference(findings []Finding) {
	for i := range findings {
		by := &findings[i]
		if by.Counterexample == nil || by.Property != OwnerRelease && by.Property != NoResurrection {
			continue
		}
		for j := range findings {
			if c := findings[j].Counterexample; c != nil && i != j {
				for n := range c.Story {
					if s := &c.Story[n]; s.Decisive && s.Event == by.Counterexample.Impossible {
						s.Text += fmt.Sprintf(" (that violates %s)", by.Property)
					}
				}
			}
		}
	}
}

// whyDisordered says why no property of a history can be judged; empty: each can. All
// judges rely on events that are numbered and in the order of their times.
func whyDisordered(h *history.History) string {
	last := time.Duration(math.MinInt64)
	for i := range h.Events {
		e := &h.Events[i]
		if int(e.Index) != i {
			return fmt.Sprintf("event %d of the history is numbered %d", i, e.Index)
		}
		if e.Time < last {
			return fmt.Sprintf("the time goes back at event %d", i)
		}
		last = e.Time
	}
	return ""
}

// withdrawIfUntested takes back a verdict that the run was too short or too tame to give. A
// violation that was seen stays one.
func (j *judge) withdrawIfUntested(f Finding, o Options) Finding {
	if f.Verdict != Holds {
		return f
	}
	missing := o.Faults - j.FaultsSeen
	switch {
	case j.History.Clocks != nil && j.History.Clocks.Missing != "":
		f.Verdict, f.Why = Unknown, j.History.Clocks.Missing
	case !j.Finished:
		f.Verdict, f.Why = Unknown, "the run did not finish"
	case missing > 0 && o.Faults == 1:
		f.Verdict, f.Why = Unknown, "the planned fault never took effect"
	case missing > 0:
		f.Verdict, f.Why = Unknown, fmt.Sprintf("%d of %d planned faults never took effect", missing, o.Faults)
	case j.lastedTooLong(o.Until) > 0:
		const why = "fault %d lasted until everything healed: what was to end it never happened"
		f.Verdict, f.Why = Unknown, fmt.Sprintf(why, j.lastedTooLong(o.Until))
	case j.FirstStranger >= 0:
		e := j.Event(j.FirstStranger)
		f.Verdict, f.Why = Unknown, fmt.Sprintf("a key of the lock was changed on node %s at %s "+
			"over a connection that is no client's link: faults may not have struck it", e.Process, words.Instant(j.At(j.FirstStranger)))
	case f.Effort.Chances == 0:
		f.Verdict, f.Why = Unknown, "nothing put it to the test"
	}
	return f
}

// lastedTooLong is the first of some faults that began and was not over before everything healed; 0: there is none.
func (j *judge) lastedTooLong(ids []int) int {
	if len(ids) == 0 {
		return 0
	}
	healing := j.healingBegin()
	began, over := make(map[int]bool), make(map[int]bool)
	for i := range j.History.Events {
		switch e := j.Event(i); {
		case e.F == history.FaultBegin:
			began[e.Value.ID()] = true
		case e.F == history.FaultEnd && (healing < 0 || i < healing):
			over[e.Value.ID()] = true
		}
	}
	for _, id := range ids {
		if began[id] && !over[id] {
			return id
		}
	}
	return 0
}

// noViolation is the finding where no violation was found: that it holds, if there were chances
// of one, and that nothing was there to see, if not.
func (f Finding) noViolation(nothing, holds string, args ...any) Finding {
	if f.Verdict, f.Why = Holds, fmt.Sprintf(holds, args...); f.Effort.Chances == 0 {
		f.Verdict, f.Why = Unknown, nothing
	}
	return f
}

// unknown is a finding that nothing can be said.
func unknown(why string, e Effort) Finding {
	return Finding{Verdict: Unknown, Why: why, Effort: e}
}

// violatedBriefly is the verdict alone.
func violatedBriefly(f Finding) Finding {
	f.Verdict, f.Why = Violated, "not told"
	return f
}

// withdrawIfUnclear takes back a verdict that rests on promises or keys of which something is not
// known. Of promises even a violation may be wrong then. Of keys a
// violation was seen in what is known, and stays. For ordered-tokens, keys only say of more
// grants that they are later: what was compared without them stands.
func (j *judge) withdrawIfUnclear(f Finding) Finding {
	if j.UnknownPromise >= 0 && f.Property.row().promised {
		return Finding{Property: f.Property, Effort: f.Effort, Method: f.Method,
			Verdict: Unknown, Events: []int{j.UnknownPromise}, Why: j.WhyUnknownPromise}
	}
	if j.FirstUnclear < 0 || f.Verdict == Violated || !f.Property.row().keyed || f.Property == OrderedTokens && f.Verdict == Holds {
		return f
	}
	e := j.Event(j.FirstUnclear)
	f.Verdict, f.Events = Unknown, []int{j.FirstUnclear}
	f.Why = fmt.Sprintf("it is not known what %s left in the key on node %s at %s", e.Value.Detail(), e.Process, words.Instant(e.Time))
	return f
}
