//go:build linux && amd64

package supervisor

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/redlock-sim/redlock-sim/internal/supervisor/launch"
)

// watchdog ends a program that runs and neither waits nor asks for anything: it spins, or waits in a call that is not notified.
// It counts the program's processor time, so that a busy machine is no reason, and looks whether its threads sleep.
type watchdog struct {
	// progress counts what happens.
	progress atomic.Uint64
	watched  atomic.Pointer[[]int]
	doubt    atomic.Pointer[string]
	end1     chan struct{}
	over     sync.WaitGroup
}

// maxSpin is how much processor time, maxSleep how much real time asleep a program may spend without a call.
var (
	maxSpin  = 5 * time.Second
	maxSleep = 5 * time.Second
)

// lookAt is how often the watchdog looks.
const lookAt = 100 * time.Millisecond

func (w *watchdog) start() {
	w.end1 = make(chan struct{})
	w.over.Go(w.run)
}

func (w *watchdog) stop() {
	close(w.end1)
	w.over.Wait()
}

// begin says that a program runs.
func (w *watchdog) begin(g *Program) {
	pids := make([]int, 0, len(g.processes))
	for _, p := range g.processes {
		if !p.zombie {
			pids = append(pids, p.pid)
		}
	}
	w.watched.Store(&pids)
}

func (w *watchdog) end() {
	w.watched.Store(nil)
	w.progress.Add(1)
}

// doubted makes what the watchdog found the doubt.
func (w *watchdog) doubted(s *Supervisor) {
	if why := w.doubt.Load(); why != nil {
		s.unknown("%s", *why)
	}
}

func (w *watchdog) run() {
	tick := time.NewTicker(lookAt)
	defer tick.Stop()
	var last uint64
	var since, slept time.Duration
	for {
		select {
		case <-w.end1:
			return
		case <-tick.C:
		}
		pids := w.watched.Load()
		if pids == nil || len(*pids) == 0 {
			last = 0
			continue
		}
		used, asleep := examine(*pids)
		if now := w.progress.Load(); now != last {
			last, since, slept = now, used, 0
			continue
		}
		if asleep {
			slept += lookAt
		}
		if used-since < maxSpin && slept < maxSleep {
			continue
		}
		why := "a program has used " + maxSpin.String() + " of processor time without a system call that could wait: " +
			"it spins, or works for longer than is modelled"
		if slept >= maxSleep {
			why = "a program waits in a system call that is not modelled"
		}
		why += describe(*pids)
		w.doubt.Store(&why)
		for _, pid := range *pids {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		last, since, slept = 0, used, 0
	}
}

// examine is the processor time that processes have used, and whether all their threads sleep.
func examine(pids []int) (used time.Duration, asleep bool) {
	asleep = true
	for _, pid := range pids {
		var ts unix.Timespec
		if unix.ClockGettime(int32(^pid<<3|2), &ts) == nil { // the process's own clock
			used += time.Duration(ts.Nano())
		}
		forThreads(pid, func(dir string) {
			stat, _ := os.ReadFile(dir + "/stat")
			// It runs, or waits for a disk.
			if _, rest, ok := strings.Cut(string(stat), ") "); ok && (strings.HasPrefix(rest, "R") || strings.HasPrefix(rest, "D")) {
				asleep = false
			}
		})
	}
	return used, asleep
}

func forThreads(pid int, do func(dir string)) {
	dir := fmt.Sprintf("/proc/%d/task", pid)
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		do(dir + "/" + e.Name())
	}
}

// describe names the threads and the calls that they are in.
func describe(pids []int) (text string) {
	const most = 5
	n := 0
	for _, pid := range pids {
		forThreads(pid, func(dir string) {
			name, _ := os.ReadFile(dir + "/comm")
			call, _ := os.ReadFile(dir + "/syscall")
			in := "running"
			var nr int
			if k, _ := fmt.Sscanf(string(call), "%d", &nr); k == 1 {
				in = launch.CallName(nr)
			}
			if n++; n <= most {
				text += fmt.Sprintf("; thread %s: %s", strings.TrimSpace(string(name)), in)
			}
		})
	}
	return text
}
