package linear

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// composition is a problem as it is put to histories, with everything that a
// history of it may have in it, also what its direct algorithms do not know.
type composition struct {
	name    string
	initial []int64
	problem func(h History) Problem
	propose func(r *rand.Rand, s any, h *History) Op
}

// nilValue is what `sim check` starts a register with that has no initial value.
const nilValue = None + 1

var compositions = []composition{
	{"counter", []int64{0, 1, 7, -2, nilValue, Never - 2}, CounterProblem, proposeCell},
	{"stock", []int64{0, 1, 5, -1}, StockProblem, proposeAnyStock},
	{"append", []int64{0}, ListProblem, proposeAnyAppend},
	{"jobs", []int64{0}, JobsProblem, func(r *rand.Rand, _ any, _ *History) Op {
		return Op{Kind: Run, A: r.Int64N(9)}
	}},
	{"tagged mutex", []int64{0}, MutexProblem, proposeAnyGrant},
}

// proposeCell draws from few values, so that values are written twice, the
// initial one among them, and writes stand beside steps.
func proposeCell(r *rand.Rand, state any, h *History) Op {
	v := state.(int64)
	near := func() int64 {
		if r.IntN(4) == 0 {
			return h.Initial + r.Int64N(3)
		}
		return v
	}
	switch r.IntN(12) {
	case 0, 1, 2:
		return Op{Kind: Read, A: near()}
	case 3:
		return Op{Kind: Write, A: h.Initial + r.Int64N(3)}
	case 4:
		return Op{Kind: Write, A: v + r.Int64N(2)}
	case 5:
		return Op{Kind: CAS, A: near(), B: h.Initial + r.Int64N(3)}
	case 6:
		return Op{Kind: Add, A: 1}
	case 7:
		return Op{Kind: CASFailed, A: v + 1, B: [2]int64{None, v}[r.IntN(2)]}
	}
	from := near()
	return Op{Kind: CAS, A: from, B: from + 1}
}

func proposeAnyStock(r *rand.Rand, state any, h *History) Op {
	v := state.(int64)
	switch n := 1 + r.Int64N(3); r.IntN(10) {
	case 0, 1:
		return Op{Kind: Read, A: v}
	case 2:
		return Op{Kind: Write, A: r.Int64N(6) - 1}
	case 3:
		return Op{Kind: Add, A: n}
	case 4:
		return Op{Kind: Sell, A: n}
	default:
		return Op{Kind: CAS, A: v, B: v - n}
	}
}

// proposeAnyAppend appends elements twice and looks at the length now and then.
func proposeAnyAppend(r *rand.Rand, state any, h *History) Op {
	list := decode(state.(string))
	switch r.IntN(6) {
	case 0, 1:
		if r.IntN(4) == 0 && len(list) > 0 {
			list = list[:len(list)-1]
		}
		h.Lists = append(h.Lists, list)
		return Op{Kind: ReadList, A: int64(len(h.Lists) - 1)}
	case 2:
		return Op{Kind: Append, A: r.Int64N(12), B: int64(len(list))}
	}
	return Op{Kind: Append, A: r.Int64N(12), B: None}
}

// proposeAnyGrant takes few tags, so that one is granted or ended twice.
func proposeAnyGrant(r *rand.Rand, state any, _ *History) Op {
	if owner := state.(int64); owner != None && r.IntN(8) > 0 {
		return Op{Kind: [2]Kind{Release, Expire}[r.IntN(2)], B: owner}
	}
	return Op{Kind: Acquire, A: None, B: r.Int64N(8)}
}

// make acts out a history: each operation has its instant, with an interval
// around it, and what it saw is right, most of the time.
func (c *composition) make(r *rand.Rand, n int) History {
	h := History{Initial: c.initial[r.IntN(len(c.initial))]}
	state := c.problem(h).Model.Init
	wide := 1 + r.Int64N(12)
	for t := int64(20); len(h.Ops) < n; t += r.Int64N(6) {
		o := c.propose(r, state, &h)
		o.Process = int32(r.IntN(3))
		o.Call, o.Return = t-r.Int64N(wide), t+r.Int64N(wide)
		applied := true
		if r.IntN(6) == 0 {
			o.Return, applied = Never, r.IntN(2) == 0
		}
		m := c.problem(h).Model
		if ok, next := m.Step(state, &o); ok && applied {
			state = next
		} else if !ok && r.IntN(6) > 0 {
			continue // few histories should be wrong by their values alone
		}
		h.Ops = append(h.Ops, o)
	}
	for range r.IntN(3) {
		// A server that answers with what is old or yet to come.
		if o := &h.Ops[r.IntN(n)]; !o.Optional() {
			by := r.Int64N(40) - 20
			o.Call, o.Return = o.Call+by, o.Return+by
		}
	}
	r.Shuffle(len(h.Ops), func(i, j int) { h.Ops[i], h.Ops[j] = h.Ops[j], h.Ops[i] })
	return h
}

// TestCompositions: what is really put to histories, all ways of a problem
// together, decides as porcupine does, whatever the histories are made of. The
// direct algorithms alone never say anything else: above some hundred operations
// nothing confirms them.
func TestCompositions(t *testing.T) {
	for n := range compositions {
		c := &compositions[n]
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(uint64(n), 13))
			tally, direct := map[string]int{}, map[Outcome]int{}
			rounds := histories(t) / 4
			for range rounds {
				h := c.make(r, 2+r.IntN(7))
				p := c.problem(h)
				want := Reference(context.Background(), p.Model, h, Bounds{}).Outcome
				d := p.Direct(h)
				if d.Outcome != Undecided && d.Outcome != want {
					t.Fatalf("the direct algorithms say %v (%s), porcupine %v of\n%+v", d.Outcome, d.Why, want, h)
				}
				checkOrder(t, d.Outcome, p)
				got, method := p.Check(context.Background(), Bounds{})
				if got.Outcome != want {
					t.Fatalf("%s says %v (%s), porcupine %v of\n%+v", method, got.Outcome, got.Why, want, h)
				}
				tally[fmt.Sprint(want, ", initially ", h.Initial)]++
				direct[d.Outcome]++
			}
			for _, initial := range c.initial {
				for _, o := range []Outcome{Legal, Illegal} {
					if n := tally[fmt.Sprint(o, ", initially ", initial)]; n < rounds/len(c.initial)/20 {
						t.Errorf("only %d histories are %v and start at %d: %v", n, o, initial, tally)
					}
				}
			}
			for _, o := range []Outcome{Legal, Illegal} {
				if direct[o] < rounds/40 {
					t.Errorf("the direct algorithms said %v of %d histories only", o, direct[o])
				}
			}
		})
	}
}

// TestWrongOnce: histories that direct algorithms once got wrong. They answered
// before they had seen that the history was none of theirs.
func TestWrongOnce(t *testing.T) {
	for _, c := range []struct {
		name    string
		problem Problem
		want    Outcome
	}{
		{"a write that nobody can have read yet", CounterProblem(History{Ops: []Op{
			{Kind: Read, A: 2, Call: 2, Return: 3}, {Kind: Write, A: 2, Call: 1, Return: 4}}}), Legal},
		{"two steps from 0 with a write of 0 between", CounterProblem(History{Ops: []Op{
			{Kind: CAS, A: 0, B: 1, Call: 1, Return: 4}, {Kind: CAS, A: 0, B: 1, Call: 2, Return: 5},
			{Kind: Write, A: 0, Call: 3, Return: 6}}}), Legal},
		{"an element appended twice and read twice", ListProblem(History{Lists: [][]int64{{1, 1}}, Ops: []Op{
			{Kind: Append, A: 1, B: None, Call: 1, Return: 2}, {Kind: Append, A: 1, B: None, Call: 3, Return: 4},
			{Kind: ReadList, A: 0, Call: 5, Return: 6}}}), Legal},
		// The unknown append of 1 was read, so it took effect, and not before 10.
		{"an append before what was read after it", ListProblem(History{Lists: [][]int64{{1}}, Ops: []Op{
			{Kind: Append, A: 1, B: None, Call: 10, Return: Never}, {Kind: ReadList, A: 0, Call: 5, Return: 20},
			{Kind: Append, A: 2, B: None, Call: 3, Return: 8}}}), Illegal},
		{"a plain write to a stock", StockProblem(History{Ops: []Op{
			{Kind: Write, A: 3, Call: 1, Return: 2}, {Kind: Sell, A: 2, Call: 3, Return: 4}}}), Legal},
		{"a read of ticks", JobsProblem(History{Ops: []Op{
			{Kind: Run, A: 3, Call: 1, Return: 2}, {Kind: Run, A: 3, Call: 3, Return: 4}, {Kind: Read, A: 3, Call: 5, Return: 6}}}), Undecided},
	} {
		r, method := c.problem.Check(context.Background(), Bounds{})
		if r.Outcome != c.want {
			t.Errorf("%s: %s says %v, %s; want %v", c.name, method, r.Outcome, r.Why, c.want)
		}
	}
}

// TestValuesFromThemselves: values that were all made from one another, and from
// nothing else, cannot have been there; where all of them are unknown, nothing was.
func TestValuesFromThemselves(t *testing.T) {
	chain := []Op{{Kind: Write, A: 9, Call: 1, Return: 2}, {Kind: CAS, A: 9, B: 8, Call: 3, Return: 4}, {Kind: Read, A: 8, Call: 5, Return: 6}}
	for unknown, want := range map[int]Outcome{0: Illegal, 1: Illegal, 2: Legal} {
		circle := []Op{{Kind: CAS, A: 1, B: 2, Call: 7, Return: 9}, {Kind: CAS, A: 2, B: 1, Call: 7, Return: 9}}
		for i := range unknown {
			circle[i].Return = Never
		}
		ops := slices.Concat(circle, chain)
		for range ops {
			ops = append(ops[1:len(ops):len(ops)], ops[0])
			r := decideRegister(History{Ops: ops})
			if r.Outcome != want {
				t.Errorf("%d of two unknown: %v (%s), want %v of %+v", unknown, r.Outcome, r.Why, want, ops)
			}
			for _, i := range r.Witness {
				if o := &ops[i]; o.Optional() || o.Call != 7 {
					t.Errorf("%d of two unknown: the witness is %+v", unknown, o)
				}
			}
		}
	}
}

// TestMissingStep: the reason names the number that nobody can have written.
func TestMissingStep(t *testing.T) {
	r := decideIncrements(History{Initial: 5, Ops: []Op{{Kind: CAS, A: 5, B: 6, Call: 1, Return: 2}, {Kind: Read, A: 8, Call: 3, Return: 4},
		{Kind: CAS, A: 6, B: 7, Call: 9, Return: Never}, {Kind: CAS, A: 7, B: 8, Call: 1, Return: Never}}})
	if r.Outcome != Illegal || r.Why != "nobody can have written 7 in time" || len(r.Witness) != 1 || r.Witness[0] != 1 {
		t.Errorf("%+v", r)
	}
}
