//go:build linux && amd64

package launch

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// Notification is a call that waits for its answer: struct seccomp_notif.
type Notification struct {
	ID   uint64
	TID  uint32 // the thread that made the call, as this process numbers threads
	_    uint32
	NR   int32
	Arch uint32
	IP   uint64
	Args [6]uint64
}

// Response answers a call: struct seccomp_notif_resp. Continue as its Flags lets the kernel carry the call out.
type Response struct {
	ID    uint64
	Value int64
	Error int32 // negative
	Flags uint32
}

// Continue lets the kernel carry out a call.
const Continue = 1

// Descriptor is one that a program gets: struct seccomp_notif_addfd.
type Descriptor struct {
	ID                               uint64
	Flags, Source, Number, FileFlags uint32
}

// Receive takes the next call; the caller has seen that there is one (POLLIN). ENOENT and EINTR say that a signal has taken it back,
// or that there was none.
func (p *Process) Receive() (n Notification, e unix.Errno) {
	_, e = ioctl(p.Listener, unix.SECCOMP_IOCTL_NOTIF_RECV, &n)
	return n, e
}

// Answer lets a call return. ENOENT says that its thread no longer waits.
func (p *Process) Answer(r Response) unix.Errno {
	_, e := ioctl(p.Listener, unix.SECCOMP_IOCTL_NOTIF_SEND, &r)
	return e
}

// Hand gives the program of a call a copy of a descriptor, and says which number it has there. With SECCOMP_ADDFD_FLAG_SEND that is
// the call's answer, too.
func (p *Process) Hand(d Descriptor) (int, unix.Errno) {
	return ioctl(p.Listener, unix.SECCOMP_IOCTL_NOTIF_ADDFD, &d)
}

// ioctl does not tell Go's scheduler that it may wait: what is asked of a listener is there.
func ioctl[T any](fd int, request uintptr, argument *T) (int, unix.Errno) {
	r, _, e := unix.RawSyscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(unsafe.Pointer(argument))) //nolint:gosec // for the kernel
	return int(r), e
}
