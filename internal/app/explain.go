package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"

	"github.com/redlock-sim/redlock-sim/internal/app/explain"
	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/app/runs"
	"github.com/redlock-sim/redlock-sim/internal/app/trial"
	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/explore"
	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
)

// Explained is a run with what explains a violation in it.
type Explained struct {
	*report.Explanation
	// Trial is the run, judged again. One of its variants has the explanation.
	Trial *trial.Trial
}

// ExplainProgress says how many reruns have been made.
type ExplainProgress struct{ Reruns int }

func (ExplainProgress) event() {}

// Explain finds from which event of a stored run on a violation was certain.
func (e *Env) Explain(ctx context.Context, q request.Explain, l Listener) (*Explained, error) {
	t, err := trial.Rejudge(ctx, q.Run)
	if err != nil {
		return nil, Usagef("%w", err)
	}
	s, err := scenario.Parse(filepath.Join(q.Run, runs.Scenario), []byte(t.Result.ScenarioText))
	if err != nil {
		return nil, Usagef("failed to read the run's scenario: %w", err)
	}
	v, err := violatedVariant(t.Result, q.Variant)
	if err != nil {
		return nil, err
	}
	o := explain.Options{Property: checker.Property(q.Property), Reruns: q.Reruns, Seed: t.Result.Seed,
		Workers: cmp.Or(q.Jobs, runtime.NumCPU()), Progress: func(reruns int) { l.tell(ExplainProgress{reruns}) }}
	if len(v.Tries) > 0 && v.Shown >= 1 && v.Shown <= len(v.Tries) {
		o.Seed = v.Tries[v.Shown-1].Seed
	}
	leave, err := e.placeToExplain(ctx, t.Result, v, s, q.Redis, &o, l)
	if err != nil {
		return nil, err
	}
	defer leave()
	x, err := explain.Run(ctx, s, v, o)
	switch {
	case ctx.Err() != nil:
		return nil, Interrupted("interrupted: nothing is explained")
	case errors.Is(err, explain.ErrNothing):
		return nil, &ExitError{ExitUndecided, err}
	case errors.Is(err, explore.ErrNotAgain):
		return nil, (&ExitError{ExitUndecided, err}).Hint("another version of sim, or of the servers, may have made it: run the scenario again")
	case err != nil:
		return nil, err
	}
	v.Explained = x
	return &Explained{Explanation: x, Trial: t}, nil
}

// Keep stores the explanation in the run's folder, and writes the report with it.
func (x *Explained) Keep() error {
	path := filepath.Join(x.Trial.Dir, x.Variant, runs.Explanation)
	err := machine.WriteFile(path, func(w io.Writer) error { return report.WriteIndented(w, "an explanation", x.Explanation) })
	if err != nil {
		return err
	}
	return x.Trial.Keep()
}

// violatedVariant is the variant of a name; of none, the first with a violation, one that nobody expected before others.
func violatedVariant(r *report.Result, name string) (*report.Variant, error) {
	var first *report.Variant
	var names []string
	for i := range r.Variants {
		v := &r.Variants[i]
		names = append(names, v.Name)
		p := v.Pictured()
		switch {
		case name != "" && v.Name == name:
			return v, nil
		case name != "" || p == nil:
		case first == nil, p.Unexpected() && !first.Pictured().Unexpected():
			first = v
		}
	}
	if name != "" {
		return nil, Usagef("there is no variant %q", name).Unknown(name, names)
	}
	if first == nil {
		return nil, &ExitError{ExitUndecided, fmt.Errorf("%w: no property is violated in this run", explain.ErrNothing)}
	}
	return first, nil
}

// placeToExplain chooses where reruns are made: where the run was. leave ends what is left of them.
func (e *Env) placeToExplain(
	ctx context.Context, r *report.Result, v *report.Variant, s *scenario.Scenario, redis string, o *explain.Options, l Listener,
) (leave func(), err error) {
	leave = func() {}
	again := fmt.Sprintf("sim run %s --world virtual --seed %d makes one in virtual time", r.Scenario, r.Seed)
	switch {
	case r.World != request.Virtual:
		return leave, Usagef("this run took real time: it cannot be made again as it was until some event").Hint("%s", again)
	case v.Lock != nil:
		return leave, Usagef("the lock of this run is a program, or takes the place of the scenario's: " +
			"only runs of the scenario's own built-in lock are explained")
	case v.Interrupted:
		return leave, Usagef("the run was interrupted: nobody knows how it would have ended")
	case r.Versions["redis-upgrade"] != "":
		return leave, Usagef("nodes of this run started again with another program (--upgrade): such runs are not explained")
	case r.Nodes == "":
		return leave, nil
	}
	program, _, err := trial.VirtualServer(ctx, redis)
	if err != nil {
		return leave, err
	}
	for i := range s.Variants {
		if s.Variants[i].Name == v.Name {
			if why := (&trial.VirtualPlace{Server: program}).Refusal(&s.Variants[i]); why != "" {
				return leave, Usagef("%s", why)
			}
		}
	}
	if leave, err = e.enterLive(false, l); err != nil {
		return func() {}, err
	}
	o.Reruns, o.Events = cmp.Or(o.Reruns, explain.RerunsOnServers), explain.EventsOnServers
	o.Place = func() explore.Place { return &trial.VirtualPlace{Server: program, Kept: true} }
	return leave, nil
}
