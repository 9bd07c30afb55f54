package linear

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"
)

// Counterexample is why a history is illegal.
type Counterexample struct {
	// At is the operation whose return left no explanation; -1 where Explain has no
	// counterexample.
	At int
	// Operations, as indices, cannot be explained, whether or not the others
	// took effect.
	Operations []int
	// Minimal says that without any one of them there is an explanation.
	Minimal bool
	// Why says what is wrong, where that is known, or why there is no counterexample.
	Why string
}

// Explain finds the first impossible operation of an illegal history, and
// operations that are impossible together. It tries to make them few for as long
// as the bounds allow. A history that is legal, or that cannot be decided within the
// bounds, has no counterexample: At is -1, and there are no operations.
func Explain(ctx context.Context, p Problem, b Bounds) Counterexample {
	deadline := time.Now().Add(b.Timeout)
	if b.Timeout <= 0 {
		deadline = time.Now().Add(math.MaxInt64)
	}
	h := p.History
	if why := h.malformed(); why != "" {
		return noCounterexample(undecided(why))
	}
	decide := func(ops []Op) Result {
		p.History.Ops = ops
		r, _ := p.Check(ctx, b)
		return r
	}
	illegal := func(ops []Op) bool { return decide(ops).Outcome == Illegal }

	if p.Direct != nil {
		switch r := p.Direct(h); r.Outcome {
		case Legal:
			return noCounterexample(r)
		case Illegal:
			if c := Fewest(h.Ops, decide, false); c.Minimal {
				return c
			}
		}
	}
	narrow := b
	narrow.Memory = narrowMemory
	switch r := searchFrontier(ctx, p.Model, h, narrow); r.Outcome {
	case Legal:
		return noCounterexample(r)
	case Illegal:
		return shrinkFrontier(ctx, p.Model, h, r.Witness[0], deadline, narrow)
	}
	if r, _ := p.Search(ctx, b); r.Outcome != Illegal {
		return noCounterexample(r)
	}
	return dropReads(h, deadline, illegal)
}

// noCounterexample is what there is to say of a history that was not found illegal.
func noCounterexample(r Result) Counterexample {
	c := Counterexample{At: -1, Why: r.Why}
	if r.Outcome == Legal {
		c.Why = "the history is legal"
	}
	return c
}

// Fewest finds the first impossible operation of an illegal history, and as few
// operations as are impossible together, among those that the decision names. Where these
// do not suffice, they are found among all that surely took effect if anyhow is set, and
// not at all if it is not.
func Fewest(ops []Op, decide func([]Op) Result, anyhow bool) Counterexample {
	illegal := func(ops []Op) bool { return decide(ops).Outcome == Illegal }
	at, prefix, places := FirstIllegal(ops, illegal)
	r := decide(prefix)
	c := Counterexample{At: at, Why: r.Why}
	kept := slices.Sorted(slices.Values(r.Witness))
	if len(kept) == 0 || !illegal(Relax(prefix, kept)) {
		if !anyhow {
			return c
		}
		kept = certain(prefix)
	}
	small := Shrink(len(kept), func(part []int) bool { return illegal(Relax(prefix, pick(kept, part))) })
	c.Operations, c.Minimal = pick(places, pick(kept, small)), true
	return c
}

func certain(ops []Op) []int {
	var list []int
	for i := range ops {
		if !ops[i].Optional() && !ops[i].Maybe {
			list = append(list, i)
		}
	}
	return list
}

func pick(from, places []int) []int {
	list := make([]int, len(places))
	for i, p := range places {
		list[i] = from[p]
	}
	return list
}

// dropReads is for histories that only porcupine can decide: it leaves out what
// changes nothing. The rest is not minimal.
func dropReads(h History, deadline time.Time, illegal func([]Op) bool) Counterexample {
	at, prefix, places := FirstIllegal(h.Ops, illegal)
	kept := make([]int, len(prefix))
	for i := range kept {
		kept[i] = i
	}
	for i := len(kept) - 1; i >= 0 && time.Now().Before(deadline); i-- {
		if prefix[kept[i]].idle() {
			rest := slices.Delete(slices.Clone(kept), i, i+1)
			ops := make([]Op, len(rest))
			for j, k := range rest {
				ops[j] = prefix[k]
			}
			if illegal(ops) {
				kept = rest
			}
		}
	}
	return Counterexample{At: at, Operations: pick(places, kept)}
}

// shrinkFrontier shrinks by the frontier search. What is taken out becomes an
// operation that may or may not have taken effect between its call and its
// return: so the search stays as narrow as it was.
func shrinkFrontier(ctx context.Context, m Model, h History, at int, deadline time.Time, b Bounds) Counterexample {
	prefix, places := before(h.Ops, at)
	sure := certain(prefix)
	gaveUp := false
	part := h
	fails := func(kept []int) bool {
		if gaveUp || time.Now().After(deadline) || ctx.Err() != nil {
			gaveUp = true
			return false
		}
		part.Ops = slices.Clone(prefix)
		for i := range part.Ops {
			part.Ops[i].Maybe = true
		}
		for _, k := range kept {
			part.Ops[sure[k]].Maybe = false
		}
		return searchFrontier(ctx, m, part, b).Outcome == Illegal
	}
	small := Shrink(len(sure), fails)
	return Counterexample{At: at, Operations: pick(places, pick(sure, small)), Minimal: !gaveUp}
}

// before is the history as it stood when an operation had returned.
func before(ops []Op, at int) (prefix []Op, places []int) {
	limit := ops[at]
	for i := range ops {
		o := ops[i]
		if o.Call > limit.Return {
			continue
		}
		if cmp.Or(cmp.Compare(o.Return, limit.Return), cmp.Compare(i, at)) > 0 {
			o.Return = Never
		}
		prefix, places = append(prefix, o), append(places, i)
	}
	return prefix, places
}
