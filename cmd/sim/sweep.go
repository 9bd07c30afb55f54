package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/redlock-sim/redlock-sim/internal/app"
	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/explore"
	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// sweepFiles are those to which rates are written, too.
type sweepFiles struct {
	csv, html string
	json      bool
}

func newSweepCommand(a *cli) *cobra.Command {
	r := request.Sweep{Steps: 7, Runs: 500, Place: request.Place{Jobs: a.project.Jobs, Out: a.project.Out}}
	var shard string
	var files sweepFiles
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
		RunE: func(c *cobra.Command, args []string) (err error) {
			if r.Part, err = partOf(shard, true); err != nil {
				return err
			}
			if c.Flags().Changed("jobs") && r.Jobs < 1 {
				return app.Usagef("--jobs %d: want at least 1", r.Jobs)
			}
			if err := errors.Join(checkFile("--csv", files.csv), checkFile("--html", files.html)); err != nil {
				return err
			}
			r.Scenario = args[0]
			result, err := app.Sweep(c.Context(), a.env(), r, a.listener().hear)
			if err != nil || result == nil {
				return err
			}
			tells := a
			if files.json {
				if err := a.printIndented(sweptAsJSON(result)); err != nil {
					return err
				}
				tells = a.writingTo(io.Discard) // it writes the files
			}
			if err := tells.tellSweep(result, files); err != nil {
				return err
			}
			return app.Ended(c.Context(), "interrupted; the points that were measured are shown", false, false)
		},
	}
	c.Flags().StringVar(&r.X, "x", "", "the setting that varies from column to column")
	c.Flags().StringVar(&r.Y, "y", "", "the setting that varies from row to row")
	c.Flags().IntVar(&r.Steps, "steps", r.Steps, "how many values of a range to measure")
	c.Flags().Uint64Var(&r.Runs, "runs", r.Runs, "how many runs for each point")
	c.Flags().Uint64Var(&r.Seed, "seed", 0, "the first seed")
	targetFlags(c, &r.Target, "the properties to measure", app.SweepProperties...)
	c.Flags().IntVarP(&r.Jobs, "jobs", "j", r.Jobs, "how many runs at once (default: one for each processor)")
	shardFlag(c, &shard)
	c.Flags().StringVar(&r.Out, "out", r.Out, "folder in which a shard is stored (--shard)")
	c.Flags().BoolVar(&files.json, "json", false, "print what was measured as JSON on stdout")
	c.Flags().StringVar(&files.csv, "csv", "", "also write the rates to this CSV file")
	c.Flags().StringVar(&files.html, "html", "", "also write the rates, with heat maps, as an HTML page to this file")
	return c
}

// swept is what sim sweep prints with --json.
type swept struct {
	Scenario   string       `json:"scenario"`
	Variant    string       `json:"variant"`
	X          string       `json:"x"`
	Y          string       `json:"y,omitempty"`
	Points     []sweptPoint `json:"points"`
	Missing    []string     `json:"missing,omitempty"`
	Replay     string       `json:"replay"`
	Properties []string     `json:"properties"`
}

type sweptPoint struct {
	X     string      `json:"x"`
	Y     string      `json:"y,omitempty"`
	Rates []sweptRate `json:"rates"`
	// Wrong is why there can be no run with these settings.
	Wrong string `json:"wrong,omitempty"`
}

// sweptRate is the rate of a property at a point. Without runs that were judged there is none.
type sweptRate struct {
	Property string   `json:"property"`
	Runs     uint64   `json:"runs"`
	Judged   uint64   `json:"judged"`
	Violated uint64   `json:"violated"`
	Rate     *float64 `json:"rate,omitempty"`
	Low      *float64 `json:"low,omitempty"`
	High     *float64 `json:"high,omitempty"`
}

func sweptAsJSON(s *app.SweepResult) swept {
	out := swept{Scenario: s.Scenario.Name, Variant: s.Variant, X: s.X.Path, Y: s.Y.Path, Missing: s.Missing, Replay: s.Again(),
		Properties: words.Texts(s.Properties), Points: []sweptPoint{}}
	for _, c := range s.Cells {
		point := sweptPoint{X: c.X, Y: c.Y, Wrong: c.Wrong}
		for i, p := range s.Properties {
			r := rateOf(&c, i)
			one := sweptRate{Property: string(p), Runs: r.Runs, Judged: r.Judged, Violated: r.Violated}
			if r.Judged > 0 {
				share := r.Share()
				one.Rate, one.Low, one.High = &share, &r.Low, &r.High
			}
			point.Rates = append(point.Rates, one)
		}
		out.Points = append(out.Points, point)
	}
	return out
}

// tellSweep tells what was measured, and writes it to the files that are wanted.
func (a *cli) tellSweep(s *app.SweepResult, files sweepFiles) error {
	var runs uint64
	for _, c := range s.Cells {
		runs += c.Runs
	}
	fmt.Fprintf(a.stdout, "%s   %s   %s, %s in %.1f s\n",
		s.Scenario.Name, s.Variant, words.Count(len(s.Cells), "point"), words.Count(runs, "run"), s.Took.Seconds())
	for i, p := range s.Properties {
		fmt.Fprintf(a.stdout, "%s violated, in %% of the judged runs (95 %% interval); columns: %s", p, s.X.Path)
		if s.Request.Y != "" {
			fmt.Fprintf(a.stdout, ", rows: %s", s.Y.Path)
		}
		fmt.Fprintln(a.stdout)
		printGrid(a.stdout, s.Sweep, s.Cells, i)
	}
	a.tellWrongPoints(s)
	if files.csv != "" {
		if err := a.toOutput(files.csv, func(w io.Writer) error { return writeRates(w, s.Sweep, s.Cells) }); err != nil {
			return err
		}
		fmt.Fprintf(a.stdout, "rates   %s\n", files.csv)
	}
	if files.html != "" {
		if err := a.toOutput(files.html, func(w io.Writer) error { return report.WriteRates(w, ratesOf(s)) }); err != nil {
			return err
		}
		fmt.Fprintf(a.stdout, "map     %s\n", files.html)
	}
	return nil
}

// tellWrongPoints says with which settings there can be no run, each reason once.
func (a *cli) tellWrongPoints(s *app.SweepResult) {
	var reasons []string
	points := make(map[string][]string)
	for i := range s.Cells {
		c := &s.Cells[i]
		if c.Wrong == "" {
			continue
		}
		if points[c.Wrong] == nil {
			reasons = append(reasons, c.Wrong)
		}
		points[c.Wrong] = append(points[c.Wrong], s.Label(c.X, c.Y))
	}
	for _, why := range reasons {
		of := points[why]
		text := of[0]
		if len(of) > 1 {
			text += fmt.Sprintf(" and %s", words.Count(len(of)-1, "more point"))
		}
		fmt.Fprintf(a.stdout, "  left out: %s: %s\n", text, why)
	}
}

// ratesOf are the rates as a page shows them.
func ratesOf(s *app.SweepResult) report.Rates {
	r := report.Rates{
		Heading: s.Scenario.Name + ": how often",
		Lead:    fmt.Sprintf("Variant %s, %s for each point, in the virtual world.", s.Variant, words.Count(s.Runs, "run")),
		Replay:  s.Again(), Missing: s.Missing,
	}
	for i, p := range s.Properties {
		g := report.RateGrid{Title: string(p), X: s.X.Path, Y: s.Y.Path, Columns: s.X.Values, Rows: s.Y.Values}
		for _, c := range s.Cells {
			g.Cells = append(g.Cells, rateOf(&c, i))
		}
		r.Grids = append(r.Grids, g)
	}
	return r
}

// rateOf is the rate of the i-th property at a point.
func rateOf(c *explore.Cell, i int) report.Rate {
	r := report.RateOf(c.Violated[i], c.Judged[i], c.Runs)
	r.Wrong = c.Wrong
	return r
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
	if r.Wrong != "" {
		return "cannot work"
	}
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
		if c.Wrong != "" {
			continue // no rate: it was not measured
		}
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
