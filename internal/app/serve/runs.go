package serve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/app/runs"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/report"
)

const (
	maxScenario  = 1 << 20
	maxEvents    = 2_000_000
	maxVariants  = 64
	maxProcesses = 10_000 // each may be a lane of the picture
	liveFor      = 2 * time.Minute
)

var (
	errBadName = errors.New("not a run's name")
	errLive    = errors.New("the run is still in progress")
	errBusy    = errors.New("too many large pages at once")

	errReadOnly = errors.New("read-only")
	errNoButton = errors.New("not asked for by the button")
	errNowhere  = errors.New("no such page")
)

// runID names a run by its two folders. below is the folder that they are in; empty: the folder that is served.
type runID struct{ below, scenario, run string }

func (id runID) String() string { return path.Join(id.below, id.scenario, id.run) }

// dir is the run's folder inside the root.
func (id runID) dir() string { return path.Join(id.below, id.scenario, id.run) }

// link is the run's address.
func (id runID) link() string {
	if id.below != "" {
		return storedPath + (&url.URL{Path: id.dir()}).EscapedPath() + "/"
	}
	return "/run/" + url.PathEscape(id.scenario) + "/" + url.PathEscape(id.run) + "/"
}

// parseID reads "scenario/run". The root confines what is opened; here only
// names that a run can have are let through.
func parseID(s string) (runID, error) {
	scenario, run, ok := strings.Cut(s, "/")
	if !ok || !plainName(scenario) || !plainName(run) {
		return runID{}, fmt.Errorf("%w: %q", errBadName, s)
	}
	return runID{"", scenario, run}, nil
}

func plainName(s string) bool {
	return s != "" && !strings.HasPrefix(s, ".") && !strings.ContainsAny(s, "/\\\x00") && len(s) < 256
}

// stored is what a run's folder has.
type stored struct {
	id runID
	// result is nil where there is none that can be read; trouble says why it cannot.
	result  *report.Result
	trouble error
	// modified is when the result, or a history of a run without one, was written.
	modified time.Time
	// live: there is no result yet, and a history was written to of late.
	live bool
}

// look sees whether there is a run, without reading it. A folder with neither a result
// nor a history is none.
func (h *Handler) look(id runID) (s stored, finished bool, err error) {
	s.id = id
	for dir := id.dir(); dir != "."; dir = path.Dir(dir) {
		if info, err := h.root.Lstat(dir); err != nil || !info.IsDir() {
			return s, false, os.ErrNotExist
		}
	}
	info, err := h.root.Lstat(path.Join(id.dir(), runs.Result))
	if err == nil {
		s.modified = info.ModTime()
		return s, true, nil
	}
	for _, v := range h.histories(id) {
		if v.modified.After(s.modified) {
			s.modified = v.modified
		}
	}
	if s.modified.IsZero() {
		return s, false, os.ErrNotExist
	}
	s.live = h.o.Now().Sub(s.modified) < liveFor
	return s, false, nil
}

// unreadable: a run cannot be shown, and why.
type unreadable struct {
	id  runID
	why string
}

func (e *unreadable) Error() string { return e.why }

// result reads result.json.
func (h *Handler) result(id runID) (*report.Result, error) {
	f, _, err := h.open(path.Join(id.dir(), runs.Result))
	if errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	var result *report.Result
	if err == nil {
		defer f.Close()
		result, err = readResult(f)
	}
	if err != nil {
		return nil, &unreadable{id, runs.Result + ": " + reason(err)}
	}
	return result, nil
}

func readResult(f io.Reader) (*report.Result, error) {
	data, err := io.ReadAll(io.LimitReader(f, maxResult+1))
	if err != nil {
		return nil, err
	}
	parsed := 3*len(data) + perObject*bytes.Count(data, []byte("{")) + perValue*bytes.Count(data, []byte(","))
	if len(data) > maxResult || parsed > maxParsed {
		return nil, errors.New("too large for a page")
	}
	result, err := report.ReadJSON(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	if n := len(result.Variants); n > maxVariants {
		return nil, fmt.Errorf("%d variants: more than %d", n, maxVariants)
	}
	names := make(map[string]bool)
	for i := range result.Variants {
		if name := result.Variants[i].Name; names[name] {
			return nil, fmt.Errorf("two variants have the name %s", shortened(name, 100))
		}
		names[result.Variants[i].Name] = true
	}
	return result, nil
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
		info, err := h.root.Lstat(path.Join(id.dir(), name, runs.History))
		if err == nil && info.Mode().IsRegular() {
			list = append(list, variantHistory{name, info.ModTime(), info.Size()})
		}
	}
	return list
}

// tooLarge: a page of these runs would take too much memory.
type tooLarge struct{ need, limit int64 }

func (e *tooLarge) Error() string {
	return fmt.Sprintf("The page would take up to %d MiB of memory. All pages together may take %d MiB: sim serve --memory allows more",
		e.need>>20, e.limit>>20)
}

// with reads runs, hands them to show, and forgets them. All pages together take no more
// than the memory that they may: a page waits while others have it.
func (h *Handler) with(ctx context.Context, ids []runID, histories bool, show func([]*report.Result) error) error {
	var need int64
	found := make([][]variantHistory, len(ids))
	for i, id := range ids {
		if _, _, err := h.look(id); err != nil {
			return err
		}
		need += perScenario
		if info, err := h.root.Lstat(path.Join(id.dir(), runs.Result)); err == nil {
			need += min(perResultByte*info.Size(), maxParsed)
		}
		found[i] = h.histories(id)
		for _, v := range found[i] {
			if histories {
				need += perHistoryByte * v.size
			}
		}
	}
	if need > h.memory.size {
		return &tooLarge{need, h.memory.size}
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := h.memory.take(ctx, need); err != nil {
		return errBusy
	}
	defer h.memory.give(need)
	var results []*report.Result
	for i, id := range ids {
		result, err := h.load(id, found[i], histories)
		if err != nil {
			return err
		}
		results = append(results, result)
	}
	return show(results)
}

// load reads a run, if need be with its histories. A run without a result is one that was
// cut short: its report shows what was recorded.
func (h *Handler) load(id runID, found []variantHistory, histories bool) (*report.Result, error) {
	result, err := h.result(id)
	if errors.Is(err, os.ErrNotExist) && len(found) > 0 {
		result, err = &report.Result{Version: report.ResultVersion, Scenario: id.scenario, Interrupted: true}, nil
		for _, v := range found {
			result.Variants = append(result.Variants, report.Variant{Name: v.variant, Interrupted: true})
		}
	}
	if err != nil {
		return nil, err
	}
	if f, _, err := h.open(path.Join(id.dir(), runs.Scenario)); err == nil {
		text, _ := io.ReadAll(io.LimitReader(f, maxScenario))
		_ = f.Close()
		result.ScenarioText = string(text)
	}
	for i := range result.Variants {
		v := &result.Variants[i]
		at := slices.IndexFunc(found, func(f variantHistory) bool { return f.variant == v.Name })
		if at < 0 || !histories && result.World != "" {
			continue
		}
		header := h.history(v, path.Join(id.dir(), v.Name, runs.History), found[at].size, histories)
		if result.World == "" {
			result.World, result.Seed, result.Started = header.World, header.Seed, header.Started
		}
	}
	return result, nil
}

// minLine is the length of the shortest line that is an event.
const minLine = 50

var errEnough = errors.New("enough was read")

// history reads the first size bytes of a history file, or its header alone. One
// that cannot be read is missing from the page.
func (h *Handler) history(v *report.Variant, name string, size int64, events bool) history.Header {
	f, _, err := h.open(name)
	if err != nil {
		return history.Header{}
	}
	defer f.Close()
	var list []history.Event
	if events { // to make room bit by bit takes three times the memory
		lines := min(lineCount(io.LimitReader(f, size)), int(size/minLine), maxEvents)
		list = make([]history.Event, 0, lines)
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return history.Header{}
		}
	}
	processes := make(map[string]bool)
	header, truncated, err := history.Scan(io.LimitReader(f, size), maxEvents, func(_ int, e *history.Event) error {
		processes[e.Process] = true
		if !events || len(processes) > maxProcesses {
			return errEnough
		}
		list = append(list, *e)
		return nil
	})
	if len(header.Nodes)+len(header.Clients) > maxProcesses {
		return history.Header{}
	}
	if err == nil && events {
		v.History = &history.History{Header: header, Events: list, Truncated: truncated}
	}
	return header
}

func lineCount(r io.Reader) int {
	n, buf := 0, make([]byte, 64<<10)
	for {
		got, err := r.Read(buf)
		n += bytes.Count(buf[:got], []byte("\n"))
		if err != nil {
			return n
		}
	}
}

// delete removes a run's folder, unless the run is still in hand.
func (h *Handler) delete(id runID) error {
	s, _, err := h.look(id)
	if err != nil {
		return err
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

// runFile is a file of a run that can be saved.
type runFile struct {
	Link, Name string
	KiB        int64
}

// files lists what a run's folder has to be read elsewhere.
func (h *Handler) files(id runID) []runFile {
	names := []string{runs.Result, runs.Scenario}
	for _, v := range h.histories(id) {
		names = append(names, path.Join(v.variant, runs.History))
	}
	var list []runFile
	for _, name := range names {
		if info, err := h.root.Lstat(path.Join(id.dir(), name)); err == nil && info.Mode().IsRegular() {
			list = append(list, runFile{id.link() + "file/" + (&url.URL{Path: name}).EscapedPath(), name, (info.Size() + 1023) >> 10})
		}
	}
	return list
}
