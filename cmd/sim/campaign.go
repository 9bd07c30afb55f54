package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/redlock-sim/redlock-sim/internal/app"
	"github.com/redlock-sim/redlock-sim/internal/app/campaign"
	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/app/trial"
	"github.com/redlock-sim/redlock-sim/internal/report/plain"
	"github.com/redlock-sim/redlock-sim/internal/words"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server"
)

func newCampaignCommand(a *cli) *cobra.Command {
	c := &cobra.Command{
		Use:   "campaign",
		Short: "Search and audit with many processes and machines",
		Long: `Search and audit with many processes and machines. A campaign is a search of many runs, or an audit, divided
into ranges. PostgreSQL holds the campaigns; workers on any number of machines take ranges from there, and
store what came of them. Each range counts once, whoever dies meanwhile.

Without --db, sim starts a PostgreSQL server of its own on this machine, which nobody else can
reach, and works on the campaign itself. With --db, sim campaign start only begins the
campaign; sim worker works on it. docs/guide/searching.md says more.`,
		Example: `  sim campaign start search gc-pause --runs 200k
  sim campaign start search scenarios/gc-pause.yaml --runs 10B --db postgres://sim@db.example/campaigns
  sim campaign start audit --lock ours=bin/my-lock --db postgres://sim@db.example/campaigns
  sim worker --db postgres://sim@db.example/campaigns
  sim campaign watch --db postgres://sim@db.example/campaigns`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newCampaignStartCommand(a), newCampaignResumeCommand(a), newCampaignListCommand(a), newCampaignStatusCommand(a),
		newCampaignWatchCommand(a), newCampaignReportCommand(a), newCampaignCancelCommand(a))
	a.checkProjectFirst(c.Commands())
	return c
}

func newCampaignStartCommand(a *cli) *cobra.Command {
	c := &cobra.Command{
		Use:   "start",
		Short: "Begin a campaign",
		Long: `Begin a campaign: a search in the virtual world or among real servers, or an audit. Without --db it is
carried out at once. Ctrl-C ends that; what was made stays, and sim campaign resume goes on.`,
		Example: `  sim campaign start search gc-pause --runs 200k
  sim campaign start audit --lock redlock --guarantee paused-holder`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newCampaignSearchCommand(a), newCampaignAuditCommand(a))
	a.checkProjectFirst(c.Commands())
	return c
}

func newCampaignSearchCommand(a *cli) *cobra.Command {
	r, w := request.Search{World: request.Virtual, Place: request.Place{Jobs: a.project.Jobs}}, works{}
	var runs, rangeRuns count
	var epochRanges uint64
	c := &cobra.Command{
		Use:   "search [SCENARIO]",
		Short: "Begin a search",
		Long: `Begin a search as of sim search, of so many runs as --runs says. Without --db it is carried out at once.
Ctrl-C ends that; what was made stays, and sim campaign resume goes on.

With --unguided the campaign finds what sim search --unguided finds with the same seeds. Otherwise
half of the schedules are changes of earlier ones: the runs of an epoch know what came of the epochs
before. What is found depends on --seed, --runs, --range and --epoch, and on nothing else.

With --world live the runs are made among real servers, in shards of --range runs, each of them a search
of its own. With --db, workers know a lock program by its name: start them with the same NAME and with the
command that starts it there, sim worker --lock NAME='COMMAND'. The database has the name and a digest
of the program; a worker works on the search only if its program has the same digest. Locks of sim need
sim worker --live.

Exit codes without --db: as of sim search. With --db: 0 the campaign has begun, 3 bad scenario or
flags, 4 the database cannot be used.`,
		Example: `  sim campaign start search gc-pause --runs 200k
  sim campaign start search gc-pause --variant fenced --unguided --runs 1M --html summary.html
  sim campaign start search scenarios/gc-pause.yaml --runs 10B --db postgres://sim@db.example/campaigns
  sim campaign start search --world live --lock ours=bin/my-lock --runs 50k --db postgres://sim@db.example/campaigns`,
		Args: cobra.MaximumNArgs(1), ValidArgsFunction: oneScenario,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 1 {
				r.Scenario = args[0]
			}
			if r.World == request.Live && c.Flags().Changed("epoch") {
				return app.Usagef("--epoch is for the virtual world: among real servers each shard is a search of its own")
			}
			if err := checkFile("--html", w.html); err != nil {
				return err
			}
			w.jobs, r.Seeds = r.Jobs, uint64(runs)
			env := a.env()
			env.Permit.Lock = true
			d, lock, err := env.CampaignSearch(c.Context(), r, app.Campaign{RangeRuns: uint64(rangeRuns), EpochRanges: epochRanges})
			if err != nil {
				return err
			}
			return a.startCampaign(c.Context(), d, lock, w)
		},
	}
	c.Flags().StringVar(&r.World, "world", request.Virtual, "where to run: virtual, or live, among real servers")
	registerWords(c, "world", []string{request.Live, request.Virtual})
	c.Flags().StringVar(&r.Lock, "lock", "",
		"with --world live, the lock in the place of the scenario's own: NAME='COMMAND', or a lock of sim")
	targetFlags(c, &r.Target, "the properties whose violation counts, the gravest first", app.SearchProperties()...)
	databaseFlags(a, c, &w.Database)
	c.Flags().Var(&runs, "runs", "how many runs to make: 200k, 5M, 10B")
	c.Flags().Uint64Var(&r.Seed, "seed", 0, "the first seed")
	drawingFlags(c, &r.Drawing)
	c.Flags().Var(&rangeRuns, "range",
		fmt.Sprintf("how many runs a worker makes at a time (default: about 10 s of this machine's work; %d with --world live)", app.ShardRuns))
	c.Flags().Uint64Var(&epochRanges, "epoch", 256,
		"after how many ranges workers share what they learned; several times as many as there are workers")
	w.endFlags(c)
	c.Flags().IntVarP(&r.Jobs, "jobs", "j", a.project.Jobs,
		"without --db: how many runs at once (default: one for each processor; with --world live four for each processor)")
	return c
}

func newCampaignAuditCommand(a *cli) *cobra.Command {
	r := request.Audit{World: request.Live, Nodes: string(server.Process), Timeout: request.Duration(10 * time.Minute)}
	var w works
	var lock string
	var shards int64
	c := &cobra.Command{
		Use:   "audit --lock [NAME=]LOCK",
		Short: "Begin an audit among real servers",
		Long: `Begin an audit as of sim audit, in shards that workers do among real servers. Without --db it is carried
out at once.

With --db, workers know a lock program by its name: start them with the same NAME and with the command
that starts it there, sim worker --lock NAME='COMMAND'. The database has the name and a digest of the
program; a worker works on the audit only if its program has the same digest. Any worker with --live can
audit a lock of sim.

Exit codes without --db: as of sim audit. With --db: 0 the audit has begun, 3 bad flags, 4 the database
cannot be used.`,
		Example: `  sim campaign start audit --lock redlock --guarantee paused-holder
  sim campaign start audit --lock ours=bin/my-lock --shards 16 --db postgres://sim@db.example/campaigns
  sim worker --lock ours=/opt/my-lock --db postgres://sim@db.example/campaigns`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			r.Locks, r.Jobs = []string{lock}, w.jobs
			env := a.env()
			env.Permit.Lock = true
			d, named, err := env.CampaignAudit(c.Context(), r, shards)
			if err != nil {
				return err
			}
			return a.startCampaign(c.Context(), d, named, w)
		},
	}
	c.Flags().StringVar(&lock, "lock", "", "the lock to audit: NAME='COMMAND', or a lock of sim")
	c.Flags().StringVar(&r.Nodes, "nodes", string(server.Process), "where the nodes come from: process or docker")
	registerWords(c, "nodes", []string{string(server.Process), string(server.Docker)})
	caseFlags(c, &r)
	c.Flags().Uint64Var(&r.Seed, "seed", 0, "the seed for everything random")
	c.Flags().Int64Var(&shards, "shards", 8, fmt.Sprintf("into how many shards to divide it, 1 to %d", request.MostShards))
	c.Flags().IntVarP(&w.jobs, "jobs", "j", 0, "without --db: how many cases to run at once (default: as sim audit)")
	c.Flags().StringVar(&w.out, "out", "", "without --db: folder for the card (default: one below campaigns/ in the folder for reports)")
	databaseFlags(a, c, &w.Database)
	return c
}

// works says where campaigns are, who works on them here, and where what they find goes.
type works struct {
	app.Database
	jobs int
	// live, docker and locks are what a worker may do among real servers.
	live, docker bool
	locks        []string
	out, html    string
	json         bool
}

// databaseFlags say where campaigns are.
func databaseFlags(a *cli, c *cobra.Command, d *app.Database) {
	c.Flags().StringVar(&d.URL, "db", "", "the PostgreSQL database, postgres://user@host/name (default: $"+
		app.DatabaseVariable+", else a server of sim's own on this machine)")
	c.Flags().StringVar(&d.Folder, "folder", filepath.Join(a.project.Out, "campaigns"),
		"without --db: the folder with the data of sim's own server")
}

func (w *works) lockFlag(c *cobra.Command) {
	c.Flags().StringArrayVar(&w.locks, "lock", nil, "a lock program that campaigns may name, as NAME='COMMAND' (repeatable); "+
		"campaigns know its name and what it consists of, and never its command")
}

// endFlags say where what is found goes.
func (w *works) endFlags(c *cobra.Command) {
	c.Flags().StringVar(&w.out, "out", "",
		"folder for what is found (default: found in the folder for reports; of work among real servers, one below campaigns/ there)")
	c.Flags().StringVar(&w.html, "html", "", "also write what came of it as an HTML page to this file")
}

// open opens the database; create: that of sim's own server may be made.
func (a *cli) openCampaigns(ctx context.Context, d app.Database, create bool) (*app.Campaigns, error) {
	return a.env().OpenCampaigns(ctx, d, create, a.listener().hear)
}

// namedLocks reads the lock programs of the command line, which permits them by that.
func (a *cli) namedLocks(ctx context.Context, texts []string) ([]*app.NamedLock, error) {
	env := a.env()
	env.Permit.Lock = true
	return env.NamedLocks(ctx, texts)
}

// startCampaign begins a campaign, and carries it out where it is one of this machine alone.
func (a *cli) startCampaign(ctx context.Context, d *campaign.Definition, lock *app.NamedLock, w works) error {
	store, err := a.openCampaigns(ctx, w.Database, true)
	if err != nil {
		return err
	}
	defer store.Close()
	var do *campaign.Doer
	if store.IsOwn() && d.IsLive() {
		var named []*app.NamedLock
		if lock != nil {
			named = append(named, lock)
		}
		if do, err = a.env().Doer(ctx, store, app.NeedsDocker(d), w.jobs, named, a.listener().hear); err != nil {
			return err
		}
	}
	id, err := store.Create(ctx, *d)
	if err != nil {
		return app.DatabaseError(ctx, err)
	}
	if store.IsOwn() {
		return a.carryOut(ctx, store, id, do, w)
	}
	if d.IsLive() {
		name, _, _ := d.Request.Only()
		fmt.Fprintf(a.stdout, "campaign %d   %s   %s, among real servers\n", id, name, words.Count(uint64(d.Shards), "shard"))
	} else {
		r := d.Request.Search
		fmt.Fprintf(a.stdout, "campaign %d   %s   %s   %s, %d at a time\n",
			id, d.Name(), r.Variant, words.Count(r.Seeds, "run"), d.RangeRuns)
	}
	fmt.Fprintf(a.stdout, "  work on it  %s, on any machine, with the same --db\n"+
		"  look at it  sim campaign watch %d, with the same --db\n", workerFor(d), id)
	return nil
}

// carryOut works on a campaign until it is over, and writes what it found.
func (a *cli) carryOut(ctx context.Context, store *app.Campaigns, id int64, do *campaign.Doer, w works) error {
	fmt.Fprintf(a.stderr, "campaign %d (Ctrl-C ends it in order; sim campaign resume goes on)\n", id)
	worker, err := app.StartWorker(ctx, store.Store, do, w.jobs, a.trouble)
	if err != nil {
		return app.DatabaseError(ctx, err)
	}
	_, err = a.follow(ctx, store.Store, id)
	worker.Stop()
	if err != nil {
		return err
	}
	return a.reportCampaign(ctx, store.Store, id, w)
}

// reportCampaign writes what a campaign found so far, as sim search and sim merge do.
func (a *cli) reportCampaign(ctx context.Context, store *campaign.Store, id int64, w works) error {
	own, cancel := context.WithTimeout(context.WithoutCancel(ctx), app.ConnectWithin)
	defer cancel()
	d, err := store.Definition(own, id)
	if err != nil {
		return app.CampaignError(own, id, err)
	}
	st, err := store.Status(own, id)
	if err != nil {
		return app.CampaignError(own, id, err)
	}
	if st.Refused {
		return app.Usagef("campaign %d was carried out by sim %s: with another version its seeds do not repeat", id, st.Build).
			Hint("report it with that version; sim campaign status %d works with any", id)
	}
	tell := func() {
		if !w.json {
			fmt.Fprintf(plain.Lines{Writer: a.stdout}, "  campaign   %d: %s\n", st.ID, stateOf(st))
		}
	}
	if d.IsLive() {
		return a.reportShards(ctx, store, d, st, w, tell)
	}
	l := a.listener()
	l.asJSON = w.json
	hear := func(e app.Event) {
		l.hear(e)
		if _, isSummary := e.(app.Searched); isSummary {
			tell()
		}
	}
	r, err := a.env().CampaignSearched(ctx, store, d, st, cmp.Or(w.out, filepath.Join(a.project.Out, "found")), hear)
	if err != nil {
		return err
	}
	if w.json {
		return a.concludeSearchAsJSON(ctx, r, w.html)
	}
	return a.concludeSearch(ctx, r, w.html)
}

// reportShards merges the shards of a campaign that are done, as sim merge does.
func (a *cli) reportShards(
	ctx context.Context, store *campaign.Store, d *campaign.Definition, st *campaign.Status, w works, tell func(),
) error {
	if err := htmlFits(d, w.html); err != nil {
		return err
	}
	whole, drop, err := app.CampaignShards(ctx, store, st.ID)
	if drop != nil {
		defer drop()
	}
	if err != nil {
		return err
	}
	var failed error
	if st.State == campaign.Failed {
		failed = &trial.EnvironmentError{Err: fmt.Errorf("campaign %d failed: %s", st.ID, st.Failure)}
	}
	if whole == nil {
		tell()
		return cmp.Or(failed, app.Ended(ctx, "interrupted; no shard is done", false, true))
	}
	// Campaigns of several databases have the same numbers.
	out := cmp.Or(w.out, filepath.Join(a.project.Out, "campaigns", fmt.Sprintf("%d-%s", st.ID, st.Created.UTC().Format("20060102-150405"))))
	flags := mergeFlags{out: out, partial: true, html: w.html}
	if w.json {
		flags.json = "-"
	}
	err = a.merge(ctx, whole, flags)
	tell()
	if ctx.Err() != nil {
		return app.Interrupted("interrupted; what was found is kept")
	}
	return cmp.Or(failed, err)
}

// htmlFits refuses --html where there is nothing to write there.
func htmlFits(d *campaign.Definition, html string) error {
	if html != "" && d.Request.Audit != nil {
		return app.Usagef("--html is for searches: an audit's card has a page of its own")
	}
	return nil
}

// workerFor is the command of a worker that can work on a campaign.
func workerFor(d *campaign.Definition) string {
	switch {
	case !d.IsLive():
		return "sim worker"
	case d.Digest != "":
		return fmt.Sprintf("sim worker --lock %s='COMMAND'", d.Lock())
	case app.NeedsDocker(d):
		return "sim worker --docker"
	}
	return "sim worker --live"
}

// tellAbilities says what a worker does among real servers.
func (a *cli) tellAbilities(do *campaign.Doer) {
	list := []string{}
	if do.Servers {
		list = append(list, "redis-server")
	}
	if do.Docker {
		list = append(list, "Docker")
	}
	for _, name := range slices.Sorted(maps.Keys(do.Programs)) {
		list = append(list, fmt.Sprintf("%s (%.16s)", name, do.Programs[name]))
	}
	fmt.Fprintf(a.stderr, "one shard at a time among real servers, with %s (Ctrl-C stops it)\n", strings.Join(list, ", "))
}

// stateOf says how a campaign stands.
func stateOf(st *campaign.Status) string {
	ranges := " in " + words.Count(uint64(st.Ranges), rangeWord(st))
	if st.Unit == rangeWord(st) {
		ranges = ""
	}
	text := fmt.Sprintf("%s, %s of %s%s, %s of work",
		st.State, shortCount(st.Runs), words.Count(st.Target, st.Unit), ranges, shortTime(time.Duration(st.WorkMS)*time.Millisecond))
	if st.Failure != "" {
		text += ": " + st.Failure
	}
	return text
}

// rangeWord is what the ranges of a campaign are called.
func rangeWord(st *campaign.Status) string {
	if st.Shards > 0 {
		return "shard"
	}
	return "range"
}

// count is a number of runs: 200k, 1.5M, 10B.
type count uint64

// String implements pflag.Value.
func (c *count) String() string {
	if *c == 0 {
		return ""
	}
	return shortCount(uint64(*c))
}

// Type implements pflag.Value.
func (c *count) Type() string { return "count" }

// Set implements pflag.Value.
func (c *count) Set(text string) error {
	unit := 1.0
	number := text
	for _, u := range countUnits {
		if rest, ok := strings.CutSuffix(text, u.name); ok {
			number, unit = rest, u.size
			break
		}
	}
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || !(n > 0) || n*unit > 1<<62 || n*unit != math.Trunc(n*unit) || unit == 1 && strings.ContainsAny(number, "eEpPxX_") {
		return fmt.Errorf("%q: want a number such as 5000, 200k, 5M or 10B", text)
	}
	*c = count(n * unit)
	return nil
}

// countUnits are the units of numbers of runs, the largest first.
var countUnits = []struct {
	name string
	size float64
}{{"T", 1e12}, {"B", 1e9}, {"M", 1e6}, {"k", 1e3}}

// shortCount writes a number of runs in few letters.
func shortCount(n uint64) string {
	for _, u := range countUnits {
		if float64(n) >= u.size {
			return strconv.FormatFloat(math.Floor(float64(n)/u.size*1000)/1000, 'f', -1, 64) + u.name
		}
	}
	return fmt.Sprint(n)
}

// writeStatus writes a status as JSON.
func (a *cli) writeStatus(v any) error {
	e := json.NewEncoder(a.stdout)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
