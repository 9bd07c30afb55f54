package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/app/runs"
	"github.com/redlock-sim/redlock-sim/internal/app/shard"
	"github.com/redlock-sim/redlock-sim/internal/app/trial"
	"github.com/redlock-sim/redlock-sim/internal/explore"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// Merge brings shards together in a folder, for one of the functions below. Unless it is partial, all shards must be there.
func Merge(w *shard.Whole, out string, partial bool) error {
	if len(w.Missing) > 0 && !partial {
		return Usagef("not all of %d shards are there; these are missing:\n  %s", w.Of, strings.Join(w.Missing, "\n  ")).
			Hint("--partial merges the others")
	}
	if err := w.Copy(out); err != nil {
		return Usagef("%w", err)
	}
	return nil
}

// MergeRuns makes of the runs of all shards the suite that one machine would have made.
func MergeRuns(w *shard.Whole, out string, allowUndecided bool, l Listener) (*Suite, error) {
	r := *w.Work.Request.Run
	r.Out, r.AllowUndecided = out, allowUndecided
	s := &Suite{Request: r, Scenarios: scenariosOf(w), Missing: w.Missing, Errors: failedOf(w),
		Done: make([]*trial.Trial, w.Work.Units), Took: tookOf(w)}
	for _, record := range w.Records() {
		for _, one := range record.Results {
			result, err := w.Result(record, one)
			if err != nil {
				return nil, Usagef("%w", err)
			}
			s.Units = append(s.Units, int(one.Unit))
			s.Done[one.Unit] = &trial.Trial{Result: result, Report: w.Path(record, one.Dir+"/"+runs.Report)}
		}
	}
	if len(w.Missing)+len(s.Errors) == 0 && len(s.Units) < len(s.Done) {
		return nil, Usagef("the shards have %d of %d runs, and no reason for that", len(s.Units), len(s.Done))
	}
	slices.Sort(s.Units)
	s.tell(0, l)
	return s, errors.Join(s.remember(), s.writeIndex())
}

// MergeSearches makes of the searches of all shards one. What is found in the virtual world is
// shrunk here: which violation is the best to show is known only now.
func MergeSearches(ctx context.Context, env *Env, w *shard.Whole, out string, l Listener) (*SearchResult, error) {
	var parts []explore.Part
	for _, r := range w.Records() {
		parts = append(parts, *r.Search)
	}
	part, err := explore.Merge(parts...)
	if err != nil {
		return nil, Usagef("the shards do not fit together: %w", err)
	}
	text, err := w.Scenario()
	if err != nil {
		return nil, Usagef("%w", err)
	}
	r := *w.Work.Request.Search
	r.Out = filepath.Join(out, "found")
	r.Scenario = fileOf(w)
	s := &searching{Env: env, listener: l, reportsAt: w.Started,
		out: &SearchResult{Request: r, Part: part, Report: part.Report(), Seeds: w.Work.Units, Took: tookOf(w)}}
	of := &s.out.Of
	*of = explore.Search{Drawing: r.Drawing, First: part.First}
	if of.Scenario, err = scenario.Parse(fileOf(w), text); err != nil {
		return nil, Usagef("the scenario of the shards: %w", err)
	}
	v, err := VariantOf(of.Scenario, r.Variant)
	if err != nil {
		return nil, err
	}
	of.Variant = v.Name
	if of.Properties, err = propertiesOf(r.Properties); err != nil {
		return nil, err
	}
	drawFor(of, &r, &v.Setup)
	s.shrunkInShards = withReal(&r, &v.Setup)
	l.tell(Started{})
	s.shards = w
	return s.out, s.conclude(ctx)
}

// takeFound keeps what shards found with real servers: it has been repeated and shrunk there, beside its lock.
func (s *searching) takeFound() {
	for _, r := range s.shards.Records() {
		for _, one := range r.Found {
			k := Found{File: s.shards.Path(r, one.File), Note: one.Note, Property: one.Property, Proved: one.Proved}
			if one.Report != "" {
				k.Report = s.shards.Path(r, one.Report)
			}
			s.out.Found = append(s.out.Found, k)
			s.out.Proved = s.out.Proved || k.Proved
			s.listener.tell(FoundOne{k})
		}
	}
}

// MergeSweeps adds the runs of all shards, point by point.
func MergeSweeps(w *shard.Whole) (*SweepResult, error) {
	var grids [][]explore.Cell
	for _, r := range w.Records() {
		if len(r.Points) > 0 {
			grids = append(grids, r.Points)
		}
	}
	cells, err := explore.MergeCells(grids...)
	if err != nil {
		return nil, Usagef("the shards do not fit together: %w", err)
	}
	r := *w.Work.Request.Sweep
	r.Scenario = fileOf(w)
	s := &SweepResult{Request: r, Cells: cells, Took: tookOf(w), Missing: w.Missing,
		Sweep: explore.Sweep{Scenario: scenariosOf(w)[0], Variant: r.Variant, Runs: r.Runs, First: r.Seed}}
	if r.Steps < 0 || r.Steps > len(cells) && r.Steps > mostSteps {
		return nil, Usagef("the shards have no grid: %d steps", r.Steps)
	}
	if s.Properties, err = propertiesOf(r.Properties); err != nil {
		return nil, err
	}
	if err := s.axes(); err != nil {
		return nil, Usagef("the shards have no grid: %w", err)
	}
	points := len(s.X.Values) * max(len(s.Y.Values), 1)
	if len(cells) != points || points > 0 && len(cells[0].Judged) != len(s.Properties) {
		return nil, Usagef("the shards have %s of %d", words.Count(len(cells), "point"), points)
	}
	return s, nil
}

// mostSteps bounds the steps of a range that is read from a file.
const mostSteps = 10_000

// MergeAudits makes one card of what the shards found out.
func MergeAudits(w *shard.Whole, out string, allowUndecided bool, expected *Expectation) (*AuditResult, error) {
	card, err := w.Card()
	if err != nil {
		return nil, Usagef("%w", err)
	}
	var labels []string
	for i := range card.Locks {
		labels = append(labels, card.Locks[i].Label)
	}
	if err := expected.covers(labels); err != nil {
		return nil, err
	}
	a := &AuditResult{Request: *w.Work.Request.Audit, Card: card}
	a.Request.AllowUndecided = allowUndecided
	if a.Dir, err = filepath.Abs(out); err != nil {
		return nil, err
	}
	if errs := failedOf(w); len(errs) > 0 {
		worst := slices.MaxFunc(errs, func(a, b error) int { return cmp.Compare(ExitCode(a), ExitCode(b)) })
		a.Err = &ExitError{ExitCode(worst), errors.Join(errs...)}
	}
	return a, a.write()
}

// tookOf is how long the shards took, one after the other.
func tookOf(w *shard.Whole) (sum time.Duration) {
	for _, r := range w.Records() {
		sum += time.Duration(r.TookMS) * time.Millisecond
	}
	return sum
}

// failedOf are the errors of shards.
func failedOf(w *shard.Whole) (errs []error) {
	for _, r := range w.Records() {
		for _, e := range r.Errors {
			errs = append(errs, &ExitError{e.Exit, fmt.Errorf("shard %v: %s", r.Shard, e.Text)})
		}
	}
	return errs
}

// scenariosOf are those of the work, as far as reports need them.
func scenariosOf(w *shard.Whole) (list []*scenario.Scenario) {
	files := w.Records()[0].Files
	for i, s := range w.Work.Scenarios {
		one := &scenario.Scenario{Head: scenario.Head{Name: s.Name}, File: s.Name, Shipped: true}
		if i < len(files) && files[i] != "" {
			one.File, one.Shipped = filepath.FromSlash(files[i]), false
		}
		list = append(list, one)
	}
	return list
}

// fileOf is the scenario's file, as the request named it.
func fileOf(w *shard.Whole) string {
	for _, r := range w.Records() {
		if len(r.Files) > 0 {
			return filepath.FromSlash(r.Files[0])
		}
	}
	return w.Work.Scenarios[0].Name
}

// Again is the command line that measures the same again.
func (s *SweepResult) Again() string {
	r := s.Request
	r.Runs, r.Seed = s.Runs, s.First
	return request.Line([]string{"sim", "sweep"}, &r, &request.Sweep{}, "steps", "runs", "seed")
}
