package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/kballard/go-shellquote"
	"github.com/spf13/cobra"

	"github.com/redlock-sim/redlock-sim/internal/app/shard"
	"github.com/redlock-sim/redlock-sim/internal/app/trial"
	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/explore"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// searchFlags are the flags of sim search.
type searchFlags struct {
	target
	html     string
	bare     bool
	unguided bool
	resume   bool
	kinds    []string
	first    uint64
	seeds    uint64
	lasts    time.Duration
	stopAt   int
	jobs     int
	out      string
	world    string
	lock     string
	// allowPrograms: the lock program that the scenario names may be started.
	allowPrograms bool
	// scenario is the file; empty: there is none.
	scenario string
	shard    string
	// now is the time that reports of what is found bear; nil: that of the clock.
	now func() time.Time
	// named: the properties are those of --property.
	named bool
	// campaign are the flags of sim campaign start that a search does not have; nil: it is no campaign.
	campaign []string
}

func newSearchCommand(a *app) *cobra.Command {
	var f searchFlags
	c := &cobra.Command{
		Use:   "search [SCENARIO]",
		Short: "Search for schedules that break the lock",
		Long: `Search for schedules that break the lock. The search runs the scenario many times in
the virtual world, each time with another seed. Each run has the scenario's own faults
and random faults on top of them. Half of the schedules are drawn afresh. The other
half are changed copies of earlier schedules that reached rare states. Each violation
found is shrunk to the smallest schedule that still fails. It is written as a scenario
for sim run and sim replay.

With --world live the runs are made among real servers, so that any lock can be searched:
--lock names it, as for sim run. It takes the place of the scenario's own lock. Without a
scenario sim takes one that suits the lock. The servers stay from run to run; clients and
lock programs are new in each. Half of all faults strike single messages. What is found is
repeated 10 times. It counts if it shows again at least 3 times, and is then made smaller
as long as it shows about as often. docs/guide/searching.md says more.

The state of the search is stored beside what it found; --resume continues it. --seeds
counts from the first run of the search, --for from now.

Exit codes: 0 nothing was found, 1 a violation was found, 2 undecided (a violation that
hardly shows again or rests on the lock's word alone, with --world live; or no property
was put to the test, or more than a tenth of the runs could not be carried out or not be
judged, or most did not finish), 3 bad scenario or flags, 4 the
machine lacks something or the lock program does not work, 130 interrupted (what was found
is kept).`,
		Example: `  sim search scenarios/gc-pause.yaml --variant fenced --for 60s
  sim search my-lock.yaml --bare --kinds pause,kill --seeds 100000 --for 0s --stop-at 1
  sim search my-lock.yaml --for 10m --resume
  sim search my-lock.yaml --seeds 400000 --for 0s --shard 1/4
  sim search --world live --lock './my-lock --fast' --for 10m
  sim search scenarios/gc-pause.yaml --world live --lock ./my-lock --kinds pause,hold-message`,
		Args: cobra.MaximumNArgs(1), ValidArgsFunction: oneScenario,
		RunE: func(c *cobra.Command, args []string) error {
			f.named = c.Flags().Changed("property")
			if err := f.checkShard(); err != nil {
				return err
			}
			if len(args) == 1 {
				f.scenario = args[0]
			}
			return a.search(c.Context(), f)
		},
	}
	c.Flags().StringVar(&f.world, "world", trial.Virtual, "where to run: virtual, or live, among real servers")
	registerWords(c, "world", []string{trial.Live, trial.Virtual})
	c.Flags().StringVar(&f.lock, "lock", "", "the lock to search, in the place of the scenario's own (with --world live): "+
		"a command with its arguments, quoted as for a shell, or a lock of sim")
	c.Flags().BoolVar(&f.allowPrograms, "allow-programs", false,
		"allow the lock program that the scenario names (with --world live); read it first")
	f.flags(c, "the properties whose violation counts, the gravest first", checker.Demanded("", false)...)
	c.Flags().BoolVar(&f.bare, "bare", false, "leave out the scenario's own faults")
	c.Flags().BoolVar(&f.unguided, "unguided", false, "draw every schedule afresh; do not change earlier ones")
	c.Flags().BoolVar(&f.resume, "resume", false, "continue an earlier search that had the same flags and folder")
	c.Flags().StringSliceVar(&f.kinds, "kinds", nil, "the kinds of faults to draw (default: "+strings.Join(explore.Kinds(), ",")+")")
	c.Flags().Uint64Var(&f.first, "seed", 0, "the first seed")
	c.Flags().Uint64Var(&f.seeds, "seeds", 0, "how many runs to make (default: as many as the time allows)")
	c.Flags().DurationVar(&f.lasts, "for", 10*time.Second, "how long to search; 0s: until all --seeds runs are made")
	c.Flags().IntVar(&f.stopAt, "stop-at", 0, "stop after this many violations; with --world live, of those that show again (default: never)")
	c.Flags().IntVarP(&f.jobs, "jobs", "j", a.project.Jobs, "how many runs at once (default: one for each processor; with --world live four)")
	c.Flags().StringVar(&f.out, "out", filepath.Join(a.project.Out, "found"), "folder for the scenarios that are found")
	shardFlag(c, &f.shard)
	registerList(c, "kinds", explore.Kinds())
	c.Flags().StringVar(&f.html, "html", "", "also write a summary to this HTML page")
	return c
}

func (a *app) search(ctx context.Context, f searchFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	search, among, err := a.searched(ctx, &f)
	if err != nil {
		return err
	}
	if among != nil {
		defer among.leave()
	}
	share, err := f.takeShare(&search)
	if err != nil {
		return err
	}
	if share != nil && search.Seeds == 0 {
		share.nothing(a, words.Count(f.seeds, "seed"))
		return share.end(ctx, a, &shard.Record{Search: &explore.Part{First: search.First}})
	}
	state := newSearchState(search, f.out)
	before := uint64(0)
	if f.resume {
		if search.From, err = state.load(); err != nil {
			return err
		}
		before = search.From.Runs
	}
	if among != nil {
		if err := among.explore(ctx, a, &search); err != nil {
			return err
		}
	}
	search.Save = state.save
	if search.Real != nil {
		search.Real.Seen = func(k explore.Found, h *history.History) error {
			return machine.WriteFile(seenFile(search, f.out, k), func(w io.Writer) error { return history.Encode(w, h) })
		}
	}
	a.orderly.Store(true)
	began := time.Now()
	search.Progress = meter(a, began, func(r explore.Report, took time.Duration) string { return searchLine(f, r, before, took) })
	limited, cancel := within(ctx, f.lasts)
	defer cancel()
	part, err := search.RunPart(limited)
	a.clearLine()
	if errors.Is(err, explore.ErrNobodyToStrike) {
		return usageError("--kinds: %w", err)
	}
	if err != nil {
		return among.blamed(err)
	}
	result := part.Report()
	a.printSearch(search, result, before, time.Since(began))
	return a.endSearch(ctx, search, among, f, result, func(kept []found) error {
		if share == nil {
			return nil
		}
		return share.keepSearch(ctx, a, search, f.scenario, &part, kept)
	})
}

// endSearch writes what a search found, and says how it ended. keep takes what was written; nil: nobody does.
func (a *app) endSearch(
	ctx context.Context, search explore.Search, among *liveSearch, f searchFlags, result explore.Report, keep func([]found) error,
) error {
	kept, sure, err := a.keepFound(ctx, search, among, f, result)
	if err != nil {
		return interruptedOr(ctx, err)
	}
	if keep != nil {
		if err := keep(kept); err != nil {
			return err
		}
	}
	if f.html != "" {
		page, err := searchPage(search, f, result, kept)
		if err != nil {
			return err
		}
		if err := a.toOutput(f.html, func(w io.Writer) error { return report.WriteRates(w, page) }); err != nil {
			return err
		}
		fmt.Fprintf(a.stdout, "  summary    %s\n", f.html)
	}
	why := a.printUntold(ctx, search, &result, len(kept) > 0)
	return ended(ctx, "interrupted; what was found is kept", sure, len(kept) > 0 || why != "")
}

// printUntold says why a search that found nothing tells nothing, and for how many runs the machine was too slow.
func (a *app) printUntold(ctx context.Context, search explore.Search, r *explore.Report, found bool) (why string) {
	why = untold(search.Properties, r)
	switch {
	case ctx.Err() != nil:
	case why != "" && !found:
		fmt.Fprintf(report.PlainLines{Writer: a.stdout}, "  undecided  %s\n", why)
	case r.Slow > 0:
		fmt.Fprintf(report.PlainLines{Writer: a.stdout}, "  too slow   %s\n", slowRuns(r))
	}
	return why
}

// slowRuns says for how many runs the machine was too slow.
func slowRuns(r *explore.Report) string {
	why, _, _ := strings.Cut(r.Slowness, "\n")
	if r.GaveUp {
		why += " (so the search ended early)"
	}
	return fmt.Sprintf("this machine was too slow for %d of %s, which are not judged; the last: %s", r.Slow, words.Count(r.Runs, "run"), why)
}

// lostMany reports that more than a tenth of the runs could not be carried out, or not be judged, or that the search ended early because
// the machine was too slow: then it says nothing that nothing was found.
func lostMany(r *explore.Report) bool { return r.GaveUp || 10*(r.Failed+r.Slow+r.Unjudged) > r.Runs }

// lostRuns says how many runs could not be carried out or not be judged, and why.
func lostRuns(r *explore.Report) string {
	var list []string
	for _, lost := range []struct {
		runs      uint64
		what, why string
	}{
		{r.Failed, "could not be carried out", r.Failure},
		{r.Slow, "not judged because this machine was too slow", r.Slowness},
		{r.Unjudged, "could not be judged", r.Doubt},
	} {
		if lost.runs > 0 {
			why, _, _ := strings.Cut(lost.why, "\n") // then comes what a program printed
			list = append(list, fmt.Sprintf("%d %s (the last: %s)", lost.runs, lost.what, why))
		}
	}
	text := fmt.Sprintf("%d of %s tell nothing: %s", r.Failed+r.Slow+r.Unjudged, words.Count(r.Runs, "run"), strings.Join(list, "; "))
	if r.GaveUp {
		text += "; so the search ended early"
	}
	return text
}

// untold says why a search that found nothing tells nothing; empty: it tells something.
func untold(properties []checker.Property, r *explore.Report) string {
	judged := uint64(0)
	for _, p := range properties {
		runs, _ := r.JudgedOn(string(p))
		judged = max(judged, runs)
	}
	switch {
	case lostMany(r):
		return lostRuns(r)
	case judged == 0:
		return fmt.Sprintf("none of %s put any of the properties to the test", words.Count(r.Runs, "run"))
	case r.Unfinished > r.Runs/2:
		return fmt.Sprintf("%d of %s did not finish: they came to the time limit", r.Unfinished, words.Count(r.Runs, "run"))
	}
	return ""
}

// check refuses flags that do not go together.
func (f *searchFlags) check() error {
	for _, k := range f.kinds {
		if !slices.Contains(explore.Kinds(), k) {
			return usageError("--kinds: no fault %q can be drawn\nhint: use any of %s", k, strings.Join(explore.Kinds(), ", "))
		}
	}
	live := f.world == trial.Live
	switch {
	case !live && f.world != trial.Virtual:
		return usageError("--world %q: want %s or %s", f.world, trial.Live, trial.Virtual)
	case !live && f.lock != "":
		return usageError("--lock is for a search among real servers\nhint: --world live; in the virtual world a scenario names the lock")
	case !live && f.scenario == "":
		return usageError("name a scenario\nhint: sim list; or --world live with --lock")
	case f.jobs < 0 || f.lasts < 0 || f.lasts == 0 && f.seeds == 0:
		return usageError("say how long to search: --for, --seeds, and at least one --jobs")
	}
	if f.jobs == 0 {
		if f.jobs = runtime.NumCPU(); live {
			f.jobs *= liveJobs
		}
	}
	return nil
}

// liveJobs is how many runs at once a processor carries among real servers: mostly they wait.
const liveJobs = 4

// searched is what is to be searched, and what that takes among real servers; nil: it is the
// virtual world.
func (a *app) searched(ctx context.Context, f *searchFlags) (search explore.Search, among *liveSearch, err error) {
	search = explore.Search{Bare: f.bare, Kinds: f.kinds,
		Unguided: f.unguided, First: f.first, Seeds: f.seeds, StopAt: f.stopAt, Workers: f.jobs}
	if f.world == trial.Virtual {
		debug.SetGCPercent(runsLeaveLittle)
		s, v, properties, err := f.load(f.scenario)
		if err != nil {
			return search, nil, err
		}
		search.Scenario, search.Variant, search.Properties = s, v.Name, properties
		return search, nil, nil
	}
	s, v, among, err := a.liveTarget(ctx, f.scenario, f)
	if err != nil {
		return search, nil, err
	}
	search.Scenario, search.Variant = s, v.Name
	if search.Properties = liveProperties(among.ready, &v.Setup); f.named {
		search.Properties, err = f.wanted()
	}
	if len(f.kinds) == 0 {
		search.Kinds, search.Allows = survivable(&v.Setup)
	}
	if err != nil {
		among.leave()
	}
	return search, among, err
}

// searchLine says how far the search is, of which so many runs were made before.
func searchLine(f searchFlags, r explore.Report, before uint64, took time.Duration) string {
	rate := float64(r.Runs-before) / took.Seconds()
	left := f.lasts - took
	if f.seeds > 0 {
		by := time.Duration(float64(f.seeds-min(r.Runs, f.seeds)) / rate * float64(time.Second))
		if f.lasts == 0 || by < left {
			left = by
		}
	}
	return fmt.Sprintf("%s, %s, %s, %s, %v left",
		words.Count(r.Runs, "run"), perSecond(rate), words.Count(r.Behaviours, "behaviour"),
		words.Count(r.Violations(), "violation"), max(left, 0).Round(time.Second))
}

// perSecond is how many runs a second there were: among real servers that is few.
func perSecond(rate float64) string {
	if rate < 9.95 {
		return fmt.Sprintf("%.1f runs/s", rate)
	}
	return fmt.Sprintf("%.0f runs/s", rate)
}

// printSearch sums a search up, of which so many runs were made before.
func (a *app) printSearch(s explore.Search, r explore.Report, before uint64, took time.Duration) {
	about := ""
	if r.Estimated {
		about = "about "
	}
	fmt.Fprintf(a.stdout, "%s   %s   %s", s.Scenario.Name, s.Variant, words.Count(r.Runs, "run"))
	if before > 0 {
		fmt.Fprintf(a.stdout, ", %d of them before;", before)
	}
	fmt.Fprintf(a.stdout, " in %.1f s (%s)   %s%s\n",
		took.Seconds(), perSecond(float64(r.Runs-min(before, r.Runs))/took.Seconds()), about, words.Count(r.Behaviours, "distinct behaviour"))
	if text := judgedFew(s.Properties, &r); text != "" {
		fmt.Fprintf(a.stdout, "  judged     %s; the other runs gave it no chance to fail, or could not be judged\n", text)
	}
	for _, w := range r.Waypoints {
		fmt.Fprintf(a.stdout, "  came by    %s: %s\n", w.Name, words.Count(w.Runs, "run"))
	}
	if r.Failed > 0 {
		why, _, _ := strings.Cut(r.Failure, "\n") // then comes what a program printed
		fmt.Fprintf(report.PlainLines{Writer: a.stdout}, "  failed     %s could not be carried out, the last: %s\n",
			words.Count(r.Failed, "run"), why)
	}
	if r.Unjudged > 0 {
		fmt.Fprintf(report.PlainLines{Writer: a.stdout}, "  in doubt   %s could not be judged, the last: %s\n",
			words.Count(r.Unjudged, "run"), r.Doubt)
	}
	if r.Unfinished > 0 {
		fmt.Fprintf(a.stdout, "  unfinished %s came to the time limit\n", words.Count(r.Unfinished, "run"))
	}
	if len(r.Classes) == 0 && !lostMany(&r) {
		for _, line := range worth(s.Properties, &r) {
			fmt.Fprintf(a.stdout, "  nothing found   %s\n", line)
		}
	}
	for _, c := range r.Classes {
		fmt.Fprintf(a.stdout, "  violated   %-60s %s\n", c.Name, howOften(c, &r))
	}
}

// howOften says how many runs violated a class. How frequent that is, the schedules drawn afresh tell alone: the others change what led to
// something new.
func howOften(c explore.Class, r *explore.Report) string {
	rate := shareOf(c, r)
	return fmt.Sprintf("%s: %d with schedules drawn afresh, %.3g %% (%.3g to %.3g) of the %d judged; %d with changed ones",
		words.Count(c.Runs, "run"), c.Drawn, 100*rate.Share(), 100*rate.Low, 100*rate.High, rate.Judged, c.Runs-c.Drawn)
}

// judgedFew says how many runs were judged, of the properties of which some were not.
func judgedFew(properties []checker.Property, r *explore.Report) string {
	var list []string
	for _, p := range properties {
		if runs, _ := r.JudgedOn(string(p)); runs < r.Runs {
			list = append(list, fmt.Sprintf("%s %d", p, runs))
		}
	}
	return strings.Join(list, ", ")
}

// worth says what it is worth to have found nothing, of each property.
func worth(properties []checker.Property, r *explore.Report) (lines []string) {
	for _, p := range properties {
		lines = append(lines, fmt.Sprintf("%s: %s", p, r.Worth(p)))
	}
	return lines
}

// shareOf is how frequent a class is among schedules drawn afresh.
func shareOf(c explore.Class, r *explore.Report) report.Rate {
	_, judged := r.JudgedOn(c.Name)
	return report.RateOf(c.Drawn, judged, r.Drawn)
}

// keepFound shrinks what was found of each class, writes the best down, and runs it once
// for its report. In the virtual world it is not interrupted: it takes a fraction of a second,
// and is what a search is for. sure: a violation is proved.
func (a *app) keepFound(
	ctx context.Context, search explore.Search, among *liveSearch, f searchFlags, r explore.Report,
) (kept []found, sure bool, err error) {
	var best []*explore.Shrunk
	if among == nil {
		best, err = search.ShrinkBest(context.Background(), r.Found)
		sure = len(best) > 0
	} else {
		best, err = among.shrunk(ctx, search, r.Found)
		a.clearLine()
	}
	if err != nil {
		return nil, sure, err
	}
	for _, k := range best {
		sure = sure || !k.Live || k.Proved() && k.Confirmed()
		where := trial.Virtual
		if k.Live {
			where = trial.Live
		}
		name := foundName(search, k.Found)
		if among != nil {
			name += "-" + where
		}
		text, err := k.YAML(name, f.origin(search, k.Run))
		if err != nil {
			return kept, sure, err
		}
		file := filepath.Join(f.out, name+".yaml")
		if err := machine.WriteFile(file, func(w io.Writer) error { _, err := io.WriteString(w, text); return err }); err != nil {
			return kept, sure, err
		}
		note := foundNote(k)
		seen := ""
		if k.Live && !k.Proved() {
			seen = seenFile(search, f.out, k.Found)
		}
		page := ""
		if !k.Live || seen != "" || ctx.Err() == nil {
			if page, err = a.reportFound(ctx, file, seen, f, k, among); err != nil {
				return kept, sure, err
			}
		}
		kept = append(kept, found{file, page, note, !k.Live || k.Proved() && k.Confirmed()})
		fmt.Fprintf(a.stdout, "  found      %s   %s\n", file, note)
		if page != "" {
			fmt.Fprintf(a.stdout, "  report     %s\n", shortPath(page))
		}
		if seen != "" {
			fmt.Fprintf(a.stdout, "  history    %s   of the run that violated it, as the report shows it; for sim check\n", seen)
		}
		replay := []string{"sim", "replay", filepath.ToSlash(file)}
		if k.Live {
			replay[1] = "run"
			replay = append(replay, "--seed", fmt.Sprint(k.Seed))
			if k.Setup.Lock.Program != nil {
				replay = append(replay, "--allow-programs")
			}
		}
		fmt.Fprintf(a.stdout, "  replay     %s\n", shellquote.Join(replay...))
	}
	return kept, sure, nil
}

// foundNote says in a few words what is known of something that was found.
func foundNote(k *explore.Shrunk) string {
	if k.Failed != nil {
		return fmt.Sprintf("%s, not shrunk: %v", words.Count(k.From, "fault"), k.Failed)
	}
	note := fmt.Sprintf("%d of %s, fails with %d of %s",
		len(k.Setup.Faults.List), words.Count(k.From, "fault"), k.Robust, words.Count(k.OtherSeeds, "other seed"))
	if k.Live {
		note = fmt.Sprintf("%d of %s, shows in %d of %s among real servers",
			len(k.Setup.Faults.List), words.Count(k.From, "fault"), k.Robust, words.Count(k.OtherSeeds, "run"))
	}
	if !k.Confirmed() {
		note += ", by the lock's word alone: look here"
	}
	return note
}

// seenHistory reads the history of a run that a search kept.
func seenHistory(path string) (*history.History, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("failed to open the history of what was found: %w", err)
	}
	defer func() { _ = file.Close() }()
	h, err := history.Decode(file, 0)
	if err != nil {
		return nil, fmt.Errorf("failed to read %q: %w", path, err)
	}
	return h, nil
}

// foundName is how what is found is called.
func foundName(s explore.Search, k explore.Found) string {
	return fmt.Sprintf("%.20s-%s-%d", s.Scenario.Name, k.Property, s.First+k.Run)
}

// seenFile has the history of a run that violated something and hardly did so again.
func seenFile(s explore.Search, dir string, k explore.Found) string {
	return filepath.Join(dir, foundName(s, k)+"-seen.jsonl")
}

// origin says where something was found.
func (f *searchFlags) origin(search explore.Search, run uint64) string {
	return fmt.Sprintf("%s, run %d", shellquote.Join(f.command(search)...), search.First+run)
}

// command is how a command line begins that searches the same.
func (f *searchFlags) command(search explore.Search) []string {
	list := []string{"sim", "search"}
	if f.campaign != nil {
		list = []string{"sim", "campaign", "start", "search"}
	}
	if f.world == trial.Live {
		list = append(list, "--world", f.world)
	}
	if f.lock != "" {
		list = append(list, "--lock", f.lock)
	}
	if f.scenario != "" {
		list = append(list, f.scenario, "--variant", cmp.Or(f.variant, search.Variant))
	}
	return list
}

// found is a scenario that a search wrote, and the report of its run.
type found struct {
	file, report, note string
	// sure: a violation is proved.
	sure bool
}

// reportFound runs what was found as sim replay does, or sim run, and returns its page. What hardly shows again is not run: the page is
// that of the run whose history is in the file seen.
func (a *app) reportFound(
	ctx context.Context, file, seen string, f searchFlags, k *explore.Shrunk, among *liveSearch,
) (string, error) {
	s, err := loadOne(file)
	if err != nil {
		return "", err
	}
	o := trial.Options{Seed: k.Seed, Tries: 1, World: trial.Virtual,
		Out: f.out, Now: a.now, Program: map[string]string{"sim": programVersion()}}
	if f.now != nil { // the reports take the place of those that were made of the same searches before
		o.Now = f.now
		if err := os.RemoveAll(filepath.Join(f.out, s.Name)); err != nil {
			return "", fmt.Errorf("failed to remove an earlier report: %w", err)
		}
	}
	if seen != "" {
		h, err := seenHistory(seen)
		if err != nil {
			return "", err
		}
		t, err := trial.Store(context.WithoutCancel(ctx), s, o, h)
		if err != nil {
			return "", err
		}
		return t.Report, nil
	}
	if k.Live {
		o.World, o.Tries, o.ClientCommand = trial.Live, 0, []string{among.self, "client"}
	} else {
		ctx = context.Background()
	}
	t, err := trial.Run(ctx, s, o)
	if err != nil {
		return "", err
	}
	return t.Report, nil
}
