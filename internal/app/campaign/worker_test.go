package campaign

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/explore"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

// TestOtherBuild leaves alone what another build has begun.
func TestOtherBuild(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	config := newDatabase(t)
	one, two := open(t, config, "one"), open(t, config, "two")
	d := definition(t, true)
	d.Request.Search.Seeds = 200
	first, err := one.Create(ctx, d)
	if err != nil {
		t.Fatal(err)
	}
	second, err := two.Create(ctx, d)
	if err != nil {
		t.Fatal(err)
	}
	w := work(t, two, 1)
	defer w.Stop()
	over(t, two, second)
	wantAlone(t, two, second, &d)
	st, err := two.Status(ctx, first)
	if err != nil || st.State != Running || st.Ranges != 0 || !st.Refused {
		t.Errorf("%+v, %v", st, err)
	}
	own := work(t, one, 1)
	defer own.Stop()
	over(t, one, first)
	wantAlone(t, one, first, &d)
	metrics := httptest.NewRecorder()
	one.Metrics().ServeHTTP(metrics, httptest.NewRequest("GET", "/metrics", nil))
	for _, want := range []string{`sim_campaign_runs_total{campaign="1",scenario="gc-pause",variant="fenced"} 200`,
		`sim_campaign_running{campaign="2",scenario="gc-pause",variant="fenced"} 0`, "sim_worker_slots{"} {
		if !strings.Contains(metrics.Body.String(), want) {
			t.Errorf("the figures lack %q:\n%s", want, metrics.Body)
		}
	}
}

// TestCancel ends ranges that are being made, and takes nothing more.
func TestCancel(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := open(t, newDatabase(t), "one")
	d := definition(t, true)
	id, err := s.Create(ctx, d)
	if err != nil {
		t.Fatal(err)
	}
	begun := make(chan struct{}, int(d.Request.Search.Seeds))
	s.make = func(ctx context.Context, _, _ uint64) (*explore.Made, error) {
		begun <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	}
	w := work(t, s, 2)
	defer w.Stop()
	suite.Receive(t, "the begin of a range", begun)
	if err := s.Cancel(ctx, id); err != nil {
		t.Fatal(err)
	}
	suite.Eventually(t, "an empty queue", func() bool {
		var left int
		return s.pool.QueryRow(ctx,
			"select count(*) from redlock_sim.river_job where state not in ('completed', 'cancelled')").Scan(&left) == nil && left == 0
	})
	if st, err := s.Status(ctx, id); err != nil || st.State != Cancelled || st.Ranges != 0 {
		t.Errorf("%+v, %v", st, err)
	}
	if err := s.Cancel(ctx, id); !errors.Is(err, ErrOver) {
		t.Errorf("cancelled twice: %v", err)
	}
	if err := s.Cancel(ctx, 99); !errors.Is(err, ErrNone) {
		t.Errorf("cancelled what is not there: %v", err)
	}
}

// TestStop hands ranges back at once, and counts no attempt.
func TestStop(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	config := newDatabase(t)
	s := open(t, config, "one")
	id, d := begin(t, s, 300)
	begun := make(chan struct{}, int(d.Request.Search.Seeds))
	s.make = func(ctx context.Context, _, _ uint64) (*explore.Made, error) {
		begun <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	}
	w := work(t, s, 2)
	suite.Receive(t, "the begin of a range", begun)
	w.Stop()
	var waiting, attempts int
	const available = "select count(*), max(attempt) from redlock_sim.river_job where state = 'available'"
	if err := s.pool.QueryRow(ctx, available).Scan(&waiting, &attempts); err != nil || waiting != 6 || attempts != 0 {
		t.Errorf("%d jobs wait, after %d attempts, want 6 after none (%v)", waiting, attempts, err)
	}
	if st, err := s.Status(ctx, id); err != nil || len(st.Workers) != 0 {
		t.Errorf("%+v, %v", st, err)
	}
	other := work(t, open(t, config, "one"), 2)
	defer other.Stop()
	over(t, s, id)
	wantAlone(t, s, id, &d)
}

// TestJobThatNeverArrived: River gave a worker a job, and the answer to the worker's question was lost. The job
// says that it is running, the worker lives, and knows nothing of it.
func TestJobThatNeverArrived(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := open(t, newDatabase(t), "one")
	id, d := begin(t, s, 300)
	begun, goOn := make(chan struct{}, 6), make(chan struct{})
	wait(t, s, &d, func(uint64, uint64) {
		begun <- struct{}{}
		<-goOn
	})
	w := work(t, s, 1)
	defer w.Stop()
	suite.Receive(t, "the begin of a range", begun)
	tag, err := s.pool.Exec(ctx, `update redlock_sim.river_job
		set state = 'running', attempt = 1, attempted_at = now(), attempted_by = array[$1]
		where id = (select max(id) from redlock_sim.river_job where state = 'available')`, w.ID)
	if err != nil || tag.RowsAffected() != 1 {
		t.Fatalf("%v, %v", tag, err)
	}
	close(goOn)
	began := time.Now()
	over(t, s, id)
	t.Logf("all ranges were made within %v", time.Since(began))
	wantAlone(t, s, id, &d)
}

// TestJobOfALongRange stays the worker's who is at it, however long that takes.
func TestJobOfALongRange(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	timing := Timing{LostAfter: 5 * time.Second, Tend: quick.Tend}
	s, err := Open(ctx, newDatabase(t), "one", timing)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	id, d := begin(t, s, 100)
	goOn := make(chan struct{})
	wait(t, s, &d, func(uint64, uint64) { <-goOn })
	w := work(t, s, 2)
	defer w.Stop()
	suite.Eventually(t, "the worker to tell of its jobs for three beats", func() bool {
		var so bool
		err := s.pool.QueryRow(ctx, "select cardinality(jobs) = 2 and seen_at > started_at + $1::interval from redlock_sim.worker",
			3*timing.beat()).Scan(&so)
		return err == nil && so
	})
	time.Sleep(5 * quick.Tend)
	var jobs int
	if err := s.pool.QueryRow(ctx, "select count(*) from redlock_sim.river_job").Scan(&jobs); err != nil || jobs != 2 {
		t.Errorf("%d jobs for 2 ranges (%v)", jobs, err)
	}
	close(goOn)
	over(t, s, id)
	wantAlone(t, s, id, &d)
}

// TestOldTables are made new, with what is in them.
func TestOldTables(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	config := newDatabase(t)
	s := open(t, config, "one")
	id, d := begin(t, s, 100)
	r := d.Request.Search
	old, err := json.Marshal(map[string]any{"scenario": d.Scenario, "file": r.Scenario, "variant": r.Variant, "properties": r.Properties,
		"unguided": r.Unguided, "first": r.Seed, "runs": r.Seeds, "range_runs": d.RangeRuns, "epoch_ranges": d.EpochRanges})
	if err != nil {
		t.Fatal(err)
	}
	audit, err := s.Create(ctx, audited(3, "d1"))
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{
		"alter table redlock_sim.worker drop column jobs", "update redlock_sim.version set version = 1",
		fmt.Sprintf("update redlock_sim.campaign set definition = $old$%s$old$ where id = %d", old, id),
		fmt.Sprintf(`update redlock_sim.campaign set definition = '{"real": {"command": "audit", "lock": "ours", "digest": "d1", "shards": 3,
			"nodes": "process"}, "scenario": "", "file": "", "variant": "", "properties": null, "first": 7, "runs": 0, "range_runs": 0,
			"epoch_ranges": 0}' where id = %d`, audit),
	} {
		if _, err := s.pool.Exec(ctx, statement); err != nil {
			t.Fatal(err)
		}
	}
	s = open(t, config, "one")
	if got, err := s.Definition(ctx, id); err != nil || request.Difference(got.Request.Search, r) != "" {
		t.Errorf("%+v, %v; want %+v", got, err, d)
	}
	need := needOf(false, "ours", "d1")
	if got, err := s.Definition(ctx, audit); err != nil || got.Check() != nil || got.Need() != need || got.Request.Audit.Seed != 7 {
		t.Errorf("%+v, %v", got, err)
	}
	w := work(t, s, 1)
	defer w.Stop()
	over(t, s, id)
	wantAlone(t, s, id, &d)
	if _, err := s.pool.Exec(ctx, "update redlock_sim.version set version = 99"); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(ctx, config.Copy(), "one", quick); !errors.Is(err, ErrNewer) {
		t.Errorf("tables of a newer sim: %v", err)
	}
}

// TestFailure ends a campaign whose runs go wrong in sim itself, and says where.
func TestFailure(t *testing.T) {
	t.Parallel()
	s := open(t, newDatabase(t), "one")
	d := definition(t, true)
	id, err := s.Create(context.Background(), d)
	if err != nil {
		t.Fatal(err)
	}
	s.make = func(context.Context, uint64, uint64) (*explore.Made, error) { panic("out of order") }
	w := work(t, s, 1)
	defer w.Stop()
	if st := over(t, s, id); st.State != Failed || !strings.Contains(st.Failure, "range ") || !strings.Contains(st.Failure, "out of order") {
		t.Errorf("%+v", st)
	}
}

// TestUntrusted refuses definitions that a database may hold.
func TestUntrusted(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Definition){
		"a lock program": func(d *Definition) {
			d.Scenario, d.Request.Search.Variant = "name: evil\ntitle: x\nlock: {program: {command: [touch, evil]}, ttl: 1s}\n"+
				"expect: {exclusive-lease: holds}\n", scenario.DefaultVariant
		},
		"no runs":      func(d *Definition) { d.Request.Search.Seeds = 0 },
		"many runs":    func(d *Definition) { d.Request.Search.Seeds = MostRuns + 1 },
		"large ranges": func(d *Definition) { d.RangeRuns = mostRangeRuns + 1 },
		"no property":  func(d *Definition) { d.Request.Search.Properties = nil },
		"a property":   func(d *Definition) { d.Request.Search.Properties[0] = "<script>" },
		"a fault":      func(d *Definition) { d.Request.Search.Kinds = []string{"rm -rf"} },
		"a variant":    func(d *Definition) { d.Request.Search.Variant = "none" },
		"no scenario":  func(d *Definition) { d.Scenario = "" },
		"a large text": func(d *Definition) { d.Scenario += strings.Repeat("# more\n", mostText) },
	} {
		d := definition(t, true)
		change(&d)
		_, err := d.Search()
		if err == nil || name == "a lock program" && !strings.Contains(err.Error(), "its lock is a program") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
