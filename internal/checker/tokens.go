package checker

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// judgeTokens: a later grant has a strictly larger token. A grant is later than
// another where it was asked for after the other had been given; or given after the
// other's hold had ended, with the nodes having seen its keys after the other's.
// A re-entry is part of the grant it re-enters.
func judgeTokens(_ context.Context, v *view, _ Options) Finding {
	f := Finding{Effort: Effort{Operations: len(v.ops), Of: "later grants"}, Method: "sweep in real-time order"}
	var tokens []int
	for i := range v.grants {
		if g := &v.grants[i]; g.token.Set && g.outer < 0 {
			tokens = append(tokens, i)
		}
	}
	if len(tokens) == 0 {
		f.Verdict, f.Why = Unknown, "no grant carried a token"
		return f
	}
	given := func(g *grant) time.Duration { return v.at(g.ret) }
	asked := func(g *grant) time.Duration { return v.at(g.call) }
	over := func(g *grant) time.Duration { return max(given(g), min(v.believedUntil(g), g.lastPromise())) }
	var o order
	o.sweep(v, tokens, given, asked, nil)
	keys := v.keysSet()
	o.sweep(v, tokens, over, given, func(a, b *grant) bool {
		return keys.before(a.owner, b.owner) && (v.unclear < 0 || b.ret < v.unclear)
	})
	f.Effort.Chances = len(o.later)
	switch {
	case o.second >= 0:
		return v.unordered(f, &v.grants[o.first], &v.grants[o.second])
	case f.Effort.Chances == 0:
		f.Verdict, f.Why = Unknown, "no grant came after another"
	default:
		f.Verdict, f.Why = Holds, fmt.Sprintf("%s, each with a larger token", plural(f.Effort.Chances, "later grant"))
	}
	return f
}

// order is what sweeps over the grants found.
type order struct {
	// later are the grants that come after another one.
	later map[int]bool
	// first and second are out of order, the earliest such pair; -1: none.
	first, second int
}

// keysSet has, for each owner value, the event at which each node first had it.
type keysSet map[string]map[string]int

func (v *view) keysSet() keysSet {
	k := make(keysSet)
	for i := range v.h.Events {
		e := v.event(i)
		if e.F != history.KeySet || e.Value.Owner == "" {
			continue
		}
		nodes := k[e.Value.Owner]
		if nodes == nil {
			nodes = make(map[string]int)
			k[e.Value.Owner] = nodes
		}
		if _, known := nodes[e.Process]; !known {
			nodes[e.Process] = i
		}
	}
	return k
}

// before reports that wherever both had a key, a had it first. The order of one
// node's events is certain.
func (k keysSet) before(a, b string) bool {
	met := false
	for node, first := range k[a] {
		second, both := k[b][node]
		if both && second < first {
			return false
		}
		met = met || both
	}
	return met && a != b
}

// sweep compares each grant with those that were done before it came; where sure is
// not nil, only with one of which it is sure.
func (o *order) sweep(v *view, grants []int, done, came func(*grant) time.Duration, sure func(a, b *grant) bool) {
	if o.later == nil {
		o.later, o.first, o.second = make(map[int]bool), -1, -1
	}
	by := func(at func(*grant) time.Duration) []int {
		list := slices.Clone(grants)
		slices.SortStableFunc(list, func(i, j int) int {
			a, b := &v.grants[i], &v.grants[j]
			return cmp.Or(cmp.Compare(a.lock, b.lock), cmp.Compare(at(a), at(b)))
		})
		return list
	}
	byDone, highest, next := by(done), -1, 0
	for _, i := range by(came) {
		g := &v.grants[i]
		if highest >= 0 && v.grants[highest].lock != g.lock {
			highest = -1
		}
		for ; next < len(byDone); next++ {
			before := &v.grants[byDone[next]]
			// At equal stamps the invocation comes first: the two overlap.
			if before.lock > g.lock || before.lock == g.lock && done(before) >= came(g) {
				break
			}
			if before.lock == g.lock && (highest < 0 || before.token.V > v.grants[highest].token.V) {
				highest = byDone[next]
			}
		}
		if highest < 0 || sure != nil && !sure(&v.grants[highest], g) {
			continue
		}
		o.later[i] = true
		if g.token.V <= v.grants[highest].token.V && (o.second < 0 || g.ret < v.grants[o.second].ret) {
			o.first, o.second = highest, i
		}
	}
}

func (v *view) unordered(f Finding, a, b *grant) Finding {
	f.Verdict = Violated
	f.Why = fmt.Sprintf("token %d of %s was followed by token %d of %s", a.token.V, a.client, b.token.V, b.client)
	if v.brief {
		return f
	}
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
