package app

import (
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/app/runs"
	"github.com/redlock-sim/redlock-sim/internal/app/trial"
	"github.com/redlock-sim/redlock-sim/internal/report"
)

// Folder is the suite of the newest runs of each scenario that is stored in a folder: as many as the last sim run there made of each.
// Where there is none, it is nil.
func Folder(out string) (*Suite, error) {
	if _, err := os.Stat(filepath.Join(out, runs.Result)); err == nil {
		return nil, nil // a run, not a folder of runs
	}
	if err := runs.Missing(out); err != nil {
		return nil, Usagef("%w", err)
	}
	repeat := 1
	if last, err := ReadLast(out); err == nil {
		repeat = last.Repeat
	}
	s := &Suite{Index: filepath.Join(out, runs.Index)}
	scenarios, err := os.ReadDir(out)
	if err != nil {
		return nil, Usagef("failed to find runs: %w", err)
	}
	for _, sc := range scenarios {
		if !sc.IsDir() || sc.Name() == runs.Audits {
			continue
		}
		folders, err := os.ReadDir(filepath.Join(out, sc.Name()))
		if err != nil {
			return nil, err
		}
		found := 0
		for _, f := range slices.Backward(folders) { // sorted by name, which begins with the time
			dir := filepath.Join(out, sc.Name(), f.Name())
			r, err := trial.Result(dir)
			if err != nil || r.Scenario != sc.Name() {
				continue // killed, or no run
			}
			s.Done = append(s.Done, &trial.Trial{Result: r, Dir: dir, Report: filepath.Join(dir, runs.Report)})
			if found++; found == repeat {
				break
			}
		}
	}
	if len(s.Done) == 0 {
		return nil, nil
	}
	return s, nil
}

// WritePage writes the page of a suite. On paper nothing leads to another file.
func (s *Suite) WritePage(w io.Writer, paper bool) error {
	entries := s.Entries(s.Index)
	s.addEarlier(entries)
	for i := range entries {
		if paper {
			entries[i].Link = ""
			for j := range entries[i].Earlier {
				entries[i].Earlier[j].Link = ""
			}
		}
	}
	return report.WriteIndex(w, entries, s.Missing...)
}
