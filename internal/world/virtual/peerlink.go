package virtual

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/redis/sentinel"
	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/link"
)

// peerLink is a link between two processes that are not a client and its node: of a replica to its
// primary, of a sentinel to a server or another sentinel, of a client to a sentinel.
type peerLink struct {
	w     *World
	name  world.Link
	delay time.Duration
	// index is its place among the peers' links.
	index int
	rand  *rand.PCG
	// ends are the processes that its directions lead to.
	ends       [2]endpoint
	directions [2]link.Direction[*peerMessage]
	// conns are the connections on it, in the order in which they were opened.
	conns []*peerConn
	// sent counts the messages of each direction under an Order.
	sent [2]uint32
}

// endpoint is a process at an end of such a link.
type endpoint interface {
	// listens: it takes connections, which a process that stands still does, too.
	listens() bool
	// runOrDefer lets f happen now, or when the process goes on; never, where it is dead.
	runOrDefer(f func())
}

// runOrDefer does something in a process, or puts it off until that goes on; a dead one does nothing.
func runOrDefer(up, paused bool, deferred *[]func(), f func()) {
	if !up {
		return
	}
	if paused {
		*deferred = append(*deferred, f)
		return
	}
	f()
}

// peerConn is one connection on such a link. What is sent over it arrives in order.
type peerConn struct {
	link  *peerLink
	flows [2]link.Flow
	// free is when the last message of each direction arrives.
	free [2]time.Duration
	// standing counts the messages to the opener that have not passed the disturbances.
	standing int
	// open says that its opener knows it to be open; closed that nothing is sent over it any more;
	// silent that nothing arrives any more, either. queue is what waits for it to open.
	// endSent says that the end is on its way to the opener.
	open, closed, silent, endSent bool
	queue                         []func()
	// onBreak is called when its opener sees that it broke, onEnd when the other end sees that it is
	// over; nil: nobody cares.
	onBreak, onEnd func()
	// onAccept is called when the other end takes the connection, onOpen when its opener knows; nil: nobody cares.
	onAccept, onOpen func()
	// onHello takes in what a sentinel subscribed to.
	onHello func(*sentinel.Hello)
	// talk is that of a built-in client with a sentinel that is a server; nil: it has none.
	talk *sentinelTalk
}

// peerMessage is a message on such a connection.
type peerMessage struct {
	conn    *peerConn
	dir     int
	place   link.Place
	size    int64
	deliver func()
	// late is what it takes without disturbances.
	late time.Duration
	// advances counts how often it got on.
	advances int
}

// peerMessageSize is about how many bytes a change of the model, its acknowledgement or a handshake has.
const peerMessageSize = 100

// Flow implements link.Message.
func (m *peerMessage) Flow() *link.Flow { return &m.conn.flows[m.dir] }

// Place implements link.Message.
func (m *peerMessage) Place() *link.Place { return &m.place }

// Size implements link.Message.
func (m *peerMessage) Size() int64 { return m.size }

// newPeerLink makes a link.
func (w *World) newPeerLink(from, to string, ends [2]endpoint) *peerLink {
	x := &peerLink{w: w, name: world.Link{From: from, To: to}, delay: leastDelay, index: len(w.peerLinks), ends: ends}
	x.rand = w.draws.of(uint64(x.index)) // nothing that happens elsewhere changes what happens here
	if !w.ordersPeerLinks() {
		x.directions[requests].Rand, x.directions[answers].Rand = x.rand, x.rand
	}
	w.peerLinks = append(w.peerLinks, x)
	return x
}

// peerLink finds a link.
func (w *World) peerLink(from, to string) *peerLink {
	i := slices.IndexFunc(w.peerLinks, func(x *peerLink) bool { return x.name.From == from && x.name.To == to })
	return w.peerLinks[i]
}

// openConn is a connection that is open from the start.
func (x *peerLink) openConn(broke func()) *peerConn {
	p := &peerConn{link: x, open: true, onBreak: broke, flows: [2]link.Flow{x.directions[requests].NewFlow(), x.directions[answers].NewFlow()}}
	x.conns = append(x.conns, p)
	return p
}

// dial begins to open a connection. What is asked over it meanwhile waits for its opening.
func (x *peerLink) dial(broke func()) *peerConn {
	p := x.openConn(broke)
	p.open = false
	p.transmit(requests, func() {
		if !x.ends[requests].listens() { // the port is closed
			p.closeAtServer()
			return
		}
		if p.onAccept != nil {
			if p.onAccept(); p.closed {
				return
			}
		}
		p.transmit(answers, func() {
			p.open = true
			if p.onOpen != nil {
				p.onOpen()
			}
			queue := p.queue
			p.queue = nil
			for _, send := range queue {
				send()
			}
		})
	})
	return p
}

// request sends something from the opener to the other end, which does it.
func (p *peerConn) request(do func()) { p.requestSized(peerMessageSize, do) }

func (p *peerConn) requestSized(size int64, do func()) {
	if p.closed {
		return
	}
	if !p.open {
		p.queue = append(p.queue, func() { p.requestSized(size, do) })
		return
	}
	p.transmitSized(requests, size, func() { p.link.ends[requests].runOrDefer(do) })
}

// answer sends something to the opener.
func (p *peerConn) answer(do func()) { p.answerSized(peerMessageSize, do) }

func (p *peerConn) answerSized(size int64, do func()) {
	if p.closed {
		return
	}
	p.transmitSized(answers, size, func() {
		p.link.ends[answers].runOrDefer(func() {
			if !p.silent {
				do()
			}
		})
	})
}

// transmit sends a message in one direction.
func (p *peerConn) transmit(dir int, deliver func()) { p.transmitSized(dir, peerMessageSize, deliver) }

func (p *peerConn) transmitSized(dir int, size int64, deliver func()) {
	m := &peerMessage{conn: p, dir: dir, size: size, deliver: deliver}
	if x := p.link; !x.w.ordersPeerLinks() {
		m.late = x.delay + addition(x.rand.Uint64()>>32)
	}
	if dir == answers {
		p.standing++
	}
	m.advance()
}

// advance moves a message on.
func (m *peerMessage) advance() {
	p := m.conn
	if m.isLost() {
		return
	}
	m.advances++
	s, turn := &p.link.w.s, m.advances
	switch fate, until := p.link.directions[m.dir].Pass(m, s.now); fate {
	case link.Passes, link.Refused: // no node answers here
		m.deliverLater()
		m.passed()
	case link.Stands:
		if until < link.Never {
			s.after(until-s.now, func() {
				if m.advances == turn {
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
func (m *peerMessage) passed() {
	if m.dir == answers {
		m.conn.standing--
		m.conn.sendEnd()
	}
}

// isLost reports that a message does not arrive: its connection is over. What a process had sent to the opener before it
// hung up does arrive.
func (m *peerMessage) isLost() bool { return m.conn.silent || m.conn.closed && m.dir == requests }

// deliverLater lets a message arrive, in its time, that has passed all disturbances.
func (m *peerMessage) deliverLater() {
	p := m.conn
	arrive := func() {
		if !m.isLost() {
			m.deliver()
		}
	}
	if w := p.link.w; w.ordersPeerLinks() {
		w.order.takePeerMessage(p, m.dir, arrive)
		return
	}
	free := &p.free[m.dir]
	*free = max(*free, p.link.w.s.now+m.late)
	p.link.w.s.push(event{at: *free, f: arrive})
}

// breakUp breaks the connection on its link: what is under way is lost. Its opener sees that when the end has come
// over the link.
func (p *peerConn) breakUp() {
	p.silent = true
	p.closeAtServer()
	p.sendEnd()
}

// closeAtServer closes the connection at the end that did not open it. Its opener sees that behind what had been sent to it.
func (p *peerConn) closeAtServer() {
	if p.closed {
		return
	}
	p.closed = true
	if p.link.w.ordersPeerLinks() { // when that arrives is not decided in time
		p.forget()
	}
	p.sendEnd()
	if p.onEnd != nil {
		p.onEnd()
	}
}

// sendEnd lets the end of the connection come to its opener once nothing keeps it back.
func (p *peerConn) sendEnd() {
	if !p.closed || p.endSent || p.standing > 0 && !p.silent {
		return
	}
	late := p.link.directions[answers].EndDelay(&p.flows[answers])
	if late == link.Never {
		return
	}
	p.endSent = true
	s := &p.link.w.s
	s.after(max(late+p.link.delay, p.free[answers]-s.now), func() {
		p.forget()
		if p.onBreak != nil {
			p.link.ends[answers].runOrDefer(p.onBreak)
		}
	})
}

// closeAtOpener ends the connection at its opener's end; the other end sees that when it has come there.
func (p *peerConn) closeAtOpener() {
	was := p.closed
	p.forget()
	switch w := p.link.w; {
	case was || p.onEnd == nil:
	case w.ordersPeerLinks(): // when that arrives is not decided in time
		p.onEnd()
	default:
		w.s.after(p.link.delay, p.onEnd)
	}
}

// forget lets nothing arrive any more.
func (p *peerConn) forget() {
	p.closed, p.silent = true, true
	p.link.conns = slices.DeleteFunc(p.link.conns, func(o *peerConn) bool { return o == p })
}

// breakAll breaks all connections.
func (x *peerLink) breakAll() {
	for _, p := range slices.Clone(x.conns) {
		p.breakUp()
	}
}

func (x *peerLink) disturb(d world.Disturbance, dir int) (lift func()) {
	end := x.directions[dir].Begin(d)
	return func() {
		freed, breaks := end()
		for _, m := range freed {
			m.advance()
		}
		if breaks {
			x.breakAll()
		}
		for _, p := range slices.Clone(x.conns) {
			p.sendEnd()
		}
	}
}

// breakPeerConns breaks the connections from and to a process that has died.
func (w *World) breakPeerConns(of endpoint) {
	for _, x := range w.peerLinks {
		switch of {
		case x.ends[requests]:
			for _, p := range slices.Clone(x.conns) {
				p.closeAtServer()
			}
		case x.ends[answers]:
			for _, p := range slices.Clone(x.conns) {
				p.closeAtOpener()
			}
		}
	}
}
