package virtual

import (
	"fmt"
	"slices"
)

// Dial begins to open a connection to a port of another host, on the link of the two.
func (h *Host) Dial(to string, port int, end End) (*ServerConn, error) {
	target := h.w.host(to)
	if target == nil || target.process() == nil {
		return nil, fmt.Errorf("no server answers on a host %q", to)
	}
	p := h.process()
	opener := &ServerConn{p: p, end: end, from: to, port: port}
	p.conns = append(p.conns, opener)
	far := &openerEnd{}
	opener.far = far
	x := h.w.lineLink(h, target, h.w.spec.Cluster != nil && port > BusPorts)
	far.conn = x.dial(func() { opener.broke(!far.conn.open) })
	far.conn.onOpen = func() {
		h.runOrDefer(func() {
			if !opener.over {
				end.Opened()
			}
		})
	}
	far.conn.onAccept = func() {
		taken := target.process().accept(&ServerConn{from: h.name, port: port, far: &takerEnd{far.conn, opener}})
		if far.taken = taken; taken == nil {
			far.conn.closeAtServer()
			return
		}
		far.conn.onEnd = func() { taken.broke(false) }
	}
	return opener, nil
}

// BusPorts is how much higher than for its clients a node of a Redis Cluster listens for the others.
const BusPorts = 10_000

// lineLink is the link of connections that one host opens to another, to the bus of its cluster or else.
func (w *World) lineLink(from, to *Host, bus bool) *peerLink {
	i := slices.IndexFunc(w.peerLinks, func(x *peerLink) bool {
		return x.ends[answers] == endpoint(from) && x.ends[requests] == endpoint(to) && x.name.Bus == bus
	})
	if i >= 0 {
		return w.peerLinks[i]
	}
	x := w.newPeerLink(from.name, to.name, [2]endpoint{requests: to, answers: from})
	x.name.Bus = bus
	return x
}

// openerEnd is what the connection leads to for the host that opened it, takerEnd for the one that took it.
type openerEnd struct {
	conn  *peerConn
	taken *ServerConn
}

type takerEnd struct {
	conn   *peerConn
	opener *ServerConn
}

func (e *openerEnd) push(b []byte) {
	left := e.conn.link.w.s.now
	e.conn.requestSized(int64(len(b)), func() { e.taken.receive(b, left) })
}

func (e *openerEnd) hangUp() {
	e.conn.requestSized(packet, func() {
		e.taken.broke(false)
		e.conn.closeAtServer()
	})
}

func (e *takerEnd) push(b []byte) {
	left := e.conn.link.w.s.now
	e.conn.answerSized(int64(len(b)), func() { e.opener.receive(b, left) })
}

func (e *takerEnd) hangUp() { e.conn.closeAtServer() }
