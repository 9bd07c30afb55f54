package machine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// This is what only Linux has; system_other.go stands in for it elsewhere.

const (
	sigStop     = syscall.SIGSTOP
	sigContinue = syscall.SIGCONT
)

// attributes give a process a group of its own, a signal for when this program dies, and
// maybe another user.
func attributes(orphaned syscall.Signal, owner *User) (*syscall.SysProcAttr, error) {
	a := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: orphaned}
	if owner != nil {
		a.Credential = &syscall.Credential{Uid: owner.UID, Gid: owner.GID}
	}
	return a, nil
}

// hasStopped reports whether every thread of a child is stopped.
func hasStopped(pid int) (bool, error) {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, pid, &info, unix.WSTOPPED|unix.WNOHANG|unix.WNOWAIT, nil)
	if errors.Is(err, unix.EINTR) {
		return false, nil
	}
	return info.Signo != 0, err
}

func signal(pid int, s syscall.Signal) error { return syscall.Kill(pid, s) }

// GroupOf is the process group of a process; 0: there is none.
func GroupOf(pid int) int {
	group, _ := syscall.Getpgid(pid)
	return max(group, 0)
}

// awaitEnd returns when a child has ended. It is still to be waited for: until then its number,
// and that of its group, is nobody else's.
func awaitEnd(pid int) {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// isMine reports that a file is this user's.
func isMine(info fs.FileInfo) bool { return userOf(info) == strconv.Itoa(os.Getuid()) }

// userOf is the number of the user who has a file.
func userOf(info fs.FileInfo) string {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return strconv.Itoa(int(s.Uid))
}

// removeSegment removes a segment of shared memory.
func removeSegment(id int) error {
	_, err := unix.SysvShmCtl(id, unix.IPC_RMID, nil)
	return err
}

// Adopt makes this process the parent of every descendant that loses its own: so none
// can leave the tree, by setsid or otherwise.
func Adopt() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("failed to adopt the processes of lock programs: %w", err)
	}
	return nil
}

// reap waits for a process that has ended, where that is ours to do.
func reap(pid int) { _, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil) }

// Monotonic is the machine's CLOCK_MONOTONIC, which client processes read too.
func Monotonic() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic("machine: the kernel has no clock: " + err.Error())
	}
	return time.Duration(ts.Nano())
}

// BindToDevice lets a socket see one network interface alone.
func BindToDevice(fd int, name string) error { return unix.BindToDevice(fd, name) }

// TryLock locks a file, unless another process has: false. The lock lasts as long as the file is open
// here, or in a child that got it.
func TryLock(f *os.File) (bool, error) {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}
