//go:build linux && amd64

package supervisor

import (
	"encoding/binary"
	"strings"

	"golang.org/x/sys/unix"
)

// socket is what is known of a program's TCP or UDP socket. The program has a Unix socket in its place: what it waits for, reads and
// writes is native. The other end of its connection is ours.
type socket struct {
	program       *Program
	local, remote Address
	bound         bool
	listening     bool
	// unixAddress is a listener's own.
	unixAddress unix.SockaddrUnix
	file        *file
	// nowhere is the other end of a UDP socket, which nobody reads; 0: it is a TCP socket.
	nowhere int
	// closed: no process has it open.
	closed bool
	state  socketState
	// err is for SO_ERROR.
	err unix.Errno
	// waiter stands in connect.
	waiter *thread
	// patience are SO_RCVTIMEO and SO_SNDTIMEO: the kernel would round them.
	patience map[uint64]int64
}

type socketState uint8

const (
	fresh socketState = iota
	connecting
	connected
	refused
)

func inodeOf(fd int) uint64 {
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil {
		return 0
	}
	return st.Ino
}

// socket makes a socket. Of those that are not modelled there is none on this machine: so no packet leaves it.
func (t *thread) socket() {
	a := &t.call.Args
	const kinds = 15
	switch {
	case a[0] == unix.AF_UNIX && a[1]&kinds != unix.SOCK_DGRAM: // a datagram may go to anybody
		t.makeHere(unix.SYS_SOCKET, unix.AF_UNIX, uintptr(a[1]|unix.SOCK_CLOEXEC), uintptr(a[2]), a[1]&unix.SOCK_CLOEXEC != 0)
		return
	case a[0] == unix.AF_INET && a[1]&kinds == unix.SOCK_DGRAM:
		t.datagrams(int(a[1]))
		return
	case a[0] != unix.AF_INET || a[1]&kinds != unix.SOCK_STREAM:
		t.fail(unix.EAFNOSUPPORT)
		return
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|int(a[1])&unix.SOCK_NONBLOCK, 0)
	if err != nil {
		t.failWith(err)
		return
	}
	t.handSocket(fd, &socket{program: t.p.program}, a[1]&unix.SOCK_CLOEXEC != 0)
}

// datagrams makes a UDP socket on a host that has no way to anybody: what is sent there is refused, and nothing comes. Some libraries
// want to have one before they know whether they need it.
func (t *thread) datagrams(flags int) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|flags&unix.SOCK_NONBLOCK, 0)
	if err != nil {
		t.failWith(err)
		return
	}
	t.handSocket(pair[0], &socket{program: t.p.program, nowhere: pair[1]}, flags&unix.SOCK_CLOEXEC != 0)
}

// handSocket answers a call with a socket; nil: a Unix socket of the program's own.
func (t *thread) handSocket(fd int, o *socket, closeOnExec bool) {
	f := newFile(fd)
	if f.socket = o; o != nil {
		o.file = f
	}
	t.handFile(f, closeOnExec)
	f.drop()
}

// readAddress reads a struct sockaddr.
func (p *process) readAddress(at, size uint64) (x Address, family uint16, path string) {
	b := make([]byte, min(size, 128))
	if p.read(at, b); len(b) < 2 {
		return x, 0, ""
	}
	family = binary.LittleEndian.Uint16(b)
	switch {
	case family == unix.AF_UNIX:
		path = string(b[2:])
		if !strings.HasPrefix(path, "\x00") { // it has the name of a file, and what stands behind that says nothing
			path, _, _ = strings.Cut(path, "\x00")
		}
		return x, family, path
	case len(b) >= 8:
		copy(x.IP[:], b[4:8])
		x.Port = int(binary.BigEndian.Uint16(b[2:]))
	}
	return x, family, ""
}

func (p *process) writeAddress(at, size uint64, x Address) {
	if at == 0 {
		return
	}
	b := make([]byte, 16)
	binary.LittleEndian.PutUint16(b, unix.AF_INET)
	binary.BigEndian.PutUint16(b[2:], uint16(x.Port))
	copy(b[4:], x.IP[:])
	room, _ := p.readWord(size)
	p.write(at, b[:min(16, room)])
	p.writeWord(size, 16)
}

// withSocket does something with the call's socket; a socket of another kind is the kernel's.
func (t *thread) withSocket(do func(o *socket, fd int)) {
	f := t.argFile()
	switch {
	case f == nil:
	case f.socket == nil:
		t.goNative()
	default:
		do(f.socket, f.fd)
	}
}

func isLoopback(ip [4]byte) bool { return ip == [4]byte{127, 0, 0, 1} }

func (t *thread) bind() {
	a, h := &t.call.Args, t.host()
	t.withSocket(func(o *socket, _ int) {
		x, _, _ := t.p.readAddress(a[1], a[2])
		if x.IP != h.IP && x.IP != [4]byte{} && !isLoopback(x.IP) {
			t.fail(unix.EADDRNOTAVAIL)
			return
		}
		if x.Port != 0 && o.nowhere == 0 && h.listener(x) != nil {
			t.fail(unix.EADDRINUSE)
			return
		}
		if x.Port == 0 {
			x.Port = h.port()
		}
		o.local, o.bound = x, true
		t.answer(0)
	})
}

func (t *thread) listen() {
	a, h := &t.call.Args, t.host()
	t.withSocket(func(o *socket, fd int) {
		if o.nowhere != 0 {
			t.fail(unix.EOPNOTSUPP)
			return
		}
		if o.listening {
			t.answer(0)
			return
		}
		if o.local.Port == 0 {
			o.local.Port = h.port()
		}
		if h.listener(o.local) != nil {
			t.fail(unix.EADDRINUSE)
			return
		}
		const least, most = 16, 4096
		err := unix.Bind(fd, &unix.SockaddrUnix{})
		if err == nil {
			err = unix.Listen(fd, int(min(max(a[1], least), most)))
		}
		var at unix.Sockaddr
		if err == nil {
			at, err = unix.Getsockname(fd)
		}
		u, ok := at.(*unix.SockaddrUnix)
		if err != nil || !ok {
			t.failWith(err)
			return
		}
		o.unixAddress, o.listening = *u, true
		h.listeners = append(h.listeners, o)
		t.answer(0)
	})
}

// listener is the socket that listens on an address of the host; nil: none does.
func (h *Host) listener(x Address) *socket {
	for i := len(h.listeners) - 1; i >= 0; i-- {
		o := h.listeners[i]
		if o.local.Port != x.Port || o.local.IP != x.IP && o.local.IP != [4]byte{} && x.IP != [4]byte{} {
			continue
		}
		if !o.closed {
			return o
		}
		h.listeners = append(h.listeners[:i:i], h.listeners[i+1:]...) // it was closed
	}
	return nil
}

// Listens reports whether a program of the host listens on a port.
func (h *Host) Listens(port int) bool { return h.listener(Address{h.IP, port}) != nil }

func (h *Host) forgetListeners(g *Program) {
	kept := h.listeners[:0:0]
	for _, o := range h.listeners {
		if o.program != g {
			kept = append(kept, o)
		}
	}
	h.listeners = kept
}

func (t *thread) getsockname() {
	a := &t.call.Args
	t.withSocket(func(o *socket, _ int) {
		t.p.writeAddress(a[1], a[2], o.local)
		t.answer(0)
	})
}

func (t *thread) getpeername() {
	a := &t.call.Args
	t.withSocket(func(o *socket, _ int) {
		if o.state != connected {
			t.fail(unix.ENOTCONN)
			return
		}
		t.p.writeAddress(a[1], a[2], o.remote)
		t.answer(0)
	})
}

// setsockopt: what belongs to TCP is of no effect here; what belongs to any socket is the kernel's.
func (t *thread) setsockopt() {
	a := &t.call.Args
	t.withSocket(func(o *socket, _ int) {
		switch {
		case a[1] != unix.SOL_SOCKET:
			t.answer(0)
		case a[2] == unix.SO_RCVTIMEO || a[2] == unix.SO_SNDTIMEO:
			if o.patience == nil {
				o.patience = make(map[uint64]int64)
			}
			o.patience[a[2]] = t.p.readTime(a[3], timeval)
			t.goNative()
		default:
			t.goNative()
		}
	})
}

// patience is the deadline of a wait at a socket that has a timeout.
func (t *thread) patience(f *file, option uint64) int64 {
	d := int64(0)
	if f.socket != nil {
		d = f.socket.patience[option]
	} else if tv, err := unix.GetsockoptTimeval(f.fd, unix.SOL_SOCKET, int(option)); err == nil {
		d = tv.Nano()
	}
	if d == 0 {
		return never
	}
	return t.now() + d
}

func (t *thread) getsockopt() {
	p, a := t.p, &t.call.Args
	put := func(v uint32) {
		p.writeWord(a[3], v)
		p.writeWord(a[4], 4)
		t.answer(0)
	}
	t.withSocket(func(o *socket, _ int) {
		switch {
		case a[1] == unix.SOL_SOCKET && a[2] == unix.SO_ERROR && o.err != 0:
			put(uint32(o.err))
			o.err = 0
		case a[1] == unix.SOL_SOCKET && a[2] == unix.SO_DOMAIN:
			put(unix.AF_INET)
		case a[1] == unix.SOL_SOCKET && a[2] == unix.SO_PROTOCOL && o.nowhere != 0:
			put(unix.IPPROTO_UDP)
		case a[1] == unix.SOL_SOCKET && a[2] == unix.SO_PROTOCOL:
			put(unix.IPPROTO_TCP)
		case a[1] == unix.SOL_SOCKET && a[2] == unix.SO_TYPE && o.nowhere != 0:
			put(unix.SOCK_DGRAM)
		case a[1] == unix.SOL_SOCKET:
			t.goNative()
		case a[1] == unix.IPPROTO_TCP && a[2] == unix.TCP_NODELAY:
			put(1)
		default:
			t.fail(unix.ENOPROTOOPT)
		}
	})
}

// connectUnix lets a program connect to a Unix socket of its own, and to no other: what listens on this machine knows nothing of
// virtual time.
func (t *thread) connectUnix(path string) {
	if t.p.program.host.ownsPath(path) {
		t.goNative()
		return
	}
	t.fail(unix.ENOENT)
}

func (t *thread) connect() {
	p, a, h := t.p, &t.call.Args, t.host()
	x, family, path := p.readAddress(a[1], a[2])
	if family == unix.AF_UNIX {
		t.connectUnix(path)
		return
	}
	t.withSocket(func(o *socket, fd int) {
		switch {
		case family != unix.AF_INET:
			t.fail(unix.EAFNOSUPPORT)
			return
		case o.nowhere != 0:
			t.fail(unix.ENETUNREACH)
			return
		}
		switch o.state {
		case connecting:
			t.fail(unix.EALREADY)
		case connected:
			t.fail(unix.EISCONN)
		case refused:
			e := o.err
			if o.err = 0; e == 0 {
				e = unix.ECONNABORTED
			}
			t.fail(e)
		case fresh:
			if isLoopback(x.IP) || x.IP == [4]byte{} {
				x.IP = h.IP
			}
			t.dial(o, fd, x)
		}
	})
}

// stuffing fills a socket whose connection is not open yet, so that it is not writable.
var stuffing [8 << 10]byte

const stuffed = 1 << 20

// dial opens a connection for a program.
func (t *thread) dial(o *socket, fd int, to Address) {
	g, h := t.p.program, t.host()
	s := h.s
	if err := unix.Connect(fd, &s.hubAddress); err != nil {
		t.failWith(err)
		return
	}
	ours, _, err := unix.Accept4(s.hub, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
	if err != nil {
		t.failWith(err)
		return
	}
	if !o.bound || o.local.IP == [4]byte{} || isLoopback(o.local.IP) {
		o.local.IP = h.IP
	}
	if o.local.Port == 0 {
		o.local.Port = h.port()
	}
	o.remote, o.state = to, connecting
	c := s.newConn(h.Name, o.local, to)
	c.opener = o
	c.ends[Opener] = &connEnd{c: c, end: Opener, program: g, fd: ours, socket: o}
	nonblocking := statusFlags(fd)&unix.O_NONBLOCK != 0
	if nonblocking {
		for range stuffed / len(stuffing) {
			if _, err := unix.SendmsgN(fd, stuffing[:], nil, nil, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL); err != nil {
				c.stuffed = true
				break
			}
		}
		t.fail(unix.EINPROGRESS)
	} else {
		o.waiter = t
		w := &wait{deadline: t.patience(o.file, unix.SO_SNDTIMEO), timeout: func() (int64, unix.Errno) {
			o.waiter = nil
			return 0, unix.EINPROGRESS
		}}
		t.park(w)
	}
	s.told = true
	s.Network.Dial(c)
}

func (t *thread) accept() {
	p, a := t.p, &t.call.Args
	f := t.argFile()
	if f == nil {
		return
	}
	flags := 0
	if t.call.NR == unix.SYS_ACCEPT4 {
		flags = int(a[3])
	}
	if f.fd >= 0 && !has(f.fd, unix.POLLIN) && statusFlags(f.fd)&unix.O_NONBLOCK == 0 {
		t.awaitInput(f)
		return
	}
	accepted, from, err := unix.Accept4(f.fd, unix.SOCK_CLOEXEC|flags&unix.SOCK_NONBLOCK)
	if err != nil {
		t.failWith(err)
		return
	}
	u, ok := from.(*unix.SockaddrUnix)
	if f.socket == nil {
		if ok {
			p.writeUnixAddress(a[1], a[2], u.Name)
		}
		t.handSocket(accepted, nil, flags&unix.SOCK_CLOEXEC != 0)
		return
	}
	s := t.host().s
	if !ok || s.coming[u.Name] == nil {
		closeFD(accepted)
		s.unknown("%s has a connection from nowhere", t.host().Name)
		t.fail(unix.ECONNABORTED)
		return
	}
	c := s.coming[u.Name]
	delete(s.coming, u.Name)
	o := &socket{program: p.program, local: c.To, remote: c.From, state: connected, bound: true}
	if e := c.ends[Listener]; e != nil {
		e.socket = o
	}
	p.writeAddress(a[1], a[2], c.From)
	t.handSocket(accepted, o, flags&unix.SOCK_CLOEXEC != 0)
}

// awaitInput lets a call wait until a file has something, and carries it out again then.
func (t *thread) awaitInput(f *file) {
	t.park(&wait{deadline: t.patience(f, unix.SO_RCVTIMEO), again: true, fds: []unix.PollFd{{Fd: int32(f.fd), Events: unix.POLLIN}},
		holds: hold(f), timeout: func() (int64, unix.Errno) { return 0, unix.EAGAIN }})
}

// writeUnixAddress writes a struct sockaddr_un.
func (p *process) writeUnixAddress(at, size uint64, name string) {
	if at == 0 {
		return
	}
	b := binary.LittleEndian.AppendUint16(nil, unix.AF_UNIX)
	switch {
	case strings.HasPrefix(name, "@"):
		b = append(append(b, 0), name[1:]...)
	case name != "":
		b = append(append(b, name...), 0)
	}
	room, _ := p.readWord(size)
	p.write(at, b[:min(len(b), int(room))])
	p.writeWord(size, uint32(len(b)))
}
