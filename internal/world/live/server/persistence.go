package server

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/world"
)

// persistenceArguments are the options of redis-server for a way of persistence.
func persistenceArguments(p world.Persistence) []string {
	switch p {
	case world.NoPersistence:
	case world.RDB:
		return []string{"--save", "1 1", "--appendonly", "no"}
	case world.AOFNo, world.AOFEverysec, world.AOFAlways:
		return []string{"--save", "", "--appendonly", "yes", "--auto-aof-rewrite-percentage", "0",
			"--appendfsync", strings.TrimPrefix(p.String(), "aof-")}
	}
	return []string{"--save", "", "--appendonly", "no"}
}

// aofPath is the file that writes are appended to. Before version 7 it lies in
// the node's folder itself.
func (n *Node) aofPath() string {
	old := filepath.Join(n.dir, "appendonly.aof")
	if _, err := os.Stat(old); err == nil {
		return old
	}
	return filepath.Join(n.dir, "appendonlydir", "appendonly.aof.1.incr.aof")
}

// leave makes the disk of a dead node what keep says.
func (n *Node) leave(keep world.Keep) error {
	switch {
	case keep == world.KeepNothing:
		return n.wipe()
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

func (n *Node) wipe() error {
	entries, err := os.ReadDir(n.dir)
	if err != nil {
		return fmt.Errorf("failed to wipe the disk of node %s: %w", n.Name, err)
	}
	for _, e := range entries {
		if e.Name() == filepath.Base(n.logPath()) || e.Name() == clockFile {
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
// Redis does not tell; but its thread for fsync sleeps between its jobs, so that
// a job shows in the state and the context switches of that thread. The write
// comes first and the job at once after it, so what the file holds when a job is
// first seen is safe once the thread sleeps again. (What was written within that
// one look counts as safe, too.)
type syncWatch struct {
	synced atomic.Int64
	quit   chan struct{}
	done   chan struct{}
}

// lookEvery is how often the file and the thread are looked at.
const lookEvery = 500 * time.Microsecond

func watchSync(pid int, file string) *syncWatch {
	w := &syncWatch{quit: make(chan struct{}), done: make(chan struct{})}
	go w.run(pid, file)
	return w
}

func (w *syncWatch) run(pid int, file string) {
	defer close(w.done)
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	var status string
	var size, begun, switches int64
	busy := false
	for {
		select {
		case <-w.quit:
			return
		case <-ticker.C:
		}
		if status == "" {
			status = SyncThread(pid)
			continue
		}
		idle, n := ThreadState(status)
		if info, err := os.Stat(file); err == nil {
			size = info.Size()
		}
		if !busy && (!idle || n != switches) {
			busy, begun = true, size
		}
		if busy && idle {
			busy = false
			w.synced.Store(begun)
		}
		switches = n
	}
}

func (w *syncWatch) size() int64 { return w.synced.Load() }

func (w *syncWatch) Stop() {
	select {
	case <-w.quit:
	default:
		close(w.quit)
	}
	<-w.done
}

// SyncThread is the status file of a server's thread for fsync; empty: there is
// none yet.
func SyncThread(pid int) string {
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	if err != nil {
		return ""
	}
	for _, task := range tasks {
		name, err := os.ReadFile(filepath.Join(task, "comm"))
		if err == nil && strings.HasPrefix(string(name), "bio_aof") {
			return filepath.Join(task, "status")
		}
	}
	return ""
}

// ThreadState tells whether a thread waits for work (a thread in the middle of
// an fsync is running or in uninterruptible sleep), and how often it has begun
// to wait.
func ThreadState(status string) (idle bool, switches int64) {
	text, err := os.ReadFile(status)
	if err != nil {
		return false, 0
	}
	switches, _ = strconv.ParseInt(statusField(text, "voluntary_ctxt_switches"), 10, 64)
	return strings.HasPrefix(statusField(text, "State"), "S"), switches
}

func statusField(text []byte, name string) string {
	_, rest, _ := strings.Cut(string(text), "\n"+name+":")
	field, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(field)
}
