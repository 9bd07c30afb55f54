package campaign

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"crypto/rand"
	"crypto/sha256"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"

	"github.com/redlock-sim/redlock-sim/internal/explore"
)

// rangeArgs are those of a job: one range of runs.
type rangeArgs struct {
	Campaign int64 `json:"campaign"`
	Range    int64 `json:"range"`
	// Real says that it is a shard of work among real servers.
	Real bool `json:"real,omitempty"`
}

// Kind implements river.JobArgs.
func (rangeArgs) Kind() string { return "sim_range" }

// queueOf is the queue of a build and a need: so a worker gets no job of a campaign that it cannot repeat or carry out.
func queueOf(build, need string) string {
	return fmt.Sprintf("sim_%x", sha256.Sum256([]byte(build+"\n"+need)))[:20]
}

const (
	// jobTimeout ends a job that does not come to its end. A range is made to last some 10 s on the machine that
	// began the campaign; others are slower, or busy.
	jobTimeout = 10 * time.Minute
	// rescueAfter is when River takes a job back by its age alone. That a worker is silent, or does not carry a job out
	// that it got, is noticed long before that.
	rescueAfter = 11 * time.Minute
	// retryAfter is when a job that went wrong is tried again.
	retryAfter = time.Second
)

// retries is River's policy for jobs that went wrong.
type retries struct{}

func (retries) NextRetry(*rivertype.JobRow) time.Time { return time.Now().Add(retryAfter) }

// Worker carries out ranges of runs in this process.
type Worker struct {
	*Store
	// ID names it.
	ID    string
	slots int
	// needs are what campaigns may need for this worker to work on them. Real does shards among real servers; nil: the
	// worker makes runs in the virtual world.
	needs []string
	real  *Doer
	// trouble is told when something goes wrong that is tried again, and when it does no more: nil.
	trouble func(error)

	client  *river.Client[pgx.Tx]
	stop    context.CancelFunc
	stopped sync.WaitGroup
	// look asks for a look at the campaigns at once.
	look chan struct{}

	busy, ranges, runs atomic.Int64

	mu       sync.Mutex
	searches map[int64]*carried
	// underway are the jobs that are carried out, and those that were in the last two beats.
	underway map[int64]underway
	troubled bool
	closing  atomic.Bool
}

// carried is a campaign that the worker knows.
type carried struct {
	search explore.Search
	// e is the epoch of the last range, ground what its runs know.
	e      epoch
	ground *explore.Ground
}

type underway struct {
	campaign int64
	end      context.CancelCauseFunc
	// over is when it was over; zero: it is not.
	over time.Time
}

// Start begins to carry out ranges, so many at once. Trouble is told of what goes wrong and is tried
// again, and nil when it goes well again; it may be nil.
func (s *Store) Start(ctx context.Context, slots int, trouble func(error)) (*Worker, error) {
	return s.start(ctx, &Worker{slots: slots, needs: []string{virtual}, trouble: trouble})
}

// StartReal begins to do shards among real servers, one after the other: whoever measures real time needs the machine.
func (s *Store) StartReal(ctx context.Context, do *Doer, trouble func(error)) (*Worker, error) {
	do.free = make(chan struct{}, 1)
	do.free <- struct{}{}
	return s.start(ctx, &Worker{slots: 1, needs: do.Needs(), real: do, trouble: trouble})
}

func (s *Store) start(ctx context.Context, w *Worker) (*Worker, error) {
	w.Store, w.ID, w.look = s, rand.Text(), make(chan struct{}, 1)
	w.searches, w.underway = make(map[int64]*carried), make(map[int64]underway)
	queues := make(map[string]river.QueueConfig)
	for _, need := range w.needs {
		queues[queueOf(s.build, need)] = river.QueueConfig{MaxWorkers: w.slots}
	}
	if w.trouble == nil {
		w.trouble = func(error) {}
	}
	workers := river.NewWorkers()
	river.AddWorker(workers, &ranger{worker: w})
	var err error
	w.client, err = river.NewClient(s.driver, &river.Config{
		ID: w.ID, Schema: schema, Logger: silent(), Workers: workers, Queues: queues,
		JobTimeout: jobTimeout, RescueStuckJobsAfter: rescueAfter, RetryPolicy: retries{}, MaxAttempts: mostAttempts,
		CompletedJobRetentionPeriod: keepJobs, CancelledJobRetentionPeriod: keepJobs, DiscardedJobRetentionPeriod: keepJobs,
	})
	if err != nil {
		return nil, fmt.Errorf("failed to set up jobs: %w", err)
	}
	if err := w.present(ctx); err != nil {
		return nil, err
	}
	own, stop := context.WithCancel(context.WithoutCancel(ctx))
	w.stop = stop
	if err := w.client.Start(own); err != nil {
		stop()
		return nil, fmt.Errorf("failed to begin with jobs: %w", err)
	}
	w.stopped.Go(func() { w.every(own, s.timing.beat(), nil, w.beat) })
	w.stopped.Go(func() { w.every(own, s.timing.Tend, w.look, w.tendAll) })
	return w, nil
}

// keepJobs is how long River keeps a job that is over. Nobody needs it: what came of it is in the table.
const keepJobs = 10 * time.Minute

// every does something now and then, or when asked to.
func (w *Worker) every(ctx context.Context, interval time.Duration, now <-chan struct{}, do func(context.Context) error) {
	t := time.NewTicker(interval)
	defer t.Stop()
	for {
		limited, cancel := context.WithTimeout(ctx, max(10*interval, 5*time.Second))
		err := do(limited)
		cancel()
		if ctx.Err() != nil {
			return
		}
		w.tell(err)
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		case <-now:
		}
	}
}

// tell tells of trouble when it begins and when it ends.
func (w *Worker) tell(err error) {
	w.mu.Lock()
	before := w.troubled
	w.troubled = err != nil
	w.mu.Unlock()
	if (err != nil) != before {
		w.trouble(err)
	}
}

// present says in the table that the worker is there, and which jobs it carries out.
func (w *Worker) present(ctx context.Context) error {
	host, _ := os.Hostname()
	conn, err := w.pool.Acquire(ctx) // that may take a while; what is told is to be true when it is told
	if err != nil {
		return fmt.Errorf("failed to connect to the database: %w", err)
	}
	defer conn.Release()
	_, err = conn.Exec(ctx, `insert into redlock_sim.worker (id, host, pid, build, slots, busy, ranges, runs, can, jobs)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
		on conflict (id) do update set seen_at = now(),
			busy = excluded.busy, ranges = excluded.ranges, runs = excluded.runs, jobs = excluded.jobs`,
		w.ID, cmp.Or(host, "?"), os.Getpid(), w.build, w.slots, w.busy.Load(), w.ranges.Load(), w.runs.Load(), w.needs, w.jobs())
	if err != nil {
		return fmt.Errorf("failed to tell the database of this worker: %w", err)
	}
	return nil
}

// jobs are those that the worker carries out. River takes some time to store that a job is over which was not done, so such a
// job stays for two beats.
func (w *Worker) jobs() []int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.DeleteFunc(w.underway, func(_ int64, u underway) bool { return !u.over.IsZero() && time.Since(u.over) > 2*w.timing.beat() })
	return slices.AppendSeq([]int64{}, maps.Keys(w.underway))
}

// errOver ends a range whose campaign is over.
var errOver = errors.New("the campaign is over")

// beat says that the worker is there, and ends ranges of campaigns that are over.
func (w *Worker) beat(ctx context.Context) error {
	if err := w.present(ctx); err != nil {
		return err
	}
	w.mu.Lock()
	ids := make([]int64, 0, len(w.underway))
	for _, u := range w.underway {
		ids = append(ids, u.campaign)
	}
	w.mu.Unlock()
	rows, err := w.pool.Query(ctx, "select id from redlock_sim.campaign where id = any($1) and state <> 'running'", ids)
	if err != nil {
		return fmt.Errorf("failed to look at the campaigns: %w", err)
	}
	over, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return fmt.Errorf("failed to look at the campaigns: %w", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, id := range over {
		delete(w.searches, id)
		for _, u := range w.underway {
			if u.campaign == id {
				u.end(errOver)
			}
		}
	}
	return nil
}

// tendAll looks after the campaigns that nobody has looked after for a while.
func (w *Worker) tendAll(ctx context.Context) error {
	rows, err := w.pool.Query(ctx,
		"select id from redlock_sim.campaign where state = 'running' and build = $1 and tended_at < now() - $2::interval order by id",
		w.build, w.timing.Tend/2)
	if err != nil {
		return fmt.Errorf("failed to look at the campaigns: %w", err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return fmt.Errorf("failed to look at the campaigns: %w", err)
	}
	var errs []error
	for _, id := range ids {
		for more := true; more; {
			if more, err = w.tend(ctx, id); err != nil {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

// Stop ends the worker. The ranges that are being carried out go back, for others or for later.
func (w *Worker) Stop() {
	w.closing.Store(true)
	within := stopWithin
	if w.real != nil {
		within += StopShardWithin
	}
	limited, cancel := context.WithTimeout(context.Background(), within)
	_ = w.client.StopAndCancel(limited) // where the database is gone, others take over
	cancel()
	w.stop()
	w.stopped.Wait()
	limited, cancel = context.WithTimeout(context.Background(), stopWithin)
	defer cancel()
	_, _ = w.pool.Exec(limited, "update redlock_sim.worker set seen_at = '-infinity', busy = 0 where id = $1", w.ID)
}

// stopWithin bounds how long a worker waits for the database when it ends, StopShardWithin how long a shard may take to put
// everything away.
const (
	stopWithin      = 5 * time.Second
	StopShardWithin = 10 * time.Second
)

// ranger is River's worker for ranges.
type ranger struct {
	river.WorkerDefaults[rangeArgs]
	worker *Worker
}

// Timeout implements river.Worker.
func (r *ranger) Timeout(job *river.Job[rangeArgs]) time.Duration {
	if job.Args.Real {
		return realTimeout
	}
	return 0 // the client's
}

// Work implements river.Worker.
func (r *ranger) Work(ctx context.Context, job *river.Job[rangeArgs]) error {
	w := r.worker
	w.busy.Add(1)
	defer w.busy.Add(-1)
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	w.mu.Lock()
	w.underway[job.ID] = underway{campaign: job.Args.Campaign, end: end}
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		w.underway[job.ID] = underway{campaign: job.Args.Campaign, end: end, over: time.Now()}
		w.mu.Unlock()
	}()
	carryOut := w.carryOut
	if job.Args.Real {
		carryOut = w.doShard
	}
	err := carryOut(ctx, job)
	var snooze *river.JobSnoozeError
	var given *river.JobCancelError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &snooze), errors.As(err, &given):
		return err
	case errors.Is(context.Cause(ctx), errOver), errors.Is(err, errOver):
		return river.JobCancel(errOver)
	case w.closing.Load():
		return river.JobSnooze(0) // it goes back at once, and this was no attempt
	}
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		err = fmt.Errorf("range %d of campaign %d was not done within %v: this machine is too slow for it",
			job.Args.Range, job.Args.Campaign, cmp.Or(r.Timeout(job), jobTimeout))
	}
	w.trouble(err)
	return err
}

// carryOut makes the runs of a range and stores what came of them.
func (w *Worker) carryOut(ctx context.Context, job *river.Job[rangeArgs]) error {
	c, sampled, err := w.carried(ctx, job.Args)
	if err != nil || c == nil {
		return err
	}
	first, runs := c.e.runsOf(job.Args.Range)
	began := time.Now()
	made, err := w.search(ctx, c, sampled, first, runs)
	if err != nil {
		if ctx.Err() == nil { // it would go wrong anywhere
			err = errors.Join(err, w.end(ctx, job.Args.Campaign, Failed, fmt.Sprintf("range %d: %.4000v", job.Args.Range, err)))
		}
		return err
	}
	packed, err := pack(made)
	if err != nil {
		return err
	}
	violations := uint64(0)
	for _, class := range made.Part.Classes {
		violations += class.Runs
	}
	return w.keep(ctx, job, &Brought{Packed: packed, Runs: runs, Violations: violations}, time.Since(began))
}

// keep stores what came of a range.
func (w *Worker) keep(ctx context.Context, job *river.Job[rangeArgs], b *Brought, took time.Duration) error {
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		// Where the database fails just as it commits, the second attempt finds that the range has counted.
		last, err := w.commit(ctx, job, b, took)
		if err == nil {
			w.ranges.Add(1)
			w.runs.Add(int64(b.Runs))
			if last {
				select {
				case w.look <- struct{}{}:
				default:
				}
			}
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		case <-time.After(wait):
		}
	}
}

// search makes the runs. A panic is an error of the campaign, not of the worker.
func (w *Worker) search(ctx context.Context, c *carried, sampled uint, first, runs uint64) (made *explore.Made, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("sim went wrong: %v\n%s", p, debug.Stack())
		}
	}()
	if w.make != nil {
		return w.make(ctx, first, runs)
	}
	return c.search.Range(ctx, c.ground, sampled, first, runs)
}

// wanted reports that a range is done already, and how the campaign's behaviours are sampled so far. It fails with errOver
// where the campaign is not to be worked on.
func (w *Worker) wanted(ctx context.Context, args rangeArgs) (sampled uint, done bool, err error) {
	var state, build string
	err = w.pool.QueryRow(ctx, `select state, build, least(greatest(sampled, 0), 40),
		exists (select from redlock_sim.result where campaign = $1 and range = $2) from redlock_sim.campaign where id = $1`,
		args.Campaign, args.Range).Scan(&state, &build, &sampled, &done)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return 0, false, errOver
	case err != nil:
		return 0, false, fmt.Errorf("failed to look at the campaign: %w", err)
	case !done && (state != Running || build != w.build):
		return 0, false, errOver
	}
	return sampled, done, nil
}

// carried is the campaign of a range, in its epoch, and how its behaviours are sampled so far; nil:
// there is nothing to do.
func (w *Worker) carried(ctx context.Context, args rangeArgs) (c *carried, sampled uint, err error) {
	sampled, done, err := w.wanted(ctx, args)
	if done || err != nil {
		return nil, 0, err
	}
	w.mu.Lock()
	c = w.searches[args.Campaign]
	w.mu.Unlock()
	if c != nil && c.e.has(args.Range) {
		return c, sampled, nil
	}
	if c, err = w.read(ctx, args); err != nil {
		return nil, 0, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.searches[args.Campaign] = c
	return c, sampled, nil
}

// read reads the campaign of a range, and the range's epoch.
func (w *Worker) read(ctx context.Context, args rangeArgs) (c *carried, err error) {
	c = &carried{ground: &explore.Ground{}}
	if c.e, err = epochAt(ctx, w.pool, args.Campaign, args.Range); err != nil {
		return nil, err
	}
	if !c.e.has(args.Range) {
		return nil, fmt.Errorf("range %d is in no epoch", args.Range)
	}
	var ground []byte
	err = w.pool.QueryRow(ctx, "select ground from redlock_sim.epoch where campaign = $1 and epoch = $2",
		args.Campaign, c.e.number).Scan(&ground)
	if err != nil {
		return nil, fmt.Errorf("failed to read an epoch: %w", err)
	}
	if err := unpack(ground, c.ground); err != nil {
		return nil, err
	}
	if err := c.ground.Check(); err != nil {
		return nil, err
	}
	d, err := w.definition(ctx, args.Campaign)
	if err != nil {
		return nil, err
	}
	c.search, err = d.Search()
	return c, err
}

// commit stores what came of a range, and ends its job, in one transaction. Whether the job is still ours
// does not matter: the first result of a range counts, and all are equal. True: few ranges are left that
// have a job.
func (w *Worker) commit(ctx context.Context, job *river.Job[rangeArgs], b *Brought, took time.Duration) (last bool, err error) {
	found, err := json.Marshal(append([]explore.Class{}, b.Found...))
	if err != nil {
		return false, fmt.Errorf("failed to write what came of a range: %w", err)
	}
	err = pgx.BeginFunc(ctx, w.pool, func(tx pgx.Tx) error {
		var queued int64
		err := tx.QueryRow(ctx, `with c as (select id, queued from redlock_sim.campaign where id = $1 and state = 'running'),
			stored as (insert into redlock_sim.result (campaign, range, runs, violations, worker, took_ms, part, found)
				select id, $2, $3, $4, $5, $6, $7, $8 from c on conflict do nothing)
			select coalesce(max(queued), 0) from c`,
			job.Args.Campaign, job.Args.Range, int64(b.Runs), int64(b.Violations), w.ID, took.Milliseconds(), b.Packed, found).Scan(&queued)
		if err != nil {
			return err
		}
		last = queued-job.Args.Range <= int64(2*w.slots)
		_, err = river.JobCompleteTx[*riverpgxv5.Driver](ctx, tx, job)
		if errors.Is(err, rivertype.ErrNotFound) {
			return nil // River has forgotten it
		}
		return err
	})
	if err != nil {
		return false, fmt.Errorf("failed to store what came of a range: %w", err)
	}
	return last, nil
}
