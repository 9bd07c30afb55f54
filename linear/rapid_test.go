package linear

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

// drawOps draws operations with nothing to guide them but small numbers, so
// that rapid can shrink what fails to a few operations.
func drawOps(t *rapid.T, kinds []Kind, values, tags int64) []Op {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Op {
		call := rapid.Int64Range(0, 12).Draw(t, "call")
		o := Op{
			Kind: rapid.SampledFrom(kinds).Draw(t, "kind"), Process: int32(rapid.IntRange(0, 2).Draw(t, "process")),
			A: rapid.Int64Range(0, values).Draw(t, "a"), B: rapid.Int64Range(0, tags).Draw(t, "b"),
			Call: call, Return: call + rapid.Int64Range(0, 8).Draw(t, "length"),
		}
		if rapid.IntRange(0, 4).Draw(t, "unknown") == 0 {
			o.Return = Never
		}
		return o
	}), 1, 7).Draw(t, "ops")
}

func sameDecision(t *rapid.T, m Model, direct func(History) Result, h History) {
	want := Reference(context.Background(), m, h, Bounds{})
	if got := searchFrontier(context.Background(), m, h, Bounds{}); got.Outcome != want.Outcome {
		t.Fatalf("the frontier search says %v, porcupine %v", got.Outcome, want.Outcome)
	}
	if direct == nil {
		return
	}
	if got := direct(h); got.Outcome != Undecided && got.Outcome != want.Outcome {
		t.Fatalf("the direct algorithm says %v (%s), porcupine %v", got.Outcome, got.Why, want.Outcome)
	}
}

func TestRapidMutex(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := History{Ops: drawOps(t, []Kind{Acquire, Release}, 0, 3)}
		sameDecision(t, TaggedMutex(), Mutex, h)
		sameDecision(t, OwnerMutex(), nil, h)
	})
}

func TestRapidRegister(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := History{Ops: drawOps(t, []Kind{Read, Write, CAS, CASFailed}, 4, 4)}
		sameDecision(t, Cell(0), decideRegister, h)
	})
}

func TestRapidIncrements(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := History{Ops: drawOps(t, []Kind{Read, CAS, CAS, Add}, 3, 0)}
		for i := range h.Ops {
			if o := &h.Ops[i]; o.Kind == Add {
				o.A, o.Return = 1, Never
			} else {
				o.B = o.A + 1
			}
		}
		sameDecision(t, Cell(0), decideIncrements, h)
	})
}

func TestRapidTokens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := History{Ops: drawOps(t, []Kind{Acquire, Release}, 3, 0)}
		sameDecision(t, Fenced(), nil, h)
		sameDecision(t, ReentrantFenced(2), nil, h)
		sameDecision(t, Semaphore(2, h), nil, h)
	})
}

// TestLeaseIsDisjointIntervals: the leased mutex is violated just where two
// clients were inside [acquire answered, min(release asked, promised end)] at
// once.
func TestLeaseIsDisjointIntervals(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	tally := map[bool]int{}
	rounds := suite.Amount(t, 100_000, 10_000)
	for range rounds {
		var h History
		var until []int64
		type stretch struct{ from, to int64 }
		var inside []stretch
		for tag := range int64(1 + r.IntN(4)) {
			call := r.Int64N(40)
			ret := call + r.Int64N(6)
			asked := ret + r.Int64N(20)
			end := int64(None)
			to := asked
			if r.IntN(4) > 0 {
				end = call + r.Int64N(20)
				to = min(asked, end)
			}
			until = append(until, end)
			h.Ops = append(h.Ops, Op{Kind: Acquire, B: tag, Call: call, Return: ret},
				Op{Kind: Release, B: tag, Call: asked, Return: asked + r.Int64N(9)})
			if ret < to {
				inside = append(inside, stretch{ret, to})
			}
		}
		overlap := false
		for i := range inside {
			for j := range inside[:i] {
				overlap = overlap || max(inside[i].from, inside[j].from) < min(inside[i].to, inside[j].to)
			}
		}
		leased, res := Lease(h, until)
		if res.Outcome != 0 {
			t.Fatal(res.Why)
		}
		got, want := Mutex(leased), Reference(context.Background(), TaggedMutex(), leased, Bounds{})
		if got.Outcome != want.Outcome || overlap && got.Outcome != Illegal {
			t.Fatalf("direct %v, porcupine %v, overlap %v of\n%+v until %v", got.Outcome, want.Outcome, overlap, h, until)
		}
		if !overlap && got.Outcome == Illegal && !pointInside(leased) {
			t.Fatalf("illegal (%s) without an overlap:\n%+v until %v", got.Why, h, until)
		}
		tally[overlap]++
	}
	if tally[true] < rounds/100 || tally[false] < rounds/100 {
		t.Errorf("one-sided: %v", tally)
	}
}

// pointInside reports whether some grant was answered at the very instant at
// which its release was asked for, or has no certain stretch for another reason:
// it may still lie strictly inside another's.
func pointInside(h History) bool {
	ret := map[int64]int64{}
	for _, o := range h.Ops {
		if o.Kind == Acquire {
			ret[o.B] = o.Return
		}
	}
	for _, o := range h.Ops {
		if o.Kind != Acquire && o.Call <= ret[o.B] {
			return true
		}
	}
	return false
}

// TestLeaseAtItsBorders: a grant that was answered at the very end of its promise was
// never inside it; a release at that instant ends nothing any more.
func TestLeaseAtItsBorders(t *testing.T) {
	acquire := Op{Kind: Acquire, Call: 1, Return: 5}
	release := func(call int64) Op { return Op{Kind: Release, Call: call, Return: call + 3} }
	for _, c := range []struct {
		name  string
		ops   []Op
		until []int64
		want  []Op
	}{
		{"answered at the end", []Op{acquire, release(9)}, []int64{5}, nil},
		{"answered just before", []Op{acquire, release(9)}, []int64{6}, []Op{acquire, {Kind: Expire, Call: 6, Return: 6}}},
		{"released at the end", []Op{acquire, release(9)}, []int64{9}, []Op{acquire, {Kind: Expire, Call: 9, Return: 9}}},
		{"released just before", []Op{acquire, release(9)}, []int64{10}, []Op{acquire, {Kind: Release, Call: 9, Return: 10}}},
		{"released in time", []Op{release(9), acquire}, []int64{20}, []Op{acquire, release(9)}},
		{"no promise", []Op{acquire, release(9)}, []int64{None}, []Op{acquire, release(9)}},
		{"nothing said of the tag", []Op{acquire, release(9)}, nil, []Op{acquire, release(9)}},
		{"never released", []Op{acquire}, []int64{20}, []Op{acquire, {Kind: Expire, Call: 20, Return: 20}}},
	} {
		h, r := Lease(History{Ops: c.ops}, c.until)
		if r.Outcome != 0 || !slices.Equal(h.Ops, c.want) {
			t.Errorf("%s: %v %+v, want %+v", c.name, r, h.Ops, c.want)
		}
	}
}
