package checker

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/scenario/workload"
	"github.com/redlock-sim/redlock-sim/linear"
)

// cell is one part of the resource with the sections that worked on it.
type cell struct {
	key string
	h   linear.History
	// from has for each operation the section it is.
	from []*section
	// visits are those of its sections.
	visits []visit
}

// data is what a cell is.
func (v *view) data(key string) workload.Data { return v.work.CellOf(key).Data }

// judgeResource: the guarded sections are linearizable as atomic operations.
func judgeResource(ctx context.Context, v *view, o Options) Finding {
	if v.work.Cell.Data == 0 {
		return unknown(fmt.Sprintf("there is no model for the workload %q", v.h.Header.Workload), Effort{Operations: len(v.ops)})
	}
	cells, effort := v.cells()
	f := Finding{Effort: effort}
	for i := range cells {
		c := &cells[i]
		d := decider{ctx: ctx, options: o, problem: v.data(c.key).Problem(c.h)}
		r := d.decide(c.h.Ops, !o.Fast)
		f.Method = d.method
		switch r.Outcome {
		case linear.Undecided:
			return unknown(r.Why, effort)
		case linear.Illegal:
			return v.brokenCell(f, c, &d)
		}
	}
	f = f.tried("the resource was never contended: no client completed a section that met one of another client",
		"%d %s, %sexplained by one order", effort.Chances, effort.What(), all(effort.Chances))
	if r := v.refusal(); f.Verdict == Holds && r != nil {
		f.Why, f.Events = refusalWords(r), sortedEvents(r.event)
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
	if !confirm || r.Outcome == linear.Undecided || len(ops) > ConfirmUpTo || optional(ops) > maxOptional {
		return r
	}
	ref := linear.Reference(d.ctx, p.Model, p.History, bounds)
	switch ref.Outcome {
	case linear.Undecided:
	case r.Outcome:
		d.method += ", confirmed by porcupine"
	default:
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

// cells turns the sections into operations, by the part of the resource they
// worked on.
func (v *view) cells() ([]cell, Effort) {
	byKey := make(map[string]*cell)
	processes := make(map[string]int32)
	clients, came := make(map[string]bool), make(map[string]bool)
	for i := range v.sections {
		s := &v.sections[i]
		c := byKey[s.key]
		if c == nil {
			c = &cell{key: s.key, h: linear.History{Initial: v.h.Header.Initial.V()}}
			byKey[s.key] = c
		}
		if v.answered(s) {
			came[s.client] = true
		}
		ops := v.sectionOps(s, &c.h)
		if _, ok := processes[s.client]; !ok {
			processes[s.client] = int32(len(processes))
		}
		judged := false
		for _, o := range ops {
			o.Process = processes[s.client]
			c.h.Ops, c.from = append(c.h.Ops, o), append(c.from, s)
			if o.Optional() || o.Kind == linear.Read || o.Kind == linear.ReadList {
				continue
			}
			clients[s.client] = true
			// What wrote without a look cannot have missed anything.
			judged = o.Kind != linear.Write && (o.Kind != linear.Append || o.B != linear.None)
		}
		if s.number != 0 || len(s.writes) > 0 {
			x := v.visit(s, processes[s.client])
			x.judged = judged
			c.visits = append(c.visits, x)
		}
	}
	effort := Effort{Operations: len(v.ops), Of: "sections of " + plural(len(clients), "client")}
	for _, c := range byKey {
		// Where a job's client is refused, it is rightly not run again.
		if v.work.Cell.Data != workload.JobsData {
			effort.Chances += met(c.visits)
		} else if len(came) > 1 || v.contended(v.beliefs()) > 0 {
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
func (v *view) answered(s *section) bool {
	did := func(i int) bool { return v.ops[i].Type != history.Info }
	return slices.ContainsFunc(s.reads, did) || slices.ContainsFunc(s.writes, did)
}

// sectionOps is what a section did to its cell. A section is one atomic step
// from what it read to what it wrote; it is invoked when its read was sent and
// completed when its write was answered. A refused write makes the whole section
// as if it had not been. Reads outside sections stand for themselves.
func (v *view) sectionOps(s *section, h *linear.History) []linear.Op {
	var ops []linear.Op
	if len(s.writes) == 0 {
		if s.number != 0 {
			return nil
		}
		for _, r := range s.reads {
			if o := &v.ops[r]; o.Type == history.OK {
				ops = append(ops, v.readOp(r, h, v.at(o.Call), v.at(o.Return)))
			}
		}
		return ops
	}
	write := v.decisiveWrite(s)
	if write < 0 {
		return nil
	}
	w := &v.ops[write]
	if w.F == history.CAS {
		return append(ops, v.takeOp(write, s.writes[0]))
	}
	op := linear.Op{Kind: linear.Write, A: v.number(write).V(), Call: int64(v.at(v.ops[s.writes[0]].Call)), Return: linear.Never}
	if w.Type == history.OK {
		op.Return = int64(v.at(w.Return))
	}
	read := v.lastRead(s, s.writes[0])
	if read >= 0 {
		op.Call = int64(v.at(v.ops[read].Call))
	}
	switch v.data(s.key) {
	case workload.JobsData:
		op.Kind = linear.Run
	case workload.ListData:
		op.Kind, op.B = linear.Append, linear.None
		if read >= 0 {
			// What the section read, it read at the same instant as it wrote.
			seen := v.readOp(read, h, time.Duration(op.Call), time.Duration(op.Return))
			op.B = int64(len(h.Lists[seen.A]))
			if !op.Optional() {
				ops = append(ops, seen)
			}
		}
	case workload.CounterData, workload.StockData:
		if read >= 0 {
			op.Kind, op.A, op.B = linear.CAS, v.readValue(read), op.A
		}
	}
	return append(ops, op)
}

// takeOp is a section that took units in one step. What became of one without an
// answer, the resource's log tells, if anything does. That the log is silent does not say:
// a server that dies may have carried out what it could not tell any more.
func (v *view) takeOp(op, first int) linear.Op {
	w := &v.ops[op]
	o := linear.Op{Kind: linear.CAS, Call: int64(v.at(v.ops[first].Call)), Return: linear.Never}
	wanted := v.event(w.Call).Value.Number.V()
	if w.Type == history.OK {
		e := v.event(w.Return)
		o.A, o.B, o.Return = e.Value.Expected().V(), e.Value.Number.V(), int64(v.at(w.Return))
	} else if x := v.acceptedEffect(op); x != nil {
		o.A, o.B = x.number().V()+wanted, x.number().V()
	} else {
		o.Kind, o.A = linear.Sell, wanted
	}
	return o
}

// readOp is a read by itself.
func (v *view) readOp(op int, h *linear.History, call, ret time.Duration) linear.Op {
	o := linear.Op{Kind: linear.Read, Call: int64(call), Return: int64(ret)}
	if v.data(v.event(v.ops[op].Call).Value.Key) != workload.ListData {
		o.A = v.readValue(op)
		return o
	}
	o.Kind, o.A = linear.ReadList, int64(len(h.Lists))
	h.Lists = append(h.Lists, v.event(v.ops[op].Return).Value.List())
	return o
}

// decisiveWrite is the write that says what became of a section: one that was
// answered OK, or else one whose outcome is unknown; -1 where all failed.
func (v *view) decisiveWrite(s *section) int {
	found := -1
	for _, w := range s.writes {
		switch v.ops[w].Type {
		case history.OK:
			found = w
		case history.Info:
			if found < 0 || v.ops[found].Type != history.OK {
				found = w
			}
		}
	}
	return found
}

// readValue is what a read saw; a cell that was never written has its initial
// value.
func (v *view) readValue(op int) int64 {
	if n := v.number(op); n.IsSet() {
		return n.V()
	}
	return v.h.Header.Initial.V()
}

// refusal is a write that the resource refused, nil for none.
func (v *view) refusal() *effect {
	for i := range v.effects {
		if x := &v.effects[i]; x.changes() && x.refused {
			return x
		}
	}
	return nil
}

// brokenCell makes the finding that a cell's history has no explanation.
func (v *view) brokenCell(f Finding, c *cell, d *decider) Finding {
	if v.brief {
		return violatedBriefly(f)
	}
	// From here on it is only a matter of showing what has been decided.
	least := linear.Fewest(c.h.Ops, func(ops []linear.Op) linear.Result { return d.decide(ops, false) }, true)
	var sections []*section
	for _, i := range least.Operations {
		if x := c.from[i]; !slices.Contains(sections, x) {
			sections = append(sections, x)
		}
	}
	slices.SortStableFunc(sections, func(a, b *section) int { return cmp.Compare(v.opens(a), v.opens(b)) })
	f.Verdict = Violated
	f.Why = v.brokenWhy(sections)
	return f.shown(v.brokenStory(sections, c.from[least.At], len(c.h.Ops)))
}
