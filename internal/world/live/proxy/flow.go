package proxy

import (
	"slices"
	"time"

	"github.com/Shopify/toxiproxy/v2/stream"
	"github.com/Shopify/toxiproxy/v2/toxics"

	"github.com/redlock-sim/redlock-sim/internal/world/link"
)

// flow is what passes a valve on one connection.
type flow struct {
	link.Flow
	valve  *valve
	input  <-chan *stream.StreamChunk // nil once the sender has closed
	output chan<- *stream.StreamChunk
	// queue are the chunks that have not gone on yet. While they stand, what becomes of
	// them is guarded by the valve's lock.
	queue []*chunk
	// closed is when the sender closed.
	closed time.Duration
	// breaks is the valve's count when the connection began.
	breaks      int
	interrupted bool
	// conn is what is known of the connection; nil: nothing is.
	conn *conn
}

// chunk is a message as the valve sees it.
type chunk struct {
	data  *stream.StreamChunk
	flow  *flow
	place link.Place
	// fate is what became of it so far, due till when it stands.
	fate link.Fate
	due  time.Duration
}

// Flow implements link.Message.
func (c *chunk) Flow() *link.Flow { return &c.flow.Flow }

// Place implements link.Message.
func (c *chunk) Place() *link.Place { return &c.place }

// Size implements link.Message.
func (c *chunk) Size() int64 { return int64(len(c.data.Data)) }

func newFlow(v *valve, stub *toxics.ToxicStub) *flow {
	v.mu.Lock()
	defer v.mu.Unlock()
	f := &flow{Flow: v.way.Open(), valve: v, breaks: v.breaks, input: stub.Input, output: stub.Output}
	if f.conn, _ = stub.State.(*conn); f.conn != nil && !v.answers {
		f.queue = []*chunk{{flow: f, data: &stream.StreamChunk{Data: f.conn.preface(), Timestamp: time.Now()}}}
	}
	return f
}

// step waits for the next thing to happen and deals with it. False: the
// connection is at its end.
func (f *flow) step(interrupt <-chan struct{}) bool {
	head, wait, changed := f.next()
	var out chan<- *stream.StreamChunk
	var due <-chan time.Time
	switch {
	case head != nil:
		out = f.output
	case wait <= 0:
		return false
	case wait < link.Never:
		due = time.After(wait)
	}
	select {
	case <-interrupt: // toxiproxy takes the valve off
		f.interrupted = true
		return false
	case <-changed:
	case <-due:
	case out <- head:
		return f.sent()
	case data := <-f.input:
		f.take(data)
	}
	return true
}

// next moves on what is due, and returns what can go out, or else how long there is
// nothing to do; 0: the connection is at its end. changed is closed when that is no
// longer so.
func (f *flow) next() (head *stream.StreamChunk, wait time.Duration, changed <-chan struct{}) {
	v := f.valve
	v.mu.Lock()
	defer v.mu.Unlock()
	now := v.now()
	wait = link.Never
	for _, c := range f.queue {
		for c.fate == link.Stands && c.due <= now {
			v.pass(c, c.due)
		}
		if c.fate == link.Stands && c.due < link.Never {
			wait = min(wait, c.due-now)
		}
	}
	f.queue = slices.DeleteFunc(f.queue, func(c *chunk) bool { return c.fate == link.Lost })
	switch {
	case !v.open, f.breaks != v.breaks, slices.ContainsFunc(f.queue, func(c *chunk) bool { return c.fate == link.Breaks }):
		return nil, 0, nil
	case len(f.queue) == 0 && f.input == nil:
		if late := v.way.Ending(&f.Flow); late < link.Never {
			wait = f.closed + late - now
		}
	case len(f.queue) == 0, f.queue[0].fate == link.Stands:
	case f.queue[0].fate == link.Ends:
		c := f.queue[0]
		head = &stream.StreamChunk{Data: c.data.Data[:c.place.Part], Timestamp: c.data.Timestamp}
	default:
		head = f.queue[0].data
	}
	return head, wait, v.changed
}

// sent takes the head off the queue. False: the connection ends behind it.
func (f *flow) sent() bool {
	head := f.queue[0]
	f.queue = f.queue[1:]
	return head.fate != link.Ends
}

// take receives something, or the sender's close.
func (f *flow) take(data *stream.StreamChunk) {
	v := f.valve
	v.mu.Lock()
	defer v.mu.Unlock()
	if data == nil {
		f.input, f.closed = nil, v.now()
		return
	}
	if f.conn != nil && !v.answers {
		data.Data = f.conn.takes(data.Data)
	}
	if f.conn != nil && v.answers {
		if data.Data = f.conn.answers(data.Data); len(data.Data) == 0 {
			return
		}
	}
	c := &chunk{data: data, flow: f}
	f.queue = append(f.queue, c)
	v.pass(c, v.now())
}
