package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/redlock-sim/redlock-sim/internal/app"
	"github.com/redlock-sim/redlock-sim/internal/app/runs"
	"github.com/redlock-sim/redlock-sim/internal/app/trial"
	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/report/compare"
)

func newCompareCommand(a *cli) *cobra.Command {
	var format, out string
	c := &cobra.Command{
		Use:   "compare BEFORE AFTER",
		Short: "Show what changed between two runs or suites",
		Long: `Show what changed between two runs or suites: verdicts, rates and timings. Each side
is a run's folder, a result.json, a file written by sim run --json, or a folder with
many runs. If the runs themselves differ (in the world, the nodes, the lock, the
settings, the scenario's file or versions), these differences come first. Audits are no runs: sim audit
--expect compares them.

Exit codes: 0 nothing got worse, 1 a regression, 2 the two sides have no verdict on
the same property, so nothing can be compared; or something is worse, but in another
world or with another scenario file, so it may be no regression; or a verdict is the
same, but not as expected any more, because the expectation changed.`,
		Example: `  sim run scenarios/ --json > after.json
  sim compare before.json after.json
  sim compare reports-yesterday reports --format pdf -o changes.pdf`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			var sides [2][]*report.Result
			for i, path := range args {
				list, unreadable, err := trial.Results(path)
				var audit *trial.AuditError
				switch {
				case errors.As(err, &audit):
					return app.Usagef("%w", err).
						Hint("sim audit --lock LOCK --expect CARD compares an audit with the card.json of an earlier one")
				case err != nil:
					return app.Usagef("%w", err)
				}
				for _, err := range unreadable {
					fmt.Fprintf(a.stderr, "left out: %v\n", err)
				}
				sides[i] = list
			}
			c := compare.Results(sides[0], sides[1])
			err := a.toOutput(out, func(w io.Writer) error {
				switch format {
				case "text":
					return compare.WriteText(w, c, a.textOptions())
				case "json":
					return compare.WriteJSON(w, c)
				case "html":
					c.Link(func(r *report.Result) string { return reportLink(out, r) })
					return compare.WriteHTML(w, c)
				case "pdf":
					return printPage(cmd.Context(), w, "--format pdf", func(w io.Writer) error { return compare.WriteHTML(w, c) })
				}
				return app.Usagef("--format %q: want text, json, html or pdf", format).Unknown(format, []string{"text", "json", "html", "pdf"})
			})
			switch {
			case err != nil:
			case c.Regression:
				return &app.ExitError{Code: app.ExitUnexpected}
			case c.Compared == 0 || c.Unclear > 0:
				return &app.ExitError{Code: app.ExitUndecided}
			}
			return err
		},
	}
	c.Flags().StringVar(&format, "format", "text", "text, json, html or pdf (which needs Chromium or Chrome)")
	c.Flags().StringVarP(&out, "output", "o", "", "write to this file instead of stdout")
	addJSON(c)
	registerWords(c, "format", []string{"text", "json", "html", "pdf"})
	return c
}

// reportLink leads from a page to the report of a stored run; empty: there is none.
func reportLink(page string, r *report.Result) string {
	file := filepath.Join(r.Folder, runs.Report)
	if _, err := os.Stat(file); r.Folder == "" || err != nil {
		return ""
	}
	link, err := app.LinkFrom(page, file)
	if err != nil {
		return ""
	}
	return link
}
