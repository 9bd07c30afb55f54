package linear

import (
	"slices"
	"testing"
)

// TestDirectAnswers: what the direct algorithms answer where it hangs on one stamp, on one
// unknown outcome, or on which operation is listed first.
func TestDirectAnswers(t *testing.T) {
	for _, c := range []struct {
		name    string
		problem func(History) Problem
		ops     []Op
		want    Outcome
		witness []int
	}{
		{"nothing happened", StockProblem, nil, Legal, nil},
		{"a step was called at the instant of its deadline", CounterProblem, []Op{
			{Kind: Add, A: 1, Call: 5, Return: Never}, {Kind: Read, A: 1, Call: 3, Return: 5},
		}, Legal, nil},
		{"a read of a later value sets the deadline", CounterProblem, []Op{
			{Kind: Read, A: 2, Call: 1, Return: 5}, {Kind: CAS, A: 1, B: 2, Call: 1, Return: 30}, {Kind: Add, A: 1, Call: 10, Return: Never},
		}, Illegal, []int{0}},
		// Were it not for the read of 1, the cas would go first, and the add from 1 to 2.
		{"a step that knows its value came too late", CounterProblem, []Op{
			{Kind: CAS, A: 0, B: 1, Call: 7, Return: Never}, {Kind: Add, A: 1, Call: 4, Return: Never},
			{Kind: Read, A: 1, Call: 3, Return: 5}, {Kind: Read, A: 2, Call: 6, Return: 8},
		}, Illegal, []int{2, 3}},
		{"a value was read before the first of its chain was written", CounterProblem, []Op{
			{Kind: Write, A: 5, Call: 10, Return: 12}, {Kind: CAS, A: 5, B: 6, Call: 5, Return: 20}, {Kind: Read, A: 6, Call: 1, Return: 8},
		}, Illegal, []int{0, 2}},
		// The unknown write took effect because of the read, which is shown in its place.
		{"an unknown write was read", CounterProblem, []Op{
			{Kind: Write, A: 5, Call: 10, Return: Never}, {Kind: Read, A: 5, Call: 8, Return: 30},
			{Kind: Write, A: 6, Call: 1, Return: 5}, {Kind: Read, A: 6, Call: 40, Return: 45},
		}, Illegal, []int{1, 2, 3}},
		// The append of 1 was read, though not in the first of the longest lists: it was once taken for one that nobody read.
		{"two lists of one length, and appends that looked", func(h History) Problem {
			h.Lists = [][]int64{{1}, {2}}
			return ListProblem(h)
		}, []Op{
			{Kind: ReadList, A: 1, Call: 1, Return: 2}, {Kind: ReadList, A: 0, Call: 1, Return: 2},
			{Kind: Append, A: 2, B: 0, Call: 1, Return: 2}, {Kind: Append, A: 1, B: None, Call: 1, Return: 2},
		}, Illegal, []int{1, 0}},
	} {
		h := History{Ops: c.ops}
		p := c.problem(h)
		r := p.Direct(p.History)
		if r.Outcome != c.want || !slices.Equal(r.Witness, c.witness) {
			t.Errorf("%s: %v (%s) because of %v; want %v because of %v", c.name, r.Outcome, r.Why, r.Witness, c.want, c.witness)
		}
		if r.Outcome == Illegal {
			checkWitness(t, p.History, r, p)
		}
	}
}
