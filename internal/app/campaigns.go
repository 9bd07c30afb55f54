package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/app/campaign"
	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/app/shard"
	"github.com/redlock-sim/redlock-sim/internal/explore"
	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server"
)

// Campaign is how the work of a search is divided; RangeRuns 0: as suits this machine.
type Campaign struct{ RangeRuns, EpochRanges uint64 }

// again is the command line that begins the same campaign again.
func (c *Campaign) again(r request.Search) string {
	runs := r.Seeds
	r.Seeds = 0
	return request.Line([]string{"sim", "campaign", "start", "search"}, &r, &usualSearch, "property", "seed") +
		fmt.Sprintf(" --runs %d --range %d --epoch %d", runs, c.RangeRuns, c.EpochRanges)
}

// MostSlots bounds how many runs a worker makes at once.
const MostSlots = 1024

// SlotsOf is how many runs a worker makes at once; 0: one for each processor.
func SlotsOf(jobs int) int {
	if jobs == 0 {
		return runtime.NumCPU()
	}
	return jobs
}

// ShardRuns is how many runs among real servers a worker makes at a time: about half a minute's.
const ShardRuns = 300

// CampaignSearch is a search as a campaign, and the lock program that it names; nil: it names none.
func (e *Env) CampaignSearch(ctx context.Context, r request.Search, c Campaign) (*campaign.Definition, *NamedLock, error) {
	if r.Seeds == 0 {
		return nil, nil, Usagef("say how many runs to make: --runs 200k")
	}
	if r.Jobs < 0 || r.Jobs > MostSlots || r.Seeds > campaign.MostRuns {
		return nil, nil, Usagef("want --jobs 1 to %d, and --runs up to %d", MostSlots, uint64(campaign.MostRuns))
	}
	jobs := r.Jobs
	if err := checkSearch(&r); err != nil {
		return nil, nil, err
	}
	r.Place, r.For, r.StopAt = request.Place{}, 0, 0
	if r.World == request.Live {
		return e.liveCampaign(ctx, r, c.RangeRuns)
	}
	if r.Lock != "" || r.Nodes != "" {
		return nil, nil, Usagef("a campaign in the virtual world has models, and the lock of its scenario").Hint("--world live")
	}
	s := &searching{Env: e, out: &SearchResult{Request: r}}
	defer s.leave()
	if err := s.choose(ctx); err != nil {
		return nil, nil, err
	}
	r = s.out.Request
	r.Place = request.Place{}
	r.Scenario = filepath.ToSlash(s.out.Of.Scenario.File)
	d := &campaign.Definition{Request: request.Of(&r), Scenario: s.out.Of.Scenario.Text, RangeRuns: c.RangeRuns, EpochRanges: c.EpochRanges}
	if d.RangeRuns == 0 {
		var err error
		if d.RangeRuns, err = rangeOf(ctx, s.out.Of, jobs); err != nil {
			return nil, nil, interruptedOr(ctx, err)
		}
	}
	if _, err := d.Search(); err != nil {
		return nil, nil, Usagef("%w", err)
	}
	return d, nil, nil
}

// liveCampaign is a search among real servers as a campaign.
func (e *Env) liveCampaign(ctx context.Context, r request.Search, rangeRuns uint64) (d *campaign.Definition, lock *NamedLock, err error) {
	d = &campaign.Definition{}
	if r.Lock != "" {
		if lock, err = e.namedLockOf(ctx, r.Lock); err != nil {
			return nil, nil, err
		}
	}
	if lock != nil {
		r.Lock, d.Digest = lock.Name, lock.Digest
	}
	if _, err := propertiesOf(r.Properties); err != nil {
		return nil, nil, err
	}
	if r.Scenario != "" {
		s, err := LoadOne(r.Scenario)
		if err != nil {
			return nil, nil, err
		}
		v, err := VariantOf(s, r.Variant)
		if err != nil {
			return nil, nil, err
		}
		d.Scenario, r.Scenario, r.Variant = s.Text, filepath.ToSlash(s.File), v.Name
	} else if r.Variant != "" {
		return nil, nil, Usagef("--variant is one of a scenario: name that, too")
	}
	size := cmp.Or(rangeRuns, ShardRuns)
	shards := r.Seeds/size + min(r.Seeds%size, 1)
	if rangeRuns == 0 {
		shards = min(shards, request.MostShards)
	}
	if shards > request.MostShards || r.Seeds > shards*campaign.MostShardRuns {
		return nil, nil, Usagef("--runs %d --range %d: want up to %d ranges of up to %d runs",
			r.Seeds, size, request.MostShards, campaign.MostShardRuns)
	}
	d.Request, d.Shards = request.Of(&r), int64(shards)
	return d, lock, checkDefinition(d)
}

// CampaignAudit is an audit of one lock as a campaign, and the lock program; nil: it is a lock of sim.
func (e *Env) CampaignAudit(ctx context.Context, r request.Audit, shards int64) (*campaign.Definition, *NamedLock, error) {
	if r.Jobs < 0 {
		return nil, nil, Usagef("--jobs %d: want at least 1", r.Jobs)
	}
	if len(r.Locks) != 1 || r.Locks[0] == "" {
		return nil, nil, Usagef("name a lock").Hint("sim campaign start audit --lock redlock, or --lock NAME='COMMAND'")
	}
	if _, _, err := casesOf(r); err != nil {
		return nil, nil, err
	}
	lock, err := e.namedLockOf(ctx, r.Locks[0])
	if err != nil {
		return nil, nil, err
	}
	r.Place = request.Place{}
	d := &campaign.Definition{Shards: shards}
	if lock != nil {
		r.Locks, d.Digest = []string{lock.Name}, lock.Digest
	}
	d.Request = request.Of(&r)
	return d, lock, checkDefinition(d)
}

func checkDefinition(d *campaign.Definition) error {
	if err := d.Check(); err != nil {
		return Usagef("%w", err)
	}
	return nil
}

// rangeLasts is how long a range is to last on the machine that begins a campaign.
const rangeLasts = 10 * time.Second

// rangeOf sizes ranges by how fast this machine is. Where it is to carry out a short campaign alone, each processor
// gets several.
func rangeOf(ctx context.Context, search explore.Search, jobs int) (uint64, error) {
	rate := 0.0
	for n := uint64(64); ; n *= 2 {
		began := time.Now()
		if _, err := search.Range(ctx, nil, 0, 0, n); err != nil {
			if errors.Is(err, explore.ErrNobodyToStrike) {
				return 0, Usagef("--kinds: %w", err)
			}
			return 0, err
		}
		if took := time.Since(began); took > 300*time.Millisecond || n >= search.Seeds {
			rate = float64(n) / took.Seconds()
			break
		}
	}
	size := rate * rangeLasts.Seconds()
	if parts := search.Seeds / uint64(8*SlotsOf(jobs)); size > float64(parts) {
		size = float64(parts)
	}
	size = max(size, 1)
	digit := math.Pow(10, math.Floor(math.Log10(size)))
	return uint64(math.Floor(size/digit) * digit), nil
}

// StartWorker starts a worker for shards among real servers, or, without a doer, for the virtual world.
func StartWorker(
	ctx context.Context, store *campaign.Store, do *campaign.Doer, jobs int, trouble func(error),
) (*campaign.Worker, error) {
	if do != nil {
		return store.StartReal(ctx, do, trouble)
	}
	debug.SetGCPercent(runsLeaveLittle)
	return store.Start(ctx, SlotsOf(jobs), trouble)
}

// NeedsDocker reports that the nodes of a campaign are containers.
func NeedsDocker(d *campaign.Definition) bool {
	return d.Request.Audit != nil && d.Request.Audit.Nodes == string(server.Docker)
}

// CampaignSearched is what a campaign in the virtual world found so far, shrunk and written as sim search does.
func (e *Env) CampaignSearched(
	ctx context.Context, store *campaign.Store, d *campaign.Definition, st *campaign.Status, out string, l Listener,
) (*SearchResult, error) {
	search, err := d.Search()
	if err != nil {
		return nil, Usagef("%w", err)
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), ConnectWithin)
	defer cancel()
	found, err := store.Report(limited, st.ID)
	if err != nil {
		return nil, CampaignError(limited, st.ID, err)
	}
	r := *d.Request.Search
	r.Out = out
	s := &searching{Env: e, listener: l, campaign: &Campaign{d.RangeRuns, d.EpochRanges},
		out: &SearchResult{Request: r, Of: search, Report: found, Took: lastedOf(st, e.Now())}}
	return s.out, s.conclude(ctx)
}

// lastedOf is how long a campaign has lasted.
func lastedOf(st *campaign.Status, now time.Time) time.Duration {
	if st.Finished != nil {
		now = *st.Finished
	}
	return max(now.Sub(st.Created), time.Millisecond)
}

// unpackWithin bounds how long it may take to read all shards.
const unpackWithin = 10 * time.Minute

// CampaignShards are the shards of a campaign that are done, laid out in a scratch folder, for Merge; nil: there are none. drop removes
// the folder.
func CampaignShards(ctx context.Context, store *campaign.Store, id int64) (whole *shard.Whole, drop func(), err error) {
	scratch, err := machine.Scratch()
	if err != nil {
		return nil, nil, err
	}
	drop = func() { _ = machine.Discard(scratch) }
	n, left := 0, int64(shard.MostUnpacked)
	var damaged error
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), unpackWithin)
	defer cancel()
	err = store.Shards(limited, id, func(packed []byte) error {
		n++
		damaged = shard.Unpack(packed, filepath.Join(scratch, shard.Shards), &left)
		return damaged
	})
	if damaged != nil {
		return nil, drop, damaged
	}
	if err != nil {
		return nil, drop, CampaignError(ctx, id, err)
	}
	if n == 0 {
		return nil, drop, nil
	}
	if whole, err = shard.Collect(scratch); err != nil {
		return nil, drop, Usagef("%w", err)
	}
	return whole, drop, nil
}
