package linear

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// TestGarbage hands every problem operations that no program would record. None may
// panic, and what is no history is undecided.
func TestGarbage(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 15))
	numbers := []int64{0, 1, 2, 4, -1, -2, 5, None, math.MaxInt64, Never - 1, math.MinInt64 + 1}
	pick := func() int64 { return numbers[r.IntN(len(numbers))] }
	lists := [][]int64{nil, {1}, {1, 2}, {2, 2}}
	problems := func(h History) []Problem {
		return []Problem{CounterProblem(h), StockProblem(h), ListProblem(h), JobsProblem(h),
			{Model: PlainMutex()}, {Model: OwnerMutex()}, {Model: TaggedMutex(), Direct: Mutex}, {Model: Fenced()}, {Model: Reentrant(2)},
			{Model: ReentrantFenced(0)}, {Model: Semaphore(2, h)}, {Model: Set(h.Lists)}}
	}
	for range 30000 {
		h := History{Lists: lists, Initial: pick()}
		for range 1 + r.IntN(5) {
			h.Ops = append(h.Ops, Op{Kind: Kind(r.IntN(int(ReadSet) + 2)),
				Process: int32(pick()), A: pick(), B: pick(), Call: pick(), Return: pick(), Maybe: r.IntN(9) == 0})
		}
		b := Bounds{Timeout: time.Second}
		for _, p := range problems(h) {
			p.History = h
			got, _ := p.Check(context.Background(), b)
			if h.malformed() != "" && got.Outcome != Undecided {
				t.Fatalf("%s: %v of %+v", p.Model.Name, got.Outcome, h)
			}
			if got.Outcome == Illegal {
				Explain(context.Background(), p, b)
			}
		}
	}
}
