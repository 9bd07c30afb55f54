//go:build linux && amd64

package supervisor

import "math"

// Clock is a clock of a host: it showed Base at the time Since, and goes Rate times as fast as the time does.
type Clock struct {
	// Base and Since are in nanoseconds.
	Base, Since int64
	Rate        float64
}

func (c Clock) at(now int64) int64 {
	if c.Rate == 1 {
		return c.Base + now - c.Since
	}
	return c.Base + int64(float64(now-c.Since)*c.Rate)
}

// when is the time at which the clock shows ns; never, where it does not.
func (c Clock) when(ns int64) int64 {
	switch {
	case c.Rate == 1:
		return c.Since + ns - c.Base
	case c.Rate <= 0 && ns > c.Base:
		return never
	case c.Rate <= 0:
		return c.Since
	}
	d := math.Ceil(float64(ns-c.Base) / c.Rate)
	if d > float64(never/2) {
		return never
	}
	return c.Since + int64(d)
}
