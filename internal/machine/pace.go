package machine

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Pace is how fast this machine was for something: how late timers of this program fired meanwhile, and how long the
// slowest start of its processes took. The timers of clients and servers are about as late, for they wait for the same
// processors.
type Pace struct {
	since, late, start atomic.Int64
	// tell is told of stalls; guarded by pacing.
	tell func(took time.Duration)
}

// StallsFrom is how late a timer fires at least for it to be told as a stall.
const StallsFrom = 20 * time.Millisecond

// paceEvery is how far apart the timers are by which it is measured.
const paceEvery = 10 * time.Millisecond

// pacing is what measures it: one timer for all who want to know.
var pacing struct {
	sync.Mutex
	watched map[*Pace]bool
	// due is when the timer is to fire.
	due atomic.Int64
}

// WatchPace begins to measure; end ends it.
func WatchPace() (p *Pace, end func()) {
	p = &Pace{}
	p.Begin()
	pacing.Lock()
	defer pacing.Unlock()
	if pacing.watched == nil {
		pacing.watched = make(map[*Pace]bool)
		pacing.due.Store(int64(Monotonic() + paceEvery))
		go keepPace()
	}
	pacing.watched[p] = true
	return p, func() {
		p.Late()
		pacing.Lock()
		defer pacing.Unlock()
		delete(pacing.watched, p)
	}
}

// keepPace measures for as long as somebody wants to know.
func keepPace() {
	for {
		time.Sleep(time.Duration(pacing.due.Load()) - Monotonic())
		pacing.Lock()
		late := Monotonic() - time.Duration(pacing.due.Load())
		for p := range pacing.watched {
			p.Late()
			if late >= StallsFrom && p.tell != nil {
				p.tell(late)
			}
		}
		pacing.due.Store(int64(Monotonic() + paceEvery))
		if len(pacing.watched) == 0 {
			pacing.watched = nil
			pacing.Unlock()
			return
		}
		pacing.Unlock()
	}
}

// Begin lets nothing count that was before, but for how long starts took.
func (p *Pace) Begin() {
	if p != nil {
		p.since.Store(int64(Monotonic()))
		p.late.Store(0)
	}
}

// TellStalls has somebody told of each stall from now on, with how late a timer fired; nil: nobody. Once it has returned, who was
// told before is told no more.
func (p *Pace) TellStalls(tell func(took time.Duration)) {
	if p != nil {
		pacing.Lock()
		defer pacing.Unlock()
		p.tell = tell
	}
}

// Late is how late a timer fired at most, or is now.
func (p *Pace) Late() time.Duration {
	now, due := int64(Monotonic()), pacing.due.Load()
	raise(&p.late, now-max(due, p.since.Load()))
	return time.Duration(p.late.Load())
}

// Started takes note of how long a start took.
func (p *Pace) Started(took time.Duration) {
	if p != nil {
		raise(&p.start, int64(took))
	}
}

// Start is how long the slowest start took.
func (p *Pace) Start() time.Duration { return time.Duration(p.start.Load()) }

func raise(highest *atomic.Int64, to int64) {
	for {
		was := highest.Load()
		if to <= was || highest.CompareAndSwap(was, to) {
			return
		}
	}
}

// OutOfTime is an error: something took longer than it may.
type OutOfTime struct {
	err error
	// Within is the bound; 0: it does not matter.
	Within time.Duration
	// ours: a process of this program took too long to start. Nobody else is to blame.
	ours bool
}

func (e *OutOfTime) Error() string { return e.err.Error() }

// Unwrap returns what it is made of.
func (e *OutOfTime) Unwrap() error { return e.err }

// Timeout is that of a net.Error.
func (e *OutOfTime) Timeout() bool { return true }

// TookTooLong is an OutOfTime.
func TookTooLong(within time.Duration, format string, args ...any) error {
	return &OutOfTime{err: fmt.Errorf(format, args...), Within: within}
}

// StartedTooSlowly is an OutOfTime of a process of this program.
func StartedTooSlowly(format string, args ...any) error {
	return &OutOfTime{err: fmt.Errorf(format, args...), ours: true}
}

// Blamed reports that an error is the fault of a machine that was too slow: a process of ours took too long to start;
// or something else took longer than it may while timers fired later than is allowed, and than a twentieth of what it
// may take.
func (p *Pace) Blamed(err error, allowed time.Duration) bool {
	var ours *OutOfTime
	var bound interface{ Timeout() bool }
	switch {
	case errors.As(err, &ours):
		return ours.ours || p.Late() > max(allowed, ours.Within/20)
	case errors.Is(err, syscall.EAGAIN): // no more processes may be started, but it counts as a timeout, too
		return false
	case errors.As(err, &bound):
		return bound.Timeout() && p.Late() > allowed
	}
	return false
}
