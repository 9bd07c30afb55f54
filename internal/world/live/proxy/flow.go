package proxy

import (
	"slices"
	"time"

	"github.com/Shopify/toxiproxy/v2/stream"
	"github.com/Shopify/toxiproxy/v2/toxics"

	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/link"
)

// flow is one direction of a connection: what passes a valve there.
type flow struct {
	link.Flow
	valve  *valve
	input  <-chan *stream.StreamChunk // nil once the sender has closed
	output chan<- *stream.StreamChunk
	// queue are the messages that have not gone on yet. While they stand, what becomes of
	// them is guarded by the valve's lock.
	queue []*message
	// closed is when the sender closed.
	closed time.Duration
	// breaks is the valve's count when the connection began.
	breaks      int
	interrupted bool
	// broken: the connection is to end; it is guarded by the valve's lock.
	broken bool
	// conn reads the connection; nil: nobody does.
	conn *conn
	// released is closed when a message may go on for which the run waits; nil: there is none.
	released chan struct{}
	// parts have been read and stand behind that message, which is the first of them.
	parts []part
	// handedAt is when the head was about to go out, where it has answers.
	handedAt time.Duration
}

// part is a message, or some bytes with others in them.
type part struct {
	data []byte
	// answered are the commands that it answers, where somebody wants to know.
	answered []*world.Command
	// awaited are the words of the message, where the run waits for it, kind is what it is, and can what it can do to the lock's key.
	awaited []string
	kind    world.MessageKind
	can     command.Can
	// asked is the command that it is, where it may be refused.
	asked *asked
}

// message is what toxiproxy hands over at once, or a part of that: a message as the valve sees it.
type message struct {
	data  *stream.StreamChunk
	flow  *flow
	place link.Place
	// fate is what became of it so far, due till when it stands.
	fate link.Fate
	due  time.Duration
	// answered are the commands that it answers, where somebody wants to know.
	answered []*world.Command
	// asked is the command that it is, where that may be refused and it is not known yet whether it is.
	asked *asked
}

// Flow implements link.Message.
func (m *message) Flow() *link.Flow { return &m.flow.Flow }

// Place implements link.Message.
func (m *message) Place() *link.Place { return &m.place }

// Size implements link.Message.
func (m *message) Size() int64 { return int64(len(m.data.Data)) }

func newFlow(v *valve, stub *toxics.ToxicStub) *flow {
	v.mu.Lock()
	defer v.mu.Unlock()
	f := &flow{Flow: v.direction.NewFlow(), valve: v, breaks: v.breaks, input: stub.Input, output: stub.Output}
	if f.conn, _ = stub.State.(*conn); f.conn != nil && !v.isAnswers {
		f.queue = f.messages(f.conn.preface())
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
		if f.queue[0].answered != nil {
			f.handedAt = machine.Monotonic()
		}
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
	case <-f.released:
		f.goOnReleased()
	case out <- head:
		return f.sent()
	case data := <-f.input:
		f.receive(data)
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
	f.queue = slices.DeleteFunc(f.queue, func(c *message) bool {
		if c.fate == link.Lost && c.answered != nil {
			f.conn.delivered(c.answered, 0)
		}
		return c.fate == link.Lost
	})
	breaks := func(m *message) bool { return m.fate == link.Breaks }
	if !v.isOpen || f.broken || f.breaks != v.breaks || slices.ContainsFunc(f.queue, breaks) {
		return nil, 0, nil
	}
	if len(f.queue) > 0 {
		if f.queue[0].meetRefusal(); f.queue[0].fate == link.Breaks {
			return nil, 0, nil
		}
		return f.queue[0].canGoOut(), wait, v.changed
	}
	if len(f.parts) == 0 && f.input == nil {
		if late := v.direction.EndDelay(&f.Flow); late < link.Never {
			wait = f.closed + late - now
		}
	}
	return nil, wait, v.changed
}

// meetRefusal lets the first message become what a command becomes that is refused. What cannot be read breaks its connection, where
// commands are refused: nobody can tell what to answer.
func (m *message) meetRefusal() {
	if m.fate == link.Stands {
		return
	}
	if m.asked == nil {
		if m.fate == link.Refused && m.flow.conn.isBlind() {
			m.fate = link.Breaks
		}
		return
	}
	refusal := ""
	if m.fate == link.Refused {
		refusal = m.place.Refusal
	}
	if instead := m.flow.conn.meet(m.asked, refusal); instead != nil {
		m.data = &stream.StreamChunk{Data: instead, Timestamp: m.data.Timestamp}
	}
	m.asked = nil
}

// canGoOut is what can go out of a message now; nil: nothing, for it stands.
func (m *message) canGoOut() *stream.StreamChunk {
	if m.fate == link.Stands {
		return nil
	}
	if m.fate == link.Ends {
		return &stream.StreamChunk{Data: m.data.Data[:m.place.Part], Timestamp: m.data.Timestamp}
	}
	return m.data
}

// sent takes the head off the queue. False: the connection ends behind it.
func (f *flow) sent() bool {
	head := f.queue[0]
	f.queue = f.queue[1:]
	if head.answered != nil {
		at := f.handedAt
		if head.fate == link.Ends && head.place.Part < head.Size() {
			at = 0
		}
		f.conn.delivered(head.answered, at)
	}
	return head.fate != link.Ends
}

// receive receives something, or the sender's close.
func (f *flow) receive(data *stream.StreamChunk) {
	v := f.valve
	v.mu.Lock()
	defer v.mu.Unlock()
	if data == nil {
		f.input, f.closed = nil, v.now()
		return
	}
	if f.conn == nil {
		f.pass(part{data: data.Data})
		return
	}
	f.read(data.Data)
	f.passRead()
}

// read reads what has come as soon as it comes, also behind a message that is held: when that left its sender, and what the
// answers say, is not to depend on the run.
func (f *flow) read(data []byte) {
	at := 0 // the part begins at 0, and has been read to here
	var answers []*world.Command
	for at < len(data) {
		p := f.conn.read(f.valve.isAnswers, data[at:])
		var its []*world.Command
		if p.answered != nil {
			its = []*world.Command{p.answered}
		}
		if !p.replaced && p.awaited == nil { // nothing is to be known of it alone
			at += p.size
			answers = append(answers, its...)
			continue
		}
		message := data[at : at+p.size]
		if p.replaced {
			message = p.instead
		}
		f.parts = append(f.parts, part{data: data[:at], answered: answers}, part{message, its, p.awaited, p.kind, p.can, p.asked})
		data, at, answers = data[at+p.size:], 0, nil
	}
	f.parts = append(f.parts, part{data: data, answered: answers})
}

// passRead passes on what has been read, up to a message for which the run waits. When the link is closed nothing begins any more.
func (f *flow) passRead() {
	for f.released == nil && len(f.parts) > 0 {
		if first := &f.parts[0]; first.awaited != nil && f.valve.isOpen {
			f.handToRun(*first)
			first.awaited = nil
			return
		}
		f.pass(f.parts[0])
		f.parts = f.parts[1:]
	}
}

// handToRun lets the run deal with a message.
func (f *flow) handToRun(p part) {
	held := make(chan struct{})
	f.released = held
	v, c := f.valve, f.conn
	c.reader.Go(func() {
		defer close(held)
		disturb := func(d world.Disturbance) (func() error, error) {
			if err := d.Check(); err != nil {
				return nil, err
			}
			if d.Kind == world.Refuse {
				return f.conn.refuse(p.asked, d.Error)
			}
			lift := v.disturbFlow(f, d)
			return func() error { lift(); return nil }, nil
		}
		c.reader.Message(world.Message{Link: c.link, Kind: p.kind, Words: p.awaited, Can: p.can, Disturb: disturb})
	})
}

// goOnReleased lets the message go on that the run has dealt with.
func (f *flow) goOnReleased() {
	f.valve.mu.Lock()
	defer f.valve.mu.Unlock()
	f.released = nil
	f.passRead()
}

// pass sends a part through the disturbances.
func (f *flow) pass(p part) {
	for _, c := range f.messages(p.data) {
		c.answered, c.asked = p.answered, p.asked
		f.queue = append(f.queue, c)
		f.valve.pass(c, f.valve.now())
	}
}

// messages makes a message of bytes, if there are any.
func (f *flow) messages(data []byte) []*message {
	if len(data) == 0 {
		return nil
	}
	return []*message{{data: &stream.StreamChunk{Data: data, Timestamp: time.Now()}, flow: f}}
}
