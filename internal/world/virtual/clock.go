package virtual

import (
	"time"

	"github.com/redlock-sim/redlock-sim/internal/world"
)

// bend is a client's clock: it reads base + (true - since) x rate. The zero bend
// is straight.
type bend struct {
	bent        bool
	base, since time.Duration
	rate        float64
}

func (b *bend) read(now time.Duration) time.Duration {
	if !b.bent {
		return now
	}
	return b.base + time.Duration(float64(now-b.since)*b.rate)
}

func (b *bend) set(now time.Duration, f world.ClockFault) {
	*b = bend{bent: true, base: b.read(now) + f.Jump, since: now, rate: f.Rate}
}

// nodeClock is what a node's wall clock is off by. It is a function of the run
// time alone.
type nodeClock struct {
	offset time.Duration
	// fault moves the offset on from the instant since.
	moving bool
	fault  world.ClockFault
	since  time.Duration
}

func (c *nodeClock) offsetAt(now time.Duration) time.Duration {
	if !c.moving {
		return c.offset
	}
	elapsed := now - c.since
	off := c.offset + time.Duration(float64(elapsed)*(c.fault.Rate-1))
	if c.fault.Strobe > 0 && (elapsed/c.fault.Strobe)%2 == 1 {
		off -= c.fault.Jump
	}
	return off
}

// rate is how fast it goes.
func (c *nodeClock) rate() float64 {
	if !c.moving {
		return 1
	}
	return c.fault.Rate
}

// set makes the clock go as f says from now on.
func (c *nodeClock) set(now time.Duration, f world.ClockFault) {
	*c = nodeClock{offset: c.offsetAt(now) + f.Jump, fault: f, since: now, moving: f.Rate != 1 || f.Strobe > 0}
}

// turnedBack is the run time at which a strobing clock last began to go back, if it
// stands back at the time now.
func (c *nodeClock) turnedBack(now time.Duration) (at time.Duration, back bool) {
	if !c.moving || c.fault.Strobe == 0 {
		return 0, false
	}
	phase := (now - c.since) / c.fault.Strobe
	return c.since + phase*c.fault.Strobe, phase%2 == 1
}
