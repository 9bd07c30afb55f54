package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/report"
)

// publish writes what readers other than the terminal want of a suite: its
// page, and the files that CI asked for.
func (s *suiteRun) publish(results []*report.Result) error {
	var errs []error
	if len(s.done) > 1 {
		errs = append(errs, s.index())
	}
	if s.flags.junit != "" {
		errs = append(errs, s.toOutput(s.flags.junit, func(w io.Writer) error {
			return report.WriteJUnit(w, results, report.JUnitOptions{AllowUndecided: s.flags.allowUndecided, Missing: s.missing})
		}))
	}
	if s.flags.markdown != "" {
		errs = append(errs, s.toOutput(s.flags.markdown, func(w io.Writer) error { return report.WriteMarkdown(w, results, s.missing...) }))
	}
	if s.flags.github {
		errs = append(errs, s.githubSummary(results), report.WriteGitHub(s.stdout, results, report.GitHubOptions{File: s.fileOf}))
	}
	return errors.Join(errs...)
}

// index writes <out>/index.html, which leads to every report of the suite.
func (s *suiteRun) index() error {
	path := filepath.Join(s.flags.out, "index.html")
	entries := s.entries(path)
	if len(entries) == 0 && len(s.missing) == 0 {
		return nil
	}
	if err := machine.WriteFile(path, func(w io.Writer) error { return report.WriteIndex(w, entries, s.missing...) }); err != nil {
		return err
	}
	if !s.flags.json {
		fmt.Fprintf(s.stdout, "suite    %s\n", path)
	}
	return nil
}

// entries are the results with links to their reports, for a page.
func (s *suiteRun) entries(page string) (entries []report.IndexEntry) {
	for _, t := range s.done {
		if t == nil || t.Result == nil {
			continue
		}
		entry := report.IndexEntry{Result: t.Result}
		if link, err := linkFrom(page, t.Report); err == nil {
			entry.Link = link
		}
		entries = append(entries, entry)
	}
	return entries
}

// githubSummary appends the table to the file that GitHub shows with the job.
func (s *suiteRun) githubSummary(results []*report.Result) error {
	path := s.env("GITHUB_STEP_SUMMARY")
	if path == "" {
		return nil
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("failed to open $GITHUB_STEP_SUMMARY: %w", err)
	}
	return errors.Join(report.WriteMarkdown(f, results, s.missing...), f.Close())
}

// fileOf is the scenario file that a result came from; a shipped scenario has none.
func (s *suiteRun) fileOf(r *report.Result) string {
	for _, sc := range s.scenarios {
		if sc.Name == r.Scenario && !sc.Shipped {
			return inRepository(sc.File, s.env("GITHUB_WORKSPACE"))
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
