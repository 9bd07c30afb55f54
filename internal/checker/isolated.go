package checker

import (
	"context"
	"fmt"
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

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
		a, b := j.listsSeen(s)
		inB := members(b)
		for _, n := range a {
			whole[n] = whole[n] || inB[n]
		}
	}
	for _, s := range p.snapshots {
		if ctx.Err() != nil {
			return unknown(cancelled, f.Effort)
		}
		a, b := j.listsSeen(s)
		inA, inB := members(a), members(b)
		for _, n := range slices.Concat(a, b) {
			// A server that lost its data in between is another matter.
			if s != p.final && whole[n] && inA[n] != inB[n] {
				return j.brokenPairFinding(f, fmt.Sprintf("%s saw %d in one list and not in the other", j.Ops[s].Process, n),
					"that nobody reads between two commands", p.appendsOf(s, n)...)
			}
		}
		if x, y, differ := firstDifference(firstOfEach(inB, a), firstOfEach(inA, b)); differ {
			return j.brokenPairFinding(f, fmt.Sprintf("list a has %d where list b has %d", x, y),
				"that all see two changes in the same order", p.appendsOf(s, x, y)...)
		}
		if s != p.final && j.duringForeignAppend(s, p.appends) {
			f.Effort.Chances++
		}
	}
	if f.Effort.Chances == 0 {
		return unknown("nobody read the lists while another client appended", f.Effort)
	}
	f.Verdict, f.Why = Holds, fmt.Sprintf("%s during an append of another client, none saw only half of it",
		words.Count(f.Effort.Chances, "read"))
	return f
}

// firstOfEach are those numbers of a list that count, each where it comes first.
func firstOfEach(counts map[int64]bool, list []int64) []int64 {
	seen := make(map[int64]bool, len(list))
	return slices.DeleteFunc(slices.Clone(list), func(n int64) bool {
		twice := seen[n]
		seen[n] = true
		return twice || !counts[n]
	})
}

// firstDifference finds the first place where two lists of the same numbers differ.
func firstDifference(a, b []int64) (x, y int64, differ bool) {
	for i := range a {
		if a[i] != b[i] {
			return a[i], b[i], true
		}
	}
	return 0, 0, false
}

// duringForeignAppend reports that somebody else appended, and was told so, while a snapshot was taken.
func (j *judge) duringForeignAppend(snapshot int, appends []int) bool {
	s := &j.Ops[snapshot]
	return slices.ContainsFunc(appends, func(i int) bool {
		o := &j.Ops[i]
		return o.Process != s.Process && o.Type == history.OK && o.Call < s.Return && o.Return > s.Call
	})
}
