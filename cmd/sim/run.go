package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/redlock-sim/redlock-sim/internal/app/trial"
	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/words"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server"
)

// runFlags are the flags of sim run.
type runFlags struct {
	filter
	failed         bool
	world          string
	nodes          string
	nodesChosen    bool // on the command line
	allowHooks     bool
	passwordEnv    string
	plainPassword  bool
	lock           string
	allowPrograms  bool
	asPrograms     bool
	seed           uint64
	json           bool
	out            string
	jobs           int
	idleJobs       int // at once while the machine is idle
	repeat         int
	tries          int
	timeout        time.Duration
	junit          string
	markdown       string
	github         bool
	failFast       bool
	allowUndecided bool
	shard          string
}

func newRunCommand(a *app) *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "run [SCENARIO...]",
		Short: "Run scenarios and judge what happened",
		Long: `Run scenarios and judge what happened. Name files, folders (every scenario in a folder
is run), or scenarios that sim ships: sim list lists them, and "all" stands for all of
them. A file wins over a shipped scenario of the same name (./all is a folder "all").

Each run writes a folder under --out with the histories, result.json and report.html.
<out>/latest points to the newest run.

Without names sim runs the scenarios of sim.yaml, if there is one in this folder (sim init
writes it). The defaults of many flags can stand there, too.

--lock puts another lock in the place of every scenario's: your own, in any language, as a
program; or a lock of sim. Then the scenario's demands on any lock count. What the lock
cannot do by its own words is not applicable: it is listed, and not run.

Unless the scenario says otherwise, exclusive-lease, backed-grant, no-late-effect
and linearizable-resource are expected to hold. On real servers an expected violation may
not show because the machine was slow: see --tries. If it was too slow for a run, the
last line says so, and what is not as expected is undecided. The virtual world is
deterministic: no machine can disturb the schedule there, so one try is enough.

Exit codes: 0 every verdict as expected, 1 a verdict differs, 2 undecided, or the machine
was too slow, 3 bad scenario or flags, 4 the machine lacks something or a lock program
does not work, 5 internal error, 130 interrupted.`,
		Example: `  sim run gc-pause
  sim run gc-pause --seed 42 --json > result.json
  sim run locks/ -j 4
  sim run all --world virtual
  sim run all --tag kleppmann
  sim run --failed
  sim run gc-pause --nodes docker
  sim run all --lock 'python3 my_lock.py'
  sim run all --seed 42 --shard 2/4`,
		Args: func(_ *cobra.Command, args []string) error {
			if f.failed && len(args) > 0 {
				return usageError("--failed runs what did not end as expected last time: name no scenario")
			}
			if len(args) == 0 && len(a.project.Scenarios) == 0 && !f.failed {
				return usageError("name a scenario to run\nhint: sim list lists them; sim run gc-pause runs one")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if !c.Flags().Changed("seed") {
				f.seed = uint64(rand.Uint32())
			}
			if c.Flags().Changed("tries") && f.tries < 1 {
				return usageError("--tries %d: want at least 1", f.tries)
			}
			if err := f.checkShard(c.Flags().Changed("seed")); err != nil {
				return err
			}
			f.nodesChosen = c.Flags().Changed("nodes")
			if !c.Flags().Changed("jobs") {
				if f.jobs = a.project.Jobs; f.jobs == 0 {
					f.jobs, f.idleJobs = jobsFor(f.world, server.Provider(f.nodes), f.lock, a.project.Lock)
				}
			}
			args, err := a.whatToRun(&f, args, c.Flags().Changed)
			if err != nil || len(args) == 0 {
				return err
			}
			if !c.Flags().Changed("lock") && !f.asPrograms {
				if err := a.takeProjectLock(&f); err != nil {
					return err
				}
			} else if f.lock == "" && a.project.Lock == "" && !f.asPrograms {
				return usageError("--lock: name a program")
			}
			return a.runScenarios(c.Context(), args, f)
		},
		ValidArgsFunction: manyScenarios,
	}
	f.flags(c)
	f.ownFlags(a, c)
	shardFlag(c, &f.shard)
	return c
}

// whatToRun names the scenarios: those of the command line, else those of sim.yaml; with --failed those
// that did not end as expected last time.
func (a *app) whatToRun(f *runFlags, args []string, changed func(flag string) bool) ([]string, error) {
	switch {
	case f.failed:
		l, err := readLast(f.out)
		if err != nil {
			return nil, err
		}
		if args = l.again(); len(args) == 0 {
			fmt.Fprintf(a.stderr, "nothing to run again: the last run in %s ended as expected\n", f.out)
			return nil, nil
		}
		f.as(l, changed)
	case len(args) == 0:
		args = a.project.Scenarios
	}
	return args, nil
}

// ownFlags are the flags that sim run alone has.
func (f *runFlags) ownFlags(a *app, c *cobra.Command) {
	c.Flags().BoolVar(&f.failed, "failed", false, "run again what did not end as expected in the last run below --out, or was not run: "+
		"in the same world and with the same seed and --repeat, where flags do not say otherwise")
	c.Flags().StringVar(&f.world, "world", trial.Live,
		"where to run: live (real servers and processes, in real time) or virtual (a deterministic model, in simulated time)")
	registerWords(c, "world", []string{trial.Live, trial.Virtual})
	c.Flags().StringVar(&f.nodes, "nodes", a.project.Nodes, "where the nodes of the live world come from: "+
		"process, docker, external (nodes.addresses of the scenario), or auto (process where redis-server is installed, otherwise docker)")
	c.Flags().BoolVar(&f.allowHooks, "allow-hooks", false,
		"with --nodes external: allow the commands that the scenario names under nodes.hooks; read them first")
	registerWords(c, "nodes", wordsOf(server.Providers()))
	c.Flags().StringVar(&f.passwordEnv, "password-env", "",
		"with --nodes external: the environment variable with the password for scenarios that need one (nodes.password)")
	c.Flags().BoolVar(&f.plainPassword, "allow-plain-password", false,
		"send the password also without TLS to servers that are not on this machine")
	c.Flags().StringVar(&f.lock, "lock", "",
		"a lock to put in the place of every scenario's: a lock program, as a command with its arguments, quoted as for a shell "+
			"(no shell runs it), image:NAME for one in a Docker image, or a lock of sim, as in 'redlock --switch quorum'; "+
			"empty: none, where sim.yaml names one")
	c.Flags().BoolVar(&f.asPrograms, "as-programs", false, "put each built-in lock behind the lock protocol; its expectations stay")
	_ = c.Flags().MarkHidden("as-programs") // it tests sim itself
	c.Flags().BoolVar(&f.allowPrograms, "allow-programs", false,
		"allow the lock programs that a scenario names under lock.program, and the one of sim.yaml; read them first")
	c.Flags().Uint64Var(&f.seed, "seed", 0, "the seed for everything random (default: a random one, which is printed)")
	c.Flags().BoolVar(&f.json, "json", false, "print each scenario's result as JSON on stdout, as in result.json")
	c.Flags().StringVar(&f.out, "out", a.project.Out, "folder in which runs are stored")
	c.Flags().IntVarP(&f.jobs, "jobs", "j", 0, "how many scenarios to run at once (default: two for each processor, and up to twelve "+
		"while the machine is idle; with --nodes docker or --lock image:NAME one for each two processors; with --nodes external one)")
	c.Flags().IntVar(&f.repeat, "repeat", 1, "run every scenario this many times, each time with another seed, "+
		"and say how often each verdict came; of the single runs only those with a new surprise are shown")
	c.Flags().IntVar(&f.tries, "tries", a.project.Tries, "run a variant up to this many times, each time with another seed, "+
		"until every violation that it expects has shown (default: 3 live, 1 virtual); what is expected to hold must hold in every try")
	c.Flags().DurationVar(&f.timeout, "timeout", time.Hour, "how long one run may take in real time, "+
		"in both worlds (the scenario's time_limit bounds simulated time in the virtual world); 0s: as long as it wants")
	c.Flags().StringVar(&f.junit, "junit", "", "write the results as JUnit XML to this file")
	c.Flags().StringVar(&f.markdown, "markdown", "", "write the results as a Markdown table to this file")
	c.Flags().BoolVar(&f.github, "github", false,
		"annotate unexpected verdicts on stdout for GitHub Actions, and append the table to $GITHUB_STEP_SUMMARY")
	c.Flags().BoolVar(&f.failFast, "fail-fast", false, "start no further scenario after one that did not end as expected")
	c.Flags().BoolVar(&f.allowUndecided, "allow-undecided", false, "exit with 0, not 2, if a verdict is undecided")
}

// mostRepeats bounds what a suite keeps in memory.
const mostRepeats = 100_000

// check refuses flags that make no sense.
func (f *runFlags) check() error {
	if f.world != trial.Live && f.world != trial.Virtual {
		return usageError("--world %q: want %s or %s", f.world, trial.Live, trial.Virtual)
	}
	if providers := wordsOf(server.Providers()); !slices.Contains(providers, f.nodes) {
		return usageError("--nodes %q: want one of %s", f.nodes, strings.Join(providers, ", "))
	}
	if f.timeout < 0 {
		return usageError("--timeout %v: must not be negative", f.timeout)
	}
	if f.repeat > mostRepeats {
		return usageError("--repeat %d: want at most %d", f.repeat, mostRepeats)
	}
	if f.jobs < 1 || f.repeat < 1 {
		return usageError("--jobs %d, --repeat %d: want at least 1", f.jobs, f.repeat)
	}
	return nil
}

// runScenarios loads everything before it runs anything, so that a mistake in
// the last file does not cost the time of the first.
func (a *app) runScenarios(ctx context.Context, args []string, f runFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	if f.world == trial.Live {
		leave, err := a.enterLive(f.allowHooks)
		if err != nil {
			return err
		}
		defer leave()
	}
	scenarios, err := loadScenarios(args...)
	if err != nil {
		return err
	}
	if scenarios, err = f.choose(scenarios); err != nil {
		return err
	}
	if err := checkSentinels(scenarios, f); err != nil {
		return err
	}
	if err := checkExternal(scenarios, f); err != nil {
		return err
	}
	if err := checkImages(ctx, scenarios, f); err != nil {
		return err
	}
	programs, err := greetPrograms(ctx, scenarios, f)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("failed to find my own program: %w", err)
	}
	share, units, err := a.dealRuns(ctx, scenarios, &f)
	if err != nil {
		return err
	}
	var about time.Duration
	starts := units
	if f.world == trial.Live && len(units) > 1 {
		each := programs.Lengths(ctx, scenarios, server.Provider(f.nodes), f.seed)
		atOnce := max(f.jobs, f.idleJobs)
		about = trial.Together(lengthsOf(units, each), atOnce)
		if work, err := trial.Work(ctx, []string{self, "client"}, variantsOf(units, scenarios)); err == nil {
			about = max(about, work)
		}
		fmt.Fprintf(a.stderr, "%s: about %v\n", words.Count(len(units), "run"), roughly(about))
		if atOnce > 1 { // one after the other they come in the order in which they are shown
			starts = longestFirst(units, each)
		}
	}
	if f.world == trial.Virtual && slices.ContainsFunc(scenarios, isLong) {
		debug.SetGCPercent(10) // nearly all that is in use is the history: what may be wasted beside it should be little
	}
	a.orderly.Store(true)
	began := time.Now()
	suite := &suiteRun{app: a, scenarios: scenarios, flags: f, units: units, starts: starts, programs: programs, self: self,
		told: make(report.Told), progress: newProgress(a, len(units), about)}
	results := suite.run(ctx)
	if err := suite.resting.Close(); err != nil {
		return err
	}
	suite.progress.stop()
	if share != nil {
		err = suite.keepShare(ctx, share)
	} else {
		err = suite.remember()
	}
	return errors.Join(err, suite.conclude(ctx, results, time.Since(began)))
}

// conclude tells what came of the suite, and says how it ended.
func (s *suiteRun) conclude(ctx context.Context, results []*report.Result, took time.Duration) error {
	if !s.flags.json {
		if err := report.WriteRepeats(s.stdout, results, s.textOptions()); err != nil {
			return err
		}
	}
	if err := s.publish(results); err != nil {
		return err
	}
	if !s.flags.json && len(results) > 0 {
		if err := report.WriteSummaryLine(s.stdout, results, len(s.errs), took, s.textOptions()); err != nil {
			return err
		}
	}
	return s.verdict(ctx, results)
}

// lengthsOf are how long runs take; each has how long the scenarios take.
func lengthsOf(units []int, each []time.Duration) []time.Duration {
	lengths := make([]time.Duration, len(units))
	for i, u := range units {
		lengths[i] = each[u%len(each)]
	}
	return lengths
}

// variantsOf is how many variants runs have.
func variantsOf(units []int, scenarios []*scenario.Scenario) (n int) {
	for _, u := range units {
		n += len(scenarios[u%len(scenarios)].Variants)
	}
	return n
}

// longestFirst orders runs within each round, so that no long one is left for the end, alone. each has how long
// the scenarios take.
func longestFirst(units []int, each []time.Duration) []int {
	return slices.SortedStableFunc(slices.Values(units), func(a, b int) int {
		return cmp.Or(cmp.Compare(a/len(each), b/len(each)), cmp.Compare(each[b%len(each)], each[a%len(each)]))
	})
}

// isLong reports that a run of some variant has a history that is large in memory.
func isLong(s *scenario.Scenario) bool {
	return slices.ContainsFunc(s.Variants, func(v scenario.Variant) bool {
		return v.Setup.Workload.Clients*v.Setup.Workload.Sections >= 10_000
	})
}

// loadScenarios reads all files and folders named, and the shipped scenarios.
func loadScenarios(args ...string) ([]*scenario.Scenario, error) {
	list, err := scenario.LoadAll(args...)
	if err != nil {
		return nil, &exitError{exitUsage, err}
	}
	return list, nil
}

// suiteRun runs several scenarios: a suite.
type suiteRun struct {
	*app
	scenarios []*scenario.Scenario
	flags     runFlags
	// units are the runs to make: round by round, in the order of the scenarios. starts are the same in the order in
	// which they begin.
	units, starts []int
	// missing are the shards that a merged suite lacks.
	missing  []string
	programs *trial.Programs
	self     string
	progress *progress
	// resting are servers and clients that go from run to run.
	resting trial.Resting

	mu sync.Mutex
	// errs are the errors of scenarios that left no result.
	errs []error
	// printed is how many of the units have been shown.
	printed int
	// told are the surprises that have been shown.
	told report.Told
	done []*trial.Trial
}

func (s *suiteRun) run(ctx context.Context) []*report.Result {
	scenarios := s.scenarios
	s.done = make([]*trial.Trial, len(scenarios)*s.flags.repeat)
	slots := newSlots(s.flags.jobs, s.flags.idleJobs)
	var wg sync.WaitGroup
	for _, i := range s.starts {
		slots.take(ctx)
		if ctx.Err() != nil || s.flags.failFast && s.failed() {
			break
		}
		round := i / len(scenarios)
		wg.Go(func() {
			defer slots.leave()
			s.one(ctx, i, scenarios[i%len(scenarios)], s.flags.seed+uint64(round))
		})
	}
	wg.Wait()
	return s.results()
}

func (s *suiteRun) results() (results []*report.Result) {
	for _, t := range s.done {
		if t != nil && t.Result != nil {
			results = append(results, t.Result)
		}
	}
	return results
}

// failed reports that something has not come out as expected so far.
func (s *suiteRun) failed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.done {
		if t != nil && (t.Result == nil || exitOf(t.Result, s.flags.allowUndecided) != exitMet) {
			return true
		}
	}
	return false
}

func (s *suiteRun) one(ctx context.Context, i int, sc *scenario.Scenario, seed uint64) {
	s.progress.begin(sc.Name)
	t, err := trial.Run(ctx, sc, trial.Options{
		Seed: seed, Tries: s.flags.tries, Timeout: s.flags.timeout, World: s.flags.world,
		Nodes: server.Provider(s.flags.nodes), AllowHooks: s.flags.allowHooks, PasswordEnv: s.flags.passwordEnv,
		Programs: s.programs, Out: s.flags.out, Resting: &s.resting, ClientCommand: []string{s.self, "client"}, Now: s.now,
		Program:  map[string]string{"sim": programVersion()},
		Progress: func(variant, phase string) { s.progress.phase(sc.Name, variant, phase) },
	})
	s.progress.end(sc.Name)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.errs = append(s.errs, fmt.Errorf("%s: %w", sc.Name, err))
	}
	if t == nil {
		t = &trial.Trial{}
	}
	s.done[i] = t
	s.show()
}

// show prints the results that are next in the order of the files; of repeated runs those
// with a surprise that none had before.
func (s *suiteRun) show() {
	for ; s.printed < len(s.units) && s.done[s.units[s.printed]] != nil; s.printed++ {
		t := s.done[s.units[s.printed]]
		if t.Result == nil {
			continue
		}
		s.progress.clear()
		if s.flags.json {
			_ = report.WriteJSON(s.stdout, t.Result)
			continue
		}
		if s.flags.repeat > 1 && !s.told.News(t.Result) {
			continue
		}
		_ = report.WriteText(s.stdout, t.Result, shortPath(t.Report), s.textOptions())
	}
}

// verdict is the suite's end: the worst of what happened, in the order 5, 4, 3,
// 1, 2 of the exit codes; an interrupt counts before all of them.
func (s *suiteRun) verdict(ctx context.Context, results []*report.Result) error {
	err := errors.Join(s.errs...)
	codes := []int{exitMet}
	for _, e := range s.errs {
		codes = append(codes, exitCodeOf(e))
	}
	for _, r := range results {
		codes = append(codes, exitOf(r, s.flags.allowUndecided))
	}
	if len(results) > 0 && !s.flags.allowUndecided && !slices.ContainsFunc(results, (*report.Result).Applies) {
		codes = append(codes, exitUndecided) // nothing was put to the test
	}
	if len(s.missing) > 0 {
		codes = append(codes, exitUndecided)
	}
	ranks := []int{exitMet, exitUndecided, exitUnexpected, exitUsage, exitEnvironment, exitInternal}
	code := slices.MaxFunc(codes, func(a, b int) int { return slices.Index(ranks, a) - slices.Index(ranks, b) })
	if ctx.Err() != nil {
		return &exitError{exitInterrupted, errors.New("interrupted; what was recorded is kept")}
	}
	if code == exitMet {
		return nil
	}
	return &exitError{code, err}
}

// exitOf is the exit code that one result stands for.
func exitOf(r *report.Result, allowUndecided bool) int {
	code := exitMet
	for i := range r.Variants {
		v := &r.Variants[i]
		switch {
		case v.Error != "" && v.Lock != nil:
			return exitEnvironment // its program failed
		case v.Error != "":
			return exitInternal
		}
		for i := range v.Properties {
			if v.Properties[i].Unexpected() {
				code = exitUnexpected
			}
		}
	}
	if code == exitMet && r.Undecided && !allowUndecided {
		code = exitUndecided
	}
	return code
}
