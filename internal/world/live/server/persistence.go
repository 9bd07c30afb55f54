package server

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/redis/cluster"
	"github.com/redlock-sim/redlock-sim/internal/redis/journal"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

// persistenceArguments are the options of redis-server for a way of persistence. A node without one can keep a journal
// all the same, and forgets it with its data.
func persistenceArguments(p world.Persistence, journals bool) []string {
	switch p {
	case world.NoPersistence:
		if journals {
			return appendOnly(world.AOFNo)
		}
	case world.RDB:
		return []string{"--save", "1", "1", "--appendonly", "no"}
	case world.AOFNo, world.AOFEverysec, world.AOFAlways:
		return appendOnly(p)
	}
	return []string{"--save", "", "--appendonly", "no"}
}

// appendOnly are the options for an append-only file, all of which can be read.
func appendOnly(p world.Persistence) []string {
	return []string{"--save", "", "--appendonly", "yes", "--auto-aof-rewrite-percentage", "0", "--aof-use-rdb-preamble", "no",
		"--appendfsync", strings.TrimPrefix(p.String(), "aof-")}
}

// Journal is the journal of what the server does; nil: sim cannot read one.
func (n *Node) Journal() *journal.Follower { return n.journal }

// skipJournal passes over what stands in the journal of a server that goes on. What nobody restarts from is removed, or each run would
// read what all before it did.
func (n *Node) skipJournal() error {
	if n.journal == nil {
		return nil
	}
	if n.Persistence != world.NoPersistence {
		if info, err := os.Stat(n.aofPath()); err == nil && info.Size() > longestJournal {
			return fmt.Errorf("the journal of node %s has %d bytes", n.Name, info.Size())
		}
		return n.journal.Skip()
	}
	if err := n.truncate(0); err != nil { // the server appends to what is there
		return err
	}
	_ = n.journal.Close()
	n.journal = journal.Follow(n.Server.folder())
	return n.journal.Skip()
}

// longestJournal bounds the journal with which a server goes on from run to run: beyond it, another is started in its place.
const longestJournal = 8 << 20

// aofPath is the file that writes are appended to. Before version 7 it lies in
// the node's folder itself.
func (n *Node) aofPath() string {
	dir := n.dir
	if n.Server != nil && n.Server.folder() != "" {
		dir = n.Server.folder()
	}
	old := filepath.Join(dir, "appendonly.aof")
	if _, err := os.Stat(old); err == nil {
		return old
	}
	return filepath.Join(dir, "appendonlydir", "appendonly.aof.1.incr.aof")
}

// prepareDisk makes the disk of a dead node what keep says.
func (n *Node) prepareDisk(keep world.Keep) error {
	switch {
	case keep == world.KeepNothing, n.Persistence == world.NoPersistence:
		return n.wipe(keep)
	case keep.Damages():
		return n.damage(keep)
	case keep == world.KeepSynced && n.Persistence == world.AOFNo:
		// Nobody asked for an fsync. The kernel would have written some of it
		// after half a minute; no run here lasts so long on that.
		return n.truncate(0)
	case keep == world.KeepSynced && n.Persistence == world.AOFEverysec:
		return n.truncate(n.synced.size())
	}
	// A snapshot is fsynced before it takes its name, and with aof-always every
	// answer came after its fsync.
	return nil
}

// damage damages the last write in the append-only file. What has run out by the node's clock is none that could be lost.
func (n *Node) damage(keep world.Keep) error {
	now := machine.Wall()
	if n.Clock != nil {
		now += n.Clock.Ahead()
	}
	tail, err := journal.Last(n.Server.folder(), now.Milliseconds())
	if tail == nil || err != nil {
		return err
	}
	if keep == world.KeepFlipped {
		n.flipped = tail
		return tail.Flip(n.draws())
	}
	return tail.Tear(n.draws())
}

// wipe empties the disk. What a node knows of its cluster it syncs whatever it does with its data: only an empty disk has none.
func (n *Node) wipe(keep world.Keep) error {
	entries, err := os.ReadDir(n.dir)
	if err != nil {
		return fmt.Errorf("failed to wipe the disk of node %s: %w", n.Name, err)
	}
	for _, e := range entries {
		if e.Name() == machine.FaketimeFolder || e.Name() == settingsFile ||
			n.member != nil && e.Name() == cluster.ConfigFile && keep != world.KeepNothing {
			continue
		}
		if err := os.RemoveAll(filepath.Join(n.dir, e.Name())); err != nil {
			return fmt.Errorf("failed to wipe the disk of node %s: %w", n.Name, err)
		}
	}
	return nil
}

func (n *Node) truncate(size int64) error {
	err := os.Truncate(n.aofPath(), size)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("failed to take back what node %s had not fsynced: %w", n.Name, err)
	}
	return nil
}

// syncWatch follows how much of an append-only file is certainly fsynced.
// Redis does not tell; its thread for fsync shows when there was a job. The write
// comes first and the job at once after it, and no write comes before the job is done. So
// what the file holds when a job is first seen is safe once the thread sleeps again. (What
// was written within that one look counts as safe, too.)
type syncWatch struct {
	file   string
	synced atomic.Int64

	mu     sync.Mutex // for what follows
	thread SyncThread
	// busy says that a job has been seen, when the file's size was begun.
	busy  bool
	begun int64
	// paused says that the server stands still.
	paused bool

	quit chan struct{}
	done chan struct{}
}

// lookEvery is how often the file and the thread are looked at.
const lookEvery = 500 * time.Microsecond

// watchSync begins with a server that has just read the file: all of it is safe.
func watchSync(pid int, file string) *syncWatch {
	w := &syncWatch{file: file, thread: SyncThread{PID: pid}, quit: make(chan struct{}), done: make(chan struct{})}
	w.synced.Store(w.fileSize())
	w.thread.Look()
	go w.run()
	return w
}

func (w *syncWatch) run() {
	defer close(w.done)
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		select {
		case <-w.quit:
			return
		case <-ticker.C:
			w.look()
		}
	}
}

func (w *syncWatch) look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.paused {
		w.noteLook(w.thread.Look(), w.fileSize())
	}
}

// noteLook takes note of what a look at the thread showed, and of the file's size after it.
func (w *syncWatch) noteLook(l Look, size int64) {
	if l == Woken && !w.busy {
		w.busy, w.begun = true, size
	} else if l == Slept && w.busy {
		w.busy = false
		w.synced.Store(w.begun)
	}
}

// pause stops the server: its threads wake for that, which is no job.
func (w *syncWatch) pause(stop func() error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := stop(); err != nil {
		return err
	}
	w.paused = true
	if !w.busy {
		w.noteLook(w.thread.lookStopped(), w.fileSize())
	}
	return nil
}

// resume lets it go on.
func (w *syncWatch) resume(cont func() error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.paused = false
	return cont()
}

// fileSize is 0 before the server has made the file.
func (w *syncWatch) fileSize() int64 {
	info, err := os.Stat(w.file)
	if err != nil {
		return 0
	}
	return info.Size()
}

func (w *syncWatch) size() int64 { return w.synced.Load() }

func (w *syncWatch) Stop() {
	select {
	case <-w.quit:
	default:
		close(w.quit)
	}
	<-w.done
	w.mu.Lock()
	defer w.mu.Unlock()
	w.thread.Close()
}

// SyncThread is the thread of a server that does its fsyncs. It sleeps between its
// jobs, so that a job shows in how often it has begun to sleep.
type SyncThread struct {
	PID int
	// status is its status file; nil: not found yet. It stays open, and text is what is read into, as that is done 2,000
	// times a second.
	status *os.File
	text   []byte
	// sleeps is how often it had begun to sleep by the last look.
	sleeps int64
}

// Look is what the thread did since the last look at it.
type Look int

const (
	// Working: it is awake, or cannot be seen.
	Working Look = iota
	// Woken: it has had a job, or is about to have one.
	Woken
	// Slept: it has only slept. Asleep is not enough for that: before its job and after it,
	// the thread also sleeps to wait for the lock of its queue.
	Slept
)

// Look looks at the thread.
func (s *SyncThread) Look() Look {
	asleep, sleeps, err := s.state()
	if err != nil {
		return Working
	}
	return s.compare(asleep, sleeps)
}

func (s *SyncThread) compare(asleep bool, sleeps int64) Look {
	if sleeps > s.sleeps {
		s.sleeps = sleeps
		return Woken
	}
	if asleep {
		return Slept
	}
	return Working
}

// Sleeps is how often it had begun to sleep by the last look: each job adds to that.
func (s *SyncThread) Sleeps() int64 { return s.sleeps }

// lookStopped looks at the thread after its process was stopped. A thread that slept has woken
// for that at most once, and does so again when the process continues.
func (s *SyncThread) lookStopped() Look {
	_, sleeps, err := s.state()
	if err != nil {
		return Working
	}
	woken := sleeps - s.sleeps
	if woken > 1 {
		return s.compare(false, sleeps)
	}
	s.sleeps += 2 * max(woken, 0)
	return Slept
}

// state tells whether the thread waits for something (in the middle of an fsync it runs, or
// is in uninterruptible sleep), and how often it has begun to.
func (s *SyncThread) state() (asleep bool, sleeps int64, err error) {
	if s.status == nil {
		if s.status, err = syncStatus(s.PID); err != nil {
			return false, 0, err
		}
	}
	n, err := s.status.ReadAt(s.text, 0)
	for err == nil { // there may be more: who is in many groups has a long status
		s.text = make([]byte, max(4<<10, 2*len(s.text)))
		n, err = s.status.ReadAt(s.text, 0)
	}
	if !errors.Is(err, io.EOF) {
		return false, 0, err
	}
	text := s.text[:n]
	sleeps, err = strconv.ParseInt(statusField(text, "voluntary_ctxt_switches"), 10, 64)
	return strings.HasPrefix(statusField(text, "State"), "S"), sleeps, err
}

// Close ends the looking.
func (s *SyncThread) Close() {
	if s.status != nil {
		_ = s.status.Close()
	}
}

// syncStatus is the status file of a server's thread for fsync. There may be none yet, or it may have no name yet.
func syncStatus(pid int) (*os.File, error) {
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	if err != nil {
		return nil, err
	}
	for _, task := range tasks {
		name, err := os.ReadFile(filepath.Join(task, "comm"))
		if err == nil && strings.HasPrefix(string(name), "bio_aof") {
			return os.Open(filepath.Join(task, "status"))
		}
	}
	return nil, os.ErrNotExist
}

func statusField(text []byte, name string) string {
	_, rest, _ := strings.Cut(string(text), "\n"+name+":")
	field, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(field)
}
