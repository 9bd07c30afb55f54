package explore

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/runner"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/virtual"
)

// bench is a place to run setups one after the other. It is for one caller at a
// time and reuses what a run left.
type bench struct {
	ctx    context.Context
	name   string
	place  Place
	events []history.Event
	// stagger is how far apart clients begin at most that start together.
	stagger time.Duration
	// faults is how many must take effect for what holds to be believed.
	faults int
	// real: real servers take part, and maybe lock programs; nil: all are models. live: that takes real time.
	real *Real
	live bool
}

// Place is where runs are made, one at a time.
type Place interface {
	// Run makes the run; it says in which world, and opens it.
	Run(context.Context, runner.Config) (runner.Outcome, error)
	Close()
}

// Virtual is the virtual world.
type Virtual struct{ virtual.Engine }

// Run implements Place.
func (h *Virtual) Run(ctx context.Context, c runner.Config) (runner.Outcome, error) {
	c.World = "virtual"
	c.Open = func(spec world.Spec) (world.World, error) { return h.Open(ctx, spec) }
	return runner.Run(c)
}

// newBench makes a bench in a place; nil: in the virtual world.
func newBench(ctx context.Context, name string, place Place) *bench {
	if place == nil {
		place = &Virtual{}
	}
	return &bench{ctx: ctx, name: name, place: place}
}

func (b *bench) close() { b.place.Close() }

// verdicts are those of one run, by the properties asked for. The history is
// good until the next run.
type verdicts struct {
	findings []checker.Finding
	history  *history.History
	// failed says why a run with real servers could not be carried out: it tells nothing.
	failed error
	// slow says why the machine was too slow for what the run did not tell for that reason; empty: it was not.
	slow string
	// unfinished: the run came to its time limit.
	unfinished bool
	// doubted are the properties whose violation rests on the word of the lock alone.
	doubted []checker.Property
}

// of is the verdict on a property.
func (v *verdicts) of(p checker.Property) checker.Verdict {
	for i := range v.findings {
		if v.findings[i].Property == p {
			return v.findings[i].Verdict
		}
	}
	return checker.Unknown
}

// violated reports whether a property was violated.
func (v *verdicts) violated(p checker.Property) bool { return v.of(p) == checker.Violated }

// judged reports whether the run tells something of a property: it was put to the
// test.
func (v *verdicts) judged(p checker.Property) bool { return v.of(p) != checker.Unknown }

// unjudged says of the first property that the run put to the test and that could not be judged all the same, why; empty: there is none.
func (v *verdicts) unjudged() string {
	for i := range v.findings {
		if f := &v.findings[i]; f.Verdict == checker.Unknown && f.Effort.Chances > 0 {
			return fmt.Sprintf("%s: %s", f.Property, f.Why)
		}
	}
	return ""
}

// run acts a setup out and judges it. A run that the context cut short has no
// verdicts.
func (b *bench) run(setup *scenario.Setup, seed uint64, wanted []checker.Property) (verdicts, error) {
	v := scenario.Variant{Name: scenario.DefaultVariant, Setup: *setup}
	for _, p := range wanted { // some are judged by what happens at the end, which costs time
		if p.Probed() {
			v.Expect = append(v.Expect, scenario.ExpectedVerdict{Property: p, Verdict: checker.Holds})
		}
	}
	out, err := b.place.Run(b.ctx, runner.Config{Scenario: b.name, Variant: v, Seed: seed, Stagger: b.stagger, Reuse: b.events})
	switch {
	case out.Interrupted || err != nil && b.real != nil && b.ctx.Err() != nil:
		return verdicts{}, context.Canceled
	case err != nil && b.real != nil:
		return verdicts{failed: err, slow: out.TooSlow}, nil
	case err != nil:
		return verdicts{}, fmt.Errorf("seed %d: %w", seed, err)
	}
	b.events = out.History.Events
	findings := checker.Judge(b.ctx, out.History, wanted, b.options(setup))
	if b.ctx.Err() != nil && !slices.ContainsFunc(findings, func(f checker.Finding) bool { return f.Verdict == checker.Violated }) {
		return verdicts{}, context.Canceled // the judges may have been, too
	}
	made := verdicts{findings: findings, history: out.History, unfinished: out.TimedOut}
	if out.TooSlow != "" {
		made.excuse(out.TooSlow)
	}
	if b.real != nil && !b.real.Own {
		made.doubted = unconfirmed(findings, out.History)
	}
	return made, nil
}

// excuse forgets the violations of which the machine may be the reason that was too slow, and holds nothing against a run that came to its
// time limit.
func (v *verdicts) excuse(why string) {
	for i := range v.findings {
		if f := &v.findings[i]; f.Verdict == checker.Violated && f.Property.SlowMachineBreaks(v.history, v.violated) {
			v.slow = why
			defer func() { f.Verdict = checker.Unknown }() // another may rest on it
		}
	}
	if v.unfinished {
		v.unfinished, v.slow = false, why
	}
}

// options are those by which a run is judged: quickly, and without telling why. What the nodes are to confirm must be told, and of a run
// that does not come again the judges are to be sure.
func (b *bench) options(setup *scenario.Setup) checker.Options {
	return checker.Options{Fast: !b.live, Brief: !b.live && (b.real == nil || b.real.Own), Faults: b.faults, GrantWithin: setup.GrantWithin}
}
