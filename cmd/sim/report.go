package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/redlock-sim/redlock-sim/internal/app"
	"github.com/redlock-sim/redlock-sim/internal/app/trial"
	"github.com/redlock-sim/redlock-sim/internal/report"
)

func newReportCommand(a *cli) *cobra.Command {
	var format, out, variant string
	var svg, png, pdf bool
	c := &cobra.Command{
		Use:   "report RUN|FOLDER",
		Short: "Judge a stored run again and rewrite its report",
		Long: `Judge a stored run again, with the checker of this version of sim, and rewrite its
report. The histories and the scenario are read from the run's folder.

A run that was killed has no result: what it recorded until then is judged, and its
result is written, too. It counts as interrupted: a violation is one, what else was
expected is undecided (exit code 2).

--svg and --png write the picture of one variant alone, for a README or a review: the
first with a violation, or that of --variant. An SVG follows its reader's choice of light
or dark. --pdf writes the whole page, as it is printed, for a design review. Chromium or
Chrome makes PNGs and PDFs, if it is installed.

The exit code is that of the run, as of sim run, whatever is written.

Of a folder with many runs it writes the page of the suite: the newest runs of each
scenario, as they were judged. Then the exit code is 0.`,
		Example: `  sim report reports/latest
  sim report reports/latest --svg
  sim report reports/latest --png --variant unfenced -o gc-pause.png
  sim report reports/latest --pdf
  sim report reports --pdf
  sim report reports/gc-pause/20261120-204501-42 --format text`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			picture := svg || png
			if svg && png || pdf && picture || (pdf || picture) && c.Flags().Changed("format") {
				return app.Usagef("--format, --svg, --png and --pdf do not go together: choose one")
			}
			if variant != "" && !picture {
				return app.Usagef("--variant goes with --svg or --png")
			}
			suite, err := app.Folder(args[0])
			switch {
			case err != nil:
				return err
			case suite != nil:
				return a.reportSuite(c.Context(), suite, out, pdf, !picture && format == "html")
			}
			t, err := trial.Rejudge(c.Context(), args[0])
			if err != nil {
				return app.Usagef("%w", err)
			}
			switch {
			case picture:
				out, err = a.writePicture(c.Context(), t, variant, out, png)
			case pdf:
				out = cmp.Or(out, beside(t, ".pdf"))
				err = a.toOutput(out, func(w io.Writer) error {
					return printPage(c.Context(), w, "--pdf", func(w io.Writer) error { return report.WriteHTML(w, t.Result) })
				})
			case format == "html" && out == "":
				out, err = t.Report, t.Keep()
			default:
				err = a.toOutput(out, func(w io.Writer) error { return writeResult(a, w, t, format) })
			}
			if err != nil {
				return err
			}
			if (picture || format == "html") && out != "-" {
				fmt.Fprintln(a.stderr, "report", shortPath(out))
			}
			return rejudged(t.Result)
		},
	}
	c.Flags().StringVar(&format, "format", "html", "html, text, json, junit or markdown")
	c.Flags().StringVarP(&out, "output", "o", "",
		"write to this file, - for stdout (default: the run's report.html, or stdout for other formats)")
	c.Flags().BoolVar(&svg, "svg", false, "write the picture alone, as an SVG file (default: report.svg in the run's folder)")
	c.Flags().BoolVar(&png, "png", false, "write the picture alone, as a PNG file (default: report.png in the run's folder)")
	c.Flags().BoolVar(&pdf, "pdf", false,
		"write the whole page as a PDF file (default: report.pdf in the run's folder, index.pdf in that of many)")
	c.Flags().StringVar(&variant, "variant", "", "the variant whose picture is wanted")
	addJSON(c)
	registerWords(c, "format", []string{"html", "text", "json", "junit", "markdown"})
	return c
}

// rejudged is the end of a command that judged a run again: the exit code of the run.
func rejudged(r *report.Result) error {
	code := app.ExitOf(r, false)
	if code == app.ExitMet && r.Interrupted {
		code = app.ExitUndecided
	}
	if code != app.ExitMet {
		return &app.ExitError{Code: code}
	}
	return nil
}

// reportSuite writes the page of the newest runs in a folder. Its exit code says nothing of them: nothing is judged again.
func (a *cli) reportSuite(ctx context.Context, s *app.Suite, out string, pdf, asPage bool) error {
	if !asPage {
		return app.Usagef("%s has many runs: they have a page, or with --pdf a PDF", shortPath(filepath.Dir(s.Index))).
			Hint("name the folder of one run, such as %s", shortPath(s.Done[0].Dir))
	}
	s.Index = cmp.Or(out, s.Index)
	write := func(w io.Writer) error { return s.WritePage(w, false) }
	if pdf {
		s.Index = cmp.Or(out, strings.TrimSuffix(s.Index, ".html")+".pdf")
		write = func(w io.Writer) error {
			return printPage(ctx, w, "--pdf", func(w io.Writer) error { return s.WritePage(w, true) })
		}
	}
	err := a.toOutput(s.Index, write)
	if err == nil && s.Index != "-" {
		fmt.Fprintln(a.stderr, "report", shortPath(s.Index))
	}
	return err
}

func writeResult(a *cli, w io.Writer, t *trial.Trial, format string) error {
	results := []*report.Result{t.Result}
	switch format {
	case "html":
		return report.WriteHTML(w, t.Result)
	case "text":
		return report.WriteText(w, t.Result, "", a.textOptions())
	case "json":
		return report.WriteJSON(w, t.Result)
	case "junit":
		return report.WriteJUnit(w, results, report.JUnitOptions{})
	case "markdown":
		return report.WriteMarkdown(w, results)
	}
	return app.Usagef("--format %q: want html, text, json, junit or markdown", format).
		Unknown(format, []string{"html", "text", "json", "junit", "markdown"})
}
