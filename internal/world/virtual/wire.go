package virtual

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/redis/sentinel"
	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/link"
)

// wire is a link between two processes that are not a client and its node: of a replica to its
// primary, of a sentinel to a server or another sentinel, of a client to a sentinel.
type wire struct {
	w     *World
	name  world.Link
	delay time.Duration
	// index is its place among the wires.
	index int
	rand  *rand.PCG
	// ends are the processes that its directions lead to.
	ends [2]endpoint
	ways [2]link.Way[*parcel]
	// pipes are the connections on it, in the order in which they were opened.
	pipes []*pipe
	// carried counts the messages of each direction under an Order.
	carried [2]uint32
}

// endpoint is a process at an end of a wire.
type endpoint interface {
	// listens: it takes connections, which a process that stands still does, too.
	listens() bool
	// whenRuns lets f happen now, or when the process goes on; never, where it is dead.
	whenRuns(f func())
}

// whenRuns does something in a process, or puts it off until that goes on; a dead one does nothing.
func whenRuns(up, paused bool, deferred *[]func(), f func()) {
	switch {
	case !up:
	case paused:
		*deferred = append(*deferred, f)
	default:
		f()
	}
}

// pipe is one connection on a wire. What is sent over it arrives in order.
type pipe struct {
	on    *wire
	flows [2]link.Flow
	// free is when the last message of each direction arrives.
	free [2]time.Duration
	// standing counts the messages to the opener that have not passed the disturbances.
	standing int
	// open says that its opener knows it to be open; gone that nothing is sent over it any more;
	// over that nothing arrives any more, either. queue is what waits for it to open.
	// finished says that the end is on its way to the opener.
	open, gone, over, finished bool
	queue                      []func()
	// broke is called when its opener sees that it broke, ended when the other end sees that it is
	// over; nil: nobody cares.
	broke, ended func()
	// heard takes in what a sentinel subscribed to.
	heard func(*sentinel.Hello)
}

// parcel is a message on a pipe.
type parcel struct {
	p       *pipe
	dir     int
	place   link.Place
	deliver func()
	// late is what it takes without disturbances.
	late time.Duration
	// turn counts how often it got on.
	turn int
}

// parcelSize is about how many bytes a change, its acknowledgement or a handshake has.
const parcelSize = 100

// Flow implements link.Message.
func (m *parcel) Flow() *link.Flow { return &m.p.flows[m.dir] }

// Place implements link.Message.
func (m *parcel) Place() *link.Place { return &m.place }

// Size implements link.Message.
func (m *parcel) Size() int64 { return parcelSize }

// newWire makes a link.
func (w *World) newWire(from, to string, ends [2]endpoint) *wire {
	x := &wire{w: w, name: world.Link{From: from, To: to}, delay: leastDelay, index: len(w.wires), ends: ends}
	x.rand = w.net
	if w.order != nil { // no order of other messages changes what happens here
		x.rand = rand.NewPCG(w.spec.Seed, uint64(x.index))
	}
	if !w.ordersWires() {
		x.ways[requests].Rand, x.ways[answers].Rand = x.rand, x.rand
	}
	w.wires = append(w.wires, x)
	return x
}

// wire finds a link.
func (w *World) wire(from, to string) *wire {
	i := slices.IndexFunc(w.wires, func(x *wire) bool { return x.name.From == from && x.name.To == to })
	return w.wires[i]
}

// connected is a connection that is open from the start.
func (x *wire) connected(broke func()) *pipe {
	p := &pipe{on: x, open: true, broke: broke, flows: [2]link.Flow{x.ways[requests].Open(), x.ways[answers].Open()}}
	x.pipes = append(x.pipes, p)
	return p
}

// dial begins to open a connection. What is asked over it meanwhile waits for its opening.
func (x *wire) dial(broke func()) *pipe {
	p := x.connected(broke)
	p.open = false
	p.transmit(requests, func() {
		if !x.ends[requests].listens() { // the port is closed
			p.end()
			return
		}
		p.transmit(answers, func() {
			p.open = true
			queue := p.queue
			p.queue = nil
			for _, send := range queue {
				send()
			}
		})
	})
	return p
}

// ask sends something from the opener to the other end, which does it.
func (p *pipe) ask(do func()) {
	if p.gone {
		return
	}
	if !p.open {
		p.queue = append(p.queue, func() { p.ask(do) })
		return
	}
	p.transmit(requests, func() { p.on.ends[requests].whenRuns(do) })
}

// tell sends something to the opener.
func (p *pipe) tell(do func()) {
	if p.gone {
		return
	}
	p.transmit(answers, func() {
		p.on.ends[answers].whenRuns(func() {
			if !p.over {
				do()
			}
		})
	})
}

// transmit sends a message in one direction.
func (p *pipe) transmit(dir int, deliver func()) {
	m := &parcel{p: p, dir: dir, deliver: deliver}
	if x := p.on; !x.w.ordersWires() {
		m.late = x.delay + addition(x.rand.Uint64()>>32)
	}
	if dir == answers {
		p.standing++
	}
	m.advance()
}

// advance moves a message on.
func (m *parcel) advance() {
	p := m.p
	if m.lost() {
		return
	}
	m.turn++
	s, turn := &p.on.w.s, m.turn
	switch fate, until := p.on.ways[m.dir].Pass(m, s.now); fate {
	case link.Passes:
		m.carry()
		m.passed()
	case link.Stands:
		if until < link.Never {
			s.after(until-s.now, func() {
				if m.turn == turn {
					m.advance()
				}
			})
		}
	case link.Lost:
		m.passed()
	case link.Breaks, link.Ends:
		p.breakUp()
	}
}

// passed says that nothing keeps the message back any more.
func (m *parcel) passed() {
	if m.dir == answers {
		m.p.standing--
		m.p.finish()
	}
}

// lost says that a message does not arrive: its connection is over. What a process had sent to the opener before it
// hung up does arrive.
func (m *parcel) lost() bool { return m.p.over || m.p.gone && m.dir == requests }

// carry lets a message arrive that has passed all disturbances.
func (m *parcel) carry() {
	p := m.p
	arrive := func() {
		if !m.lost() {
			m.deliver()
		}
	}
	if w := p.on.w; w.ordersWires() {
		w.order.carry(p, m.dir, arrive)
		return
	}
	free := &p.free[m.dir]
	*free = max(*free, p.on.w.s.now+m.late)
	p.on.w.s.push(event{at: *free, f: arrive})
}

// breakUp breaks the connection on its link: what is under way is lost. Its opener sees that when the end has come
// over the link.
func (p *pipe) breakUp() {
	p.over = true
	p.end()
	p.finish()
}

// end closes the connection at the end that did not open it. Its opener sees that behind what had been sent to it.
func (p *pipe) end() {
	if p.gone {
		return
	}
	p.gone = true
	if p.on.w.ordersWires() { // when that arrives is not decided in time
		p.forget()
	}
	p.finish()
	if p.ended != nil {
		p.ended()
	}
}

// finish lets the end of the connection come to its opener once nothing keeps it back.
func (p *pipe) finish() {
	if !p.gone || p.finished || p.standing > 0 && !p.over {
		return
	}
	late := p.on.ways[answers].Ending(&p.flows[answers])
	if late == link.Never {
		return
	}
	p.finished = true
	s := &p.on.w.s
	s.after(max(late+p.on.delay, p.free[answers]-s.now), func() {
		p.forget()
		if p.broke != nil {
			p.on.ends[answers].whenRuns(p.broke)
		}
	})
}

// close ends the connection at its opener's end; the other end sees that when it has come there.
func (p *pipe) close() {
	was := p.gone
	p.forget()
	if !was && p.ended != nil {
		p.on.w.s.after(p.on.delay, p.ended)
	}
}

// forget lets nothing arrive any more.
func (p *pipe) forget() {
	p.gone, p.over = true, true
	p.on.pipes = slices.DeleteFunc(p.on.pipes, func(o *pipe) bool { return o == p })
}

// ending is how long its end is kept back on the way to its opener.
func (p *pipe) ending() time.Duration {
	if late := p.on.ways[answers].Ending(&p.flows[answers]); late < link.Never {
		return late
	}
	return 0
}

// breakAll breaks all connections.
func (x *wire) breakAll() {
	for _, p := range slices.Clone(x.pipes) {
		p.breakUp()
	}
}

func (x *wire) disturb(d world.Disturbance, dir int) (lift func()) {
	end := x.ways[dir].Begin(d)
	return func() {
		freed, breaks := end()
		for _, m := range freed {
			m.advance()
		}
		if breaks {
			x.breakAll()
		}
		for _, p := range slices.Clone(x.pipes) {
			p.finish()
		}
	}
}

// breakPipes breaks the connections from and to a process that has died.
func (w *World) breakPipes(of endpoint) {
	for _, x := range w.wires {
		switch of {
		case x.ends[requests]:
			for _, p := range slices.Clone(x.pipes) {
				p.end()
			}
		case x.ends[answers]:
			for _, p := range slices.Clone(x.pipes) {
				p.close()
			}
		}
	}
}
