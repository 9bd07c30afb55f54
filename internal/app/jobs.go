package app

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server"
)

// idleJobs is how many scenarios with servers of our own run at once for each processor where the machine is
// idle: most of the time a run waits.
const idleJobs = 12

// jobsFor is how many scenarios to run at once, and how many more while the machine is idle. An engine that starts
// containers disturbs the runs beside it, and runs on the same existing servers are best kept apart. In the virtual
// world nobody waits.
func jobsFor(world string, nodes server.Provider, locks ...string) (jobs, idle int) {
	if slices.ContainsFunc(locks, func(l string) bool {
		return strings.HasPrefix(l, program.ImagePrefix) || strings.Contains(l, "="+program.ImagePrefix) // NAME=LOCK
	}) {
		nodes = server.Docker
	}
	processors := runtime.NumCPU()
	switch nodes {
	case server.Docker:
		return max(processors/2, 1), 0
	case server.External:
		return 1, 0
	case server.Auto, server.Process:
	}
	if world == request.Virtual {
		return 2 * processors, 0
	}
	return 2 * processors, idleJobs * processors
}

// startsWithin is how long the lock programs of all scenarios that begin at once may take to start, on all processors; startsPrograms is
// how many a scenario has.
const (
	startsWithin   = 2 * time.Second
	startsPrograms = 3
)

// jobsOf is how many of so many scenarios to run at once where the start of one lock program keeps a processor busy for a while: a virtual
// machine for Java takes a hundred times as long as a program in Go, and would disturb the runs beside it.
func jobsOf(jobs int, start time.Duration) int {
	if start <= 0 {
		return jobs
	}
	return min(jobs, max(1, int(startsWithin*time.Duration(runtime.NumCPU())/(startsPrograms*start))))
}

// slots bound how many scenarios run at once: to sure of them at any time, and to most while the machine is idle.
// A machine that is busy, with these or with something else, would disturb more of them.
type slots struct {
	sure, most int64
	// idle is how much of the machine's time was idle since it was asked last.
	idle    func() (share float64, err error)
	running atomic.Int64
	// left gets something when a scenario has ended.
	left chan struct{}
}

// How idle the machine has to be for one more scenario, and how long that is looked at.
const (
	idleEnough = 0.35
	idleFor    = 150 * time.Millisecond
)

func newSlots(sure, most int) *slots {
	return &slots{sure: int64(sure), most: int64(most), idle: machine.NewIdle().Share, left: make(chan struct{}, 1)}
}

// take waits for a slot, or for the end of ctx. One at a time may wait.
func (s *slots) take(ctx context.Context) {
	defer s.running.Add(1)
	look := time.NewTicker(idleFor)
	defer look.Stop()
	_, _ = s.idle() // what was before does not count
	for s.running.Load() >= s.sure {
		select {
		case <-s.left:
		case <-ctx.Done():
			return
		case <-look.C:
			if share, err := s.idle(); err == nil && share >= idleEnough && s.running.Load() < s.most {
				return
			}
		}
	}
}

// leave gives a slot back.
func (s *slots) leave() {
	s.running.Add(-1)
	select {
	case s.left <- struct{}{}:
	default:
	}
}
