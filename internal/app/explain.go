package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"strings"

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
	leave, err := e.placeToExplain(ctx, t.Result, v, s, &q, &o, l)
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

// placeToExplain chooses where reruns are made: where the run was, with the lock that it had. leave ends what is left of them.
func (e *Env) placeToExplain(
	ctx context.Context, r *report.Result, v *report.Variant, s *scenario.Scenario, q *request.Explain, o *explain.Options, l Listener,
) (leave func(), err error) {
	leave = func() {}
	again := fmt.Sprintf("sim run %s --world virtual --seed %d makes one in virtual time", r.Scenario, r.Seed)
	switch {
	case r.World != request.Virtual:
		return leave, Usagef("this run took real time: it cannot be made again as it was until some event").Hint("%s", again)
	case v.Interrupted:
		return leave, Usagef("the run was interrupted: nobody knows how it would have ended")
	case r.Versions["redis-upgrade"] != "":
		return leave, Usagef("nodes of this run started again with another program (--upgrade): such runs are not explained")
	case v.Lock != nil && len(v.Lock.Others) > 0:
		return leave, Usagef("clients of this run had different locks (--lock-of %s): such runs are not explained",
			strings.Join(v.Lock.Others, ", "))
	}
	own, err := e.lockToExplain(v, s, q.Lock)
	if err != nil {
		return leave, err
	}
	var server string
	var kept *trial.Kept
	if r.Nodes != "" {
		if server, _, err = trial.VirtualServer(ctx, q.Redis); err != nil {
			return leave, err
		}
		if kept, leave, err = e.enterKept(ctx, l); err != nil {
			return func() {}, err
		}
	}
	if err := e.fillPlace(ctx, v, s, own, server, kept, o); err != nil {
		leave()
		return func() {}, err
	}
	return leave, nil
}

// lockToExplain is the lock that took the place of the scenario's, as in the run; nil: nothing did. No program is started without a word
// from the user.
func (e *Env) lockToExplain(v *report.Variant, s *scenario.Scenario, command string) (*scenario.StandIn, error) {
	switch replaced := v.Lock != nil && v.Lock.InPlace; {
	case replaced && command == "":
		return nil, Usagef("%s took the place of the scenario's lock in this run", v.Lock.Name).Hint("name it again with --lock")
	case !replaced && command != "":
		return nil, Usagef("--lock: nothing took the place of the scenario's lock in this run")
	case replaced:
		return e.standIn(command)
	case v.Lock != nil && len(ProgramsOf(s)) == 0:
		return nil, Usagef("sim's locks ran as programs in this run (--as-programs): such runs are not explained")
	}
	return nil, e.checkPrograms([]*scenario.Scenario{s})
}

// fillPlace has the lock programs describe themselves, puts the lock of the run into the scenario, and says where reruns are made.
func (e *Env) fillPlace(
	ctx context.Context, v *report.Variant, s *scenario.Scenario, own *scenario.StandIn, server string, kept *trial.Kept,
	o *explain.Options,
) error {
	programs, err := trial.Greet(ctx, []*scenario.Scenario{s}, own, request.Virtual)
	if err != nil {
		return interruptedOr(ctx, err)
	}
	one, err := VariantOf(s, v.Name)
	if err != nil {
		return err
	}
	made, is, err := programs.Variant(*one)
	switch {
	case err != nil:
		return Usagef("it is not applicable to this lock: %w", err)
	case is != nil && v.Lock != nil && (is.Name != v.Lock.Name || is.Version != v.Lock.Version):
		return Usagef("the lock of this run was %s, and this is %s", nameOf(v.Lock), nameOf(is))
	}
	*one = made
	if server == "" {
		return nil
	}
	place := func() *trial.VirtualPlace { return &trial.VirtualPlace{Server: server, Programs: programs, Kept: kept} }
	if why := place().Refusal(&made); why != "" {
		return Usagef("%s", why)
	}
	o.Reruns, o.Events = cmp.Or(o.Reruns, explain.RerunsOnServers), explain.EventsOnServers
	o.Place = func() explore.Place { return place() }
	return nil
}

func nameOf(l *report.Lock) string { return strings.TrimSpace(l.Name + " " + l.Version) }
