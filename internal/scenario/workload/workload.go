// Package workload is what clients do with a lock: one file for each workload, which
// registers all that the project knows of it. What clients do is written against
// Session, so that it knows neither the lock nor the world.
package workload

import (
	"fmt"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/scenario/resource"
)

// Session is one client's way to act. Every request is recorded.
type Session interface {
	// Do carries out a request and waits for its completion.
	Do(Request) Answer
	// Now is the run time.
	Now() time.Duration
	// Sleep lets time pass; false: the run is to end.
	Sleep(time.Duration) bool
	// Point tells that the client has come to the named point.
	Point(name string)
	// Over reports that the client is gone or the run is to end.
	Over() bool
}

// Start says how the clients of a run begin.
type Start string

const (
	// InTurn: each begins once the one before it has been granted the lock for
	// the first time, or has ended.
	InTurn Start = "in-turn"
	// Together: all begin at once.
	Together Start = "together"
)

// Leave says how a client leaves a section.
type Leave string

const (
	// LeavesReleased: it gives the lock back.
	LeavesReleased Leave = "released"
	// LeavesHeld: it keeps the lock, and asks for it again, where another section comes.
	LeavesHeld Leave = "held"
	// LeavesForgotten: it drops the lock, and neither releases nor extends it.
	LeavesForgotten Leave = "forgotten"
)

// Object says how many lock objects of a library a client uses.
type Object string

// Objects.
const (
	// NewObject: one for each grant that it asks for.
	NewObject Object = "new"
	// OneObject: one for all.
	OneObject Object = "one"
)

// Plan is what the clients are to do. The scenario reads and documents it by its tags
// (see scenario).
type Plan struct {
	Kind    Name `yaml:"kind" default:"increment"`
	Clients int  `yaml:"clients" doc:"how many clients; they are named c1, c2, c3, ..." min:"1" max:"50" default:"2"`
	// PerProcess is for locks of which threads share something: connections, a map of local locks, an identity.
	PerProcess int           `yaml:"per_process" doc:"how many clients share one process, each as a thread or task of it: with 2 c1 and c2 are in one, c3 and c4 in the next. What stops or kills one of them, moves its clock or strikes its links does so to all of its process" min:"1" max:"50" default:"1"`
	Readers    int           `yaml:"readers" doc:"how many of the clients, the last ones, are readers: they take the lock beside other readers, and write nothing" max:"50" default:"0"`
	Upgrade    bool          `yaml:"upgrade" doc:"each reader asks to write before it has left, and writes if it gets that; else it goes on as a reader" default:"false"`
	Sections   int           `yaml:"sections" doc:"how many guarded sections each client goes through" min:"1" max:"100000" default:"1"`
	Think      time.Duration `yaml:"think" doc:"time between read and write, or how long a job takes" max:"10m" default:"0s"`
	Rest       time.Duration `yaml:"rest" doc:"time between the sections of one client" max:"10m" default:"0s"`
	Extend     time.Duration `yaml:"extend" doc:"the client makes its grant last longer each time that it has worked so long, and stops working if that is refused; 0s: never" max:"10m" default:"0s"`
	Leave      Leave         `yaml:"leave" doc:"released: the client releases the lock at the end of each section; held: it does not, and asks again, until its last section; forgotten: it drops the lock, and neither releases nor extends it" default:"released" values:"released,held,forgotten"`
	Nested     bool          `yaml:"nested" doc:"in each section the client asks for the lock once more, and if it gets it gives this one back and works on, as a function does that is called by one which has the lock" default:"false"`
	Object     Object        `yaml:"object" doc:"new: the client asks for the lock with a new lock object of the library each time; one: always with the same one" default:"new" values:"new,one"`
	Busy       time.Duration `yaml:"busy" doc:"how long after each grant the lock program keeps its own thread or event loop occupied, as the user's code would that computes" max:"10m" default:"0s"`
	Start      Start         `yaml:"start" doc:"in-turn: each client begins once the one before it has been granted the lock or has ended; together: all at once" default:"in-turn" values:"in-turn,together"`
	Apart      time.Duration `yaml:"apart" doc:"if all start together: each client begins so long after the one before it" max:"10m" default:"0s"`
	WarmUp     bool          `yaml:"warm_up" doc:"each client with a lock program gets the lock once and gives it back before the run's time begins: then it has its connections, and knows where the lock is kept, as sim's own locks always do" default:"false"`
	Check      bool          `yaml:"check_before_write" doc:"the client asks its lock whether it is still valid before it writes" default:"false"`

	Conditional bool          `yaml:"conditional" doc:"stock: take the unit in one conditional step instead of reading first" default:"false"`
	How         resource.How  `yaml:"how" doc:"transactions: MULTI and EXEC, one script, two separate commands, DISCARD instead of EXEC, a command that cannot be queued, or one that fails when it is run" default:"exec" values:"exec,script,separate,discard,queue-error,run-error"`
	Tick        time.Duration `yaml:"tick" doc:"jobs: time from one tick to the next" max:"10m" default:"500ms"`
	Skew        time.Duration `yaml:"skew" doc:"jobs: how much later the clock of each further client shows a tick" max:"10m" default:"0s"`
	Hold        time.Duration `yaml:"hold" doc:"jobs: hold the lock for at least this long" max:"10m" default:"0s"`

	// Number is that of the client whose plan it is, from 1.
	Number int
}

// Workload is the workload that the plan names.
func (p *Plan) Workload() Workload { return workloads[p.Kind] }

// Reads reports that the client is a reader.
func (p *Plan) Reads() bool { return p.Number > p.Clients-p.Readers }

// Points lists the points that a client comes to by its workload.
func (p *Plan) Points() []string {
	w := p.Workload()
	if w.Pair && p.How == resource.Separately {
		return []string{BeforeTransaction, BeforeSnapshot, BetweenCommands}
	}
	if w.Pair {
		return []string{BeforeTransaction, BeforeSnapshot}
	}
	points := []string{BeforeAcquire, Acquired, BeforeWrite}
	if p.Leave != LeavesForgotten {
		points = append(points, BeforeRelease, Released)
	}
	if p.ReadsFirst() {
		points = slices.Insert(points, 2, BeforeRead)
	}
	if p.Check {
		points = append(points, BeforeCheck)
	}
	if p.Extend > 0 {
		points = append(points, BeforeExtend)
	}
	return points
}

// Passes is how often at most a client comes to a point in each of its sections,
// however often its lock tries; 0: that cannot be said.
func (p *Plan) Passes(point string) int {
	switch {
	case (p.Nested || p.Upgrade) && (point == BeforeAcquire || point == BeforeRelease):
		return 2
	case point == BeforeRead && p.ReadsFirst():
		return p.Workload().Reads
	case point == BeforeWrite || point == BeforeCheck:
		return p.Workload().Writes
	case point == BeforeExtend && p.Extend > 0:
		return int((p.Think - 1) / p.Extend)
	case slices.Contains(p.Points(), point):
		return 1
	}
	return 0
}

// ReadsFirst reports that a section reads before it writes.
func (p *Plan) ReadsFirst() bool { return p.Workload().Reads > 0 && !p.Conditional }

// Run is one client's life.
func (p Plan) Run(s Session) error {
	w := p.Workload()
	if w.run == nil {
		return fmt.Errorf("no workload %q", p.Kind)
	}
	w.run(p, s)
	return nil
}

// Final is what one client does when all have ended and everything has healed; it
// reports whether it succeeded. Nil: the workload wants nothing of the kind.
func (p *Plan) Final() func(Session) bool { return p.Workload().final }

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
	if s.Do(Request{F: history.Acquire, Section: section}).Type != history.OK {
		return
	}
	s.Point(Acquired)
	if p.Nested && s.Do(Request{F: history.Acquire, Section: section, Inner: true}).Type == history.OK {
		s.Do(Request{F: history.Release, Section: section})
	}
	body()
	if s.Over() {
		return // nobody is left to release it
	}
	if p.Leave == LeavesHeld && section < p.Sections {
		return
	}
	if p.Leave == LeavesForgotten {
		s.Do(Request{F: history.Forget, Section: section})
		return
	}
	s.Do(Request{F: history.Release, Section: section})
	s.Point(Released)
}

// upgraded does something as a writer, in the section of a reader, where that is granted.
func (p Plan) upgraded(s Session, section int, body func()) {
	if s.Do(Request{F: history.Acquire, Section: section, Inner: true, Upgrade: true}).Type != history.OK {
		return
	}
	if body(); !s.Over() {
		s.Do(Request{F: history.Release, Section: section})
	}
}

// read reads a cell; false: without success.
func (p Plan) read(s Session, section int, cell string) (int64, bool) {
	a := s.Do(Request{F: history.Read, Section: section, Cell: cell})
	return a.Value.Number.V(), a.Type == history.OK
}

// write writes a number into a cell; false: without success.
func (p Plan) write(s Session, section int, cell string, n int64) bool {
	return s.Do(Request{F: history.Write, Section: section, Cell: cell, Number: history.Some(n), Check: p.Check}).Type == history.OK
}

// think lets the time between read and write pass; false: the run is to end, or the lock is lost.
func (p Plan) think(s Session) bool {
	left := p.Think
	for p.Extend > 0 && left > p.Extend {
		if !s.Sleep(p.Extend) || s.Do(Request{F: history.Extend}).Type == history.Fail {
			return false
		}
		left -= p.Extend
	}
	return left <= 0 || s.Sleep(left)
}
