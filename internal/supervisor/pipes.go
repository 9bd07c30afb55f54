//go:build linux && amd64

package supervisor

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// pipe is a pipe, of both ends. If it is ours, we answer its readers: what it holds does not fit into the kernel's, or is random and
// never ends. A byte in the kernel's pipe stands for what we have, so that who waits for the pipe sees that there is something.
type pipe struct {
	ours, random bool
	// text is what was taken out of the kernel's pipe; marked: there is a byte in that which is not the program's.
	text   []byte
	marked bool
	ends   []*file
}

// newPipe makes files of the ends of a pipe.
func newPipe(x *pipe, fds ...int) *pipe {
	for _, fd := range fds {
		f := newFile(fd)
		f.pipe = x
		x.ends = append(x.ends, f)
	}
	return x
}

// mostInPipe bounds what we keep of a pipe.
const mostInPipe = 256 << 20

// pipeRoom is the room of a pipe that we make, so that who writes to it seldom has to wait.
const pipeRoom = 1 << 20

func growPipe(fd int) {
	_, _, _ = unix.RawSyscall(unix.SYS_FCNTL, uintptr(fd), unix.F_SETPIPE_SZ, pipeRoom)
}

// pipe gives a program a pipe with much room.
func (t *thread) pipe() {
	flags := 0
	if t.call.NR == unix.SYS_PIPE2 {
		flags = int(t.call.Args[1])
	}
	var fds [2]int
	if err := unix.Pipe2(fds[:], flags|unix.O_CLOEXEC); err != nil {
		t.failWith(err)
		return
	}
	growPipe(fds[0])
	t.handPair(t.call.Args[0], newPipe(&pipe{}, fds[:]...).ends, flags&unix.O_CLOEXEC != 0)
}

// randomPipe is a pipe of random bytes that never ends, in the place of /dev/urandom.
func randomPipe() (*file, error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return nil, err
	}
	_, err := unix.Write(fds[1], []byte{0})
	closeFD(fds[1])
	return newPipe(&pipe{ours: true, random: true, marked: true}, fds[0]).ends[0], err
}

// takeOut takes out of the kernel's pipe what is in it.
func (x *pipe) takeOut(fd int) {
	waiting, err := unix.IoctlGetInt(fd, unix.TIOCINQ)
	if err != nil || waiting == 0 {
		return
	}
	b := make([]byte, waiting)
	n, err := unix.Read(fd, b)
	if n <= 0 || err != nil {
		return
	}
	b = b[:n]
	if x.marked {
		b = b[1:]
	}
	x.text, x.marked = append(x.text, b...), false
}

// mark puts a byte into the kernel's pipe, if it is empty, through any of its ends. Nobody may write to it at the same time.
func (x *pipe) mark() {
	if len(x.text) == 0 || x.marked {
		return
	}
	i := slices.IndexFunc(x.ends, func(f *file) bool { return f.fd >= 0 })
	if i < 0 {
		return
	}
	if waiting, err := unix.IoctlGetInt(x.ends[i].fd, unix.TIOCINQ); err != nil || waiting > 0 {
		return
	}
	fd, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", x.ends[i].fd), unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	_, err = unix.Write(fd, []byte{0})
	x.marked = err == nil
	closeFD(fd)
}

// markPipes marks those that were emptied while a thread wrote to them.
func (g *Program) markPipes() {
	for _, x := range g.emptied {
		x.mark()
	}
	g.emptied = nil
}

// readPipe answers a thread that reads from a pipe.
func (t *thread) readPipe(f *file) {
	most, x := t.roomToRead(), f.pipe
	if x.random {
		b := make([]byte, min(most, 1<<20))
		t.p.program.random(b)
		t.give(int64(t.fillRoom(b)), 0)
		return
	}
	x.takeOut(f.fd)
	if len(x.text) == 0 {
		switch {
		case most == 0 || has(f.fd, 0): // who writes has closed it
			t.answer(0)
		case statusFlags(f.fd)&unix.O_NONBLOCK != 0:
			t.fail(unix.EAGAIN)
		default:
			t.awaitInput(f)
		}
		return
	}
	n := t.fillRoom(x.text[:min(len(x.text), most)])
	if x.text = x.text[n:]; len(x.text) == 0 {
		x.text = nil
	}
	x.mark()
	t.answer(int64(n))
}

// roomToRead is how much a read or readv asks for.
func (t *thread) roomToRead() (room int) {
	for _, v := range t.vector() {
		room += int(v[1])
	}
	return room
}

// fillRoom puts what was read where a read or readv wants it.
func (t *thread) fillRoom(b []byte) (n int) {
	for _, v := range t.vector() {
		part := b[n:min(len(b), n+int(v[1]))]
		if !t.p.write(v[0], part) {
			break
		}
		n += len(part)
	}
	return n
}

// vector are the addresses and sizes of what a read or readv fills.
func (t *thread) vector() (list [][2]uint64) {
	a := &t.call.Args
	const largest = 1 << 30
	if t.call.NR == unix.SYS_READ {
		return [][2]uint64{{a[1], min(a[2], largest)}}
	}
	const most = 1024
	b := make([]byte, 16*min(a[2], most))
	t.p.read(a[1], b)
	for ; len(b) >= 16; b = b[16:] {
		list = append(list, [2]uint64{binary.LittleEndian.Uint64(b), min(binary.LittleEndian.Uint64(b[8:]), largest)})
	}
	return list
}

// relieveWriters makes room for threads that natively wait to write: what is in a pipe or a connection is taken. No time passes,
// and no other thread runs. It reports whether there was such a thread.
func (g *Program) relieveWriters() (any bool) {
	for _, p := range g.processes {
		if p.zombie {
			continue
		}
		for _, t := range p.threads {
			if t.wait != nil {
				continue
			}
			text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/syscall", p.pid, t.tid))
			var nr, fd int
			if n, _ := fmt.Sscanf(string(text), "%d 0x%x", &nr, &fd); n != 2 {
				continue
			}
			switch nr {
			case unix.SYS_WRITE, unix.SYS_WRITEV, unix.SYS_SENDTO, unix.SYS_SENDMSG, unix.SYS_SENDMMSG, unix.SYS_SENDFILE:
				if g.relieve(p, fd) {
					g.host.s.watch.progress.Add(1)
					any = true
				}
			}
		}
	}
	return any
}

// relieve makes room behind a descriptor to which a thread waits to write.
func (g *Program) relieve(p *process, fd int) bool {
	path := fmt.Sprintf("/proc/%d/fd/%d", p.pid, fd)
	var st unix.Stat_t
	if unix.Stat(path, &st) != nil {
		return false
	}
	switch {
	case st.Ino == inodeOf(g.outs):
		g.collectOutput()
		return true
	case st.Ino == inodeOf(g.errs):
		g.collectErrors()
		return true
	case st.Mode&unix.S_IFMT == unix.S_IFSOCK:
		return g.relieveSocket(p, fd)
	}
	f := p.files.files[fd]
	if f == nil || f.pipe == nil {
		return false
	}
	end, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer closeFD(end)
	x := f.pipe
	x.ours = true
	x.takeOut(end)
	if len(x.text) > mostInPipe {
		g.doubt("has more than %d MB in a pipe", mostInPipe>>20)
	}
	g.emptied = append(g.emptied, x)
	return true
}

// relieveSocket takes what is in a connection, or lets another socket have more room.
func (g *Program) relieveSocket(p *process, fd int) (relieved bool) {
	f := p.file(fd)
	if f == nil {
		return false
	}
	if f.socket == nil {
		size, err := unix.GetsockoptInt(f.fd, unix.SOL_SOCKET, unix.SO_SNDBUF)
		return err == nil && unix.SetsockoptInt(f.fd, unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, min(4*size, mostInPipe)) == nil
	}
	var buf [64 << 10]byte
	for _, e := range g.conns {
		for e.fd >= 0 && !e.over {
			n, err := unix.Read(e.fd, buf[:])
			if errors.Is(err, unix.EINTR) {
				continue
			}
			if n <= 0 {
				break
			}
			e.pending = append(e.pending, buf[:n]...) // collect tells of it
			g.full, relieved = true, true
		}
	}
	return relieved
}
