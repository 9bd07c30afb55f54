package linear

import "context"

// Problem is a question about a history: which model, and how to decide it.
type Problem struct {
	Model  Model
	Direct func(History) Result // nil where there is no direct algorithm
}

// Check decides a history by the first way that comes to a decision: the direct
// algorithm, the frontier search, porcupine. method says which it was.
func (p *Problem) Check(ctx context.Context, h History, b Bounds) (r Result, method string) {
	if p.Direct != nil {
		if r = p.Direct(h); r.Outcome != Undecided {
			return r, "direct (" + p.Model.Name + ")"
		}
	}
	r = Frontier(ctx, p.Model, h, b)
	if r.Outcome != Undecided || ctx.Err() != nil {
		return r, "frontier search (" + p.Model.Name + ")"
	}
	if optional(h.Ops) > maxOptional {
		return r, "frontier search (" + p.Model.Name + ")"
	}
	return Reference(ctx, p.Model, h, b), "porcupine (" + p.Model.Name + ")"
}

// maxOptional is how many operations of unknown outcome porcupine is bothered
// with where the frontier search has given up: its effort may double with each.
const maxOptional = 12

func optional(ops []Op) int {
	n := 0
	for i := range ops {
		if ops[i].Optional() {
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
	return Problem{Model: Stock(initial), Direct: func(h History) Result {
		for i := range h.Ops {
			switch o := &h.Ops[i]; {
			case o.Kind != CAS && o.Kind != Read:
				return undecided("not a history of sections of a stock")
			case o.Kind == CAS && o.B < 0 && o.Optional():
				return undecided("an optional sale of more than there was")
			case o.Kind == CAS && o.B < 0:
				return illegal("more was sold than there was", i)
			}
		}
		return Register(h)
	}}
}

// ListProblem is a list that starts empty.
func ListProblem(lists [][]int64) Problem {
	return Problem{Model: List(lists), Direct: Appends}
}

// JobsProblem is a set of ticks whose jobs have run.
func JobsProblem() Problem { return Problem{Model: Jobs(), Direct: JobRuns} }
