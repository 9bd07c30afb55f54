package serve

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/report"
)

// Bounds on what is read for a page.
const (
	maxRuns      = 2000
	maxScenario  = 1 << 20
	maxEvents    = 2_000_000
	maxVariants  = 64
	liveFor      = 2 * time.Minute
	resultFile   = "result.json"
	scenarioFile = "scenario.yaml"
	historyFile  = "history.jsonl"
)

var (
	errBadName = errors.New("not a run's name")
	errLive    = errors.New("the run is still in progress")
)

// runID names a run by its two folders.
type runID struct{ scenario, run string }

func (id runID) String() string { return id.scenario + "/" + id.run }

// dir is the run's folder inside the root.
func (id runID) dir() string { return path.Join(id.scenario, id.run) }

// link is the run's address.
func (id runID) link() string {
	return "/run/" + url.PathEscape(id.scenario) + "/" + url.PathEscape(id.run) + "/"
}

// parseID reads "scenario/run". The root confines what is opened; here only
// names that a run can have are let through.
func parseID(s string) (runID, error) {
	scenario, run, ok := strings.Cut(s, "/")
	if !ok || !plainName(scenario) || !plainName(run) {
		return runID{}, fmt.Errorf("%w: %q", errBadName, s)
	}
	return runID{scenario, run}, nil
}

func plainName(s string) bool {
	return s != "" && !strings.HasPrefix(s, ".") && !strings.ContainsAny(s, "/\\\x00") && len(s) < 256
}

// stored is a run in the list.
type stored struct {
	id       runID
	result   *report.Result
	modified time.Time
	// live: there is no result yet, and the folder was written to of late.
	live bool
}

// runs lists what the folder holds, the newest first.
func (h *Handler) runs() ([]stored, error) {
	scenarios, err := h.subfolders(".")
	if err != nil {
		return nil, err
	}
	var list []stored
	for _, scenario := range scenarios {
		names, err := h.subfolders(scenario)
		if err != nil {
			continue // it went away meanwhile
		}
		for _, name := range names {
			if s, ok := h.stored(runID{scenario, name}); ok {
				list = append(list, s)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b stored) int { // stamps sort by time
		return cmp.Or(cmp.Compare(b.id.run, a.id.run), cmp.Compare(a.id.scenario, b.id.scenario))
	})
	return list[:min(len(list), maxRuns)], nil
}

// subfolders lists real folders; a link (reports/latest is one) is none.
func (h *Handler) subfolders(dir string) ([]string, error) {
	entries, err := fs.ReadDir(h.root.FS(), dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() && plainName(e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// stored looks at one run's folder. A folder with neither a result nor a
// history is no run.
func (h *Handler) stored(id runID) (stored, bool) {
	s := stored{id: id}
	for _, dir := range []string{id.scenario, id.dir()} {
		if info, err := h.root.Lstat(dir); err != nil || !info.IsDir() {
			return s, false
		}
	}
	result, info, err := h.result(id)
	if err == nil {
		s.result, s.modified = result, info.ModTime()
		return s, true
	}
	for _, v := range h.histories(id) {
		if v.modified.After(s.modified) {
			s.modified = v.modified
		}
	}
	if s.modified.IsZero() {
		return s, errors.Is(err, errUnreadable)
	}
	s.live = errors.Is(err, os.ErrNotExist) && h.o.Now().Sub(s.modified) < liveFor
	return s, true
}

// errUnreadable: there is a result, but it cannot be read.
var errUnreadable = errors.New("the result cannot be read")

// resultCache keeps parsed results while their files stay as they are.
type resultCache struct {
	mu      sync.Mutex
	entries map[string]cachedResult
}

type cachedResult struct {
	modified time.Time
	size     int64
	result   *report.Result
	err      error
}

func (h *Handler) result(id runID) (*report.Result, fs.FileInfo, error) {
	name := path.Join(id.dir(), resultFile)
	f, err := h.root.Open(name)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("%w: not a file", errUnreadable)
	}
	h.cache.mu.Lock()
	defer h.cache.mu.Unlock()
	if c, ok := h.cache.entries[name]; ok && c.modified.Equal(info.ModTime()) && c.size == info.Size() {
		return c.result, info, c.err
	}
	result, err := report.ReadJSON(f)
	if err != nil {
		err = fmt.Errorf("%w: %w", errUnreadable, err)
	}
	if len(h.cache.entries) > 2*maxRuns {
		clear(h.cache.entries)
	}
	h.cache.entries[name] = cachedResult{info.ModTime(), info.Size(), result, err}
	return result, info, err
}

// variantHistory is a variant's history file.
type variantHistory struct {
	variant  string
	modified time.Time
	size     int64
}

func (h *Handler) histories(id runID) []variantHistory {
	names, err := h.subfolders(id.dir())
	if err != nil {
		return nil
	}
	var list []variantHistory
	for _, name := range names[:min(len(names), maxVariants)] {
		info, err := h.root.Lstat(path.Join(id.dir(), name, historyFile))
		if err == nil && info.Mode().IsRegular() {
			list = append(list, variantHistory{name, info.ModTime(), info.Size()})
		}
	}
	return list
}

// load reads a run with its histories, for a report. A run without a result is
// one that was cut short: its report shows what was recorded.
func (h *Handler) load(id runID) (*report.Result, error) {
	result, _, err := h.result(id)
	switch {
	case err == nil:
		copied := *result
		result, copied.Variants = &copied, slices.Clone(result.Variants)
	case errors.Is(err, os.ErrNotExist):
		found := h.histories(id)
		if len(found) == 0 {
			return nil, err
		}
		result = &report.Result{Version: report.ResultVersion, Scenario: id.scenario, Interrupted: true}
		for _, v := range found {
			result.Variants = append(result.Variants, report.Variant{Name: v.variant, Interrupted: true})
		}
	default:
		return nil, err
	}
	if text, err := h.read(path.Join(id.dir(), scenarioFile), maxScenario); err == nil {
		result.ScenarioText = string(text)
	}
	for i := range result.Variants {
		v := &result.Variants[i]
		if !plainName(v.Name) {
			continue
		}
		v.History = h.history(path.Join(id.dir(), v.Name, historyFile))
		if v.History != nil && result.World == "" {
			result.World, result.Seed = v.History.Header.World, v.History.Header.Seed
			result.Started = v.History.Header.Started
		}
	}
	return result, nil
}

// history reads a history file; nil: it cannot be read.
func (h *Handler) history(name string) *history.History {
	f, err := h.root.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	got, _ := history.Decode(f, maxEvents) // nil where it cannot be read
	return got
}

func (h *Handler) read(name string, limit int64) ([]byte, error) {
	f, err := h.root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit))
}

// delete removes a run's folder, unless the run is still in hand.
func (h *Handler) delete(id runID) error {
	if _, err := h.root.Lstat(id.dir()); err != nil {
		return err
	}
	s, ok := h.stored(id)
	if !ok {
		return fmt.Errorf("%w: %q", errBadName, id)
	}
	if s.live {
		return errLive
	}
	if err := h.root.RemoveAll(id.dir()); err != nil {
		return err
	}
	// A scenario without runs leaves no empty folder; one with runs stays.
	_ = h.root.Remove(id.scenario)
	return nil
}
