// Package workload is what clients do with a lock: one file for each workload,
// written against Session, so that it knows neither the lock nor the world.
package workload

import (
	"fmt"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/client"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/resource"
)

// Session is one client's way to act. Every request is recorded.
type Session interface {
	// Do carries out a request and waits for its completion.
	Do(client.Request) client.Answer
	// Now is the run time.
	Now() time.Duration
	// Sleep lets time pass; false: the run is to end.
	Sleep(time.Duration) bool
	// Point tells that the client has come to the named point.
	Point(name string)
	// Over reports that the client is gone or the run is to end.
	Over() bool
}

// Points that a client comes to between its operations.
const (
	// Acquired: the lock was granted and the client knows it.
	Acquired = "acquired"
	// Released: the release has been answered.
	Released = "released"
)

// Start says how the clients of a run begin.
type Start string

const (
	// InTurn: each begins once the one before it has been granted the lock for
	// the first time, or has ended.
	InTurn Start = "in-turn"
	// Together: all begin at once.
	Together Start = "together"
)

// Plan is what one client is to do.
type Plan struct {
	Kind string
	// Number is the client's, from 1.
	Number int
	// Sections is how many guarded sections it goes through.
	Sections int
	// Think is the time between read and write, or how long a job takes; Rest
	// that between sections.
	Think, Rest time.Duration
	// Check makes it ask the lock before it writes.
	Check bool
	// Conditional sells in one conditional step instead of reading first.
	Conditional bool
	// How keeps the two lists of a transaction together.
	How resource.How
	// Tick is the time from one job to the next, Skew how much later the clock
	// of each further scheduler shows it, Hold how long the lock is held at
	// least.
	Tick, Skew, Hold time.Duration
}

// kind is a way to spend guarded sections.
type kind struct {
	run func(Plan, Session)
	// passes is how often a section passes a point, where that is not once.
	passes map[string]int
	// final is what somebody does after all; nil: nothing.
	final func(Session) bool
}

// kinds are the workloads by name.
var kinds = map[string]kind{
	"increment":    {run: Plan.increments},
	"append":       {run: Plan.appends, final: readAll},
	"stock":        {run: Plan.sales},
	"jobs":         {run: Plan.jobs},
	"two-cells":    {run: Plan.twoCells, passes: map[string]int{client.BeforeRead: 2, client.BeforeWrite: 2, client.BeforeCheck: 2}},
	"transactions": {run: Plan.transactions, final: lookAtBoth},
	"side-effect":  {run: Plan.mails, passes: map[string]int{client.BeforeWrite: 2, client.BeforeCheck: 2}},
}

// Passes is how often at most a client passes a point in each of its sections.
func Passes(workload, point string) int {
	if n := kinds[workload].passes[point]; n > 0 {
		return n
	}
	return 1
}

// Run is one client's life.
func (p Plan) Run(s Session) error {
	k, ok := kinds[p.Kind]
	if !ok {
		return fmt.Errorf("no workload %q", p.Kind)
	}
	k.run(p, s)
	return nil
}

// Final is what one client does when all have ended and everything has healed; it
// reports whether it succeeded. Nil: the workload wants nothing of the kind.
func Final(workload string) func(Session) bool { return kinds[workload].final }

// sections goes through the guarded sections, one after the other.
func (p Plan) sections(s Session, body func(section int)) {
	for section := 1; section <= p.Sections && !s.Over(); section++ {
		if section > 1 && p.Rest > 0 && !s.Sleep(p.Rest) {
			return
		}
		p.guarded(s, section, func() { body(section) })
	}
}

// guarded does something under the lock, where it is granted.
func (p Plan) guarded(s Session, section int, body func()) {
	if s.Do(client.Request{F: history.Acquire, Section: section}).Type != history.OK {
		return
	}
	s.Point(Acquired)
	body()
	if s.Over() {
		return // nobody is left to release it
	}
	s.Do(client.Request{F: history.Release, Section: section})
	s.Point(Released)
}

// read reads a cell; false: without success.
func (p Plan) read(s Session, section int, cell string) (int64, bool) {
	a := s.Do(client.Request{F: history.Read, Section: section, Cell: cell})
	return a.Value.Number.V, a.Type == history.OK
}

// write writes a number into a cell; false: without success.
func (p Plan) write(s Session, section int, cell string, n int64) bool {
	return s.Do(client.Request{F: history.Write, Section: section, Cell: cell, Number: history.Some(n), Check: p.Check}).Type == history.OK
}

// think lets the time between read and write pass; false: the run is to end.
func (p Plan) think(s Session) bool { return p.Think <= 0 || s.Sleep(p.Think) }
