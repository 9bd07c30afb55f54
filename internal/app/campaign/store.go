package campaign

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/redlock-sim/redlock-sim/internal/explore"
)

// schema is where all tables are, so that a database may have others, too.
const schema = "redlock_sim"

//go:embed schema.sql
var tables string

//go:embed schema2.sql
var tables2 string

//go:embed schema3.sql
var tables3 string

// steps make the tables, one after the other.
var steps = []string{tables, tables2, tables3}

// tablesVersion is the version of the tables.
const tablesVersion = 2

// Store is a database with campaigns.
type Store struct {
	pool   *pgxpool.Pool
	driver *riverpgxv5.Driver
	// build is that of this program.
	build string
	// insert makes jobs; it carries none out.
	insert *river.Client[pgx.Tx]
	timing Timing
	// make makes the runs of a range in the place of the search, in a benchmark of the database; nil: the
	// search does.
	make func(ctx context.Context, first, runs uint64) (*explore.Made, error)
}

// Timing says how soon things are noticed. Zero values take the defaults.
type Timing struct {
	// LostAfter is how long a worker may be silent before others take over its ranges.
	LostAfter time.Duration
	// Tend is how often somebody looks after each campaign.
	Tend time.Duration
}

const (
	lostAfter = 15 * time.Second
	tend      = time.Second
)

// leastIdle is how long a transaction may stand still in any case: the machine may be busy.
const leastIdle = 5 * time.Second

// beat is how often a worker says that it is there.
func (t Timing) beat() time.Duration { return t.LostAfter / 5 }

// ErrNewer says that a database was made by a newer sim.
var ErrNewer = errors.New("the tables in the database are those of a newer sim")

// Open connects to a database, and makes the tables where there are none. Build names this
// program: campaigns of others are shown, and not carried out.
func Open(ctx context.Context, config *pgxpool.Config, build string, timing Timing) (*Store, error) {
	if timing.LostAfter == 0 {
		timing.LostAfter = lostAfter
	}
	if timing.Tend == 0 {
		timing.Tend = tend
	}
	// A process that stands still within a transaction would keep others from its rows.
	config = config.Copy()
	limit := fmt.Sprintf("set idle_in_transaction_session_timeout = %d", max(timing.LostAfter, leastIdle).Milliseconds())
	config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, limit)
		return err
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("failed to connect to the database: %w", err)
	}
	s := &Store{pool: pool, driver: riverpgxv5.New(pool), build: build, timing: timing}
	if err := s.migrate(ctx); err != nil {
		pool.Close()
		return nil, err
	}
	// It has no queues, so it neither listens nor leads.
	s.insert, err = river.NewClient(s.driver, &river.Config{Schema: schema, Logger: silent()})
	if err != nil {
		pool.Close()
		return nil, fmt.Errorf("failed to set up jobs: %w", err)
	}
	return s, nil
}

// silent logs nothing: what goes wrong is told by those who wait for it.
func silent() *slog.Logger { return slog.New(slog.DiscardHandler) }

// Close disconnects.
func (s *Store) Close() { s.pool.Close() }

// migrationLock keeps two processes from making the tables at once.
const migrationLock = 0x7265646c6f636b

// migrate makes the tables.
func (s *Store) migrate(ctx context.Context) error {
	if made, err := s.stepsMade(ctx); made == len(steps) || err != nil {
		return err
	}
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("failed to connect to the database: %w", err)
	}
	defer conn.Release()
	if _, err := conn.Exec(ctx, "select pg_advisory_lock($1)", int64(migrationLock)); err != nil {
		return fmt.Errorf("failed to lock the database: %w", err)
	}
	defer func() {
		_, _ = conn.Exec(context.WithoutCancel(ctx), "select pg_advisory_unlock($1)", int64(migrationLock))
	}()
	made, err := s.stepsMade(ctx)
	if err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, "create schema if not exists "+schema); err != nil {
		return fmt.Errorf("failed to make the tables: %w", err)
	}
	m, err := rivermigrate.New(s.driver, &rivermigrate.Config{Schema: schema, Logger: silent()})
	if err == nil {
		_, err = m.Migrate(ctx, rivermigrate.DirectionUp, nil)
	}
	if err != nil {
		return fmt.Errorf("failed to make River's tables: %w", err)
	}
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		for _, statements := range steps[made:] {
			if _, err := tx.Exec(ctx, statements); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("failed to make the tables: %w", err)
	}
	return nil
}

// stepsMade is how many of the steps have been made.
func (s *Store) stepsMade(ctx context.Context) (int, error) {
	var version, columns int
	err := s.pool.QueryRow(ctx, `select version, (select count(*) from information_schema.columns
		where table_schema = 'redlock_sim' and table_name = 'worker' and column_name = 'jobs') from redlock_sim.version`).Scan(&version, &columns)
	var refused *pgconn.PgError
	switch {
	case errors.As(err, &refused) && (refused.Code == "42P01" || refused.Code == "3F000"): // no such table, no such schema
		return 0, nil
	case err != nil:
		return 0, fmt.Errorf("failed to connect to the database: %w", err)
	case version > tablesVersion:
		return 0, fmt.Errorf("%w: version %d, this sim knows %d", ErrNewer, version, tablesVersion)
	}
	if version == tablesVersion {
		return len(steps), nil
	}
	return 1 + columns, nil
}

// Create begins a campaign.
func (s *Store) Create(ctx context.Context, d Definition) (id int64, err error) {
	if err := d.Check(); err != nil {
		return 0, err
	}
	text, err := json.Marshal(&d)
	if err != nil {
		return 0, fmt.Errorf("failed to write the campaign: %w", err)
	}
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		err := tx.QueryRow(ctx, "insert into redlock_sim.campaign (build, definition) values ($1, $2) returning id", s.build, text).Scan(&id)
		if err != nil {
			return err
		}
		part, err := pack(&explore.Part{First: d.search().Seed})
		if err != nil {
			return err
		}
		ground, err := pack(&explore.Ground{})
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "insert into redlock_sim.total values ($1, $2, $3)", id, part, ground); err != nil {
			return err
		}
		first := d.next(nil)
		return addEpoch(ctx, tx, id, &first, ground)
	})
	if err != nil {
		return 0, fmt.Errorf("failed to begin the campaign: %w", err)
	}
	_, err = s.tend(ctx, id)
	return id, err
}

func addEpoch(ctx context.Context, tx pgx.Tx, id int64, e *epoch, ground []byte) error {
	_, err := tx.Exec(ctx, "insert into redlock_sim.epoch values ($1, $2, $3, $4, $5, $6, $7, $8)",
		id, e.number, e.firstRange, e.ranges, e.firstRun, e.rangeRuns, e.runs, ground)
	return err
}

// ErrNone says that there is no such campaign.
var ErrNone = errors.New("there is no such campaign")

// ErrOver says that a campaign is over.
var ErrOver = errors.New("the campaign is over")

// Cancel ends a campaign. What was merged by then stays.
func (s *Store) Cancel(ctx context.Context, id int64) error { return s.end(ctx, id, Cancelled, "") }

// end ends a campaign that is running.
func (s *Store) end(ctx context.Context, id int64, state, failure string) error {
	tag, err := s.pool.Exec(ctx,
		"update redlock_sim.campaign set state = $2, failure = $3, finished_at = now() where id = $1 and state = 'running'", id, state, failure)
	if err != nil {
		return fmt.Errorf("failed to end the campaign: %w", err)
	}
	if tag.RowsAffected() > 0 {
		return nil
	}
	var there bool
	if err := s.pool.QueryRow(ctx, "select exists (select from redlock_sim.campaign where id = $1)", id).Scan(&there); err != nil {
		return fmt.Errorf("failed to end the campaign: %w", err)
	}
	if !there {
		return ErrNone
	}
	return ErrOver
}

// The states of a campaign.
const (
	Running   = "running"
	Done      = "done"
	Cancelled = "cancelled"
	Failed    = "failed"
)

// definition is that of a campaign.
func (s *Store) definition(ctx context.Context, id int64) (*Definition, error) {
	var text []byte
	err := s.pool.QueryRow(ctx, "select definition from redlock_sim.campaign where id = $1 and length(definition::text) <= $2",
		id, 2*mostText).Scan(&text)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, ErrNone
	}
	if err != nil {
		return nil, fmt.Errorf("failed to read the campaign: %w", err)
	}
	d := &Definition{}
	if err := json.Unmarshal(text, d); err != nil {
		return nil, fmt.Errorf("failed to read the campaign: %w", err)
	}
	return d, nil
}
