package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/kballard/go-shellquote"
	"github.com/spf13/cobra"

	"github.com/redlock-sim/redlock-sim/internal/app"
	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/app/trial"
	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/scenario/yamlform"
	"github.com/redlock-sim/redlock-sim/internal/words"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server"
)

// runFlags are the flags of sim run: what is asked, what is permitted, and where results are written beside the runs' folders.
type runFlags struct {
	request.Run
	permit          app.Permit
	failed, json    bool
	junit, markdown string
	github          bool
}

// runFlags are those where no flag says otherwise.
func (a *cli) runFlags() runFlags {
	return runFlags{Run: request.Run{Repeat: 1, Timeout: request.Duration(time.Hour), Place: request.Place{Out: a.project.Out}}}
}

func newRunCommand(a *cli) *cobra.Command {
	f, shard := a.runFlags(), ""
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

The program of --lock runs as it is, on real servers, in virtual time: the same seed makes
the same run, and no machine is too slow. The first run is made twice, and so are those in
which something is violated, and a sample of the others (with --twice all): a run is
undecided if the two differ. Where virtual time cannot be had (see sim doctor), the first
line says so, and the run takes real time. --world live asks for that: do it at night, and
before a release.
All else runs live, unless --world virtual asks for virtual time, with models of servers.

Unless the scenario says otherwise, exclusive-lease, backed-grant, no-late-effect
and linearizable-resource are expected to hold. Live, an expected violation may not show
because the machine was slow: see --tries. If it was too slow for a run, the last line says
so, and what is not as expected is undecided.

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
  sim run all --world live --lock 'python3 my_lock.py'
  sim run gc-pause --world virtual --nodes process --redis valkey-server
  sim run all --seed 42 --shard 2/4`,
		Args: func(_ *cobra.Command, args []string) error {
			if f.failed && len(args) > 0 {
				return app.Usagef("--failed runs what did not end as expected last time: name no scenario")
			}
			if len(args) == 0 && len(a.project.Scenarios) == 0 && !f.failed {
				return noScenario(f.Match, f.Tags)
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			return a.run(c.Context(), f, shard, args, c.Flags().Changed)
		},
		ValidArgsFunction: manyScenarios,
	}
	filterFlags(c, &f.Match, &f.Tags)
	f.ownFlags(a, c)
	shardFlag(c, &shard)
	return c
}

// noScenario says how to name scenarios: where some were to be chosen by tag or name, of all.
func noScenario(match string, tags []string) error {
	e := app.Usagef("name a scenario to run")
	if match == "" && len(tags) == 0 {
		return e.Hint("sim list lists them; sim run gc-pause runs one")
	}
	line := []string{"sim", "run", scenario.All}
	if match != "" {
		line = append(line, "--match", match)
	}
	list, err := scenario.LoadAll(scenario.All)
	if err != nil {
		return err
	}
	known := app.TagsOf(list)
	for _, tag := range tags {
		if !slices.Contains(known, tag) {
			tag = cmp.Or(yamlform.Nearest(tag, known), tag)
		}
		line = append(line, "--tag", tag)
	}
	return e.Hint("%s", shellquote.Join(line...))
}

// run completes what is asked with what follows from other flags and from sim.yaml, and runs it.
func (a *cli) run(ctx context.Context, f runFlags, shard string, args []string, changed func(flag string) bool) (err error) {
	if !changed("seed") {
		f.Seed = uint64(rand.Uint32())
	}
	if changed("tries") && f.Tries < 1 {
		return app.Usagef("--tries %d: want at least 1", f.Tries)
	}
	if !changed("jobs") {
		f.Jobs = a.project.Jobs
	} else if f.Jobs < 1 {
		return app.Usagef("--jobs %d: want at least 1", f.Jobs)
	}
	if err = errors.Join(checkFile("--junit", f.junit), checkFile("--markdown", f.markdown)); err != nil {
		return err
	}
	if f.Part, err = partOf(shard, changed("seed")); err != nil {
		return err
	}
	if f.Part != nil && f.failed {
		return app.Usagef("--shard does not go with --fail-fast and --failed: a shard does not know what others do")
	}
	if f.Scenarios, err = a.whatToRun(&f, args, changed); err != nil || len(f.Scenarios) == 0 {
		return err
	}
	f.permitImages(changed("nodes"))
	if changed("lock") && f.Lock == "" && a.project.Lock == "" && !f.AsPrograms {
		return app.Usagef("--lock: name a program")
	}
	if !changed("lock") && !f.AsPrograms {
		if f.Lock, err = a.takeProjectLock(f.World, f.permit.Programs); err != nil {
			return err
		}
	}
	f.permit.Lock = f.Lock != ""
	return a.runScenarios(ctx, f)
}

// permitImages permits the images that scenarios name if the flag asks for nodes in Docker: named. What sim.yaml says of nodes is no
// request of the user.
func (f *runFlags) permitImages(named bool) {
	if !named {
		f.Nodes = ""
	}
	f.permit.Images = server.Provider(f.Nodes) == server.Docker
}

// whatToRun names the scenarios: those of the command line, else those of sim.yaml; with --failed those
// that did not end as expected last time.
func (a *cli) whatToRun(f *runFlags, args []string, changed func(flag string) bool) ([]string, error) {
	if !f.failed {
		if len(args) == 0 {
			args = a.project.Scenarios
		}
		return args, nil
	}
	last, err := app.ReadLast(f.Out)
	if err != nil {
		return nil, err
	}
	if args = last.Again(); len(args) == 0 {
		fmt.Fprintf(a.stderr, "nothing to run again: the last run in %s ended as expected\n", f.Out)
		return nil, nil
	}
	if !changed("world") {
		f.World = last.World
	}
	if !changed("seed") {
		f.Seed = last.Seed
	}
	if !changed("repeat") {
		f.Repeat = last.Repeat
	}
	return args, nil
}

// nodesFlags say what the nodes are.
func (f *runFlags) nodesFlags(a *cli, c *cobra.Command) {
	c.Flags().StringVar(&f.Nodes, "nodes", a.project.Nodes, "what the nodes are. In the live world: process, docker, "+
		"external (nodes.addresses of the scenario), or auto (process where redis-server is installed, otherwise docker). "+
		"In the virtual world: model, process (real servers in virtual time), "+
		"or auto (process where a lock program meets them, otherwise model)")
	registerWords(c, "nodes", nodesWords())
	redisFlag(c, &f.Redis)
}

func (f *runFlags) programsFlag(c *cobra.Command) {
	c.Flags().BoolVar(&f.permit.Programs, "allow-programs", false,
		"allow the lock programs that a scenario names under lock.program, and the one of sim.yaml; read them first")
}

// nodesWords are what nodes can be, in any world.
func nodesWords() []string {
	list := words.Texts(append(server.Providers(), trial.Providers(request.Virtual)...))
	slices.Sort(list)
	return slices.Compact(list)
}

// redisFlag names the program of servers.
func redisFlag(c *cobra.Command, to *string) {
	c.Flags().StringVar(to, "redis", "", "the program of nodes that are processes: a redis-server or a valkey-server, "+
		"by its path or as it is found on PATH (default: $REDLOCK_SIM_REDIS_SERVER, or redis-server)")
}

// ownFlags are the flags that sim run alone has.
func (f *runFlags) ownFlags(a *cli, c *cobra.Command) {
	c.Flags().BoolVar(&f.failed, "failed", false, "run again what did not end as expected in the last run below --out, or was not run: "+
		"in the same world and with the same seed and --repeat, where flags do not say otherwise")
	worldFlag(c, &f.World, "the programs of --lock virtual where this machine lets sim, all else live")
	f.nodesFlags(a, c)
	c.Flags().StringVar(&f.Upgrade, "upgrade", "", "with --world virtual --nodes process: the program with which a node starts again "+
		"that was killed, as another version of the server on the same data")
	c.Flags().BoolVar(&f.permit.Hooks, "allow-hooks", false,
		"with --nodes external: allow the commands that the scenario names under nodes.hooks; read them first")
	c.Flags().StringVar(&f.permit.PasswordEnv, "password-env", "",
		"with --nodes external: the environment variable with the password for scenarios that need one (nodes.password)")
	c.Flags().BoolVar(&f.permit.PlainPassword, "allow-plain-password", false,
		"send the password also without TLS to servers that are not on this machine")
	c.Flags().StringVar(&f.Lock, "lock", "",
		"a lock to put in the place of every scenario's: a lock program, as a command with its arguments, quoted as for a shell "+
			"(no shell runs it), image:NAME for one in a Docker image, or a lock of sim, as in 'redlock --switch quorum'; "+
			"empty: none, where sim.yaml names one")
	c.Flags().StringArrayVar(&f.LockOf, "lock-of", nil,
		"with --lock: the lock of one client where it is another one than that of the others, as CLIENT=LOCK, for example "+
			"c1='./lock-of-last-year' (repeatable): an old version beside a new one")
	c.Flags().BoolVar(&f.AsPrograms, "as-programs", false, "put each built-in lock behind the lock protocol; its expectations stay")
	_ = c.Flags().MarkHidden("as-programs") // it tests sim itself
	f.programsFlag(c)
	c.Flags().Uint64Var(&f.Seed, "seed", 0, "the seed for everything random (default: a random one, which is printed)")
	c.Flags().BoolVar(&f.json, "json", false, "print each scenario's result as JSON on stdout, as in result.json")
	c.Flags().StringVar(&f.Out, "out", a.project.Out, "folder in which runs are stored")
	c.Flags().IntVarP(&f.Jobs, "jobs", "j", 0, "how many scenarios to run at once (default: two for each processor, and up to twelve "+
		"while the machine is idle; with real servers in virtual time one for each processor; "+
		"with --nodes docker or --lock image:NAME one for each two processors; with --nodes external one)")
	c.Flags().IntVar(&f.Repeat, "repeat", 1, "run every scenario this many times, each time with another seed, "+
		"and say how often each verdict came; of the single runs only those with a new surprise are shown")
	c.Flags().IntVar(&f.Tries, "tries", 0, "in real time: run a variant up to this many times, each time with another seed, "+
		"until every violation that it expects has shown (default: 3); what is expected to hold must hold in every try")
	durationFlag(c, &f.Timeout, "timeout", "how long one run may take in real time, "+
		"in both worlds (the scenario's time_limit bounds simulated time in the virtual world); 0s: as long as it wants")
	c.Flags().StringVar(&f.junit, "junit", "", "write the results as JUnit XML to this file")
	c.Flags().StringVar(&f.markdown, "markdown", "", "write the results as a Markdown table to this file")
	c.Flags().BoolVar(&f.github, "github", false,
		"annotate unexpected verdicts on stdout for GitHub Actions, and append the table to $GITHUB_STEP_SUMMARY")
	c.Flags().BoolVar(&f.FailFast, "fail-fast", false, "start no further scenario after one that did not end as expected")
	twiceFlag(c, &f.Twice)
	c.Flags().BoolVar(&f.AllowUndecided, "allow-undecided", false, "exit with 0, not 2, if a verdict is undecided")
}

// runScenarios runs scenarios, and tells and writes what came of them.
func (a *cli) runScenarios(ctx context.Context, f runFlags) error {
	env, l := a.env(), a.listener()
	env.Permit, l.asJSON = f.permit, f.json
	s, err := app.Run(ctx, env, f.Run, l.hear)
	if s == nil {
		return err
	}
	return errors.Join(err, a.concludeRuns(ctx, s, f))
}

// concludeRuns tells what came of a suite, and says how it ended.
func (a *cli) concludeRuns(ctx context.Context, s *app.Suite, f runFlags) error {
	results := s.Results()
	if !f.json {
		if err := a.tellSuite(s, results); err != nil {
			return err
		}
		if s.Index != "" {
			fmt.Fprintf(a.stdout, "suite    %s\n", s.Index)
		}
	}
	if err := a.publish(s, f); err != nil {
		return err
	}
	if !f.json && len(results) > 0 {
		if err := a.nameSurprises(s, results); err != nil {
			return err
		}
		if err := report.WriteSummaryLine(a.stdout, results, len(s.Errors), s.Took, a.textOptions()); err != nil {
			return err
		}
	}
	return s.Verdict(ctx)
}

// nameSurprises names in the last lines of a suite what is not as expected, and its reports.
func (a *cli) nameSurprises(s *app.Suite, results []*report.Result) error {
	if len(s.Units) == 1 {
		return nil
	}
	paths := make(map[*report.Result]string)
	for _, t := range s.Done {
		if t != nil && t.Result != nil {
			paths[t.Result] = shortPath(t.Report)
		}
	}
	return report.WriteNames(a.stdout, results, func(r *report.Result) string { return paths[r] }, a.textOptions())
}

// tellSuite tells of a suite what was not told of its runs: what does not apply, what is not as expected, and how often what came.
func (a *cli) tellSuite(s *app.Suite, results []*report.Result) error {
	if len(s.Units) == 1 {
		return nil
	}
	if err := report.WriteNotApplicable(a.stdout, results, a.textOptions()); err != nil {
		return err
	}
	if s.Request.Repeat > 1 {
		return report.WriteRepeats(a.stdout, results, a.textOptions())
	}
	for _, t := range s.Done {
		if t != nil && t.Result != nil && t.Result.IsFinding() {
			if err := report.WriteSuiteText(a.stdout, t.Result, shortPath(t.Report), a.textOptions()); err != nil {
				return err
			}
		}
	}
	return nil
}

func twiceFlag(c *cobra.Command, twice *bool) {
	c.Flags().BoolVar(twice, "twice", false, "make each run of a lock program in virtual time twice, also where others of it have repeated")
}

// worldFlag says in which world something is run; usual is which one where it does not.
func worldFlag(c *cobra.Command, to *string, usual string) {
	c.Flags().StringVar(to, "world", "", "where to run: live (real servers and processes, in real time) or "+
		"virtual (in virtual time, where the same seed makes the same run) (default: "+usual+")")
	registerWords(c, "world", []string{request.Live, request.Virtual})
}

// filterFlags choose among scenarios that were named.
func filterFlags(c *cobra.Command, match *string, tags *[]string) {
	c.Flags().StringVar(match, "match", "", "take only scenarios whose name matches this regular expression")
	c.Flags().StringSliceVar(tags, "tag", nil, "take only scenarios with this tag, or one of these")
	_ = c.RegisterFlagCompletionFunc("tag", func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 {
			args = []string{scenario.All}
		}
		list, _ := scenario.LoadAll(args...)
		return app.TagsOf(list), cobra.ShellCompDirectiveNoFileComp
	})
}
