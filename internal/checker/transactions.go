package checker

import (
	"context"
	"fmt"
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// pair is what is known of numbers that were appended to two lists together.
type pair struct {
	// appends are the operations in view.ops, snapshots those that saw both
	// lists; final is the snapshot after everything, -1 for none.
	appends, snapshots []int
	final              int
	// by finds the append of a number.
	by map[int64]int
}

func (v *view) pair() pair {
	p := pair{final: -1, by: make(map[int64]int)}
	for i := range v.ops {
		switch o := &v.ops[i]; {
		case o.F == history.Transact:
			p.appends = append(p.appends, i)
			p.by[v.event(o.Call).Value.Number.V] = i
		case o.F == history.Snapshot && o.Type == history.OK:
			p.snapshots = append(p.snapshots, i)
			if v.event(o.Call).Value.Section == 0 {
				p.final = i
			}
		}
	}
	return p
}

// lists are what a snapshot saw.
func (v *view) lists(snapshot int) (a, b []int64) {
	value := &v.event(v.ops[snapshot].Return).Value
	return value.List, value.Other
}

const noLastLook = "nobody looked at the lists in the end"

// judgeAtomicPair: what was appended to one list was appended to the other, and
// what failed to none.
func (v *view) judgeAtomicPair() Finding {
	p := v.pair()
	f := Finding{Method: "comparison of the lists in the end", Effort: Effort{Operations: len(v.ops), Of: "appends to both lists"}}
	if p.final < 0 {
		return unknown(noLastLook, f.Effort)
	}
	a, b := v.lists(p.final)
	for _, i := range p.appends {
		n := v.event(v.ops[i].Call).Value.Number.V
		inA, inB := slices.Contains(a, n), slices.Contains(b, n)
		switch {
		case inA != inB:
			where, not := "a", "b"
			if inB {
				where, not = "b", "a"
			}
			return v.pairBroken(f, fmt.Sprintf("%d is in list %s and not in list %s", n, where, not),
				"that a transaction is done as a whole or not at all", i, p.final)
		case inA && v.ops[i].Type == history.Fail:
			return v.pairBroken(f, fmt.Sprintf("%d is in both lists though its transaction failed", n),
				"that a transaction which failed left nothing behind", i, p.final)
		}
		f.Effort.Chances++
	}
	if f.Effort.Chances == 0 {
		return unknown("nothing was appended", f.Effort)
	}
	f.Verdict, f.Why = Holds, fmt.Sprintf("%s, each in both lists or in none", plural(f.Effort.Chances, "append"))
	return f
}

// judgeIsolated: nobody sees an append half done, and both lists have the same
// order.
func judgeIsolated(_ context.Context, v *view, _ Options) Finding {
	p := v.pair()
	f := Finding{Method: "comparison of the lists at each look", Effort: Effort{Operations: len(v.ops), Of: "looks at both lists"}}
	if p.final < 0 {
		return unknown(noLastLook, f.Effort)
	}
	finalA, finalB := v.lists(p.final)
	whole := func(n int64) bool { return slices.Contains(finalA, n) && slices.Contains(finalB, n) }
	for _, s := range p.snapshots {
		a, b := v.lists(s)
		for _, list := range [][2][]int64{{a, b}, {b, a}} {
			for _, n := range list[0] {
				if i, known := p.by[n]; known && whole(n) && !slices.Contains(list[1], n) {
					return v.pairBroken(f, fmt.Sprintf("%s saw %d in one list and not yet in the other", v.ops[s].Process, n),
						"that nobody sees a change half done", i, s)
				}
			}
		}
		f.Effort.Chances++
	}
	both := func(list []int64) []int64 {
		return slices.DeleteFunc(slices.Clone(list), func(n int64) bool { return !whole(n) })
	}
	orderA, orderB := both(finalA), both(finalB)
	for i := range orderA {
		if orderA[i] != orderB[i] {
			return v.pairBroken(f, fmt.Sprintf("list a has %d where list b has %d", orderA[i], orderB[i]),
				"that changes come one after the other", p.by[orderA[i]], p.by[orderB[i]], p.final)
		}
	}
	if f.Effort.Chances < 2 {
		return unknown("nobody looked while anything was going on", f.Effort)
	}
	f.Verdict, f.Why = Holds, fmt.Sprintf("%s, none of them half way", plural(f.Effort.Chances, "look"))
	return f
}

// judgeDurable: what was acknowledged is there in the end.
func judgeDurable(_ context.Context, v *view, _ Options) Finding {
	p := v.pair()
	f := Finding{Method: "comparison of the lists in the end", Effort: Effort{Operations: len(v.ops), Of: "acknowledged appends"}}
	if p.final < 0 {
		return unknown(noLastLook, f.Effort)
	}
	a, b := v.lists(p.final)
	var lost []int
	for _, i := range p.appends {
		if v.ops[i].Type != history.OK {
			continue
		}
		f.Effort.Chances++
		if n := v.event(v.ops[i].Call).Value.Number.V; !slices.Contains(a, n) || !slices.Contains(b, n) {
			lost = append(lost, i)
		}
	}
	switch {
	case len(lost) > 0:
		return v.pairBroken(f, fmt.Sprintf("%d of %d acknowledged appends are gone", len(lost), f.Effort.Chances),
			"that what was acknowledged lasts", lost[0], p.final)
	case f.Effort.Chances == 0:
		return unknown("nothing was acknowledged", f.Effort)
	}
	f.Verdict, f.Why = Holds, fmt.Sprintf("all %d acknowledged appends are there in the end", f.Effort.Chances)
	return f
}

// pairBroken makes the finding that the given operations cannot be.
func (v *view) pairBroken(f Finding, why, assumption string, ops ...int) Finding {
	f.Verdict, f.Why = Violated, why
	c := &Counterexample{From: len(v.ops), Assumption: assumption}
	s := v.newStory()
	begin, end := forever, v.at(0)
	slices.Sort(ops)
	for _, i := range ops {
		o := &v.ops[i]
		op := CounterOp{Client: o.Process, From: v.at(o.Call), To: -1, Events: sortedEvents(o.Call, o.Return)}
		event := o.Call
		if o.Return >= 0 {
			op.To, event = v.at(o.Return), o.Return
		}
		begin, end = min(begin, v.at(o.Call)), max(end, v.at(event))
		if o.F == history.Snapshot {
			a, b := v.lists(i)
			op.Op = "looks at both lists"
			s.tell(turning, event, "%s saw %s in list a and %s in list b", o.Process, plural(len(a), "number"), plural(len(b), "number"))
		} else {
			n := v.event(o.Call).Value.Number
			op.Op = fmt.Sprintf("appends %s to both lists", n)
			what := map[history.Type]string{history.OK: "was answered OK", history.Fail: "failed", history.Info: "was answered in part or not at all"}[o.Type]
			s.tell(turning, event, "the append of %s by %s %s", n, o.Process, what)
		}
		c.Operations = append(c.Operations, op)
		c.Impossible = event
		f.Events = append(f.Events, op.Events...)
	}
	s.faults(begin, end, history.ResourceProcess)
	c.Story = s.sentences()
	f.Events = sortedEvents(f.Events...)
	f.Counterexample = c
	return f
}
