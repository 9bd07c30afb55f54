//go:build linux && amd64

package supervisor

import (
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/supervisor/launch"
)

// SetMaxSpin bounds how long a program may compute without a call, while a test runs.
func SetMaxSpin(t *testing.T, d time.Duration) {
	old := maxSpin
	maxSpin = d
	t.Cleanup(func() { maxSpin = old })
}

// WithoutNamespace lets programs have the machine's numbers of processes, while a test runs.
func WithoutNamespace(t *testing.T) {
	old := namespace
	namespace = func() launch.Namespace { return launch.Shared }
	t.Cleanup(func() { namespace = old })
}

// Events is how many events are to come.
func (s *Supervisor) Events() int { return len(s.events) }

// Digest is one of all calls with their times.
func (s *Supervisor) Digest() uint64 { return s.digest }

// Processes are the numbers of a program's processes.
func (g *Program) Processes() (pids []int) {
	for _, p := range g.processes {
		pids = append(pids, p.pid)
	}
	return pids
}

// WithoutRights lets the supervisor make no use of rights that not everybody has: as in a container.
func WithoutRights() {
	namespace = func() launch.Namespace { return launch.Shared }
	mayCopy = false
}

// Bound is how many supervisors are at work, and how many have been at once.
func Bound() (now, most int) {
	bound.mu.Lock()
	defer bound.mu.Unlock()
	return bound.now, bound.most
}
