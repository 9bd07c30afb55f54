package live

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
	case world.RDB:
		return []string{"--save", "1 1", "--appendonly", "no"}
	case world.AOFNo, world.AOFEverysec, world.AOFAlways:
		return []string{"--save", "", "--appendonly", "yes", "--auto-aof-rewrite-percentage", "0",
			"--appendfsync", strings.TrimPrefix(string(p), "aof-")}
	}
	return []string{"--save", "", "--appendonly", "no"}
}

// aofPath is the file that writes are appended to.
func (n *redisNode) aofPath() string {
	return filepath.Join(n.dir, "appendonlydir", "appendonly.aof.1.incr.aof")
}

// leave makes the disk of a dead node what keep says.
func (n *redisNode) leave(keep world.Keep) error {
	switch {
	case keep == world.KeepNothing:
		return n.wipe()
	case keep == world.KeepSynced && n.persistence == world.AOFNo:
		// Nobody asked for an fsync. The kernel would have written some of it
		// after half a minute; no run here lasts so long on that.
		return n.truncate(0)
	case keep == world.KeepSynced && n.persistence == world.AOFEverysec:
		return n.truncate(n.synced.size())
	}
	// A snapshot is fsynced before it takes its name, and with aof-always every
	// answer came after its fsync.
	return nil
}

func (n *redisNode) wipe() error {
	entries, err := os.ReadDir(n.dir)
	if err != nil {
		return fmt.Errorf("failed to wipe the disk of node %s: %w", n.name, err)
	}
	for _, e := range entries {
		if e.Name() == filepath.Base(n.logPath()) || n.clock != nil && e.Name() == filepath.Base(n.clock.path) {
			continue
		}
		if err := os.RemoveAll(filepath.Join(n.dir, e.Name())); err != nil {
			return fmt.Errorf("failed to wipe the disk of node %s: %w", n.name, err)
		}
	}
	return nil
}

func (n *redisNode) truncate(size int64) error {
	err := os.Truncate(n.aofPath(), size)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("failed to take back what node %s had not fsynced: %w", n.name, err)
	}
	return nil
}

// syncWatch follows how much of an append-only file is certainly fsynced.
// Redis does not tell; but its thread for fsync sleeps between its jobs, so that
// each job shows as context switches of that thread. What the file held at the
// look before a job ended was written before the job, and is safe.
type syncWatch struct {
	synced atomic.Int64
	quit   chan struct{}
	done   chan struct{}
}

// lookEvery is how often the file and the thread are looked at.
const lookEvery = time.Millisecond

func watchSync(pid int, file string) *syncWatch {
	w := &syncWatch{quit: make(chan struct{}), done: make(chan struct{})}
	go w.run(pid, file)
	return w
}

func (w *syncWatch) run(pid int, file string) {
	defer close(w.done)
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	status := syncThread(pid)
	var size, switches int64
	for {
		select {
		case <-w.quit:
			return
		case <-ticker.C:
		}
		if status == "" {
			status = syncThread(pid)
			continue
		}
		before := size
		if info, err := os.Stat(file); err == nil {
			size = info.Size()
		}
		if n := contextSwitches(status); n != switches {
			switches = n
			w.synced.Store(before)
		}
	}
}

func (w *syncWatch) size() int64 { return w.synced.Load() }

func (w *syncWatch) stop() {
	select {
	case <-w.quit:
	default:
		close(w.quit)
	}
	<-w.done
}

// syncThread is the status file of the server's thread for fsync.
func syncThread(pid int) string {
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

func contextSwitches(status string) int64 {
	text, err := os.ReadFile(status)
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), "\nvoluntary_ctxt_switches:")
	field, _, _ := strings.Cut(rest, "\n")
	n, _ := strconv.ParseInt(strings.TrimSpace(field), 10, 64)
	return n
}
