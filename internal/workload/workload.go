// Package workload is what clients do with a lock: one file for each workload,
// written against Session, so that it knows neither the lock nor the world.
package workload

import (
	"fmt"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/client"
)

// Session is one client's way to act. Every request is recorded.
type Session interface {
	// Do carries out a request and waits for its completion.
	Do(client.Request) client.Answer
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
	// Sections is how many guarded sections it goes through.
	Sections int
	// Think is the time between read and write, Rest that between sections.
	Think, Rest time.Duration
	// Check makes it ask the lock before it writes.
	Check bool
}

// kinds are the workloads by name.
var kinds = map[string]func(Plan, Session){
	"increment": Plan.increments,
}

// Run is one client's life.
func (p Plan) Run(s Session) error {
	run, ok := kinds[p.Kind]
	if !ok {
		return fmt.Errorf("no workload %q", p.Kind)
	}
	run(p, s)
	return nil
}
