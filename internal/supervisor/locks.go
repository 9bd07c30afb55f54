//go:build linux && amd64

package supervisor

import (
	"encoding/binary"
	"fmt"
	"os"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// flock waits for the lock of a file. The program takes it itself once it is free.
func (t *thread) flock() {
	number, how := int(int32(t.call.Args[0])), t.call.Args[1]
	free := func() bool {
		return how&unix.LOCK_NB != 0 || how&unix.LOCK_UN != 0 || t.p.lockIsFree(number, how&unix.LOCK_EX != 0)
	}
	if free() {
		t.goNative()
		return
	}
	t.park(&wait{deadline: never, try: free, again: true})
}

// lockIsFree reports whether nobody else has a lock of a file that keeps a process from having it.
func (p *process) lockIsFree(number int, exclusive bool) bool {
	var st unix.Stat_t
	if unix.Stat(fmt.Sprintf("/proc/%d/fd/%d", p.pid, number), &st) != nil {
		return true // the kernel refuses it
	}
	all, _ := os.ReadFile("/proc/locks")
	place := fmt.Sprintf(" %02x:%02x:%d ", unix.Major(st.Dev), unix.Minor(st.Dev), st.Ino)
	keeps := func(text []byte) (n int) {
		for line := range strings.Lines(string(text)) {
			if strings.Contains(line, " FLOCK ") && strings.Contains(line, place) && !strings.Contains(line, "->") &&
				(exclusive || strings.Contains(line, " WRITE ")) {
				n++
			}
		}
		return n
	}
	return keeps(all) <= keeps(fdinfo(p.pid, number)) // its own
}

// fcntl makes a descriptor, or waits for the lock of a part of a file. That belongs to the process, so it takes it itself once it is free.
func (t *thread) fcntl() {
	command := int(int32(t.call.Args[1]))
	switch command {
	case unix.F_DUPFD, unix.F_DUPFD_CLOEXEC:
		t.dupFrom()
		return
	case unix.F_SETLKW, unix.F_OFD_SETLKW:
	default:
		t.goNative()
		return
	}
	if command == unix.F_OFD_SETLKW && strings.Contains(string(fdinfo(t.p.pid, int(int32(t.call.Args[0])))), " OFDLCK ") {
		t.goNative() // it has such a lock, which cannot be told from those of others
		return
	}
	// Another open file, for which the same locks count.
	fd, err := unix.Open(fmt.Sprintf("/proc/%d/fd/%d", t.p.pid, int32(t.call.Args[0])), unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		t.goNative()
		return
	}
	f := newFile(fd)
	defer f.drop()
	free := func() bool {
		var b [32]byte // struct flock
		t.p.read(t.call.Args[2], b[:])
		if int16(binary.LittleEndian.Uint16(b[:])) == unix.F_UNLCK {
			return true
		}
		_, _, e := unix.RawSyscall(unix.SYS_FCNTL, uintptr(fd), unix.F_GETLK, uintptr(unsafe.Pointer(&b))) //nolint:gosec // for the kernel
		kind, holder := int16(binary.LittleEndian.Uint16(b[:])), int(int32(binary.LittleEndian.Uint32(b[24:])))
		return e != 0 || kind == unix.F_UNLCK || holder == t.p.pid && command == unix.F_SETLKW
	}
	if free() {
		t.goNative()
		return
	}
	t.park(&wait{deadline: never, try: free, again: true, holds: hold(f)})
}
