//go:build linux && amd64

package supervisor

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/redlock-sim/redlock-sim/internal/supervisor/launch"
)

// The ends of a connection.
const (
	Opener   = 0
	Listener = 1
)

// Conn is a TCP connection between two hosts. Its ends are programs, or the caller's.
type Conn struct {
	// Host is the name of the opener's.
	Host     string
	From, To Address
	// Number is its place among all connections.
	Number uint64

	s    *Supervisor
	ends [2]*connEnd
	// opener is the program's socket; nil: the caller opened it.
	opener  *socket
	stuffed bool
}

// connEnd is our side of one end.
type connEnd struct {
	c       *Conn
	end     int
	program *Program
	fd      int
	index   int
	// socket is the program's; nil: it has not accepted the connection.
	socket *socket
	// out is what has no room yet, pending what was taken before the program waited.
	out, pending []byte
	// finish: it is to be closed for writing after out; over: the program sends nothing more.
	finish, over bool
}

func (s *Supervisor) newConn(host string, from, to Address) *Conn {
	s.conns++
	return &Conn{Host: host, From: from, To: to, Number: s.conns, s: s}
}

// NewConn is a connection whose opener is the caller: it is to be opened by Open, and what comes back is told to Network.
func (s *Supervisor) NewConn(host string, from, to Address) *Conn { return s.newConn(host, from, to) }

// ErrRefused says that nobody listens.
var ErrRefused error = unix.ECONNREFUSED

// Connect lets the connection arrive at its listener's host, whose kernel takes it. An error says that nobody listens.
func (c *Conn) Connect() error {
	s := c.s
	h := s.host(c.To.IP)
	if h == nil {
		return ErrRefused
	}
	o := h.listener(c.To)
	if o == nil {
		return ErrRefused
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return fmt.Errorf("failed to make a socket: %w", err)
	}
	s.names++
	name := "@sim-" + strconv.Itoa(os.Getpid()) + "-" + strconv.FormatUint(uint64(s.hubID()), 36) + "-" + strconv.Itoa(s.names)
	if err = unix.Bind(fd, &unix.SockaddrUnix{Name: name}); err == nil {
		err = unix.Connect(fd, &o.unixAddress)
	}
	if err != nil {
		closeFD(fd)
		return ErrRefused
	}
	s.coming[name] = c
	c.ends[Listener] = &connEnd{c: c, end: Listener, program: o.program, fd: fd}
	c.ends[Listener].watch()
	o.program.dirty = true
	return nil
}

// hubID tells this supervisor's sockets from those of others in this process.
func (s *Supervisor) hubID() int { return s.hub }

// Open tells the opener that its connection is open.
func (c *Conn) Open() { c.opened(0) }

// Refuse tells the opener that there is none.
func (c *Conn) Refuse() { c.opened(unix.ECONNREFUSED) }

func (c *Conn) opened(e unix.Errno) {
	o, our := c.opener, c.ends[Opener]
	if o == nil || our == nil || our.fd < 0 || o.state != connecting {
		return
	}
	if our.program.ended { // nobody has that socket any more: a kernel answers by a reset
		closeFD(our.fd)
		our.fd = -1
		c.Reset(Listener)
		return
	}
	if c.stuffed {
		unstuff(our.fd)
	}
	if e != 0 {
		o.state, o.err = refused, e
		closeFD(our.fd)
		our.fd = -1
	} else {
		o.state = connected
		our.watch()
	}
	our.program.dirty = true
	if t := o.waiter; t != nil {
		o.waiter = nil
		if t.wait == nil || t.p.zombie {
			return
		}
		if e != 0 {
			o.err = 0
		}
		t.wake(launch.Response{Error: -int32(e)})
	}
}

func unstuff(fd int) {
	var buf [64 << 10]byte
	for {
		n, err := unix.Read(fd, buf[:])
		if n <= 0 || err != nil {
			return
		}
	}
}

func (e *connEnd) watch() {
	g := e.program
	g.lastConn++
	e.index = g.lastConn
	g.conns[e.index] = e
	g.watchFD(e.fd, e.index)
}

// collect takes what a program has written to a connection.
func (e *connEnd) collect() {
	all := e.pending
	e.pending = nil
	over := false
	var buf [16 << 10]byte
	for e.fd >= 0 && !e.over {
		n, err := unix.Read(e.fd, buf[:])
		if n > 0 {
			all = append(all, buf[:n]...)
			continue
		}
		if errors.Is(err, unix.EINTR) {
			continue
		}
		over = !errors.Is(err, unix.EAGAIN)
		break
	}
	s := e.c.s
	if len(all) > 0 {
		s.told = true
		s.Network.Sent(e.c, e.end, all)
	}
	if over {
		e.over = true
		gone := has(e.fd, 0) // POLLHUP: closed in both directions
		_ = unix.EpollCtl(e.program.watches, unix.EPOLL_CTL_DEL, e.fd, nil)
		if gone {
			e.drop()
		}
		s.told = true
		s.Network.Closed(e.c, e.end, gone)
	}
}

// drop forgets a connection that the program has closed, or that is to be.
func (e *connEnd) drop() {
	closeFD(e.fd)
	delete(e.program.conns, e.index)
	e.fd = -1
}

// spoil writes a byte from a program's socket that nobody will read: if a Unix socket is closed with something left in it, the
// other end has an error.
func (o *socket) spoil() {
	if o != nil && !o.closed {
		_, _ = unix.SendmsgN(o.file.fd, []byte{0}, nil, nil, unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT)
	}
}

// IsOpen reports whether a program has its end open. What it has closed while it was to be opened is not seen otherwise.
func (c *Conn) IsOpen(end int) bool {
	e := c.live(end)
	return e != nil && (e.socket == nil || !e.socket.closed)
}

// live is our side of an end; nil: it is closed, or the caller's.
func (c *Conn) live(end int) *connEnd {
	if e := c.ends[end]; e != nil && e.fd >= 0 {
		return e
	}
	return nil
}

// Deliver hands an end what was sent to it; false: it is closed, and takes nothing more.
func (c *Conn) Deliver(end int, b []byte) bool {
	e := c.live(end)
	if e == nil {
		return false
	}
	if e.out = append(e.out, b...); len(e.out) > mostInPipe {
		e.program.doubt("has not read %d MB of a connection", mostInPipe>>20)
	}
	e.flush()
	return true
}

func (e *connEnd) flush() {
	for len(e.out) > 0 && e.fd >= 0 {
		n, err := unix.SendmsgN(e.fd, e.out, nil, nil, unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if errors.Is(err, unix.EPIPE) || errors.Is(err, unix.ECONNRESET) {
			e.out = nil // it is closed
			break
		}
		if n <= 0 {
			break
		}
		e.out = e.out[n:]
		e.program.dirty = true
	}
	if e.finish && len(e.out) == 0 && e.fd >= 0 {
		_ = unix.Shutdown(e.fd, unix.SHUT_WR)
		e.finish, e.program.dirty = false, true
	}
	if len(e.out) > 0 {
		e.program.full = true
	} else {
		e.out = nil
	}
}

// Finish tells an end that the other sends nothing more.
func (c *Conn) Finish(end int) {
	if e := c.live(end); e != nil {
		e.finish = true
		e.flush()
	}
}

// Reset breaks an end: what it has not read stays readable, and then there is an error.
func (c *Conn) Reset(end int) {
	if e := c.live(end); e != nil {
		e.over = true
		e.socket.spoil()
		e.drop()
		e.program.dirty = true
	}
}
