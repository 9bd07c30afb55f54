//go:build linux && amd64

package supervisor

import (
	"encoding/binary"

	"golang.org/x/sys/unix"

	"github.com/redlock-sim/redlock-sim/internal/supervisor/launch"
)

// await lets a thread wait for descriptors. It goes on natively when one has something: then the call cannot block.
func (t *thread) await(w *wait, fds []unix.PollFd) {
	t.p.program.markPipes()
	mine, files := make([]unix.PollFd, 0, len(fds)), make([]*file, 0, len(fds))
	ready := false
	for _, f := range fds {
		if f.Fd < 0 {
			continue
		}
		set, isSignalFD := t.p.signalsOf(int(f.Fd))
		if w.signals |= set; isSignalFD {
			continue
		}
		x := t.p.file(int(f.Fd))
		if ready = x == nil || x == alwaysReady; ready {
			break
		}
		mine, files = append(mine, unix.PollFd{Fd: int32(x.fd), Events: f.Events}), append(files, x)
	}
	g := t.p.program
	// Signals first: to look at an epoll that has a signalfd makes it forget them.
	if w.masked && t.hasSignal(w.mask) || w.signals != 0 && t.hasAny(w.signals) || ready || hasNow(mine, w.signals) {
		t.goNativeUnlessInDoubt()
		return
	}
	if w.deadline > t.now() {
		w.fds, w.holds = mine, hold(files...)
		t.park(w)
		return
	}
	v, e := w.timeout()
	const often = 50
	if len(g.ready) > 0 && g.streak > often { // others go on first
		g.running--
		t.wake(launch.Response{Value: v, Error: -int32(e)})
		return
	}
	t.give(v, e)
}

// inMilliseconds is the deadline of a wait of so many; negative: none.
func (t *thread) inMilliseconds(ms int32) int64 {
	if ms < 0 {
		return never
	}
	return t.now() + int64(ms)*1e6
}

// inTime is the deadline of a wait for a struct timespec or timeval; none: the address is 0.
func (t *thread) inTime(address uint64, unit int64) int64 {
	if address == 0 {
		return never
	}
	return t.now() + max(t.p.readTime(address, unit), 0)
}

func (t *thread) epollWait() {
	a := &t.call.Args
	deadline := t.inMilliseconds(int32(a[3]))
	if t.call.NR == unix.SYS_EPOLL_PWAIT2 {
		deadline = t.inTime(a[3], timespec)
	}
	w := &wait{deadline: deadline, timeout: done}
	if t.call.NR != unix.SYS_EPOLL_WAIT {
		t.setMask(w, a[4])
	}
	t.await(w, []unix.PollFd{{Fd: int32(a[0]), Events: unix.POLLIN}})
}

// setMask notes the mask that a wait has.
func (t *thread) setMask(w *wait, at uint64) {
	if at != 0 {
		w.masked, w.mask = true, t.readSet(at)
	}
}

// hasAny reports whether one of some signals is there, also if it is blocked.
func (t *thread) hasAny(set signalSet) bool {
	s := t.signals()
	return (s.own|s.shared)&set != 0
}

func (t *thread) poll() {
	p, a := t.p, &t.call.Args
	deadline := t.inMilliseconds(int32(a[2]))
	if t.call.NR == unix.SYS_PPOLL {
		deadline = t.inTime(a[2], timespec)
	}
	const size, most = 8, 4096
	b := make([]byte, size*min(a[1], most))
	p.read(a[0], b)
	fds := make([]unix.PollFd, len(b)/size)
	for i := range fds {
		at := b[size*i:]
		fds[i] = unix.PollFd{Fd: int32(binary.LittleEndian.Uint32(at)), Events: int16(binary.LittleEndian.Uint16(at[4:]))}
	}
	w := &wait{deadline: deadline, timeout: func() (int64, unix.Errno) {
		for i := range fds {
			b[size*i+6], b[size*i+7] = 0, 0
		}
		p.write(a[0], b)
		return 0, 0
	}}
	if t.call.NR == unix.SYS_PPOLL {
		t.setMask(w, a[3])
	}
	t.await(w, fds)
}

func (t *thread) selectCall() {
	p, a := t.p, &t.call.Args
	unit := int64(timeval)
	if t.call.NR == unix.SYS_PSELECT6 {
		unit = timespec
	}
	deadline := t.inTime(a[4], unit)
	const most = 1024
	n := int(min(a[0], most))
	size := (n + 63) / 64 * 8
	var fds []unix.PollFd
	for set, events := range []int16{unix.POLLIN | unix.POLLHUP, unix.POLLOUT, unix.POLLPRI} {
		if a[1+set] == 0 {
			continue
		}
		b := make([]byte, size)
		p.read(a[1+set], b)
		for fd := range n {
			if b[fd/8]>>(fd%8)&1 != 0 {
				fds = append(fds, unix.PollFd{Fd: int32(fd), Events: events})
			}
		}
	}
	w := &wait{deadline: deadline, timeout: func() (int64, unix.Errno) {
		for set := range 3 {
			if a[1+set] != 0 {
				p.write(a[1+set], make([]byte, size))
			}
		}
		return 0, 0
	}}
	if t.call.NR == unix.SYS_PSELECT6 && a[5] != 0 {
		var b [8]byte // the mask's address and size
		p.read(a[5], b[:])
		t.setMask(w, binary.LittleEndian.Uint64(b[:]))
	}
	t.await(w, fds)
}

// input is a call that reads. It waits here, never in the kernel.
func (t *thread) input() {
	a := &t.call.Args
	flags := uint64(0)
	switch t.call.NR {
	case unix.SYS_RECVFROM, unix.SYS_RECVMMSG:
		flags = a[3]
	case unix.SYS_RECVMSG:
		flags = a[2]
	}
	if flags&unix.MSG_DONTWAIT != 0 {
		t.goNative()
		return
	}
	f := t.argFile()
	if f == nil {
		return
	}
	if f == alwaysReady {
		t.goNative()
		return
	}
	reads := t.call.NR == unix.SYS_READ || t.call.NR == unix.SYS_READV
	if reads && f.pipe != nil && f.pipe.ours {
		t.readPipe(f)
		return
	}
	set, isSignalFD := t.p.signalsOf(int(int32(a[0])))
	switch {
	case statusFlags(f.fd)&unix.O_NONBLOCK != 0, isSignalFD && t.hasAny(set), !isSignalFD && t.mayRead(f.fd, flags):
		t.goNative()
		return
	}
	t.p.countReadings()
	w := &wait{fds: []unix.PollFd{{Fd: int32(f.fd), Events: unix.POLLIN}}, timeout: func() (int64, unix.Errno) { return 0, unix.EAGAIN }}
	switch {
	case isSignalFD:
		w.fds[0].Events, w.signals = 0, set
	case flags&unix.MSG_WAITALL != 0:
		w.fds[0].Events = 0
		w.again, w.try = true, func() bool { return t.mayRead(f.fd, flags) }
	}
	w.deadline, w.holds = t.patience(f, unix.SO_RCVTIMEO), hold(f)
	t.park(w)
}

// mayRead reports whether a call that reads would not wait.
func (t *thread) mayRead(fd int, flags uint64) bool {
	if flags&unix.MSG_WAITALL == 0 {
		return has(fd, unix.POLLIN)
	}
	if has(fd, unix.POLLRDHUP) {
		return true
	}
	most := uint64(0)
	switch t.call.NR {
	case unix.SYS_RECVFROM:
		most = t.call.Args[2]
	case unix.SYS_RECVMSG:
		var b [32]byte // struct msghdr
		t.p.read(t.call.Args[1], b[:])
		list := make([]byte, 16*min(binary.LittleEndian.Uint64(b[24:]), 1024))
		t.p.read(binary.LittleEndian.Uint64(b[16:]), list)
		for ; len(list) >= 16; list = list[16:] {
			most += binary.LittleEndian.Uint64(list[8:])
		}
	}
	const fits = 100 << 10 // into the room of a socket
	if most > fits {
		t.p.program.doubt("waits with MSG_WAITALL for more than %d bytes, which is not modelled", fits)
		return true
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCINQ)
	return err != nil || uint64(n) >= most
}
