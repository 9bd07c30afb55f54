package linear

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

// TestCheckWitness: which orders explain a history, and which operation of the others breaks what.
func TestCheckWitness(t *testing.T) {
	h := History{Ops: []Op{
		{Kind: Write, A: 5, Call: 1, Return: 10},
		{Kind: Read, A: 5, Call: 10, Return: 12}, // touches the write: either may be first
		{Kind: CAS, A: 5, B: 6, Call: 20, Return: 25},
		{Kind: Write, A: 9, Call: 2, Return: Never},
		{Kind: CAS, A: 6, B: 7, Call: 30, Return: 40, Maybe: true},
	}}
	p := Problem{History: h, Model: Cell(0)}
	const after = " after the operations before it"
	for _, c := range []struct {
		order []int
		want  string
	}{
		{[]int{0, 1, 2}, ""},
		{[]int{0, 1, 2, 4}, ""},
		{[]int{0, 1, 2, 3}, ""},
		{[]int{3, 0, 1, 2}, ""},
		{[]int{0, 1}, "operation 2: it returned, at 25, and is not in the order"},
		{nil, "operation 0: it returned, at 10, and is not in the order"},
		{[]int{0, 1, 2, 1}, "place 3 of the order, operation 1: it stands at place 1 already"},
		{[]int{0, 5}, "place 1 of the order, operation 5: the history has 5 operations"},
		{[]int{-1}, "place 0 of the order, operation -1: the history has 5 operations"},
		{[]int{0, 2, 1}, "place 2 of the order, operation 1: it returned at 12, before operation 2 was called, at 20; " +
			"the order has them the other way round"},
		{[]int{1, 0, 2}, "place 0 of the order, operation 1: the model register does not allow this read (a 5, b 0)" + after},
		{[]int{0, 1, 3, 2}, "place 3 of the order, operation 2: the model register does not allow this cas (a 5, b 6)" + after},
		// An optional operation may come late, and not early.
		{[]int{0, 1, 2, 4, 3}, ""},
		{[]int{0, 4, 1, 2}, "place 1 of the order, operation 4: the model register does not allow this cas (a 6, b 7)" + after},
	} {
		err := p.CheckWitness(c.order)
		if got := fmt.Sprint(err); got != c.want && (err != nil || c.want != "") {
			t.Errorf("%v: %v, want %q", c.order, err, c.want)
		}
		var w *WitnessError
		if err != nil && (!errors.As(err, &w) || w.At >= 0 && w.Op != c.order[w.At]) {
			t.Errorf("%v: %+v", c.order, err)
		}
	}
	// What is no history, or not of the model, is explained by no order.
	for want, ops := range map[string][]Op{
		"operation 0 returns before it is called": {{Kind: Read, Call: 5, Return: 4}},
		"the model register knows no acquire":     {{Kind: Acquire, Call: 1, Return: 2}},
	} {
		p.History.Ops = ops
		if err := p.CheckWitness([]int{0}); fmt.Sprint(err) != want {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if known, err := p.Confirm(); known || err != nil {
		t.Errorf("a problem without an algorithm that knows an order: %v, %v", known, err)
	}
}

// TestCheckWitnessIsTheDefinition: on small histories an order is accepted just where it is one of those that are found by
// trying all.
func TestCheckWitnessIsTheDefinition(t *testing.T) {
	tally := map[bool]int{}
	for i := range subjects {
		s := &subjects[i]
		r := rand.New(rand.NewPCG(uint64(i), 60))
		for range suite.Amount(t, 2_000, 200) {
			h := s.make(r, 1+r.IntN(5))
			p := s.problem(h)
			explanations := map[string]bool{}
			everyExplanation(p.Model, h, func(order []int) { explanations[fmt.Sprint(order)] = true })
			for range 20 {
				order := r.Perm(len(h.Ops))
				order = slices.DeleteFunc(order, func(i int) bool { return h.Ops[i].Optional() && r.IntN(2) == 0 || r.IntN(20) == 0 })
				got, want := p.CheckWitness(order), explanations[fmt.Sprint(order)]
				if (got == nil) != want {
					t.Fatalf("%s: %v: %v, want %v of\n%+v", s.name, order, got, want, h)
				}
				tally[want]++
			}
		}
	}
	if tally[true] < 1000 || tally[false] < 1000 {
		t.Errorf("one-sided: %v", tally)
	}
}

// TestOrdersOfLongHistories: what the direct algorithms find legal, an order confirms, however long it is.
func TestOrdersOfLongHistories(t *testing.T) {
	ops := suite.Amount(t, 1_000_000, 50_000)
	for _, kind := range []string{"lock", "increment", "register"} {
		for _, unknown := range []float64{0, 0.01} {
			for _, late := range []bool{false, true} {
				l := load{kind, ops, 10, unknown, late}
				if known, err := problemOf(l).Confirm(); known == late || err != nil {
					t.Errorf("%s: knows an order: %v, %v", l, known, err)
				}
			}
		}
	}
}

func problemOf(l load) *Problem {
	p := l.problem(l.make())
	return &p
}
