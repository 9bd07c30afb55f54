package trial

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"github.com/redlock-sim/redlock-sim/internal/app/runs"
	"github.com/redlock-sim/redlock-sim/internal/app/verdict"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/report/card"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/scenario/yamlform"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// Load reads a run's folder: its result, with scenario and histories. A run that was killed has
// the result that it began with.
func Load(dir string) (*report.Result, error) {
	r, err := loadResult(filepath.Join(dir, runs.Result))
	if errors.Is(err, fs.ErrNotExist) {
		if r, err = loadResult(filepath.Join(dir, runs.Started)); errors.Is(err, fs.ErrNotExist) {
			if err := runs.Missing(dir); err != nil {
				return nil, err
			}
			if count, one := runs.Below(dir); count > 0 {
				return nil, words.WithHint(fmt.Errorf("%q is not the folder of a run: it holds %s", dir, words.Count(count, "run")),
					"name one: "+one)
			}
			return nil, fmt.Errorf("%q is not the folder of a run: it has neither %s nor %s", dir, runs.Result, runs.Started)
		}
	}
	if err != nil {
		return nil, err
	}
	text, err := machine.ReadRegular(filepath.Join(dir, runs.Scenario), yamlform.MaxSize+1)
	if err != nil {
		return nil, fmt.Errorf("failed to read the run's scenario: %w", err)
	}
	r.ScenarioText = string(text)
	for i := range r.Variants {
		v := &r.Variants[i]
		if v.History, err = loadHistory(dir, v.Name, v.Name); err != nil {
			return nil, err
		}
		v.Explained = loadExplanation(dir, v)
		if v.Interrupted && len(v.Tries) == 0 {
			findTries(dir, v, r.Seed)
		}
	}
	return r, nil
}

// loadExplanation reads what sim explain has kept of a variant; nil: there is nothing that fits its history.
func loadExplanation(dir string, v *report.Variant) *report.Explanation {
	f, err := machine.OpenRegular(filepath.Join(dir, v.Name, runs.Explanation))
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	if v.History == nil {
		return nil
	}
	x, err := report.ReadExplanation(f, v.History)
	if err != nil || x.Variant != v.Name {
		return nil // it can be made again
	}
	return x
}

// findTries finds the tries of a variant that were made before the run was killed.
func findTries(dir string, v *report.Variant, seed uint64) {
	for n := 1; ; n++ {
		one := report.Try{Seed: trySeed(seed, n), Folder: tryFolder(v.Name, n, 0)}
		if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(one.Folder), runs.History)); err != nil {
			if n > 1 { // the last one is in the variant's folder
				one.Folder, one.Interrupted = v.Name, true
				v.Tries, v.Shown = append(v.Tries, one), n
			}
			return
		}
		v.Tries = append(v.Tries, one)
	}
}

// Result reads the result of a run that came to its end, without its histories.
func Result(dir string) (*report.Result, error) { return loadResult(filepath.Join(dir, runs.Result)) }

func loadResult(path string) (*report.Result, error) {
	f, err := machine.OpenRegular(path)
	if err != nil {
		return nil, fmt.Errorf("failed to open the run's result: %w", err)
	}
	defer func() { _ = f.Close() }()
	return report.ReadJSON(f)
}

// loadHistory reads a variant's history from a folder of the run; one that never
// began is nil.
func loadHistory(dir, variant, folder string) (*history.History, error) {
	if filepath.Base(variant) != variant {
		return nil, fmt.Errorf("a variant named %q", variant)
	}
	f, err := machine.OpenRegular(filepath.Join(dir, filepath.FromSlash(folder), runs.History))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("failed to open a history: %w", err)
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err != nil || info.Size() == 0 { // the run was killed before it began
		return nil, err
	}
	h, err := history.Decode(f, 0)
	if err != nil {
		return nil, fmt.Errorf("failed to read the history of %s: %w", variant, err)
	}
	return h, nil
}

// Rejudge judges a stored run again with the checker of this program. Nothing
// in the folder changes.
func Rejudge(ctx context.Context, dir string) (*Trial, error) {
	r, err := Load(dir)
	if err != nil {
		return nil, err
	}
	s, err := scenario.Parse(filepath.Join(dir, runs.Scenario), []byte(r.ScenarioText))
	if err != nil {
		return nil, fmt.Errorf("failed to read the run's scenario: %w", err)
	}
	t := &trial{Scenario: s, dir: dir}
	for i := range r.Variants {
		v := &r.Variants[i]
		for j := range s.Variants {
			if s.Variants[j].Name == v.Name && v.History != nil {
				if err := t.rejudge(ctx, asRun(s.Variants[j], v.Lock), v); err != nil {
					return nil, err
				}
			}
		}
	}
	verdict.SumUp(r)
	return &Trial{Result: r, Dir: dir, Report: filepath.Join(dir, runs.Report)}, nil
}

// Keep writes the report of a run that was judged again, and the result where it has none
// because it was killed.
func (t *Trial) Keep() error {
	result := filepath.Join(t.Dir, runs.Result)
	if _, err := os.Stat(result); errors.Is(err, fs.ErrNotExist) {
		if err := machine.WriteFile(result, func(w io.Writer) error { return report.WriteJSON(w, t.Result) }); err != nil {
			return err
		}
	}
	_ = os.Remove(filepath.Join(t.Dir, runs.Started))
	return writePage(t.Report, t.Result)
}

// asRun is a variant with the demands that counted where another lock was in its place.
func asRun(v scenario.Variant, l *report.Lock) scenario.Variant {
	if l == nil || !l.InPlace {
		return v
	}
	r := program.Ready{Class: program.Class(l.Class), Store: program.Store(l.Store)}
	if l.Promise == toldPromise {
		r.Can = []program.Ability{program.TellsValidity}
	}
	return v.Demanding(&r)
}

// rejudge judges all tries of a stored variant again.
func (t *trial) rejudge(ctx context.Context, s scenario.Variant, v *report.Variant) error {
	if len(v.Tries) == 0 {
		v.Properties, v.Faults, v.Undecided = nil, nil, false
		verdict.Judge(ctx, s, v)
		return nil
	}
	allowed := len(v.Tries)
	for i := range v.Properties {
		if tried := v.Properties[i].Tried; tried != nil {
			allowed = tried.Allowed
		}
	}
	var tries []attempt
	for i, one := range v.Tries {
		a := attempt{report.Variant{Name: v.Name, Settings: v.Settings, Lock: v.Lock,
			Error: one.Error, Interrupted: one.Interrupted, TimedOut: one.TimedOut, Unknown: one.Unknown,
			WallMS: one.WallMS, Pace: one.Pace}, one.Seed}
		var err error
		if a.History, err = loadHistory(t.dir, v.Name, tryFolder(v.Name, i+1, v.Shown)); err != nil {
			return err
		}
		if a.History != nil {
			verdict.Judge(ctx, s, &a.Variant)
		}
		tries = append(tries, a)
	}
	again := combine(tries, allowed)
	again.WallMS, again.Error = v.WallMS, v.Error
	for i := range again.Tries { // nothing in the folder changes
		again.Tries[i].Replay, again.Tries[i].Folder = v.Tries[i].Replay, v.Tries[i].Folder
	}
	verdict.Settle(&again)
	*v = again
	return nil
}

// Results reads all results that path names: a result.json, a file of results,
// a run's folder, or a folder with runs below it. Of such a folder, unreadable are the results
// that cannot be read.
func Results(path string) (list []*report.Result, unreadable []error, err error) {
	if err := runs.Missing(path); err != nil {
		return nil, nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, fmt.Errorf("failed to find results: %w", err)
	}
	if !info.IsDir() {
		list, err = resultsIn(path)
		return list, nil, err
	}
	if dir := auditAround(path); dir != "" {
		return nil, nil, &AuditError{dir}
	}
	err = fs.WalkDir(os.DirFS(path), ".", func(p string, e fs.DirEntry, err error) error { // it follows a link at the top
		file := filepath.Join(path, filepath.FromSlash(p))
		if err == nil && e.IsDir() && isAudit(file) {
			unreadable = append(unreadable, &AuditError{file})
			return fs.SkipDir
		}
		if err != nil || e.Name() != runs.Result || e.IsDir() {
			return err
		}
		if r, err := loadResult(file); err != nil {
			unreadable = append(unreadable, fmt.Errorf("%s: %w", file, err))
		} else {
			r.Folder = filepath.Dir(file)
			list = append(list, r)
		}
		return nil
	})
	if err == nil && len(list) == 0 {
		err = errors.Join(append(unreadable, fmt.Errorf("no result.json in %q", path))...)
	}
	return list, unreadable, err
}

// AuditError says that a path has an audit where runs are wanted. An audit makes the same run several times, without its faults, too, and
// in shorter and shorter versions: they are no sample of anything.
type AuditError struct{ Path string }

func (e *AuditError) Error() string { return fmt.Sprintf("%q is of an audit, not of runs", e.Path) }

// auditFolder is how the folder of an audit is called, below audit/: <stamp>-<seed>.
var auditFolder = regexp.MustCompile(`^[0-9]{8}-[0-9]{6}-[0-9]+`)

// isAudit reports that a folder is that of an audit, also of one that was killed before it wrote its card.
func isAudit(dir string) bool {
	has := func(name string) bool {
		_, err := os.Stat(filepath.Join(dir, name))
		return err == nil
	}
	// A card.json alone may be one that somebody keeps beside his runs, to expect it.
	named := auditFolder.MatchString(filepath.Base(dir)) && filepath.Base(filepath.Dir(dir)) == runs.Audits
	return has(runs.Card) && has(runs.CardPage) || named && !has(runs.Result)
}

// auditAround is the folder of the audit to which a folder with many runs belongs; empty: to none. A lock has a folder in it, and
// there each scenario has one.
func auditAround(dir string) string {
	if _, err := os.Stat(filepath.Join(dir, runs.Result)); err == nil { // one run is a run
		return ""
	}
	whole, err := filepath.Abs(dir)
	for range 3 {
		if err == nil && isAudit(whole) {
			return whole
		}
		whole = filepath.Dir(whole)
	}
	return ""
}

// resultsIn reads a file with one result or several, one after the other.
func resultsIn(path string) ([]*report.Result, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("failed to open results: %w", err)
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(bufio.NewReader(io.LimitReader(f, maxResults)))
	if err != nil {
		return nil, fmt.Errorf("failed to read results: %w", err)
	}
	documents, err := splitJSON(text)
	if err != nil {
		return nil, fmt.Errorf("failed to read results from %q: %w", path, err)
	}
	var list []*report.Result
	for _, d := range documents {
		if _, err := card.Read(bytes.NewReader(d)); err == nil {
			return nil, &AuditError{path}
		}
		r, err := report.ReadJSON(bytes.NewReader(d))
		if err != nil {
			return nil, fmt.Errorf("failed to read results from %q: %w", path, err)
		}
		list = append(list, r)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("no result in %q", path)
	}
	return list, nil
}

// maxResults bounds a file of results, in bytes.
const maxResults = 1 << 30
