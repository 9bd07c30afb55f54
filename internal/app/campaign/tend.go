package campaign

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"github.com/redlock-sim/redlock-sim/internal/explore"
)

const (
	// mostMerged bounds how many ranges are merged in one transaction.
	mostMerged = 64
	// ahead is how many ranges beyond those that are merged have a job, beside perSlot for each that
	// can be worked on at once: enough for all workers until somebody looks again. A
	// campaign may have a million ranges; most are never in the database before their time.
	ahead   = 64
	perSlot = 8
	// mostAhead bounds it.
	mostAhead = 20_000
	// pointsPer is how many points a campaign has in as long as it has lasted: few are kept of its begin.
	pointsPer = 200
)

// tended is a campaign while somebody looks after it.
type tended struct {
	*Store
	ctx    context.Context
	tx     pgx.Tx
	id     int64
	d      *Definition
	search explore.Search
	e      epoch
	// queued and merged are as in the table.
	queued, merged int64
	mergedRuns     int64
	// mergedMS is how long the ranges took that are merged now, violations how many runs violated something
	// in all that are merged; -1: nothing was merged.
	mergedMS, violations int64
	sampled              int
	over                 bool
}

// tend looks after a campaign: it merges what came of ranges, in their order, begins the next epoch,
// queues jobs, and makes jobs anew that were lost. Two who do so at once do no harm: the second finds nothing
// to do. True: it is worth to look again at once.
func (s *Store) tend(ctx context.Context, id int64) (more bool, err error) {
	d, err := s.definition(ctx, id)
	if err != nil {
		return false, err
	}
	r := d.search()
	search := explore.Search{Properties: d.properties(), First: r.Seed, Drawing: r.Drawing}
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		t := &tended{Store: s, ctx: ctx, tx: tx, id: id, d: d, search: search, violations: -1}
		err := tx.QueryRow(ctx, `select queued, merged, merged_runs from redlock_sim.campaign
			where id = $1 and state = 'running' and build = $2 for no key update skip locked`, id, s.build).Scan(&t.queued, &t.merged, &t.mergedRuns)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil // it is over, or somebody else is at it
		}
		if err != nil {
			return err
		}
		more, err = t.advance()
		return err
	})
	if err != nil {
		return false, fmt.Errorf("failed to look after campaign %d: %w", id, err)
	}
	return more, nil
}

func (t *tended) advance() (more bool, err error) {
	if t.e, err = epochAt(t.ctx, t.tx, t.id, t.merged); err != nil {
		return false, err
	}
	count := 0
	if t.d.IsLive() {
		err = t.endReal()
	} else {
		count, err = t.merge()
	}
	if err != nil {
		return false, err
	}
	if !t.over {
		err = t.fill()
	}
	if err == nil {
		_, err = t.tx.Exec(t.ctx, `update redlock_sim.campaign set queued = $2, merged = $3, merged_runs = $4, sampled = greatest(sampled, $5),
			merged_ms = merged_ms + $6, merged_violations = greatest(merged_violations, $7), tended_at = now() where id = $1`,
			t.id, t.queued, t.merged, t.mergedRuns, t.sampled, t.mergedMS, t.violations)
	}
	return count == mostMerged && !t.over, err
}

// row is what can be asked for one row: a pool, or a transaction.
type row interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// epochAt is the epoch of a range; of the one behind the last range it is the last epoch.
func epochAt(ctx context.Context, from row, id, r int64) (e epoch, err error) {
	err = from.QueryRow(ctx, `select epoch, first_range, ranges, first_run, range_runs, runs from redlock_sim.epoch
		where campaign = $1 and first_range <= $2 order by first_range desc limit 1`, id, r).
		Scan(&e.number, &e.firstRange, &e.ranges, &e.firstRun, &e.rangeRuns, &e.runs)
	switch {
	case err != nil:
		return e, fmt.Errorf("failed to read an epoch: %w", err)
	case e.rangeRuns < 1 || e.rangeRuns > mostRangeRuns || e.firstRun < 0 || r < e.firstRange:
		return e, errors.New("an epoch is damaged")
	}
	return e, nil
}

// merge takes what came of the next ranges, and says of how many.
func (t *tended) merge() (count int, err error) {
	rows, err := t.tx.Query(t.ctx, `select range, took_ms, part from redlock_sim.result
		where campaign = $1 and range >= $2 and range < $3 and part is not null order by range limit $4`,
		t.id, t.merged, t.merged+mostMerged, mostMerged)
	if err != nil {
		return 0, err
	}
	type result struct {
		Range, TookMS int64
		Part          []byte
	}
	results, err := pgx.CollectRows(rows, pgx.RowToStructByPos[result])
	if err != nil || len(results) == 0 || results[0].Range != t.merged {
		return 0, err
	}
	sum, ground, err := t.total()
	if err != nil {
		return 0, err
	}
	parts := []explore.Part{*sum}
	for _, r := range results {
		if r.Range != t.merged || t.merged == t.e.firstRange+t.e.ranges {
			break
		}
		made, err := t.made(r.Part)
		if err != nil {
			return 0, fmt.Errorf("range %d: %w", r.Range, err)
		}
		parts = append(parts, made.Part)
		ground.Learn(made)
		t.merged++
		t.mergedMS += r.TookMS
		count++
	}
	both, err := explore.Merge(parts...)
	if err != nil {
		return 0, err
	}
	if _, err := t.tx.Exec(t.ctx, `update redlock_sim.result set part = null
		where campaign = $1 and range >= $2 and range < $3`, t.id, t.merged-int64(count), t.merged); err != nil {
		return 0, err
	}
	return count, t.store(&both, ground)
}

// total is what came of the ranges that are merged.
func (t *tended) total() (*explore.Part, *explore.Ground, error) {
	var part, ground []byte
	if err := t.tx.QueryRow(t.ctx, "select part, ground from redlock_sim.total where campaign = $1", t.id).Scan(&part, &ground); err != nil {
		return nil, nil, err
	}
	sum, g := &explore.Part{}, &explore.Ground{}
	err := errors.Join(unpack(part, sum), unpack(ground, g))
	if err == nil {
		err = errors.Join(sum.Check(), g.Check())
	}
	return sum, g, err
}

// made reads what came of the next range.
func (t *tended) made(packed []byte) (*explore.Made, error) {
	made := &explore.Made{}
	if err := unpack(packed, made); err != nil {
		return nil, err
	}
	first, runs := t.e.runsOf(t.merged)
	t.mergedRuns += int64(runs)
	return made, made.Check(t.search, first, runs)
}

// store writes the total, ends the campaign after its last run, and begins the next epoch after the last of
// this one.
func (t *tended) store(sum *explore.Part, ground *explore.Ground) error {
	part, err := pack(sum)
	if err != nil {
		return err
	}
	known, err := pack(ground)
	if err != nil {
		return err
	}
	if _, err := t.tx.Exec(t.ctx, "update redlock_sim.total set part = $2, ground = $3 where campaign = $1", t.id, part, known); err != nil {
		return err
	}
	r := sum.Report()
	t.sampled, t.violations = int(sum.Sampled()), int64(r.Violations())
	t.over = r.Runs >= t.d.search().Seeds
	if err := t.point(&r); err != nil || t.merged < t.e.firstRange+t.e.ranges {
		return err
	}
	if t.over {
		_, err := t.tx.Exec(t.ctx, "update redlock_sim.campaign set state = 'done', finished_at = now() where id = $1", t.id)
		return err
	}
	t.e = t.d.next(&t.e)
	return addEpoch(t.ctx, t.tx, t.id, &t.e, known)
}

// point keeps how far the campaign is, where it has come far enough since the last time.
func (t *tended) point(r *explore.Report) error {
	_, err := t.tx.Exec(t.ctx, `insert into redlock_sim.point (campaign, runs, behaviours, violations)
		select c.id, $2, $3, $4 from redlock_sim.campaign c
		where c.id = $1 and ($5 or not exists (select from redlock_sim.point p
			where p.campaign = c.id and p.at > now() - (now() - c.created_at) / $6::float8)) on conflict do nothing`,
		t.id, int64(r.Runs), int64(r.Behaviours), int64(r.Violations()), t.over, float64(pointsPer))
	return err
}

// fill makes jobs for ranges that have none: those that come next, and those whose job was lost, with its
// worker or otherwise.
func (t *tended) fill() error {
	var slots int64
	need := t.d.Need()
	queue := queueOf(t.build, need)
	err := t.tx.QueryRow(t.ctx, `select coalesce(sum(least(slots, 10000)), 0) from redlock_sim.worker
		where build = $1 and seen_at > now() - $2::interval and $3 = any(can)`,
		t.build, t.timing.LostAfter, need).Scan(&slots)
	if err != nil {
		return err
	}
	missing, err := t.lost(queue)
	if err != nil {
		return err
	}
	end := t.e.firstRange + t.e.ranges
	if !t.d.IsLive() { // shards are few, and not merged here
		end = min(t.merged+min(ahead+perSlot*slots, mostAhead), end)
	}
	var jobs []river.InsertManyParams
	job := func(r int64, priority int) {
		jobs = append(jobs, river.InsertManyParams{Args: rangeArgs{Campaign: t.id, Range: r, Real: t.d.IsLive()},
			InsertOpts: &river.InsertOpts{Queue: queue, MaxAttempts: mostAttempts, Priority: priority}})
	}
	for _, r := range missing {
		job(r, atOnce)
	}
	for ; t.queued < end; t.queued++ {
		job(t.queued, inTurn)
	}
	if len(jobs) == 0 {
		return nil
	}
	_, err = t.insert.InsertManyFastTx(t.ctx, t.tx, jobs)
	return err
}

// mostAttempts bounds the attempts of a job. It does not matter: a range whose job is given up gets another.
const mostAttempts = 1000

// River's priorities: ranges that were lost come before others, which cannot be merged without them.
const (
	atOnce = 1
	inTurn = 2
)

// lost are the ranges that had a job, have no result, and have no job any more that somebody carries out or will. A job may say
// that it is running and have lost its worker, which is silent, or have never got to it: the connection broke while it was told. So
// a worker says which jobs it carries out. What it got in the last beat before it did so may be missing there.
func (t *tended) lost(queue string) ([]int64, error) {
	rows, err := t.tx.Query(t.ctx, `
		select r from generate_series($2::bigint, $3::bigint - 1) r
		where not exists (select from redlock_sim.result where campaign = $1 and range = r)
		except
		select (j.args->>'range')::bigint from redlock_sim.river_job j
		where j.queue = $4 and (j.args->>'campaign')::bigint = $1 and (j.state in ('available', 'pending', 'retryable', 'scheduled') or
			j.state = 'running' and exists (select from redlock_sim.worker w
				where w.id = j.attempted_by[array_upper(j.attempted_by, 1)] and w.seen_at > now() - $5::interval
					and (j.id = any(w.jobs) or j.attempted_at > w.seen_at - $6::interval)))
		order by 1`, t.id, t.merged, t.queued, queue, t.timing.LostAfter, t.timing.beat())
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[int64])
}
