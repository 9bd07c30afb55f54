//go:build linux && amd64

package supervisor

import (
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/redlock-sim/redlock-sim/internal/supervisor/launch"
)

// signalSet is a set of signals, as the kernel has it.
type signalSet = uint64

func setOf(signals ...unix.Signal) (set signalSet) {
	for _, s := range signals {
		set |= 1 << (s - 1)
	}
	return set
}

var (
	// harmlessSignals do nothing where nobody catches them, stopping ones stop a process.
	harmlessSignals = setOf(unix.SIGCHLD, unix.SIGURG, unix.SIGWINCH, unix.SIGCONT)
	stoppingSignals = setOf(unix.SIGSTOP, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU)
)

// signals are what the kernel says of those of a thread: own and shared are those that have been sent and not taken.
type signals struct{ own, shared, blocked, ignored, caught signalSet }

func (t *thread) signals() signals {
	text, _ := os.ReadFile("/proc/" + strconv.Itoa(t.tid) + "/status")
	return signals{own: numberIn(text, "SigPnd"), shared: numberIn(text, "ShdPnd"), blocked: numberIn(text, "SigBlk"),
		ignored: numberIn(text, "SigIgn"), caught: numberIn(text, "SigCgt")}
}

// felt are those of a set that do something unless they are blocked.
func (s signals) felt(set signalSet) signalSet {
	return set &^ s.ignored &^ (harmlessSignals &^ s.caught)
}

// statusLine is what the kernel says of a thread under a name.
func statusLine(tid int, name string) string {
	text, _ := os.ReadFile("/proc/" + strconv.Itoa(tid) + "/status")
	return lineIn(text, name)
}

func lineIn(text []byte, name string) string {
	_, rest, _ := strings.Cut("\n"+string(text), "\n"+name+":\t")
	line, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(line)
}

// numberIn reads a hexadecimal number from a status.
func numberIn(status []byte, name string) uint64 {
	v, _ := strconv.ParseUint(lineIn(status, name), 16, 64)
	return v
}

// interrupt lets the threads go on for which there is a signal. It reports whether there was such a thread.
func (p *process) interrupt() (any bool) {
	shared := false
	for _, t := range slices.Clone(p.threads) {
		w := t.wait
		if w == nil {
			continue
		}
		s := t.signals()
		blocked := s.blocked
		if w.masked {
			blocked = w.mask
		}
		own := s.felt(s.own&^blocked) | s.own&w.signals
		all := s.felt(s.shared&^blocked) | s.shared&w.signals
		if own == 0 && (all == 0 || shared) {
			continue
		}
		shared, any = shared || own == 0, true
		switch {
		case (s.own|s.shared)&w.signals != 0 || w.masked:
			t.wake(launch.Response{Flags: launch.Continue}) // the kernel finds it at once
		case w.spins: // the call has not begun
			t.fails(errRestartAlways)
		case w.deadline < never || w.signal || w.futex == futexKey{} && w.child == 0 && len(w.fds) != 1:
			t.fails(unix.EINTR)
		default:
			t.fails(errRestart)
		}
	}
	return any
}

func (t *thread) fails(e unix.Errno) { t.wake(launch.Response{Error: -int32(e)}) }

// signal sends a process a signal; 0: none. A timer has a value to go with it; a thread may be the only one to get it.
func (p *process) signal(s unix.Signal, tid int, value uint64) {
	if s == 0 || p.zombie || p.endedBy(s, tid) {
		return
	}
	info := siginfo{signal: int32(s), code: codeTimer, value: value}
	at := unsafe.Pointer(&info) //nolint:gosec // for the kernel
	if tid != 0 {
		_, _, _ = unix.RawSyscall6(unix.SYS_RT_TGSIGQUEUEINFO, uintptr(p.pid), uintptr(tid), uintptr(s), uintptr(at), 0, 0)
	} else {
		_, _, _ = unix.RawSyscall(unix.SYS_RT_SIGQUEUEINFO, uintptr(p.pid), uintptr(s), uintptr(at))
	}
	p.interrupt()
	p.program.mayEnd = true
	p.program.findKilled()
}

// siginfo says what a signal is about (siginfo_t).
type siginfo struct {
	signal, _, code, _ int32
	_, _               int32
	value              uint64
	_                  [96]byte
}

// codeTimer is SI_TIMER.
const codeTimer = -2

// sendSignal lets a program send a signal. Who it ends is gone before anything else is done.
func (t *thread) sendSignal() {
	g := t.p.program
	signal := t.call.Args[1]
	if t.call.NR == unix.SYS_TGKILL || t.call.NR == unix.SYS_RT_TGSIGQUEUEINFO {
		signal = t.call.Args[2]
	}
	for _, o := range g.processes {
		o.signalled = true
	}
	g.mayEnd = true
	if signal == 0 || signal > 64 {
		t.sendNatively()
		return
	}
	set := setOf(unix.Signal(signal))
	if set&stoppingSignals != 0 {
		g.doubt("stops a process with %s, which is not modelled", signalName(unix.Signal(signal)))
		t.fail(unix.EPERM)
		return
	}
	if t.call.NR != unix.SYS_TKILL && int32(t.call.Args[0]) == 1 && g.processes[0].endedBy(unix.Signal(signal), 0) {
		return
	}
	t.sendNatively()
}

// sendNatively sends a signal in a namespace of the program's own, which has nobody else.
func (t *thread) sendNatively() {
	if t.p.program.shares() {
		t.signalShared()
		return
	}
	t.goNative()
}

// endedBy lets a signal end the first process of a namespace that does not catch it. The kernel does that to all other processes,
// and keeps that one from such signals; but programs do not expect that.
func (p *process) endedBy(signal unix.Signal, tid int) bool {
	if p.inside != 1 || p.zombie || len(p.threads) == 0 {
		return false
	}
	to := p.threads[0]
	if i := slices.IndexFunc(p.threads, func(t *thread) bool { return t.tid == tid }); i > 0 {
		to = p.threads[i]
	}
	s := to.signals()
	awaited := signalSet(0)
	if to.wait != nil {
		awaited = to.wait.signals
	}
	if s.felt(setOf(signal))&^s.caught&^s.blocked&^awaited == 0 {
		return false
	}
	p.how = "ended by " + signalName(signal)
	p.kill()
	p.awaitEnd()
	return true
}

// sendByPidfd sends a signal to the process that a descriptor stands for.
func (t *thread) sendByPidfd() {
	for _, o := range t.p.program.processes {
		o.signalled = true
	}
	t.p.program.mayEnd = true
	t.goNative()
}

func signalName(s unix.Signal) string {
	if name := unix.SignalName(s); name != "" {
		return name
	}
	return fmt.Sprintf("signal %d", int(s))
}

// awaitSignal waits for a signal, whichever comes.
func (t *thread) awaitSignal() { t.park(&wait{deadline: never, signal: true}) }

// sigsuspend waits for a signal with another mask.
func (t *thread) sigsuspend() {
	mask := t.readSet(t.call.Args[0])
	if t.hasSignal(mask) {
		t.goNative()
		return
	}
	t.park(&wait{deadline: never, masked: true, mask: mask})
}

func (t *thread) readSet(at uint64) signalSet {
	var b [8]byte
	t.p.read(at, b[:])
	return binary.LittleEndian.Uint64(b[:])
}

// hasSignal reports whether there is a signal that is felt under a mask.
func (t *thread) hasSignal(mask signalSet) bool {
	s := t.signals()
	return s.felt((s.own|s.shared)&^mask) != 0
}

// sigtimedwait waits for signals that are blocked, and takes one.
func (t *thread) sigtimedwait() {
	set := t.readSet(t.call.Args[0])
	deadline := t.inTime(t.call.Args[2], timespec)
	s := t.signals()
	if (s.own|s.shared)&set != 0 || deadline <= t.now() {
		t.goNative()
		return
	}
	t.park(&wait{deadline: deadline, signals: set, signal: true, timeout: func() (int64, unix.Errno) { return 0, unix.EAGAIN }})
}

// signalfd makes a signalfd. Nobody else can wait for it: whoever looks at it sees signals of his own.
func (t *thread) signalfd() {
	a, flags := &t.call.Args, uint64(0)
	t.p.program.signalFDs = true
	if int32(a[0]) != -1 { // it changes one
		t.goNative()
		return
	}
	if t.call.NR == unix.SYS_SIGNALFD4 {
		flags = a[3]
	}
	set := t.readSet(a[1])
	fd, _, e := unix.RawSyscall6(unix.SYS_SIGNALFD4, ^uintptr(0), uintptr(unsafe.Pointer(&set)), //nolint:gosec // for the kernel
		unsafe.Sizeof(set), uintptr(flags|unix.SFD_CLOEXEC), 0, 0)
	t.handMade(fd, e, flags&unix.SFD_CLOEXEC != 0)
}

// signalsOf are the signals that end a wait for a descriptor: it is a signalfd, or an epoll that has one.
func (p *process) signalsOf(fd int) (set signalSet, is bool) {
	if !p.program.signalFDs {
		return 0, false
	}
	text := fdinfo(p.pid, fd)
	if set = numberIn(text, "sigmask"); set != 0 {
		return set, true
	}
	for line := range strings.Lines(string(text)) {
		var watched int
		if n, _ := fmt.Sscanf(line, "tfd: %d", &watched); n == 1 && watched != fd {
			more, _ := p.signalsOf(watched)
			set |= more
		}
	}
	return set, false
}

// hasNow reports whether one of the descriptors has something. An epoll that has a signalfd shows signals of whoever looks, so while there
// are such signals for this process nobody can tell: they are gone when one of its threads has taken them.
func hasNow(fds []unix.PollFd, signals signalSet) bool {
	for pollNow(fds) > 0 {
		if signals == 0 || ownSignals()&signals == 0 && pollNow(fds) > 0 && ownSignals()&signals == 0 {
			return true
		}
		takePreemption()
		runtime.Gosched()
	}
	return false
}

// takePreemption takes the signal by which Go asks this thread to let others run: it is blocked here, and would stay.
func takePreemption() {
	set, none := setOf(unix.SIGURG), unix.Timespec{}
	_, _, _ = unix.RawSyscall6(unix.SYS_RT_SIGTIMEDWAIT, uintptr(unsafe.Pointer(&set)), 0, //nolint:gosec // for the kernel
		uintptr(unsafe.Pointer(&none)), unsafe.Sizeof(set), 0, 0) //nolint:gosec // for the kernel
}

// ownSignals are those that were sent to this process, or this thread, and that nobody has taken.
func ownSignals() signalSet {
	text, _ := os.ReadFile("/proc/thread-self/status")
	return numberIn(text, "SigPnd") | numberIn(text, "ShdPnd")
}

// pidOf is the number, as the program sees it, of the process that a pidfd stands for.
func (t *thread) pidOf(fd int) (inside int) {
	for line := range strings.Lines(string(fdinfo(t.p.pid, fd))) {
		if list := strings.Fields(line); len(list) > 1 && list[0] == "NSpid:" {
			inside, _ = strconv.Atoi(list[len(list)-1])
		}
	}
	return inside
}

// fdinfo is what the kernel says of a process's descriptor.
func fdinfo(pid, fd int) []byte {
	text, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/fdinfo/" + strconv.Itoa(fd))
	return text
}
