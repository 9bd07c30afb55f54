package main

import (
	"cmp"
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/kballard/go-shellquote"
	"github.com/spf13/cobra"

	"github.com/redlock-sim/redlock-sim/internal/app/shard"
	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/explore"
	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// sweepFlags are the flags of sim sweep.
type sweepFlags struct {
	target
	x, y       string
	steps      int
	runs, seed uint64
	jobs       int
	csv, html  string
	shard, out string
}

func newSweepCommand(a *app) *cobra.Command {
	var f sweepFlags
	c := &cobra.Command{
		Use:   "sweep SCENARIO --x SETTING=RANGE",
		Short: "Measure how often a scenario fails as its settings vary",
		Long: `Measure how often a scenario fails as its settings vary: for example,
which TTL is safe with these pauses? Every point of the grid is run many times in the
virtual world, each time with another seed. An axis is a setting with a range of
durations or a list of values. It can also be the length of all faults of one kind,
which is drawn again in each run.`,
		Example: `  sim sweep scenarios/gc-pause.yaml --x lock.ttl=250ms..10s --y 'faults.pause=exp(mean=50ms..5s)' --runs 2000 --html rates.html
  sim sweep my-lock.yaml --x nodes.count=1,3,5 --runs 500 --csv rates.csv
  sim sweep my-lock.yaml --x lock.ttl=250ms..10s --runs 20000 --shard 1/4`,
		Args: cobra.ExactArgs(1), ValidArgsFunction: oneScenario,
		RunE: func(c *cobra.Command, args []string) error {
			if _, err := parseShard(f.shard, true); err != nil {
				return err
			}
			return a.sweep(c.Context(), args[0], f)
		},
	}
	c.Flags().StringVar(&f.x, "x", "", "the setting that varies from column to column")
	c.Flags().StringVar(&f.y, "y", "", "the setting that varies from row to row")
	c.Flags().IntVar(&f.steps, "steps", 7, "how many values of a range to measure")
	c.Flags().Uint64Var(&f.runs, "runs", 500, "how many runs for each point")
	c.Flags().Uint64Var(&f.seed, "seed", 0, "the first seed")
	f.flags(c, "the properties to measure", checker.LinearizableResource)
	c.Flags().IntVarP(&f.jobs, "jobs", "j", cmp.Or(a.project.Jobs, runtime.NumCPU()), "how many runs at once")
	shardFlag(c, &f.shard)
	c.Flags().StringVar(&f.out, "out", a.project.Out, "folder in which a shard is stored (--shard)")
	c.Flags().StringVar(&f.csv, "csv", "", "also write the rates to this CSV file")
	c.Flags().StringVar(&f.html, "html", "", "also write the rates as a heat map to this HTML page")
	return c
}

func (a *app) sweep(ctx context.Context, file string, f sweepFlags) error {
	s, v, properties, err := f.load(file)
	if err != nil {
		return err
	}
	sweep := explore.Sweep{Scenario: s, Variant: v.Name, Properties: properties, Runs: f.runs, First: f.seed, Workers: f.jobs}
	if f.jobs < 1 || f.runs < 1 {
		return usageError("--jobs %d, --runs %d: want at least 1", f.jobs, f.runs)
	}
	if sweep.X, err = explore.ParseAxis(f.x, f.steps); err != nil {
		return usageError("--x: %w", err)
	}
	if f.y != "" {
		if sweep.Y, err = explore.ParseAxis(f.y, f.steps); err != nil {
			return usageError("--y: %w", err)
		}
	}
	share, err := f.takeShare(&sweep)
	if err != nil {
		return err
	}
	if share != nil && sweep.Runs == 0 {
		share.nothing(a, words.Count(f.runs, "run")+" for each point")
		return share.end(ctx, a, &shard.Record{})
	}
	if a.isTerminal(a.stderr) {
		sweep.Progress = func(done, of int) { fmt.Fprintf(a.stderr, "\r\x1b[K%d of %s", done, words.Count(of, "point")) }
	}
	debug.SetGCPercent(800) // runs are small and leave little behind
	a.orderly.Store(true)
	began := time.Now()
	cells, err := sweep.Run(ctx)
	a.clearLine()
	if err != nil {
		return &exitError{exitUsage, err}
	}
	if share != nil {
		if err := share.end(ctx, a, &shard.Record{Points: cells, Files: []string{filepath.ToSlash(file)}}); err != nil {
			return err
		}
	}
	if err := a.tellSweep(sweep, cells, f, file, time.Since(began), nil); err != nil {
		return err
	}
	return ended(ctx, "interrupted; the points that were measured are shown", false, false)
}

// tellSweep tells what was measured, and writes it to the files that are wanted.
func (a *app) tellSweep(sweep explore.Sweep, cells []explore.Cell, f sweepFlags, file string, took time.Duration, missing []string) error {
	var runs uint64
	for _, c := range cells {
		runs += c.Runs
	}
	fmt.Fprintf(a.stdout, "%s   %s   %s, %s in %.1f s\n",
		sweep.Scenario.Name, sweep.Variant, words.Count(len(cells), "point"), words.Count(runs, "run"), took.Seconds())
	for i, p := range sweep.Properties {
		fmt.Fprintf(a.stdout, "%s violated, in %% of the judged runs (95 %% interval); columns: %s", p, sweep.X.Path)
		if f.y != "" {
			fmt.Fprintf(a.stdout, ", rows: %s", sweep.Y.Path)
		}
		fmt.Fprintln(a.stdout)
		printGrid(a.stdout, sweep, cells, i)
	}
	if f.csv != "" {
		if err := a.toOutput(f.csv, func(w io.Writer) error { return writeRates(w, sweep, cells) }); err != nil {
			return err
		}
		fmt.Fprintf(a.stdout, "rates   %s\n", f.csv)
	}
	if f.html != "" {
		page := ratesOf(sweep, cells, file, f)
		page.Missing = missing
		if err := a.toOutput(f.html, func(w io.Writer) error { return report.WriteRates(w, page) }); err != nil {
			return err
		}
		fmt.Fprintf(a.stdout, "map     %s\n", f.html)
	}
	return nil
}

// ratesOf are the rates as a page shows them.
func ratesOf(s explore.Sweep, cells []explore.Cell, file string, f sweepFlags) report.Rates {
	r := report.Rates{
		Heading: s.Scenario.Name + ": how often",
		Lead:    fmt.Sprintf("Variant %s, %s for each point, in the virtual world.", s.Variant, words.Count(s.Runs, "run")),
		Replay:  sweepAgain(s, file, f),
	}
	for i, p := range s.Properties {
		g := report.RateGrid{Title: string(p), X: s.X.Path, Y: s.Y.Path, Columns: s.X.Values, Rows: s.Y.Values}
		for _, c := range cells {
			g.Cells = append(g.Cells, rateOf(&c, i))
		}
		r.Grids = append(r.Grids, g)
	}
	return r
}

// sweepAgain is the command that measures the same again.
func sweepAgain(s explore.Sweep, file string, f sweepFlags) string {
	list := []string{"sim", "sweep", file, "--variant", s.Variant, "--property", strings.Join(wordsOf(s.Properties), ","),
		"--steps", fmt.Sprint(f.steps), "--runs", fmt.Sprint(s.Runs), "--seed", fmt.Sprint(s.First), "--x", f.x}
	if f.y != "" {
		list = append(list, "--y", f.y)
	}
	return shellquote.Join(list...)
}

// rateOf is the rate of the i-th property at a point.
func rateOf(c *explore.Cell, i int) report.Rate {
	return report.RateOf(c.Violated[i], c.Judged[i], c.Runs)
}

// printGrid shows the rates of the i-th property.
func printGrid(out io.Writer, s explore.Sweep, cells []explore.Cell, i int) {
	t := tabwriter.NewWriter(out, 0, 0, 3, ' ', tabwriter.AlignRight)
	row, some, few := "\x00", false, false
	for _, x := range s.X.Values {
		fmt.Fprintf(t, "\t%s", x)
	}
	for _, c := range cells {
		if c.Y != row {
			row = c.Y
			fmt.Fprintf(t, "\t\n%s", row)
		}
		r := rateOf(&c, i)
		fmt.Fprintf(t, "\t%s", rateText(r))
		some, few = some || r.Judged < r.Runs, few || r.Few()
	}
	fmt.Fprintln(t, "\t")
	_ = t.Flush()
	if some {
		fmt.Fprintln(out, "  of N: only N runs were judged; the others gave the property no chance to fail, or did not finish")
	}
	if few {
		fmt.Fprintln(out, "  few: fewer than half of the runs were judged")
	}
}

// rateText is what stands at a point of the grid.
func rateText(r report.Rate) string {
	if r.Runs == 0 {
		return "-"
	}
	if r.Judged == 0 {
		return "none judged"
	}
	text := fmt.Sprintf("%.1f (%.1f-%.1f)", 100*r.Share(), 100*r.Low, 100*r.High)
	if r.Judged < r.Runs {
		text += " " + r.Of()
	}
	if r.Few() {
		text += " (few)"
	}
	return text
}

// writeRates writes one line for each point and property.
func writeRates(to io.Writer, s explore.Sweep, cells []explore.Cell) error {
	w := csv.NewWriter(to)
	_ = w.Write([]string{s.X.Path, s.Y.Path, "property", "runs", "judged", "violated", "rate", "low", "high"})
	for _, c := range cells {
		for i, p := range s.Properties {
			r := rateOf(&c, i)
			row := []string{c.X, c.Y, string(p)}
			for _, n := range []uint64{r.Runs, r.Judged, r.Violated} {
				row = append(row, strconv.FormatUint(n, 10))
			}
			for _, share := range []float64{r.Share(), r.Low, r.High} {
				row = append(row, strconv.FormatFloat(share, 'f', 6, 64))
			}
			_ = w.Write(row)
		}
	}
	w.Flush()
	return w.Error()
}
