//go:build linux && amd64

package supervisor

import (
	"bufio"
	"debug/elf"
	"encoding/binary"
	"io"
	"os"
	"slices"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/redlock-sim/redlock-sim/internal/supervisor/launch"
)

// carryOut carries out the call that a thread has made, lets it run natively, or lets the thread wait.
func (t *thread) carryOut() {
	p := t.p
	nr := t.call.NR
	if !slices.Contains(timeless, nr) {
		p.countReadings()
	}
	s := p.program.host.s
	s.digest = mixed(s.digest, uint64(nr), uint64(s.now))
	if do := carriers[nr]; do != nil && t.call.Arch == unix.AUDIT_ARCH_X86_64 {
		do(t)
		return
	}
	if t.call.Arch != unix.AUDIT_ARCH_X86_64 {
		p.program.doubt("made a system call of a 32-bit program, or has started one, which is not modelled")
	} else {
		p.program.doubt("made the system call %s, which is not modelled", launch.CallName(int(t.call.NR)))
	}
	t.fail(unix.ENOSYS)
}

// doubt says what a program did that is not modelled.
func (g *Program) doubt(format string, args ...any) {
	g.host.s.unknown("%s (%s) "+format, append([]any{g.host.Name, g.Path}, args...)...)
}

// timeless are calls for which it does not matter what time it is, unless they wait. To count readings of clocks is dear, and these are
// half of all calls.
var timeless = []int32{unix.SYS_READ, unix.SYS_RECVFROM, unix.SYS_OPENAT, unix.SYS_SETSOCKOPT, unix.SYS_GETSOCKOPT, unix.SYS_GETSOCKNAME,
	unix.SYS_GETPEERNAME, unix.SYS_RT_SIGPROCMASK}

// carriers carry out calls, by their number.
var carriers = make(map[int32]func(t *thread))

func carry(do func(t *thread), calls ...int32) {
	for _, nr := range calls {
		carriers[nr] = do
	}
}

func init() {
	native := (*thread).goNative
	fails := func(e unix.Errno) func(*thread) { return func(t *thread) { t.fail(e) } }
	carry((*thread).clockGettime, unix.SYS_CLOCK_GETTIME)
	carry((*thread).gettimeofday, unix.SYS_GETTIMEOFDAY)
	carry((*thread).timeOfDay, unix.SYS_TIME)
	carry((*thread).times, unix.SYS_TIMES)
	carry((*thread).getrusage, unix.SYS_GETRUSAGE)
	carry((*thread).nanosleep, unix.SYS_NANOSLEEP)
	carry((*thread).clockNanosleep, unix.SYS_CLOCK_NANOSLEEP)
	carry((*thread).schedYield, unix.SYS_SCHED_YIELD)
	carry((*thread).schedGetaffinity, unix.SYS_SCHED_GETAFFINITY)
	carry((*thread).getcpu, unix.SYS_GETCPU)
	carry((*thread).sysinfo, unix.SYS_SYSINFO)
	carry((*thread).futexCall, unix.SYS_FUTEX)
	carry((*thread).input, unix.SYS_READ, unix.SYS_READV, unix.SYS_RECVFROM, unix.SYS_RECVMSG, unix.SYS_RECVMMSG)
	carry((*thread).accept, unix.SYS_ACCEPT, unix.SYS_ACCEPT4)
	carry((*thread).socket, unix.SYS_SOCKET)
	carry((*thread).bind, unix.SYS_BIND)
	carry((*thread).listen, unix.SYS_LISTEN)
	carry((*thread).connect, unix.SYS_CONNECT)
	carry((*thread).getsockname, unix.SYS_GETSOCKNAME)
	carry((*thread).getpeername, unix.SYS_GETPEERNAME)
	carry((*thread).setsockopt, unix.SYS_SETSOCKOPT)
	carry((*thread).getsockopt, unix.SYS_GETSOCKOPT)
	carry((*thread).pipe, unix.SYS_PIPE, unix.SYS_PIPE2)
	carry((*thread).fsync, unix.SYS_FSYNC, unix.SYS_FDATASYNC)
	carry((*thread).open, unix.SYS_OPEN, unix.SYS_OPENAT, unix.SYS_CREAT)
	carry(fails(unix.ENOSYS), unix.SYS_OPENAT2)
	carry(native, unix.SYS_RSEQ, unix.SYS_SET_ROBUST_LIST)
	carry((*thread).poll, unix.SYS_POLL, unix.SYS_PPOLL)
	carry((*thread).selectCall, unix.SYS_SELECT, unix.SYS_PSELECT6)
	carry((*thread).epollWait, unix.SYS_EPOLL_WAIT, unix.SYS_EPOLL_PWAIT, unix.SYS_EPOLL_PWAIT2)
	carry((*thread).getrandom, unix.SYS_GETRANDOM)
	carry((*thread).clone, unix.SYS_CLONE, unix.SYS_CLONE3, unix.SYS_FORK, unix.SYS_VFORK)
	carry((*thread).exec, unix.SYS_EXECVE, unix.SYS_EXECVEAT)
	carry((*thread).exitThread, unix.SYS_EXIT)
	carry((*thread).exitProcess, unix.SYS_EXIT_GROUP)
	carry((*thread).setTIDAddress, unix.SYS_SET_TID_ADDRESS)
	carry((*thread).waitForChild, unix.SYS_WAIT4, unix.SYS_WAITID)
	carry((*thread).sigtimedwait, unix.SYS_RT_SIGTIMEDWAIT)
	carry((*thread).signalfd, unix.SYS_SIGNALFD, unix.SYS_SIGNALFD4)
	carry((*thread).sendByPidfd, unix.SYS_PIDFD_SEND_SIGNAL)
	carry((*thread).flock, unix.SYS_FLOCK)
	carry((*thread).fcntl, unix.SYS_FCNTL)
	carry((*thread).sendSignal, unix.SYS_KILL, unix.SYS_TKILL, unix.SYS_TGKILL, unix.SYS_RT_SIGQUEUEINFO, unix.SYS_RT_TGSIGQUEUEINFO)
	carry((*thread).awaitSignal, unix.SYS_PAUSE)
	carry((*thread).sigsuspend, unix.SYS_RT_SIGSUSPEND)
	carry((*thread).timerfdCreate, unix.SYS_TIMERFD_CREATE)
	carry((*thread).timerfdSettime, unix.SYS_TIMERFD_SETTIME)
	carry((*thread).timerfdGettime, unix.SYS_TIMERFD_GETTIME)
	carry((*thread).setitimer, unix.SYS_SETITIMER)
	carry((*thread).getitimer, unix.SYS_GETITIMER)
	carry((*thread).alarm, unix.SYS_ALARM)
	carry((*thread).timerCreate, unix.SYS_TIMER_CREATE)
	carry((*thread).timerSettime, unix.SYS_TIMER_SETTIME)
	carry((*thread).timerGettime, unix.SYS_TIMER_GETTIME)
	carry((*thread).timerDelete, unix.SYS_TIMER_DELETE)
	carry((*thread).timerOverrun, unix.SYS_TIMER_GETOVERRUN)
	carry(native, unix.SYS_PERSONALITY, unix.SYS_SCHED_RR_GET_INTERVAL, unix.SYS_SHMGET,
		unix.SYS_SHMAT, unix.SYS_SHMDT, unix.SYS_SHMCTL, unix.SYS_SYNC_FILE_RANGE, unix.SYS_RT_SIGPROCMASK)
	carry((*thread).uname, unix.SYS_UNAME)
	carry((*thread).sync, unix.SYS_SYNC, unix.SYS_SYNCFS)
	// A library falls back where there is none of these.
	carry(fails(unix.ENOSYS), unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER, unix.SYS_USERFAULTFD,
		unix.SYS_MODIFY_LDT, unix.SYS_MEMFD_SECRET, unix.SYS_LANDLOCK_CREATE_RULESET, cachestat, unix.SYS_FUTEX_WAITV, futexWake,
		futexWait, futexRequeue)
	carry(fails(unix.EINVAL), unix.SYS_SPLICE, unix.SYS_TEE, unix.SYS_VMSPLICE)
	carry(fails(unix.EOPNOTSUPP), unix.SYS_NAME_TO_HANDLE_AT)
	// The clocks of this machine are nobody's to set.
	carry(fails(unix.EPERM), unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_ADJTIMEX, unix.SYS_CLOCK_ADJTIME)
	// What a program must not do to this machine, or cannot without rights.
	carry(fails(unix.EPERM), unix.SYS_PTRACE, unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_CHROOT,
		unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PIDFD_GETFD,
		unix.SYS_PROCESS_MADVISE, unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME, unix.SYS_SYSLOG, unix.SYS_KCMP)
	carry(fails(unix.EINVAL), unix.SYS_SECCOMP)
	carry(fails(unix.ENOSYS), unix.SYS_IO_SETUP)
	carry((*thread).succeed, unix.SYS_SCHED_SETSCHEDULER, unix.SYS_SCHED_SETPARAM, unix.SYS_SCHED_SETAFFINITY, unix.SYS_SETPRIORITY,
		unix.SYS_IOPRIO_SET)
}

// Calls that golang.org/x/sys does not name for all kernels.
const (
	futexWake    = 454
	futexWait    = 455
	futexRequeue = 456
	cachestat    = 451
)

// needsGlibc reports whether a program, or a script's interpreter, has the C library of GNU.
func needsGlibc(path string) bool {
	const scripts = 5
	for range scripts {
		f, err := os.Open(path)
		if err != nil {
			return false
		}
		line, _ := bufio.NewReader(io.LimitReader(f, 256)).ReadString('\n')
		_ = f.Close()
		rest, script := strings.CutPrefix(line, "#!")
		if !script {
			break
		}
		words := strings.Fields(rest)
		if len(words) == 0 {
			return false
		}
		path = words[0]
	}
	f, err := elf.Open(path)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	needed, _ := f.ImportedLibraries()
	return slices.Contains(needed, "libc.so.6")
}

// notified are the calls that are to be notified although they are harmless. The first call of a newborn thread is notified: so it
// stands until it is let go. With glibc that is set_robust_list or rseq; a static program may have another library.
func notified(path string, shared bool) (list []int) {
	for nr := range carriers {
		if slices.Contains(numberCalls, int(nr)) && !shared && nr != unix.SYS_GETTID {
			continue
		}
		switch nr {
		case unix.SYS_FCNTL: // told of where it waits, or makes a descriptor
		case unix.SYS_GETTID, unix.SYS_RT_SIGPROCMASK:
			if shared && nr == unix.SYS_GETTID || !needsGlibc(path) {
				list = append(list, int(nr))
			}
		default:
			list = append(list, int(nr))
		}
	}
	return list
}

func (t *thread) succeed() { t.answer(0) }

// done is the outcome of a wait that was for time.
func done() (int64, unix.Errno) { return 0, 0 }

// isWall tells the clocks of the time of day from the others.
func isWall(clock int) bool {
	return clock == unix.CLOCK_REALTIME || clock == unix.CLOCK_REALTIME_COARSE || clock == unix.CLOCK_TAI || clock == unix.CLOCK_REALTIME_ALARM
}

// until is the time at which a clock of the host shows ns.
func (h *Host) until(clock int, ns int64) int64 {
	if isWall(clock) {
		return h.wall.when(ns)
	}
	return h.monotonic.when(ns)
}

func (t *thread) until(clock int, ns int64) int64 { return t.host().until(clock, ns) }
func (t *thread) host() *Host                     { return t.p.program.host }
func (t *thread) now() int64                      { return t.p.program.host.s.now }

// usedShare: a program seems to have used a hundredth of the time on the processor.
const usedShare = 100

func (t *thread) clockGettime() {
	h, clock := t.host(), int(int32(t.call.Args[0]))
	ns := t.p.shown(h.monotonic)
	if isWall(clock) {
		ns = t.p.shown(h.wall)
	} else if clock < 0 || clock == unix.CLOCK_PROCESS_CPUTIME_ID || clock == unix.CLOCK_THREAD_CPUTIME_ID {
		ns = t.now()/usedShare + 1e6
	}
	t.p.writeTime(t.call.Args[1], ns, timespec)
	t.answer(0)
}

func (t *thread) gettimeofday() {
	t.p.writeTime(t.call.Args[0], t.p.shown(t.host().wall), timeval)
	t.answer(0)
}

func (t *thread) timeOfDay() {
	seconds := t.host().wall.at(t.now()) / 1e9
	if at := t.call.Args[0]; at != 0 {
		t.p.write(at, binary.LittleEndian.AppendUint64(nil, uint64(seconds)))
	}
	t.answer(seconds)
}

func (t *thread) times() {
	const ticks = 100 // a second
	used := uint64(t.now() / 1e9 * ticks / usedShare)
	var b []byte
	for _, x := range []uint64{used, used / 2, 0, 0} {
		b = binary.LittleEndian.AppendUint64(b, x)
	}
	if at := t.call.Args[0]; at != 0 {
		t.p.write(at, b)
	}
	t.answer(t.host().monotonic.at(t.now()) / 1e9 * ticks)
}

func (t *thread) getrusage() {
	at := t.call.Args[1]
	t.p.write(at, make([]byte, 144))
	t.p.writeTime(at, t.now()/usedShare, timeval)
	t.p.writeTime(at+16, t.now()/usedShare/2, timeval)
	t.answer(0)
}

// sysinfo says what is the same on all machines.
func (t *thread) sysinfo() {
	var b [112]byte
	const memory = 4 << 30
	binary.LittleEndian.PutUint64(b[0:], uint64(t.host().monotonic.at(t.now())/1e9))
	binary.LittleEndian.PutUint64(b[32:], memory)
	binary.LittleEndian.PutUint64(b[40:], memory/2)
	binary.LittleEndian.PutUint16(b[80:], 10)
	binary.LittleEndian.PutUint32(b[104:], 1)
	t.p.write(t.call.Args[0], b[:])
	t.answer(0)
}

// timerSlack is by how much a sleep is longer than it was asked to be: as with Linux's timers of ordinary threads (PR_SET_TIMERSLACK).
const timerSlack = int64(50 * time.Microsecond)

// nanosleep is also by what Go's runtime looks after itself while it has something to do: every 20 us, so that sleeps of just that length
// would be a seventh of all calls of a program in Go.
func (t *thread) nanosleep() {
	t.park(&wait{deadline: t.now() + max(t.p.readTime(t.call.Args[0], timespec), 0) + timerSlack, timeout: done})
}

func (t *thread) clockNanosleep() {
	const absolute = 1
	d := t.p.readTime(t.call.Args[2], timespec)
	w := &wait{deadline: t.now() + max(d, 0), timeout: done}
	if t.call.Args[1]&absolute != 0 {
		w.clock, w.clockTime = int(int32(t.call.Args[0])), d
		w.deadline = max(t.until(w.clock, d), t.now())
	}
	t.park(w)
}

func (t *thread) schedYield() {
	g := t.p.program
	if len(g.ready) == 0 {
		t.answer(0)
		return
	}
	g.running--
	t.wake(launch.Response{})
}

// schedGetaffinity says that there is one processor. It is among a static Go program's first calls.
func (t *thread) schedGetaffinity() {
	t.prepare()
	const size = 8
	if t.call.Args[1] < size {
		t.fail(unix.EINVAL)
		return
	}
	t.p.write(t.call.Args[2], []byte{1, 0, 0, 0, 0, 0, 0, 0})
	t.answer(size)
}

func (t *thread) getcpu() {
	for _, at := range t.call.Args[:2] {
		if at != 0 {
			t.p.writeWord(at, 0)
		}
	}
	t.answer(0)
}

func (t *thread) getrandom() {
	b := make([]byte, min(t.call.Args[1], 1<<16))
	t.p.program.random(b)
	t.p.write(t.call.Args[0], b)
	t.answer(int64(len(b)))
}

// setTIDAddress is among the first calls of a program with a C library.
func (t *thread) setTIDAddress() {
	t.clear = t.call.Args[0]
	t.prepare()
	t.goNative()
}

// prepare gets a new image ready.
func (t *thread) prepare() {
	if t.p.prepared {
		return
	}
	if err := t.p.prepareImage(); err != nil {
		t.p.program.doubt("has an image that could not be made ready: %v", err)
		return
	}
	t.p.showTime()
}

func (t *thread) clone() {
	p, a := t.p, &t.call.Args
	flags, clear := a[0], a[3]
	switch t.call.NR {
	case unix.SYS_CLONE3:
		var b [24]byte // struct clone_args
		p.read(a[0], b[:])
		flags, clear = binary.LittleEndian.Uint64(b[:]), binary.LittleEndian.Uint64(b[16:])
	case unix.SYS_VFORK:
		flags = unix.CLONE_VFORK | unix.CLONE_VM
	case unix.SYS_FORK:
		flags = 0
	}
	const namespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER |
		unix.CLONE_NEWPID | unix.CLONE_NEWNET
	if flags&namespaces != 0 {
		t.fail(unix.EPERM)
		return
	}
	b := &birth{by: p, thread: flags&unix.CLONE_THREAD != 0, vfork: flags&unix.CLONE_VFORK != 0, shares: flags&unix.CLONE_VM != 0}
	if flags&unix.CLONE_CHILD_CLEARTID != 0 {
		b.clear = clear
	}
	switch {
	case b.thread:
	case flags&unix.CLONE_FILES != 0:
		b.files = p.files
		b.files.users++
	default:
		b.files = p.files.copied()
	}
	g := p.program
	g.begun = b
	if !b.vfork { // else the caller stands until the child has another image, or ends
		g.running++
	}
	t.goNative()
}

// exec lets a process have another image, if the kernel finds that. Its next call shows whether it has.
func (t *thread) exec() {
	p, g := t.p, t.p.program
	p.execBy = t
	if g.threads[p.pid] == nil { // it gets the number of the first thread
		g.threads[p.pid] = t
	}
	if p.vforked {
		g.begun = &birth{by: p, exec: true}
	}
	t.goNative()
}

// executed is called at a process's first call after exec. It reports whether there is a new image, which has one thread.
func (p *process) executed() bool {
	t, g := p.execBy, p.program
	p.execBy = nil
	p.closeMemory()
	if p.prepared && p.hasClocks() {
		return false
	}
	for _, o := range slices.Clone(p.threads) {
		g.forgetThread(o)
	}
	p.prepared, p.readings, p.count = false, 0, 0
	p.closeOnExec()
	t.tid, t.clear = p.pid, 0
	p.threads = []*thread{t}
	g.threads[t.tid] = t
	g.host.s.memories++
	p.memory = g.host.s.memories
	for _, x := range p.timers {
		x.stop(g.host.s)
	}
	p.timers = make(map[int]*timer)
	return true
}

func (t *thread) exitThread() {
	p, g, clear := t.p, t.p.program, t.clear
	last := len(p.threads) == 1
	if t.tid == p.pid && !last {
		g.doubt("ends its first thread before the others, which is not modelled")
	}
	g.forgetThread(t)
	g.running--
	t.goNative()
	if last {
		p.awaitEnd()
		return
	}
	if clear == 0 {
		return
	}
	s := g.host.s
	short := unix.Timespec{Nsec: 5_000}
	for begin := time.Now(); ; { // the kernel clears it in a moment, on a machine that is not busy
		if v, ok := p.readWord(clear); !ok || v == 0 {
			break
		}
		if time.Since(begin) > endWithin {
			g.doubt("has a thread that does not end")
			break
		}
		_ = unix.Nanosleep(&short, nil)
	}
	if s.mayBeAwaited(clear) {
		s.wakeFutex(p.futexKey(clear, 0), 1, anyBit)
	}
	s.wakeOrphans(p.memory)
}

func (t *thread) exitProcess() {
	g := t.p.program
	if t.p == g.processes[0] {
		g.left = g.others()
	}
	g.running--
	t.goNative()
	t.p.awaitEnd()
}

func (t *thread) waitForChild() {
	a := &t.call.Args
	options, which := a[2], int(int32(a[0]))
	if t.call.NR == unix.SYS_WAITID {
		options = a[3]
		switch a[0] {
		case unix.P_PID:
			which = int(int32(a[1]))
		case unix.P_PIDFD:
			which = t.pidOf(int(int32(a[1])))
		default:
			which = anyChild
		}
	}
	// Of a group any may be meant.
	which = max(which, anyChild)
	if which == 0 {
		which = anyChild
	}
	if options&unix.WNOHANG != 0 || t.p.needNotWait(which) {
		t.goNative()
		return
	}
	t.park(&wait{deadline: never, child: which})
}

// uname says the name of the host, and of the rest what the kernel says.
func (t *thread) uname() {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		t.failWith(err)
		return
	}
	u.Nodename = [len(u.Nodename)]byte{}
	copy(u.Nodename[:len(u.Nodename)-1], t.host().Name)
	t.p.write(t.call.Args[0], unsafe.Slice((*byte)(unsafe.Pointer(&u)), unsafe.Sizeof(u))) //nolint:gosec // for the kernel's type
	t.answer(0)
}
