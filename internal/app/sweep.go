package app

import (
	"context"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/app/shard"
	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/explore"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// runsLeaveLittle is how seldom garbage is collected, in percent: runs are small and leave little behind.
const runsLeaveLittle = 800

// SweepProperties are those that a sweep measures where none is named.
var SweepProperties = []checker.Property{checker.LinearizableResource}

// SweepResult is what a sweep measured.
type SweepResult struct {
	// Request is what was asked, with the variant and the properties that were taken.
	Request request.Sweep
	explore.Sweep
	Cells []explore.Cell
	Took  time.Duration
	// Missing are the shards that a merged sweep lacks.
	Missing []string
}

// SweepProgress says how many points have been measured.
type SweepProgress struct{ Done, Of int }

func (SweepProgress) event() {}

// Sweep measures how often a scenario fails as its settings vary. Where a shard has nothing to do there is no result.
func Sweep(ctx context.Context, env *Env, r request.Sweep, l Listener) (*SweepResult, error) {
	if r.Jobs < 0 {
		return nil, Usagef("--jobs %d: want at least 1", r.Jobs)
	}
	if r.Runs < 1 {
		return nil, Usagef("--runs %d: want at least 1", r.Runs)
	}
	if r.Jobs == 0 {
		r.Jobs = runtime.NumCPU()
	}
	if r.Jobs > MostSlots {
		return nil, Usagef("--jobs %d: want at most %d", r.Jobs, MostSlots)
	}
	if r.Part != nil {
		if err := fitSeeds(r.Seed, r.Runs, "runs"); err != nil {
			return nil, err
		}
	}
	s, v, properties, err := LoadTarget(r.Target, SweepProperties)
	if err != nil {
		return nil, err
	}
	r.Variant, r.Properties = v.Name, words.Texts(properties)
	out := &SweepResult{Request: r, Sweep: explore.Sweep{Scenario: s, Variant: v.Name, Properties: properties,
		Runs: r.Runs, First: r.Seed, Workers: r.Jobs}}
	if err := out.axes(); err != nil {
		return nil, err
	}
	var mine *share
	if r.Part != nil {
		asked := request.Shared(r)
		if mine, err = env.beginShare(*r.Part, r.Out, &asked, r.Runs, s); err != nil {
			return nil, err
		}
		if out.First, out.Runs = r.Part.Seeds(r.Seed, r.Runs); out.Runs == 0 {
			l.tell(ShardIdle{*r.Part, words.Count(r.Runs, "run") + " for each point"})
			return nil, mine.end(ctx, l, &shard.Record{})
		}
	}
	out.Progress = func(done, of int) { l.tell(SweepProgress{done, of}) }
	debug.SetGCPercent(runsLeaveLittle)
	l.tell(Started{})
	began := time.Now()
	out.Cells, err = out.Run(ctx)
	out.Took = time.Since(began)
	l.tell(Phase{})
	if err != nil {
		return nil, &ExitError{ExitUsage, err}
	}
	if mine != nil {
		err = mine.end(ctx, l, &shard.Record{Points: out.Cells, Files: []string{filepath.ToSlash(r.Scenario)}})
	}
	return out, err
}

// axes reads the settings that vary.
func (s *SweepResult) axes() (err error) {
	if s.X, err = explore.ParseAxis(s.Request.X, s.Request.Steps); err != nil {
		return Usagef("--x: %w", err)
	}
	if s.Request.Y == "" {
		return nil
	}
	if s.Y, err = explore.ParseAxis(s.Request.Y, s.Request.Steps); err != nil {
		return Usagef("--y: %w", err)
	}
	return nil
}
