package linear

import (
	"fmt"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

// alphabet are all operations of a kind of history with stamps from 1 on, and outcomes that are not known.
type alphabet struct {
	name    string
	problem func(History) Problem
	// shapes are the operations without their stamps; blind ones have no return.
	shapes []Op
	// most is how many operations a history has, and few how many in the short suite.
	most, few int
	// stamps are how many there are; 0: three, and two in the short suite.
	stamps int64
	lists  [][]int64
}

func (a *alphabet) ops(stamps int64) (list []Op) {
	for _, o := range a.shapes {
		for call := int64(1); call <= stamps; call++ {
			o.Call = call
			for ret := call; ret <= stamps && o.Kind != Add; ret++ {
				o.Return = ret
				list = append(list, o)
			}
			o.Return = Never
			list = append(list, o)
		}
	}
	return list
}

// alphabets have values that are written twice, the initial one too, casses that change nothing, steps from what was never there,
// releases of what was never granted, and lists that nobody wrote.
func alphabets() []alphabet {
	lock := alphabet{name: "tagged", problem: MutexProblem, most: 4, few: 4}
	for tag := range int64(3) {
		lock.shapes = append(lock.shapes, Op{Kind: Acquire, A: None, B: tag}, Op{Kind: Release, A: None, B: tag})
	}
	register := alphabet{name: "register", problem: subjectNamed("register").problem, most: 3, few: 3}
	increments := alphabet{name: "increment", problem: subjectNamed("increment").problem, most: 4, few: 3,
		shapes: []Op{{Kind: Add, A: 1}}}
	// Chains of two casses need more operations, and fewer stamps.
	chains := alphabet{name: "register", problem: register.problem, most: 4, few: 4, stamps: 2}
	jobs := alphabet{name: "jobs", problem: JobsProblem, most: 4, few: 4}
	for v := range int64(3) {
		jobs.shapes = append(jobs.shapes, Op{Kind: Run, A: v})
		chains.shapes = append(chains.shapes, Op{Kind: Read, A: v})
		for w := int64(1); w < 3; w++ {
			if v != w {
				chains.shapes = append(chains.shapes, Op{Kind: CAS, A: v, B: w})
			}
		}
		register.shapes = append(register.shapes, Op{Kind: Read, A: v}, Op{Kind: Write, A: v})
		increments.shapes = append(increments.shapes, Op{Kind: Read, A: v}, Op{Kind: CAS, A: v, B: v + 1})
		for w := range int64(3) {
			register.shapes = append(register.shapes, Op{Kind: CAS, A: v, B: w}, Op{Kind: CASFailed, A: v, B: w})
		}
	}
	list := alphabet{name: "append", problem: ListProblem, most: 4, few: 3, lists: [][]int64{{}, {1}, {2}, {1, 2}, {2, 1}, {1, 1}}}
	for n := range list.lists {
		list.shapes = append(list.shapes, Op{Kind: ReadList, A: int64(n)})
	}
	for _, b := range []int64{None, 0, 1} {
		list.shapes = append(list.shapes, Op{Kind: Append, A: 1, B: b}, Op{Kind: Append, A: 2, B: b})
	}
	return []alphabet{lock, register, chains, increments, list, jobs}
}

// TestEverySmallHistory: every history of few operations with few stamps gets from the direct algorithm what trying all orders says; the
// order that the algorithm knows explains it, and its witness has no explanation. A history that meets the preconditions is decided.
func TestEverySmallHistory(t *testing.T) {
	for _, a := range alphabets() {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			stamps := int64(min(3, suite.Amount(t, 3, 2))) // RANDOM_HISTORIES may ask for more
			if a.stamps > 0 {
				stamps = a.stamps
			}
			ops := a.ops(stamps)
			tally := map[Outcome]int{}
			h := History{Lists: a.lists}
			var add func(from, left int)
			add = func(from, left int) {
				if len(h.Ops) > 0 {
					tally[checkSmall(t, a.name, a.problem(h))]++
				}
				for i := from; i < len(ops) && left > 0; i++ {
					h.Ops = append(h.Ops, ops[i])
					add(i, left-1)
					h.Ops = h.Ops[:len(h.Ops)-1]
				}
			}
			add(0, min(a.most, suite.Amount(t, a.most, a.few)))
			for _, o := range []Outcome{Legal, Illegal, Undecided} {
				if always := a.name == "increment" || a.name == "jobs"; tally[o] == 0 && (o != Undecided || !always) {
					t.Errorf("no history is %v: %v", o, tally)
				}
			}
			t.Log(fmt.Sprint(tally))
		})
	}
}

func checkSmall(t *testing.T, name string, p Problem) Outcome {
	t.Helper()
	h := p.History
	got := p.Direct(h)
	checkOrder(t, got.Outcome, p)
	if got.Outcome == Undecided {
		if meets(name, h) {
			t.Fatalf("not decided (%s), though the preconditions are met:\n%+v", got.Why, h)
		}
		return Undecided
	}
	if legal := explained(p.Model, h); legal != (got.Outcome == Legal) {
		t.Fatalf("%v (%s); an order explains it: %v:\n%+v", got.Outcome, got.Why, legal, h)
	}
	if got.Outcome == Illegal {
		relaxed := h
		relaxed.Ops = Relax(h.Ops, got.Witness)
		if len(got.Witness) == 0 || explained(p.Model, relaxed) {
			t.Fatalf("the witness %v (%s) has an explanation in\n%+v", got.Witness, got.Why, h)
		}
	}
	return got.Outcome
}
