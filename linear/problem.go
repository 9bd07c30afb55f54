package linear

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"
)

// Problem is a question about a history: whether a model explains it, and how to decide
// that.
type Problem struct {
	History History
	Model   Model
	// Direct is a direct algorithm; nil where there is none. It must leave a
	// history undecided that has operations which are Maybe, unless it knows them.
	Direct func(History) Result
	// Order gives an order that explains a history which Direct finds legal; nil where no algorithm knows one.
	// ok is false where it gives none.
	Order func(History) (order []int, ok bool)
}

// Check decides the history by the first way that comes to a decision: Glance, then
// Search. method says which way it was.
func (p *Problem) Check(ctx context.Context, b Bounds) (r Result, method string) {
	started := time.Now()
	if r, method = p.Glance(ctx, b); r.Outcome != Undecided || ctx.Err() != nil || method == "none" {
		return r, method
	}
	if b.Timeout > 0 {
		if b.Timeout -= time.Since(started); b.Timeout <= 0 {
			return r, method
		}
	}
	return p.Search(ctx, b)
}

// Glance decides what can be decided soon: by the direct algorithm, or by the
// frontier search while it stays narrow. Where there are several histories to
// decide, glancing at all first finds what is wrong with one before much time is
// spent on another.
func (p *Problem) Glance(ctx context.Context, b Bounds) (r Result, method string) {
	if why := p.History.malformed(); why != "" {
		return undecided(why), "none"
	}
	if p.Direct != nil {
		if r = p.Direct(p.History); r.Outcome != Undecided {
			return r, "direct (" + p.Model.Name + ")"
		}
	}
	b.Memory = narrowMemory
	return searchFrontier(ctx, p.Model, p.History, b), "frontier search (" + p.Model.Name + ")"
}

// malformed says what makes something no history; empty: nothing.
func (h *History) malformed() string {
	for i := range h.Ops {
		switch o := &h.Ops[i]; {
		case o.Call == math.MinInt64:
			return fmt.Sprintf("operation %d has no call", i)
		case o.Return < o.Call:
			return fmt.Sprintf("operation %d returns before it is called", i)
		case (o.Kind == ReadList || o.Kind == ReadSet) && (o.A < 0 || o.A >= int64(len(h.Lists))):
			return fmt.Sprintf("operation %d reads list %d of %d", i, o.A, len(h.Lists))
		case o.Kind == Append && o.B < 0 && o.B != None:
			return fmt.Sprintf("operation %d found a list of %d elements", i, o.B)
		}
	}
	return ""
}

// Search spends all that it is given: half the time on porcupine, which goes
// deep where the frontier goes wide, and the rest on the frontier search with all
// the memory there is.
func (p *Problem) Search(ctx context.Context, b Bounds) (r Result, method string) {
	started := time.Now()
	if !hasMaybe(p.History.Ops) && optional(p.History.Ops) <= maxOptional {
		deep := b
		deep.Timeout /= 2
		if r = Reference(ctx, p.Model, p.History, deep); r.Outcome != Undecided || ctx.Err() != nil {
			return r, "porcupine (" + p.Model.Name + ")"
		}
	}
	if b.Timeout > 0 {
		if b.Timeout -= time.Since(started); b.Timeout <= 0 {
			return undecided("no answer in the time that was given"), "porcupine (" + p.Model.Name + ")"
		}
	}
	return searchFrontier(ctx, p.Model, p.History, b), "frontier search (" + p.Model.Name + ")"
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

func hasMaybe(ops []Op) bool { return slices.ContainsFunc(ops, func(o Op) bool { return o.Maybe }) }

// CounterProblem asks about a counter or register.
func CounterProblem(h History) Problem {
	return Problem{History: h, Model: Cell(h.Initial), Direct: func(h History) Result {
		if r := decideIncrements(h); r.Outcome != Undecided {
			return r
		}
		return decideRegister(h)
	}, Order: func(h History) (order []int, ok bool) {
		if order, ok = incrementsOrder(h); !ok {
			order, ok = registerOrder(h)
		}
		return order, ok
	}}
}

// StockProblem asks about a stock.
func StockProblem(h History) Problem {
	return Problem{History: h, Model: Stock(h.Initial), Direct: stockSections, Order: stockOrder}
}

// stockSections decides a stock of which every change says what it left: it is a
// register that nobody may set below zero.
func stockSections(h History) Result {
	below := -1 // the first operation that would leave less than nothing
	for i := range h.Ops {
		o := &h.Ops[i]
		left := int64(0)
		if o.Maybe {
			return undecided(whyMaybe)
		}
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
	return decideRegister(h)
}

// stockOrder gives an order of a history that stockSections finds legal.
func stockOrder(h History) (order []int, ok bool) {
	if stockSections(h).Outcome != Legal {
		return nil, false
	}
	return registerOrder(h)
}

// ListProblem asks about a list that starts empty.
func ListProblem(h History) Problem {
	return Problem{History: h, Model: List(h.Lists), Direct: decideAppends, Order: appendsOrder}
}

// MutexProblem asks about a lock whose grants are tagged.
func MutexProblem(h History) Problem {
	return Problem{History: h, Model: TaggedMutex(), Direct: Mutex, Order: mutexOrder}
}

// JobsProblem asks about a set of ticks whose jobs have run.
func JobsProblem(h History) Problem {
	return Problem{History: h, Model: Jobs(), Direct: decideJobs, Order: jobsOrder}
}
