package app

import (
	"context"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/app/shard"
	"github.com/redlock-sim/redlock-sim/internal/app/trial"
	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
)

// share is the part of the work that this process does, where several machines share it.
type share struct {
	request.Shard
	work  shard.Work
	dir   string
	began time.Time
}

// beginShare makes the folder of a shard. What it has no record of any more has not come to its end. asked is the request of all shards
// together, a pointer.
func (e *Env) beginShare(s request.Shard, out string, asked any, units uint64, scenarios ...*scenario.Scenario) (*share, error) {
	work := shard.Work{Sim: e.Version, Request: request.Of(asked), Units: units}
	for _, one := range scenarios {
		work.Scenarios = append(work.Scenarios, shard.Scenario{Name: one.Name, Digest: one.Digest()})
	}
	dir := filepath.Join(out, shard.Shards, work.Folder(s))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, &trial.EnvironmentError{Err: err, Hint: "choose another folder with --out"}
	}
	if err := os.Remove(filepath.Join(dir, shard.RecordFile)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, &trial.EnvironmentError{Err: err, Hint: "choose another folder with --out"}
	}
	return &share{s, work, dir, time.Now()}, nil
}

// ShardEnded tells where a shard has left what came of it; ShardIdle that there is nothing to do for it.
type (
	ShardEnded struct {
		Shard request.Shard
		Dir   string
	}
	// ShardIdle has how much there is for all shards.
	ShardIdle struct {
		Shard request.Shard
		Work  string
	}
)

func (ShardEnded) event() {}
func (ShardIdle) event()  {}

// end writes what came of the shard.
func (s *share) end(ctx context.Context, l Listener, r *shard.Record) error {
	r.Shard, r.Work = s.Shard, s.work
	r.Interrupted, r.Started, r.TookMS = ctx.Err() != nil, s.began.UTC().Truncate(time.Second), time.Since(s.began).Milliseconds()
	if err := r.Write(s.dir); err != nil {
		return err
	}
	l.tell(ShardEnded{s.Shard, s.dir})
	return nil
}

// writeScenario keeps the scenario of a search beside the record.
func (s *share) writeScenario(text string) error {
	return machine.WriteFile(filepath.Join(s.dir, shard.ScenarioFile), func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
}

// fitSeeds refuses more seeds than there are.
func fitSeeds(first, count uint64, flag string) error {
	if count > 0 && count-1 > math.MaxUint64-first {
		return Usagef("--seed %d --%s %d: there are not so many seeds", first, flag, count)
	}
	return nil
}

// failures are the errors of a shard, for its record.
func failures(errs []error) (list []shard.Failure) {
	for _, e := range errs {
		if code := ExitCode(e); code != ExitInterrupted { // the record says that
			list = append(list, shard.Failure{Text: e.Error(), Exit: code})
		}
	}
	return list
}

// below is a file as seen from a folder.
func below(dir, file string) (string, error) {
	root, err1 := filepath.Abs(dir)
	file, err2 := filepath.Abs(file)
	if err := errors.Join(err1, err2); err != nil {
		return "", err
	}
	name, err := filepath.Rel(root, file)
	return filepath.ToSlash(name), err
}

// split lists errors that were joined.
func split(err error) []error {
	if list, ok := err.(interface{ Unwrap() []error }); ok {
		return list.Unwrap()
	}
	if err == nil {
		return nil
	}
	return []error{err}
}
