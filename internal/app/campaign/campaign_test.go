package campaign

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/explore"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
	"github.com/redlock-sim/redlock-sim/internal/world/live/postgres"
)

// database is the server of all tests; each has a database of its own.
var database = sync.OnceValues(func() (*postgres.Kept, error) {
	return postgres.OpenKept(context.Background(), filepath.Join(folder, "database"))
})

var folder string

func TestMain(m *testing.M) {
	if url := os.Getenv(workerVariable); url != "" {
		beWorker(url)
	}
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	var err error
	if folder, err = os.MkdirTemp("", "campaign-"); err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	code := suite.Live(m).Run()
	if k, err := database(); err == nil {
		k.Close()
	}
	return code
}

var databases atomic.Int64

// newDatabase is how to connect to an empty database.
func newDatabase(tb testing.TB) *pgxpool.Config {
	tb.Helper()
	if _, err := postgres.FindPostgres(); err != nil {
		suite.Lacks(tb, "PostgreSQL")
	}
	k, err := database()
	if err != nil {
		tb.Fatal(err)
	}
	config := poolOf(tb, k)
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		tb.Fatal(err)
	}
	defer pool.Close()
	name := fmt.Sprintf("test_%d", databases.Add(1))
	if _, err := pool.Exec(context.Background(), "create database "+name); err != nil {
		tb.Fatal(err)
	}
	config = config.Copy()
	config.ConnConfig.Database = name
	return config
}

func poolOf(tb testing.TB, k *postgres.Kept) *pgxpool.Config {
	tb.Helper()
	config, err := Local(k)
	if err != nil {
		tb.Fatal(err)
	}
	return config
}

// quick notices what is lost soon.
var quick = Timing{LostAfter: time.Second, Tend: 50 * time.Millisecond}

func open(tb testing.TB, config *pgxpool.Config, build string) *Store {
	tb.Helper()
	s, err := Open(context.Background(), config.Copy(), build, quick)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.Close)
	return s
}

func work(tb testing.TB, s *Store, slots int) *Worker {
	tb.Helper()
	w, err := s.Start(context.Background(), slots, func(err error) { tb.Log("trouble:", err) })
	if err != nil {
		tb.Fatal(err)
	}
	return w
}

// definition is a search of few runs.
func definition(tb testing.TB, unguided bool) Definition {
	tb.Helper()
	s, err := scenario.Load("../../../scenarios/gc-pause.yaml")
	if err != nil {
		tb.Fatal(err)
	}
	r := &request.Search{World: request.Virtual, Drawing: explore.Drawing{Unguided: unguided}, Seed: 7, Seeds: 3000,
		Target: request.Target{Scenario: s.File, Variant: "fenced"}}
	for _, p := range checker.Demanded(checker.Subject{}) {
		r.Properties = append(r.Properties, string(p))
	}
	return Definition{Request: request.Of(r), Scenario: s.Text, RangeRuns: 50, EpochRanges: 16}
}

// begin begins a search of so many runs without guidance.
func begin(tb testing.TB, s *Store, runs uint64) (id int64, d Definition) {
	tb.Helper()
	d = definition(tb, true)
	d.Request.Search.Seeds = runs
	id, err := s.Create(context.Background(), d)
	if err != nil {
		tb.Fatal(err)
	}
	return id, d
}

// wait has the workers of a store wait before each range.
func wait(tb testing.TB, s *Store, d *Definition, before func(first, runs uint64)) {
	tb.Helper()
	search, err := d.Search()
	if err != nil {
		tb.Fatal(err)
	}
	s.make = func(ctx context.Context, first, runs uint64) (*explore.Made, error) {
		before(first, runs)
		return search.Range(ctx, nil, 0, first, runs)
	}
}

// alone is what one process finds, without a database.
func alone(tb testing.TB, d *Definition) explore.Report {
	tb.Helper()
	search, err := d.Search()
	if err != nil {
		tb.Fatal(err)
	}
	sum, ground, last := explore.Part{First: d.Request.Search.Seed}, &explore.Ground{}, (*epoch)(nil)
	for runs := uint64(0); runs < d.Request.Search.Seeds; {
		e := d.next(last)
		made, err := search.Range(context.Background(), ground, sum.Sampled(), runs, uint64(e.runs))
		if err != nil {
			tb.Fatal(err)
		}
		if sum, err = explore.Merge(sum, made.Part); err != nil {
			tb.Fatal(err)
		}
		ground.Learn(made)
		last, runs = &e, runs+uint64(e.runs)
	}
	if d.Request.Search.Unguided {
		whole, err := search.Run(context.Background())
		if err != nil {
			tb.Fatal(err)
		}
		if !reflect.DeepEqual(whole, sum.Report()) {
			tb.Fatalf("ranges differ from a search")
		}
	}
	return sum.Report()
}

// over waits until a campaign is over. Each of its steps may take as long as a test waits.
func over(tb testing.TB, s *Store, id int64) (st *Status) {
	tb.Helper()
	for made := int64(-1); st == nil || st.State == Running; made = st.Ranges {
		suite.Succeeds(tb, "the next range of a campaign", func() (err error) {
			if st, err = s.Status(context.Background(), id); err == nil && st.State == Running && st.Ranges == made {
				err = fmt.Errorf("%+v", st)
			}
			return err
		})
	}
	return st
}

// wantAlone wants what one process would have found, and each range once.
func wantAlone(tb testing.TB, s *Store, id int64, d *Definition) {
	tb.Helper()
	got, err := s.Report(context.Background(), id)
	if err != nil {
		tb.Fatal(err)
	}
	if want := alone(tb, d); !reflect.DeepEqual(got, want) {
		tb.Errorf("the campaign found\n%+v\nwant\n%+v", got, want)
	}
	var runs, ranges, last int64
	if err := s.pool.QueryRow(context.Background(), "select sum(runs), count(*), max(range) from redlock_sim.result where campaign = $1",
		id).Scan(&runs, &ranges, &last); err != nil {
		tb.Fatal(err)
	}
	if runs != int64(d.Request.Search.Seeds) || ranges != last+1 {
		tb.Errorf("%d runs in %d ranges, of which the last is number %d", runs, ranges, last)
	}
}

func TestCampaign(t *testing.T) {
	t.Parallel()
	for name, unguided := range map[string]bool{"unguided": true, "guided": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := newDatabase(t)
			s := open(t, config, "one")
			d := definition(t, unguided)
			id, err := s.Create(context.Background(), d)
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				defer work(t, open(t, config, "one"), 2).Stop()
			}
			st := over(t, s, id)
			runs := d.Request.Search.Seeds
			if st.State != Done || st.Runs != runs || st.Merged != runs || st.Violations == 0 || len(st.Points) == 0 || len(st.Workers) != 2 {
				t.Errorf("%+v", st)
			}
			wantAlone(t, s, id, &d)
		})
	}
}
