//go:build linux && amd64

package guests

import (
	"errors"

	"github.com/redlock-sim/redlock-sim/internal/redis/resp"
	"github.com/redlock-sim/redlock-sim/internal/supervisor"
	"github.com/redlock-sim/redlock-sim/internal/world/virtual"
)

// line is the half of a connection that a program has: the supervisor knows its socket, the world what it leads to.
type line struct {
	g    *guests
	conn *supervisor.Conn
	// end is which end of conn the program has.
	end int
	// send, and close, take what the program sends to the world.
	send  func(b []byte)
	close func()
	over  bool
	// of is the lock program that opened it; nil: a server did, or the world.
	of *lockProgram
	// direct takes what the program sends at once, past the world; nil: the world carries it.
	direct func(b []byte)
}

var _ supervisor.Network = (*guests)(nil)

// Dial implements supervisor.Network.
func (g *guests) Dial(c *supervisor.Conn) {
	if g.parting { // nobody asks for anything any more
		g.stirred = true
		c.Refuse()
		return
	}
	l := &line{g: g, conn: c, end: supervisor.Opener}
	g.conns[c] = l
	p, s := g.clients[c.Host], g.server(c.Host) // who asks: it may have ended when the world hears of it
	g.want(func() {
		err := errNowhere
		switch {
		case p != nil:
			err = p.dial(l)
		case s != nil:
			err = s.dial(l, g.hostAt(c.To.IP))
		}
		if err != nil {
			delete(g.conns, c)
			c.Refuse()
		}
	})
}

var errNowhere = errors.New("there is no such host")

// Sent implements supervisor.Network.
func (g *guests) Sent(c *supervisor.Conn, end int, b []byte) {
	l := g.conns[c]
	g.stirred = g.stirred || g.parting && end == supervisor.Opener
	if l != nil && l.direct != nil {
		l.direct(b)
		return
	}
	if l != nil {
		g.want(func() {
			if !l.over && l.send != nil {
				l.send(b)
			}
		})
	}
}

// Closed implements supervisor.Network. A program that sends nothing more, and still reads, counts as one that has closed.
func (g *guests) Closed(c *supervisor.Conn, _ int, _ bool) {
	if l := g.conns[c]; l != nil {
		g.want(func() {
			if !l.over && l.close != nil {
				l.over = true
				l.close()
			}
			delete(g.conns, c)
		})
	}
}

// Opened implements virtual.End.
func (l *line) Opened() { l.conn.Open() }

// Arrived implements virtual.End.
func (l *line) Arrived(b []byte) { l.conn.Deliver(l.end, b) }

// Ended implements virtual.End.
func (l *line) Ended() { l.isOver(l.conn.Finish) }

// Broke implements virtual.End.
func (l *line) Broke(refused bool) {
	l.isOver(func(end int) {
		if refused {
			l.conn.Refuse()
		} else {
			l.conn.Reset(end)
		}
	})
}

// isOver tells the program's end that the connection is over, unless the program is to close it itself.
func (l *line) isOver(tell func(end int)) {
	l.over = true
	delete(l.g.conns, l.conn)
	if l.of != nil && l.of.stays {
		l.of.old = append(l.of.old, l.conn)
	} else {
		tell(l.end)
	}
}

var _ virtual.End = (*line)(nil)

// splitter finds the commands in what a client sends.
type splitter struct {
	pending []byte
	// plain: it is not the protocol of Redis, or nobody can tell any more what stands in it.
	plain bool
}

// take takes bytes, and returns those up to the end of the last whole command, with the commands.
func (s *splitter) take(b []byte) (commands [][]string, whole []byte) {
	if s.plain {
		return nil, b
	}
	s.pending = append(s.pending, b...)
	end := 0
	for end < len(s.pending) {
		words, n, err := resp.ParseRequest(s.pending[end:])
		if errors.Is(err, resp.ErrShort) {
			break
		}
		if err != nil {
			s.plain = true
			whole, s.pending = s.pending, nil
			return commands, whole
		}
		commands = append(commands, words)
		end += n
	}
	whole = append(whole, s.pending[:end]...)
	s.pending = append([]byte(nil), s.pending[end:]...)
	return commands, whole
}
