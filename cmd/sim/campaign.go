package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/redlock-sim/redlock-sim/internal/app/campaign"
	"github.com/redlock-sim/redlock-sim/internal/app/trial"
	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/explore"
	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

func newCampaignCommand(a *app) *cobra.Command {
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

// campaignFlags are those of sim campaign start, and those with which what came of it is written.
type campaignFlags struct {
	searchFlags
	database
	runs        count
	rangeRuns   count
	epochRanges uint64
}

func newCampaignStartCommand(a *app) *cobra.Command {
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

func newCampaignSearchCommand(a *app) *cobra.Command {
	var f campaignFlags
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
			f.named = c.Flags().Changed("property")
			if len(args) == 1 {
				f.scenario = args[0]
			}
			if f.world == trial.Live && c.Flags().Changed("epoch") {
				return usageError("--epoch is for the virtual world: among real servers each shard is a search of its own")
			}
			return a.startCampaign(c.Context(), f)
		},
	}
	c.Flags().StringVar(&f.world, "world", trial.Virtual, "where to run: virtual, or live, among real servers")
	registerWords(c, "world", []string{trial.Live, trial.Virtual})
	c.Flags().StringVar(&f.lock, "lock", "",
		"with --world live, the lock in the place of the scenario's own: NAME='COMMAND', or a lock of sim")
	f.flags(c, "the properties whose violation counts, the gravest first", checker.Demanded("", false)...)
	f.databaseFlags(a, c)
	c.Flags().Var(&f.runs, "runs", "how many runs to make: 200k, 5M, 10B")
	c.Flags().Uint64Var(&f.first, "seed", 0, "the first seed")
	c.Flags().BoolVar(&f.bare, "bare", false, "leave out the scenario's own faults")
	c.Flags().BoolVar(&f.unguided, "unguided", false, "draw every schedule afresh; do not change earlier ones")
	c.Flags().StringSliceVar(&f.kinds, "kinds", nil, "the kinds of faults to draw (default: "+strings.Join(explore.Kinds(), ",")+")")
	registerList(c, "kinds", explore.Kinds())
	c.Flags().Var(&f.rangeRuns, "range",
		fmt.Sprintf("how many runs a worker makes at a time (default: about 10 s of this machine's work; %d with --world live)", realRange))
	c.Flags().Uint64Var(&f.epochRanges, "epoch", 256,
		"after how many ranges workers share what they learned; several times as many as there are workers")
	a.campaignEndFlags(c, &f.searchFlags)
	c.Flags().IntVarP(&f.jobs, "jobs", "j", a.project.Jobs,
		"without --db: how many runs at once (default: one for each processor; with --world live four)")
	return c
}

// campaignEndFlags say where what is found goes.
func (a *app) campaignEndFlags(c *cobra.Command, f *searchFlags) {
	c.Flags().StringVar(&f.out, "out", "",
		"folder for what is found (default: found in the folder for reports; of work among real servers, one below campaigns/ there)")
	c.Flags().StringVar(&f.html, "html", "", "also write a summary to this HTML page")
}

// runsLeaveLittle is how seldom garbage is collected, in percent: runs are small and leave little behind.
const runsLeaveLittle = 800

func (a *app) startCampaign(ctx context.Context, f campaignFlags) error {
	f.seeds = uint64(f.runs)
	if f.runs == 0 {
		return usageError("say how many runs to make: --runs 200k")
	}
	if f.jobs < 0 || f.jobs > mostSlots || f.runs > campaign.MostRuns {
		return usageError("want --jobs 1 to %d, and --runs up to %d", mostSlots, uint64(campaign.MostRuns))
	}
	jobs := f.jobs
	if err := f.check(); err != nil {
		return err
	}
	if f.world == trial.Live {
		return a.startRealSearch(ctx, f, jobs)
	}
	search, _, err := a.searched(ctx, &f.searchFlags)
	if err != nil {
		return err
	}
	d := campaign.Definition{
		Scenario: search.Scenario.Text, File: filepath.ToSlash(search.Scenario.File),
		Variant: search.Variant, Properties: search.Properties,
		Kinds: search.Kinds, Bare: search.Bare, Unguided: search.Unguided,
		First: f.first, Runs: f.seeds, RangeRuns: uint64(f.rangeRuns), EpochRanges: f.epochRanges,
	}
	if d.RangeRuns == 0 {
		if d.RangeRuns, err = rangeOf(ctx, search, f); err != nil {
			return interruptedOr(ctx, err)
		}
	}
	if _, err := d.Search(); err != nil {
		return usageError("%w", err)
	}
	store, err := a.openCampaigns(ctx, f.database, true)
	if err != nil {
		return err
	}
	defer store.close()
	id, err := store.Create(ctx, d)
	if err != nil {
		return databaseError(ctx, err)
	}
	if store.kept == nil {
		fmt.Fprintf(a.stdout, "campaign %d   %s   %s   %s, %d at a time\n",
			id, search.Scenario.Name, d.Variant, words.Count(d.Runs, "run"), d.RangeRuns)
		fmt.Fprintf(a.stdout, "  work on it  sim worker, on any machine, with the same --db\n"+
			"  look at it  sim campaign watch %d, with the same --db\n", id)
		return nil
	}
	return a.carryOut(ctx, store, id, nil, f.jobs, f.searchFlags)
}

// rangeLasts is how long a range is to last on the machine that begins a campaign.
const rangeLasts = 10 * time.Second

// rangeOf sizes ranges by how fast this machine is. Where it is to carry out a short campaign alone, each processor
// gets several.
func rangeOf(ctx context.Context, search explore.Search, f campaignFlags) (uint64, error) {
	rate := 0.0
	for n := uint64(64); ; n *= 2 {
		began := time.Now()
		if _, err := search.Range(ctx, nil, 0, 0, n); err != nil {
			if errors.Is(err, explore.ErrNobodyToStrike) {
				return 0, usageError("--kinds: %w", err)
			}
			return 0, err
		}
		if took := time.Since(began); took > 300*time.Millisecond || n >= f.seeds {
			rate = float64(n) / took.Seconds()
			break
		}
	}
	size := rate * rangeLasts.Seconds()
	if parts := f.seeds / uint64(8*slotsOf(f.jobs)); size > float64(parts) {
		size = float64(parts)
	}
	size = max(size, 1)
	digit := math.Pow(10, math.Floor(math.Log10(size)))
	return uint64(math.Floor(size/digit) * digit), nil
}

// carryOut works on a campaign until it is over, and writes what it found.
func (a *app) carryOut(ctx context.Context, store *campaigns, id int64, do *campaign.Doer, jobs int, f searchFlags) error {
	fmt.Fprintf(a.stderr, "campaign %d (Ctrl-C ends it in order; sim campaign resume goes on)\n", id)
	w, err := a.startWorker(ctx, store.Store, do, jobs)
	if err != nil {
		return databaseError(ctx, err)
	}
	_, err = a.follow(ctx, store.Store, id)
	w.Stop()
	if err != nil {
		return err
	}
	return a.reportCampaign(ctx, store.Store, id, f)
}

// startWorker starts a worker for shards among real servers, or, without a doer, for the virtual world.
func (a *app) startWorker(ctx context.Context, store *campaign.Store, do *campaign.Doer, jobs int) (*campaign.Worker, error) {
	if do != nil {
		return store.StartReal(ctx, do, a.trouble)
	}
	debug.SetGCPercent(runsLeaveLittle)
	return store.Start(ctx, slotsOf(jobs), a.trouble)
}

// reportCampaign writes what a campaign found so far, as sim search does.
func (a *app) reportCampaign(ctx context.Context, store *campaign.Store, id int64, f searchFlags) error {
	own, cancel := context.WithTimeout(context.WithoutCancel(ctx), connectWithin)
	defer cancel()
	d, err := store.Definition(own, id)
	if err != nil {
		return campaignError(own, id, err)
	}
	st, err := store.Status(own, id)
	if err != nil {
		return campaignError(own, id, err)
	}
	if st.Refused {
		return usageError("campaign %d was carried out by sim %s: with another version its seeds do not repeat\n"+
			"hint: report it with that version; sim campaign status %d works with any", id, st.Build, id)
	}
	if d.Real != nil {
		return a.reportShards(ctx, store, d, st, f)
	}
	search, err := d.Search()
	if err != nil {
		return usageError("%w", err)
	}
	f.out = cmp.Or(f.out, filepath.Join(a.project.Out, "found"))
	result, err := store.Report(own, id)
	if err != nil {
		return campaignError(own, id, err)
	}
	f.world, f.scenario, f.variant = trial.Virtual, d.File, d.Variant
	f.kinds, f.bare, f.unguided, f.first, f.seeds = d.Kinds, d.Bare, d.Unguided, d.First, d.Runs
	f.campaign = []string{"--range", fmt.Sprint(d.RangeRuns), "--epoch", fmt.Sprint(d.EpochRanges)}
	a.printSearch(search, result, 0, tookOf(st, a.now()))
	fmt.Fprintf(report.PlainLines{Writer: a.stdout}, "  campaign   %d: %s\n", id, stateOf(st))
	return a.endSearch(ctx, search, nil, f, result, nil)
}

// tookOf is how long a campaign has lasted.
func tookOf(st *campaign.Status, now time.Time) time.Duration {
	if st.Finished != nil {
		now = *st.Finished
	}
	return max(now.Sub(st.Created), time.Millisecond)
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

// campaignError tells a campaign that is not there from a database that does not answer.
func campaignError(ctx context.Context, id int64, err error) error {
	switch {
	case errors.Is(err, campaign.ErrNone):
		return usageError("there is no campaign %d\nhint: sim campaign list", id)
	case errors.Is(err, campaign.ErrOver):
		return usageError("campaign %d is over\nhint: sim campaign report %d", id, id)
	}
	return databaseError(ctx, err)
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
func (a *app) writeStatus(v any) error {
	e := json.NewEncoder(a.stdout)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
