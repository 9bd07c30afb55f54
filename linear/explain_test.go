package linear

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// legalAmong asks porcupine whether the history has an explanation in which the
// kept operations took effect, and of the others those that suit, each between its
// call and its return.
func legalAmong(m Model, h History, kept []int) bool {
	var others []int
	for i := range h.Ops {
		if !slices.Contains(kept, i) && !h.Ops[i].Optional() {
			others = append(others, i)
		}
	}
	for set := range 1 << len(others) {
		part := h
		part.Ops = nil
		for i := range h.Ops {
			if at := slices.Index(others, i); at < 0 || set>>at&1 == 1 {
				part.Ops = append(part.Ops, h.Ops[i])
			}
		}
		if Reference(context.Background(), m, part, Bounds{}).Outcome == Legal {
			return true
		}
	}
	return false
}

// stood is the history as it stood when the operation at had returned: what had not
// returned by then is unknown. Without: just before.
func stood(ops []Op, at int, without bool) (prefix []Op) {
	for i, o := range ops {
		if o.Call > ops[at].Return {
			continue
		}
		if o.Return > ops[at].Return || i == at && without {
			o.Return = Never
		}
		prefix = append(prefix, o)
	}
	return prefix
}

// TestExplain: the operation that Explain names is the first whose return left no
// explanation, and the operations that it shows have none, whatever the others did;
// without any one of them there is one.
func TestExplain(t *testing.T) {
	for i := range subjects {
		s := &subjects[i]
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(uint64(i), 21))
			for tried := 0; tried < 150; {
				h := s.make(r, 2+r.IntN(6))
				h.Ops = distinct(h.Ops)
				p := s.problem(h)
				if Reference(context.Background(), p.Model, h, Bounds{}).Outcome != Illegal {
					continue
				}
				tried++
				c := Explain(context.Background(), p, Bounds{Timeout: time.Minute})
				before, until := h, h
				before.Ops, until.Ops = stood(h.Ops, c.At, true), stood(h.Ops, c.At, false)
				if Reference(context.Background(), p.Model, before, Bounds{}).Outcome != Legal ||
					Reference(context.Background(), p.Model, until, Bounds{}).Outcome != Illegal {
					t.Fatalf("operation %d is not the first without an explanation in\n%+v", c.At, h)
				}
				checkShown(t, p, h, c)
			}
		})
	}
}

// distinct moves returns apart, so that "the first to return" is one operation.
func distinct(ops []Op) []Op {
	for i := range ops {
		ops[i].Call *= 64
		if !ops[i].Optional() {
			ops[i].Return = ops[i].Return*64 + int64(i)
		}
	}
	return ops
}

func checkShown(t *testing.T, p Problem, h History, c Counterexample) {
	t.Helper()
	if !c.Minimal || len(c.Operations) == 0 {
		t.Fatalf("%+v of %+v", c, h)
	}
	// Only what had returned by then can be shown as certain.
	stoodAt := h
	stoodAt.Ops = slices.Clone(h.Ops)
	for i := range stoodAt.Ops {
		if o := &stoodAt.Ops[i]; o.Return > h.Ops[c.At].Return {
			o.Return = Never
		}
	}
	if legalAmong(p.Model, stoodAt, c.Operations) {
		t.Fatalf("the operations %v have an explanation in\n%+v", c.Operations, h)
	}
	if p.Direct != nil && p.Direct(h).Outcome != Undecided {
		return // others are optional without a deadline there, so fewer may do here
	}
	for i := range c.Operations {
		if fewer := slices.Delete(slices.Clone(c.Operations), i, i+1); !legalAmong(p.Model, stoodAt, fewer) {
			t.Fatalf("the operations %v have no explanation either in\n%+v", fewer, h)
		}
	}
}

// TestShrinkIsMinimal: what is left fails, and nothing of it can be missed.
func TestShrinkIsMinimal(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 3))
	for range 3000 {
		n := 1 + r.IntN(12)
		var reasons [][]int // any one of them is enough
		for range 1 + r.IntN(3) {
			reason := r.Perm(n)[:1+r.IntN(n)]
			slices.Sort(reason)
			reasons = append(reasons, reason)
		}
		asked := 0
		fails := func(kept []int) bool {
			asked++
			if !slices.IsSorted(kept) || len(kept) == 0 {
				t.Fatalf("asked for %v", kept)
			}
			return slices.ContainsFunc(reasons, func(reason []int) bool {
				return !slices.ContainsFunc(reason, func(i int) bool { return !slices.Contains(kept, i) })
			})
		}
		if small := Shrink(n, fails); !slices.ContainsFunc(reasons, func(reason []int) bool { return slices.Equal(reason, small) }) {
			t.Fatalf("of %d with the reasons %v there are left %v", n, reasons, small)
		}
		if asked > 8*n*n+8 {
			t.Fatalf("asked %d times for %d", asked, n)
		}
	}
	// By halves first: one of many is found in few questions.
	asked, first := 0, 0
	one := func(kept []int) bool {
		if asked++; asked == 1 {
			first = len(kept)
		}
		return slices.Contains(kept, 700)
	}
	if small := Shrink(1024, one); !slices.Equal(small, []int{700}) || asked > 40 || first != 512 {
		t.Errorf("%v after %d questions, the first about %d", small, asked, first)
	}
}

// TestDropReads: all reads that the contradiction does not need are left out, the first and
// the last operation too, for as long as there is time. What changes something stays.
func TestDropReads(t *testing.T) {
	h := History{Ops: []Op{
		{Kind: Write, A: 9, Call: 20, Return: 21}, // after the contradiction
		{Kind: Read, A: 0, Call: 1, Return: 2},
		{Kind: Write, A: 5, Call: 3, Return: 4},
		{Kind: Read, A: 7, Call: 7, Return: 8},
		{Kind: Read, A: 5, Call: 5, Return: 6},
	}}
	illegal := func(ops []Op) bool {
		return Reference(context.Background(), Cell(0), History{Ops: ops}, Bounds{}).Outcome == Illegal
	}
	for _, c := range []struct {
		left time.Duration
		want []int
	}{{time.Minute, []int{2, 3}}, {-time.Minute, []int{1, 2, 3, 4}}} {
		if got := dropReads(h, time.Now().Add(c.left), illegal); got.At != 3 || !slices.Equal(got.Operations, c.want) || got.Minimal {
			t.Errorf("with %v left: %+v, want %v", c.left, got, c.want)
		}
	}
}

// TestNoCounterexample: a history that is legal, that is none, or that cannot be decided
// has no counterexample, whichever way decides it.
func TestNoCounterexample(t *testing.T) {
	none := func(t *testing.T, c Counterexample, h History) {
		t.Helper()
		if c.At != -1 || len(c.Operations) > 0 || c.Minimal || c.Why == "" {
			t.Fatalf("%+v of %+v", c, h)
		}
	}
	ctx := context.Background()
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	for i := range subjects {
		s := &subjects[i]
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(uint64(i), 51))
			none(t, Explain(ctx, s.problem(History{}), Bounds{}), History{})
			for legal, illegal := 0, 0; legal < 100 || illegal < 20; {
				h := s.make(r, 1+r.IntN(8))
				p := s.problem(h)
				outcome := Reference(ctx, p.Model, h, Bounds{}).Outcome
				searched := p
				searched.Direct = nil
				if outcome == Legal {
					legal++
					none(t, Explain(ctx, p, Bounds{}), h)
					none(t, Explain(ctx, searched, Bounds{}), h)
					continue
				}
				illegal++
				if c := Explain(ctx, searched, Bounds{}); c.At < 0 || !c.Minimal || len(c.Operations) == 0 {
					t.Fatalf("without a bound: %+v of %+v", c, h)
				}
				none(t, Explain(cancelled, searched, Bounds{}), h)
				p.History.Ops = slices.Clone(h.Ops)
				p.History.Ops[0].Return = p.History.Ops[0].Call - 1
				none(t, Explain(ctx, p, Bounds{}), p.History)
			}
		})
	}
}

// TestExplainDeep: what the narrow search gives up is decided with all the memory there
// is, whether it is legal or not.
func TestExplainDeep(t *testing.T) {
	var h History
	for i := range int64(18) { // each may have taken effect or not: more ways than the narrow search keeps
		h.Ops = append(h.Ops, Op{Kind: Add, A: 1 << i, Call: 1, Return: Never})
	}
	h.Ops = append(h.Ops, Op{Kind: Read, A: 1<<18 - 1, Call: 2, Return: 3}, Op{Kind: Read, A: 1<<18 - 1, Call: 4, Return: 5})
	p := CounterProblem(h)
	if r, _ := p.Glance(context.Background(), Bounds{}); r.Outcome != Undecided {
		t.Fatalf("the narrow search decides: %+v", r)
	}
	if c := Explain(context.Background(), p, Bounds{}); c.At != -1 || len(c.Operations) > 0 {
		t.Errorf("%+v of a legal history", c)
	}
	p.History.Ops = append(slices.Clone(h.Ops), Op{Kind: Read, A: 1, Call: 6, Return: 7})
	if c := Explain(context.Background(), p, Bounds{}); c.At != 20 || !slices.Contains(c.Operations, 20) {
		t.Errorf("%+v of an illegal history", c)
	}
}
