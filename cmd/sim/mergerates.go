package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/app/shard"
	"github.com/redlock-sim/redlock-sim/internal/app/trial"
	"github.com/redlock-sim/redlock-sim/internal/explore"
	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/report/plain"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// mergeSearches tells of the searches of all shards what sim search tells of its own. What is found in the virtual world is
// shrunk here: which violation is the best to show is known only now.
func (a *app) mergeSearches(ctx context.Context, w *shard.Whole, m mergeFlags) error {
	var parts []explore.Part
	for _, r := range w.Records() {
		parts = append(parts, *r.Search)
	}
	part, err := explore.Merge(parts...)
	if err != nil {
		return usageError("the shards do not fit together: %w", err)
	}
	text, err := w.Scenario()
	if err != nil {
		return usageError("%w", err)
	}
	flags := w.Work.Flags
	f := searchFlags{
		first: w.Work.Seed, seeds: w.Work.Units, out: filepath.Join(m.out, "found"),
		world: flags["world"], lock: flags["lock"], scenario: fileOf(w),
		bare: flags["bare"] == "true", unguided: flags["unguided"] == "true", kinds: listOf(flags["kinds"]),
		target: target{variant: flags["variant"], properties: listOf(flags["property"])},
	}
	f.now = w.Started
	search := explore.Search{Bare: f.bare, Kinds: f.kinds, Unguided: f.unguided, First: part.First}
	if search.Scenario, err = scenario.Parse(f.scenario, text); err != nil {
		return usageError("the scenario of the shards: %w", err)
	}
	v, err := variantOf(search.Scenario, f.variant)
	if err != nil {
		return err
	}
	search.Variant = v.Name
	if search.Properties, err = f.wanted(); err != nil {
		return err
	}
	result := part.Report()
	a.printSearch(search, result, 0, took(w))
	if seeds := part.Runs; seeds < w.Work.Units {
		fmt.Fprintf(a.stdout, "  searched   %d of %s\n", seeds, words.Count(w.Work.Units, "seed"))
	}
	a.orderly.Store(true)
	kept, sure, err := a.keepMerged(ctx, w, search, f, result)
	if err != nil {
		return interruptedOr(ctx, err)
	}
	for _, html := range []string{filepath.Join(m.out, "index.html"), m.html} {
		if f.html = html; html == "" {
			continue
		}
		page, err := searchPage(search, f, result, kept)
		if err != nil {
			return err
		}
		page.Missing = w.Missing
		f.tellShards(w, &page, search, &part)
		if err := a.toOutput(html, func(to io.Writer) error { return report.WriteRates(to, page) }); err != nil {
			return err
		}
		fmt.Fprintf(a.stdout, "  summary    %s\n", html)
	}
	if err := a.writeJSON(m.json, part); err != nil {
		return err
	}
	why := a.printUntold(ctx, search, &result, len(kept) > 0)
	return ended(ctx, "interrupted; what was found is kept", sure, len(kept) > 0 || why != "")
}

// fileOf is the scenario's file, as the command line named it.
func fileOf(w *shard.Whole) string {
	for _, r := range w.Records() {
		if len(r.Files) > 0 {
			return filepath.FromSlash(r.Files[0])
		}
	}
	return w.Work.Scenarios[0].Name
}

func listOf(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}

// tellShards says on a page of what its counts are the sum, and by which commands they come again.
func (f *searchFlags) tellShards(w *shard.Whole, page *report.Rates, search explore.Search, part *explore.Part) {
	if part.Runs < w.Work.Units {
		page.Lead += fmt.Sprintf(" %d of %s were searched.", part.Runs, words.Count(w.Work.Units, "seed"))
	}
	if f.unguided || w.Of == 1 {
		return
	}
	page.Lead += fmt.Sprintf(" These are %d searches, each with seeds and guidance of its own: "+
		"a single one with all of the seeds would have changed other schedules.", w.Of)
	page.Replay = fmt.Sprintf("for i in $(seq %d); do %s --shard $i/%d; done", w.Of, searchAgain(search, *f, w.Work.Units), w.Of)
}

// keepMerged keeps what all shards found: the best of each property. What was found among real servers has been repeated and shrunk
// by the shard, beside its lock.
func (a *app) keepMerged(
	ctx context.Context, w *shard.Whole, search explore.Search, f searchFlags, result explore.Report,
) (kept []found, sure bool, err error) {
	if f.world == trial.Virtual {
		return a.keepFound(ctx, search, nil, f, result)
	}
	for _, r := range w.Records() {
		for _, one := range r.Found {
			k := found{w.Path(r, one.File), "", one.Note, one.Proved}
			fmt.Fprintf(plain.Lines{Writer: a.stdout}, "  found      %s   %s\n", k.file, k.note)
			if one.Report != "" {
				k.report = w.Path(r, one.Report)
				fmt.Fprintf(plain.Lines{Writer: a.stdout}, "  report     %s\n", k.report)
			}
			kept, sure = append(kept, k), sure || k.sure
		}
	}
	return kept, sure, nil
}

// mergeSweeps adds the runs of all shards, point by point.
func (a *app) mergeSweeps(w *shard.Whole, m mergeFlags) error {
	var grids [][]explore.Cell
	for _, r := range w.Records() {
		if len(r.Points) > 0 {
			grids = append(grids, r.Points)
		}
	}
	cells, err := explore.MergeCells(grids...)
	if err != nil {
		return usageError("the shards do not fit together: %w", err)
	}
	flags := w.Work.Flags
	f := sweepFlags{x: flags["x"], y: flags["y"], runs: w.Work.Units, seed: w.Work.Seed, csv: m.csv,
		target: target{variant: flags["variant"], properties: listOf(flags["property"])}}
	sweep := explore.Sweep{Scenario: scenarios(w)[0], Variant: f.variant, Runs: f.runs, First: f.seed}
	if f.steps, err = strconv.Atoi(flags["steps"]); err != nil || f.steps > len(cells) && f.steps > mostSteps {
		return usageError("the shards have no grid: %s steps", flags["steps"])
	}
	if sweep.Properties, err = f.wanted(); err != nil {
		return err
	}
	if sweep.X, err = explore.ParseAxis(f.x, f.steps); err == nil && f.y != "" {
		sweep.Y, err = explore.ParseAxis(f.y, f.steps)
	}
	if err != nil {
		return usageError("the shards have no grid: %w", err)
	}
	points := len(sweep.X.Values) * max(len(sweep.Y.Values), 1)
	if len(cells) != points || points > 0 && len(cells[0].Judged) != len(sweep.Properties) {
		return usageError("the shards have %s of %d", words.Count(len(cells), "point"), points)
	}
	for _, html := range []string{m.html, filepath.Join(m.out, "index.html")} {
		if html == "" {
			continue
		}
		page := ratesOf(sweep, cells, fileOf(w), f)
		page.Missing = w.Missing
		write := func(to io.Writer) error { return report.WriteRates(to, page) }
		if err := a.toOutput(html, write); err != nil {
			return err
		}
	}
	if err := a.writeJSON(m.json, cells); err != nil {
		return err
	}
	f.html = ""
	if err := a.tellSweep(sweep, cells, f, fileOf(w), took(w), w.Missing); err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "map     %s\n", filepath.Join(m.out, "index.html"))
	return nil
}

// mostSteps bounds the steps of a range that is read from a file.
const mostSteps = 10_000
