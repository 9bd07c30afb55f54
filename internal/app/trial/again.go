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
// judged: what differs came from something that sim does not control. Of a program that is known to repeat, what is held against the lock
// must repeat, and samples of all else.
func (t *trial) carryOutTwice(ctx context.Context, s *subject, c runner.Config) (runner.Outcome, error) {
	out, difference, err := t.twice(ctx, s, c)
	if difference != nil {
		err = &world.Unknown{Why: fmt.Sprintf("two runs with seed %d differ\n%v", c.Seed, difference)}
	}
	return out, err
}

// accuses reports that something in a run is held against the lock.
func (t *trial) accuses(ctx context.Context, s *subject, out *runner.Outcome) bool {
	judged := report.Variant{Name: s.Name, History: out.History, TimedOut: out.TimedOut}
	verdict.Judge(ctx, s.Variant, &judged)
	if t.Accuses != nil {
		return t.Accuses(&judged)
	}
	return slices.ContainsFunc(judged.Properties, func(p report.PropertyResult) bool { return p.Verdict == checker.Violated })
}

// twice makes a run, and makes it again. It says where the second differs from the first; nil: nowhere. Of a program that is known to
// repeat one is enough where nothing is held against the lock, but for a sample. What was kept only decides whether one is: the run that
// comes out of two had all started afresh.
func (t *trial) twice(ctx context.Context, s *subject, c runner.Config) (out runner.Outcome, difference *history.Difference, err error) {
	l := s.Setup.Lock.Program
	known := t.Repeating.Repeats(l)
	enough := func(of *runner.Outcome) bool { return known && !isSample(s, &c) && !t.accuses(ctx, s, of) }
	path := filepath.Join(c.Dir, runs.History)
	var kept, fresh []byte
	if known && t.keeps(s) {
		out, err = t.make(ctx, s, c, t.Kept.Open)
		if ctx.Err() != nil || err == nil && enough(&out) {
			return out, nil, err
		}
		if err == nil {
			if kept, err = os.ReadFile(path); err != nil {
				return out, nil, err
			}
		}
		if err := removeFiles(c.Dir); err != nil {
			return out, nil, err
		}
	}
	out, err = t.make(ctx, s, c, guests.Open)
	if err == nil && kept != nil {
		fresh, err = os.ReadFile(path)
	}
	switch {
	case err != nil:
		return out, nil, err
	case kept != nil:
		same, near := likeness(kept, fresh)
		if same {
			return out, nil, nil
		}
		if !near { // which is no fault of the program yet
			t.Repeating.about(l, func(k *repeats) { k.unkept++ })
		}
	case enough(&out):
		return out, nil, nil
	}
	difference, err = t.again(ctx, s, c, &out)
	if difference != nil {
		t.Repeating.Differed(l)
	} else if err == nil {
		t.Repeating.Passed(l)
	}
	return out, difference, err
}

// keeps reports that a run can be made on what is kept, and shows the same there. Commands have values of the lock in them that may differ.
func (t *trial) keeps(s *subject) (is bool) {
	t.Repeating.about(s.Setup.Lock.Program, func(k *repeats) { is = k.unkept < mostUnkept })
	return is && t.Kept != nil && !s.Setup.Commands
}

// opener opens a world in which real programs take part.
type opener func(context.Context, world.Spec, guests.Options) (world.World, error)

// make makes a run.
func (t *trial) make(ctx context.Context, s *subject, c runner.Config, open opener) (runner.Outcome, error) {
	dir := c.Dir
	c.Open = func(spec world.Spec) (world.World, error) { return open(ctx, spec, t.guests(s, dir)) }
	out, err := runToFile(c, filepath.Join(dir, runs.History))
	if out.Interrupted || isStop(ctx, err) {
		err = stopped(ctx, &out)
	}
	return out, err
}

// again makes a run once more, and says where it differs from the first; nil: nowhere.
func (t *trial) again(ctx context.Context, s *subject, c runner.Config, out *runner.Outcome) (difference *history.Difference, err error) {
	first, second := filepath.Join(c.Dir, runs.History), filepath.Join(c.Dir, runs.HistoryAgain)
	c.Open, c.Dir = func(spec world.Spec) (world.World, error) { return guests.Open(ctx, spec, t.guests(s, "")) }, "" // the logs are there
	if progress := c.Progress; progress != nil {
		c.Progress = func(phase string) { progress("the same again, " + phase) }
	}
	other, err := runToFile(c, second)
	var unknown *world.Unknown
	switch {
	case other.Interrupted, isStop(ctx, err):
		return nil, errors.Join(stopped(ctx, out), os.Remove(second))
	case errors.As(err, &unknown):
		return nil, err
	case err != nil:
		return nil, &world.Unknown{Why: "the same run again failed: " + err.Error()}
	}
	difference, err = firstDifference(first, second)
	if err == nil && difference == nil {
		err = os.Remove(second)
	}
	return difference, err
}

// removeFiles removes what a run has left that does not count.
func removeFiles(dir string) error {
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	for _, file := range files {
		err = errors.Join(err, os.Remove(file))
	}
	return err
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
