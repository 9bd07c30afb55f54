//go:build linux && amd64

package supervisor

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Bind binds the calling goroutine to its thread, as New does. From then on it is the one that the supervisor is for.
func (s *Supervisor) Bind() error {
	if s.bound {
		return errors.New("the supervisor is another goroutine's")
	}
	runtime.LockOSThread()
	// A signal that interrupts us while a program gets a descriptor would lose the answer to its call.
	all := unix.Sigset_t{}
	for i := range all.Val {
		all.Val[i] = ^uint64(0)
	}
	for _, fault := range []unix.Signal{unix.SIGSEGV, unix.SIGBUS, unix.SIGFPE, unix.SIGILL, unix.SIGTRAP} { // our own mistakes
		all.Val[0] &^= 1 << (fault - 1)
	}
	if err := unix.PthreadSigmask(unix.SIG_BLOCK, &all, &s.mask); err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("failed to block signals: %w", err)
	}
	s.bound = true
	bound.begin()
	return nil
}

// bound are the supervisors that are bound to threads.
var bound binding

// binding counts what waits without telling Go's scheduler, which gets one processor more for each that does so at once.
type binding struct {
	mu        sync.Mutex
	now, most int
}

func (b *binding) begin() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.now++; b.now > b.most {
		b.most = b.now
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 1)
	}
}

func (b *binding) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now--
}

// Unbind lets the goroutine leave its thread. Programs stand until the same or another one calls Bind: of a thread that Go has, the kernel
// sees no end.
func (s *Supervisor) Unbind() {
	if s.bound {
		s.bound = false
		bound.end()
		_ = unix.PthreadSigmask(unix.SIG_SETMASK, &s.mask, nil)
		runtime.UnlockOSThread()
	}
}

// Rewind makes this instant the time 0 of what comes next, with another seed and network. Programs that stand do not notice: what they
// wait for comes as long after this instant as before, and their clocks go on. Connections and ports are numbered from the beginning.
func (s *Supervisor) Rewind(seed uint64, network Network, done <-chan struct{}) {
	by := s.now
	s.now, s.Seed, s.Network, s.Done = 0, seed, network, done
	s.conns, s.calls, s.digest = 0, 0, 0
	for _, e := range s.events {
		e.at -= by
	}
	for _, h := range s.hosts {
		h.ports, h.ran, h.started = 0, 0, 0
		if len(h.programs) == 0 {
			h.disk = disk{}
		}
		h.wall.Since -= by
		h.monotonic.Since -= by
		h.forWaits(func(_ *thread, w *wait) { w.deadline -= by }, func(_ *process, x *timer) { x.at -= by })
		for _, g := range h.programs {
			g.streak = 0
			for _, p := range g.processes {
				p.shownAt = -1
			}
		}
	}
}

// Skip lets a while pass on a host alone: what its programs wait for comes so much earlier, and its clocks show so much more. It may be
// negative, as long as a later one makes up for it before any of them goes on.
func (h *Host) Skip(d time.Duration) {
	h.wall.Base += int64(d)
	h.monotonic.Base += int64(d)
	h.clocksSet++
	h.forWaits(func(t *thread, w *wait) {
		w.deadline -= int64(d)
		t.schedule(w)
	}, func(p *process, x *timer) {
		x.at -= int64(d)
		x.start(p)
	})
}

// forWaits does something for all that programs wait for and that has a time.
func (h *Host) forWaits(each func(*thread, *wait), eachTimer func(*process, *timer)) {
	isSet := func(x *timer) bool { return x.at > 0 && x.at < never }
	for _, g := range h.programs {
		for _, x := range g.timerFDs {
			if isSet(x) {
				eachTimer(g.processes[0], x)
			}
		}
		for _, p := range g.processes {
			for _, t := range p.threads {
				if w := t.wait; w != nil && w.deadline < never-slack {
					each(t, w)
				}
			}
			for _, x := range p.allTimers() {
				if isSet(x) {
					eachTimer(p, x)
				}
			}
		}
	}
}

// Spend lets time pass in which nothing happens, as it does while a program reads clocks.
func (s *Supervisor) Spend(d time.Duration) { s.now += int64(d) }

// GoesOnIn is when the program's first thread goes on by itself; false: it never does.
func (g *Program) GoesOnIn() (time.Duration, bool) {
	if g.ended || len(g.processes[0].threads) == 0 {
		return 0, false
	}
	w := g.processes[0].threads[0].wait
	if w == nil || w.due == nil {
		return 0, false
	}
	return time.Duration(w.due.at - g.host.s.now), true
}

// Reseed begins the program's randomness anew: what it draws from now on depends on the seed, the host, and how many of the host's
// programs came before.
func (g *Program) Reseed() {
	const set = 1 << 32 // what it has drawn until now, no program draws again
	g.host.started = max(g.host.started, 1)
	g.seed, g.drawn = mixed(g.host.s.Seed, g.host.random, g.host.started-1), set
}

// Opened counts the program's calls that open a file.
func (g *Program) Opened() uint64 { return g.opened }

// Connections is how many connections it has open.
func (g *Program) Connections() int { return len(g.conns) }

// ReadMonotonic reads the host's monotonic clock.
func (h *Host) ReadMonotonic() time.Duration { return time.Duration(h.monotonic.at(h.s.now)) }
