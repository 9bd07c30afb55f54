package locktest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/redis/resp"
	"github.com/redlock-sim/redlock-sim/internal/world/virtual"
)

// address is where the i-th node is said to listen.
func address(i int) string { return tcpAddress(i).String() }

func tcpAddress(i int) *net.TCPAddr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 6379 + i} }

// conn is a library's end of a connection to a node.
type conn struct {
	l    *guest
	node int
	// number is its place among those to the node.
	number uint64
	// guestConn is the world's connection.
	guestConn *virtual.GuestConn
	// opened is closed when it is open, or was refused.
	opened chan struct{}
	// readable tells a reader to look again, reading that there is one.
	readable chan struct{}
	reading  bool

	mu       sync.Mutex
	sent     uint64
	in       []byte
	pending  []byte // what came of a command that is not complete
	err      error  // why it is over
	deadline time.Time
	timer    *time.Timer
}

var (
	_ net.Conn    = (*conn)(nil)
	_ virtual.End = (*conn)(nil)
)

// dial opens a connection.
func (l *guest) dial(ctx context.Context, network string, node int) (net.Conn, error) {
	failed := func(err error) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: network, Addr: tcpAddress(node), Err: err}
	}
	if l.ctx.Err() != nil {
		return failed(net.ErrClosed)
	}
	c := &conn{l: l, node: node, opened: make(chan struct{}), readable: make(chan struct{}, 1)}
	l.g.mu.Lock()
	l.dialled[node]++
	c.number = l.dialled[node]
	l.g.mu.Unlock()
	c.want(func() { c.guestConn = l.m.Dial(node, c) })
	select {
	case <-c.opened:
	case <-ctx.Done():
		_ = c.Close()
		return failed(ctx.Err())
	case <-l.ctx.Done():
		_ = c.Close()
		return failed(net.ErrClosed)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return failed(c.err)
	}
	return c, nil
}

// want puts a wish to the world, when the process runs.
func (c *conn) want(do func()) {
	c.mu.Lock()
	c.sent++
	w := wish{client: c.l.number, node: c.node, line: c.number, number: c.sent, do: func() { c.l.m.Do(do) }}
	c.mu.Unlock()
	c.l.g.want(w)
}

// Opened implements virtual.End.
func (c *conn) Opened() {
	c.l.g.stirred = true
	close(c.opened)
}

// Arrived implements virtual.End.
func (c *conn) Arrived(b []byte) {
	c.mu.Lock()
	c.in = append(c.in, b...)
	c.mu.Unlock()
	c.look()
}

// Ended implements virtual.End.
func (c *conn) Ended() { c.Broke(false) }

// Broke implements virtual.End. Readers see the end.
func (c *conn) Broke(refused bool) {
	c.mu.Lock()
	if c.err = io.EOF; refused {
		c.err = syscall.ECONNREFUSED
	}
	c.mu.Unlock()
	if refused {
		c.Opened()
	}
	c.look()
}

// look lets a reader look again.
func (c *conn) look() {
	c.l.g.stirred = true
	c.wake()
}

func (c *conn) wake() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reading {
		c.reading = false
		c.readable <- struct{}{}
	}
}

// Read implements net.Conn.
func (c *conn) Read(b []byte) (int, error) {
	for {
		c.mu.Lock()
		if n := copy(b, c.in); n > 0 {
			if c.in = c.in[n:]; len(c.in) == 0 {
				c.in = nil
			}
			c.mu.Unlock()
			return n, nil
		}
		err, left := c.err, time.Duration(0)
		if !c.deadline.IsZero() {
			if left = time.Until(c.deadline); left <= 0 && err == nil {
				err = os.ErrDeadlineExceeded
			}
		}
		if err != nil {
			c.mu.Unlock()
			if errors.Is(err, io.EOF) {
				return 0, io.EOF
			}
			return 0, c.failure("read", err)
		}
		c.expire(left)
		c.reading = true
		c.mu.Unlock()
		<-c.readable
	}
}

// expire lets a reader look again after a while; the caller holds mu.
func (c *conn) expire(after time.Duration) {
	switch {
	case after <= 0:
		if c.timer != nil {
			c.timer.Stop()
		}
	case c.timer == nil:
		c.timer = time.AfterFunc(after, c.wake)
	default:
		c.timer.Reset(after)
	}
}

func (c *conn) failure(op string, err error) error {
	return &net.OpError{Op: op, Net: "tcp", Addr: tcpAddress(c.node), Err: err}
}

// Write implements net.Conn.
func (c *conn) Write(b []byte) (int, error) {
	c.mu.Lock()
	err := c.err
	var commands [][]string
	var sent []byte
	if err == nil {
		c.pending = append(c.pending, b...)
		commands, sent, err = c.complete()
	}
	strange := err != nil && c.err == nil
	c.mu.Unlock()
	if strange {
		c.want(func() { c.l.g.Unknown("what was written on a connection, which is no array of bulks") })
	}
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = syscall.EPIPE
		}
		return 0, c.failure("write", err)
	}
	if len(commands) > 0 {
		c.want(func() { c.guestConn.Send(commands, sent) })
	}
	return len(b), nil
}

// complete takes the whole commands out of what has been written; the caller holds mu.
func (c *conn) complete() (commands [][]string, in []byte, err error) {
	rest := c.pending
	for len(rest) > 0 {
		words, n, err := resp.ParseCommand(rest)
		if errors.Is(err, resp.ErrShort) {
			break
		}
		if err != nil {
			return nil, nil, fmt.Errorf("what was written is no command of Redis: %w", err)
		}
		commands = append(commands, words)
		rest = rest[n:]
	}
	in = slices.Clone(c.pending[:len(c.pending)-len(rest)])
	c.pending = append(c.pending[:0], rest...)
	return commands, in, nil
}

// Close implements net.Conn.
func (c *conn) Close() error {
	c.mu.Lock()
	if c.err == nil || errors.Is(c.err, io.EOF) {
		c.err = net.ErrClosed
	}
	c.expire(0)
	c.mu.Unlock()
	c.wake()
	c.want(func() {
		if c.guestConn != nil {
			c.guestConn.Close()
		}
	})
	return nil
}

// LocalAddr implements net.Conn.
func (c *conn) LocalAddr() net.Addr {
	return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 10_000 + 1000*c.l.number + int(c.number)}
}

// RemoteAddr implements net.Conn.
func (c *conn) RemoteAddr() net.Addr { return tcpAddress(c.node) }

// SetDeadline implements net.Conn.
func (c *conn) SetDeadline(t time.Time) error { return c.SetReadDeadline(t) }

// SetReadDeadline implements net.Conn.
func (c *conn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	c.deadline = t
	c.mu.Unlock()
	c.wake()
	return nil
}

// SetWriteDeadline implements net.Conn. A write never waits.
func (c *conn) SetWriteDeadline(time.Time) error { return nil }
