package linear

import (
	"cmp"
	"fmt"
	"slices"
)

// WitnessError is why an order explains no history.
type WitnessError struct {
	// At is the place in the order at which it breaks, from 0; -1 where an operation is missing
	// from the order, or where there is no history to explain.
	At int
	// Op is the operation there, or the one that is missing, and Other the one that it contradicts; -1 for none.
	Op, Other int
	Why       string
}

func (e *WitnessError) Error() string {
	switch {
	case e.At >= 0:
		return fmt.Sprintf("place %d of the order, operation %d: %s", e.At, e.Op, e.Why)
	case e.Op >= 0:
		return fmt.Sprintf("operation %d: %s", e.Op, e.Why)
	}
	return e.Why
}

// CheckWitness checks an order that is already known: whether it explains the history. The order
// has indices of operations, each at most once. It may leave out what is optional or Maybe, and
// nothing else. nil shows that the history is legal. A *WitnessError says which operation of the
// order breaks what; the history may be legal all the same, by another order.
//
// It takes one pass, and rests on nothing but Model.Step: so it confirms whatever found the order.
func (p *Problem) CheckWitness(order []int) error {
	h := &p.History
	why := h.malformed()
	if why == "" {
		why = p.Model.foreign(h.Ops)
	}
	if why != "" {
		return &WitnessError{At: -1, Op: -1, Other: -1, Why: why}
	}
	place := make([]int32, len(h.Ops)) // from 1; 0: not in the order
	state, latest := p.Model.Init, -1
	for at, i := range order {
		fail := func(other int, why string, args ...any) error {
			return &WitnessError{At: at, Op: i, Other: other, Why: fmt.Sprintf(why, args...)}
		}
		if i < 0 || i >= len(h.Ops) {
			return fail(-1, "the history has %d operations", len(h.Ops))
		}
		o := &h.Ops[i]
		if place[i] != 0 {
			return fail(-1, "it stands at place %d already", place[i]-1)
		}
		place[i] = int32(at) + 1
		if latest >= 0 && o.Return < h.Ops[latest].Call {
			return fail(latest, "it returned at %d, before operation %d was called, at %d; the order has them the other way round",
				o.Return, latest, h.Ops[latest].Call)
		}
		if latest < 0 || o.Call > h.Ops[latest].Call {
			latest = i
		}
		ok, next := p.Model.Step(state, o)
		if !ok {
			return fail(-1, "the model %s does not allow this %s (%s) after the operations before it", p.Model.Name, o.Kind, o.values())
		}
		state = next
	}
	for i := range h.Ops {
		if o := &h.Ops[i]; place[i] == 0 && !o.Optional() && !o.Maybe {
			return &WitnessError{At: -1, Op: i, Other: -1, Why: fmt.Sprintf("it returned, at %d, and is not in the order", o.Return)}
		}
	}
	return nil
}

// values are those of an operation, for a message.
func (o *Op) values() string {
	text := func(n int64) string {
		if n == None {
			return "none"
		}
		return fmt.Sprint(n)
	}
	return "a " + text(o.A) + ", b " + text(o.B)
}

// Witness gives an order that explains the history, if the direct algorithm knows one and finds
// the history legal. ok is false where it does not, which says nothing of the history.
// CheckWitness confirms it.
func (p *Problem) Witness() (order []int, ok bool) {
	if p.Order == nil || p.History.malformed() != "" {
		return nil, false
	}
	return p.Order(p.History)
}

// Confirm asks for the direct algorithm's order, and checks it. It gives whether there is one, and what is wrong with it.
func (p *Problem) Confirm() (known bool, err error) {
	order, known := p.Witness()
	if !known {
		return false, nil
	}
	return true, p.CheckWitness(order)
}

// placed is an operation with its place in an order: by its group, its step in the group, and the call of the operation.
type placed struct {
	op          int32
	group, step int32
	call        int64
}

// inOrder sorts operations into an order.
func inOrder(list []placed) []int {
	slices.SortFunc(list, func(a, b placed) int {
		return cmp.Or(cmp.Compare(a.group, b.group), cmp.Compare(a.step, b.step), cmp.Compare(a.call, b.call), cmp.Compare(a.op, b.op))
	})
	order := make([]int, len(list))
	for n := range list {
		order[n] = int(list[n].op)
	}
	return order
}

// layInLine sorts zones of which no two clash so that each comes after all that must come before it (lemma 6 of PROOFS.md).
func layInLine(zones []Zone) {
	slices.SortFunc(zones, func(a, b Zone) int {
		return cmp.Or(cmp.Compare(a.low(), b.low()), cmp.Compare(a.high(), b.high()), cmp.Compare(a.ID, b.ID))
	})
}

// mutexOrder gives an order of a history that Mutex finds legal.
func mutexOrder(h History) (order []int, ok bool) {
	zones, grants, r := mutexZones(h)
	if r.Outcome != 0 {
		return nil, false
	}
	if _, _, clash := Clash(zones); clash {
		return nil, false
	}
	layInLine(zones)
	order = make([]int, 0, len(h.Ops))
	for _, z := range zones {
		g := grants[z.ID]
		order = append(order, int(g.acquire))
		if g.release >= 0 {
			order = append(order, int(g.release))
		}
	}
	return order, true
}

// incrementsOrder gives an order of a history that decideIncrements finds legal: by the values that were found.
func incrementsOrder(h History) (order []int, ok bool) {
	s, r := newIncrements(h)
	if r.Outcome == 0 {
		r = s.walk()
	}
	if r.Outcome != Legal {
		return nil, false
	}
	var list []placed
	add := func(i int32, at, step int) { list = append(list, placed{i, int32(at), int32(step), h.Ops[i].Call}) }
	for i := range h.Ops {
		if o := &h.Ops[i]; o.Kind == Read && !o.Optional() {
			add(int32(i), int(uint64(o.A)-uint64(h.Initial)), 0)
		}
	}
	for at, i := range s.sure {
		if i >= 0 {
			add(i, at, 1)
		}
	}
	for _, g := range s.filled {
		add(g.op, g.at, 1)
	}
	return inOrder(list), true
}

// registerOrder gives an order of a history that decideRegister finds legal: the blocks in line, and each as it is forced.
func registerOrder(h History) (order []int, ok bool) {
	g, r := newRegister(h)
	if r.Outcome == 0 {
		r = g.layOut()
	}
	if r.Outcome != Legal {
		return nil, false
	}
	layInLine(g.zones)
	var list []placed
	groups := make([]int32, len(g.values)) // of each value, from 1; 0: it never was there
	steps := make([]int32, len(g.values))
	for n, z := range g.zones {
		at, step := g.heads[z.ID], int32(0)
		for {
			v := &g.values[at]
			groups[at], steps[at] = int32(n)+1, step
			if v.creator >= 0 {
				list = append(list, placed{v.creator, groups[at], step, 0})
			}
			if v.next < 0 {
				break
			}
			at, _ = g.index.get(h.Ops[v.next].B)
			step += 2
		}
	}
	for i := range h.Ops {
		o := &h.Ops[i]
		found := o.A
		if o.Kind == CASFailed {
			found = o.B
		}
		if o.Optional() || o.Kind != Read && o.Kind != CASFailed {
			continue
		}
		at, _ := g.index.get(found)
		list = append(list, placed{int32(i), groups[at], steps[at] + 1, o.Call})
	}
	return inOrder(list), true
}

// appendsOrder gives an order of a history that decideAppends finds legal: the steps of the length, then what nobody read.
func appendsOrder(h History) (order []int, ok bool) {
	g, r := newSteppedAppends(h)
	if r.Outcome == 0 {
		r = g.decide()
	}
	if r.Outcome != Legal {
		return nil, false
	}
	order, ok = incrementsOrder(g.counter)
	for n, i := range order {
		order[n] = g.from[i]
	}
	slices.SortFunc(g.tail, func(a, b int) int { return cmp.Compare(h.Ops[a].Call, h.Ops[b].Call) })
	return append(order, g.tail...), ok
}

// jobsOrder gives an order of a history that decideJobs finds legal: that of the calls.
func jobsOrder(h History) (order []int, ok bool) {
	if decideJobs(h).Outcome != Legal {
		return nil, false
	}
	for i := range h.Ops {
		if !h.Ops[i].Optional() {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(h.Ops[a].Call, h.Ops[b].Call) })
	return order, true
}
