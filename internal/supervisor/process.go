//go:build linux && amd64

package supervisor

import (
	"strconv"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/supervisor/launch"
)

// process is one of a program's processes.
type process struct {
	program         *Program
	pid, pidfd, mem int
	parent          *process
	threads         []*thread
	// prepared: the image's clocks are ours; vdso is where they are, readings the word that counts their readings.
	prepared bool
	vdso     int64
	readings uint64
	// count is what that word was at its last call. number is its place among the program's.
	count  int64
	number int
	// shownAt is the time that it sees, shownClocks the count of settings of the host's clocks.
	shownAt     int64
	shownClocks int

	files *table
	// memory tells its memory from that of others.
	memory    uint64
	timers    map[int]*timer
	lastTimer int
	alarm     *timer
	// inside is its number as it sees that.
	inside int
	// execBy is the thread that has called exec; vforked: who has begun the process stands until it has another image, or ends.
	execBy  *thread
	vforked bool
	// signalled: there may be a signal for it; zombie: it has ended; reaped: its parent has been told.
	signalled, zombie, reaped bool
	// how it ended, where that is known.
	how string
}

// thread is one of a process's threads.
type thread struct {
	p    *process
	tid  int
	call launch.Notification
	// reply is the answer that it goes on with; redo: its call is to be carried out again instead.
	reply launch.Response
	redo  bool
	wait  *wait
	// clear is the word that the kernel clears at its end.
	clear uint64
	// spun counts its calls since it last waited.
	spun int
}

func (g *Program) addProcess(pid, pidfd int, files *table) *process {
	g.host.s.memories++
	p := &process{program: g, pid: pid, pidfd: pidfd, mem: -1, files: files, memory: g.host.s.memories, timers: make(map[int]*timer),
		number: g.born}
	g.born++
	if list := strings.Fields(statusLine(pid, "NSpid")); len(list) > 0 {
		p.inside, _ = strconv.Atoi(list[len(list)-1])
	}
	g.processes = append(g.processes, p)
	g.polled = nil
	if len(g.processes) > maxProcesses {
		g.host.s.unknown("%s has begun more than %d processes", g.host.Name, maxProcesses)
	}
	return p
}

func (g *Program) addThread(p *process, tid int) *thread {
	t := &thread{p: p, tid: tid}
	p.threads = append(p.threads, t)
	g.threads[tid] = t
	if len(g.threads) > maxThreads {
		g.host.s.unknown("%s has more than %d threads", g.host.Name, maxThreads)
	}
	return t
}

func (g *Program) forgetThread(t *thread) {
	t.stopWaiting()
	t.p.threads = removed(t.p.threads, t)
	g.ready = removed(g.ready, t)
	if g.threads[t.tid] == t {
		delete(g.threads, t.tid)
	}
}
