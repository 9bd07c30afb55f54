package live

import (
	"slices"
	"time"

	"github.com/Shopify/toxiproxy/v2/stream"
	"github.com/Shopify/toxiproxy/v2/toxics"

	"github.com/redlock-sim/redlock-sim/internal/world"
)

// flow is what passes a valve on one connection.
type flow struct {
	valve  *valve
	rules  rules
	input  <-chan *stream.StreamChunk // nil once the sender has closed
	output chan<- *stream.StreamChunk
	queue  []queued
	closed time.Time // when the sender closed
	// cuts is the valve's count when the connection began.
	cuts int
	// spared is what was in force by then: stalls among it do not concern the
	// connection.
	spared []*world.Disturbance
	// passed is how many bytes passed under each limit.
	passed      map[*world.Disturbance]int64
	interrupted bool
}

func newFlow(v *valve, stub *toxics.ToxicStub) *flow {
	r := v.rules()
	return &flow{valve: v, rules: r, cuts: r.cuts, spared: r.inForce, input: stub.Input, output: stub.Output}
}

// queued is something that came and has not gone on yet.
type queued struct {
	chunk *stream.StreamChunk
	came  time.Time
	due   time.Time
}

// step waits for the next thing to happen and deals with it. False: the
// connection is at its end.
func (f *flow) step(interrupt <-chan struct{}) bool {
	f.heed()
	if !f.rules.open || f.rules.cuts != f.cuts {
		return false
	}
	var out chan<- *stream.StreamChunk
	var head *stream.StreamChunk
	var ripe <-chan time.Time
	switch wait := f.wait(time.Now()); {
	case wait == never:
	case wait > 0:
		ripe = time.After(wait)
	case len(f.queue) > 0:
		out, head = f.output, f.within(f.queue[0].chunk)
	default:
		return false // the sender's close goes on
	}
	select {
	case <-interrupt: // toxiproxy takes the valve off
		f.interrupted = true
		return false
	case <-f.rules.changed:
	case <-ripe:
	case out <- head:
		f.queue = f.queue[1:]
		return !f.full(len(head.Data))
	case chunk := <-f.input:
		f.heed() // the rules may be newer than the wait
		return f.take(chunk)
	}
	return true
}

// heed takes over the valve's rules where they changed.
func (f *flow) heed() {
	now := f.valve.rules()
	if now.changed == f.rules.changed {
		return
	}
	f.rules = now
	for i := range f.queue {
		f.schedule(i)
	}
}

// never is the wait for what only a change of the rules brings on.
const never = time.Duration(-1)

// wait is how long the next thing to pass on is kept back.
func (f *flow) wait(now time.Time) time.Duration {
	switch {
	case f.stands() && (len(f.queue) > 0 || f.input == nil):
		return never
	case len(f.queue) > 0:
		return max(f.queue[0].due.Sub(now), 0)
	case f.input == nil:
		return max(f.rules.closing()-now.Sub(f.closed), 0)
	}
	return never
}

// stands reports that everything is kept back.
func (f *flow) stands() bool {
	return slices.ContainsFunc(f.rules.inForce, func(d *world.Disturbance) bool {
		return d.Kind == world.Hold || d.Kind == world.Stall && !slices.Contains(f.spared, d)
	})
}

// take receives something, or the sender's close. False: the connection ends.
func (f *flow) take(chunk *stream.StreamChunk) bool {
	switch {
	case chunk == nil:
		f.input, f.closed = nil, time.Now()
	case f.rules.has(world.Reset):
		return false
	case f.rules.has(world.Cut):
		// lost
	default:
		f.queue = append(f.queue, queued{chunk: chunk, came: time.Now()})
		f.schedule(len(f.queue) - 1)
	}
	return true
}

// schedule sets when the i-th in the queue is to go on.
func (f *flow) schedule(i int) {
	q := &f.queue[i]
	q.due = q.came.Add(f.rules.late())
	if i > 0 && f.queue[i-1].due.After(q.due) {
		q.due = f.queue[i-1].due
	}
	q.due = q.due.Add(f.rules.transmission(len(q.chunk.Data)))
}

// within cuts a chunk off where a limit is reached.
func (f *flow) within(chunk *stream.StreamChunk) *stream.StreamChunk {
	left := int64(len(chunk.Data))
	for _, d := range f.rules.inForce {
		if d.Kind == world.LimitData {
			left = min(left, max(d.Bytes-f.passed[d], 0))
		}
	}
	if left == int64(len(chunk.Data)) {
		return chunk
	}
	return &stream.StreamChunk{Data: chunk.Data[:left], Timestamp: chunk.Timestamp}
}

// full counts what passed, and reports that a limit has been reached.
func (f *flow) full(bytes int) bool {
	full := false
	for _, d := range f.rules.inForce {
		if d.Kind == world.LimitData {
			if f.passed == nil {
				f.passed = make(map[*world.Disturbance]int64)
			}
			f.passed[d] += int64(bytes)
			full = full || f.passed[d] >= d.Bytes
		}
	}
	return full
}
