//go:build linux && amd64

package launch

import (
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/redlock-sim/redlock-sim/internal/words"
)

// Namespace says whether a program has process numbers of its own.
type Namespace int

const (
	// Shared: it has those of the machine. Needs no rights.
	Shared Namespace = iota
	// Own: it is process 1. Needs root.
	Own
	// OwnOfUser: it is process 1 in a namespace of users of its own, which an ordinary user may make on most machines.
	OwnOfUser
)

// Options say what to start, and how.
type Options struct {
	Path string   // of the program, absolute
	Args []string // with the program's name as its first
	Env  []string // all that the program gets
	Dir  string   // where it begins; "": here
	// Files are its standard input, output and errors.
	Files [3]uintptr
	// Notify are the calls of which the listener is told though they are harmless.
	Notify []int
	// Memory bounds what the program, and each that it forks, can write of its own, in bytes; 0: nothing does. What is only reserved,
	// as virtual machines do in large amounts, does not count.
	Memory    uint64
	Namespace Namespace
}

// Process is a program that has begun and makes no call but harmless ones without an answer.
type Process struct {
	PID      int
	PIDFD    int
	Listener int
	// Static says that the program has no dynamic loader.
	Static bool
	// ASLR says that its addresses are random, because the machine does not let us turn that off.
	ASLR bool
}

//go:embed launcher/launcher
var launcher []byte

// memfd has the launcher as a file without a name. Its number is greater than those that a program gets.
var memfd = sync.OnceValues(func() (int, error) {
	const name, lowest = "redlock-sim-launcher", 64
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING|unix.MFD_EXEC)
	if errors.Is(err, unix.EINVAL) { // before Linux 6.3 there is no word for what is so anyway
		fd, err = unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	}
	if err != nil {
		return -1, fmt.Errorf("failed to make a file in memory for the launcher: %w", err)
	}
	defer unix.Close(fd)
	if _, err := unix.Write(fd, launcher); err != nil {
		return -1, fmt.Errorf("failed to write the launcher: %w", err)
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_WRITE|unix.F_SEAL_SHRINK|unix.F_SEAL_GROW); err != nil {
		return -1, fmt.Errorf("failed to seal the launcher: %w", err)
	}
	return unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, lowest)
})

// Start starts a program, and returns when it runs under its filter. The caller has locked its goroutine to its thread
// (runtime.LockOSThread), because the kernel kills the program when that thread ends. Who ends the program waits for it, too: see
// End.
func Start(o Options) (*Process, error) {
	if !filepath.IsAbs(o.Path) {
		return nil, fmt.Errorf("the path %q of a program is not absolute", o.Path)
	}
	static, err := Inspect(o.Path)
	if err != nil {
		return nil, err
	}
	p, err := start(o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.Path, err)
	}
	p.Static = static
	return p, nil
}

// aside is a copy of the launcher's descriptor that the child has, too. Go's child puts descriptors of its own at the numbers that
// follow the greatest of those that it hands over: the launcher's must be none of these.
func aside(launcher int, files []uintptr) (int, error) {
	const more = 16
	lowest := int(slices.Max(files)) + more
	fd, err := unix.FcntlInt(uintptr(launcher), unix.F_DUPFD_CLOEXEC, lowest)
	if err != nil {
		return -1, fmt.Errorf("failed to copy the launcher's descriptor: %w", err)
	}
	return fd, nil
}

// starting is held while a program is being started. The child has a copy of each descriptor of this process until it has its new image.
var starting sync.RWMutex

// Quietly does something while no program is being started.
func Quietly(do func()) {
	starting.RLock()
	defer starting.RUnlock()
	do()
}

// start starts what has been looked at.
func start(o Options) (*Process, error) {
	starting.Lock()
	defer starting.Unlock()
	file, err := memfd()
	if err != nil {
		return nil, err
	}
	request, err := encode(o)
	if err != nil {
		return nil, err
	}
	channel, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("failed to make a channel to the launcher: %w", err)
	}
	defer unix.Close(channel[0])
	_, err = unix.Write(channel[0], request)
	if err != nil {
		_ = unix.Close(channel[1])
		return nil, fmt.Errorf("failed to tell the launcher what to do: %w", err)
	}
	p := &Process{Listener: -1}
	attr := &syscall.ProcAttr{Dir: o.Dir, Env: o.Env, Files: append(o.Files[:], uintptr(channel[1])),
		Sys: &syscall.SysProcAttr{Setsid: true, PidFD: &p.PIDFD}}
	switch o.Namespace {
	case Shared:
	case Own:
		attr.Sys.Cloneflags = unix.CLONE_NEWPID
	case OwnOfUser:
		attr.Sys.Cloneflags = unix.CLONE_NEWPID | unix.CLONE_NEWUSER
		attr.Sys.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
		attr.Sys.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
	}
	file, err = aside(file, attr.Files)
	if err != nil {
		_ = unix.Close(channel[1])
		return nil, err
	}
	defer unix.Close(file)
	p.PID, err = syscall.ForkExec(fmt.Sprintf("/proc/self/fd/%d", file), append([]string{o.Path}, o.Args...), attr)
	_ = unix.Close(channel[1])
	if err != nil {
		return nil, fmt.Errorf("failed to start the launcher: %w", err)
	}
	if err := p.await(channel[0]); err != nil {
		p.End()
		return nil, err
	}
	return p, nil
}

// wait bounds how long the launcher takes, which is less than a millisecond.
const wait = 20 * time.Second

// await takes the listener, and returns when the program has taken the launcher's place.
func (p *Process) await(channel int) error {
	bound := unix.NsecToTimeval(int64(wait))
	if err := unix.SetsockoptTimeval(channel, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &bound); err != nil {
		return fmt.Errorf("failed to bound the wait for the launcher: %w", err)
	}
	for {
		step, cause, err := p.receive(channel)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EAGAIN):
			return fmt.Errorf("the launcher did not answer within %s", words.Duration(wait))
		case err != nil:
			return fmt.Errorf("failed to hear the launcher: %w", err)
		case step == gone && p.Listener >= 0:
			return nil // the channel ended with the launcher, for the program has begun
		case step == gone:
			return errors.New("the launcher ended before it had begun the program")
		case step != started:
			return &stepError{step, cause}
		}
	}
}

// The steps of the launcher: see launcher.c.
const (
	gone     = -1
	started  = 0
	ofFilter = 5
)

var steps = []string{"start it", "read what to do", "give up new rights", "let it die with sim", "limit its memory and files",
	"install the filter of its calls", "run it"}

// stepError is a step of the launcher that failed.
type stepError struct {
	step  int
	cause error
}

func (e *stepError) Error() string {
	return fmt.Sprintf("failed to %s: %v", steps[e.step], e.cause)
}

func (e *stepError) Unwrap() error { return e.cause }

// receive reads one message of the launcher: the step that failed, or the listener.
func (p *Process) receive(channel int) (step int, cause, err error) {
	text, rights := make([]byte, 12), make([]byte, unix.CmsgSpace(4))
	n, r, _, _, err := unix.Recvmsg(channel, text, rights, unix.MSG_CMSG_CLOEXEC)
	if err != nil || n == 0 {
		return gone, nil, err
	}
	word := func(i int) int { return int(int32(binary.LittleEndian.Uint32(text[4*i:]))) }
	step = word(0)
	if n != len(text) || step < 0 || step >= len(steps) {
		return gone, nil, fmt.Errorf("its answer is %x", text[:n])
	}
	if step != started {
		return step, syscall.Errno(word(1)), nil
	}
	p.ASLR = word(2) != 0
	messages, err := unix.ParseSocketControlMessage(rights[:r])
	if err != nil || len(messages) != 1 {
		return gone, nil, errors.Join(err, errors.New("its answer has no listener"))
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return gone, nil, errors.Join(err, errors.New("its answer has no listener"))
	}
	p.Listener = fds[0]
	// Who asks and who answers take turns: the kernel (from 6.6 on) lets them do so on one processor. Older ones refuse.
	const syncWakeUp = 1
	_, _, _ = unix.RawSyscall(unix.SYS_IOCTL, uintptr(p.Listener), unix.SECCOMP_IOCTL_NOTIF_SET_FLAGS, syncWakeUp)
	return started, nil, nil
}

// End kills the program, waits for its end, and closes the descriptors. What it has forked ends with it in a namespace of its own.
func (p *Process) End() {
	_ = unix.PidfdSendSignal(p.PIDFD, unix.SIGKILL, nil, 0) // it fails where the program has ended
	for {
		if _, err := unix.Wait4(p.PID, nil, 0, nil); !errors.Is(err, unix.EINTR) {
			break
		}
	}
	_ = unix.Close(p.PIDFD)
	if p.Listener >= 0 {
		_ = unix.Close(p.Listener)
	}
}

// limit is what a process may use of something.
type limit struct{ resource, soft, hard uint64 }

// limits are the same for each program on each machine, as far as its administrator lets us.
func limits(memory uint64) ([]limit, error) {
	list := []limit{{unix.RLIMIT_CORE, 0, 0}, {unix.RLIMIT_STACK, 8 << 20, unix.RLIM_INFINITY}, {unix.RLIMIT_NOFILE, 1024, 65536}}
	if memory > 0 {
		list = append(list, limit{unix.RLIMIT_DATA, memory, memory})
	}
	for i := range list {
		var now unix.Rlimit
		if err := unix.Getrlimit(int(list[i].resource), &now); err != nil {
			return nil, fmt.Errorf("failed to read the limits of programs: %w", err)
		}
		list[i].hard = min(list[i].hard, now.Max)
		list[i].soft = min(list[i].soft, list[i].hard)
	}
	return list, nil
}

// encode writes what the launcher is to do: struct request of launcher.c.
func encode(o Options) ([]byte, error) {
	const most = 8
	list, err := limits(o.Memory)
	if err != nil {
		return nil, err
	}
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(list)))
	for _, l := range append(list, make([]limit, most-len(list))...) {
		for _, n := range []uint64{l.resource, l.soft, l.hard} {
			b = binary.LittleEndian.AppendUint64(b, n)
		}
	}
	return binary.Append(b, binary.LittleEndian, Filter(o.Notify...))
}
