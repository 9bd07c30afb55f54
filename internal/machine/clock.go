package machine

import (
	"sync/atomic"
	"time"
)

// Wall is the machine's wall clock, counted from 1970.
func Wall() time.Duration { return time.Duration(time.Now().UnixNano()) }

// RunTime is the time of a run, on the machine's monotonic clock.
type RunTime struct{ zero atomic.Int64 }

// Begin makes it 0.
func (t *RunTime) Begin() { t.zero.Store(int64(Monotonic())) }

// Now is the run time.
func (t *RunTime) Now() time.Duration { return Monotonic() - t.SinceBoot() }

// SinceBoot is the machine's monotonic clock at the run's start.
func (t *RunTime) SinceBoot() time.Duration { return time.Duration(t.zero.Load()) }

// WallOffset is what to subtract from the machine's wall clock to get run time,
// and how far off that may be. It is taken anew for every effect, because the
// wall clock may be set while a run goes on.
func (t *RunTime) WallOffset() (offset, uncertain time.Duration) {
	before := Monotonic()
	wall := Wall()
	after := Monotonic()
	return wall - after + t.SinceBoot(), after - before + time.Millisecond
}
