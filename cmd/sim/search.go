package main

import (
	"cmp"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/redlock-sim/redlock-sim/internal/app"
	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/app/trial"
	"github.com/redlock-sim/redlock-sim/internal/explore"
	"github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/words"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server"
)

func newSearchCommand(a *cli) *cobra.Command {
	r := a.search()
	var shard, html string
	allowPrograms, asJSON := false, false
	c := &cobra.Command{
		Use:   "search [SCENARIO]",
		Short: "Search for schedules that break the lock",
		Long: `Search for schedules that break the lock. The search runs the scenario many times in
the virtual world, each time with another seed. Each run has the scenario's own faults
and random faults on top of them. Half of the schedules are drawn afresh. The other
half are changed copies of earlier schedules that reached rare states. Each violation
found is shrunk to the smallest schedule that still fails. It is written as a scenario
for sim run and sim replay.

--lock names a lock that takes the place of the scenario's own: your own, in any language,
as a program, or a lock of sim. Without a scenario sim takes one that suits the lock. A
lock program meets real servers, as with --nodes process; all of them run in virtual time, so
the same seeds find the same violations there, too. Half of all faults then strike single
messages. What is found is run twice more with new processes, and counts if it shows again.

With --world live the runs take real time; so they do with a lock program where virtual time
cannot be had (see sim doctor), and the first line says so. Then they do not repeat exactly:
what is found is repeated 10 times, counts if it shows again at least 3 times, and is made
smaller as long as it shows about as often. docs/guide/searching.md says more.

The state of the search is stored beside what it found; --resume continues it. --seeds
counts from the first run of the search, --for from now.

Exit codes: 0 nothing was found, 1 a violation was found, 2 undecided (a violation of
a lock program that hardly shows again or rests on the program's word alone; or no property
was put to the test, or more than a tenth of the runs could not be carried out or not be
judged, or most did not finish), 3 bad scenario or flags, 4 the
machine lacks something or the lock program does not work, 130 interrupted (what was found
is kept).`,
		Example: `  sim search scenarios/gc-pause.yaml --variant fenced --for 60s
  sim search my-lock.yaml --bare --kinds pause,kill --seeds 100000 --for 0s --stop-at 1
  sim search my-lock.yaml --for 10m --resume
  sim search my-lock.yaml --seeds 400000 --for 0s --shard 1/4
  sim search --lock 'python3 my_lock.py' --for 60s
  sim search my-lock.yaml --lock ./my-lock --kinds pause,hold-message --redis valkey-server
  sim search scenarios/gc-pause.yaml --variant fenced --nodes process
  sim search --world live --lock './my-lock --fast' --for 10m`,
		Args: cobra.MaximumNArgs(1), ValidArgsFunction: oneScenario,
		RunE: func(c *cobra.Command, args []string) (err error) {
			if r.Part, err = partOf(shard, true); err != nil {
				return err
			}
			if err := checkFile("--html", html); err != nil {
				return err
			}
			if len(args) == 1 {
				r.Scenario = args[0]
			}
			env, err := a.permitted(c, r.World, &r.Lock, allowPrograms)
			if err != nil {
				return err
			}
			l := a.listener()
			l.asJSON = asJSON
			result, err := app.Search(c.Context(), env, r, l.hear)
			if err != nil || result == nil {
				return err
			}
			if asJSON {
				return a.concludeSearchAsJSON(c.Context(), result, html)
			}
			return a.concludeSearch(c.Context(), result, html)
		},
	}
	searchFlags(c, &r)
	shardFlag(c, &shard)
	c.Flags().BoolVar(&r.StrictModel, "strict-model", false,
		"stop (exit code 5) if real servers differ from the model in a run that is found")
	allowProgramsFlag(c, &allowPrograms)
	c.Flags().BoolVar(&asJSON, "json", false, "print what came of it as JSON on stdout")
	c.Flags().StringVar(&html, "html", "", "also write what came of it as an HTML page to this file")
	return c
}

// search is a search where no flag says otherwise.
func (a *cli) search() request.Search {
	return request.Search{For: request.Duration(10 * time.Second),
		Place: request.Place{Jobs: a.project.Jobs, Out: filepath.Join(a.project.Out, "found")}}
}

// searchFlags are the flags that say what is searched, and how.
func searchFlags(c *cobra.Command, r *request.Search) {
	placeFlags(c, &r.World, &r.Nodes, &r.Redis)
	c.Flags().StringVar(&r.Lock, "lock", "", "the lock to search, in the place of the scenario's own: "+
		"a command with its arguments, quoted as for a shell, or a lock of sim; empty: none, where sim.yaml names one")
	c.Flags().StringVar(&r.Topology, "topology", "",
		"without a scenario: how the nodes are arranged, "+program.Clustered+" (3 primaries, 3 replicas), "+
			program.Watched+" (a primary, 2 replicas, 3 sentinels) or as suits the lock")
	registerWords(c, "topology", request.Topologies())
	targetFlags(c, &r.Target, "the properties whose violation counts, the gravest first", app.SearchProperties()...)
	drawingFlags(c, &r.Drawing)
	c.Flags().BoolVar(&r.Resume, "resume", false, "continue an earlier search that had the same flags and folder")
	c.Flags().Uint64Var(&r.Seed, "seed", 0, "the first seed")
	c.Flags().Uint64Var(&r.Seeds, "seeds", 0, "how many runs to make (default: as many as the time allows)")
	durationFlag(c, &r.For, "for", "how long to search; 0s: until all --seeds runs are made")
	c.Flags().IntVar(&r.StopAt, "stop-at", 0,
		"stop after this many violations that the nodes confirm; with --world live, that show again (default: never)")
	c.Flags().IntVarP(&r.Jobs, "jobs", "j", r.Jobs, "how many runs at once (default: one for each processor; with real servers "+
		"in virtual time one more; with --world live four for each processor)")
	c.Flags().StringVar(&r.Out, "out", r.Out, "folder for the scenarios that are found")
}

// drawingFlags say how schedules are drawn. A new one is a field of explore.Drawing, and a line here.
func drawingFlags(c *cobra.Command, d *explore.Drawing) {
	faultFlags(c, &d.Bare, &d.Kinds)
	c.Flags().BoolVar(&d.Unguided, "unguided", false, "draw every schedule afresh; do not change earlier ones")
}

// faultFlags say which faults are drawn.
func faultFlags(c *cobra.Command, bare *bool, kinds *[]string) {
	c.Flags().BoolVar(bare, "bare", false, "leave out the scenario's own faults")
	c.Flags().StringSliceVar(kinds, "kinds", nil, "the kinds of faults to draw (default: "+strings.Join(explore.KindsUnasked(), ", ")+
		", and cancel if the lock program can cancel)")
	registerList(c, "kinds", explore.Kinds())
}

// placeFlags say where many runs are made.
func placeFlags(c *cobra.Command, world, nodes, redis *string) {
	worldFlag(c, world, "virtual, but lock programs live where this machine does not let sim run them there")
	c.Flags().StringVar(nodes, "nodes", string(server.Auto), "what the nodes are: model, process (real servers), "+
		"or auto (process with --world live, or where a lock program meets them; otherwise model)")
	registerWords(c, "nodes", words.Texts(trial.Providers(request.Virtual)))
	redisFlag(c, redis)
}

// allowProgramsFlag permits the program of a scenario, or of sim.yaml.
func allowProgramsFlag(c *cobra.Command, allowed *bool) {
	c.Flags().BoolVar(allowed, "allow-programs", false, "allow the lock program that the scenario or sim.yaml names; read it first")
}

// permitted is what runs of a lock need: without --lock it is that of sim.yaml, if the user permits that.
func (a *cli) permitted(c *cobra.Command, world string, named *string, allowPrograms bool) (env *app.Env, err error) {
	if !c.Flags().Changed("lock") {
		if *named, err = a.takeProjectLock(cmp.Or(world, request.Virtual), allowPrograms); err != nil {
			return nil, err
		}
	}
	env = a.env()
	env.Permit = app.Permit{Lock: *named != "", Programs: allowPrograms}
	return env, nil
}
