package main

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/redlock-sim/redlock-sim/internal/app"
	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// explainFlags are the flags of sim explain.
type explainFlags struct {
	request.Explain
	json bool
	// allowPrograms permits the lock program that the scenario names.
	allowPrograms bool
	svg, html     string
}

func newExplainCommand(a *cli) *cobra.Command {
	var f explainFlags
	c := &cobra.Command{
		Use:   "explain RUN",
		Short: "Say from which event of a run on its violation was certain",
		Long: `Say from which event of a run on its violation was certain: the point of no return.

The run is made again many times, as it was until an event, and with what follows
drawn anew: delays of messages, jitter of retries. From there on no further fault
begins. What has begun lasts as it was to, or (second curve) ends at that moment.

  certain, unless the faults end   the first event from which on all reruns violate the
                                   property if the faults last
  point of no return               the first from which on all do even if all faults end

It is kept beside the run (explain.json) and drawn in the run's report: the share of
the reruns that violate the property, in line with what happened.

For runs in virtual time. The lock of a run that had another than the scenario's is named
again with --lock. A run of another version of sim or of the lock may not come again:
then nothing is explained.

Exit codes: 0 it is explained, 2 nothing is violated or the run does not come again,
3 a run that cannot be explained, bad flags, 130 interrupted.`,
		Example: `  sim explain reports/latest
  sim explain reports/latest --variant unfenced --property exclusive-belief
  sim explain reports/latest --svg no-return.svg
  sim explain reports/latest --lock 'python3 my_lock.py'
  sim explain reports/latest --json`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			f.Run = args[0]
			return a.explain(c.Context(), &f)
		},
	}
	c.Flags().StringVar(&f.Variant, "variant", "", "the variant to explain (default: the first with a violation)")
	c.Flags().StringVar(&f.Property, "property", "", "the violated property to explain (default: the one that the report tells of)")
	c.Flags().IntVar(&f.Reruns, "reruns", 0,
		"how many reruns to make, of each kind, at an event at which their share changes (default: 100, with real servers 20)")
	c.Flags().StringVar(&f.Lock, "lock", "", "the lock that took the place of the scenario's in the run, as it was named there")
	c.Flags().BoolVar(&f.allowPrograms, "allow-programs", false, "allow the lock program that the run's scenario names; read it first")
	c.Flags().StringVar(&f.Redis, "redis", "",
		"the redis-server or valkey-server of a run with real servers (default: the one on this machine)")
	c.Flags().IntVarP(&f.Jobs, "jobs", "j", a.project.Jobs, "how many runs at once (default: one for each processor)")
	c.Flags().BoolVar(&f.json, "json", false, "print what was found as JSON")
	c.Flags().StringVar(&f.svg, "svg", "", "write the picture to this file, too, - for stdout")
	c.Flags().StringVar(&f.html, "html", "", "write the report to this file, too, - for stdout")
	registerWords(c, "property", words.Texts(checker.Properties()))
	return c
}

func (a *cli) explain(ctx context.Context, f *explainFlags) error {
	switch {
	case f.Reruns < 0 || f.Jobs < 0:
		return app.Usagef("--reruns and --jobs: must not be negative")
	case f.Property != "" && checker.Property(f.Property).Title() == "":
		return app.Usagef("no such property: %q", f.Property).Unknown(f.Property, words.Texts(checker.Properties()))
	}
	a.orderly.Store(true)
	env := a.env()
	env.Permit = app.Permit{Lock: f.Lock != "", Programs: f.allowPrograms}
	x, err := env.Explain(ctx, f.Explain, a.listener().hear)
	a.clearLine()
	if err != nil {
		return err
	}
	if err := x.Keep(); err != nil {
		return err
	}
	if f.svg != "" {
		var svg bytes.Buffer
		if _, _, err := report.WriteSVG(&svg, x.Trial.Result, x.Variant); err != nil {
			return err
		}
		if err := a.toOutput(f.svg, func(w io.Writer) error { _, err := w.Write(svg.Bytes()); return err }); err != nil {
			return err
		}
	}
	if f.html != "" {
		if err := a.toOutput(f.html, func(w io.Writer) error { return report.WriteHTML(w, x.Trial.Result) }); err != nil {
			return err
		}
	}
	switch {
	case f.svg == "-" || f.html == "-":
		return nil
	case f.json:
		return report.WriteIndented(a.stdout, "an explanation", x.Explanation)
	}
	if err := report.WriteExplanation(a.stdout, x.Explanation, a.textOptions()); err != nil {
		return err
	}
	fmt.Fprintln(a.stderr, "report", shortPath(x.Trial.Report))
	return nil
}
