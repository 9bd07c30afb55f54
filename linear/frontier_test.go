package linear

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestFrontierWide: with many operations under way the frontier keeps many
// configs and still decides as porcupine does.
func TestFrontierWide(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 9))
	tally := map[Outcome]int{}
	for range 300 {
		var h History
		for i := range int64(6) {
			h.Ops = append(h.Ops, Op{Kind: Append, A: i, B: None, Call: r.Int64N(3), Return: 4 + r.Int64N(8)})
			if r.IntN(4) == 0 {
				h.Ops[i].Return = Never
			}
		}
		// Two reads of what may have been there.
		for range 2 {
			list := make([]int64, 0, 6)
			for _, e := range r.Perm(6)[:2+r.IntN(3)] {
				list = append(list, int64(e))
			}
			if len(h.Lists) > 0 && r.IntN(4) > 0 {
				list = append(h.Lists[0][:len(h.Lists[0]):len(h.Lists[0])], list[:1]...)
			}
			h.Ops = append(h.Ops, Op{Kind: ReadList, A: int64(len(h.Lists)), Call: 2 + r.Int64N(4), Return: 6 + r.Int64N(20)})
			h.Lists = append(h.Lists, list)
		}
		m := List(h.Lists)
		got := searchFrontier(context.Background(), m, h, Bounds{})
		want := Reference(context.Background(), m, h, Bounds{})
		if got.Outcome != want.Outcome {
			t.Fatalf("the frontier search says %v (%s), porcupine %v of\n%+v", got.Outcome, got.Why, want.Outcome, h)
		}
		tally[got.Outcome]++
	}
	if tally[Legal] < 20 || tally[Illegal] < 20 {
		t.Errorf("one-sided: %v", tally)
	}
}

// TestBounds: what is too much ends undecided, with the reason.
func TestBounds(t *testing.T) {
	wide := History{}
	for i := range int64(40) {
		wide.Ops = append(wide.Ops, Op{Kind: Append, A: i, B: None, Call: 0, Return: 100 + i})
	}
	wide.Ops = append(wide.Ops, Op{Kind: ReadList, A: 0, Call: 200, Return: 201})
	wide.Lists = [][]int64{{1, 2}}
	tooMany := History{}
	for i := range int64(70) {
		tooMany.Ops = append(tooMany.Ops, Op{Kind: Write, A: i, Call: 0, Return: 100 + i})
	}
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	for _, c := range []struct {
		name string
		r    Result
		why  string
	}{
		{"memory", searchFrontier(context.Background(), List(wide.Lists), wide, Bounds{Memory: 1 << 20}), "do not fit the memory"},
		{"time", searchFrontier(context.Background(), List(wide.Lists), wide, Bounds{Timeout: time.Nanosecond}), "no answer within"},
		{"slots", searchFrontier(context.Background(), Cell(0), tooMany, Bounds{}), "more than 64"},
		{"cancelled", searchFrontier(cancelled, Cell(0), tooMany, Bounds{}), "more than 64"},
		{"porcupine's time", Reference(context.Background(), List(wide.Lists), wide, Bounds{Timeout: 20 * time.Millisecond}), "no answer within"},
		{"porcupine's memory", Reference(context.Background(), List(wide.Lists), wide, Bounds{Memory: 8 << 20, Timeout: 5 * time.Second}),
			"took more than"},
		{"porcupine, foreseen", Reference(context.Background(),
			Cell(0), History{Ops: slices.Repeat([]Op{{Kind: Read}}, 100_000)}, Bounds{Memory: 1 << 20}), "would need about"},
		{"porcupine, cancelled", Reference(cancelled, Cell(0), tooMany, Bounds{}), "cancelled"},
	} {
		if c.r.Outcome != Undecided || !strings.Contains(c.r.Why, c.why) {
			t.Errorf("%s: %v, %q; want undecided, %q", c.name, c.r.Outcome, c.r.Why, c.why)
		}
	}
}
