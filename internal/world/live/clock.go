package live

import (
	"time"

	"golang.org/x/sys/unix"
)

// monotonic is the machine's CLOCK_MONOTONIC, which client processes read too.
func monotonic() time.Duration { return clock(unix.CLOCK_MONOTONIC) }

func clock(id int32) time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(id, &ts); err != nil {
		panic("live: the kernel has no clock: " + err.Error())
	}
	return time.Duration(ts.Nano())
}
