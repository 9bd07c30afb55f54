// Package verdict judges a run of a variant as its scenario asks, and sets what was found
// beside what was expected, as a report shows it.
package verdict

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/nemesis"
	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// Result is that of a scenario before anything has run.
func Result(s *scenario.Scenario, world string, seed uint64, started time.Time) *report.Result {
	guarantee := s.Guarantee
	if guarantee == scenario.NoGuarantee {
		guarantee = ""
	}
	return &report.Result{
		Version: report.ResultVersion, Scenario: s.Name, Title: s.Title, Source: s.Source, Story: s.Story,
		Guarantee: string(guarantee), Tags: s.Tags,
		World: world, Seed: seed, Started: started.UTC().Format(time.RFC3339),
		Versions:     map[string]string{"go": runtime.Version()},
		ScenarioText: s.Text, ScenarioDigest: s.Digest(),
	}
}

// Judge has the properties decided that the scenario expects something of, and
// those that every lock is asked for, by the history of out.
func Judge(ctx context.Context, v scenario.Variant, out *report.Variant) {
	if out.Unknown != "" && out.Pace == nil { // whatever was recorded
		Settle(out)
		return
	}
	if out.Interrupted {
		ctx = context.Background() // the checker may still look at what there is
	}
	findings := checker.Judge(ctx, out.History, Properties(v), Options(&v.Setup))
	out.Interrupted = out.Interrupted || ctx.Err() != nil // its judgement was cut short
	for _, f := range findings {
		if out.Error != "" && f.Verdict == checker.Violated && f.Property.Timely() { // who did nothing in time could not any more
			f.Verdict, f.Why, f.Counterexample = checker.Unknown, "the run failed", nil
		}
		p := report.Judged(f, expected(v, f))
		p.ByDesign = v.ByDesign(f.Property)
		out.Properties = append(out.Properties, p)
	}
	excuse(out)
	Settle(out)
	out.Faults = faults(v.Setup.Planned(), out.History)
	if v.Setup.Commands {
		cost := checker.CostOf(out.History)
		cost.Most = v.Setup.CommandsWithin
		out.Cost = &cost
	}
}

// Options are what the checker is told of a setup.
func Options(s *scenario.Setup) checker.Options {
	return checker.Options{Faults: len(s.Faults.List), Until: nemesis.Lasting(s.Planned()), GrantWithin: s.GrantWithin}
}

// expected is the verdict that a variant expects of the property of a finding; 0: any will do.
func expected(v scenario.Variant, f checker.Finding) checker.Verdict {
	demanded := !f.Property.IfSeen() && (!f.Property.IfTried() || f.Effort.Chances > 0)
	if f.Verdict == checker.Unknown && !demanded && !v.Says(f.Property) {
		return 0
	}
	return v.Expected(f.Property)
}

// excuse marks what is not as expected, and may be so because the machine was too slow. A violation that no machine
// can bring about is none of these: a correct lock does not show it, however slow everything is.
func excuse(v *report.Variant) {
	if v.Slowness() == "" || v.Interrupted {
		return
	}
	violated := func(name checker.Property) bool {
		p := v.Property(name)
		return p != nil && p.Verdict == checker.Violated
	}
	for i := range v.Properties {
		p := &v.Properties[i]
		p.TooSlow = !p.Met && (p.Verdict != checker.Violated || p.Name.SlowMachineBreaks(v.History, violated))
	}
}

// Settle makes a variant what its properties are.
func Settle(v *report.Variant) {
	unknown := v.Unknown != ""
	v.Met, v.Undecided, v.TooSlow = v.Error == "" && !unknown && len(v.Properties) > 0, unknown, ""
	slow := unknown
	for i := range v.Properties {
		p := &v.Properties[i]
		v.Met = v.Met && p.Met
		v.Undecided = v.Undecided || !p.Met && !p.Unexpected()
		slow = slow || p.TooSlow
	}
	if slow {
		v.TooSlow = v.Slowness()
	}
}

// SumUp makes a result what those of its variants are that apply.
func SumUp(r *report.Result) {
	r.Met, r.Undecided, r.Interrupted = true, false, false
	for i := range r.Variants {
		v := &r.Variants[i]
		if v.NotApplicable != "" {
			continue
		}
		r.Met = r.Met && v.Met
		r.Undecided = r.Undecided || v.Undecided
		r.Interrupted = r.Interrupted || v.Interrupted
	}
}

// Properties are what to judge of a variant: the safety properties always, the
// others where something is expected of them.
func Properties(v scenario.Variant) []checker.Property {
	wanted := checker.SafetyProperties(v.Setup.Subject())
	for _, e := range v.Expect {
		wanted = append(wanted, e.Property)
	}
	return slices.DeleteFunc(checker.Properties(), func(p checker.Property) bool { return !slices.Contains(wanted, p) })
}

// faults sets what was planned beside what the history measured.
func faults(planned []nemesis.Planned, h *history.History) []report.FaultResult {
	list := make([]report.FaultResult, len(planned))
	for i, p := range planned {
		list[i] = report.FaultResult{ID: i + 1, Fault: p.Kind, Target: p.Fault.Target(), When: p.When.String(), Planned: p.Fault.Length()}
	}
	for i := range h.Events {
		e := &h.Events[i]
		if e.F != history.FaultBegin && e.F != history.FaultEnd && e.F != history.FaultFailed || e.Value.ID() < 1 || e.Value.ID() > len(list) {
			continue
		}
		f := &list[e.Value.ID()-1]
		if e.F == history.FaultFailed {
			f.Failed = cmp.Or(f.Failed, e.Error.String())
			continue
		}
		f.Events = append(f.Events, int(e.Index))
		if e.F == history.FaultBegin {
			f.Fired++
		}
		f.Took = max(f.Took, time.Duration(e.Value.Took().V()))
	}
	return list
}

// Facts are the settings of a run that a reader wants first.
func Facts(lock string, s *scenario.Setup) []string {
	list := []string{lock, words.Count(s.Nodes.Count, "node"), s.Lock.TTLText(), words.Count(s.Workload.Clients, "client")}
	for _, client := range s.Lock.Differing() {
		list = append(list, client+": "+s.Lock.Clients[client].Text())
	}
	return list
}
