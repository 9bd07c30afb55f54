package trial

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/app/runs"
	"github.com/redlock-sim/redlock-sim/internal/app/verdict"
	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/runner"
	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/virtual/guests"
)

// carryOutTwice makes a run of real programs and servers in virtual time, and makes it again with the same seed. Only what repeats is
// judged: what differs came from something that sim does not control. Of a program that is known to repeat, a violation must repeat.
func (t *trial) carryOutTwice(ctx context.Context, s *subject, c runner.Config) (runner.Outcome, error) {
	out, difference, err := t.twice(ctx, s, c)
	if difference != nil {
		err = &world.Unknown{Why: fmt.Sprintf("two runs with seed %d differ\n%v", c.Seed, difference)}
	}
	return out, err
}

// violates reports that something is violated in a run.
func violates(ctx context.Context, s *subject, out *runner.Outcome) bool {
	judged := report.Variant{Name: s.Name, History: out.History, TimedOut: out.TimedOut}
	verdict.Judge(ctx, s.Variant, &judged)
	return slices.ContainsFunc(judged.Properties, func(p report.PropertyResult) bool { return p.Verdict == checker.Violated })
}

// twice makes a run, and makes it again. It says where the second differs from the first; nil: nowhere.
func (t *trial) twice(ctx context.Context, s *subject, c runner.Config) (out runner.Outcome, difference *history.Difference, err error) {
	open := func(dir string) func(world.Spec) (world.World, error) {
		return func(spec world.Spec) (world.World, error) { return guests.Open(ctx, spec, t.guests(s, dir)) }
	}
	first, second := filepath.Join(c.Dir, runs.History), filepath.Join(c.Dir, runs.HistoryAgain)
	c.Open = open(c.Dir)
	out, err = runToFile(c, first)
	if out.Interrupted || isStop(ctx, err) {
		return out, nil, stopped(ctx, &out)
	}
	if err != nil || t.Repeats && !violates(ctx, s, &out) {
		return out, nil, err
	}
	c.Open, c.Dir = open(""), "" // the logs are there
	if progress := c.Progress; progress != nil {
		c.Progress = func(phase string) { progress("the same again, " + phase) }
	}
	other, err := runToFile(c, second)
	var unknown *world.Unknown
	switch {
	case other.Interrupted, isStop(ctx, err):
		return out, nil, errors.Join(stopped(ctx, &out), os.Remove(second))
	case errors.As(err, &unknown):
		return out, nil, err
	case err != nil:
		return out, nil, &world.Unknown{Why: "the same run again failed: " + err.Error()}
	}
	difference, err = firstDifference(first, second)
	if err == nil && difference == nil {
		err = os.Remove(second)
	}
	return out, difference, err
}

// isStop reports that a run could not begin because it was to end.
func isStop(ctx context.Context, err error) bool {
	return ctx.Err() != nil && errors.Is(err, ctx.Err())
}

// stopped says that a run was not made twice, because it took too long or somebody interrupted it.
func stopped(ctx context.Context, out *runner.Outcome) error {
	if out.Interrupted = !errors.Is(ctx.Err(), context.DeadlineExceeded); out.Interrupted {
		return &world.Unknown{Why: "it was interrupted before it had been made twice"}
	}
	return &world.Unknown{Why: "it was not made twice in time (--timeout)"}
}

// runToFile makes a run that the seed makes again, and writes its history into a file.
func runToFile(c runner.Config, path string) (out runner.Outcome, err error) {
	file, err := os.Create(path)
	if err != nil {
		return out, err
	}
	buffered := bufio.NewWriterSize(file, 1<<16)
	c.History, c.WriteLater = buffered, true
	out, err = runner.Run(c)
	return out, errors.Join(err, buffered.Flush(), file.Close())
}

// firstDifference says where the histories in two files differ first; nil: they do not.
func firstDifference(one, other string) (*history.Difference, error) {
	a, err := os.Open(one)
	if err != nil {
		return nil, err
	}
	defer func() { _ = a.Close() }()
	b, err := os.Open(other)
	if err != nil {
		return nil, err
	}
	defer func() { _ = b.Close() }()
	return history.FirstDifference(a, b)
}
