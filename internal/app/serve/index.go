package serve

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/app/runs"
)

// index knows all runs of the folder, so that a list reads none of them. Each list
// looks which folders changed, and only the runs in those are read again.
type index struct {
	h  *Handler
	mu sync.Mutex
	// begun is when the last look at the folder began.
	begun   time.Time
	shelves map[string]*shelf
	// dirty: what is shown is not what the shelves have.
	dirty   bool
	shown   atomic.Pointer[listing]
	readers sync.WaitGroup
	closed  atomic.Bool
}

// shelf is a scenario's folder.
type shelf struct {
	seen
	runs map[string]*entry
}

// entry is a run in the index.
type entry struct {
	seen
	id     runID
	result fileStamp
	row    listRow
	// text is what a search looks at.
	text string
	// absent: the folder has no run yet.
	absent bool
}

// listing is what the index had at some moment, the newest run first.
type listing struct {
	runs []*entry
	// unread counts the runs that were not read yet.
	unread int
}

// seen is a folder as it was when it was read.
type seen struct{ modified, read time.Time }

// settled reports that the folder is as it was. A change within the same tick of the file
// system's clock does not show, so a folder that had just changed is read once more.
func (s seen) settled(modified time.Time) bool {
	return s.modified.Equal(modified) && s.read.Sub(modified).Abs() > 2*time.Second
}

// fileStamp tells a file from another of its name.
type fileStamp struct {
	modified time.Time
	size     int64
}

func stampOf(info fs.FileInfo, err error) fileStamp {
	if err != nil {
		return fileStamp{}
	}
	return fileStamp{info.ModTime(), info.Size()}
}

func newIndex(h *Handler) *index {
	x := &index{h: h, shelves: map[string]*shelf{}}
	x.shown.Store(&listing{})
	return x
}

func (x *index) close() {
	x.closed.Store(true)
	x.readers.Wait()
}

// patience is how long a list waits for the runs to be read. After that it shows
// those that were.
const patience = 2 * time.Second

// list is what the folder has now, or has as far as it could be read in time.
func (x *index) list(ctx context.Context) *listing {
	asked, done := time.Now(), make(chan struct{})
	x.readers.Go(func() {
		defer close(done)
		x.mu.Lock()
		defer x.mu.Unlock()
		if x.begun.Before(asked) { // else another request has looked meanwhile
			x.refresh()
		}
	})
	wait := time.NewTimer(patience)
	defer wait.Stop()
	select {
	case <-done:
	case <-wait.C:
	case <-ctx.Done():
	}
	return x.shown.Load()
}

// refresh looks at all folders, and reads the runs that are new or changed.
func (x *index) refresh() {
	x.begun = time.Now()
	scenarios, err := x.h.subfolders(".")
	if err != nil {
		return
	}
	shelves := make(map[string]*shelf, len(scenarios))
	var stale []*entry
	changed := x.dirty || len(scenarios) != len(x.shelves)
	for _, scenario := range scenarios {
		s, other := x.look(scenario, &stale)
		if s != nil {
			shelves[scenario] = s
		}
		changed = changed || other
	}
	x.shelves = shelves
	if !changed && len(stale) == 0 {
		return
	}
	slices.SortFunc(stale, newestFirst)
	// Pages may be asked for before all is read.
	for len(stale) > 0 && !x.closed.Load() {
		part := stale[:min(len(stale), 500)]
		x.read(part)
		if stale = stale[len(part):]; len(stale) > 0 {
			x.show()
		}
	}
	x.show()
}

// look sees what a scenario's folder has, and adds to stale what must be read.
func (x *index) look(scenario string, stale *[]*entry) (s *shelf, changed bool) {
	sub, err := x.h.root.OpenRoot(scenario)
	if err != nil {
		return nil, true
	}
	defer sub.Close()
	info, err := sub.Lstat(".")
	if err != nil {
		return nil, true
	}
	s = x.shelves[scenario]
	if s == nil || !s.settled(info.ModTime()) {
		old := s
		s, changed = &shelf{seen{info.ModTime(), x.begun}, map[string]*entry{}}, true
		names, _ := x.h.subfolders(scenario)
		for _, name := range names {
			if s.runs[name] = (&entry{id: runID{"", scenario, name}}); old != nil && old.runs[name] != nil {
				s.runs[name] = old.runs[name]
			}
		}
	}
	for name, e := range s.runs {
		info, err := sub.Lstat(name)
		if err != nil || !info.IsDir() {
			delete(s.runs, name)
			changed = true
			continue
		}
		if !e.settled(info.ModTime()) || e.growing(x.h.o.Now()) {
			n := *e
			n.modified = info.ModTime()
			*stale = append(*stale, &n)
		}
	}
	return s, changed
}

// growing: what is written next does not change the run's folder, but those below it.
func (e *entry) growing(now time.Time) bool {
	return e.row.Live || e.absent && now.Sub(e.modified) < time.Hour
}

// read reads runs, several at once.
func (x *index) read(list []*entry) {
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), 4) {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(list)); i = next.Add(1) - 1 {
				list[i] = x.h.entry(list[i].id, list[i].modified)
			}
		})
	}
	workers.Wait()
	for _, e := range list {
		x.shelves[e.id.scenario].runs[e.id.run] = e
	}
}

// show makes what was read known.
func (x *index) show() {
	l := &listing{}
	for _, s := range x.shelves {
		for _, e := range s.runs {
			switch {
			case e.read.IsZero():
				l.unread++
			case !e.absent:
				l.runs = append(l.runs, e)
			}
		}
	}
	slices.SortFunc(l.runs, newestFirst)
	x.shown.Store(l)
	x.dirty = false
}

func newestFirst(a, b *entry) int { // stamps sort by time
	return cmp.Or(cmp.Compare(b.id.run, a.id.run), cmp.Compare(a.id.scenario, b.id.scenario))
}

// fresh is a run of a list as it is now. The index notices only what changes a folder, and
// a result may be written anew in its place.
func (x *index) fresh(e *entry) *entry {
	if now := stampOf(x.h.root.Lstat(path.Join(e.id.dir(), runs.Result))); now == e.result && now != (fileStamp{}) {
		return e
	}
	n := x.h.entry(e.id, e.modified)
	if (n.result != e.result || n.row != e.row) && x.mu.TryLock() { // else the next list finds it
		defer x.mu.Unlock()
		if s := x.shelves[e.id.scenario]; s != nil && s.runs[e.id.run] == e {
			s.runs[e.id.run], x.dirty = n, true
		}
	}
	return n
}

// entry reads a run for the index.
func (h *Handler) entry(id runID, modified time.Time) *entry {
	e := &entry{seen: seen{modified, time.Now()}, id: id}
	e.result = stampOf(h.root.Lstat(path.Join(id.dir(), runs.Result)))
	s, finished, err := h.look(id)
	if err != nil {
		e.absent = true
		return e
	}
	if finished {
		s.result, s.trouble = h.result(id)
		if errors.Is(s.trouble, os.ErrNotExist) { // it went away meanwhile
			e.absent = true
			return e
		}
	}
	e.row = rowOf(s)
	e.text = strings.ToLower(strings.Join([]string{e.row.ID, e.row.Title, e.row.Word, e.row.When, e.row.Variants}, " "))
	return e
}

// matches reports whether the run has all words of the query somewhere.
func (e *entry) matches(words []string) bool {
	for _, word := range words {
		if !strings.Contains(e.text, word) {
			return false
		}
	}
	return true
}
