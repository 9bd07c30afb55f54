//go:build linux && amd64

package supervisor

import (
	"encoding/binary"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/redlock-sim/redlock-sim/internal/supervisor/launch"
)

// errRestart is the kernel's ERESTARTSYS: it runs the handlers of signals, and makes the call again where they ask for that.
const errRestart = unix.Errno(512)

// errRestartAlways is the kernel's ERESTARTNOINTR: it makes the call again whatever the handlers ask for.
const errRestartAlways = unix.Errno(513)

// memory is a descriptor of a process's memory, by which it is read and written; -1: it has ended.
func (p *process) memoryFD() int {
	if p.mem < 0 {
		fd, err := unix.Open("/proc/"+strconv.Itoa(p.pid)+"/mem", unix.O_RDWR|unix.O_CLOEXEC, 0)
		if err != nil {
			return -1
		}
		p.mem = fd
	}
	return p.mem
}

func (p *process) closeMemory() {
	closeFD(p.mem)
	p.mem = -1
}

func (p *process) read(address uint64, b []byte) bool {
	return p.transfer(unix.SYS_PREAD64, address, b)
}

func (p *process) write(address uint64, b []byte) bool {
	return p.transfer(unix.SYS_PWRITE64, address, b)
}

func (p *process) transfer(call uintptr, address uint64, b []byte) bool {
	if len(b) == 0 {
		return true
	}
	fd, size := uintptr(p.memoryFD()), uintptr(len(b))
	n, _, e := unix.RawSyscall6(call, fd, uintptr(unsafe.Pointer(&b[0])), size, uintptr(address), 0, 0) //nolint:gosec // for the kernel
	return e == 0 && int(n) == len(b)
}

func (p *process) readWord(address uint64) (uint32, bool) {
	var b [4]byte
	ok := p.read(address, b[:])
	return binary.LittleEndian.Uint32(b[:]), ok
}

func (p *process) writeWord(address uint64, v uint32) {
	p.write(address, binary.LittleEndian.AppendUint32(nil, v))
}

// readText reads a text that ends with a zero byte; it may be cut at the most bytes.
func (p *process) readText(address uint64, most int) (string, bool) {
	var text []byte
	for len(text) < most {
		n := min(4096-int((address+uint64(len(text)))&4095), most-len(text), 256)
		b := make([]byte, n)
		if !p.read(address+uint64(len(text)), b) {
			return "", false
		}
		for i, c := range b {
			if c == 0 {
				return string(append(text, b[:i]...)), true
			}
		}
		text = append(text, b...)
	}
	return string(text), true
}

// Units of the second word of a time.
const (
	timespec = 1    // nanoseconds
	timeval  = 1000 // microseconds
)

// readTime reads a struct timespec or timeval.
func (p *process) readTime(address uint64, unit int64) int64 {
	var b [16]byte
	p.read(address, b[:])
	seconds, part := int64(binary.LittleEndian.Uint64(b[:])), int64(binary.LittleEndian.Uint64(b[8:]))
	if seconds > never/int64(1e9)-1 {
		return never / 2
	}
	return seconds*1e9 + part*unit
}

func (p *process) writeTime(address uint64, ns, unit int64) {
	if address == 0 {
		return
	}
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:], uint64(ns/1e9))
	binary.LittleEndian.PutUint64(b[8:], uint64(ns%1e9/unit))
	p.write(address, b[:])
}

// closeFD closes a descriptor for good: not while a program is being started, which has a copy of it for a moment. Whoever waits for the
// end of a pipe would else see it at an instant of real time.
func closeFD(fd int) {
	if fd >= 0 {
		launch.Quietly(func() { _, _, _ = unix.RawSyscall(unix.SYS_CLOSE, uintptr(fd), 0, 0) })
	}
}

// pollNow is how many of the descriptors have something.
func pollNow(fds []unix.PollFd) int { return pollFor(fds, 0) }

// pollFor waits for so many milliseconds at most. It does not tell Go's scheduler, so it is not to be long.
func pollFor(fds []unix.PollFd, milliseconds int) int {
	if len(fds) == 0 {
		return 0
	}
	at, size := unsafe.Pointer(&fds[0]), uintptr(len(fds)) //nolint:gosec // for the kernel
	for {
		n, _, e := unix.RawSyscall(unix.SYS_POLL, uintptr(at), size, uintptr(milliseconds))
		if e == 0 {
			return int(n)
		}
		if e != unix.EINTR {
			return 0
		}
	}
}

func has(fd int, events int16) bool {
	return pollNow([]unix.PollFd{{Fd: int32(fd), Events: events}}) > 0
}

// statusFlags are the flags of an open file.
func statusFlags(fd int) int {
	flags, _, _ := unix.RawSyscall(unix.SYS_FCNTL, uintptr(fd), unix.F_GETFL, 0)
	return int(flags)
}
