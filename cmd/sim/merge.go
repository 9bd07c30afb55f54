package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/redlock-sim/redlock-sim/internal/app/shard"
	"github.com/redlock-sim/redlock-sim/internal/app/trial"
	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
)

// mergeFlags are the flags of sim merge.
type mergeFlags struct {
	out                                            string
	partial, github, allowUndecided                bool
	junit, json, markdown, html, csv, card, expect string
}

// mergeOnly says which commands' shards a flag is for; the others are for all.
var mergeOnly = map[string][]string{
	"junit": {"run"}, "github": {"run"}, "markdown": {"run", "audit"}, "allow-undecided": {"run", "audit"},
	"csv": {"sweep"}, "html": {"run", "search", "sweep"}, "card": {"audit"}, "expect": {"audit"},
}

func newMergeCommand(a *app) *cobra.Command {
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
				return usageError("%w", err)
			}
			for name, commands := range mergeOnly {
				if c.Flags().Changed(name) && !slices.Contains(commands, whole.Work.Command) {
					return usageError("--%s: these are shards of sim %s\n"+
						"hint: the flag is for shards of sim %s", name, whole.Work.Command, strings.Join(commands, " and "))
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
		"write what came of it as JSON to this file: the results of all runs, the counts of a search, the points of a sweep, or the card")
	c.Flags().StringVar(&f.html, "html", "", "write the page also to this file (run, search, sweep)")
	c.Flags().StringVar(&f.csv, "csv", "", "write the rates to this CSV file (sweep)")
	c.Flags().StringVar(&f.card, "card", "", "write card.json also to this file (audit)")
	c.Flags().StringVar(&f.expect, "expect", "", "the card that is expected: the card.json of an earlier audit (audit)")
	c.Flags().BoolVar(&f.allowUndecided, "allow-undecided", false,
		"exit with 0, not 2, if something is undecided or unknown; not if a shard is missing (run, audit)")
	return c
}

func (a *app) merge(ctx context.Context, w *shard.Whole, f mergeFlags) error {
	if len(w.Missing) > 0 && !f.partial {
		return usageError("not all of %d shards are there; these are missing:\n  %s\n"+
			"hint: --partial merges the others", w.Of, strings.Join(w.Missing, "\n  "))
	}
	expected, err := readExpectedCard(f.expect)
	if err != nil {
		return err
	}
	if err := w.Copy(f.out); err != nil {
		return usageError("%w", err)
	}
	switch w.Work.Command {
	case "run":
		err = a.mergeRuns(ctx, w, f)
	case "search":
		err = a.mergeSearches(ctx, w, f)
	case "sweep":
		err = a.mergeSweeps(w, f)
	case "audit":
		err = a.mergeAudits(ctx, w, f, expected)
	}
	if len(w.Missing) > 0 {
		fmt.Fprintf(a.stderr, "missing  %s\n", strings.Join(w.Missing, "\nmissing  "))
		if err == nil {
			err = &exitError{code: exitUndecided}
		}
	}
	return err
}

// took is how long the shards took, one after the other.
func took(w *shard.Whole) (sum time.Duration) {
	for _, r := range w.Records() {
		sum += time.Duration(r.TookMS) * time.Millisecond
	}
	return sum
}

// failed are the errors of shards.
func failed(w *shard.Whole) (errs []error) {
	for _, r := range w.Records() {
		for _, e := range r.Errors {
			errs = append(errs, &exitError{e.Exit, fmt.Errorf("shard %v: %s", r.Shard, e.Text)})
		}
	}
	return errs
}

// scenarios are those of the work, as far as reports need them.
func scenarios(w *shard.Whole) (list []*scenario.Scenario) {
	files := w.Records()[0].Files
	for i, s := range w.Work.Scenarios {
		one := &scenario.Scenario{Head: scenario.Head{Name: s.Name}, File: s.Name, Shipped: true}
		if i < len(files) && files[i] != "" {
			one.File, one.Shipped = filepath.FromSlash(files[i]), false
		}
		list = append(list, one)
	}
	return list
}

// mergeRuns tells of the runs of all shards what sim run tells of its own.
func (a *app) mergeRuns(ctx context.Context, w *shard.Whole, f mergeFlags) error {
	s := &suiteRun{
		app: a, scenarios: scenarios(w), missing: w.Missing,
		told: make(report.Told), errs: failed(w), done: make([]*trial.Trial, w.Work.Units),
		flags: runFlags{
			out: f.out, world: w.Work.Flags["world"], seed: w.Work.Seed,
			junit: f.junit, markdown: f.markdown, github: f.github, allowUndecided: f.allowUndecided,
		},
	}
	s.flags.repeat = len(s.done) / len(s.scenarios)
	for _, r := range w.Records() {
		for _, one := range r.Results {
			result, err := w.Result(r, one)
			if err != nil {
				return usageError("%w", err)
			}
			s.units = append(s.units, int(one.Unit))
			s.done[one.Unit] = &trial.Trial{Result: result, Report: w.Path(r, one.Dir+"/report.html")}
		}
	}
	if len(w.Missing)+len(s.errs) == 0 && len(s.units) < len(s.done) {
		return usageError("the shards have %d of %d runs, and no reason for that", len(s.units), len(s.done))
	}
	slices.Sort(s.units)
	s.progress = newProgress(a, len(s.units), 0)
	s.show()
	s.progress.stop()
	results := s.results()
	errs := []error{s.remember()}
	if len(s.done) == 1 {
		errs = append(errs, s.index())
	}
	if f.html != "" {
		errs = append(errs, a.toOutput(f.html, func(to io.Writer) error { return report.WriteIndex(to, s.entries(f.html), w.Missing...) }))
	}
	if f.json != "" {
		errs = append(errs, a.toOutput(f.json, func(to io.Writer) error {
			for _, r := range results {
				if err := report.WriteJSON(to, r); err != nil {
					return err
				}
			}
			return nil
		}))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return s.conclude(ctx, results, took(w))
}

// mergeAudits makes one card of what the shards found out.
func (a *app) mergeAudits(ctx context.Context, w *shard.Whole, f mergeFlags, expected *report.Card) error {
	card, err := w.Card()
	if err != nil {
		return usageError("%w", err)
	}
	if expected != nil {
		var labels []string
		for i := range card.Locks {
			labels = append(labels, card.Locks[i].Label)
		}
		if err := expected.Covers(labels); err != nil {
			return usageError("--expect %s: %w\nhint: name it as the card does, with --lock NAME='COMMAND'", f.expect, err)
		}
	}
	flags := auditFlags{card: f.card, markdown: f.markdown, expect: f.expect, allowUndecided: f.allowUndecided}
	if err := flags.checkOutputs(); err != nil {
		return err
	}
	if f.json != "" {
		if err := a.toOutput(f.json, func(to io.Writer) error { return report.WriteCardJSON(to, card) }); err != nil {
			return err
		}
	}
	dir, err := filepath.Abs(f.out)
	if err != nil {
		return err
	}
	if err := a.publishCard(card, dir, flags); err != nil {
		return err
	}
	var runErr error
	if errs := failed(w); len(errs) > 0 {
		worst := slices.MaxFunc(errs, func(a, b error) int { return cmp.Compare(exitCodeOf(a), exitCodeOf(b)) })
		runErr = &exitError{exitCodeOf(worst), errors.Join(errs...)}
	}
	return a.cardVerdict(ctx, card, expected, dir, flags, runErr)
}

// writeJSON writes a document to the file that was named.
func (a *app) writeJSON(file string, document any) error {
	if file == "" {
		return nil
	}
	return a.toOutput(file, func(w io.Writer) error { return json.NewEncoder(w).Encode(document) })
}
