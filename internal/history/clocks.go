package history

import "time"

// Clocks say how far apart those clocks are by which the events of a history were stamped that several hosts wrote.
type Clocks struct {
	// Error bounds the difference between the clocks of any two hosts, also if they are read at different times.
	Error time.Duration
	List  []Clock
	// Of has the place in List of each client's clock.
	Of map[string]int
	// Missing says what of the log is not there; empty: nothing is known to be missing.
	Missing string
}

// Clock is that of one process of an application.
type Clock struct {
	Host string
	// Step is by how much the host's clock was seen to step while the process ran.
	Step time.Duration
	// Set: a process of the host saw that somebody set its clock, so that another may not have seen it.
	Set bool
}

// Between bounds by how much the difference between a stamp of one client and one of another may be wrong. It is 0 where there are no
// Clocks: one clock stamped all events.
func (c *Clocks) Between(a, b string) time.Duration {
	if c == nil {
		return 0
	}
	i, k := c.Of[a], c.Of[b]
	if i == k {
		return 0
	}
	x, y := &c.List[i], &c.List[k]
	apart := (x.Step + y.Step + 1) / 2
	if x.Host != y.Host || x.Set || y.Set {
		apart += c.Error
	}
	return apart
}
