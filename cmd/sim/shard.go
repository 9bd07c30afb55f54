package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kballard/go-shellquote"
	"github.com/spf13/cobra"

	"github.com/redlock-sim/redlock-sim/internal/app/audit"
	"github.com/redlock-sim/redlock-sim/internal/app/shard"
	"github.com/redlock-sim/redlock-sim/internal/app/trial"
	"github.com/redlock-sim/redlock-sim/internal/explore"
	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/report/card"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// shardFlag is the flag of the commands whose work several machines can share.
func shardFlag(c *cobra.Command, text *string) {
	c.Flags().StringVar(text, "shard", "", "do one of n equal parts of the work, as i/n: "+
		"2/4 is the second of four; its results are stored below shards/ in the --out folder, for sim merge")
}

// parseShard reads --shard; the zero value: it is not given.
func parseShard(text string, seedGiven bool) (shard.Shard, error) {
	if text == "" {
		return shard.Shard{}, nil
	}
	s, err := shard.Parse(text)
	switch {
	case err != nil:
		return s, usageError("--shard %w\nhint: --shard 1/4 on the first of four machines, --shard 4/4 on the last", err)
	case !seedGiven:
		return s, usageError("--shard needs --seed, the same for all shards\nhint: --seed 42, or in CI the number of the job's run")
	}
	return s, nil
}

// share is the part of the work that this process does.
type share struct {
	shard.Shard
	work  shard.Work
	dir   string
	began time.Time
}

// beginShare makes the folder of a shard. What it has no record of any more has not come to its end.
func beginShare(s shard.Shard, out string, work shard.Work) (*share, error) {
	work.Sim = programVersion()
	dir := filepath.Join(out, shard.Shards, work.Folder(s))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, &trial.EnvironmentError{Err: err, Hint: "choose another folder with --out"}
	}
	if err := os.Remove(filepath.Join(dir, shard.RecordFile)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, &trial.EnvironmentError{Err: err, Hint: "choose another folder with --out"}
	}
	return &share{s, work, dir, time.Now()}, nil
}

// end writes what came of the shard.
func (s *share) end(ctx context.Context, a *app, r *shard.Record) error {
	r.Shard, r.Work = s.Shard, s.work
	r.Interrupted, r.Started, r.TookMS = ctx.Err() != nil, s.began.UTC().Truncate(time.Second), time.Since(s.began).Milliseconds()
	if err := r.Write(s.dir); err != nil {
		return err
	}
	fmt.Fprintf(a.stderr, "shard    %v in %s\n", s.Shard, shortPath(s.dir))
	return nil
}

// nothing says that there is nothing to do for a shard.
func (s *share) nothing(a *app, what string) {
	fmt.Fprintf(a.stderr, "shard %v has nothing to do: there are %s for %s\n", s.Shard, what, words.Count(s.Of, "shard"))
}

func (f *runFlags) checkShard(seedGiven bool) error {
	s, err := parseShard(f.shard, seedGiven)
	if err == nil && s.Of > 0 && (f.failFast || f.failed) {
		err = usageError("--shard does not go with --fail-fast and --failed: a shard does not know what others do")
	}
	return err
}

// dealRuns says which runs are to be made: all, or those of the shard, whose results then go into its folder.
func (a *app) dealRuns(ctx context.Context, scenarios []*scenario.Scenario, f *runFlags) (*share, []int, error) {
	units := make([]int, len(scenarios)*f.repeat)
	for i := range units {
		units[i] = i
	}
	s, err := parseShard(f.shard, true)
	if err != nil || s.Of == 0 {
		return nil, units, err
	}
	work := shard.Work{Command: "run", Seed: f.seed, Units: uint64(len(units)), Flags: map[string]string{
		"world": f.world, "nodes": f.nodes, "lock": f.lock, "as-programs": fmt.Sprint(f.asPrograms),
		"repeat": fmt.Sprint(f.repeat), "tries": fmt.Sprint(f.tries), "timeout": f.timeout.String(),
	}}
	for _, sc := range scenarios {
		work.Scenarios = append(work.Scenarios, shard.Scenario{Name: sc.Name, Digest: sc.Digest()})
	}
	each := trial.Lengths(ctx, scenarios, f.world, f.seed)
	share, err := beginShare(s, f.out, work)
	if err != nil {
		return nil, nil, err
	}
	f.out = share.dir
	mine := s.Deal(lengthsOf(units, each))
	if len(mine) == 0 {
		share.nothing(a, words.Count(len(units), "run"))
	}
	return share, mine, nil
}

// keepShare writes what came of the shard's runs.
func (s *suiteRun) keepShare(ctx context.Context, share *share) error {
	r := &shard.Record{Errors: failures(s.errs)}
	for _, sc := range s.scenarios {
		file := ""
		if !sc.Shipped {
			file = filepath.ToSlash(sc.File)
		}
		r.Files = append(r.Files, file)
	}
	for i, t := range s.done {
		if t == nil || t.Result == nil {
			continue
		}
		one, err := shard.ResultOf(uint64(i), share.dir, t.Dir)
		if err != nil {
			return err
		}
		r.Results = append(r.Results, one)
	}
	return share.end(ctx, s.app, r)
}

func failures(errs []error) (list []shard.Failure) {
	for _, e := range errs {
		if code := exitCodeOf(e); code != exitInterrupted { // the record says that
			list = append(list, shard.Failure{Text: e.Error(), Exit: code})
		}
	}
	return list
}

func (f *searchFlags) checkShard() error {
	s, err := parseShard(f.shard, true)
	switch {
	case err != nil || s.Of == 0:
		return err
	case f.seeds == 0:
		return usageError("--shard needs --seeds: each shard searches its part of them\n" +
			"hint: --seeds 1000000 --for 10m searches as many of them as the time allows")
	case f.seeds-1 > math.MaxUint64-f.first:
		return usageError("--seed %d --seeds %d: there are not so many seeds", f.first, f.seeds)
	case f.stopAt > 0:
		return usageError("--shard does not go with --stop-at: a shard does not know what others do")
	}
	return nil
}

// takeShare leaves the shard's seeds to a search, and its folder to what is found; nil: the search has all of them.
func (f *searchFlags) takeShare(search *explore.Search) (*share, error) {
	s, err := parseShard(f.shard, true)
	if err != nil || s.Of == 0 {
		return nil, err
	}
	share, err := beginShare(s, f.out,
		shard.Work{Command: "search", Seed: f.first, Units: f.seeds, Scenarios: oneOf(search.Scenario), Flags: map[string]string{
			"world": f.world, "lock": f.lock, "variant": search.Variant, "property": strings.Join(wordsOf(search.Properties), ","),
			"kinds": strings.Join(f.kinds, ","), "bare": fmt.Sprint(f.bare), "unguided": fmt.Sprint(f.unguided), "for": f.lasts.String(),
		}})
	if err != nil {
		return nil, err
	}
	mine := s.Seeds(f.first, f.seeds)
	search.First, search.Seeds = mine.First, mine.Count
	f.out = filepath.Join(share.dir, "found")
	return share, nil
}

func oneOf(s *scenario.Scenario) []shard.Scenario {
	return []shard.Scenario{{Name: s.Name, Digest: s.Digest()}}
}

// keepSearch writes what came of the shard's search.
func (s *share) keepSearch(
	ctx context.Context, a *app, search explore.Search, scenarioFile string, part *explore.Part, kept []found,
) error {
	r := &shard.Record{Search: part, Files: []string{filepath.ToSlash(scenarioFile)}}
	for _, k := range kept {
		one := shard.Found{Note: k.note, Proved: k.sure}
		for _, f := range []struct {
			to   *string
			from string
		}{{&one.File, k.file}, {&one.Report, k.report}} {
			if f.from == "" {
				continue
			}
			var err error
			if *f.to, err = below(s.dir, f.from); err != nil {
				return err
			}
		}
		r.Found = append(r.Found, one)
	}
	if err := machine.WriteFile(filepath.Join(s.dir, shard.ScenarioFile), func(w io.Writer) error {
		_, err := io.WriteString(w, search.Scenario.Text)
		return err
	}); err != nil {
		return err
	}
	return s.end(ctx, a, r)
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

// takeShare leaves the shard's part of the runs for each point to a sweep; nil: the sweep makes all of them.
func (f *sweepFlags) takeShare(sweep *explore.Sweep) (*share, error) {
	s, err := parseShard(f.shard, true)
	if err != nil || s.Of == 0 {
		return nil, err
	}
	if f.runs-1 > math.MaxUint64-f.seed {
		return nil, usageError("--seed %d --runs %d: there are not so many seeds", f.seed, f.runs)
	}
	share, err := beginShare(s, f.out,
		shard.Work{Command: "sweep", Seed: f.seed, Units: f.runs, Scenarios: oneOf(sweep.Scenario), Flags: map[string]string{
			"variant": sweep.Variant, "property": strings.Join(wordsOf(sweep.Properties), ","), "x": f.x, "y": f.y, "steps": fmt.Sprint(f.steps),
		}})
	if err != nil {
		return nil, err
	}
	mine := s.Seeds(f.seed, f.runs)
	sweep.First, sweep.Runs = mine.First, mine.Count
	return share, nil
}

func (f *auditFlags) checkShard(seedGiven bool) error {
	s, err := parseShard(f.shard, seedGiven)
	if err == nil && s.Of > 0 && f.expect != "" {
		err = usageError("--shard does not go with --expect: a shard has a part of the card\nhint: sim merge --expect %s", f.expect)
	}
	return err
}

// takeShare says which pieces of an audit's work are the shard's; nil: there is one machine.
func (f *auditFlags) takeShare(ctx context.Context, o *audit.Options) (*share, []int, error) {
	s, err := parseShard(f.shard, true)
	if err != nil || s.Of == 0 {
		return nil, nil, err
	}
	lasts := o.Lengths(ctx)
	work := shard.Work{Command: "audit", Seed: f.seed, Units: uint64(len(lasts)), Flags: map[string]string{
		"world": f.world, "nodes": f.nodes, "lock": shellquote.Join(f.locks...), "guarantee": strings.Join(f.guarantees, ","), "case": f.cases,
		"timeout": f.timeout.String(), "no-shorten": fmt.Sprint(f.noShorten),
	}}
	for _, sc := range slices.Concat(o.Scenarios, o.Costs) {
		work.Scenarios = append(work.Scenarios, shard.Scenario{Name: sc.Name, Digest: sc.Digest()})
	}
	share, err := beginShare(s, f.out, work)
	return share, s.Deal(lasts), err
}

// audit does the shard's part of an audit. The card has what the shard knows.
func (s *share) audit(ctx context.Context, a *app, o audit.Options, mine []int, f *auditFlags) (made *card.Card, failed, err error) {
	if len(mine) == 0 {
		s.nothing(a, words.Count(s.work.Units, "case"))
	}
	questions, answers, failed := audit.RunPart(ctx, o, mine)
	questions.Replay = f.replay()
	err = s.end(ctx, a, &shard.Record{Card: questions, Answers: answers, Errors: failures(split(failed))})
	return audit.Settle(questions, answers, ""), failed, err
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
