package campaign

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/explore"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
)

// Status is how far a campaign is, as JSON for sim campaign status --json.
type Status struct {
	ID      int64  `json:"id"`
	Name    string `json:"name"`
	Variant string `json:"variant"`
	Guided  bool   `json:"guided"`
	State   string `json:"state"`
	Failure string `json:"failure,omitempty"`
	Build   string `json:"build"`
	// Command is search or audit, World virtual or live. Need is what workers must have; Able says that there is one.
	Command string `json:"command"`
	World   string `json:"world"`
	Lock    string `json:"lock,omitempty"`
	Shards  int64  `json:"shards,omitempty"`
	Need    string `json:"need"`
	Able    bool   `json:"able"`
	// Refused: this sim is another build, with which its seeds do not repeat.
	Refused  bool       `json:"refused,omitempty"`
	Created  time.Time  `json:"created"`
	Finished *time.Time `json:"finished,omitempty"`
	// Runs of Target runs are made; Merged of them are in what follows. Ranges are made, too.
	Runs   uint64 `json:"runs"`
	Target uint64 `json:"target"`
	Merged uint64 `json:"merged"`
	Ranges int64  `json:"ranges"`
	// Unit is what Runs and Target count: runs, or the shards of an audit.
	Unit  string `json:"unit"`
	Epoch int64  `json:"epoch,omitempty"`
	// Rate is runs a second of the last minute; LeftMS is how long the rest takes at that rate, 0: not known.
	Rate   float64 `json:"rate"`
	LeftMS int64   `json:"left_ms,omitempty"`
	// WorkMS is how long workers have worked on it, all together.
	WorkMS     int64           `json:"work_ms"`
	Behaviours uint64          `json:"behaviours"`
	Violations uint64          `json:"violations"`
	Classes    []explore.Class `json:"classes"`
	Found      []explore.Found `json:"found"`
	Workers    []WorkerStatus  `json:"workers"`
	Points     []Point         `json:"points"`
}

// WorkerStatus is a worker that is alive.
type WorkerStatus struct {
	ID    string `json:"id"`
	Host  string `json:"host"`
	PID   int    `json:"pid"`
	Build string `json:"build"`
	Slots int    `json:"slots"`
	Busy  int    `json:"busy"`
	// Ranges and Runs are those that it made since it started.
	Ranges int64     `json:"ranges"`
	Runs   int64     `json:"runs"`
	Seen   time.Time `json:"seen"`
	// Can are the needs that it satisfies.
	Can []string `json:"can"`
}

// Point is how far a campaign was at a time.
type Point struct {
	At         time.Time `json:"at"`
	Runs       int64     `json:"runs"`
	Behaviours int64     `json:"behaviours"`
	Violations int64     `json:"violations"`
}

// Bounds of what is shown.
const (
	mostListed  = 1000
	mostWorkers = 10_000
	mostPoints  = 10_000
)

// List lists campaigns, the newest first, without what came of them.
func (s *Store) List(ctx context.Context) ([]Status, error) {
	rows, err := s.pool.Query(ctx, "select id from redlock_sim.campaign order by id desc limit $1", mostListed)
	if err != nil {
		return nil, fmt.Errorf("failed to list the campaigns: %w", err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return nil, fmt.Errorf("failed to list the campaigns: %w", err)
	}
	list := make([]Status, 0, len(ids))
	for _, id := range ids {
		st, err := s.summary(ctx, id)
		if err != nil {
			return nil, err
		}
		list = append(list, *st)
	}
	return list, nil
}

// Latest is the newest campaign, of those in a state, or of all: "". 0: there is none.
func (s *Store) Latest(ctx context.Context, state string) (id int64, err error) {
	err = s.pool.QueryRow(ctx, "select coalesce(max(id), 0) from redlock_sim.campaign where $1 in (state, '')", state).Scan(&id)
	if err != nil {
		return 0, fmt.Errorf("failed to look for campaigns: %w", err)
	}
	return id, nil
}

// summary is what a list shows.
func (s *Store) summary(ctx context.Context, id int64) (*Status, error) {
	d, err := s.definition(ctx, id)
	if err != nil {
		return nil, err
	}
	r := d.search()
	st := &Status{ID: id, Name: d.Name(), Variant: cmp.Or(r.Variant, d.Lock()), Command: d.command(), World: request.Virtual,
		Need: d.Need(), Guided: !r.Unguided, Target: r.Seeds, Unit: "run"}
	if d.IsLive() {
		st.World, st.Lock, st.Shards = request.Live, d.Lock(), d.Shards
	}
	if d.Request.Audit != nil {
		st.Guided, st.Target, st.Unit = false, uint64(max(d.Shards, 0)), "shard"
	}
	var recent, behaviours, violations int64
	var seconds float64
	// What is merged is summed up already: a campaign may have a million ranges.
	err = s.pool.QueryRow(ctx, `select c.state, left(c.failure, 4000), left(c.build, 200), c.created_at, c.finished_at, c.merged_runs,
			c.merged_runs + coalesce(sum(r.runs), 0)::bigint, c.merged + count(r.range), c.merged_ms + coalesce(sum(r.took_ms), 0)::bigint,
			coalesce((select sum(runs) from redlock_sim.result l where l.campaign = c.id and l.at > now() - interval '1 minute'), 0)::bigint,
			least(60, extract(epoch from coalesce(c.finished_at, now()) - c.created_at))::float8,
			coalesce((select max(epoch) from redlock_sim.epoch e where e.campaign = c.id), 0),
			coalesce((select behaviours from redlock_sim.point p where p.campaign = c.id order by at desc limit 1), 0),
			c.merged_violations + coalesce(sum(r.violations), 0)::bigint,
			exists (select from redlock_sim.worker w where w.build = c.build and $2 = any(w.can) and w.seen_at > now() - $3::interval)
		from redlock_sim.campaign c left join redlock_sim.result r on r.campaign = c.id and r.range >= c.merged
		where c.id = $1 group by c.id`, id, st.Need, s.timing.LostAfter).
		Scan(&st.State, &st.Failure, &st.Build, &st.Created, &st.Finished,
			&st.Merged, &st.Runs, &st.Ranges, &st.WorkMS, &recent, &seconds, &st.Epoch, &behaviours, &violations, &st.Able)
	if err != nil {
		return nil, fmt.Errorf("failed to look at the campaign: %w", err)
	}
	st.Behaviours, st.Violations = uint64(max(behaviours, 0)), uint64(max(violations, 0))
	st.Refused = st.Build != s.build
	if st.State == Running && seconds > 0 {
		st.Rate = float64(recent) / seconds
		if st.Rate > 0 && st.Target > st.Runs {
			st.LeftMS = int64(min(1000*float64(st.Target-st.Runs)/st.Rate, 1e15))
		}
	} else if st.Finished != nil {
		if took := st.Finished.Sub(st.Created).Seconds(); took > 0 {
			st.Rate = float64(st.Runs) / took
		}
	}
	return st, nil
}

// Name is the scenario's name, as far as it can be read, or what is done without one.
func (d *Definition) Name() string {
	file := d.search().Scenario
	if d.Scenario == "" && d.IsLive() {
		return d.command()
	}
	if s, err := scenario.Parse(file, []byte(d.Scenario)); err == nil {
		return s.Name
	}
	return file
}

// Status is how far a campaign is.
func (s *Store) Status(ctx context.Context, id int64) (*Status, error) {
	st, err := s.summary(ctx, id)
	if err != nil {
		return nil, err
	}
	if st.Shards > 0 {
		if st.Classes, err = s.classes(ctx, id); err != nil {
			return nil, err
		}
	} else {
		r, err := s.Report(ctx, id)
		if err != nil {
			return nil, err
		}
		st.Behaviours, st.Classes, st.Found = uint64(r.Behaviours), r.Classes, r.Found
		st.Merged = r.Runs
	}
	if st.Workers, err = s.workers(ctx); err != nil {
		return nil, err
	}
	rows, err := s.pool.Query(ctx,
		"select at, runs, behaviours, violations from redlock_sim.point where campaign = $1 order by at limit $2", id, mostPoints)
	if err != nil {
		return nil, fmt.Errorf("failed to look at the campaign: %w", err)
	}
	if st.Points, err = pgx.CollectRows(rows, pgx.RowToStructByPos[Point]); err != nil {
		return nil, fmt.Errorf("failed to look at the campaign: %w", err)
	}
	return st, nil
}

// workers are those that are alive.
func (s *Store) workers(ctx context.Context) ([]WorkerStatus, error) {
	rows, err := s.pool.Query(ctx, `
		select left(id, 100), left(host, 100), pid, left(build, 200), slots, busy, ranges, runs, seen_at, can[1:100]
		from redlock_sim.worker where seen_at > now() - $1::interval order by host, pid limit $2`, s.timing.LostAfter, mostWorkers)
	if err != nil {
		return nil, fmt.Errorf("failed to look for workers: %w", err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[WorkerStatus])
	if err != nil {
		return nil, fmt.Errorf("failed to look for workers: %w", err)
	}
	return list, nil
}

// Report is what came of the ranges that are merged.
func (s *Store) Report(ctx context.Context, id int64) (explore.Report, error) {
	var packed []byte
	err := s.pool.QueryRow(ctx, "select part from redlock_sim.total where campaign = $1", id).Scan(&packed)
	if errors.Is(err, pgx.ErrNoRows) {
		return explore.Report{}, ErrNone
	}
	if err != nil {
		return explore.Report{}, fmt.Errorf("failed to read what came of the campaign: %w", err)
	}
	sum := &explore.Part{}
	if err := unpack(packed, sum); err != nil {
		return explore.Report{}, err
	}
	if err := sum.Check(); err != nil {
		return explore.Report{}, err
	}
	return sum.Report(), nil
}

// Definition is that of a campaign, which can be carried out.
func (s *Store) Definition(ctx context.Context, id int64) (*Definition, error) {
	d, err := s.definition(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := d.Check(); err != nil {
		return nil, fmt.Errorf("campaign %d cannot be carried out: %w", id, err)
	}
	return d, nil
}
