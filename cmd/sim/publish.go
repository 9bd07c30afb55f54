package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/redlock-sim/redlock-sim/internal/app"
	"github.com/redlock-sim/redlock-sim/internal/report"
)

// publish writes what readers other than the terminal want of a suite: the files that CI asked for.
func (a *cli) publish(s *app.Suite, f runFlags) error {
	results := s.Results()
	var errs []error
	if f.junit != "" {
		errs = append(errs, a.toOutput(f.junit, func(w io.Writer) error {
			return report.WriteJUnit(w, results, report.JUnitOptions{AllowUndecided: s.Request.AllowUndecided, Missing: s.Missing})
		}))
	}
	if f.markdown != "" {
		errs = append(errs, a.toOutput(f.markdown, func(w io.Writer) error { return report.WriteMarkdown(w, results, s.Missing...) }))
	}
	if f.github {
		file := func(r *report.Result) string { return a.fileOf(s, r) }
		errs = append(errs, a.githubSummary(results, s.Missing), report.WriteGitHub(a.stdout, results, report.GitHubOptions{File: file}))
	}
	return errors.Join(errs...)
}

// githubSummary appends the table to the file that GitHub shows with the job.
func (a *cli) githubSummary(results []*report.Result, missing []string) error {
	path := a.variable("GITHUB_STEP_SUMMARY")
	if path == "" {
		return nil
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("failed to open $GITHUB_STEP_SUMMARY: %w", err)
	}
	return errors.Join(report.WriteMarkdown(f, results, missing...), f.Close())
}

// fileOf is the scenario file that a result came from; a shipped scenario has none.
func (a *cli) fileOf(s *app.Suite, r *report.Result) string {
	for _, sc := range s.Scenarios {
		if sc.Name == r.Scenario && !sc.Shipped {
			return inRepository(sc.File, a.variable("GITHUB_WORKSPACE"))
		}
	}
	return ""
}

// inRepository is the path of a file as seen from the repository's root, for annotations.
func inRepository(file, root string) string {
	abs, err := filepath.Abs(file)
	if root == "" || err != nil {
		return file
	}
	if rel, err := filepath.Rel(root, abs); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return file
}
