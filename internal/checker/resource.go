package checker

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/checker/linear"
	"github.com/redlock-sim/redlock-sim/internal/history"
)

// cell is one part of the resource with the sections that worked on it.
type cell struct {
	key string
	ops []linear.Op
	// from has for each of ops the section it is.
	from []*section
}

// judgeResource: the guarded sections are linearizable as atomic operations.
func judgeResource(ctx context.Context, v *view, o Options) Finding {
	switch w := v.h.Header.Workload; w {
	case "increment", "register", "":
	default:
		return unknown(fmt.Sprintf("there is no model for the workload %q", w), Effort{Operations: len(v.ops)})
	}
	cells, effort := v.cells()
	f := Finding{Effort: effort, Method: "forced order"}
	initial := v.h.Header.Initial.V
	for i := range cells {
		c := &cells[i]
		d := decider{ctx: ctx, initial: initial, options: o}
		r := d.decide(c.ops)
		if d.method != "" {
			f.Method = d.method
		}
		switch r.Outcome {
		case linear.Undecided:
			return unknown(r.Why, effort)
		case linear.Illegal:
			return v.brokenCell(f, c, &d)
		}
	}
	if effort.Chances == 0 {
		f.Verdict, f.Why = Unknown, "nothing contended: no sections of two clients were completed"
		return f
	}
	f.Verdict = Holds
	f.Why = fmt.Sprintf("%d %s, each explained", effort.Chances, effort.Of)
	if r := v.refusal(); r != nil {
		f.Why, f.Events = refusalWords(r), sortedEvents(r.event)
	}
	return f
}

// decider decides histories of one cell, by the forced order of increments
// where there is one, else by porcupine.
type decider struct {
	ctx     context.Context
	initial int64
	options Options
	method  string
}

func (d *decider) decide(ops []linear.Op) linear.Result {
	bounds := linear.Bounds{Timeout: d.options.Timeout, Memory: d.options.Memory}
	r, direct := linear.Increments(ops, d.initial)
	if !direct {
		d.method = "porcupine (register)"
		return linear.Reference(d.ctx, linear.Cell(d.initial), ops, bounds)
	}
	d.method = "forced order"
	if d.options.Fast || len(ops) > ConfirmUpTo || optional(ops) > maxOptional {
		return r
	}
	ref := linear.Reference(d.ctx, linear.Cell(d.initial), ops, bounds)
	switch ref.Outcome {
	case linear.Undecided:
	case r.Outcome:
		d.method = "forced order, confirmed by porcupine (register)"
	default:
		return linear.Result{Outcome: linear.Undecided, Why: fmt.Sprintf("the forced order and porcupine disagree: porcupine says %v", ref.Outcome)}
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
	completed, clients := 0, make(map[string]bool)
	for i := range v.sections {
		s := &v.sections[i]
		ops := v.sectionOps(s)
		if len(ops) == 0 {
			continue
		}
		c := byKey[s.key]
		if c == nil {
			c = &cell{key: s.key}
			byKey[s.key] = c
		}
		if _, ok := processes[s.client]; !ok {
			processes[s.client] = int32(len(processes))
		}
		for _, o := range ops {
			o.Process = processes[s.client]
			c.ops, c.from = append(c.ops, o), append(c.from, s)
			if !o.Optional() && o.Kind != linear.Read {
				completed++
				clients[s.client] = true
			}
		}
	}
	effort := Effort{Operations: len(v.ops), Of: fmt.Sprintf("sections of %s", plural(len(clients), "client"))}
	if len(clients) > 1 || v.contention().Chances > 0 {
		effort.Chances = completed
	}
	cells := make([]cell, 0, len(byKey))
	for _, k := range slices.Sorted(maps.Keys(byKey)) {
		cells = append(cells, *byKey[k])
	}
	return cells, effort
}

// sectionOps is what a section did to its cell. A section is one atomic step
// from what it read to what it wrote; it is invoked when its read was sent and
// completed when its write was answered. A refused write makes the whole section
// as if it had not been. Reads outside sections stand for themselves.
func (v *view) sectionOps(s *section) []linear.Op {
	if len(s.writes) == 0 {
		if s.number != 0 {
			return nil
		}
		var ops []linear.Op
		for _, r := range s.reads {
			if o := &v.ops[r]; o.Type == history.OK {
				ops = append(ops, linear.Op{Kind: linear.Read, A: v.readValue(r), Call: int64(v.at(o.Call)), Return: int64(v.at(o.Return))})
			}
		}
		return ops
	}
	write := v.decisiveWrite(s)
	if write < 0 {
		return nil
	}
	w := &v.ops[write]
	op := linear.Op{Kind: linear.Write, A: v.number(write).V, Call: int64(v.at(v.ops[s.writes[0]].Call)), Return: linear.Never}
	if w.Type == history.OK {
		op.Return = int64(v.at(w.Return))
	}
	if r := v.lastRead(s, s.writes[0]); r >= 0 {
		op.Kind, op.A, op.B = linear.CAS, v.readValue(r), op.A
		op.Call = int64(v.at(v.ops[r].Call))
	}
	return []linear.Op{op}
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
	if n := v.number(op); n.Set {
		return n.V
	}
	return v.h.Header.Initial.V
}

// refusal is a write that the resource refused, nil for none.
func (v *view) refusal() *effect {
	for i := range v.effects {
		if x := &v.effects[i]; x.changes() && !x.accepted {
			return x
		}
	}
	return nil
}

// brokenCell makes the finding that a cell's history has no explanation.
func (v *view) brokenCell(f Finding, c *cell, d *decider) Finding {
	// From here on it is only a matter of showing what has been decided, so the
	// direct algorithm is not confirmed again and again.
	quick := *d
	quick.options.Fast = true
	illegal := func(ops []linear.Op) bool { return quick.decide(ops).Outcome == linear.Illegal }
	at, prefix, places := linear.FirstIllegal(c.ops, illegal)
	r := quick.decide(prefix)
	kept := r.Witness
	slices.Sort(kept)
	if len(kept) == 0 || !illegal(linear.Relax(prefix, kept)) {
		kept = certain(prefix)
	}
	candidates := kept
	small := linear.Shrink(len(candidates), func(part []int) bool {
		return illegal(linear.Relax(prefix, pick(candidates, part)))
	})
	var sections []*section
	for _, i := range pick(candidates, small) {
		sections = append(sections, c.from[places[i]])
	}
	slices.SortStableFunc(sections, func(a, b *section) int { return cmp.Compare(v.opens(a), v.opens(b)) })
	f.Verdict = Violated
	f.Why = v.brokenWhy(sections)
	f.Counterexample = v.brokenStory(sections, c.from[at], len(c.ops))
	for _, o := range f.Counterexample.Operations {
		f.Events = append(f.Events, o.Events...)
	}
	f.Events = sortedEvents(f.Events...)
	return f
}

func certain(ops []linear.Op) []int {
	var list []int
	for i := range ops {
		if !ops[i].Optional() {
			list = append(list, i)
		}
	}
	return list
}

func pick(from, places []int) []int {
	list := make([]int, len(places))
	for i, p := range places {
		list[i] = from[p]
	}
	return list
}
