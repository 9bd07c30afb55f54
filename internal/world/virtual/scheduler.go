package virtual

import (
	"cmp"
	"context"
	"iter"
	"math"
	"slices"
	"time"
)

// scheduler is the discrete-event heart: time stands still while an activity
// runs and jumps to the next event when all of them wait. Exactly one activity
// runs at a time. Whoever parks carries on the event loop on its own stack, so
// that an activity whose own event comes next goes on without a switch.
type scheduler struct {
	now time.Duration
	seq uint64
	// events are due in the order of (time, sequence); timeouts are those whose
	// deadlines came in order, which nearly all do, and few are ever needed.
	events   eventHeap
	timeouts eventRing
	ready    readyQueue

	// outside stands for the caller of the world that is no activity.
	outside coroutine
	current *coroutine
	// handoff is whom to run next, told by a coroutine that parked.
	handoff *coroutine
	// all are the coroutines in the order of their making, idle those among
	// them that have nothing to do.
	all, idle []*coroutine
	// begun counts the activities of the run.
	begun uint64
	// activities are those still going on that Wait waits for; waiting says
	// that somebody does.
	activities int
	waiting    bool
	// pick lets something else than the next timer happen, where it returns true;
	// nil: nothing ever does.
	pick func() bool
	// guests have goroutines of their own; nil: there are none. step is what times are multiples of, with guests.
	guests Guests
	step   time.Duration

	// next is what lookAhead says, where looked.
	next   time.Duration
	looked bool

	ctx       context.Context
	sinceLook int
	stopped   bool
	// stuck says that all waited for ever.
	stuck bool
}

// reason says why a parked activity goes on.
type reason uint8

const (
	byTimer reason = iota + 1
	bySignal
	byReply
	byBreak
	byStop
	byKill
	byResume
	byCancel
)

// coroutine carries one activity after the other.
type coroutine struct {
	s     *scheduler
	next  func() (struct{}, bool)
	stop  func()
	yield func(struct{}) bool
	run   func()
	// counted marks an activity that Wait waits for.
	counted bool
	// parked, with epoch, tells whether a wake-up is still meant for it: each
	// parking has an epoch of its own.
	parked bool
	epoch  uint32
	why    reason
	// begun numbers the activities of a run in the order of their beginning:
	// which coroutine carries which depends on the runs before.
	begun uint64
	// owner is the client in whose code it is parked; nil: in the runner's.
	owner *clientHost
	// cancels is the client whose attempt it waits for, if a cancel of that wakes it; nil: none does.
	cancels *clientThread
}

// unwound is what parts of a dead client, or of a stopped run, panic with, so
// that code that knows nothing of that comes to its end.
type unwound struct{}

func (s *scheduler) reset(ctx context.Context) {
	s.now, s.seq, s.begun, s.sinceLook = 0, 0, 0, 0
	s.events.clear()
	s.timeouts.clear()
	s.ready.clear()
	s.outside.s = s
	s.current, s.handoff = &s.outside, nil
	s.activities, s.waiting, s.stopped, s.stuck, s.pick, s.guests = 0, false, false, false, nil, nil
	s.step = 0
	s.ctx, s.looked = ctx, false
}

// start makes f an activity that begins when the caller parks.
func (s *scheduler) start(f func(), counted bool) {
	var c *coroutine
	if n := len(s.idle); n > 0 {
		c = s.idle[n-1]
		s.idle = s.idle[:n-1]
	} else {
		c = &coroutine{s: s}
		c.next, c.stop = iter.Pull(c.live)
		s.all = append(s.all, c)
	}
	s.begun++
	c.run, c.counted, c.owner, c.cancels, c.begun = f, counted, nil, nil, s.begun
	if counted {
		s.activities++
	}
	s.makeReady(c)
}

func (s *scheduler) makeReady(c *coroutine) {
	s.looked = false
	s.ready.push(c)
}

// live is the life of a coroutine: one activity after the other.
func (c *coroutine) live(yield func(struct{}) bool) {
	c.yield = yield
	for {
		c.runActivity()
		c.ended()
		if !yield(struct{}{}) {
			return
		}
	}
}

// runActivity runs the activity; one that was unwound has ended in order.
func (c *coroutine) runActivity() {
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(unwound); !ok {
				panic(r)
			}
		}
	}()
	c.run()
}

func (c *coroutine) ended() {
	s := c.s
	c.run, c.owner = nil, nil
	c.epoch++
	s.idle = append(s.idle, c)
	if !c.counted {
		return
	}
	if s.activities--; s.activities == 0 && s.waiting {
		s.wake(&s.outside, s.outside.epoch, bySignal)
	}
}

// wait returns when all counted activities have ended.
func (s *scheduler) wait() {
	for s.activities > 0 {
		s.waiting = true
		s.park()
		s.waiting = false
	}
}

// wake makes a parked coroutine ready, if it still stands where it stood in
// that epoch.
func (s *scheduler) wake(c *coroutine, epoch uint32, why reason) {
	if c.epoch != epoch || !c.parked {
		return
	}
	c.parked, c.why = false, why
	s.makeReady(c)
}

// park lets the current coroutine stand until something wakes it.
func (s *scheduler) park() reason {
	c := s.current
	c.parked = true
	s.dispatch(c)
	s.current = c
	c.epoch++
	return c.why
}

// dispatch runs events and other coroutines until self is the next to run.
func (s *scheduler) dispatch(self *coroutine) {
	for {
		s.looked = false
		c := s.ready.pop()
		if c == nil {
			s.fire()
			continue
		}
		if c == self {
			return
		}
		if self != &s.outside {
			s.handoff = c
			if !self.yield(struct{}{}) {
				panic(unwound{}) // the world is closed under it
			}
			return
		}
		for c != nil && c != self {
			s.handoff = nil
			s.current = c
			c.next()
			c = s.handoff
		}
		if c == self {
			return
		}
	}
}

// lookEvery is after how many events the world outside is looked at, which may
// have cancelled the run.
const lookEvery = 1 << 12

// fire lets the next event happen.
func (s *scheduler) fire() {
	if s.sinceLook++; s.sinceLook >= lookEvery {
		s.sinceLook = 0
		if s.ctx.Err() != nil {
			s.halt()
			return
		}
	}
	if s.pick != nil && s.pick() || s.guests != nil && !s.runGuests() {
		return
	}
	for s.timeouts.n > 0 && !s.timeouts.first().live() {
		s.timeouts.drop()
	}
	var e event
	switch {
	case s.timeouts.n > 0 && (s.events.n() == 0 || s.timeouts.first().before(s.events.first())):
		e = *s.timeouts.first()
		s.timeouts.drop()
	case s.events.n() > 0:
		e = s.events.pop()
	default:
		s.stuck = true
		s.halt()
		if s.ready.n() == 0 { // Wait waits for nobody who could ever end
			panic("virtual: nothing is left to happen, and somebody waits")
		}
		return
	}
	if !e.live() {
		return
	}
	s.now = max(s.now, e.at) // guests may have gone on by some nanoseconds
	e.happen(s)
}

// shift makes the time earlier by a while, and so all that is to happen.
func (s *scheduler) shift(by time.Duration) {
	s.looked = false
	s.now -= by
	s.events.shift(by)
	s.timeouts.shift(by)
}

// halt wakes everybody, for the run is to end.
func (s *scheduler) halt() {
	if s.stopped {
		return
	}
	s.stopped, s.looked = true, false
	s.wakeAll(func(*coroutine) bool { return true }, byStop)
	if !s.waiting {
		s.wake(&s.outside, s.outside.epoch, byStop)
	}
}

// wakeAll wakes the parked coroutines that which wants, in the order in which
// their activities began.
func (s *scheduler) wakeAll(which func(*coroutine) bool, why reason) {
	var list []*coroutine
	for _, c := range s.all {
		if c.parked && which(c) {
			list = append(list, c)
		}
	}
	slices.SortFunc(list, func(a, b *coroutine) int { return cmp.Compare(a.begun, b.begun) })
	for _, c := range list {
		s.wake(c, c.epoch, why)
	}
}

// pass moves time on at once, where nothing happens before; false: something does.
// Whoever calls it has nothing else to do at this time.
func (s *scheduler) pass(at time.Duration) bool {
	if !s.looked {
		s.next, s.looked = s.lookAhead(), true
	}
	if at >= s.next || s.sinceLook >= lookEvery {
		return false
	}
	s.sinceLook++
	s.now = at
	return true
}

// lookAhead is when something happens by itself, 0 where it does at once. It holds
// until somebody is woken, an event is added, or one happens.
func (s *scheduler) lookAhead() time.Duration {
	if s.ready.n() > 0 || s.pick != nil || s.guests != nil || s.stopped {
		return 0
	}
	if at, some := s.due(); some {
		return at
	}
	return math.MaxInt64
}

// sleep parks the current coroutine for a while.
func (s *scheduler) sleep(d time.Duration) {
	if s.pass(s.now + max(d, 0)) {
		return
	}
	s.push(event{at: s.now + max(d, 0), co: s.current, epoch: s.current.epoch})
	s.park()
}

// timeout wakes the current coroutine at a time by which it will usually have
// gone on.
func (s *scheduler) timeout(at time.Duration) {
	s.looked = false
	s.seq++
	e := event{at: s.whole(max(at, s.now)), seq: s.seq, co: s.current, epoch: s.current.epoch}
	if !s.timeouts.push(e) {
		s.events.push(e)
	}
}

func (s *scheduler) push(e event) {
	s.looked = false
	s.seq++
	e.seq, e.at = s.seq, s.whole(max(e.at, s.now)) // nothing happens in the past
	s.events.push(e)
}

// whole is the first step from a time on.
func (s *scheduler) whole(at time.Duration) time.Duration {
	if s.step <= 1 || at > math.MaxInt64-s.step {
		return at
	}
	return (at + s.step - 1) / s.step * s.step
}

// after lets f happen in a while.
func (s *scheduler) after(d time.Duration, f func()) {
	s.push(event{at: s.now + d, f: f})
}

// close ends all coroutines, whatever they are at.
func (s *scheduler) close() {
	for _, c := range s.all {
		c.stop()
	}
	s.all, s.idle = nil, nil
}

// drain lets everybody come to an end after halt.
func (s *scheduler) drain() {
	for c := s.ready.pop(); c != nil; c = s.ready.pop() {
		for c != nil && c != &s.outside {
			s.handoff, s.current = nil, c
			c.next()
			c = s.handoff
		}
	}
	s.current = &s.outside
	if len(s.idle) != len(s.all) { // something does not end by itself
		s.close()
	}
}
