// Package clients runs the clients of the live world: each a process of its own, driven
// by the line protocol.
package clients

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/world/client"
)

// Clients are the clients of a run.
type Clients struct {
	Ctx context.Context
	// Command starts one that speaks the line protocol; its log goes into Dir.
	Command []string
	Dir     string
	Time    *machine.RunTime
	Record  func(history.Event)
	// AtPoint is called when a client passes an armed point.
	AtPoint func(client, point string)
	// Background are conversations, and points at which clients stand.
	Background *sync.WaitGroup

	// Clocks are the wall clocks of lock programs by the clients' names, where the run moves them.
	Clocks map[string]*machine.Faketime

	// Containers are where lock programs run; nil: they are processes of this machine.
	Containers Containers

	// Resting takes the processes at the end, for another run; nil: they end.
	Resting *Resting

	mu      sync.Mutex // guards running
	running map[string]*Process
}

// Containers stops and ends containers by the numbers of the processes that run them.
type Containers interface {
	PausePrograms(ctx context.Context, pids []int) error
	ResumePrograms(ctx context.Context, pids []int) error
	KillPrograms(ctx context.Context, pids []int) error
}

// Start starts the clients of a process, in the place of those that had their names.
func (s *Clients) Start(setups []client.SetupMessage) error {
	c, err := startProcess(s, setups)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running == nil {
		s.running = make(map[string]*Process)
	}
	for _, setup := range setups {
		s.running[setup.Client] = c
	}
	return nil
}

// Restart starts the process of a client again that is dead: a new life draws new values.
func (s *Clients) Restart(name string) error {
	c := s.Named(name)
	if !c.Dead() {
		return nil
	}
	setups := slices.Clone(c.setups)
	for i := range setups {
		setups[i].Seed += 0x9e3779b97f4a7c15
		setups[i].WarmUp = "" // the run goes on
	}
	return s.Start(setups)
}

// processes are those that run, by their first clients.
func (s *Clients) processes() map[string]*Process {
	first := maps.Clone(s.running)
	maps.DeleteFunc(first, func(name string, c *Process) bool { return c.name != name })
	return first
}

// Named is the process of a client; nil: there is none.
func (s *Clients) Named(name string) *Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running[name]
}

// Err says of each client that gave up why it did.
func (s *Clients) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all error
	running := s.processes()
	for _, name := range slices.Sorted(maps.Keys(running)) {
		c := running[name]
		select {
		case <-c.broken:
			if c.failed != nil {
				all = errors.Join(all, fmt.Errorf("client %s: %w", name, c.failed))
			}
		default:
		}
	}
	return all
}

// clockWithin bounds how long a client may take to move its clock.
const clockWithin = 2 * time.Second

// MoveClock bends a clock of a client that lives, and of its lock program, which keeps its clock
// when it starts again.
func (s *Clients) MoveClock(name string, m client.ClockMessage) error {
	c := s.Named(name)
	if c == nil {
		return fmt.Errorf("no client or node %q", name)
	}
	if clock := s.Clocks[c.name]; clock != nil && m.Which == client.WallClock {
		if err := moveClock(clock, m); err != nil {
			return err
		}
	}
	if c.Proc.Dead() {
		return nil
	}
	ctx, cancel := context.WithTimeout(s.Ctx, clockWithin)
	defer cancel()
	return c.setClock(ctx, m)
}

func moveClock(clock *machine.Faketime, m client.ClockMessage) error {
	if m.Reset {
		return clock.Reset()
	}
	return clock.Set(machine.Bend{Jump: m.Jump, Rate: m.Rate})
}

// Close ends all of them.
func (s *Clients) Close() {
	for _, clock := range s.Clocks {
		clock.Halt()
	}
	var group sync.WaitGroup
	for _, c := range s.processes() {
		group.Go(func() {
			if s.Resting != nil && c.rest() {
				s.Resting.give(c.childProcess)
				return
			}
			c.Close()
		})
	}
	group.Wait()
}
