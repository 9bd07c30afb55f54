package app

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/app/runs"
	"github.com/redlock-sim/redlock-sim/internal/app/trial"
	"github.com/redlock-sim/redlock-sim/internal/report"
)

// mostEarlier is how many runs before a suite its page shows of a scenario; mostOpened bounds how many folders are opened to find them.
const (
	mostEarlier = 5
	mostOpened  = 20
)

// addEarlier adds to each scenario the stored runs that were made before this suite, asked for in the same words.
func (s *Suite) addEarlier(entries []report.IndexEntry) {
	ours, first := make(map[string]bool), make(map[string]bool)
	for _, t := range s.Done {
		if t != nil {
			ours[filepath.Clean(t.Dir)] = true
		}
	}
	at := 0
	for _, t := range s.Done {
		if t == nil || t.Result == nil {
			continue
		}
		e := &entries[at]
		at++
		parent := filepath.Dir(t.Dir)
		if t.Dir == "" || first[parent] {
			continue
		}
		first[parent] = true
		e.Earlier = earlier(s.Index, t.Dir, t.Result, ours)
	}
}

// earlier are the runs beside that in dir that are no part of this suite, the newest first. What cannot be read is left out: it has
// nothing to do with this suite.
func earlier(page, dir string, now *report.Result, ours map[string]bool) (list []report.IndexEntry) {
	folders, err := os.ReadDir(filepath.Dir(dir))
	if err != nil {
		return nil
	}
	opened := 0
	for _, f := range slices.Backward(folders) { // sorted by name, which begins with the time
		folder := filepath.Join(filepath.Dir(dir), f.Name())
		if !f.IsDir() || ours[folder] || f.Name() >= filepath.Base(dir) {
			continue
		}
		if opened++; opened > mostOpened || len(list) == mostEarlier {
			break
		}
		r, err := trial.Result(folder)
		if err != nil || asked(r) != asked(now) {
			continue
		}
		e := report.IndexEntry{Result: r}
		if link, err := LinkFrom(page, filepath.Join(folder, runs.Report)); err == nil {
			e.Link = link
		}
		list = append(list, e)
	}
	return list
}

var seedFlag = regexp.MustCompile(` --seed \d+`)

// asked is how a run was asked for, whatever its seed: it names scenario, lock, world and nodes.
func asked(r *report.Result) string { return seedFlag.ReplaceAllString(r.Replay, "") }
