package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/redlock-sim/redlock-sim/internal/app"
	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/checker/evidence"
	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

func newCheckCommand(a *cli) *cobra.Command {
	r := app.UsualCheck()
	var asJSON bool
	var html string
	c := &cobra.Command{
		Use:   "check HISTORY...",
		Short: "Judge histories in files: those of sim, of other tools, or lock logs of applications",
		Long: `Judge histories in files: histories of sim (JSONL), histories of Jepsen (EDN), the etcd
and key-value logs of porcupine's tests, and the lock logs that applications write in
production.

Lock logs are judged together, as one history, by what the applications wrote. Logs of
several hosts need --clock-error. What it leaves open is undecided, never violated.

A history of sim is judged by the safety properties of its lock, unless --model names
a model. Any other history needs a model: ` + strings.Join(evidence.Models(), ", ") + `.

Exit codes: 0 every history holds, 1 at least one is violated, 2 undecided, 3 bad
flags or a file that cannot be read as a history.`,
		Example: `  sim check reports/latest/unfenced/history.jsonl
  sim check history.edn --model cas-register --initial 0
  sim check history.edn --model owner-mutex --json
  sim check history.edn --model mutex --html history.html
  sim check web-1.locklog web-2.locklog --clock-error 50ms`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := checkFile("--html", html); err != nil {
				return err
			}
			r.Files = args
			return a.check(c.Context(), r, asJSON, html)
		},
	}
	c.Flags().StringVar(&r.Model, "model", "", "the model to judge the history by")
	c.Flags().StringVar(&r.Format, "format", r.Format, "the format of the files: "+strings.Join(words.Texts(evidence.Formats()), ", "))
	c.Flags().StringVar(&r.Initial, "initial", "",
		"the initial value (default: the one that the file gives; otherwise nil for a register, 0 for other models)")
	c.Flags().StringVar(&r.NilRead, "nil-read", "", "the value that a read of nil stands for (default: none, or the initial value)")
	durationFlag(c, &r.Timeout, "timeout", "give up after this time; the verdict is then undecided")
	durationFlag(c, &r.ClockError, "clock-error", "the most by which the clocks of any two hosts differ that wrote lock logs")
	c.Flags().Int64Var(&r.Memory, "memory", r.Memory, "give up above this much memory, in MiB; the verdict is then undecided")
	c.Flags().IntVar(&r.Permits, "permits", r.Permits, "how many permits the semaphore has")
	c.Flags().IntVar(&r.Reentrancy, "reentrancy", 0, "how many times an owner may acquire a re-entrant lock; 0: any number of times")
	c.Flags().BoolVar(&asJSON, "json", false, "print the result as JSON on stdout, one line for each history")
	c.Flags().StringVar(&html, "html", "", "also write the result as an HTML page to this file (one history only)")
	registerWords(c, "model", evidence.Models())
	registerWords(c, "format", words.Texts(evidence.Formats()))
	return c
}

func (a *cli) check(ctx context.Context, r request.Check, asJSON bool, html string) error {
	var failed error
	worst, err := app.Check(ctx, a.env(), r, html != "", func(e app.Event) {
		if e, ok := e.(app.Checked); ok {
			failed = errors.Join(failed, a.tellChecked(e.CheckResult, asJSON))
			if e.Page != nil {
				failed = errors.Join(failed, a.toOutput(html, func(w io.Writer) error { return report.WriteHTML(w, e.Page) }))
			}
		}
	})
	if err = errors.Join(err, failed); err != nil {
		return err
	}
	return app.Ended(ctx, "interrupted", worst == checker.Violated, worst == checker.Unknown)
}

// tellChecked prints what came of checking a file.
func (a *cli) tellChecked(c *app.CheckResult, asJSON bool) error {
	if c.Model != nil {
		return a.tellModel(c.File, c.Model, asJSON)
	}
	if asJSON {
		return a.printJSON(checkedFile{File: c.File, Truncated: c.Truncated, Started: c.Started, Properties: c.Findings})
	}
	if c.Started != "" {
		fmt.Fprintf(a.stdout, "%s: times count from %s\n", c.File, c.Started)
	}
	for _, finding := range c.Findings {
		fmt.Fprintf(a.stdout, "%s: %s %s: %s\n", c.File, finding.Property, finding.Verdict, finding.Why)
		if finding.Counterexample == nil {
			continue
		}
		for _, s := range finding.Counterexample.Story {
			fmt.Fprintf(a.stdout, "    %.3f s  %s\n", s.At.Seconds(), s.Text)
		}
	}
	return nil
}

// tellModel prints what came of checking a file against a model.
func (a *cli) tellModel(file string, r *evidence.Report, asJSON bool) error {
	if asJSON {
		return a.printJSON(struct {
			File string `json:"file"`
			*evidence.Report
		}{file, r})
	}
	fmt.Fprintf(a.stdout, "%s: %s as %s: %s\n", file, r.Verdict, r.Model, r.Why)
	fmt.Fprintf(a.stdout, "  %s, %d with an unknown outcome, on %s; decided by %s\n",
		words.Count(r.Operations, "operation"), r.Unknown, words.Count(r.Keys, "key"), r.Method)
	if r.Truncated {
		fmt.Fprintln(a.stdout, "  the file ends in the middle of a line; the whole lines before it were judged")
	}
	if r.FirstBad != nil {
		fmt.Fprintf(a.stdout, "  impossible from here on: %s\n", app.DescribeOp(*r.FirstBad))
	}
	for i, op := range r.Counterexample {
		if i == 0 {
			fmt.Fprintf(a.stdout, "  %d of %s cannot be explained together:\n", len(r.Counterexample), words.Count(r.From, "operation"))
		}
		fmt.Fprintf(a.stdout, "    %s\n", app.DescribeOp(op))
	}
	return nil
}

func (a *cli) printJSON(v any) error { return a.encode(v, "") }

// printIndented writes JSON for people to read.
func (a *cli) printIndented(v any) error { return a.encode(v, "  ") }

func (a *cli) encode(v any, indent string) error {
	enc := json.NewEncoder(a.stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	return enc.Encode(v)
}
