package linear

import (
	"context"
	"time"
)

// Problem is a question about a history: which model, and how to decide it.
type Problem struct {
	Model  Model
	Direct func(History) Result // nil where there is no direct algorithm
}

// Check decides a history by the first way that comes to a decision: Glance, then
// Search. method says which way it was.
func (p *Problem) Check(ctx context.Context, h History, b Bounds) (r Result, method string) {
	started := time.Now()
	if r, method = p.Glance(ctx, h, b); r.Outcome != Undecided || ctx.Err() != nil {
		return r, method
	}
	if b.Timeout > 0 {
		if b.Timeout -= time.Since(started); b.Timeout <= 0 {
			return r, method
		}
	}
	return p.Search(ctx, h, b)
}

// Glance decides what can be decided soon: by the direct algorithm, or by the
// frontier search while it stays narrow. Where there are several histories to
// decide, glancing at all first finds what is wrong with one before much time is
// spent on another.
func (p *Problem) Glance(ctx context.Context, h History, b Bounds) (r Result, method string) {
	if p.Direct != nil {
		if r = p.Direct(h); r.Outcome != Undecided {
			return r, "direct (" + p.Model.Name + ")"
		}
	}
	b.Memory = narrowMemory
	return Frontier(ctx, p.Model, h, b), "frontier search (" + p.Model.Name + ")"
}

// Search spends all that it is given: half the time on porcupine, which goes
// deep where the frontier goes wide, and the rest on the frontier search with all
// the memory there is.
func (p *Problem) Search(ctx context.Context, h History, b Bounds) (r Result, method string) {
	started := time.Now()
	if optional(h.Ops) <= maxOptional {
		deep := b
		deep.Timeout /= 2
		if r = Reference(ctx, p.Model, h, deep); r.Outcome != Undecided || ctx.Err() != nil {
			return r, "porcupine (" + p.Model.Name + ")"
		}
	}
	if b.Timeout > 0 {
		if b.Timeout -= time.Since(started); b.Timeout <= 0 {
			return undecided("no answer in the time that was given"), "porcupine (" + p.Model.Name + ")"
		}
	}
	return Frontier(ctx, p.Model, h, b), "frontier search (" + p.Model.Name + ")"
}

// narrowMemory keeps the first frontier search to some thousand configs.
const narrowMemory = 4 << 20

// maxOptional is how many operations of unknown outcome porcupine is bothered
// with where the frontier search has given up: its effort may double with each.
const maxOptional = 24

func optional(ops []Op) int {
	n := 0
	for i := range ops {
		if ops[i].Optional() && !ops[i].idle() {
			n++
		}
	}
	return n
}

// CounterProblem is a counter or register that starts at initial.
func CounterProblem(initial int64) Problem {
	return Problem{Model: Cell(initial), Direct: func(h History) Result {
		if r := Increments(h); r.Outcome != Undecided {
			return r
		}
		return Register(h)
	}}
}

// StockProblem is a stock of initial units.
func StockProblem(initial int64) Problem {
	return Problem{Model: Stock(initial), Direct: stockSections}
}

// stockSections decides a stock of which every change says what it left: it is a
// register that nobody may set below zero.
func stockSections(h History) Result {
	below := -1 // the first operation that would leave less than nothing
	for i := range h.Ops {
		o := &h.Ops[i]
		left := int64(0)
		switch o.Kind {
		case Read:
		case Write:
			left = o.A
		case CAS:
			left = o.B
		default:
			return undecided("not a history of sections of a stock")
		}
		switch {
		case left >= 0:
		case o.Optional():
			return undecided("an optional sale of more than there was")
		case below < 0:
			below = i
		}
	}
	if below >= 0 {
		return illegal("more was sold than there was", below)
	}
	return Register(h)
}

// ListProblem is a list that starts empty.
func ListProblem(lists [][]int64) Problem {
	return Problem{Model: List(lists), Direct: Appends}
}

// JobsProblem is a set of ticks whose jobs have run.
func JobsProblem() Problem { return Problem{Model: Jobs(), Direct: JobRuns} }
