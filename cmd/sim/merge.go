package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/redlock-sim/redlock-sim/internal/app"
	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/app/runs"
	"github.com/redlock-sim/redlock-sim/internal/app/shard"
	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/report/card"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// mergeFlags are the flags of sim merge.
type mergeFlags struct {
	out                                            string
	partial, github, allowUndecided                bool
	junit, json, markdown, html, csv, card, expect string
	// document writes what came of it as JSON where --json says.
	document func(write func(io.Writer) error) error
}

// mergeOnly says which commands' shards a flag is for; the others are for all.
var mergeOnly = map[string][]string{
	"junit": {"run"}, "github": {"run"}, "markdown": {"run", "audit"}, "allow-undecided": {"run", "audit"},
	"csv": {"sweep"}, "html": {"run", "search", "sweep"}, "card": {"audit"}, "expect": {"audit"},
}

func newMergeCommand(a *cli) *cobra.Command {
	var f mergeFlags
	c := &cobra.Command{
		Use:   "merge DIR...",
		Short: "Put the results of shards together",
		Long: `Put the results of shards together: of sim run, search, sweep or audit with --shard i/n.
DIR is a folder in which sim stored a shard (the --out folder, or the shard's own below
shards/), or one with several of these in it, as a CI system lays artifacts down.

What comes of it is what one machine would have made: one suite page, one JUnit file, the
rates of all seeds and what was found, or one report card; with the same exit code. The
shards are copied to <out>/shards, so that the pages have something to lead to. A merged
folder can be merged again. It does not matter in which order folders are named, and a
shard that is there twice counts once.

sim merge refuses shards that do not fit together: of another scenario, with another seed
or other flags, of another version of sim, or of another number of shards. It also refuses
if a shard is missing or did not come to its end. With --partial it merges what is there;
the pages say what is missing, and the exit code is at least 2. docs/guide/searching.md says more.

Exit codes: those of the command whose shards they are; 2 with --partial if a shard is
missing and nothing is worse; 3 the shards do not fit together, or are not all there.`,
		Example: `  sim merge artifacts/
  sim merge shard-1 shard-2 shard-3 --junit sim.xml --markdown sim.md --github
  sim merge artifacts/ -o merged --partial
  sim merge artifacts/ --expect locks/card.json`,
		Args:        cobra.MinimumNArgs(1),
		Annotations: map[string]string{},
		RunE: func(c *cobra.Command, args []string) error {
			whole, err := shard.Collect(args...)
			if err != nil {
				return app.Usagef("%w", err)
			}
			if f.json == "-" && f.github {
				return app.Usagef("--json - and --github both write to standard output")
			}
			for name, commands := range mergeOnly {
				if c.Flags().Changed(name) && !slices.Contains(commands, whole.Work.Command()) {
					return app.Usagef("--%s: these are shards of sim %s", name, whole.Work.Command()).
						Hint("the flag is for shards of sim %s", strings.Join(commands, " and "))
				}
			}
			return a.merge(c.Context(), whole, f)
		},
	}
	c.Flags().StringVarP(&f.out, "out", "o", filepath.Join(a.project.Out, "merged"), "folder for the merged results")
	c.Flags().BoolVar(&f.partial, "partial", false, "merge what is there if shards are missing; the exit code is then at least 2")
	c.Flags().StringVar(&f.junit, "junit", "", "write the results as JUnit XML to this file (run)")
	c.Flags().StringVar(&f.markdown, "markdown", "", "write the results as a Markdown table to this file (run, audit)")
	c.Flags().BoolVar(&f.github, "github", false,
		"annotate unexpected verdicts on stdout for GitHub Actions, and append the table to $GITHUB_STEP_SUMMARY (run)")
	c.Flags().StringVar(&f.json, "json", "",
		"write what came of it as JSON to this file (-: to standard output, and nothing else), as the shards' command prints it with --json")
	c.Flags().StringVar(&f.html, "html", "", "also write what came of it as an HTML page to this file (run, search, sweep)")
	c.Flags().StringVar(&f.csv, "csv", "", "write the rates to this CSV file (sweep)")
	c.Flags().StringVar(&f.card, "card", "", "write card.json also to this file (audit)")
	c.Flags().StringVar(&f.expect, "expect", "", "the card that is expected: the card.json of an earlier audit (audit)")
	c.Flags().BoolVar(&f.allowUndecided, "allow-undecided", false,
		"exit with 0, not 2, if something is undecided or unknown; not if a shard is missing (run, audit)")
	return c
}

// merge puts shards together, and tells of them what their command tells of its own work.
func (a *cli) merge(ctx context.Context, w *shard.Whole, f mergeFlags) error {
	expected, err := app.ReadExpectation(f.expect)
	if err != nil {
		return err
	}
	if err := app.Merge(w, f.out, f.partial); err != nil {
		return err
	}
	text := a
	if f.json == "-" {
		text = a.writingTo(io.Discard)
	}
	f.document = func(write func(io.Writer) error) error {
		if f.json == "" {
			return nil
		}
		return a.toOutput(f.json, write)
	}
	switch w.Work.Command() {
	case request.RunName:
		err = text.mergeRuns(ctx, w, f)
	case request.SearchName:
		err = text.mergeSearches(ctx, w, f)
	case request.SweepName:
		err = text.mergeSweeps(w, f)
	case request.AuditName:
		err = text.mergeAudits(ctx, w, f, expected)
	}
	if len(w.Missing) > 0 {
		fmt.Fprintf(a.stderr, "missing  %s\n", strings.Join(w.Missing, "\nmissing  "))
		if err == nil {
			err = &app.ExitError{Code: app.ExitUndecided}
		}
	}
	return err
}

func (a *cli) mergeRuns(ctx context.Context, w *shard.Whole, f mergeFlags) error {
	s, err := app.MergeRuns(w, f.out, f.allowUndecided, a.listener().hear)
	if err != nil {
		return err
	}
	if f.html != "" {
		err = a.toOutput(f.html, func(to io.Writer) error { return report.WriteIndex(to, s.Entries(f.html), w.Missing...) })
	}
	if err == nil {
		err = f.document(func(to io.Writer) error {
			for _, r := range s.Results() {
				if err := report.WriteJSON(to, r); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err != nil {
		return err
	}
	return a.concludeRuns(ctx, s, runFlags{junit: f.junit, markdown: f.markdown, github: f.github})
}

func (a *cli) mergeSearches(ctx context.Context, w *shard.Whole, f mergeFlags) error {
	r, err := app.MergeSearches(ctx, a.env(), w, f.out, a.listener().hear)
	if err != nil {
		return err
	}
	tell := func(page *report.Rates) { tellShards(w, page, r) }
	if err := f.document(func(to io.Writer) error { return a.writingTo(to).printIndented(tellSearch(r)) }); err != nil {
		return err
	}
	if err := a.writeSearchPage(r, filepath.Join(f.out, runs.Index), tell); err != nil {
		return err
	}
	return a.concludeSearch(ctx, r, f.html, tell)
}

// tellShards says on a page of what its counts are the sum, and by which commands they come again.
func tellShards(w *shard.Whole, page *report.Rates, r *app.SearchResult) {
	page.Missing = w.Missing
	if r.Part.Runs < w.Work.Units {
		page.Lead += fmt.Sprintf(" %d of %s were searched.", r.Part.Runs, words.Count(w.Work.Units, "seed"))
	}
	if r.Request.Unguided || w.Of == 1 {
		return
	}
	page.Lead += fmt.Sprintf(" These are %d searches, each with seeds and guidance of its own: "+
		"a single one with all of the seeds would have changed other schedules.", w.Of)
	page.Replay = fmt.Sprintf("for i in $(seq %d); do %s --shard $i/%d; done", w.Of, r.Again, w.Of)
}

func (a *cli) mergeSweeps(w *shard.Whole, f mergeFlags) error {
	s, err := app.MergeSweeps(w)
	if err != nil {
		return err
	}
	if err := f.document(func(to io.Writer) error { return a.writingTo(to).printIndented(sweptAsJSON(s)) }); err != nil {
		return err
	}
	if f.html != "" {
		if err := a.toOutput(f.html, func(to io.Writer) error { return report.WriteRates(to, ratesOf(s)) }); err != nil {
			return err
		}
	}
	return a.tellSweep(s, sweepFiles{csv: f.csv, html: filepath.Join(f.out, runs.Index)})
}

func (a *cli) mergeAudits(ctx context.Context, w *shard.Whole, f mergeFlags, expected *app.Expectation) error {
	files := cardFiles{card: f.card, markdown: f.markdown, expect: f.expect}
	if err := files.check(); err != nil {
		return err
	}
	r, err := app.MergeAudits(w, f.out, f.allowUndecided, expected)
	if err != nil {
		return err
	}
	if err := f.document(func(to io.Writer) error { return card.WriteJSON(to, r.Card) }); err != nil {
		return err
	}
	return a.concludeAudit(ctx, r, expected, files)
}
