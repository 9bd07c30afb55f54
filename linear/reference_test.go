package linear

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestParts: a history is cut where nothing was under way, if the model can tell the state
// there. At equal stamps calls come first, so nothing is cut where two operations touch.
func TestParts(t *testing.T) {
	ops := []Op{
		{Kind: Release, Call: 20, Return: 25},
		{Kind: Acquire, Call: 1, Return: 5}, {Kind: Release, Call: 5, Return: 9},
		{Kind: Acquire, Call: 10, Return: 18}, {Kind: Acquire, Call: 11, Return: 12}, {Kind: Release, Call: 14, Return: 15},
	}
	mutex, cell := PlainMutex(), Cell(0)
	for _, c := range []struct {
		model *Model
		ops   []Op
		want  [][]int64 // the calls of each part
	}{
		{&mutex, ops, [][]int64{{1, 5}, {10, 11, 14}, {20}}},
		{&mutex, nil, [][]int64{{}}},
		{&cell, ops, [][]int64{{20, 1, 5, 10, 11, 14}}},
	} {
		var got [][]int64
		for _, part := range c.model.parts(c.ops) {
			calls := []int64{}
			for i := range part {
				calls = append(calls, part[i].Call)
			}
			got = append(got, calls)
		}
		if !slices.EqualFunc(got, c.want, slices.Equal) {
			t.Errorf("%s: %v, want %v", c.model.Name, got, c.want)
		}
	}
}

// TestPartsShareTheTime: all parts of a history together have the time that is given.
func TestPartsShareTheTime(t *testing.T) {
	slow := PlainMutex()
	step := slow.Step
	slow.Step = func(state any, o *Op) (bool, any) {
		time.Sleep(2 * time.Millisecond)
		return step(state, o)
	}
	var h History
	for i := range int64(50) {
		h.Ops = append(h.Ops, Op{Kind: [2]Kind{Acquire, Release}[i%2], Call: 10 * i, Return: 10*i + 1})
	}
	if r := Reference(context.Background(), slow, h, Bounds{Timeout: 50 * time.Millisecond}); r.Outcome != Undecided ||
		!strings.Contains(r.Why, "no answer within") {
		t.Errorf("%v, %q", r.Outcome, r.Why)
	}
}
