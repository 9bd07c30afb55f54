package linear

import (
	"context"
	"math/rand/v2"
	"testing"
)

// randomIncrements makes a small history of one counter, most of the time
// nearly legal.
func randomIncrements(r *rand.Rand, n int) []Op {
	ops := make([]Op, 0, n)
	value, clock := int64(0), int64(0)
	for range n {
		o := Op{Kind: CAS, Process: int32(r.IntN(4)), A: value}
		if r.IntN(4) == 0 {
			o.Kind = Read
		}
		clock += int64(r.IntN(4))
		o.Call, o.Return = clock-int64(r.IntN(8)), clock+int64(r.IntN(8))
		switch r.IntN(12) {
		case 0:
			o.A += int64(r.IntN(3)) - 1
		case 1, 2:
			o.Return = Never
			if r.IntN(2) == 0 {
				value--
			}
		}
		if o.Kind == CAS {
			o.B = o.A + 1
			value++
		}
		ops = append(ops, o)
	}
	return ops
}

func TestIncrementsAgreeWithPorcupine(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	tally := map[Outcome]int{}
	for range 30000 {
		ops := randomIncrements(r, 1+r.IntN(8))
		got, ok := Increments(ops, 0)
		if !ok {
			t.Fatalf("not judged: %+v", ops)
		}
		want := Reference(context.Background(), Cell(0), ops, Bounds{})
		if got.Outcome != want.Outcome {
			t.Fatalf("forced order says %v (%s), porcupine %v of %+v", got.Outcome, got.Why, want.Outcome, ops)
		}
		tally[got.Outcome]++
		if got.Outcome == Illegal {
			checkWitness(t, ops, got, func(ops []Op) bool { r, _ := Increments(ops, 0); return r.Outcome == Illegal })
		}
	}
	if tally[Legal] < 3000 || tally[Illegal] < 3000 {
		t.Errorf("the histories are one-sided: %v", tally)
	}
}

// checkWitness demands that the witness alone is illegal, whatever the others
// did.
func checkWitness(t *testing.T, ops []Op, r Result, bad func([]Op) bool) {
	t.Helper()
	if len(r.Witness) == 0 || len(r.Witness) > 4 {
		t.Fatalf("witness %v of %+v", r.Witness, ops)
	}
	kept := map[int]bool{}
	for _, i := range r.Witness {
		kept[i] = true
	}
	var list []int
	for i := range ops {
		if kept[i] && !ops[i].Optional() {
			list = append(list, i)
		}
	}
	if !bad(Relax(ops, list)) {
		t.Fatalf("the witness %v (%s) of %+v has an explanation", r.Witness, r.Why, ops)
	}
}
