package adapter

import (
	"os"
	"syscall"
	"unsafe"
)

// monotonic is the machine's CLOCK_MONOTONIC in ns. package time does not tell it.
func monotonic() (int64, bool) {
	const clockMonotonic = 1
	var t syscall.Timespec
	_, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockMonotonic, uintptr(unsafe.Pointer(&t)), 0)
	return t.Nano(), errno == 0
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
