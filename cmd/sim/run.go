package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/trial"
	"github.com/redlock-sim/redlock-sim/internal/words"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server"
)

// runFlags are the flags of sim run.
type runFlags struct {
	world          string
	nodes          string
	allowHooks     bool
	lock           string
	allowPrograms  bool
	asPrograms     bool
	seed           uint64
	json           bool
	out            string
	jobs           int
	repeat         int
	tries          int
	junit          string
	markdown       string
	github         bool
	failFast       bool
	allowUndecided bool
}

func newRunCommand(a *app) *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "run SCENARIO...",
		Short: "Run scenarios and judge what happened",
		Long: `Run scenarios and judge what happened. If you name a folder, every scenario in it
is run.

Each run writes a folder under --out with the histories, result.json and report.html.
<out>/latest points to the newest run.

--lock puts a program in the place of every scenario's lock: your own lock, in any
language. Then the scenario's demands on any lock count. What the program cannot do by
its own words is not applicable: it is listed, and not run.

Unless the scenario says otherwise, exclusive-lease, no-late-effect and
linearizable-resource are expected to hold. On real servers an expected violation may
not show because the machine was slow: see --tries. The virtual world is
deterministic: no machine can disturb the schedule there, so one try is enough.

Exit codes: 0 every verdict as expected, 1 a verdict differs, 2 undecided,
3 bad scenario or flags, 4 the machine lacks something or a lock program cannot be
used, 5 internal error, 130 interrupted.`,
		Example: `  sim run scenarios/gc-pause.yaml
  sim run scenarios/gc-pause.yaml --seed 42 --json > result.json
  sim run scenarios/ -j 4
  sim run scenarios/ --world virtual
  sim run scenarios/gc-pause.yaml --nodes docker
  sim run scenarios/ --lock 'python3 my_lock.py'`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError("name a scenario to run\nhint: sim list lists them; sim run scenarios/gc-pause.yaml runs one")
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
			if c.Flags().Changed("lock") && f.lock == "" {
				return usageError("--lock: name a program")
			}
			if !c.Flags().Changed("jobs") {
				f.jobs = jobsFor(server.Provider(f.nodes))
			}
			return a.runScenarios(c.Context(), args, f)
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
		},
	}
	c.Flags().StringVar(&f.world, "world", trial.Live, "where to run: live (real servers and processes, in real time) or virtual (a deterministic model, in simulated time)")
	registerWords(c, "world", []string{trial.Live, trial.Virtual})
	c.Flags().StringVar(&f.nodes, "nodes", string(server.Auto), "where the nodes of the live world come from: process, docker, external (nodes.addresses of the scenario), or auto (process where redis-server is installed, otherwise docker)")
	c.Flags().BoolVar(&f.allowHooks, "allow-hooks", false, "with --nodes external: allow the commands that the scenario names under nodes.hooks; read them first")
	registerWords(c, "nodes", wordsOf(server.Providers()))
	c.Flags().StringVar(&f.lock, "lock", "", "a lock program to put in the place of every scenario's lock: a command with its arguments, quoted as for a shell; no shell runs it")
	c.Flags().BoolVar(&f.asPrograms, "as-programs", false, "put each built-in lock behind the lock protocol; its expectations stay")
	_ = c.Flags().MarkHidden("as-programs") // it tests sim itself
	c.Flags().BoolVar(&f.allowPrograms, "allow-programs", false, "allow the lock programs that a scenario names under lock.program; read them first")
	c.Flags().Uint64Var(&f.seed, "seed", 0, "the seed for everything random (default: a random one, which is printed)")
	c.Flags().BoolVar(&f.json, "json", false, "print each scenario's result as JSON on stdout, as in result.json")
	c.Flags().StringVar(&f.out, "out", "reports", "folder in which runs are stored")
	c.Flags().IntVarP(&f.jobs, "jobs", "j", 2*runtime.NumCPU(), "how many scenarios to run at once (default: two for each processor; with --nodes docker one for each two processors; with --nodes external one)")
	c.Flags().IntVar(&f.repeat, "repeat", 1, "run every scenario this many times, each time with another seed")
	c.Flags().IntVar(&f.tries, "tries", 0, "run a variant up to this many times, each time with another seed, until every violation that it expects has shown (default: 3 live, 1 virtual); what is expected to hold must hold in every try")
	c.Flags().StringVar(&f.junit, "junit", "", "write the results as JUnit XML to this file")
	c.Flags().StringVar(&f.markdown, "markdown", "", "write the results as a Markdown table to this file")
	c.Flags().BoolVar(&f.github, "github", false, "annotate unexpected verdicts on stdout for GitHub Actions, and append the table to $GITHUB_STEP_SUMMARY")
	c.Flags().BoolVar(&f.failFast, "fail-fast", false, "start no further scenario after one that did not end as expected")
	c.Flags().BoolVar(&f.allowUndecided, "allow-undecided", false, "exit with 0, not 2, if a verdict is undecided")
	return c
}

// jobsFor is how many scenarios to run at once. An engine that starts containers
// disturbs the runs beside it, and runs on the same existing servers are best kept
// apart.
func jobsFor(nodes server.Provider) int {
	switch nodes {
	case server.Docker:
		return max(runtime.NumCPU()/2, 1)
	case server.External:
		return 1
	case server.Auto, server.Process:
	}
	return 2 * runtime.NumCPU()
}

// runScenarios loads everything before it runs anything, so that a mistake in
// the last file does not cost the time of the first.
func (a *app) runScenarios(ctx context.Context, args []string, f runFlags) error {
	if f.world != trial.Live && f.world != trial.Virtual {
		return usageError("--world %q: want %s or %s", f.world, trial.Live, trial.Virtual)
	}
	if providers := wordsOf(server.Providers()); !slices.Contains(providers, f.nodes) {
		return usageError("--nodes %q: want one of %s", f.nodes, strings.Join(providers, ", "))
	}
	if f.jobs < 1 || f.repeat < 1 {
		return usageError("--jobs %d, --repeat %d: want at least 1", f.jobs, f.repeat)
	}
	scenarios, err := loadScenarios(args)
	if err != nil {
		return err
	}
	if err := checkExternal(scenarios, f); err != nil {
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
	began := time.Now()
	suite := &suite{app: a, scenarios: scenarios, flags: f, programs: programs, self: self, progress: newProgress(a, len(scenarios)*f.repeat)}
	results := suite.run(ctx)
	machine.KillOrphans() // of lock programs, whose clients have died
	suite.progress.stop()
	if err := suite.publish(results); err != nil {
		return err
	}
	if !f.json {
		if err := report.WriteSummaryLine(a.stdout, results, time.Since(began), a.textOptions()); err != nil {
			return err
		}
	}
	return suite.verdict(ctx, results)
}

// loadScenarios reads all files and folders named. Problems of all files are
// reported together.
func loadScenarios(args []string) ([]*scenario.Scenario, error) {
	files, err := scenario.Find(args)
	if err != nil {
		return nil, &exitError{exitUsage, err}
	}
	var problems scenario.Problems
	var list []*scenario.Scenario
	for _, file := range files {
		s, err := scenario.Load(file)
		var ps scenario.Problems
		switch {
		case errors.As(err, &ps):
			problems = append(problems, ps...)
		case err != nil:
			return nil, &exitError{exitUsage, err}
		default:
			list = append(list, s)
		}
	}
	if len(problems) > 0 {
		return nil, &exitError{exitUsage, fmt.Errorf("%s in the scenario:\n%w", words.Count(len(problems), "problem"), problems)}
	}
	return list, nil
}

// suite runs several scenarios.
type suite struct {
	*app
	scenarios []*scenario.Scenario
	flags     runFlags
	programs  *trial.Programs
	self      string
	progress  *progress

	mu sync.Mutex
	// errs are the errors of scenarios that left no result.
	errs []error
	// printed is how many results have been shown, in the order of the files.
	printed int
	done    []*trial.Trial
}

func (s *suite) run(ctx context.Context) []*report.Result {
	scenarios := s.scenarios
	s.done = make([]*trial.Trial, len(scenarios)*s.flags.repeat)
	slots := make(chan struct{}, s.flags.jobs)
	var wg sync.WaitGroup
	for i := range s.done {
		slots <- struct{}{}
		if ctx.Err() != nil || s.flags.failFast && s.failed() {
			break
		}
		round := i / len(scenarios)
		wg.Go(func() {
			defer func() { <-slots }()
			s.one(ctx, i, scenarios[i%len(scenarios)], s.flags.seed+uint64(round))
		})
	}
	wg.Wait()
	var results []*report.Result
	for _, t := range s.done {
		if t != nil && t.Result != nil {
			results = append(results, t.Result)
		}
	}
	return results
}

// failed reports that something has not come out as expected so far.
func (s *suite) failed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.done {
		if t != nil && (t.Result == nil || exitOf(t.Result, s.flags.allowUndecided) != exitMet) {
			return true
		}
	}
	return false
}

func (s *suite) one(ctx context.Context, i int, sc *scenario.Scenario, seed uint64) {
	s.progress.begin(sc.Name)
	t, err := trial.Run(ctx, sc, trial.Options{
		Seed: seed, Tries: s.flags.tries, World: s.flags.world, Nodes: server.Provider(s.flags.nodes), AllowHooks: s.flags.allowHooks, Programs: s.programs, Out: s.flags.out, ClientCommand: []string{s.self, "client"}, Now: s.now,
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

// show prints the results that are next in the order of the files.
func (s *suite) show() {
	for ; s.printed < len(s.done) && s.done[s.printed] != nil; s.printed++ {
		t := s.done[s.printed]
		if t.Result == nil {
			continue
		}
		s.progress.clear()
		if s.flags.json {
			_ = report.WriteJSON(s.stdout, t.Result)
			continue
		}
		o := s.textOptions()
		o.ReportPath = shortPath(t.Report)
		_ = report.WriteText(s.stdout, t.Result, o)
	}
}

// verdict is the suite's end: the worst of what happened, in the order 5, 4, 1,
// 2 of the exit codes; an interrupt counts before all of them.
func (s *suite) verdict(ctx context.Context, results []*report.Result) error {
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
	ranks := []int{exitMet, exitUndecided, exitUnexpected, exitEnvironment, exitInternal}
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
		for _, p := range v.Properties {
			if !p.Met && p.Verdict != checker.Unknown {
				code = exitUnexpected
			}
		}
	}
	if code == exitMet && r.Undecided && !allowUndecided {
		code = exitUndecided
	}
	return code
}
