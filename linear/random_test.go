package linear

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

// subject is a model with a way to make histories of it.
type subject struct {
	name    string
	problem func(h History) Problem
	// propose makes an operation that is legal in the state, most of the time.
	propose func(r *rand.Rand, g *maker) Op
}

// maker makes one random history by acting it out: each operation has its
// instant, and an interval around it.
type maker struct {
	h     History
	model Model
	state any
	step  int64 // counts operations, for values that must be different
	open  int64 // the tag of the grant in force, None for none
	held  []Op  // acquires that were not released
}

func (s *subject) make(r *rand.Rand, n int) History {
	g := &maker{open: None, h: History{Initial: 0}}
	if s.name == "stock" {
		g.h.Initial = 5
	}
	for p := range int32(4) {
		g.h.Ops = append(g.h.Ops, Op{Process: p}) // so that a semaphore knows them
	}
	g.model = s.problem(g.h).Model
	g.h.Ops = nil
	g.state = g.model.Init
	wide := int64(1 + r.IntN(16))
	for t := int64(20); len(g.h.Ops) < n; t += int64(r.IntN(6)) {
		g.step++
		o := s.propose(r, g)
		o.Call, o.Return = t-r.Int64N(wide), t+r.Int64N(wide)
		applied := true
		if r.IntN(6) == 0 {
			o.Return, applied = Never, r.IntN(2) == 0
		}
		if applied && (o.Kind != ReadList && o.Kind != ReadSet) {
			if ok, next := g.model.Step(g.state, &o); ok {
				g.state = next
			}
		}
		g.h.Ops = append(g.h.Ops, o)
	}
	for range r.IntN(3) {
		g.corrupt(r)
	}
	r.Shuffle(len(g.h.Ops), func(i, j int) { g.h.Ops[i], g.h.Ops[j] = g.h.Ops[j], g.h.Ops[i] })
	return g.h
}

// corrupt does to a history what a bug would do.
func (g *maker) corrupt(r *rand.Rand) {
	i := r.IntN(len(g.h.Ops))
	o := &g.h.Ops[i]
	switch r.IntN(6) {
	case 0:
		if len(g.h.Ops) > 1 {
			g.h.Ops = append(g.h.Ops[:i], g.h.Ops[i+1:]...)
		}
	case 1:
		if !o.Optional() {
			by := r.Int64N(20) - 10
			o.Call, o.Return = o.Call+by, o.Return+by
		}
	case 2:
		if o.Kind == Read || o.Kind == CAS {
			o.A += r.Int64N(3) - 1
		}
	case 4, 5:
		switch o.Kind {
		case ReadSet, ReadList:
			o.A = r.Int64N(int64(len(g.h.Lists)))
		case Sell:
			o.A += 2
		case Read:
			o.A++
		}
	case 3:
		if o.Kind == Read && len(g.h.Ops) > 1 {
			o.A = g.h.Ops[r.IntN(len(g.h.Ops))].A
		}
	}
}

func (g *maker) process(r *rand.Rand) int32 { return int32(r.IntN(4)) }

var subjects = []subject{
	{"mutex", func(h History) Problem { return Problem{History: h, Model: PlainMutex()} }, proposeLock},
	{"owner", func(h History) Problem { return Problem{History: h, Model: OwnerMutex()} }, proposeLock},
	{"tagged", MutexProblem, proposeTagged},
	{"reentrant", func(h History) Problem { return Problem{History: h, Model: Reentrant(2)} }, proposeLock},
	{"fenced", func(h History) Problem { return Problem{History: h, Model: Fenced()} }, proposeLock},
	{"reentrant fenced", func(h History) Problem { return Problem{History: h, Model: ReentrantFenced(2)} }, proposeLock},
	{"semaphore", func(h History) Problem { return Problem{History: h, Model: Semaphore(2, h)} }, proposeLock},
	{"increment", func(h History) Problem {
		return Problem{History: h, Model: Cell(h.Initial), Direct: decideIncrements, Order: incrementsOrder}
	}, proposeIncrement},
	{"register", func(h History) Problem {
		return Problem{History: h, Model: Cell(h.Initial), Direct: decideRegister, Order: registerOrder}
	}, proposeRegister},
	{"append", func(h History) Problem {
		return Problem{History: h, Model: List(h.Lists), Direct: decideAppends, Order: appendsOrder}
	}, proposeAppend},
	{"stock", func(h History) Problem { return Problem{History: h, Model: Stock(h.Initial)} }, proposeStock},
	{"jobs", func(h History) Problem {
		return Problem{History: h, Model: Jobs(), Direct: decideJobs, Order: jobsOrder}
	}, func(r *rand.Rand, g *maker) Op {
		if r.IntN(12) == 0 {
			return Op{Kind: Run, A: r.Int64N(g.step)}
		}
		return Op{Kind: Run, A: g.step}
	}},
	{"set", func(h History) Problem { return Problem{History: h, Model: Set(h.Lists)} }, func(r *rand.Rand, g *maker) Op {
		if r.IntN(2) == 0 {
			return Op{Kind: Insert, A: r.Int64N(4)}
		}
		return Op{Kind: ReadSet, A: g.list(decode(g.state.(string)))}
	}},
}

func (g *maker) list(l []int64) int64 {
	g.h.Lists = append(g.h.Lists, l)
	return int64(len(g.h.Lists) - 1)
}

func decode(s string) []int64 {
	l := []int64{}
	for i := 0; i < len(s); i += 8 {
		var n uint64
		for j := range 8 {
			n = n<<8 | uint64(s[i+j])
		}
		l = append(l, int64(n^1<<63))
	}
	return l
}

// proposeLock tries processes and both operations until one is legal.
func proposeLock(r *rand.Rand, g *maker) Op {
	for {
		o := Op{Kind: Acquire, Process: g.process(r), A: None}
		switch r.IntN(3) {
		case 0:
			o.Kind = Release
		case 1:
			o.A = g.step / int64(1+r.IntN(2))
		}
		if ok, _ := g.model.Step(g.state, &o); ok || r.IntN(30) == 0 {
			return o
		}
	}
}

func proposeTagged(r *rand.Rand, g *maker) Op {
	if len(g.held) > 0 && (g.state.(int64) != None || r.IntN(3) == 0) {
		i := r.IntN(len(g.held))
		o := g.held[i]
		g.held = append(g.held[:i], g.held[i+1:]...)
		o.Kind = Release
		if r.IntN(4) == 0 {
			o.Kind = Expire
		}
		return o
	}
	o := Op{Kind: Acquire, Process: g.process(r), B: g.step - 1}
	if r.IntN(8) > 0 {
		g.held = append(g.held, o)
	}
	if r.IntN(20) == 0 {
		o.Kind = Release
		g.held = nil
	}
	return o
}

func proposeIncrement(r *rand.Rand, g *maker) Op {
	v := g.state.(int64)
	switch r.IntN(5) {
	case 0, 1:
		return Op{Kind: Read, A: v}
	case 2:
		if r.IntN(2) == 0 {
			return Op{Kind: Add, A: 1}
		}
	}
	return Op{Kind: CAS, A: v, B: v + 1}
}

func proposeRegister(r *rand.Rand, g *maker) Op {
	v := g.state.(int64)
	switch r.IntN(7) {
	case 0, 1:
		return Op{Kind: Read, A: v}
	case 2, 3:
		return Op{Kind: Write, A: g.step}
	case 4:
		seen := v
		return Op{Kind: CASFailed, A: v + 1 - r.Int64N(2)*r.Int64N(2), B: seen}
	}
	return Op{Kind: CAS, A: v, B: g.step}
}

func proposeAppend(r *rand.Rand, g *maker) Op {
	length := int64(len(g.state.(string)) / 8)
	switch r.IntN(4) {
	case 0:
		return Op{Kind: ReadList, A: g.list(decode(g.state.(string)))}
	case 1:
		return Op{Kind: Append, A: g.step, B: length}
	}
	return Op{Kind: Append, A: g.step, B: None}
}

func proposeStock(r *rand.Rand, g *maker) Op {
	v, n := g.state.(int64), 1+r.Int64N(3)
	switch {
	case r.IntN(4) == 0:
		return Op{Kind: Read, A: v}
	case r.IntN(6) == 0:
		return Op{Kind: Add, A: n}
	case v < n:
		return Op{Kind: Write, A: n}
	case r.IntN(3) == 0:
		return Op{Kind: CAS, A: v, B: v - n}
	}
	return Op{Kind: Sell, A: n}
}

// histories is how many random histories each subject is tried on.
func histories(t *testing.T) int { return suite.Amount(t, 80_000, 3_000) }

// TestAllWaysAgree: on random small histories the direct algorithms, the
// frontier search and porcupine come to the same decision.
func TestAllWaysAgree(t *testing.T) {
	for i := range subjects {
		s := &subjects[i]
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(uint64(i), 7))
			tally := map[Outcome]int{}
			direct := 0
			n := histories(t)
			for range n {
				h := s.make(r, 1+r.IntN(9))
				outcome, byDirect := agree(t, s, h)
				tally[outcome]++
				if byDirect {
					direct++
				}
			}
			if tally[Legal] < n/40 || tally[Illegal] < n/40 {
				t.Errorf("the histories are one-sided: %v", tally)
			}
			if p := s.problem(History{}); p.Direct != nil && direct < n/2 {
				t.Errorf("the direct algorithm decided only %d of %d", direct, n)
			}
		})
	}
}

func agree(t *testing.T, s *subject, h History) (o Outcome, direct bool) {
	t.Helper()
	p := s.problem(h)
	ctx := context.Background()
	want := Reference(ctx, p.Model, h, Bounds{})
	if got := searchFrontier(ctx, p.Model, h, Bounds{}); got.Outcome != want.Outcome {
		t.Fatalf("the frontier search says %v (%s), porcupine %v of\n%+v", got.Outcome, got.Why, want.Outcome, h)
	}
	if p.Direct == nil {
		return want.Outcome, false
	}
	got := p.Direct(h)
	for range h.Ops { // the order in which operations are listed says nothing
		turned := h
		turned.Ops = append(slices.Clone(h.Ops[1:]), h.Ops[0])
		if h = turned; p.Direct(h).Outcome != got.Outcome {
			t.Fatalf("the direct algorithm says %v (%s), and with the operations listed in another order %v:\n%+v",
				got.Outcome, got.Why, p.Direct(h).Outcome, h)
		}
	}
	if got.Outcome == Undecided {
		if meets(s.name, h) {
			t.Fatalf("the direct algorithm does not decide (%s), though the history meets its preconditions:\n%+v", got.Why, h)
		}
		return want.Outcome, false
	}
	if got.Outcome != want.Outcome {
		t.Fatalf("the direct algorithm says %v (%s), porcupine %v of\n%+v", got.Outcome, got.Why, want.Outcome, h)
	}
	if got.Outcome == Illegal {
		checkWitness(t, h, got, p)
	}
	checkOrder(t, got.Outcome, p)
	return want.Outcome, true
}

// checkOrder demands that the direct algorithm knows an order just where it finds a history legal, and that this order explains it.
func checkOrder(t *testing.T, o Outcome, p Problem) {
	t.Helper()
	if known, err := p.Confirm(); known != (o == Legal) || err != nil {
		t.Fatalf("the direct algorithm says %v, knows an order: %v, which %v, of\n%+v", o, known, err, p.History)
	}
}

// checkWitness demands that the witness alone is illegal, whatever the others
// did.
func checkWitness(t *testing.T, h History, r Result, p Problem) {
	t.Helper()
	mixed := slices.ContainsFunc(h.Ops, func(o Op) bool { return o.Kind == Add })
	if len(r.Witness) == 0 || len(r.Witness) > 4 && !mixed {
		t.Fatalf("witness %v of %+v", r.Witness, h)
	}
	relaxed := h
	relaxed.Ops = Relax(h.Ops, r.Witness)
	if got := Reference(context.Background(), p.Model, relaxed, Bounds{}); got.Outcome != Illegal {
		t.Fatalf("the witness %v (%s) has an explanation in\n%+v", r.Witness, r.Why, h)
	}
}
