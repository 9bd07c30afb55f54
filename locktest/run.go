package locktest

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/explore"
	"github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/runner"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// Flags of a test that uses this package.
var (
	flagSeed    = flag.Uint64("locktest.seed", 0, "the first seed of the search (default: drawn from the time)")
	flagRuns    = flag.Int("locktest.runs", 0, "search so many runs, however long they take")
	flagFor     = flag.Duration("locktest.for", 0, "search for so long (default: Config.For)")
	flagReplay  = flag.String("locktest.replay", "", "run only what this file says, which a failed test has written")
	flagWorkers = flag.Int("locktest.workers", runtime.NumCPU(), "search in so many processes")
	flagTwice   = flag.Bool("locktest.twice", false, "make each run twice in one process, and say how many repeat")
	flagWorker  = flag.Int("locktest.worker", 0, "for locktest's own processes")
)

// Run searches for runs that violate a property of Config, and fails the test where it finds
// one. t must not be parallel: a run sets the sources of randomness of the whole process.
func Run(t *testing.T, c Config, open func(Env) (Lock, error)) {
	t.Helper()
	k := newKit(t, c, open)
	if *flagReplay != "" {
		k.replay(t, *flagReplay)
		return
	}
	tells := k.askWhetherItTells(c)
	if *flagWorker > 0 {
		k.work(tells)
		return
	}
	k.replaySaved()
	if tells != nil {
		t.Fatal(explained(tells))
	}
	r, took := k.search()
	for _, p := range k.what.Properties {
		t.Run(string(p), func(t *testing.T) { k.verdict(t, p, &r, took) })
	}
}

// kit is a test in progress.
type kit struct {
	t      *testing.T
	config Config
	engine *engine
	what   explore.Search
	// twice makes each run twice; nil: once is enough.
	twice *twice
	// processes are those that searched.
	processes int
	// added is what counts though the Config does not name it; empty: nothing.
	added checker.Property
}

func newKit(t *testing.T, c Config, open func(Env) (Lock, error)) *kit {
	t.Helper()
	c = c.filled()
	if err := c.check(); err != nil {
		t.Fatal(err)
	}
	s, err := c.scenario(t.Name())
	if err != nil {
		t.Fatal(err)
	}
	k := &kit{t: t, config: c, processes: 1, engine: &engine{t: t, open: open, about: program.Ready{Name: t.Name()}}}
	if c.renews() {
		k.engine.about.Can = []program.Ability{program.Renews}
	}
	k.what = explore.Search{Scenario: s, Variant: scenario.DefaultVariant, Drawing: explore.Drawing{Kinds: c.kinds()},
		Properties: c.properties(),
		First:      *flagSeed, Seeds: uint64(c.Seeds), StopAt: mostShrunk, Tries: tries, Allows: c.allows,
		Place: func() explore.Place { return k.engine }}
	if k.what.First == 0 {
		k.what.First = uint64(time.Now().UnixNano()) % 1e9
	}
	if *flagRuns > 0 {
		k.what.Seeds = uint64(*flagRuns)
	}
	if *flagTwice {
		k.twice = &twice{engine: k.engine}
		k.what.Place = func() explore.Place { return k.twice }
	}
	k.prepare()
	return k
}

// prepare sets the process up for runs, until the test ends. Goroutines that run beside each
// other do so in an order that nobody knows; with one processor there are few such orders.
func (k *kit) prepare() {
	k.t.Setenv("GODEBUG", strings.TrimPrefix(os.Getenv("GODEBUG")+",randseednop=0", ",")) // rand.Seed counts
	processors, percent := runtime.GOMAXPROCS(1), debug.SetGCPercent(800)                 // runs are small and leave little behind
	k.t.Cleanup(func() {
		runtime.GOMAXPROCS(processors)
		debug.SetGCPercent(percent)
	})
}

// askWhetherItTells makes a run without faults. If the lock tells there of losses or renewals and the Config names no properties, it is to
// tell its holder of every loss.
func (k *kit) askWhetherItTells(c Config) error {
	if c.Properties != nil {
		return nil
	}
	v := scenario.Variant{Name: scenario.DefaultVariant, Setup: k.what.Scenario.Variants[0].Setup}
	_, err := k.engine.Run(k.t.Context(), runner.Config{Scenario: k.what.Scenario.Name, Variant: v, Seed: k.what.First})
	if err != nil || !k.engine.tally.Tells {
		return err
	}
	k.added = checker.ToldWhenLost
	k.config.Properties = append(k.config.Properties, ToldWhenLost)
	k.what.Properties = k.config.properties()
	k.what.Scenario, err = k.config.scenario(k.t.Name())
	return err
}

// tries is how often a run is made while what was found is shrunk: what a library does in the
// same instant can differ from run to run. repeats is how often one is made again to say so.
const (
	tries   = 3
	repeats = 20
)

// goesOn is how long a search goes on at least after its first find: one that depends less on
// exact times is worth more to whoever has to understand it.
const goesOn = time.Second

// lasts is how long to search; 0: until the runs are made.
func (k *kit) lasts() time.Duration {
	switch {
	case *flagFor > 0:
		return *flagFor
	case *flagRuns > 0 || k.config.Seeds > 0 && k.config.For == defaultFor:
		return 0
	}
	return k.config.For
}

// search searches, in this process and in others.
func (k *kit) search() (r explore.Report, took time.Duration) {
	k.t.Helper()
	began, logged := time.Now(), time.Now()
	ctx, cancel := k.within(k.t.Context())
	defer cancel()
	others := k.startWorkers(cancel)
	what := k.what
	what.Seeds = k.share(0)
	found := false
	what.Progress = func(r explore.Report) {
		if !found && r.Violations() > 0 {
			found = true
			time.AfterFunc(max(time.Since(began), goesOn), cancel)
		}
		if time.Since(logged) >= 5*time.Second {
			logged = time.Now()
			k.t.Logf("%s, violated in %d, in one of %s", k.line(&r, 1, time.Since(began)), r.Violations(), words.Count(k.processes, "process"))
		}
	}
	own, err := what.RunPart(ctx)
	cancel()
	all := others.finish(k, own, err != nil || len(own.Found) > 0)
	if err = errors.Join(err, others.err); err != nil {
		k.t.Fatal(explained(err))
	}
	if k.twice != nil {
		k.t.Log(k.twice)
	}
	return all.Report(), time.Since(began)
}

// explained says what to do about an error.
func explained(err error) error {
	if errors.Is(err, errUnknown) {
		return words.WithHint(err, "what the model of a node knows is in locktest/DESIGN.md; nothing can be said of this lock")
	}
	return err
}

// line says how far the search is.
func (k *kit) line(r *explore.Report, processes int, took time.Duration) string {
	return fmt.Sprintf("%s in %.1f s (%.0f a second and process), %s, first seed %d", words.Count(r.Runs, "run"), took.Seconds(),
		float64(r.Runs)/took.Seconds()/float64(processes), words.Count(r.Behaviours, "distinct behaviour"), k.what.First)
}

// verdict is what the search found of a property.
func (k *kit) verdict(t *testing.T, p checker.Property, r *explore.Report, took time.Duration) {
	t.Helper()
	var found []explore.Found
	for _, f := range r.Found {
		if f.Property == p {
			found = append(found, f)
		}
	}
	runs, _ := r.JudgedOn(string(p))
	u := unjudgedOf(p, r)
	switch {
	case len(found) > 0:
		k.fail(t, found, r, took)
	case runs == 0 && u.doubtful > 0:
		t.Errorf("unknown: none of %s could be judged\n%s", words.Count(r.Runs, "run"), u)
	case runs == 0 && p == k.added:
		t.Logf("unknown: none of %s put it to the test\n%s", words.Count(r.Runs, "run"), u)
	case runs == 0:
		t.Errorf("unknown: none of %s put it to the test%s\n%s", words.Count(r.Runs, "run"), k.untold(p), u)
	case 10*u.doubtful > r.Runs:
		t.Errorf("unknown: %d of %s could not be judged, which are more than a tenth: that nothing was found says little\n%s",
			u.doubtful, words.Count(r.Runs, "run"), u)
	case 2*k.engine.tally.Ended > k.engine.tally.Granted:
		t.Errorf("unknown: of %s the promises of %d had ended when they were told: is Grant.Until right?",
			words.Count(k.engine.tally.Granted, "grant"), k.engine.tally.Ended)
	default:
		short := ""
		if r.Violations() > 0 {
			short = "\nthe search ended early, for it found something else"
		}
		t.Logf("holds: %s\n%s%s\n%s%s", r.Worth(p), u, k.line(r, k.processes, took), with(), short)
	}
}

// unjudged are the runs that did not judge a property.
type unjudged struct {
	// idle gave it no chance to fail; doubtful put it to the test, and could not be judged all the same.
	idle, doubtful uint64
	// reasons are why, the most frequent first.
	reasons []explore.Reason
}

func unjudgedOf(p checker.Property, r *explore.Report) (u unjudged) {
	for _, reason := range r.Reasons {
		switch {
		case reason.Property != p:
			continue
		case reason.Doubtful:
			u.doubtful += reason.Runs
		default:
			u.idle += reason.Runs
		}
		u.reasons = append(u.reasons, reason)
	}
	slices.SortStableFunc(u.reasons, func(a, b explore.Reason) int { return cmp.Compare(b.Runs, a.Runs) })
	return u
}

// mostReasons is how many reasons are told of each kind.
const mostReasons = 3

// String says how many runs are not counted, and the most frequent reasons, in lines; empty: all count.
func (u unjudged) String() string {
	text := ""
	for _, kind := range []struct {
		doubtful bool
		runs     uint64
		words    string
	}{
		{true, u.doubtful, "could not be judged"}, {false, u.idle, "gave it no chance to fail"},
	} {
		if kind.runs == 0 {
			continue
		}
		text += fmt.Sprintf("%s not counted, which %s:\n", words.Count(kind.runs, "run"), kind.words)
		told := 0
		for _, reason := range u.reasons {
			if reason.Doubtful != kind.doubtful {
				continue
			}
			if told++; told > mostReasons {
				text += "  and other reasons\n"
				break
			}
			text += fmt.Sprintf("  %d: %s\n", reason.Runs, reason.Why)
		}
	}
	return text
}

// untold says what the lock may not have told.
func (k *kit) untold(p checker.Property) string {
	if k.engine.tally.Granted == 0 {
		return "; the lock was never granted: " + k.engine.tally.Refusal
	}
	switch Property(p) { //nolint:exhaustive // the others need a grant
	case OrderedTokens, HolderServed:
		return "; does the lock tell Grant.Token?"
	case BackedGrant, AsksItsTTL, OwnerRelease, NoOrphanLock, NothingStays, NoResurrection:
		return "; does the lock write Env.Key, or what Config.Keys says?"
	}
	return "; were there clients enough to contend, and time enough (a run has a minute)?"
}
