package nemesis

import (
	"fmt"
	"sync"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

// Planned is a fault with its trigger.
type Planned struct {
	Kind  string
	Fault Fault
	// When fires it.
	When Trigger
}

// Trigger says when a fault strikes: at a point of a client, or at a time.
type Trigger struct {
	// Client and Point: when the client passes the point for the Nth time,
	// from 1. An empty client means any.
	Client string
	Point  string
	Nth    int
	// At is the run time, where Point is empty.
	At time.Duration
}

// String says it in words.
func (t Trigger) String() string {
	if t.Point == "" {
		return fmt.Sprintf("at %v", t.At)
	}
	who := t.Client
	if who == "" {
		who = "any client"
	}
	if t.Nth > 1 {
		return fmt.Sprintf("when %s is at %s for the %d. time", who, t.Point, t.Nth)
	}
	return fmt.Sprintf("when %s is at %s", who, t.Point)
}

// Schedule fires the faults of one run.
type Schedule struct {
	w      world.World
	record func(history.Event) int
	faults []Planned

	mu     sync.Mutex
	passed map[passing]int
	active map[int]*stroke
	healed bool
	// over fires when everything heals.
	over world.Signal
	errs []error
}

// passing counts how often a client was at a point.
type passing struct{ client, point string }

// stroke is a fault that has begun.
type stroke struct {
	fault Planned
	id    int
	begun time.Duration
	over  world.Signal
}

// NewSchedule prepares the faults, which are numbered from 1 in their order.
func NewSchedule(w world.World, record func(history.Event) int, faults []Planned) *Schedule {
	return &Schedule{w: w, record: record, faults: faults, over: w.NewSignal(),
		passed: make(map[passing]int), active: make(map[int]*stroke)}
}

// Points are the points at which clients have to report, in no order.
func Points(faults []Planned) []string {
	seen := make(map[string]bool)
	var points []string
	for _, f := range faults {
		if p := f.When.Point; p != "" && !seen[p] {
			seen[p] = true
			points = append(points, p)
		}
	}
	return points
}

// Start sets the clock for the faults that strike at a time.
func (s *Schedule) Start() {
	for i, f := range s.faults {
		if f.When.Point == "" {
			s.w.Go(func() {
				if !s.over.Wait(max(f.When.At-s.w.Now(), 1)) && !s.w.Stopped() {
					s.strike(i)
				}
			})
		}
	}
}

// Point fires the faults that wait for client at point. The client stands there
// until Point returns.
func (s *Schedule) Point(client, point string) {
	s.mu.Lock()
	s.passed[passing{client, point}]++
	s.passed[passing{"", point}]++
	var due []int
	for i, f := range s.faults {
		t := f.When
		if t.Point != point || t.Client != "" && t.Client != client {
			continue
		}
		if s.passed[passing{t.Client, point}] == max(t.Nth, 1) {
			due = append(due, i)
		}
	}
	s.mu.Unlock()
	s.record(history.Event{Process: client, Type: history.Info, F: history.Point, Value: history.Value{Point: point}})
	for _, i := range due {
		s.strike(i)
	}
}

// strike lets the i-th fault begin, and end after its length.
func (s *Schedule) strike(i int) {
	f := s.faults[i]
	s.mu.Lock()
	healed := s.healed
	s.mu.Unlock()
	if healed {
		return
	}
	if err := f.Fault.Begin(s.w); err != nil {
		s.fail(fmt.Errorf("failed to begin fault %d (%s of %s): %w", i+1, f.Kind, f.Fault.Target(), err))
		return
	}
	k := &stroke{fault: f, id: i + 1, over: s.w.NewSignal()}
	length := f.Fault.Length()
	v := history.Value{Fault: f.Kind, ID: i + 1, Target: f.Fault.Target(), Detail: f.When.String()}
	if length > 0 {
		v.Planned = history.Some(int64(length))
	}
	k.begun = s.w.Now()
	s.record(history.Event{Process: history.NemesisProcess, Type: history.Info, F: history.FaultBegin, Value: v})
	s.mu.Lock()
	s.active[i] = k
	healed = s.healed
	s.mu.Unlock()
	switch {
	case healed: // it began while everything else was being lifted
		s.end(i)
	case length > 0:
		s.w.Go(func() {
			k.over.Wait(length)
			s.end(i)
		})
	}
}

// end undoes the i-th fault, if it is active.
func (s *Schedule) end(i int) {
	s.mu.Lock()
	k := s.active[i]
	delete(s.active, i)
	s.mu.Unlock()
	if k == nil {
		return
	}
	took := s.w.Now() - k.begun
	if err := k.fault.Fault.End(s.w); err != nil {
		s.fail(fmt.Errorf("failed to end fault %d (%s of %s): %w", k.id, k.fault.Kind, k.fault.Fault.Target(), err))
		return
	}
	s.record(history.Event{Process: history.NemesisProcess, Type: history.Info, F: history.FaultEnd, Value: history.Value{
		Fault: k.fault.Kind, ID: k.id, Target: k.fault.Fault.Target(), Took: history.Some(int64(took)),
	}})
	k.over.Fire()
}

// Heal undoes what is still active and lets nothing more begin.
func (s *Schedule) Heal() {
	s.mu.Lock()
	s.healed = true
	var left []int
	for i := range s.faults {
		if s.active[i] != nil {
			left = append(left, i)
		}
	}
	s.mu.Unlock()
	s.over.Fire()
	for _, i := range left {
		s.end(i)
	}
}

// Endless reports that target stands under a fault that only healing ends.
func (s *Schedule) Endless(target string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.active {
		if k.fault.Fault.Target() == target && k.fault.Fault.Length() == 0 {
			return true
		}
	}
	return false
}

func (s *Schedule) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.errs = append(s.errs, err)
}

// Errors are what went wrong with the faults so far.
func (s *Schedule) Errors() []error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]error(nil), s.errs...)
}
