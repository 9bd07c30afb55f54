//go:build linux && amd64

package supervisor

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/redlock-sim/redlock-sim/internal/supervisor/launch"
)

func init() {
	carry((*thread).socketpair, unix.SYS_SOCKETPAIR)
	carry((*thread).epollCreate, unix.SYS_EPOLL_CREATE, unix.SYS_EPOLL_CREATE1)
	carry((*thread).eventfd, unix.SYS_EVENTFD, unix.SYS_EVENTFD2)
	carry((*thread).inotify, unix.SYS_INOTIFY_INIT, unix.SYS_INOTIFY_INIT1)
	carry((*thread).pidfdOpen, unix.SYS_PIDFD_OPEN)
	carry((*thread).close, unix.SYS_CLOSE)
	carry((*thread).closeRange, unix.SYS_CLOSE_RANGE)
	carry((*thread).dup, unix.SYS_DUP)
	carry((*thread).dupTo, unix.SYS_DUP2, unix.SYS_DUP3)
}

// file is an open file of programs. We have a copy of those that a program can wait for, because we have made them: so no right is
// needed to look at them.
type file struct {
	// fd is our copy; -1: there is none, for the file is always ready.
	fd int
	// uses counts the programs' descriptors that lead to it, and who waits for it. Then the copy is closed, too: else the other end of
	// a connection or pipe would not see that this one is closed.
	uses int

	socket *socket
	pipe   *pipe
	timer  *timer
}

// hold keeps files open for who waits for them.
func hold(files ...*file) []*file {
	for _, f := range files {
		f.uses++
	}
	return files
}

// alwaysReady stands for files on a disk, /dev/null and such.
var alwaysReady = &file{fd: -1}

// newFile is a file with one use, that of who makes it.
func newFile(fd int) *file { return &file{fd: fd, uses: 1} }

// drop ends one use.
func (f *file) drop() {
	if f == alwaysReady {
		return
	}
	if f.uses--; f.uses > 0 {
		return
	}
	_ = unix.Shutdown(f.fd, unix.SHUT_RDWR) // of a socket the end is seen at once, whoever has a copy for a moment
	closeFD(f.fd)
	f.fd = -1
	if f.timer != nil {
		f.timer.forget()
	}
	if o := f.socket; o != nil {
		o.closed = true
		if o.nowhere != 0 {
			closeFD(o.nowhere)
		}
	}
}

// table has the descriptors of a process, or of several that share them. What is not in it was made natively and not asked for yet.
type table struct {
	users int
	files map[int]*file
}

func (b *table) set(number int, f *file) {
	b.unset(number)
	b.files[number] = f
	if f != alwaysReady { // it is that of all supervisors
		f.uses++
	}
}

func (b *table) unset(number int) {
	if f := b.files[number]; f != nil {
		delete(b.files, number)
		f.drop()
	}
}

// unsetIf takes those descriptors out that meet a condition, in their order.
func (b *table) unsetIf(condition func(number int) bool) {
	for _, number := range slices.Sorted(maps.Keys(b.files)) {
		if condition(number) {
			b.unset(number)
		}
	}
}

// copied is that of a process that has begun with the same descriptors.
func (b *table) copied() *table {
	c := &table{users: 1, files: make(map[int]*file, len(b.files))}
	for number, f := range b.files {
		c.set(number, f)
	}
	return c
}

// leave: a process has it no more.
func (b *table) leave() {
	if b.users--; b.users == 0 {
		b.unsetIf(func(int) bool { return true })
	}
}

// unshare lets a process have a table of its own.
func (p *process) unshare() {
	if old := p.files; old.users > 1 {
		p.files = old.copied()
		old.leave()
	}
}

// closeOnExec takes those descriptors out that a new image does not have.
func (p *process) closeOnExec() {
	p.unshare()
	entries, _ := os.ReadDir("/proc/" + strconv.Itoa(p.pid) + "/fd")
	open := make(map[int]bool, len(entries))
	for _, e := range entries {
		fd, _ := strconv.Atoi(e.Name())
		open[fd] = true
	}
	p.files.unsetIf(func(number int) bool { return !open[number] })
}

// file is what a descriptor leads to; nil: nothing, or it is not known, which is a doubt.
func (p *process) file(number int) *file {
	f := p.files.files[number]
	if f == nil {
		if f = p.inspect(number); f != nil {
			p.files.set(number, f)
			f.drop()
		}
	}
	return f
}

// mayCopy: descriptors that others have made may be copied, if the machine permits it.
var mayCopy = true

// inspect finds out what a descriptor leads to that we have not made.
func (p *process) inspect(number int) *file {
	if number < 0 {
		return nil
	}
	path := fmt.Sprintf("/proc/%d/fd/%d", p.pid, number)
	to, err := os.Readlink(path)
	if err != nil {
		return nil
	}
	var st unix.Stat_t
	if strings.HasPrefix(to, "/") && unix.Stat(path, &st) == nil {
		const memory = 1 // null, zero, full
		kind := st.Mode & unix.S_IFMT
		if kind != unix.S_IFIFO && kind != unix.S_IFSOCK && (kind != unix.S_IFCHR || unix.Major(st.Rdev) == memory) {
			return alwaysReady
		}
	}
	if inode, ok := inodeIn(to, "socket"); ok { // another process has sent it
		if f := p.program.holds(inode); f != nil {
			f.uses++
			return f
		}
	}
	if strings.Contains(to, "[pidfd]") { // clone has made it
		if pid, err := strconv.Atoi(lineIn(fdinfo(p.pid, number), "Pid")); err == nil {
			if fd, err := unix.PidfdOpen(pid, 0); err == nil {
				return newFile(fd)
			}
		}
	}
	if mayCopy {
		if r, _, e := unix.RawSyscall(unix.SYS_PIDFD_GETFD, uintptr(p.pidfd), uintptr(number), 0); e == 0 {
			return newFile(int(r))
		}
	}
	p.program.doubt("waits for a descriptor that it was sent, or has opened again (%s): that is not modelled without the right to copy it", to)
	return nil
}

// holds finds a socket that a process of the program has open, by its inode; nil: none has.
func (g *Program) holds(inode uint64) *file {
	for _, p := range g.processes {
		if p.files == nil {
			continue
		}
		for _, f := range p.files.files {
			if f.fd >= 0 && inodeOf(f.fd) == inode {
				return f
			}
		}
	}
	return nil
}

// inodeIn reads the number in a link such as socket:[1].
func inodeIn(link, kind string) (inode uint64, ok bool) {
	n, _ := fmt.Sscanf(link, kind+":[%d]", &inode)
	return inode, n == 1
}

// argFile is the file behind a call's first argument. If there is none the call is the kernel's, which refuses it.
func (t *thread) argFile() *file {
	f := t.p.file(int(int32(t.call.Args[0])))
	if f == nil {
		t.goNativeUnlessInDoubt()
	}
	return f
}

// goNativeUnlessInDoubt ends a call whose descriptor leads to nothing that we know.
func (t *thread) goNativeUnlessInDoubt() {
	if t.host().s.doubt != "" { // natively it might wait
		t.fail(unix.EBADF)
		return
	}
	t.goNative()
}

// hand answers a call with a new descriptor of a file on a disk, or in memory.
func (t *thread) hand(fd int, closeOnExec bool) {
	t.handNumber(launch.Descriptor{Source: uint32(fd)}, closeOnExec)
}

// handFile answers a call with a new descriptor.
func (t *thread) handFile(f *file, closeOnExec bool) {
	t.handAs(f, launch.Descriptor{}, closeOnExec)
}

// handAs does that with a certain number, if x has one.
func (t *thread) handAs(f *file, x launch.Descriptor, closeOnExec bool) {
	x.Source = uint32(f.fd)
	if number, ok := t.handNumber(x, closeOnExec); ok {
		t.p.files.set(number, f)
	}
}

func (t *thread) handNumber(x launch.Descriptor, closeOnExec bool) (number int, ok bool) {
	x.ID, x.Flags = t.call.ID, x.Flags|unix.SECCOMP_ADDFD_FLAG_SEND
	if closeOnExec {
		x.FileFlags = unix.O_CLOEXEC
	}
	number, e := t.p.program.launched.Hand(x)
	if e != 0 && e != unix.ENOENT {
		t.fail(e)
	}
	return number, e == 0
}

// handPair answers a call with two descriptors that were made for it, whose numbers it wants in its memory.
func (t *thread) handPair(at uint64, files []*file, closeOnExec bool) {
	defer func() {
		for _, f := range files {
			f.drop()
		}
	}()
	x := launch.Descriptor{ID: t.call.ID}
	if closeOnExec {
		x.FileFlags = unix.O_CLOEXEC
	}
	for i, f := range files {
		x.Source = uint32(f.fd)
		number, e := t.p.program.launched.Hand(x)
		if e != 0 {
			t.fail(e)
			return
		}
		t.p.files.set(number, f)
		t.p.writeWord(at+uint64(4*i), uint32(number))
	}
	t.answer(0)
}

// makeHere answers a call with what the kernel makes for us in its place.
func (t *thread) makeHere(nr, a, b, c uintptr, closeOnExec bool) {
	fd, _, e := unix.RawSyscall(nr, a, b, c)
	t.handMade(fd, e, closeOnExec)
}

// handMade answers a call with what was made for it, or with why it could not be.
func (t *thread) handMade(fd uintptr, e unix.Errno, closeOnExec bool) {
	if e != 0 {
		t.fail(e)
		return
	}
	f := newFile(int(fd))
	t.handFile(f, closeOnExec)
	f.drop()
}

func (t *thread) eventfd() {
	flags := uint64(0)
	if t.call.NR == unix.SYS_EVENTFD2 {
		flags = t.call.Args[1]
	}
	t.makeHere(unix.SYS_EVENTFD2, uintptr(uint32(t.call.Args[0])), uintptr(flags|unix.EFD_CLOEXEC), 0, flags&unix.EFD_CLOEXEC != 0)
}

func (t *thread) epollCreate() {
	flags := uint64(0)
	if t.call.NR == unix.SYS_EPOLL_CREATE1 {
		flags = t.call.Args[0]
	}
	t.makeHere(unix.SYS_EPOLL_CREATE1, uintptr(flags|unix.EPOLL_CLOEXEC), 0, 0, flags&unix.EPOLL_CLOEXEC != 0)
}

func (t *thread) inotify() {
	flags := uint64(0)
	if t.call.NR == unix.SYS_INOTIFY_INIT1 {
		flags = t.call.Args[0]
	}
	t.makeHere(unix.SYS_INOTIFY_INIT1, uintptr(flags|unix.IN_CLOEXEC), 0, 0, flags&unix.IN_CLOEXEC != 0)
}

// pidfdOpen gives a program a descriptor of one of its processes. It is always closed by exec.
func (t *thread) pidfdOpen() {
	o := t.p.program.numbered(int(int32(t.call.Args[0])))
	if o == nil {
		t.fail(unix.ESRCH)
		return
	}
	t.makeHere(unix.SYS_PIDFD_OPEN, uintptr(o.pid), uintptr(t.call.Args[1]), 0, true)
}

// numbered is the process that has a number, as the program sees that; nil: none has.
func (g *Program) numbered(inside int) *process {
	for _, p := range g.processes {
		if p.inside == g.meant(inside) && !p.reaped {
			return p
		}
	}
	return nil
}

// socketpair makes a pair of Unix sockets; of other kinds there is none.
func (t *thread) socketpair() {
	a := &t.call.Args
	if a[0] != unix.AF_UNIX {
		t.fail(unix.EOPNOTSUPP)
		return
	}
	fds, err := unix.Socketpair(unix.AF_UNIX, int(a[1])|unix.SOCK_CLOEXEC, int(a[2]))
	if err != nil {
		t.failWith(err)
		return
	}
	t.handPair(a[3], []*file{newFile(fds[0]), newFile(fds[1])}, a[1]&unix.SOCK_CLOEXEC != 0)
}

func (t *thread) close() {
	t.p.files.unset(int(int32(t.call.Args[0])))
	t.goNative()
}

func (t *thread) closeRange() {
	const unshare, onExec = 2, 4
	first, last, flags := uint32(t.call.Args[0]), uint32(t.call.Args[1]), t.call.Args[2]
	if flags&unshare != 0 {
		t.p.unshare()
	}
	if flags&onExec == 0 {
		t.p.files.unsetIf(func(n int) bool { return uint32(n) >= first && uint32(n) <= last })
	}
	t.goNative()
}

// dup gives a file of which we have a copy another number: so we know which.
func (t *thread) dup() {
	if f := t.p.files.files[int(int32(t.call.Args[0]))]; f != nil && f != alwaysReady {
		t.handFile(f, false)
		return
	}
	t.goNative()
}

// dupFrom is fcntl's: the lowest number from a certain one on.
func (t *thread) dupFrom() {
	a := &t.call.Args
	f := t.p.files.files[int(int32(a[0]))]
	if f == nil || f == alwaysReady {
		t.goNative()
		return
	}
	const most = 65536
	for number := a[2]; number < most; number++ {
		path := fmt.Sprintf("/proc/%d/fd/%d", t.p.pid, number)
		if _, err := os.Readlink(path); err != nil {
			x := launch.Descriptor{Flags: unix.SECCOMP_ADDFD_FLAG_SETFD, Number: uint32(number)}
			t.handAs(f, x, uint32(a[1]) == unix.F_DUPFD_CLOEXEC)
			return
		}
	}
	t.fail(unix.EINVAL)
}

// dupTo gives a file a number that another may have.
func (t *thread) dupTo() {
	p, from, to := t.p, int(int32(t.call.Args[0])), int(int32(t.call.Args[1]))
	f := p.files.files[from]
	if f == nil {
		if _, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", p.pid, from)); err != nil {
			t.goNative() // it fails
			return
		}
	}
	if from != to && to >= 0 {
		if f == nil {
			p.files.unset(to)
		} else {
			p.files.set(to, f)
		}
	}
	t.goNative()
}
