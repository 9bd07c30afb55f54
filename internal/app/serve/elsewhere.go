package serve

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/app/runs"
)

// How many folders are looked into for runs, and how many are told.
const (
	mostSearched = 300
	mostTold     = 6
)

// Elsewhere are folders with runs near one that has none: those up to two levels below it, or else the one above it, where it is that of a
// run or of a scenario.
func Elsewhere(dir string) (list []string) {
	below := foldersIn(dir)
	level := below
	for range 2 {
		var next []string
		for _, folder := range level[:min(len(level), mostSearched)] {
			if HasRuns(folder) {
				list = append(list, folder)
			} else {
				next = append(next, foldersIn(folder)...)
			}
		}
		level = next
	}
	switch {
	case len(list) > 0:
		return list[:min(len(list), mostTold)]
	case isRun(dir):
		return []string{filepath.Join(dir, "..", "..")}
	case slices.ContainsFunc(below, isRun):
		return []string{filepath.Join(dir, "..")}
	}
	return nil
}

// HasRuns reports that a folder is one that Options.Dir may be: <scenario>/<run>/result.json.
func HasRuns(dir string) bool {
	for _, scenario := range foldersIn(dir) {
		if slices.ContainsFunc(foldersIn(scenario), isRun) {
			return true
		}
	}
	return false
}

func isRun(dir string) bool {
	info, err := os.Lstat(filepath.Join(dir, runs.Result))
	return err == nil && info.Mode().IsRegular()
}

// foldersIn are the folders in one, of the first that there are.
func foldersIn(dir string) (list []string) {
	f, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer f.Close()
	entries, _ := f.ReadDir(mostSearched)
	for _, e := range entries {
		if e.IsDir() && plainName(e.Name()) {
			list = append(list, filepath.Join(dir, e.Name()))
		}
	}
	slices.Sort(list)
	return list
}
