package campaign

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/live/postgres"
	"github.com/redlock-sim/redlock-sim/internal/world/live/proxy"
)

// workerVariable has a process of these tests be a worker of the database at its value.
const workerVariable = "CAMPAIGN_TEST_WORKER"

const testBuild = "tested"

// beWorker works until it is killed.
func beWorker(url string) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		panic(err)
	}
	config.ConnConfig.ConnectTimeout = 2 * time.Second
	for {
		s, err := Open(context.Background(), config, testBuild, quick)
		if err == nil {
			_, err = s.Start(context.Background(), 2, nil)
		}
		if err == nil {
			select {}
		}
		time.Sleep(50 * time.Millisecond) // the database may be away
	}
}

// fleet are workers, each a process with a link of its own to a database that can be struck.
type fleet struct {
	t     *testing.T
	dir   string
	links *proxy.Proxies

	mu   sync.Mutex
	kept *postgres.Kept

	workers []*machine.Child
	store   *Store
}

func newFleet(t *testing.T, workers int) *fleet {
	t.Helper()
	if _, err := postgres.FindPostgres(); err != nil {
		suite.Lacks(t, "PostgreSQL")
	}
	f := &fleet{t: t, dir: filepath.Join(t.TempDir(), "database"), links: proxy.New()}
	t.Cleanup(f.end)
	f.startDatabase()
	f.store = open(t, f.config("test"), testBuild)
	for i := range workers {
		f.workers = append(f.workers, f.start(i))
	}
	return f
}

func (f *fleet) end() {
	for _, w := range f.workers {
		_ = w.Kill()
	}
	f.links.Close()
	if f.kept != nil {
		f.kept.Close()
	}
}

func (f *fleet) startDatabase() {
	f.t.Helper()
	k, err := postgres.OpenKept(context.Background(), f.dir)
	if err != nil {
		f.t.Fatal(err)
	}
	if !k.Started() {
		f.t.Fatal("somebody else has started the database")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.kept = k
}

func (f *fleet) dial(ctx context.Context) (net.Conn, error) {
	f.mu.Lock()
	k := f.kept
	f.mu.Unlock()
	return k.Dial(ctx, "", "")
}

// url is the database's address, as a process gets to it by a link.
func (f *fleet) url(from string) string {
	f.t.Helper()
	address, err := f.links.Open(from, "database", f.dial, nil)
	if err != nil {
		f.t.Fatal(err)
	}
	return strings.Replace(f.kept.URL(), "127.0.0.1:5432", address, 1)
}

func (f *fleet) config(from string) *pgxpool.Config {
	f.t.Helper()
	config, err := pgxpool.ParseConfig(f.url(from))
	if err != nil {
		f.t.Fatal(err)
	}
	return config
}

func linkOf(i int) string { return fmt.Sprintf("worker-%d", i) }

func (f *fleet) start(i int) *machine.Child {
	f.t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), workerVariable+"="+f.url(linkOf(i)))
	cmd.Stderr = os.Stderr
	c, err := machine.Start("worker", cmd)
	if err != nil {
		f.t.Fatal(err)
	}
	return c
}

// strike lets something go wrong at once, and come right after a while.
func (f *fleet) strike(r *rand.Rand) string {
	f.t.Helper()
	i := r.IntN(len(f.workers))
	w := f.workers[i]
	lasts := time.Duration(r.Int64N(int64(2 * quick.LostAfter)))
	var err error
	what := ""
	switch n := r.IntN(10); {
	case n < 4:
		what, err = "a worker is killed", w.Kill()
		f.workers[i] = f.start(i)
	case n < 7: // it comes back as a zombie, if others have taken over
		what = "a worker stands still"
		if err = w.Stop(); err == nil {
			time.Sleep(lasts)
			err = w.Resume()
		}
	case n < 9:
		d := world.Disturbance{Kind: world.Cut}
		if what = "a link is silent"; n == 8 {
			what, d.Kind = "connections break", world.Reset
		}
		var lift func() error
		if lift, err = f.links.Disturb([]world.Link{{From: linkOf(i), To: "database"}}, d); err == nil {
			time.Sleep(lasts)
			err = lift()
		}
	default:
		what = "the database dies"
		f.kept.Crash()
		time.Sleep(lasts / 4)
		f.startDatabase()
	}
	if err != nil {
		f.t.Fatalf("%s: %v", what, err)
	}
	return what
}

// strikes is how often something goes wrong; make torture sets CAMPAIGN_STRIKES.
func strikes(t *testing.T) int {
	t.Helper()
	text := os.Getenv("CAMPAIGN_STRIKES")
	if text == "" {
		return 10
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestFaults kills workers and the database, stops and wakes workers, and cuts their connections, while
// campaigns go on: nothing counts twice, and nothing is lost.
func TestFaults(t *testing.T) {
	t.Parallel()
	suite.All(t)
	f := newFleet(t, 3)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r, times := rand.New(rand.NewPCG(seed, 0)), strikes(t)
	count := make(map[string]int)
	done, ranges := 0, int64(0)
	for n := 0; n < times; done++ {
		d := definition(t, done%2 == 0)
		id := f.create(d)
		for st := f.status(id); st.State == Running && n < times; st = f.status(id) {
			time.Sleep(time.Duration(r.Int64N(int64(300 * time.Millisecond))))
			count[f.strike(r)]++
			n++
		}
		st := over(t, f.store, id)
		if st.State != Done {
			t.Fatalf("%+v", st)
		}
		ranges += st.Ranges
		wantAlone(t, f.store, id, &d)
	}
	t.Logf("%d campaigns, %d ranges, %v", done, ranges, count)
}

// create begins a campaign, whatever the database is doing.
func (f *fleet) create(d Definition) int64 {
	f.t.Helper()
	var id int64
	suite.Succeeds(f.t, "a campaign to begin", func() (err error) {
		id, err = f.store.Create(context.Background(), d)
		return err
	})
	return id
}

func (f *fleet) status(id int64) *Status {
	f.t.Helper()
	var st *Status
	suite.Succeeds(f.t, "the state of a campaign", func() (err error) {
		st, err = f.store.Status(context.Background(), id)
		return err
	})
	return st
}

// TestZombie has a worker that falls silent in the middle of a range, and stores what came of it when another one
// has: that counts for nothing. The other one does not wait longer than is promised.
func TestZombie(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	config := newDatabase(t)
	s := open(t, config, testBuild)
	d := definition(t, true)
	id, err := s.Create(ctx, d)
	if err != nil {
		t.Fatal(err)
	}
	silent, err := Open(ctx, config.Copy(), testBuild, Timing{LostAfter: time.Hour, Tend: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	taken, wake := make(chan uint64, 1), make(chan struct{})
	wait(t, silent, &d, func(first, _ uint64) {
		select {
		case taken <- first:
		default: // it has been woken, and goes on as any other
		}
		<-wake
	})
	zombie := work(t, silent, 1)
	defer zombie.Stop()
	first := suite.Receive(t, "the begin of a range", taken)
	fell := time.Now()
	// The other one makes all ranges but the last: so the campaign goes on.
	last := make(chan struct{})
	wait(t, s, &d, func(first, runs uint64) {
		if first+runs == d.Request.Search.Seeds {
			<-last
		}
	})
	other := work(t, s, 2)
	defer other.Stop()
	const by = "select worker from redlock_sim.result where campaign = $1 and range = $2"
	var worker string
	suite.Eventually(t, "another to take the range over", func() bool {
		return s.pool.QueryRow(ctx, by, id, int64(first/d.RangeRuns)).Scan(&worker) == nil
	})
	var priority int
	if err := s.pool.QueryRow(ctx, "select min(priority) from redlock_sim.river_job where (args->>'range')::bigint = $1",
		int64(first/d.RangeRuns)).Scan(&priority); err != nil || priority != atOnce {
		t.Errorf("the range was queued with priority %d, behind others (%v)", priority, err)
	}
	t.Logf("taken over and made within %v", time.Since(fell))
	close(wake)
	suite.Eventually(t, "the result of the zombie", func() bool { return zombie.ranges.Load() > 0 })
	if err := s.pool.QueryRow(ctx, by, id, int64(first/d.RangeRuns)).Scan(&worker); err != nil || worker != other.ID {
		t.Errorf("the range counts as made by %s, want %s (%v)", worker, other.ID, err)
	}
	close(last)
	over(t, s, id)
	wantAlone(t, s, id, &d)
}
