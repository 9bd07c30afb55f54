package explore

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
)

// Exhaust says what to explore in full: every order in which the messages of a
// scenario can arrive, with the faults that it lists.
type Exhaust struct {
	Scenario *scenario.Scenario
	Variant  string
	Seed     uint64
	// Properties are those whose violation counts.
	Properties []checker.Property
	// Late is how many times in a run time may pass up to the next timer though
	// messages are under way. Otherwise messages are faster than all timers.
	Late int
	// Most bounds the schedules; 0: no bound.
	Most uint64
	// Each tells every order apart, also where two differ only in the order of
	// steps that have nothing to do with each other.
	Each bool
	// Progress is called now and then; nil: nobody.
	Progress func(Exhausted)
	// Outcome is shown every finished run; nil: nobody is.
	Outcome func(*history.History)
}

// Exhausted is what came of it.
type Exhausted struct {
	// Schedules were run to their end; Cut others were given up half-way, when it
	// was clear that they only swapped steps of one that had been run.
	Schedules, Cut uint64
	// All says that there are no others within the bounds.
	All bool
	// Unfinished schedules reached the scenario's time limit.
	Unfinished uint64
	// Verdicts are counted for each property, in the order of Exhaust.Properties.
	Verdicts []Verdicts
	// Steps is the most that a schedule had.
	Steps int
}

// Verdicts counts the schedules by their verdict on a property.
type Verdicts struct {
	Property                 checker.Property
	Holds, Violated, Unknown uint64
	// First is the finding of the first violation, History its history.
	First   *checker.Finding
	History *history.History
}

// Violated reports whether some schedule violated something.
func (e *Exhausted) Violated() bool {
	return slices.ContainsFunc(e.Verdicts, func(v Verdicts) bool { return v.Violated > 0 })
}

// Run explores until all is seen, the bound is reached or the context ends.
func (x Exhaust) Run(ctx context.Context) (Exhausted, error) {
	s := Search{Scenario: x.Scenario, Variant: x.Variant}
	setup, err := s.setup()
	if err != nil {
		return Exhausted{}, err
	}
	place := &Virtual{}
	b := newBench(ctx, x.Scenario.Name, place)
	defer b.close()
	t := &tree{late: x.Late, each: x.Each}
	place.Order = t
	out := Exhausted{}
	for _, p := range x.Properties {
		out.Verdicts = append(out.Verdicts, Verdicts{Property: p})
	}
	for more := true; more; more = t.next() {
		if ctx.Err() != nil || x.Most > 0 && out.Schedules >= x.Most {
			return out, nil
		}
		t.begin()
		v, err := b.run(setup, x.Seed, x.Properties)
		t.end(place.Rest())
		switch {
		case t.cut:
			out.Cut++
			continue
		case ctx.Err() != nil && (err == nil || errors.Is(err, context.Canceled)):
			return out, nil // its judgement was cut short, too
		case err != nil:
			return out, fmt.Errorf("failed to run a schedule: %w", err)
		}
		out.count(&v, len(t.steps))
		if x.Outcome != nil {
			x.Outcome(v.history)
		}
		if x.Progress != nil && out.Schedules%256 == 0 {
			x.Progress(out)
		}
	}
	out.All = true
	return out, nil
}

// count takes note of a schedule.
func (e *Exhausted) count(v *verdicts, steps int) {
	e.Schedules++
	e.Steps = max(e.Steps, steps)
	if !v.history.Done() {
		e.Unfinished++
	}
	for i := range v.findings {
		f, c := &v.findings[i], &e.Verdicts[i]
		switch f.Verdict {
		case checker.Holds:
			c.Holds++
		case checker.Violated:
			if c.Violated++; c.Violated == 1 {
				h := *v.history
				h.Events = slices.Clone(h.Events)
				first := checker.Judge(context.Background(), &h, []checker.Property{f.Property}, checker.Options{Fast: true})[0]
				c.First, c.History = &first, &h
			}
		default:
			c.Unknown++
		}
	}
}
