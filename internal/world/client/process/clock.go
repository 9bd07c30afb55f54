package process

import (
	"sync"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/world/client"
)

// clocks are the client's two clocks as its lock reads them: the machine's,
// bent by faults.
type clocks struct {
	mu              sync.Mutex
	wall, monotonic bend
}

// bend is a clock that reads base + (true - since) x rate. The zero bend is
// straight.
type bend struct {
	bent  bool
	base  time.Duration
	since time.Duration
	rate  float64
}

func (b bend) read(now time.Duration) time.Duration {
	if !b.bent {
		return now
	}
	return b.base + time.Duration(float64(now-b.since)*b.rate)
}

// Now is the client's monotonic clock.
func (c *clocks) Now() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.monotonic.read(machine.Monotonic())
}

// Wall is the client's wall clock.
func (c *clocks) Wall() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.wall.read(machine.Wall())
}

// set bends a clock, or straightens it.
func (c *clocks) set(m client.ClockMessage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b, now := &c.wall, machine.Wall()
	if m.Which == client.MonotonicClock {
		b, now = &c.monotonic, machine.Monotonic()
	}
	if m.Reset {
		*b = bend{}
		return
	}
	*b = bend{bent: true, base: b.read(now) + m.Jump, since: now, rate: m.Rate}
}
