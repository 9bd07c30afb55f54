package machine

import (
	"time"

	"golang.org/x/sys/unix"
)

// Monotonic is the machine's CLOCK_MONOTONIC, which client processes read too.
func Monotonic() time.Duration { return Clock(unix.CLOCK_MONOTONIC) }

// Clock reads a clock of the kernel.
func Clock(id int32) time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(id, &ts); err != nil {
		panic("live: the kernel has no clock: " + err.Error())
	}
	return time.Duration(ts.Nano())
}
