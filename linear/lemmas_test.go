package linear

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

// PROOFS.md proves that the direct algorithms are right. Each of its lemmas has a test here, which holds the lemma against the
// definition: all orders that explain a small random history are tried (everyExplanation), and nothing else is asked.
//
// Half of the cases break the condition of the lemma. Of these some must break its conclusion, too: so the condition is needed, and
// the test is one that can fail.

// lemma tries a lemma on random cases: meets says whether a case meets the condition, holds whether the conclusion is true of it.
func lemma(t *testing.T, rounds int, try func(r *rand.Rand, keep bool) (meets, holds bool, of any)) {
	t.Helper()
	r := rand.New(rand.NewPCG(uint64(len(t.Name())), 71))
	met, needed := 0, 0
	for n := range rounds {
		meets, holds, of := try(r, n%2 == 0)
		switch {
		case meets && !holds:
			t.Fatalf("the condition is met, and the conclusion is wrong, of\n%+v", of)
		case meets:
			met++
		case !holds:
			needed++
		}
	}
	if met < rounds/10 {
		t.Errorf("only %d of %d cases met the condition", met, rounds)
	}
	if needed == 0 {
		t.Errorf("no case that breaks the condition breaks the conclusion: the test cannot fail")
	}
	t.Logf("%d cases met the condition; %d of the others broke the conclusion", met, needed)
}

func lemmaRounds(t *testing.T) int { return suite.Amount(t, 400_000, 10_000) }

// TestProofsNameTheirTests: PROOFS.md has a lemma for each number, in order, and the test that it names is in this package.
func TestProofsNameTheirTests(t *testing.T) {
	page, err := os.ReadFile("PROOFS.md")
	if err != nil {
		t.Fatal(err)
	}
	lemmas := regexp.MustCompile(`(?m)^### Lemma (\d+)`).FindAllSubmatch(page, -1)
	named := regexp.MustCompile("(?m)^Test: `(Test[A-Za-z]+)`").FindAllSubmatch(page, -1)
	if len(lemmas) < 10 || len(named) != len(lemmas) {
		t.Fatalf("%d lemmas name %d tests", len(lemmas), len(named))
	}
	var code []byte
	for _, file := range []string{"lemmas_test.go", "ways_test.go", "rapid_test.go"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		code = append(code, text...)
	}
	for n := range lemmas {
		if got := string(lemmas[n][1]); got != fmt.Sprint(n+1) {
			t.Errorf("lemma %s is the %d. of the page", got, n+1)
		}
		if name := string(named[n][1]); !regexp.MustCompile(`(?m)^func ` + name + `\(t \*testing\.T\)`).Match(code) {
			t.Errorf("lemma %d names %s, which is no test", n+1, name)
		}
	}
}

// smallOps are operations without a meaning, with stamps that often meet.
func smallOps(r *rand.Rand, n int) []Op {
	ops := make([]Op, n)
	for i := range ops {
		call := 1 + r.Int64N(12)
		ops[i] = Op{Kind: Run, A: int64(i), Call: call, Return: call + r.Int64N(8)}
		if r.IntN(6) == 0 {
			ops[i].Return = Never
		}
	}
	return ops
}

// keepsTime is the definition: none stands before another that had returned before it was called.
func keepsTime(ops []Op, order []int) bool {
	for n, i := range order {
		for _, j := range order[n+1:] {
			if ops[j].Return < ops[i].Call {
				return false
			}
		}
	}
	return true
}

// TestLemmaScan: an order keeps real time if and only if none of it returned before the greatest call that stands before it.
func TestLemmaScan(t *testing.T) {
	lemma(t, lemmaRounds(t), func(r *rand.Rand, keep bool) (meets, holds bool, of any) {
		ops := smallOps(r, 2+r.IntN(6))
		order := r.Perm(len(ops))
		latest, scanned := int64(math.MinInt64), true
		for _, i := range order {
			scanned = scanned && ops[i].Return >= latest
			if keep {
				latest = max(latest, ops[i].Call)
			} else {
				latest = ops[i].Call // only the one before
			}
		}
		return keep, scanned == keepsTime(ops, order), ops
	})
}

// explained: some order explains the history.
func explained(m Model, h History) (found bool) {
	everyExplanation(m, h, func([]int) { found = true })
	return found
}

// explainedInFull: some order of all operations does, in which an optional one that is not allowed in its place does nothing.
func explainedInFull(m Model, h History) bool {
	full := h
	full.Ops = slices.Clone(h.Ops)
	for i := range full.Ops {
		full.Ops[i].Maybe = false
	}
	lenient := m
	lenient.Step = func(state any, o *Op) (bool, any) {
		ok, next := m.Step(state, o)
		if loose := o.Optional() || o.B == looseMark; !ok && loose {
			return true, state
		}
		return ok, next
	}
	found := false
	everyExplanation(lenient, full, func(order []int) { found = found || len(order) == len(full.Ops) })
	return found
}

// looseMark marks reads and writes that explainedInFull takes for optional though they have a return.
const looseMark = 99

// TestLemmaOptional: what returns at infinity may be left out, or be put into the order and do nothing where it is not allowed: that
// comes to the same. It does not for what has a return.
func TestLemmaOptional(t *testing.T) {
	lemma(t, lemmaRounds(t), func(r *rand.Rand, keep bool) (meets, holds bool, of any) {
		h := History{Ops: smallOps(r, 1+r.IntN(5))}
		value := int64(0)
		for i := range h.Ops {
			o := &h.Ops[i]
			o.Kind, o.A = [2]Kind{Read, Write}[r.IntN(2)], r.Int64N(3)
			if r.IntN(3) > 0 {
				o.A = value
			}
			value = o.A
			if !o.Optional() && r.IntN(3) == 0 {
				if keep {
					o.Return = Never
				} else {
					o.Maybe, o.B = true, looseMark
				}
			}
		}
		return keep, explained(Cell(0), h) == explainedInFull(Cell(0), h), h
	})
}

// anySubject draws a small history of one of the models.
func anySubject(r *rand.Rand, most int) (Problem, History) {
	s := &subjects[r.IntN(len(subjects))]
	h := s.make(r, 1+r.IntN(most))
	return s.problem(h), h
}

// TestLemmaPrefix: what explains a history explains it up to each return. It does not explain what is left if any operation is
// taken out.
func TestLemmaPrefix(t *testing.T) {
	lemma(t, lemmaRounds(t), func(r *rand.Rand, keep bool) (meets, holds bool, of any) {
		p, h := anySubject(r, 6)
		part := h
		if at := r.IntN(len(h.Ops)); !keep {
			part.Ops = slices.Delete(slices.Clone(h.Ops), at, at+1)
		} else if h.Ops[at].Optional() {
			return false, true, nil
		} else {
			part.Ops, _ = before(h.Ops, at)
		}
		return keep, !explained(p.Model, h) || explained(p.Model, part), h
	})
}

// TestLemmaRelax: a history that has an explanation keeps it if operations become optional.
func TestLemmaRelax(t *testing.T) {
	lemma(t, lemmaRounds(t), func(r *rand.Rand, keep bool) (meets, holds bool, of any) {
		p, h := anySubject(r, 6)
		var kept []int
		for i := range h.Ops {
			if r.IntN(2) == 0 {
				kept = append(kept, i)
			}
		}
		part := h
		if keep {
			part.Ops = Relax(h.Ops, kept)
		} else {
			part.Ops = nil // taken out instead
			for _, i := range kept {
				part.Ops = append(part.Ops, h.Ops[i])
			}
		}
		return keep, !explained(p.Model, h) || explained(p.Model, part), h
	})
}

// group is a few operations that stand together, in an order that keeps time.
func groupZone(ops []Op, group []int) (z Zone) {
	z = Zone{From: math.MaxInt64, To: math.MinInt64}
	for _, i := range group {
		z.From, z.To = min(z.From, ops[i].Return), max(z.To, ops[i].Call)
	}
	return z
}

// mustPrecede is the rule between groups: X -> Y.
func mustPrecede(x, y Zone) bool { return x.From < y.To }

// TestLemmaGroups: groups that stand together one after the other keep real time if and only if none stands before one that must
// precede it. If the operations of the groups are mixed, the rule does not tell.
func TestLemmaGroups(t *testing.T) {
	lemma(t, lemmaRounds(t), func(r *rand.Rand, keep bool) (meets, holds bool, of any) {
		ops := smallOps(r, 6)
		groups := [][]int{{0, 1}, {2}, {3, 4, 5}}
		zones := make([]Zone, len(groups))
		for n, g := range groups {
			slices.SortFunc(g, func(a, b int) int { return cmp.Compare(ops[a].Call, ops[b].Call) })
			zones[n] = groupZone(ops, g)
		}
		var order, rank []int
		for _, n := range r.Perm(len(groups)) {
			order, rank = append(order, groups[n]...), append(rank, n)
		}
		rule := true
		for n := range rank {
			for _, later := range rank[n+1:] {
				rule = rule && !mustPrecede(zones[later], zones[rank[n]])
			}
		}
		if !keep {
			r.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		}
		return keep, rule == keepsTime(ops, order), ops
	})
}

// randomZones are zones with ends that often meet, some of them at infinity.
func randomZones(r *rand.Rand) []Zone {
	zones := make([]Zone, 1+r.IntN(5))
	for i := range zones {
		end := func() int64 { return [...]int64{math.MinInt64, math.MaxInt64, r.Int64N(8)}[min(2, r.IntN(12))] }
		zones[i] = Zone{From: end(), To: end(), ID: int32(i)}
	}
	return zones
}

// inLine: no zone stands before one that must precede it.
func inLine(zones []Zone) bool {
	for i := range zones {
		for j := range zones[:i] {
			if mustPrecede(zones[i], zones[j]) {
				return false
			}
		}
	}
	return true
}

// TestLemmaLine: zones of which no two clash, sorted by their lower ends and then by their upper ones, stand in line. Sorted by their
// lower ends alone they may not; and zones that clash cannot.
func TestLemmaLine(t *testing.T) {
	lemma(t, lemmaRounds(t), func(r *rand.Rand, keep bool) (meets, holds bool, of any) {
		zones := randomZones(r)
		clash := false
		for i := range zones {
			for j := range zones[:i] {
				clash = clash || mustPrecede(zones[i], zones[j]) && mustPrecede(zones[j], zones[i])
			}
		}
		layInLine(zones)
		if clash == inLine(zones) {
			return true, false, zones // clash: never; no clash: always
		}
		if clash {
			return false, true, nil
		}
		if !keep {
			r.Shuffle(len(zones), func(i, j int) { zones[i], zones[j] = zones[j], zones[i] })
			slices.SortStableFunc(zones, func(a, b Zone) int { return cmp.Compare(a.low(), b.low()) })
		}
		return keep, inLine(zones), zones
	})
}

// TestLemmaClash: two zones clash if and only if both are forward and overlap, or one is backward and strictly inside the other,
// which is forward.
func TestLemmaClash(t *testing.T) {
	lemma(t, lemmaRounds(t), func(r *rand.Rand, keep bool) (meets, holds bool, of any) {
		zones := append(randomZones(r), randomZones(r)...)
		x, y := zones[0], zones[1]
		strictly := func(in, out Zone) bool { return out.low() < in.low() && in.high() < out.high() }
		if !keep {
			strictly = func(in, out Zone) bool { return out.low() <= in.low() && in.high() <= out.high() }
		}
		shape := x.forward() && y.forward() && max(x.From, y.From) < min(x.To, y.To) ||
			x.forward() && !y.forward() && strictly(y, x) || y.forward() && !x.forward() && strictly(x, y)
		return keep, shape == (mustPrecede(x, y) && mustPrecede(y, x)), zones[:2]
	})
}

// drawUntil draws histories until one meets the preconditions of the algorithm of that name, or does not.
func drawUntil(r *rand.Rand, name string, keep bool, draw func() History) History {
	for {
		if h := draw(); meets(name, h) == keep {
			return h
		}
	}
}

// subjectNamed is the subject of that name, compositionNamed the composition.
func subjectNamed(name string) *subject {
	return &subjects[slices.IndexFunc(subjects, func(s subject) bool { return s.name == name })]
}

func compositionNamed(name string) *composition {
	return &compositions[slices.IndexFunc(compositions, func(c composition) bool { return c.name == name })]
}

// TestLemmaPairs: where each tag is acquired at most once and ended at most once, each explanation has every acquire directly before
// the end of its own grant, and all explanations have the same pairs.
func TestLemmaPairs(t *testing.T) {
	c, s := compositionNamed("tagged mutex"), subjectNamed("tagged")
	lemma(t, lemmaRounds(t), func(r *rand.Rand, keep bool) (meets, holds bool, of any) {
		h := drawUntil(r, "tagged", keep, func() History {
			if r.IntN(2) == 0 {
				return s.make(r, 2+r.IntN(4))
			}
			return c.make(r, 2+r.IntN(4))
		})
		holds = true
		partner := map[int]int{}
		everyExplanation(TaggedMutex(), h, func(order []int) {
			for n, i := range order {
				if n%2 == 0 {
					continue
				}
				if first, known := partner[i]; known && first != order[n-1] || h.Ops[order[n-1]].B != h.Ops[i].B {
					holds = false
				}
				partner[i] = order[n-1]
			}
		})
		return keep, holds, h
	})
}

// TestLemmaUnseenGrant: a grant of which neither the acquire nor the end is sure may be left out: the history is legal with it if and
// only if it is legal without it. One of which either is sure may not.
func TestLemmaUnseenGrant(t *testing.T) {
	s := subjectNamed("tagged")
	lemma(t, lemmaRounds(t), func(r *rand.Rand, keep bool) (meets, holds bool, of any) {
		h := drawUntil(r, "tagged", true, func() History { return s.make(r, 2+r.IntN(5)) })
		tag := h.Ops[r.IntN(len(h.Ops))].B
		if keep {
			for i := range h.Ops {
				if h.Ops[i].B == tag {
					h.Ops[i].Return = Never
				}
			}
		} else if !slices.ContainsFunc(h.Ops, func(o Op) bool { return o.B == tag && !o.Optional() }) {
			return false, true, nil
		}
		less := h
		less.Ops = slices.DeleteFunc(slices.Clone(h.Ops), func(o Op) bool { return o.B == tag })
		return keep, explained(TaggedMutex(), h) == explained(TaggedMutex(), less), h
	})
}

// drawRegister draws a history of a register; keep: one that meets the preconditions.
func drawRegister(r *rand.Rand, keep bool) History {
	c, s := compositionNamed("counter"), subjectNamed("register")
	return drawUntil(r, "register", keep, func() History {
		h := s.make(r, 2+r.IntN(5))
		if !keep && r.IntN(2) == 0 {
			h = c.make(r, 2+r.IntN(5))
		} else if !keep { // a value comes back
			o := &h.Ops[r.IntN(len(h.Ops))]
			o.Kind, o.A, o.B = Write, h.Ops[r.IntN(len(h.Ops))].A, 0
		}
		h.Ops = slices.DeleteFunc(h.Ops, func(o Op) bool { return o.Kind == Add })
		return h
	})
}

// creators are the operations that wrote each value.
func creators(h History) map[int64][]int {
	list := map[int64][]int{}
	for i, o := range h.Ops {
		switch o.Kind {
		case Write:
			list[o.A] = append(list[o.A], i)
		case CAS:
			list[o.B] = append(list[o.B], i)
		}
	}
	return list
}

// TestLemmaChain: where no value is written twice and the initial one never, every operation that finds a value stands in each explanation
// behind the one operation that wrote it, with nothing but reads of this value between; and so a cas stands directly behind what made the
// value that it takes away.
func TestLemmaChain(t *testing.T) {
	lemma(t, lemmaRounds(t), func(r *rand.Rand, keep bool) (meets, holds bool, of any) {
		h := drawRegister(r, keep)
		wrote := creators(h)
		holds = true
		everyExplanation(Cell(h.Initial), h, func(order []int) {
			last := -1 // what wrote the value that is there
			for _, i := range order {
				o := &h.Ops[i]
				found := o.A
				if o.Kind == CASFailed {
					found = o.B
				}
				if o.Kind != Write && found != None {
					if want := wrote[found]; found == h.Initial && len(want) == 0 {
						holds = holds && last == -1
					} else {
						holds = holds && len(want) == 1 && want[0] == last
					}
				}
				if o.Kind == Write || o.Kind == CAS {
					last = i
				}
			}
		})
		return keep, holds, h
	})
}

// TestLemmaForced: what wrote a value that a sure operation found, or that a forced cas found, is in each explanation. conclude
// finds these, and no others have to be.
func TestLemmaForced(t *testing.T) {
	lemma(t, lemmaRounds(t), func(r *rand.Rand, keep bool) (meets, holds bool, of any) {
		h := drawRegister(r, keep)
		forced := naivelyForced(h)
		holds = true
		everyExplanation(Cell(h.Initial), h, func(order []int) {
			for i := range forced {
				holds = holds && slices.Contains(order, i)
			}
		})
		if g, res := newRegister(h); keep && res.Outcome == 0 {
			if res, _ = g.conclude(); res.Outcome == 0 {
				for at := range g.values {
					if v := &g.values[at]; v.creator >= 0 && (v.force >= 0) != (forced[int(v.creator)] || !h.Ops[v.creator].Optional()) {
						return true, false, h
					}
				}
			}
		}
		return keep, holds, h
	})
}

// naivelyForced are the operations that must have taken effect because of the value that they wrote.
func naivelyForced(h History) map[int]bool {
	wrote, forced := creators(h), map[int]bool{}
	for changed := true; changed; {
		changed = false
		for i := range h.Ops {
			o := &h.Ops[i]
			found := o.A
			if o.Kind == CASFailed {
				found = o.B
			}
			if o.Kind == Write || o.Optional() && !forced[i] {
				continue
			}
			for _, w := range wrote[found] {
				changed, forced[w] = changed || !forced[w], true
			}
		}
	}
	return forced
}

// TestLemmaUnseenValue: an optional operation that is not forced may be left out of the history. A forced one may not.
func TestLemmaUnseenValue(t *testing.T) {
	lemma(t, lemmaRounds(t), func(r *rand.Rand, keep bool) (meets, holds bool, of any) {
		h := drawRegister(r, true)
		i := r.IntN(len(h.Ops))
		for tries := 0; !h.Ops[i].Optional() || naivelyForced(h)[i] == keep; tries++ {
			if tries == 100 {
				return false, true, nil
			}
			h = drawRegister(r, true)
			i = r.IntN(len(h.Ops))
		}
		less := h
		less.Ops = slices.Delete(slices.Clone(h.Ops), i, i+1)
		return keep, explained(Cell(h.Initial), h) == explained(Cell(h.Initial), less), h
	})
}

// drawIncrements draws a history of increments; without keep one in which a write stands, too.
func drawIncrements(r *rand.Rand, keep bool) History {
	s := subjectNamed("increment")
	return drawUntil(r, "increment", keep, func() History {
		h := s.make(r, 2+r.IntN(5))
		if !keep {
			h.Ops[r.IntN(len(h.Ops))].Kind = Write
		}
		return h
	})
}

// TestLemmaPlace: where all change the value by one, an operation that found a value stands in each explanation behind as many steps as
// that value is above the initial one. Where something else writes, it may not.
func TestLemmaPlace(t *testing.T) {
	lemma(t, lemmaRounds(t), func(r *rand.Rand, keep bool) (meets, holds bool, of any) {
		h := drawIncrements(r, keep)
		holds = true
		everyExplanation(Cell(h.Initial), h, func(order []int) {
			steps := int64(0)
			for _, i := range order {
				o := &h.Ops[i]
				holds = holds && (o.Kind != Read && o.Kind != CAS || o.A-h.Initial == steps)
				if o.Kind != Read {
					steps++
				}
			}
		})
		return keep, holds, h
	})
}

// gapsOf are the gaps of a history of increments, with their deadlines; sound says that the sure operations alone are in order.
// next: the deadline is only that of the next value.
func gapsOf(h History, next bool) (gaps []int64, deadlines []int64, sound bool) {
	var sure []int
	top := int64(0)
	stepped := map[int64]int{}
	for i := range h.Ops {
		if o := &h.Ops[i]; !o.Optional() {
			sure = append(sure, i)
			if o.A < h.Initial {
				return nil, nil, false
			}
			top = max(top, o.A-h.Initial)
			if o.Kind == CAS {
				stepped[o.A-h.Initial]++
			}
		}
	}
	rank := func(i int) int64 {
		o := &h.Ops[i]
		if o.Kind == CAS {
			return 2*(o.A-h.Initial) + 1
		}
		return 2 * (o.A - h.Initial)
	}
	slices.SortFunc(sure, func(a, b int) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(h.Ops[a].Call, h.Ops[b].Call))
	})
	sound = keepsTime(h.Ops, sure)
	for v := range top {
		if stepped[v] > 1 {
			sound = false
		}
		if stepped[v] > 0 {
			continue
		}
		deadline := int64(Never)
		for _, i := range sure {
			if at := h.Ops[i].A - h.Initial; at > v && (!next || at == v+1) {
				deadline = min(deadline, h.Ops[i].Return)
			}
		}
		gaps, deadlines = append(gaps, v), append(deadlines, deadline)
	}
	return gaps, deadlines, sound && stepped[top] < 2
}

// assignable tries all ways to give each gap an optional step of its own that was called in time.
func assignable(gaps, deadlines []int64, calls []int64, values []int64) bool {
	if len(gaps) == 0 {
		return true
	}
	for i := range calls {
		if calls[i] > deadlines[0] || values[i] >= 0 && values[i] != gaps[0] {
			continue
		}
		if assignable(gaps[1:], deadlines[1:], slices.Delete(slices.Clone(calls), i, i+1), slices.Delete(slices.Clone(values), i, i+1)) {
			return true
		}
	}
	return false
}

// TestLemmaDeadline: a history of increments is legal if and only if its sure operations are in order, and each gap can be given an
// optional step that was called by its deadline, which is the least return of a sure operation on any larger value. The least return on
// the next value alone does not do.
func TestLemmaDeadline(t *testing.T) {
	lemma(t, lemmaRounds(t), func(r *rand.Rand, keep bool) (meets, holds bool, of any) {
		h := drawIncrements(r, true)
		for range 3 { // gaps are what this is about
			o := &h.Ops[r.IntN(len(h.Ops))]
			o.Return = Never
			if r.IntN(2) == 0 && o.Kind == CAS {
				o.Kind, o.A, o.B = Add, 1, 0
			}
		}
		gaps, deadlines, sound := gapsOf(h, !keep)
		var calls, values []int64
		for i := range h.Ops {
			if o := &h.Ops[i]; o.Optional() && o.Kind != Read {
				calls, values = append(calls, o.Call), append(values, -1)
				if o.Kind == CAS {
					values[len(values)-1] = o.A - h.Initial
				}
			}
		}
		// A step below the initial value is none that a gap needs; -1 would be taken for one that knows no value.
		for i := range values {
			if h := values[i]; h < -1 {
				values[i] = math.MaxInt64
			}
		}
		return keep, (sound && assignable(gaps, deadlines, calls, values)) == explained(Cell(h.Initial), h), h
	})
}

// TestLemmaGreedy: where deadlines never fall, the gaps can be filled if and only if each takes the step of its own that was called
// first, if that is in time, and else the first blind step that is left. Where deadlines fall, this may fail though another way does not.
func TestLemmaGreedy(t *testing.T) {
	type question struct{ gaps, deadlines, calls, values []int64 }
	lemma(t, lemmaRounds(t), func(r *rand.Rand, keep bool) (meets, holds bool, of any) {
		var q question
		for v := range int64(1 + r.IntN(4)) {
			q.gaps, q.deadlines = append(q.gaps, v), append(q.deadlines, r.Int64N(10))
		}
		if keep {
			slices.Sort(q.deadlines)
		}
		for range r.IntN(6) {
			q.calls, q.values = append(q.calls, r.Int64N(10)), append(q.values, r.Int64N(int64(len(q.gaps)+3))-2)
		}
		var blind []int64
		for i, v := range q.values {
			if v < 0 {
				q.values[i], blind = -1, append(blind, q.calls[i])
			}
		}
		slices.Sort(blind)
		greedy := true
		for n, gap := range q.gaps {
			own := int64(math.MaxInt64)
			for i, v := range q.values {
				if v == gap {
					own = min(own, q.calls[i])
				}
			}
			if own <= q.deadlines[n] {
				continue
			}
			if greedy = greedy && len(blind) > 0 && blind[0] <= q.deadlines[n]; !greedy {
				break
			}
			blind = blind[1:]
		}
		return slices.IsSorted(q.deadlines), greedy == assignable(q.gaps, q.deadlines, q.calls, q.values), q
	})
}

// TestLemmaLongest: where no element is appended twice, each explanation has every element of the longest list that was read at its place
// there, each read behind as many of them as it saw, and what nobody read, and did not look, behind all reads.
func TestLemmaLongest(t *testing.T) {
	c, s := compositionNamed("append"), subjectNamed("append")
	lemma(t, lemmaRounds(t), func(r *rand.Rand, keep bool) (meets, holds bool, of any) {
		h := drawUntil(r, "append", keep, func() History {
			if keep {
				return s.make(r, 2+r.IntN(5))
			}
			return c.make(r, 2+r.IntN(5))
		})
		g, why := newAppends(h)
		if why != "" && keep {
			return true, false, why
		}
		if why != "" || !keep { // as if it could be decided
			g = naiveLongest(h)
		}
		holds = true
		everyExplanation(List(h.Lists), h, func(order []int) {
			length, unread := int64(0), false
			for _, i := range order {
				o := &h.Ops[i]
				if o.Kind == ReadList {
					holds = holds && (o.Optional() || int64(len(h.Lists[o.A])) == length && !unread)
					continue
				}
				at, read := g.place[o.A]
				holds = holds && (!read || at == length) && (!read || !unread)
				unread = unread || !read
				length++
			}
		})
		return keep, holds, h
	})
}

// naiveLongest has the places in the longest list that was read.
func naiveLongest(h History) *appends {
	g := &appends{place: map[int64]int64{}}
	for i := range h.Ops {
		if o := &h.Ops[i]; o.Kind == ReadList && !o.Optional() && len(h.Lists[o.A]) > len(g.full) {
			g.full = h.Lists[o.A]
		}
	}
	for at, e := range g.full {
		g.place[e] = int64(at)
	}
	return g
}

// TestLemmaTicks: a history of jobs is legal if and only if no two sure runs are of one tick. Optional ones do not count.
func TestLemmaTicks(t *testing.T) {
	lemma(t, lemmaRounds(t), func(r *rand.Rand, keep bool) (meets, holds bool, of any) {
		h := History{Ops: smallOps(r, 2+r.IntN(5))}
		ran, twice := map[int64]bool{}, false
		for i := range h.Ops {
			o := &h.Ops[i]
			o.A = r.Int64N(9)
			if !o.Optional() || !keep {
				twice, ran[o.A] = twice || ran[o.A], true
			}
		}
		return keep, twice != explained(Jobs(), h), h
	})
}

// TestEveryExplanation: the brute force of these tests finds an explanation just where porcupine does.
func TestEveryExplanation(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 72))
	for range lemmaRounds(t) {
		p, h := anySubject(r, 6)
		if got, want := explained(p.Model, h), Reference(context.Background(), p.Model, h, Bounds{}).Outcome == Legal; got != want {
			t.Fatalf("%v, porcupine %v of %s\n%+v", got, want, p.Model.Name, h)
		}
	}
}
