package checker

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker/facts"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/scenario/workload"
	"github.com/redlock-sim/redlock-sim/internal/words"
	"github.com/redlock-sim/redlock-sim/linear"
)

// cell is one part of the resource with the sections that worked on it.
type cell struct {
	key string
	h   linear.History
	// from has for each operation the section it is.
	from []*facts.Section
	// visits are those of its sections.
	visits []visit
}

// judgeResource: the guarded sections are linearizable as atomic operations.
func judgeResource(ctx context.Context, j *judge, o Options) Finding {
	if j.Workload.Cell.Data == 0 {
		return unknown(fmt.Sprintf("there is no model for the workload %q", j.History.Header.Workload), Effort{Operations: len(j.Ops)})
	}
	cells, effort := j.resourceCells()
	f := Finding{Effort: effort}
	for i := range cells {
		c := &cells[i]
		d := decider{ctx: ctx, options: o, problem: j.CellData(c.key).Problem(c.h)}
		r := d.decide(c.h.Ops, !o.Fast)
		f.Method = d.method
		switch r.Outcome {
		case linear.Undecided:
			return unknown(r.Why, effort)
		case linear.Illegal:
			return j.brokenCellFinding(f, c, &d)
		}
	}
	f = f.noViolation("the resource was never contended: no client completed a section that met one of another client",
		"%d %s, %sexplained by one order", effort.Chances, effort.What(), allIfSeveral(effort.Chances))
	if r := j.firstRefusal(); f.Verdict == Holds && r != nil {
		f.Why, f.Events = refusalWords(r), sortedEvents(r.Event)
	}
	return f
}

// decider decides histories of one cell.
type decider struct {
	ctx     context.Context
	options Options
	problem linear.Problem
	method  string
}

func (d *decider) decide(ops []linear.Op, confirm bool) linear.Result {
	bounds := linear.Bounds{Timeout: d.options.Timeout, Memory: d.options.Memory}
	p := d.problem
	p.History.Ops = ops
	r, method := p.Check(d.ctx, bounds)
	d.method = method
	if !confirm || r.Outcome == linear.Undecided {
		return r
	}
	if len(ops) > ConfirmUpTo || optional(ops) > maxOptional { // too much for porcupine, and not for an order that is known
		if r.Outcome != linear.Legal {
			return r
		}
		switch known, err := p.Confirm(); {
		case err != nil:
			return linear.Result{Outcome: linear.Undecided, Why: fmt.Sprintf("the order that %s found explains nothing: %v", method, err)}
		case known:
			d.method += ", confirmed by its order"
		}
		return r
	}
	ref := linear.Reference(d.ctx, p.Model, p.History, bounds)
	if ref.Outcome == r.Outcome {
		d.method += ", confirmed by porcupine"
	} else if ref.Outcome != linear.Undecided {
		return linear.Result{Outcome: linear.Undecided,
			Why: fmt.Sprintf("two methods disagree: %s says %v, porcupine %v", method, r.Outcome, ref.Outcome)}
	}
	return r
}

// maxOptional is how many operations of unknown outcome porcupine is bothered
// with for the sake of a confirmation: its effort doubles with each.
const maxOptional = 8

func optional(ops []linear.Op) int {
	n := 0
	for i := range ops {
		if ops[i].Optional() {
			n++
		}
	}
	return n
}

// resourceCells turns the sections into operations, by the part of the resource they
// worked on.
func (j *judge) resourceCells() ([]cell, Effort) {
	byKey := make(map[string]*cell)
	processes := make(map[string]int32)
	clients, came := make(map[string]bool), make(map[string]bool)
	for i := range j.Sections {
		s := &j.Sections[i]
		c := byKey[s.Key]
		if c == nil {
			c = &cell{key: s.Key, h: linear.History{Initial: j.History.Header.Initial.V()}}
			byKey[s.Key] = c
		}
		if j.answered(s) {
			came[s.Client] = true
		}
		ops := j.sectionOps(s, &c.h)
		if _, ok := processes[s.Client]; !ok {
			processes[s.Client] = int32(len(processes))
		}
		judged := false
		for _, o := range ops {
			o.Process = processes[s.Client]
			c.h.Ops, c.from = append(c.h.Ops, o), append(c.from, s)
			if o.Optional() || o.Kind == linear.Read || o.Kind == linear.ReadList {
				continue
			}
			clients[s.Client] = true
			// What wrote without a look cannot have missed anything.
			judged = o.Kind != linear.Write && (o.Kind != linear.Append || o.B != linear.None)
		}
		if s.Number != 0 || len(s.Writes) > 0 {
			x := j.visitOf(s, processes[s.Client])
			x.judged = judged
			c.visits = append(c.visits, x)
		}
	}
	effort := Effort{Operations: len(j.Ops), Of: "sections of " + words.Count(len(clients), "client")}
	for _, c := range byKey {
		// Where a job's client is refused, it is rightly not run again.
		if j.Workload.Cell.Data != workload.JobsData {
			effort.Chances += countMeetings(c.visits)
		} else if len(came) > 1 || j.contendedAttempts(j.Beliefs()) > 0 {
			for i := range c.visits {
				if c.visits[i].judged {
					effort.Chances++
				}
			}
		}
	}
	cells := make([]cell, 0, len(byKey))
	for _, k := range slices.Sorted(maps.Keys(byKey)) {
		cells = append(cells, *byKey[k])
	}
	return cells, effort
}

// answered reports whether the resource answered a client in a section.
func (j *judge) answered(s *facts.Section) bool {
	did := func(i int) bool { return j.Ops[i].Type != history.Info }
	return slices.ContainsFunc(s.Reads, did) || slices.ContainsFunc(s.Writes, did)
}

// sectionOps is what a section did to its cell. A section is one atomic step
// from what it read to what it wrote; it is invoked when its read was sent and
// completed when its write was answered. A refused write makes the whole section
// as if it had not been. Reads outside sections stand for themselves.
func (j *judge) sectionOps(s *facts.Section, h *linear.History) []linear.Op {
	var ops []linear.Op
	if len(s.Writes) == 0 {
		if s.Number != 0 {
			return nil
		}
		for _, r := range s.Reads {
			if o := &j.Ops[r]; o.Type == history.OK {
				ops = append(ops, j.readOp(r, h, j.At(o.Call), j.At(o.Return)))
			}
		}
		return ops
	}
	write := j.DecisiveWrite(s)
	if write < 0 {
		return nil
	}
	w := &j.Ops[write]
	if w.F == history.CAS {
		return append(ops, j.takeOp(write, s.Writes[0]))
	}
	op := linear.Op{Kind: linear.Write, A: j.Number(write).V(), Call: int64(j.At(j.Ops[s.Writes[0]].Call)), Return: linear.Never}
	if w.Type == history.OK {
		op.Return = int64(j.At(w.Return))
	}
	read := j.LastReadBefore(s, s.Writes[0])
	if read >= 0 {
		op.Call = int64(j.At(j.Ops[read].Call))
	}
	switch j.CellData(s.Key) {
	case workload.JobsData:
		op.Kind = linear.Run
	case workload.ListData:
		op.Kind, op.B = linear.Append, linear.None
		if read >= 0 {
			// What the section read, it read at the same instant as it wrote.
			seen := j.readOp(read, h, time.Duration(op.Call), time.Duration(op.Return))
			op.B = int64(len(h.Lists[seen.A]))
			if !op.Optional() {
				ops = append(ops, seen)
			}
		}
	case workload.CounterData, workload.StockData:
		if read >= 0 {
			op.Kind, op.A, op.B = linear.CAS, j.ReadValue(read), op.A
		}
	}
	return append(ops, op)
}

// takeOp is a section that took units in one step. What became of one without an
// answer, the resource's log tells, if anything does. That the log is silent does not say:
// a server that dies may have carried out what it could not tell any more.
func (j *judge) takeOp(op, first int) linear.Op {
	w := &j.Ops[op]
	o := linear.Op{Kind: linear.CAS, Call: int64(j.At(j.Ops[first].Call)), Return: linear.Never}
	wanted := j.Event(w.Call).Value.Number.V()
	if w.Type == history.OK {
		e := j.Event(w.Return)
		o.A, o.B, o.Return = e.Value.Expected().V(), e.Value.Number.V(), int64(j.At(w.Return))
	} else if x := j.AcceptedEffect(op); x != nil {
		o.A, o.B = x.Number().V()+wanted, x.Number().V()
	} else {
		o.Kind, o.A = linear.Sell, wanted
	}
	return o
}

// readOp is a read by itself.
func (j *judge) readOp(op int, h *linear.History, call, ret time.Duration) linear.Op {
	o := linear.Op{Kind: linear.Read, Call: int64(call), Return: int64(ret)}
	if j.CellData(j.Event(j.Ops[op].Call).Value.Key) != workload.ListData {
		o.A = j.ReadValue(op)
		return o
	}
	o.Kind, o.A = linear.ReadList, int64(len(h.Lists))
	h.Lists = append(h.Lists, j.Event(j.Ops[op].Return).Value.List())
	return o
}

// firstRefusal is a write that the resource refused, nil for none.
func (j *judge) firstRefusal() *facts.Effect {
	for i := range j.Effects {
		if x := &j.Effects[i]; x.Changes() && x.Refused {
			return x
		}
	}
	return nil
}

// brokenCellFinding makes the finding that a cell's history has no explanation.
func (j *judge) brokenCellFinding(f Finding, c *cell, d *decider) Finding {
	if j.brief {
		return violatedBriefly(f)
	}
	// From here on it is only a matter of showing what has been decided.
	least := linear.Fewest(c.h.Ops, func(ops []linear.Op) linear.Result { return d.decide(ops, false) }, true)
	var sections []*facts.Section
	for _, i := range least.Operations {
		if x := c.from[i]; !slices.Contains(sections, x) {
			sections = append(sections, x)
		}
	}
	slices.SortStableFunc(sections, func(a, b *facts.Section) int { return cmp.Compare(j.SectionBegin(a), j.SectionBegin(b)) })
	f.Verdict = Violated
	f.Why = j.brokenWhy(sections)
	return f.withCounterexample(j.sectionsCounterexample(sections, c.from[least.At], len(c.h.Ops)))
}
