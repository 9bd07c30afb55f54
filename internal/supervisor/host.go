//go:build linux && amd64

package supervisor

import (
	"fmt"
	"hash/fnv"
	"slices"
	"time"
)

// Host is a machine of its own, as its programs see it: it has an address and clocks.
type Host struct {
	// Name is what other hosts find it under.
	Name string
	// IP is its address.
	IP [4]byte
	// Away: no other host finds it. One that has its address may be there meanwhile.
	Away bool

	s        *Supervisor
	number   int
	paused   bool
	clocks   // what programs read
	programs []*Program
	// quiet: deadlines of its threads wake none of them.
	quiet bool
	// due are deadlines that came while it was paused.
	due []func()
	// ports counts those that it has given to sockets.
	ports int
	// listeners are sockets that listen, in the order in which they began to.
	listeners []*socket
	disk      disk
	random    uint64
	// started counts the programs of the run: each has randomness of its own.
	started uint64
	// ran counts how often a thread of its programs went on.
	ran uint64
}

// clocks are those of a host. clocksSet counts how often they were set.
type clocks struct {
	wall, monotonic Clock
	clocksSet       int
}

// NewHost makes a host. What its programs see of it follows from its name and address.
func (s *Supervisor) NewHost(name string, ip [4]byte) *Host {
	h := &Host{Name: name, IP: ip, s: s, number: int(ip[2])<<8 | int(ip[3])}
	h.wall = Clock{Base: int64(s.Wall), Rate: 1}
	h.monotonic = Clock{Base: int64(MonotonicAtStart), Rate: 1}
	random := fnv.New64a()
	_, _ = random.Write([]byte(name))
	h.random = random.Sum64()
	s.hosts = append(s.hosts, h)
	return h
}

// Remove ends all programs of a host, and forgets it.
func (s *Supervisor) Remove(h *Host) {
	for _, g := range slices.Clone(h.programs) {
		g.Kill()
	}
	s.hosts = removed(s.hosts, h)
}

// host finds a host by its address.
func (s *Supervisor) host(ip [4]byte) *Host {
	for _, h := range s.hosts {
		if h.IP == ip && !h.Away {
			return h
		}
	}
	return nil
}

// Pause stops all programs of the host where they stand. Its kernel goes on: it takes connections.
func (h *Host) Pause() { h.paused = true }

// Resume lets them go on. They see first what has come meanwhile, and then that deadlines are over.
func (h *Host) Resume() {
	if !h.paused {
		return
	}
	h.paused = false
	for _, g := range h.programs {
		g.dirty = true
		g.look()
	}
	due := h.due
	h.due = nil
	for _, f := range due {
		f()
	}
}

// Quiet lets no thread go on because its time has come (sleeps and timeouts; not timers): each sees that when something else lets it go on.
// Not quiet, those whose time is over go on.
func (h *Host) Quiet(on bool) {
	if h.quiet != on {
		h.quiet = on
		h.forWaits(func(t *thread, w *wait) { t.schedule(w) }, func(*process, *timer) {})
	}
}

// String is the host's address.
func (h *Host) String() string { return fmt.Sprintf("%d.%d.%d.%d", h.IP[0], h.IP[1], h.IP[2], h.IP[3]) }

// Ran counts how often a thread of its programs went on: where it is as it was, they have done nothing.
func (h *Host) Ran() uint64 { return h.ran }

// Wall is the host's clock of the time of day, Monotonic the other.
func (h *Host) Wall() Clock      { return h.wall }
func (h *Host) Monotonic() Clock { return h.monotonic }

// SetClocks lets the clocks go as told from now on. Who waits until a clock shows a time waits for the new one.
func (h *Host) SetClocks(wall, monotonic Clock) {
	h.wall, h.monotonic = wall, monotonic
	h.clocksSet++
	for _, g := range h.programs {
		for _, x := range g.timerFDs {
			if x.clockTime != 0 {
				x.at = h.until(x.clock, x.clockTime)
				x.start(g.processes[0])
			}
		}
		for _, p := range g.processes {
			for _, t := range slices.Clone(p.threads) {
				if t.wait != nil && t.wait.clockTime != 0 {
					t.wait.deadline = t.until(t.wait.clock, t.wait.clockTime)
					t.schedule(t.wait)
				}
			}
			for _, x := range p.allTimers() {
				if x.clockTime != 0 {
					x.at = h.until(x.clock, x.clockTime)
					x.start(p)
				}
			}
		}
	}
}

// ReadWall reads the clock of the time of day.
func (h *Host) ReadWall() time.Duration { return time.Duration(h.wall.at(h.s.now)) }

// port is the next that nobody has asked for.
func (h *Host) port() int {
	const first, last = 32768, 60999
	h.ports++
	return first + (h.ports-1)%(last-first+1)
}

func (a Address) String() string {
	return fmt.Sprintf("%d.%d.%d.%d:%d", a.IP[0], a.IP[1], a.IP[2], a.IP[3], a.Port)
}

// Address is that of a socket.
type Address struct {
	IP   [4]byte
	Port int
}

// seed is that of the randomness of a program that is started now. No other one of the host has it.
func (h *Host) seed() uint64 {
	h.started++
	return mixed(h.s.Seed, h.random, h.started-1)
}
