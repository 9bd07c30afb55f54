package explore

import (
	"context"
	"slices"
	"sync"

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
	// Workers is how many runs are made at once. What comes of it does not depend on that, where all is seen.
	Workers int
	// Each tells every order apart, also where two differ only in the order of
	// steps that have nothing to do with each other.
	Each bool
	// Progress is told now and then how many schedules were run; nil: nobody is.
	Progress func(schedules uint64)
	// Outcome is shown every finished run, one at a time; nil: nobody is.
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
	t := &team{Exhaust: x, ctx: ctx}
	t.woken.L = &t.mu
	var workers sync.WaitGroup
	root := &subtree{tree: &tree{late: x.Late, each: x.Each}}
	t.queue = append(t.queue, root)
	for i := range max(x.Workers, 1) {
		w, err := t.worker(i == 0)
		if err != nil { // the first has it, too
			return Exhausted{}, err
		}
		workers.Go(func() {
			defer w.bench.close()
			w.help(root)
		})
	}
	workers.Wait()
	return root.out, t.err
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

// add adds what came of other schedules, which come behind in the order of one worker.
func (e *Exhausted) add(o *Exhausted) {
	e.Schedules += o.Schedules
	e.Cut += o.Cut
	e.Unfinished += o.Unfinished
	e.Steps, e.All = max(e.Steps, o.Steps), e.All && o.All
	for i := range o.Verdicts {
		c, more := &e.Verdicts[i], &o.Verdicts[i]
		if c.Violated == 0 {
			c.First, c.History = more.First, more.History
		}
		c.Holds, c.Violated, c.Unknown = c.Holds+more.Holds, c.Violated+more.Violated, c.Unknown+more.Unknown
	}
}
