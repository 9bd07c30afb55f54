package audit

import (
	"context"
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
)

// judgeTokens looks whether it is by design that tokens come in a wrong order: it is if a node forgot its count, or a replica was
// promoted. If they do so without these faults, too, in as many runs as it takes to call a lock broken, that is the lock's own doing.
func (a *audit) judgeTokens(ctx context.Context, k *asked, t *tally) {
	for _, of := range t.variants {
		if p := of.decided; of.lead() != nil || p == nil || p.Name != checker.OrderedTokens || p.Verdict != checker.Violated {
			continue
		}
		v, ok := keepingCounts(*k.variant(of.name))
		if !ok {
			continue
		}
		own := &broken{name: checker.OrderedTokens, ours: true}
		for n := range showings {
			a.Phase(k.lock.Label, k.id, of.name, "without the faults that lose counts")
			one, err := a.run(ctx, k, with(k.scenario, []scenario.Variant{v}), a.Trial.Seed+uint64(n))
			if err != nil || ctx.Err() != nil || !k.lock.shows(one.Result, own.name) {
				break
			}
			own.times++
			own.why = one.Result.Variants[0].Property(own.name).Why + ", also where no node forgets its count and no replica is promoted"
			own.report, own.replay = one.Report, one.Result.Replay
		}
		if own.shown() {
			of.broken, of.runs = append(of.broken, own), own.times
		}
	}
}

// keepingCounts is a variant without the faults by which nodes lose what they have counted; false: there are none, or what is left is
// no scenario.
func keepingCounts(v scenario.Variant) (scenario.Variant, bool) {
	loses := func(f scenario.Fault) bool { return f.Kind == "kill" || f.Kind == "promote" }
	if v.Setup.Faults.Mix == nil && !slices.ContainsFunc(v.Setup.Faults.List, loses) {
		return v, false
	}
	v.Setup.Faults.List, v.Setup.Faults.Mix = slices.DeleteFunc(slices.Clone(v.Setup.Faults.List), loses), nil
	return v, v.Setup.CheckFaults(0) == nil
}
