//go:build linux && amd64

package supervisor

import (
	"golang.org/x/sys/unix"

	"github.com/redlock-sim/redlock-sim/internal/supervisor/launch"
)

// wait is why a thread does not go on.
type wait struct {
	deadline int64
	// clockTime, of a clock, is what the deadline comes from; 0: a span of time.
	clockTime int64
	clock     int
	// due is the end of it at its deadline.
	due *event
	// again: once it is over, the call is carried out again; else it runs natively. spins: the call has not been carried out yet.
	again, spins bool
	// fds are our copies of descriptors, of the files of holds.
	fds   []unix.PollFd
	holds []*file
	// ready: its thread is among those that may go on, unless another one has taken what is there until it is its turn.
	ready bool
	// try reports whether it is over, where no descriptor shows that; it is asked whenever a program has run.
	try func() bool

	futex    futexKey
	bitset   uint32
	expected uint32
	// child: it waits for the end of that child; 0: for none. signal: for a signal.
	child  int
	signal bool
	// signals are those that end it although they are blocked. masked: meanwhile those of mask are blocked, and no others.
	signals uint64
	masked  bool
	mask    uint64
	timeout func() (int64, unix.Errno)
}

// slack is by how much a deadline comes late at most, and mostly: never exactly then, as no kernel does it. Ruby waits once more for
// nothing where it is woken at the very instant.
const slack = step

// park lets a thread wait.
func (t *thread) park(w *wait) {
	g := t.p.program
	g.running--
	if w.deadline > g.host.s.now {
		g.streak = 0
		if !w.spins {
			t.spun = 0
		}
	}
	t.wait = w
	if w.try != nil {
		g.host.s.trying = append(g.host.s.trying, t)
	}
	t.schedule(w)
}

// schedule lets a wait end at its deadline.
func (t *thread) schedule(w *wait) {
	h := t.p.program.host
	h.s.cancel(w.due)
	w.due = nil
	if w.deadline >= never-slack || h.quiet && !w.spins {
		return
	}
	var e *event
	var due func()
	due = func() {
		switch {
		case t.wait != w || w.due != e:
		case h.paused: // what has come meanwhile is seen first
			h.due = append(h.due, e.do)
		case w.ready: // it goes on for that, if nobody else takes it
			e = h.s.at(h.s.now+slack, due)
			w.due = e
		case w.spins:
			t.redo = true
			t.wake(launch.Response{})
		default:
			v, e := w.timeout()
			t.wake(launch.Response{Value: v, Error: -int32(e)})
		}
	}
	e = h.s.at(nearest(w.deadline)+slack, due)
	w.due = e
}

func (t *thread) stopWaiting() {
	w := t.wait
	if w == nil {
		return
	}
	t.wait = nil
	t.p.program.host.s.cancel(w.due)
	for _, f := range w.holds {
		f.drop()
	}
	s := t.p.program.host.s
	if w.futex != (futexKey{}) {
		queue := removed(s.futexes[w.futex], t)
		if len(queue) == 0 {
			delete(s.futexes, w.futex)
		} else {
			s.futexes[w.futex] = queue
		}
	}
	if w.try != nil {
		s.trying = removed(s.trying, t)
	}
}

// wake puts a thread among those that may go on, with an answer to its call.
func (t *thread) wake(r launch.Response) {
	isReady := t.wait != nil && t.wait.ready
	t.stopWaiting()
	t.reply = r
	if g := t.p.program; !isReady {
		g.ready = append(g.ready, t)
	}
}

// mayGoOn puts a thread among those that may go on, because of what there is for it and others.
func (t *thread) mayGoOn() {
	if t.wait.ready {
		return
	}
	t.wait.ready = true
	g := t.p.program
	g.ready = append(g.ready, t)
}

// look finds who may go on because of what its descriptors have.
func (g *Program) look() {
	var all []unix.PollFd
	var whose []*thread
	for _, p := range g.processes {
		for _, t := range p.threads {
			if t.wait == nil {
				continue
			}
			for _, f := range t.wait.fds {
				all = append(all, f)
				whose = append(whose, t)
			}
			if t.wait.child != 0 && p.needNotWait(t.wait.child) {
				t.mayGoOn()
			}
		}
	}
	if pollNow(all) == 0 {
		return
	}
	for i, f := range all {
		if t := whose[i]; f.Revents != 0 && t.wait != nil {
			t.mayGoOn()
		}
	}
}
