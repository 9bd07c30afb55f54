package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/kballard/go-shellquote"
	"github.com/spf13/cobra"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/explore"
	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/trial"
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
}

func newSearchCommand(a *app) *cobra.Command {
	var f searchFlags
	c := &cobra.Command{
		Use:   "search SCENARIO",
		Short: "Search for schedules that break the lock",
		Long: `Search for schedules that break the lock. The search runs the scenario many times in
the virtual world, each time with another seed. Each run has the scenario's own faults
and random faults on top of them. Half of the schedules are drawn afresh. The other
half are changed copies of earlier schedules that reached rare states. Each violation
found is shrunk to the smallest schedule that still fails. It is written as a scenario
for sim run and sim replay.

The state of the search is stored beside what it found; --resume continues it. --seeds
counts from the first run of the search, --for from now.

Exit codes: 0 nothing was found, 1 a violation was found, 3 bad scenario or flags,
130 interrupted (what was found is kept).`,
		Example: `  sim search scenarios/gc-pause.yaml --variant fenced --for 60s
  sim search my-lock.yaml --bare --kinds pause,kill --seeds 100000 --for 0s --stop-at 1
  sim search my-lock.yaml --for 10m --resume`,
		Args: cobra.ExactArgs(1), ValidArgsFunction: oneScenario,
		RunE: func(c *cobra.Command, args []string) error { return a.search(c.Context(), args[0], f) },
	}
	f.flags(c, "the properties whose violation counts, the gravest first", checker.Demanded("")...)
	c.Flags().BoolVar(&f.bare, "bare", false, "leave out the scenario's own faults")
	c.Flags().BoolVar(&f.unguided, "unguided", false, "draw every schedule afresh; do not change earlier ones")
	c.Flags().BoolVar(&f.resume, "resume", false, "continue an earlier search that had the same flags and folder")
	c.Flags().StringSliceVar(&f.kinds, "kinds", nil, "the kinds of faults to draw (default: "+strings.Join(explore.Kinds(), ",")+")")
	c.Flags().Uint64Var(&f.first, "seed", 0, "the first seed")
	c.Flags().Uint64Var(&f.seeds, "seeds", 0, "how many runs to make (default: as many as the time allows)")
	c.Flags().DurationVar(&f.lasts, "for", 10*time.Second, "how long to search; 0s: until all --seeds runs are made")
	c.Flags().IntVar(&f.stopAt, "stop-at", 0, "stop after this many violations (default: never)")
	c.Flags().IntVarP(&f.jobs, "jobs", "j", cmp.Or(a.project.Jobs, runtime.NumCPU()), "how many runs at once")
	c.Flags().StringVar(&f.out, "out", filepath.Join(a.project.Out, "found"), "folder for the scenarios that are found")
	registerList(c, "kinds", explore.Kinds())
	c.Flags().StringVar(&f.html, "html", "", "also write a summary to this HTML page")
	return c
}

func (a *app) search(ctx context.Context, file string, f searchFlags) error {
	s, v, properties, err := f.load(file)
	if err != nil {
		return err
	}
	for _, k := range f.kinds {
		if !slices.Contains(explore.Kinds(), k) {
			return usageError("--kinds: no fault %q can be drawn\nhint: use any of %s", k, strings.Join(explore.Kinds(), ", "))
		}
	}
	if f.jobs < 1 || f.lasts < 0 || f.lasts == 0 && f.seeds == 0 {
		return usageError("say how long to search: --for, --seeds, and at least one --jobs")
	}
	debug.SetGCPercent(800) // runs are small and leave little behind
	search := explore.Search{Scenario: s, Variant: v.Name, Bare: f.bare, Kinds: f.kinds, Unguided: f.unguided,
		Properties: properties, First: f.first, Seeds: f.seeds, StopAt: f.stopAt, Workers: f.jobs}
	state := newSearchState(search, f.out)
	before := uint64(0)
	if f.resume {
		if search.From, err = state.load(); err != nil {
			return err
		}
		before = search.From.Runs
	}
	search.Save = state.save
	a.orderly.Store(true)
	began := time.Now()
	search.Progress = meter(a, began, func(r explore.Report, took time.Duration) string { return searchLine(f, r, before, took) })
	limited, cancel := within(ctx, f.lasts)
	defer cancel()
	result, err := search.Run(limited)
	a.clearLine()
	if errors.Is(err, explore.ErrNobodyToStrike) {
		return usageError("--kinds: %w", err)
	}
	if err != nil {
		return err
	}
	a.printSearch(search, result, before, time.Since(began))
	kept, err := a.keepFound(search, f, result)
	if err != nil {
		return err
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
	return ended(ctx, "interrupted; what was found is kept", result.Violations() > 0, false)
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
	return fmt.Sprintf("%s, %.0f runs/s, %s, %s, %v left",
		words.Count(r.Runs, "run"), rate, words.Count(r.Behaviours, "behaviour"), words.Count(r.Violations(), "violation"), max(left, 0).Round(time.Second))
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
	fmt.Fprintf(a.stdout, " in %.1f s (%.0f runs/s)   %s%s\n",
		took.Seconds(), float64(r.Runs-min(before, r.Runs))/took.Seconds(), about, words.Count(r.Behaviours, "distinct behaviour"))
	if text := judgedFew(s.Properties, &r); text != "" {
		fmt.Fprintf(a.stdout, "  judged     %s; the other runs gave it no chance to fail, or did not finish\n", text)
	}
	if len(r.Classes) == 0 {
		for _, line := range worth(s.Properties, &r) {
			fmt.Fprintf(a.stdout, "  nothing found   %s\n", line)
		}
	}
	for _, c := range r.Classes {
		rate := shareOf(c, &r)
		fmt.Fprintf(a.stdout, "  violated   %-60s %s; %d of %d drawn afresh and judged, %.3g %% (%.3g to %.3g)\n",
			c.Name, words.Count(c.Runs, "run"), c.Drawn, rate.Judged, 100*rate.Share(), 100*rate.Low, 100*rate.High)
	}
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
// for its report. It is not interrupted: it takes a fraction of a second, and is what a
// search is for.
func (a *app) keepFound(search explore.Search, f searchFlags, r explore.Report) ([]found, error) {
	best, err := search.ShrinkBest(context.Background(), r.Found)
	if err != nil {
		return nil, err
	}
	var kept []found
	for _, k := range best {
		name := fmt.Sprintf("%.20s-%s-%d", search.Scenario.Name, k.Property, search.First+k.Run)
		text, err := k.YAML(name, fmt.Sprintf("sim search %s --variant %s, run %d", search.Scenario.File, search.Variant, search.First+k.Run))
		if err != nil {
			return kept, err
		}
		file := filepath.Join(f.out, name+".yaml")
		if err := machine.WriteFile(file, func(w io.Writer) error { _, err := io.WriteString(w, text); return err }); err != nil {
			return kept, err
		}
		note := fmt.Sprintf("%d of %s, fails with %d of %s", len(k.Setup.Faults.List), words.Count(k.From, "fault"), k.Robust, words.Count(k.OtherSeeds, "other seed"))
		if k.Failed != nil {
			note = fmt.Sprintf("%s, not shrunk: %v", words.Count(k.From, "fault"), k.Failed)
		}
		page, err := a.reportFound(file, f.out, k.Seed)
		if err != nil {
			return kept, err
		}
		kept = append(kept, found{file, page, note})
		fmt.Fprintf(a.stdout, "  found      %s   %s\n", file, note)
		fmt.Fprintf(a.stdout, "  report     %s\n", shortPath(page))
		fmt.Fprintf(a.stdout, "  replay     %s\n", shellquote.Join("sim", "replay", filepath.ToSlash(file)))
	}
	return kept, nil
}

// found is a scenario that a search wrote, and the report of its run.
type found struct{ file, report, note string }

// reportFound runs what was found as sim replay does, and returns its page.
func (a *app) reportFound(file, out string, seed uint64) (string, error) {
	s, err := loadOne(file)
	if err != nil {
		return "", err
	}
	t, err := trial.Run(context.Background(), s, trial.Options{Seed: seed, Tries: 1, World: trial.Virtual, Out: out, Now: a.now,
		Program: map[string]string{"sim": programVersion()}})
	if err != nil {
		return "", err
	}
	return t.Report, nil
}

// searchPage is what came of a search, as a page shows it.
func searchPage(search explore.Search, f searchFlags, r explore.Report, kept []found) (page report.Rates, err error) {
	page = report.Rates{
		Heading: search.Scenario.Name + ": a search",
		Lead: fmt.Sprintf("Variant %s: %s in the virtual world, %s. The shares are those of the %s drawn afresh.",
			search.Variant, words.Count(r.Runs, "run"), words.Count(r.Behaviours, "distinct behaviour"), words.Count(r.Drawn, "schedule")),
		Replay: searchAgain(search, f, r.Runs),
	}
	if len(r.Classes) == 0 {
		page.Lead += " Nothing was found. " + strings.Join(worth(search.Properties, &r), ". ") + "."
	}
	for _, c := range r.Classes {
		page.Classes = append(page.Classes, report.RateLine{Name: c.Name, Rate: shareOf(c, &r)})
	}
	for _, k := range kept {
		item := report.FoundScenario{Path: k.file, Note: k.note}
		if item.Link, err = linkFrom(f.html, k.file); err != nil {
			return page, err
		}
		if item.Report, err = linkFrom(f.html, k.report); err != nil {
			return page, err
		}
		page.Found = append(page.Found, item)
	}
	return page, nil
}

// searchAgain is the command that makes the same runs again.
func searchAgain(search explore.Search, f searchFlags, runs uint64) string {
	list := []string{"sim", "search", search.Scenario.File, "--variant", search.Variant, "--property", strings.Join(wordsOf(search.Properties), ","),
		"--seed", fmt.Sprint(f.first), "--seeds", fmt.Sprint(runs), "--for", "0s"}
	if len(f.kinds) > 0 {
		list = append(list, "--kinds", strings.Join(f.kinds, ","))
	}
	if f.bare {
		list = append(list, "--bare")
	}
	if f.unguided {
		list = append(list, "--unguided")
	}
	return shellquote.Join(list...)
}
