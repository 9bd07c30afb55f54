package linear

import (
	"context"
	"fmt"
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

// TestNumbersOutOfRange: an operation that names a text or a list that the model does not
// have is undecided in every way, and no step panics.
func TestNumbersOutOfRange(t *testing.T) {
	lists := [][]int64{{1}, {2}}
	for _, c := range []struct {
		model Model
		kinds []Kind
		why   string
	}{
		{Text([]string{"a", "b"}), []Kind{Read, Write, Append}, "has the text %d of 2"},
		{List(lists), []Kind{ReadList}, "reads list %d of 2"},
		{Set(lists), []Kind{ReadSet}, "reads list %d of 2"},
	} {
		for _, k := range c.kinds {
			for _, n := range []int64{-1, 2, math.MaxInt64, None} {
				o := Op{Kind: k, A: n, B: None, Call: 1, Return: 2}
				if ok, state := c.model.Step(c.model.Init, &o); ok || state != c.model.Init {
					t.Errorf("%s: a %v of %d: %v, %v", c.model.Name, k, n, ok, state)
				}
				// The model's own lists count, and not those of the history.
				p := Problem{Model: c.model, History: History{Ops: []Op{o}, Lists: make([][]int64, 3)}}
				checked, _ := p.Check(context.Background(), Bounds{})
				searched, _ := p.Search(context.Background(), Bounds{})
				want := "operation 0 " + fmt.Sprintf(c.why, n)
				for way, r := range map[string]Result{"Check": checked, "Search": searched,
					"Reference": Reference(context.Background(), c.model, p.History, Bounds{})} {
					if r.Outcome != Undecided || r.Why != want && way != "Check" {
						t.Errorf("%s: a %v of %d: %s: %v (%s), want %s", c.model.Name, k, n, way, r.Outcome, r.Why, want)
					}
				}
			}
		}
	}
}
