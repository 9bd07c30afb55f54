//go:build linux && amd64

package supervisor

import (
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/redlock-sim/redlock-sim/internal/supervisor/launch"
)

// relieveAfter is after how many milliseconds of real time without a call we look whether a thread waits natively to write. A timer
// that is due earlier than the others of the machine would cost 3 us a call.
const relieveAfter = 20

// serve answers a program until none of its threads runs.
func (g *Program) serve() {
	s := g.host.s
	s.watch.begin(g)
	for g.running > 0 && !g.ended && s.doubt == "" {
		if !g.hear() {
			continue
		}
		n, e := g.launched.Receive()
		if e != 0 {
			continue // a signal took the call back, and it comes again; or the thread has ended
		}
		s.watch.progress.Add(1)
		s.calls++
		g.streak++
		g.written = 0
		g.take(n)
		for g.begun == nil && len(g.stash) > 0 {
			n, g.stash = g.stash[0], g.stash[1:]
			g.take(n)
		}
	}
	s.watch.end()
	g.markPipes()
	g.findKilled()
	g.dirty = !g.ended
	for _, p := range g.processes {
		if p.signalled {
			p.signalled = p.interrupt()
		}
	}
}

// hear waits for the next call. Meanwhile it finds processes that end without one, and relieves threads that wait to write.
func (g *Program) hear() bool {
	if g.polled == nil {
		g.polled = append(g.polled, unix.PollFd{Fd: int32(g.launched.Listener), Events: unix.POLLIN})
		for _, p := range g.processes {
			if !p.zombie {
				g.polled = append(g.polled, unix.PollFd{Fd: int32(p.pidfd), Events: unix.POLLIN})
			}
		}
	}
	patience := relieveAfter
	if g.relieved { // it probably writes on
		patience = 1
	}
	n := pollFor(g.polled, patience)
	if n == 0 {
		g.relieved = g.relieveWriters()
		return false
	}
	g.relieved = false
	events := g.polled[0].Revents
	if n > 1 || events == 0 {
		g.findEnded()
	}
	if events&unix.POLLHUP != 0 && !g.ended { // all of them end
		g.processes[0].gone()
	}
	return !g.ended && events&unix.POLLIN != 0
}

// take takes a call.
func (g *Program) take(n launch.Notification) {
	if g.findKilled(); g.ended {
		return
	}
	if t := g.threads[int(n.TID)]; t != nil {
		p := t.p
		if g.begun != nil && (!g.begun.exec || g.begun.by != p) {
			g.stash = append(g.stash, n)
			return
		}
		released := false
		if by := p.execBy; by != nil {
			g.begun = nil
			if p.executed() {
				t, released = by, p.vforked
			}
		}
		t.call = n
		t.spun++
		if released { // who has begun it goes on, and comes first
			p.vforked, t.redo = false, true
			g.ready = append(g.ready, t)
			return
		}
		if g.streak%quantum == 0 && g.yield(t) {
			return
		}
		t.carryOut()
		return
	}
	g.newcomer(n)
}

// newcomer takes the first call of a thread that has just begun.
func (g *Program) newcomer(n launch.Notification) {
	b := g.begun
	g.begun = nil
	if b == nil {
		g.host.s.unknown("%s has a thread that nobody began", g.host.Name)
		return
	}
	p := b.by
	switch n.NR {
	case unix.SYS_SET_ROBUST_LIST, unix.SYS_RSEQ, unix.SYS_GETTID, unix.SYS_RT_SIGPROCMASK:
	default:
		if b.thread { // it has run while another one did
			g.doubt("begins a thread in a way that is not modelled: its first call is %s", launch.CallName(int(n.NR)))
		}
	}
	if !b.thread {
		pid, _ := strconv.Atoi(strings.TrimSpace(statusLine(int(n.TID), "Tgid")))
		pidfd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			g.host.s.unknown("%s: failed to open a process: %v", g.host.Name, err)
			b.files.leave()
			return
		}
		p = g.addProcess(pid, pidfd, b.files)
		p.parent, p.vforked = b.by, b.vfork
		if b.shares {
			p.memory = b.by.memory
		}
		p.prepared, p.vdso, p.readings, p.count = b.by.prepared, b.by.vdso, b.by.readings, b.by.count
		p.shownAt = -1
	}
	t := g.addThread(p, int(n.TID))
	t.call, t.clear = n, b.clear
	if b.vfork { // who began it stands, so it goes on
		t.carryOut()
		return
	}
	g.running--
	t.redo = true
	g.ready = append(g.ready, t)
}

const (
	// quantum is how many calls a thread may make in a row while others want to run, spinning how many quanta without a
	// wait mean that it waits for time to pass, and spinStep how much passes then.
	quantum  = 100
	spinning = 20
	spinStep = 50_000
)

// yield lets other threads run in the place of one that has made many calls and not waited; if it makes very many,
// time passes.
func (g *Program) yield(t *thread) bool {
	g.look()
	switch {
	case t.spun > spinning*quantum:
		// The longer it lasts, the more passes at once. Other threads may wait meanwhile, again and again, as one of Go's does.
		passes := int64(spinStep) << min(t.spun/(spinning*quantum)-1, 10)
		t.park(&wait{deadline: g.host.s.now + passes, spins: true})
		g.computed += passes
	case len(g.ready) > 0:
		t.redo, g.ready = true, append(g.ready, t)
		g.running--
	default:
		return false
	}
	return true
}

// run lets one thread go on, until no thread of the program runs.
func (g *Program) run() {
	t := g.ready[0]
	g.ready = g.ready[1:]
	g.host.ran++
	for _, p := range g.processes {
		if !p.zombie {
			p.showTime()
		}
	}
	if w := t.wait; w != nil {
		if !hasNow(w.fds, w.signals) && (w.child == 0 || !t.p.needNotWait(w.child)) {
			w.ready = false
			return
		}
		t.redo, t.reply = w.again, launch.Response{Flags: launch.Continue}
		t.stopWaiting()
	}
	g.running++
	if t.redo {
		t.redo = false
		t.carryOut()
	} else {
		t.send(t.reply)
	}
	g.serve()
}

// send lets a thread's call return.
func (t *thread) send(r launch.Response) {
	r.ID = t.call.ID
	if e := t.p.program.launched.Answer(r); e != 0 && e != unix.ENOENT {
		t.p.program.doubt("has a call that could not be answered: %v", e)
	}
}

func (t *thread) answer(val int64)  { t.send(launch.Response{Value: val}) }
func (t *thread) fail(e unix.Errno) { t.send(launch.Response{Error: -int32(e)}) }

func (t *thread) goNative() { t.send(launch.Response{Flags: launch.Continue}) }

func (t *thread) give(v int64, e unix.Errno) { t.send(launch.Response{Value: v, Error: -int32(e)}) }
