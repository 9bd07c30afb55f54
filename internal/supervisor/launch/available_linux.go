//go:build amd64

package launch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// BestNamespace is the one that gives programs process numbers of their own, if there is one that may be made here.
var BestNamespace = sync.OnceValue(func() Namespace {
	best, _, _ := try()
	return best
})

// Available puts a tiny program on trial, and says what of the machine programs in virtual time can use. It takes milliseconds.
func Available() []Check {
	system := observe()
	namespace, trial, refused := try()
	checks := []Check{{Name: "kernel", Found: "Linux " + system.release}, {Name: "listener", Found: "of a program's calls"},
		{Name: "memory", Found: "of a program, read and written"}, numbers(namespace, refused, system),
		{Name: "descriptors", Found: "of a program, copied"}, {Name: "addresses", Found: "the same in each run"}}
	if trial.err != nil {
		return append(checks[:trial.part:trial.part], explain(trial, system))
	}
	if !trial.copies {
		checks[4].Replaced, checks[4].Found = true, "those that sim has made, for pidfd_getfd is refused, as by Docker's default profile"
	}
	if trial.aslr {
		checks[5].Replaced, checks[5].Found = true, "random, because personality is refused"
	}
	return checks
}

// What a trial can fail for, as places in the list of checks.
const (
	ofListener = 1
	ofMemory   = 2
)

// trial is what a tiny program could do, and what could be done to it.
type trial struct {
	err  error // why it did not work
	part int   // for what it failed
	// copies says that descriptors can be copied, aslr that addresses stay random.
	copies, aslr bool
}

// try finds the first namespace in which all works. If it works in none, the trial is that without a namespace.
func try() (best Namespace, t trial, refused map[Namespace]error) {
	refused = map[Namespace]error{}
	for _, namespace := range []Namespace{Own, OwnOfUser, Shared} {
		if t = attempt(namespace); t.err == nil {
			return namespace, t, refused
		}
		refused[namespace] = t.err
	}
	return Shared, t, refused
}

// attempt starts the launcher as the program, which asks for a socket and writes to it what it finds in its memory.
func attempt(namespace Namespace) (t trial) {
	fail := func(part int, what string, err error) trial {
		return trial{part: part, err: fmt.Errorf("%s: %w", what, err)}
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	file, err := memfd()
	if err != nil {
		return trial{part: ofListener, err: err}
	}
	p, err := start(Options{Path: "/proc/self/fd/0", Args: []string{"probe"}, Files: [3]uintptr{uintptr(file), uintptr(file), uintptr(file)},
		Namespace: namespace})
	if err != nil {
		return trial{part: ofListener, err: err}
	}
	defer p.End()
	call, err := p.first()
	if err != nil {
		return fail(ofListener, "no call comes to the listener", err)
	}
	const word = 0x7469727475616c21
	if what, err := p.change(call.Args[2], word); err != nil {
		return fail(ofMemory, what, err)
	}
	copied, _, e := unix.RawSyscall(unix.SYS_PIDFD_GETFD, uintptr(p.PIDFD), 0, 0)
	if e == 0 {
		_ = unix.Close(int(copied))
	}
	got, err := p.answerWithSocket(call)
	if err == nil && got != word {
		err = fmt.Errorf("the program finds %#x in its memory instead of %#x", got, uint64(word))
	}
	if err != nil {
		return fail(ofListener, "a call is not answered by a descriptor", err)
	}
	return trial{copies: e == 0, aslr: p.ASLR}
}

// patience bounds each wait of a trial, which takes less than a millisecond.
const patience = 20 * time.Second

// first waits for the first call of a program.
func (p *Process) first() (call Notification, err error) {
	if err := readable(p.Listener); err != nil {
		return call, err
	}
	call, e := p.Receive()
	if e == 0 && call.NR != unix.SYS_SOCKET {
		return call, fmt.Errorf("the call is %s", CallName(int(call.NR)))
	}
	if e != 0 {
		err = e
	}
	return call, err
}

// readable waits until a descriptor has something.
func readable(fd int) error {
	for end := time.Now().Add(patience); ; {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(time.Until(end)/time.Millisecond))
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return err
		case n == 0:
			return errors.New("nothing came within " + patience.String())
		default:
			return nil
		}
	}
}

// change writes a word into the memory of a program and reads it back, and writes to the kernel's code in it, the vDSO. It does so by
// /proc/PID/mem: process_vm_readv is slower, and the profile of older Docker engines, such as 20.10, refuses it.
func (p *Process) change(at uint64, word uint64) (what string, err error) {
	mem, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", p.PID), os.O_RDWR, 0)
	if err != nil {
		return "its memory cannot be opened", err
	}
	defer mem.Close()
	text := binary.LittleEndian.AppendUint64(nil, word)
	if _, err := mem.WriteAt(text, int64(at)); err != nil {
		return "its memory cannot be written", err
	}
	got := make([]byte, len(text))
	if _, err := mem.ReadAt(got, int64(at)); err != nil || !bytes.Equal(got, text) {
		return "its memory cannot be read", errors.Join(err, fmt.Errorf("it is %x and not %x", got, text))
	}
	vdso, err := p.vdso()
	if err != nil {
		return "where its vDSO is cannot be read", err
	}
	const padding = 9 // of an ELF file's head: nobody reads it
	if _, err := mem.WriteAt([]byte{1, 2, 3}, vdso+padding); err != nil {
		return forced, err
	}
	return "", nil
}

// forced is what a kernel can be made to refuse, though it lets a program's other memory be written.
const forced = "its vDSO cannot be written"

// vdso is where a program has the code by which it reads clocks without a call.
func (p *Process) vdso() (int64, error) {
	const sysinfoEHDR = 33
	auxv, err := os.ReadFile(fmt.Sprintf("/proc/%d/auxv", p.PID))
	if err != nil {
		return 0, err
	}
	for ; len(auxv) >= 16; auxv = auxv[16:] {
		if binary.LittleEndian.Uint64(auxv) == sysinfoEHDR {
			return int64(binary.LittleEndian.Uint64(auxv[8:])), nil
		}
	}
	return 0, errors.New("the program has none")
}

// answerWithSocket gives a program a socket, and returns what it writes to it.
func (p *Process) answerWithSocket(call Notification) (word uint64, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	defer unix.Close(pair[0])
	// A signal, such as Go's own, that interrupts the handing over would lose the answer.
	var all, before unix.Sigset_t
	for i := range all.Val {
		all.Val[i] = ^uint64(0)
	}
	if err := unix.PthreadSigmask(unix.SIG_BLOCK, &all, &before); err != nil {
		return 0, err
	}
	_, e := p.Hand(Descriptor{ID: call.ID, Flags: unix.SECCOMP_ADDFD_FLAG_SEND, Source: uint32(pair[1])})
	_ = unix.PthreadSigmask(unix.SIG_SETMASK, &before, nil)
	_ = unix.Close(pair[1])
	if e != 0 {
		return 0, e
	}
	if err := readable(pair[0]); err != nil {
		return 0, err
	}
	var b [8]byte
	if n, err := unix.Read(pair[0], b[:]); n != len(b) || err != nil {
		return 0, errors.Join(fmt.Errorf("%d bytes came of 8", n), err)
	}
	return binary.LittleEndian.Uint64(b[:]), nil
}

// system is what the machine says of itself that explains why it refuses something.
type system struct {
	release, version string
	// The sysctls; "": the machine does not have it.
	ptraceScope, memfdNoexec, maxUserNamespaces, apparmorUsers, unprivilegedUsers string
}

func observe() system {
	var u unix.Utsname
	_ = unix.Uname(&u) // it cannot fail
	sysctl := func(name string) string {
		text, _ := os.ReadFile("/proc/sys/" + name)
		return strings.TrimSpace(string(text))
	}
	return system{release: unix.ByteSliceToString(u.Release[:]), version: unix.ByteSliceToString(u.Version[:]),
		ptraceScope: sysctl("kernel/yama/ptrace_scope"), memfdNoexec: sysctl("vm/memfd_noexec"),
		maxUserNamespaces: sysctl("user/max_user_namespaces"), apparmorUsers: sysctl("kernel/apparmor_restrict_unprivileged_userns"),
		unprivilegedUsers: sysctl("kernel/unprivileged_userns_clone")}
}

// tooOld says whether the kernel is older than 5.19, which has SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV.
func (s system) tooOld() bool {
	var major, minor int
	n, _ := fmt.Sscanf(s.release, "%d.%d", &major, &minor)
	return n == 2 && (major < 5 || major == 5 && minor < 19)
}

// isGVisor knows gVisor by the kernel that it pretends to be.
func (s system) isGVisor() bool {
	return s.release == "4.4.0" && strings.Contains(s.version, "Sun Jan 10 15:06:54 PST 2016")
}

// explain says what is missing where a trial failed, and what to do about it.
func explain(t trial, s system) Check {
	c := Check{Name: "listener", Err: t.err, Hint: instead}
	var failed *stepError
	isStep := errors.As(t.err, &failed)
	isFilter := isStep && failed.step == ofFilter
	say := func(what, hint string) {
		c.Err, c.Hint = fmt.Errorf("%s (%w)", what, t.err), hint+"; "+instead
	}
	switch {
	case t.part == ofMemory:
		c.Name = "memory"
		explainMemory(t, s, say)
	case s.isGVisor():
		say("gVisor has no listener for the calls of programs", "run sim on another runtime than runsc")
	case isFilter && s.tooOld():
		say("Linux "+s.release+" is too old: programs in virtual time need 5.19 or later", "run sim on a newer kernel")
	case isFilter && errors.Is(t.err, unix.EBUSY):
		say("whoever started sim listens to its calls already, as LXD and sysbox do, and a program can have one listener",
			"run sim on the host, or in a container of Docker")
	case isFilter && (errors.Is(t.err, unix.EPERM) || errors.Is(t.err, unix.EACCES) || errors.Is(t.err, unix.ENOSYS)):
		say("this sandbox or container forbids seccomp", "in Docker: --security-opt seccomp=unconfined")
	case !isStep && errors.Is(t.err, unix.EACCES):
		what := "files in memory may not be run here"
		if s.memfdNoexec != "" && s.memfdNoexec != "0" {
			what += ", for vm.memfd_noexec is " + s.memfdNoexec
		}
		say(what, "sysctl vm.memfd_noexec=0")
	}
	return c
}

func explainMemory(t trial, s system, say func(what, hint string)) {
	switch {
	case strings.HasPrefix(t.err.Error(), forced):
		say("the kernel does not let anybody write the code of programs", "boot Linux with proc_mem.force_override=always")
	case s.ptraceScope == "2" || s.ptraceScope == "3":
		say("kernel.yama.ptrace_scope is "+s.ptraceScope+": nobody may look into programs but administrators",
			"sysctl kernel.yama.ptrace_scope=1, or in Docker --cap-add SYS_PTRACE")
	default:
		say("sim may not look into the programs that it starts", "in Docker: --cap-add SYS_PTRACE")
	}
}

// numbers says which process numbers programs have.
func numbers(namespace Namespace, refused map[Namespace]error, s system) Check {
	c := Check{Name: "process numbers", Found: "of a namespace"}
	switch namespace {
	case Own:
	case OwnOfUser:
		c.Found += " of an ordinary user"
	case Shared:
		why := fmt.Sprint(refused[OwnOfUser])
		switch {
		case s.maxUserNamespaces == "0":
			why = "user.max_user_namespaces is 0"
		case s.unprivilegedUsers == "0":
			why = "kernel.unprivileged_userns_clone is 0"
		case s.apparmorUsers == "1":
			why = "AppArmor restricts namespaces of ordinary users, kernel.apparmor_restrict_unprivileged_userns is 1"
		case errors.Is(refused[OwnOfUser], unix.EPERM):
			why = "namespaces are refused, as by Docker's default profile"
		}
		c.Replaced, c.Found = true, "those of the machine, but for a program's first process, which is 1; they are others in each run: "+why
	}
	return c
}
