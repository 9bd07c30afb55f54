//go:build linux && amd64

package supervisor

import (
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Where no namespace of process numbers can be made, programs have those of the machine, which differ from run to run, and which the
// kernel writes where we do not see it: what fork returns, the numbers of threads. What most programs ask for is their own number, and
// that is told to us: the first process is 1, as in a namespace. No program has that number on a machine, so both can be told apart.
const firstNumber = 1

// shares: the program has the machine's process numbers.
func (g *Program) shares() bool { return g.processes[0].inside != firstNumber }

// shown is a number of a process or thread as the program is told it.
func (g *Program) shown(number int) int64 {
	if g.shares() && number == g.processes[0].pid {
		return firstNumber
	}
	return int64(number)
}

// meant is the number that a program means.
func (g *Program) meant(number int) int {
	if g.shares() && number == firstNumber {
		return g.processes[0].pid
	}
	return number
}

// numberCalls are told to us where a program has the machine's numbers.
var numberCalls = []int{unix.SYS_GETPID, unix.SYS_GETPPID, unix.SYS_GETTID, unix.SYS_GETPGRP, unix.SYS_GETPGID, unix.SYS_GETSID,
	unix.SYS_PRLIMIT64, unix.SYS_SETPGID}

func init() {
	carry(func(t *thread) { t.answer(t.p.program.shown(t.p.pid)) }, unix.SYS_GETPID)
	carry((*thread).gettid, unix.SYS_GETTID)
	carry((*thread).getppid, unix.SYS_GETPPID)
	carry((*thread).getpgid, unix.SYS_GETPGRP, unix.SYS_GETPGID, unix.SYS_GETSID)
	carry((*thread).setpgid, unix.SYS_SETPGID)
	carry((*thread).prlimit, unix.SYS_PRLIMIT64)
}

// gettid is told of in programs without glibc, where a namespace of their own has the numbers, too.
func (t *thread) gettid() {
	if !t.p.program.shares() {
		t.goNative()
		return
	}
	t.answer(t.p.program.shown(t.tid))
}

// getppid: who has lost its parent is the first process's child, as in a namespace.
func (t *thread) getppid() {
	p := t.p
	switch {
	case p == p.program.processes[0]:
		t.answer(0)
	case p.parent == nil:
		t.answer(firstNumber)
	default:
		t.answer(p.program.shown(p.parent.pid))
	}
}

// getpgid answers what asks for a group or a session.
func (t *thread) getpgid() {
	of := t.p.pid
	if n := int(int32(t.call.Args[0])); n != 0 && t.call.NR != unix.SYS_GETPGRP {
		of = t.p.program.meant(n)
	}
	ask := unix.Getpgid
	if t.call.NR == unix.SYS_GETSID {
		ask = unix.Getsid
	}
	n, err := ask(of)
	if err != nil {
		t.failWith(err)
		return
	}
	t.answer(t.p.program.shown(n))
}

// setpgid: the first process leads a session, so the kernel refuses it that.
func (t *thread) setpgid() {
	if n := int(int32(t.call.Args[0])); n == firstNumber || n == 0 && t.p == t.p.program.processes[0] {
		t.fail(unix.EPERM)
		return
	}
	t.goNative()
}

// prlimit is the kernel's, unless it names the first process.
func (t *thread) prlimit() {
	a, g := &t.call.Args, t.p.program
	if int32(a[0]) != firstNumber {
		t.goNative()
		return
	}
	var set, got [16]byte
	var with unsafe.Pointer
	if a[2] != 0 {
		t.p.read(a[2], set[:])
		with = unsafe.Pointer(&set) //nolint:gosec // for the kernel
	}
	_, _, e := unix.RawSyscall6(unix.SYS_PRLIMIT64, uintptr(g.processes[0].pid), uintptr(a[1]), uintptr(with),
		uintptr(unsafe.Pointer(&got)), 0, 0) //nolint:gosec // for the kernel
	if e == 0 && a[3] != 0 {
		t.p.write(a[3], got[:])
	}
	t.give(0, e)
}

// signalShared sends a signal in the place of a program that has the machine's numbers: it reaches its own processes, and no others.
func (t *thread) signalShared() {
	a, g := &t.call.Args, t.p.program
	to := int(int32(a[0]))
	switch {
	case t.call.NR == unix.SYS_KILL && to == -1:
		t.signalAll(unix.Signal(a[1]))
		return
	case t.call.NR == unix.SYS_TKILL, t.call.NR == unix.SYS_TGKILL, t.call.NR == unix.SYS_RT_TGSIGQUEUEINFO:
		last := 0
		if t.call.NR != unix.SYS_TKILL {
			last = 1
		}
		if g.threads[g.meant(int(int32(a[last])))] == nil {
			t.fail(unix.ESRCH)
			return
		}
	case to != 0 && g.withPID(max(g.meant(to), -to)) == nil:
		t.fail(unix.ESRCH)
		return
	}
	first := g.processes[0].pid
	args := *a
	named := false
	for i := range 2 {
		if n := int32(a[i]); n == firstNumber && (i == 0 || t.call.NR == unix.SYS_TGKILL || t.call.NR == unix.SYS_RT_TGSIGQUEUEINFO) {
			args[i], named = uint64(first), true
		}
	}
	if to == -firstNumber {
		args[0], named = uint64(-int64(first)), true
	}
	if !named {
		t.goNative()
		return
	}
	var info [128]byte // siginfo_t
	var e unix.Errno
	nr := uintptr(t.call.NR)
	switch t.call.NR {
	case unix.SYS_RT_SIGQUEUEINFO:
		t.p.read(a[2], info[:])
		_, _, e = unix.RawSyscall(nr, uintptr(args[0]), uintptr(args[1]), uintptr(unsafe.Pointer(&info))) //nolint:gosec // for the kernel
	case unix.SYS_RT_TGSIGQUEUEINFO:
		t.p.read(a[3], info[:])
		_, _, e = unix.RawSyscall6(nr, uintptr(args[0]), uintptr(args[1]), uintptr(args[2]),
			uintptr(unsafe.Pointer(&info)), 0, 0) //nolint:gosec // for the kernel
	default:
		_, _, e = unix.RawSyscall(nr, uintptr(args[0]), uintptr(args[1]), uintptr(args[2]))
	}
	t.give(0, e)
}

// signalAll sends a signal to all processes but the first one and the caller.
func (t *thread) signalAll(s unix.Signal) {
	e := unix.ESRCH
	for _, p := range t.p.program.processes[1:] {
		if p != t.p && !p.zombie && unix.PidfdSendSignal(p.pidfd, s, nil, 0) == nil {
			e = 0
		}
	}
	t.give(0, e)
}

// withPID is the process that has a number on the machine, or had it.
func (g *Program) withPID(pid int) *process {
	for _, p := range g.processes {
		if p.pid == pid {
			return p
		}
	}
	return nil
}

// ownPath is the path of a file of the kernel's about the first process, where the program takes that for 1.
func (g *Program) ownPath(path string) (string, bool) {
	rest, ok := strings.CutPrefix(path, "/proc/1/")
	if !ok || !g.shares() {
		return path, false
	}
	return "/proc/" + strconv.Itoa(g.processes[0].pid) + "/" + rest, true
}
