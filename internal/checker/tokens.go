package checker

import (
	"cmp"
	"context"
	"fmt"
	"slices"
)

// judgeTokens: a grant that was completed before another was asked for has a
// strictly smaller token. A re-entry is part of the grant it re-enters.
func judgeTokens(_ context.Context, v *view, _ Options) Finding {
	f := Finding{Effort: Effort{Operations: len(v.ops), Of: "later grants"}, Method: "sweep in real-time order"}
	var byCall, byReturn []int
	for i := range v.grants {
		if g := &v.grants[i]; g.token.Set && g.outer < 0 {
			byCall, byReturn = append(byCall, i), append(byReturn, i)
		}
	}
	if len(byCall) == 0 {
		f.Verdict, f.Why = Unknown, "no grant carried a token"
		return f
	}
	slices.SortFunc(byCall, func(i, j int) int {
		a, b := &v.grants[i], &v.grants[j]
		return cmp.Or(cmp.Compare(a.lock, b.lock), cmp.Compare(v.at(a.call), v.at(b.call)), cmp.Compare(i, j))
	})
	slices.SortFunc(byReturn, func(i, j int) int {
		a, b := &v.grants[i], &v.grants[j]
		return cmp.Or(cmp.Compare(a.lock, b.lock), cmp.Compare(v.at(a.ret), v.at(b.ret)), cmp.Compare(i, j))
	})
	first, second := -1, -1
	next, highest := 0, -1
	for _, i := range byCall {
		g := &v.grants[i]
		if highest >= 0 && v.grants[highest].lock != g.lock {
			highest = -1
		}
		for ; next < len(byReturn); next++ {
			before := &v.grants[byReturn[next]]
			// At equal stamps the invocation comes first: the two overlap.
			if before.lock > g.lock || before.lock == g.lock && v.at(before.ret) >= v.at(g.call) {
				break
			}
			if before.lock == g.lock && (highest < 0 || before.token.V > v.grants[highest].token.V) {
				highest = byReturn[next]
			}
		}
		if highest < 0 {
			continue
		}
		f.Effort.Chances++
		if g.token.V <= v.grants[highest].token.V && (second < 0 || g.ret < v.grants[second].ret) {
			first, second = highest, i
		}
	}
	switch {
	case second >= 0:
		return v.unordered(f, &v.grants[first], &v.grants[second])
	case f.Effort.Chances == 0:
		f.Verdict, f.Why = Unknown, "no grant came after another"
	default:
		f.Verdict, f.Why = Holds, fmt.Sprintf("%s, each with a larger token", plural(f.Effort.Chances, "later grant"))
	}
	return f
}

func (v *view) unordered(f Finding, a, b *grant) Finding {
	f.Verdict = Violated
	f.Why = fmt.Sprintf("token %d of %s was followed by token %d of %s", a.token.V, a.client, b.token.V, b.client)
	f.Events = sortedEvents(a.call, a.ret, b.call, b.ret)
	c := &Counterexample{From: len(v.grants), Impossible: b.ret, Assumption: "that later grants carry larger tokens"}
	for _, g := range []*grant{a, b} {
		c.Operations = append(c.Operations, CounterOp{Client: g.client, Op: fmt.Sprintf("gets token %d", g.token.V),
			Events: sortedEvents(g.call, g.ret), From: v.at(g.call), To: v.at(g.ret)})
	}
	c.Operations[1].Believed = fmt.Sprintf("has a token above %d", a.token.V)
	c.Operations[1].True = fmt.Sprintf("has token %d", b.token.V)
	s := v.newStory()
	s.grant(a, v.at(b.ret))
	s.end(a, "")
	s.faults(v.at(a.call), v.at(b.ret), a.client, b.client)
	s.tell(filler, b.call, "%s asked for the lock", b.client)
	s.tell(turning, b.ret, "%s, though %d had been given before", v.grantWords(b), a.token.V)
	c.Story = s.sentences()
	f.Counterexample = c
	return f
}
