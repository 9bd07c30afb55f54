package trial

import (
	"context"
	"fmt"
	"hash/fnv"
	"sync"

	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/runner"
	"github.com/redlock-sim/redlock-sim/internal/world/virtual/guests"
)

// Repeating is what the trials of one command know of programs in virtual time: which of them repeat, that is two runs with one seed had
// the same history. The zero value knows nothing.
type Repeating struct {
	mu sync.Mutex
	// known are the programs, by how each is started; empty is a lock of sim.
	known map[string]*repeats
}

// repeats is what is known of one program.
type repeats struct {
	// passed: two runs were the same; differed: two were not. unkept counts the runs on kept servers and programs that differed from one with
	// all started afresh.
	passed, differed bool
	unkept           int
}

// mostUnkept is how many runs on what is kept may differ from one with all started afresh before nothing is kept for the program any more.
const mostUnkept = 3

// Passed notes that two runs of a program with one seed were the same, Differed that they were not: then no other word counts. nil is a
// lock of sim.
func (r *Repeating) Passed(l *lock.Program)   { r.about(l, func(k *repeats) { k.passed = true }) }
func (r *Repeating) Differed(l *lock.Program) { r.about(l, func(k *repeats) { k.differed = true }) }

// Repeats reports that two runs of a program were the same, and none have differed.
func (r *Repeating) Repeats(l *lock.Program) (is bool) {
	r.about(l, func(k *repeats) { is = k.passed && !k.differed })
	return is
}

// about looks at what is known of a program. Where nobody remembers, nothing is.
func (r *Repeating) about(l *lock.Program, look func(*repeats)) {
	if r == nil {
		look(&repeats{})
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	key := ""
	if l != nil {
		key = started(l)
	}
	if r.known == nil {
		r.known = make(map[string]*repeats)
	}
	if r.known[key] == nil {
		r.known[key] = &repeats{}
	}
	look(r.known[key])
}

// oneIn is of how many runs in which nothing is held against the lock one is made twice all the same.
const oneIn = 8

// isSample reports that a run is one of those. It does not depend on what else is run. Runs of servers with replicas are none: they cost
// five times as much as others, and show no more of the program.
func isSample(s *subject, c *runner.Config) bool {
	if s.Setup.Nodes.Replicated() {
		return false
	}
	h := fnv.New32a()
	_, _ = fmt.Fprint(h, c.Scenario, "/", c.Variant.Name, "/", c.Seed)
	return h.Sum32()%oneIn == 0
}

// Kept are servers and lock programs that trials use one after the other, see Options.
type Kept = guests.Keepers

// NewKept keeps nothing yet. What it keeps ends with it (Close).
func NewKept(ctx context.Context) *Kept {
	return guests.NewKeepers(context.WithoutCancel(ctx)) // the end of a run is not the end of what is kept
}

// likeness is how alike two histories are, as they were written, but for the values of locks, each in the place of another: of a library
// that makes a part of them once for all, a program that is kept has others. same: they are the same. near: times differ at most
// closely.
func likeness(one, other []byte) (same, near bool) {
	apart, differs, err := guests.Alike(one, other)
	alike := err == nil && differs == nil
	return alike && apart == 0, alike && apart <= closely
}
