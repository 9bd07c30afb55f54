package adapter

import (
	"os"
	"syscall"
	"unsafe"
)

// monotonic is the machine's CLOCK_MONOTONIC in ns, which package time does not tell; 0:
// it cannot be read.
func monotonic() int64 {
	var t syscall.Timespec
	_, _, failed := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, 1, uintptr(unsafe.Pointer(&t)), 0) //nolint:gosec // the kernel fills t
	if failed != 0 {
		return 0
	}
	return t.Nano()
}

// takeStdout returns standard output, and puts standard error in its place, also for
// code in C.
func takeStdout() *os.File {
	fd, err := syscall.Dup(1)
	if err == nil {
		syscall.CloseOnExec(fd)
		err = syscall.Dup3(2, 1, 0)
	}
	if err != nil {
		panic(err)
	}
	return os.NewFile(uintptr(fd), "stdout")
}
