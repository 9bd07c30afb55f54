package linear

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

// TestMaybe: of a history with operations that are Maybe Check says what porcupine says
// of it with and without them, and neither a direct algorithm nor porcupine takes them for
// certain. What Explain shows has no explanation, and none of them is in it.
func TestMaybe(t *testing.T) {
	problems := slices.Concat(subjects, []subject{
		{"counter problem", CounterProblem, proposeRegister}, {"stock problem", StockProblem, func(r *rand.Rand, g *maker) Op {
			n := r.Int64N(7) - 1
			return Op{Kind: CAS, A: g.state.(int64), B: n}
		}}})
	for i := range problems {
		s := &problems[i]
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(uint64(i), 50))
			tally := map[Outcome]int{}
			for range suite.Amount(t, 8_000, 1_000) {
				h := s.make(r, 2+r.IntN(6))
				h.Ops = distinct(h.Ops)
				tally[checkMaybe(t, r, s, h)]++
			}
			if tally[Legal] < 10 || tally[Illegal] < 10 {
				t.Errorf("the histories are one-sided: %v", tally)
			}
		})
	}
}

func checkMaybe(t *testing.T, r *rand.Rand, s *subject, h History) Outcome {
	t.Helper()
	sure, maybe := h, h // sure: the same history without the marks
	maybe.Ops = slices.Clone(h.Ops)
	var kept []int
	marked := r.IntN(len(h.Ops))
	for i := range maybe.Ops {
		if maybe.Ops[i].Maybe = i == marked || r.IntN(4) == 0; !maybe.Ops[i].Maybe {
			kept = append(kept, i)
		}
	}
	p := s.problem(maybe)
	want := Illegal
	if legalAmong(p.Model, sure, kept) {
		want = Legal
	}
	if got, method := p.Check(context.Background(), Bounds{}); got.Outcome != want {
		t.Fatalf("%s says %v (%s), want %v of\n%+v", method, got.Outcome, got.Why, want, maybe)
	}
	if got, method := p.Search(context.Background(), Bounds{}); got.Outcome != want {
		t.Fatalf("without a glance %s says %v (%s), want %v of\n%+v", method, got.Outcome, got.Why, want, maybe)
	}
	if got := Reference(context.Background(), p.Model, maybe, Bounds{}); got.Outcome != Undecided {
		t.Fatalf("porcupine says %v of\n%+v", got.Outcome, maybe)
	}
	if p.Direct != nil {
		if got := p.Direct(maybe); got.Outcome != Undecided {
			t.Fatalf("the direct algorithm says %v (%s) of\n%+v", got.Outcome, got.Why, maybe)
		}
	}
	if want == Legal || r.IntN(8) > 0 {
		return want
	}
	c := Explain(context.Background(), p, Bounds{Timeout: time.Minute})
	shown := slices.ContainsFunc(c.Operations, func(i int) bool { return maybe.Ops[i].Maybe })
	if shown || !c.Minimal || legalAmong(p.Model, sure, c.Operations) {
		t.Fatalf("%+v of\n%+v", c, maybe)
	}
	return want
}

// TestLeaseOfMaybe: no lease is told from grants that may not have been.
func TestLeaseOfMaybe(t *testing.T) {
	h := History{Ops: []Op{{Kind: Acquire, A: None, Call: 1, Return: 2}, {Kind: Release, Call: 3, Return: 4, Maybe: true}}}
	if _, r := Lease(h, nil); r.Outcome != Undecided {
		t.Errorf("%+v", r)
	}
}
