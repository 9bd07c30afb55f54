package checker

import (
	"fmt"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker/facts"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// pair is what is known of numbers that were appended to two lists together.
type pair struct {
	// appends are the operations in Facts.Ops, snapshots those that saw both
	// lists; final is the snapshot after everything, -1 for none.
	appends, snapshots []int
	final              int
	// by finds the append of a number.
	by map[int64]int
}

func (j *judge) pair() pair {
	p := pair{final: -1, by: make(map[int64]int)}
	for i := range j.Ops {
		o := &j.Ops[i]
		if o.F == history.Transact && j.Number(i).IsSet() {
			p.appends = append(p.appends, i)
			p.by[j.Number(i).V()] = i
		} else if o.F == history.Snapshot && o.Type == history.OK {
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

// listsSeen are what a snapshot saw.
func (j *judge) listsSeen(snapshot int) (a, b []int64) {
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

// brokenPairFinding makes the finding that the given operations cannot be.
func (j *judge) brokenPairFinding(f Finding, why, assumption string, ops ...int) Finding {
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
			a, b := j.listsSeen(i)
			op.Op = "reads both lists"
			s.tell(turning, event, "%s saw %s in list a and %s in list b", o.Process, words.Count(len(a), "number"), words.Count(len(b), "number"))
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
	s.tellFaults(begin, end, history.ResourceProcess)
	s.decidedBy(j.faultsAtResource(begin, end, c.Impossible)...)
	c.setStory(s)
	return f.withCounterexample(c)
}

// faultsAtResource are the faults that killed the resource in a stretch of the run, or made it forget; without any it is the
// operation that shows it.
func (j *judge) faultsAtResource(from, to time.Duration, shows int) (begins []int) {
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
