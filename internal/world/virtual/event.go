package virtual

import "time"

// event is something that is due: a coroutine goes on, a message gets on, or f
// is called.
type event struct {
	at  time.Duration
	seq uint64
	// co goes on where it still stands in the epoch.
	co *coroutine
	// call gets on where that is its transit still.
	call  *call
	epoch uint32
	f     func()
}

func (e *event) before(o *event) bool {
	return e.at < o.at || e.at == o.at && e.seq < o.seq
}

// live reports whether anybody still waits for the event.
func (e *event) live() bool {
	if e.co != nil {
		return e.co.parked && e.co.epoch == e.epoch
	}
	if e.call != nil {
		return e.call.transit == e.epoch
	}
	return true
}

func (e *event) happen(s *scheduler) {
	switch {
	case e.co != nil:
		s.wake(e.co, e.epoch, byTimer)
	case e.call != nil:
		e.call.run()
	default:
		e.f()
	}
}

// eventHeap is a heap of four children a node. The first event stands apart: most
// that are pushed are the next to happen.
type eventHeap struct {
	front event
	full  bool
	list  []event
}

func (h *eventHeap) n() int {
	if h.full {
		return len(h.list) + 1
	}
	return len(h.list)
}

func (h *eventHeap) first() *event {
	if h.full {
		return &h.front
	}
	return &h.list[0]
}

func (h *eventHeap) clear() {
	clear(h.list)
	h.list, h.full = h.list[:0], false
}

func (h *eventHeap) push(e event) {
	if h.full && !e.before(&h.front) || !h.full && len(h.list) > 0 && !e.before(&h.list[0]) {
		h.sift(e)
		return
	}
	if h.full {
		h.sift(h.front)
	}
	h.front, h.full = e, true
}

// sift puts an event into the heap.
func (h *eventHeap) sift(e event) {
	h.list = append(h.list, e)
	l := h.list
	i := len(l) - 1
	for i > 0 {
		parent := (i - 1) / 4
		if l[parent].before(&e) {
			break
		}
		l[i] = l[parent]
		i = parent
	}
	l[i] = e
}

func (h *eventHeap) pop() event {
	if h.full {
		h.full = false
		return h.front
	}
	l := h.list
	top := l[0]
	n := len(l) - 1
	last := l[n]
	l[n] = event{}
	h.list = l[:n]
	if n == 0 {
		return top
	}
	l = l[:n]
	i := 0
	for {
		least := 4*i + 1
		if least >= n {
			break
		}
		for c := least + 1; c < min(least+4, n); c++ {
			if l[c].before(&l[least]) {
				least = c
			}
		}
		if last.before(&l[least]) {
			break
		}
		l[i] = l[least]
		i = least
	}
	l[i] = last
	return top
}

// shift makes all events due earlier by a while.
func (h *eventHeap) shift(by time.Duration) {
	h.front.at -= by
	for i := range h.list {
		h.list[i].at -= by
	}
}

func (r *eventRing) shift(by time.Duration) {
	for i := range r.n {
		r.at(i).at -= by
	}
}

// eventRing holds events that came in the order in which they are due.
type eventRing struct {
	list    []event // its length is a power of two
	head, n int
}

func (r *eventRing) at(i int) *event { return &r.list[(r.head+i)&(len(r.list)-1)] }
func (r *eventRing) first() *event   { return r.at(0) }

// push returns false where e is due before the last one.
func (r *eventRing) push(e event) bool {
	if r.n > 0 && e.at < r.at(r.n-1).at {
		return false
	}
	if r.n == len(r.list) {
		grown := make([]event, max(2*r.n, 64))
		for i := range r.n {
			grown[i] = *r.at(i)
		}
		r.list, r.head = grown, 0
	}
	r.n++
	*r.at(r.n - 1) = e
	return true
}

func (r *eventRing) drop() {
	r.head = (r.head + 1) & (len(r.list) - 1)
	r.n--
}

func (r *eventRing) clear() {
	clear(r.list)
	r.head, r.n = 0, 0
}

// readyQueue holds the coroutines that can go on, the first come first.
type readyQueue struct {
	list []*coroutine
	head int
}

func (q *readyQueue) n() int            { return len(q.list) - q.head }
func (q *readyQueue) push(c *coroutine) { q.list = append(q.list, c) }
func (q *readyQueue) clear()            { clear(q.list); q.list, q.head = q.list[:0], 0 }
func (q *readyQueue) pop() (c *coroutine) {
	if q.head == len(q.list) {
		q.list, q.head = q.list[:0], 0
		return nil
	}
	c = q.list[q.head]
	q.head++
	return c
}

// signal is a thing that happens once.
type signal struct {
	s       *scheduler
	fired   bool
	waiters []waiter
}

// waiter is a coroutine that stands in an epoch.
type waiter struct {
	co    *coroutine
	epoch uint32
}

// Fire lets it happen.
func (g *signal) Fire() {
	if g.fired {
		return
	}
	g.fired = true
	for _, w := range g.waiters {
		g.s.wake(w.co, w.epoch, bySignal)
	}
	g.waiters = g.waiters[:0]
}

// Wait waits until it has happened.
func (g *signal) Wait(d time.Duration) bool {
	s := g.s
	if g.fired || s.stopped {
		return g.fired
	}
	g.waiters = append(g.waiters, waiter{s.current, s.current.epoch})
	if d > 0 {
		s.push(event{at: s.now + d, co: s.current, epoch: s.current.epoch})
	}
	s.park()
	return g.fired
}
