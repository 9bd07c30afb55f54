package checker

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker/facts"
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

func (j *judge) pair() pair {
	p := pair{final: -1, by: make(map[int64]int)}
	for i := range j.Ops {
		switch o := &j.Ops[i]; {
		case o.F == history.Transact && j.Number(i).IsSet():
			p.appends = append(p.appends, i)
			p.by[j.Number(i).V()] = i
		case o.F == history.Snapshot && o.Type == history.OK:
			p.snapshots = append(p.snapshots, i)
			if j.Event(o.Call).Value.Section == 0 {
				p.final = i
			}
		}
	}
	return p
}

// appendsOf are a snapshot and those appends of some numbers that are on record.
func (p *pair) appendsOf(snapshot int, numbers ...int64) []int {
	ops := []int{snapshot}
	for _, n := range numbers {
		if i, known := p.by[n]; known {
			ops = append(ops, i)
		}
	}
	return ops
}

// lists are what a snapshot saw.
func (j *judge) lists(snapshot int) (a, b []int64) {
	value := &j.Event(j.Ops[snapshot].Return).Value
	return value.List(), value.Other()
}

const noLastLook = "nobody read the lists at the end"

// members are the numbers of a list.
func members(list []int64) map[int64]bool {
	m := make(map[int64]bool, len(list))
	for _, n := range list {
		m[n] = true
	}
	return m
}

const cancelled = "the check was cancelled"

// judgeAtomicPair: what was appended to one list was appended to the other, and
// what failed to none.
func (j *judge) judgeAtomicPair(ctx context.Context) Finding {
	p := j.pair()
	f := Finding{Method: "comparison of the lists at the end", Effort: Effort{Operations: len(j.Ops), Of: "appends to both lists"}}
	if p.final < 0 {
		return unknown(noLastLook, f.Effort)
	}
	a, b := j.lists(p.final)
	first, second := members(a), members(b)
	for _, n := range slices.Concat(a, b) {
		if first[n] != second[n] {
			where, not := "a", "b"
			if second[n] {
				where, not = "b", "a"
			}
			return j.pairBroken(f, fmt.Sprintf("%d is in list %s and not in list %s", n, where, not),
				"that a transaction in which a command fails is undone", p.appendsOf(p.final, n)...)
		}
	}
	for _, i := range p.appends {
		if ctx.Err() != nil {
			return unknown(cancelled, f.Effort)
		}
		n := j.Number(i).V()
		if first[n] && j.Ops[i].Type == history.Fail {
			return j.pairBroken(f, fmt.Sprintf("%d is in both lists though its transaction failed", n),
				"that nothing runs of a transaction whose client was told that it failed", i, p.final)
		}
		f.Effort.Chances++
	}
	if f.Effort.Chances == 0 {
		return unknown("nothing was appended", f.Effort)
	}
	f.Verdict, f.Why = Holds, fmt.Sprintf("%s, %sin both lists or in none", plural(f.Effort.Chances, "append"), each(f.Effort.Chances))
	return f
}

// judgeIsolated: nobody sees an append half done, and both lists have the same
// order. What stays half done is a matter of atomicity: only appends count that were
// acknowledged, or seen whole by somebody.
func judgeIsolated(ctx context.Context, j *judge, _ Options) Finding {
	p := j.pair()
	f := Finding{Method: "comparison of the lists at each read",
		Effort: Effort{Operations: len(j.Ops), Of: "reads during an append of another client"}}
	if p.final < 0 {
		return unknown(noLastLook, f.Effort)
	}
	whole := make(map[int64]bool)
	for _, i := range p.appends {
		if j.Ops[i].Type == history.OK {
			whole[j.Number(i).V()] = true
		}
	}
	for _, s := range p.snapshots {
		a, b := j.lists(s)
		inB := members(b)
		for _, n := range a {
			whole[n] = whole[n] || inB[n]
		}
	}
	for _, s := range p.snapshots {
		if ctx.Err() != nil {
			return unknown(cancelled, f.Effort)
		}
		a, b := j.lists(s)
		inA, inB := members(a), members(b)
		for _, n := range slices.Concat(a, b) {
			// A server that lost its data in between is another matter.
			if s != p.final && whole[n] && inA[n] != inB[n] {
				return j.pairBroken(f, fmt.Sprintf("%s saw %d in one list and not in the other", j.Ops[s].Process, n),
					"that nobody reads between two commands", p.appendsOf(s, n)...)
			}
		}
		if x, y, differ := otherOrder(only(inB, a), only(inA, b)); differ {
			return j.pairBroken(f, fmt.Sprintf("list a has %d where list b has %d", x, y),
				"that all see two changes in the same order", p.appendsOf(s, x, y)...)
		}
		if s != p.final && j.beside(s, p.appends) {
			f.Effort.Chances++
		}
	}
	if f.Effort.Chances == 0 {
		return unknown("nobody read the lists while another client appended", f.Effort)
	}
	f.Verdict, f.Why = Holds, fmt.Sprintf("%s during an append of another client, none saw only half of it", plural(f.Effort.Chances, "read"))
	return f
}

// only are those numbers of a list that count, each where it comes first.
func only(counts map[int64]bool, list []int64) []int64 {
	seen := make(map[int64]bool, len(list))
	return slices.DeleteFunc(slices.Clone(list), func(n int64) bool {
		twice := seen[n]
		seen[n] = true
		return twice || !counts[n]
	})
}

// otherOrder finds the first place where two lists of the same numbers differ.
func otherOrder(a, b []int64) (x, y int64, differ bool) {
	for i := range a {
		if a[i] != b[i] {
			return a[i], b[i], true
		}
	}
	return 0, 0, false
}

// beside reports that somebody else appended, and was told so, while a snapshot was taken.
func (j *judge) beside(snapshot int, appends []int) bool {
	s := &j.Ops[snapshot]
	return slices.ContainsFunc(appends, func(i int) bool {
		o := &j.Ops[i]
		return o.Process != s.Process && o.Type == history.OK && o.Call < s.Return && o.Return > s.Call
	})
}

// judgeDurable: what was acknowledged is there in the end, though the resource
// died in between.
func judgeDurable(ctx context.Context, j *judge, _ Options) Finding {
	p := j.pair()
	f := Finding{Method: "comparison of the lists at the end",
		Effort: Effort{Operations: len(j.Ops), Of: "appends acknowledged before the resource died"}}
	if p.final < 0 {
		return unknown(noLastLook, f.Effort)
	}
	a, b := j.lists(p.final)
	first, second := members(a), members(b)
	died := -1
	for i := range j.History.Events {
		if e := j.Event(i); e.F == history.NodeDown && e.Process == history.ResourceProcess {
			died = i
		}
	}
	acknowledged := 0
	var lost []int
	for _, i := range p.appends {
		if ctx.Err() != nil {
			return unknown(cancelled, f.Effort)
		}
		if j.Ops[i].Type != history.OK {
			continue
		}
		acknowledged++
		if j.Ops[i].Return < died {
			f.Effort.Chances++
		}
		if n := j.Number(i).V(); !first[n] || !second[n] {
			lost = append(lost, i)
		}
	}
	switch {
	case len(lost) > 0:
		return j.pairBroken(f, fmt.Sprintf("%d of %s lost", len(lost), plural(acknowledged, "acknowledged append")),
			"that what is acknowledged is on the disk", lost[0], p.final)
	case f.Effort.Chances == 0:
		return unknown("the resource did not die after it had acknowledged something", f.Effort)
	}
	f.Verdict, f.Why = Holds, fmt.Sprintf("%s, %sthere at the end, %d from before the resource died",
		plural(acknowledged, "acknowledged append"), all(acknowledged), f.Effort.Chances)
	return f
}

// counterOp is an operation as one of a counterexample, and the event that tells what came
// of it.
func (j *judge) counterOp(i int, format string, args ...any) (op CounterOp, told int) {
	o := &j.Ops[i]
	op = CounterOp{Client: o.Process, Op: fmt.Sprintf(format, args...), From: j.At(o.Call), To: -1, Events: sortedEvents(o.Call, o.Return)}
	if o.Return < 0 {
		return op, o.Call
	}
	op.To = j.At(o.Return)
	return op, o.Return
}

// pairBroken makes the finding that the given operations cannot be.
func (j *judge) pairBroken(f Finding, why, assumption string, ops ...int) Finding {
	f.Verdict, f.Why = Violated, why
	if j.brief {
		return f
	}
	c := &Counterexample{From: len(j.Ops), Assumption: assumption}
	s := j.newStory()
	begin, end := facts.Forever, j.At(0)
	slices.Sort(ops)
	for _, i := range slices.Compact(ops) {
		o := &j.Ops[i]
		op, event := j.counterOp(i, "looks at both lists")
		begin, end = min(begin, j.At(o.Call)), max(end, j.At(event))
		if o.F == history.Snapshot {
			a, b := j.lists(i)
			op.Op = "reads both lists"
			s.tell(turning, event, "%s saw %s in list a and %s in list b", o.Process, plural(len(a), "number"), plural(len(b), "number"))
		} else {
			n := j.Event(o.Call).Value.Number
			op.Op = fmt.Sprintf("appends %s to both lists", n)
			what := map[history.Type]string{
				history.OK: "was answered OK", history.Fail: "failed", history.Info: "was answered in part or not at all",
			}[o.Type]
			s.tell(turning, event, "the append of %s by %s %s", n, o.Process, what)
		}
		c.Operations = append(c.Operations, op)
		c.Impossible = event
	}
	s.faults(begin, end, history.ResourceProcess)
	s.rests(j.lostAtResource(begin, end, c.Impossible)...)
	c.tells(s)
	return f.shown(c)
}

// lostAtResource are the faults that killed the resource in a stretch of the run, or made it forget; without any it is the
// operation that shows it.
func (j *judge) lostAtResource(from, to time.Duration, shows int) (begins []int) {
	for i := range j.Faults {
		f := &j.Faults[i]
		takes := func(s history.Strike) bool {
			return s.Resource && (s.Does == history.Kills || s.Does == history.Forgets)
		}
		if j.At(f.Begin) >= from && j.At(f.Begin) <= to && slices.ContainsFunc(f.Strikes, takes) {
			begins = append(begins, f.Begin)
		}
	}
	if len(begins) == 0 {
		return []int{shows}
	}
	return begins
}
