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
		if g := &v.grants[i]; g.token.IsSet() && g.outer < 0 {
			tokens = append(tokens, i)
		}
	}
	if len(tokens) == 0 {
		f.Verdict, f.Why = Unknown, "no grant carried a token"
		return f
	}
	given := func(g *grant) time.Duration { return v.at(g.ret) }
	asked := func(g *grant) time.Duration { return v.at(g.call) }
	over := func(g *grant) time.Duration { return max(given(g), g.lastPromise().cut(v.believedUntil(g))) }
	var o order
	o.eachClient(v, tokens)
	o.sweep(v, tokens, given, asked, nil)
	if keys := v.keysSet(); len(keys) > 0 {
		o.sweep(v, tokens, over, given, func(a, b *grant) bool {
			return keys.before(a.owner, b.owner) && (v.unclear < 0 || b.ret < v.unclear)
		})
	}
	f.Effort.Chances = o.chances
	if o.second >= 0 {
		return v.unordered(f, &v.grants[o.first], &v.grants[o.second])
	}
	return f.tried("no grant came after another", "%s, %swith a larger token", plural(f.Effort.Chances, "later grant"), each(f.Effort.Chances))
}

// order is what sweeps over the grants found.
type order struct {
	// later says which grants come after another one; chances is how many do.
	later   []bool
	chances int
	// first and second are out of order, the earliest such pair; -1: none.
	first, second int
}

// keysSet has, for each owner value, the event at which each node had it set; -1
// where that was more than once.
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
		if _, known := nodes[e.Process]; known {
			nodes[e.Process] = -1
		} else {
			nodes[e.Process] = i
		}
	}
	return k
}

// before reports that wherever both had a key, a had it first. The order of one
// node's events is certain. A value that was set twice tells nothing: it may have been
// for another attempt.
func (k keysSet) before(a, b string) bool {
	met := false
	for node, first := range k[a] {
		second, both := k[b][node]
		if both && (first < 0 || second < first) {
			return false
		}
		met = met || both
	}
	return met && a != b
}

// eachClient compares the grants of each client, which came one after the other
// whatever their stamps.
func (o *order) eachClient(v *view, grants []int) {
	o.later, o.first, o.second = make([]bool, len(v.grants)), -1, -1
	highest := make(map[holder]int)
	for _, i := range grants {
		g := &v.grants[i]
		k := holder{g.client, g.lock}
		before, some := highest[k]
		if some {
			o.compare(v, i, []int{before}, nil)
		}
		if !some || g.token.V() > v.grants[before].token.V() {
			highest[k] = i
		}
	}
}

// sweep compares each grant with those that were done before it came; where sure is
// not nil, only with those of which it is sure.
func (o *order) sweep(v *view, grants []int, done, came func(*grant) time.Duration, sure func(a, b *grant) bool) {
	by := func(at func(*grant) time.Duration) []int {
		list := slices.Clone(grants)
		slices.SortStableFunc(list, func(i, j int) int {
			a, b := &v.grants[i], &v.grants[j]
			return cmp.Or(cmp.Compare(a.lock, b.lock), cmp.Compare(at(a), at(b)))
		})
		return list
	}
	byDone, next := by(done), 0
	var earlier []int // those of the same lock that are done, the highest token last
	for _, i := range by(came) {
		g := &v.grants[i]
		if len(earlier) > 0 && v.grants[earlier[0]].lock != g.lock {
			earlier = earlier[:0]
		}
		for ; next < len(byDone); next++ {
			before := &v.grants[byDone[next]]
			// At equal stamps the invocation comes first: the two overlap.
			if before.lock > g.lock || before.lock == g.lock && done(before) >= came(g) {
				break
			}
			if before.lock == g.lock {
				earlier = v.insertByToken(earlier, byDone[next])
			}
		}
		o.compare(v, i, earlier, sure)
	}
}

// insertByToken keeps grants sorted by their tokens. Mostly the newest has the highest.
func (v *view) insertByToken(list []int, i int) []int {
	at := len(list)
	for at > 0 && v.grants[list[at-1]].token.V() > v.grants[i].token.V() {
		at--
	}
	return slices.Insert(list, at, i)
}

// compare looks for an earlier grant that has no smaller token. A grant with a
// higher token may be one that is not surely earlier, so that the next must be asked
// as well.
func (o *order) compare(v *view, i int, earlier []int, sure func(a, b *grant) bool) {
	g := &v.grants[i]
	for k := len(earlier) - 1; k >= 0; k-- {
		before := &v.grants[earlier[k]]
		if before == g || sure != nil && !sure(before, g) {
			continue
		}
		if !o.later[i] {
			o.later[i], o.chances = true, o.chances+1
		}
		if g.token.V() <= before.token.V() && (o.second < 0 || g.ret < v.grants[o.second].ret) {
			o.first, o.second = earlier[k], i
		}
		return
	}
}

func (v *view) unordered(f Finding, a, b *grant) Finding {
	f.Verdict = Violated
	f.Why = fmt.Sprintf("token %d of %s was followed by token %d of %s", a.token.V(), a.client, b.token.V(), b.client)
	if v.brief {
		return f
	}
	f.Events = sortedEvents(a.call, a.ret, b.call, b.ret)
	why := v.whyUnordered(a, b)
	c := &Counterexample{From: len(v.grants), Impossible: b.ret, Assumption: string(why.cause)}
	for _, g := range []*grant{a, b} {
		c.Operations = append(c.Operations, CounterOp{Client: g.client, Op: fmt.Sprintf("gets token %d", g.token.V()),
			Events: sortedEvents(g.call, g.ret), From: v.at(g.call), To: v.at(g.ret)})
	}
	c.Operations[1].Believed = fmt.Sprintf("has a token above %d", a.token.V())
	c.Operations[1].True = fmt.Sprintf("has token %d", b.token.V())
	s := v.newStory()
	s.culprit(why, b.ret)
	s.grant(a, v.at(b.ret))
	s.end(a, "")
	s.faults(v.at(a.call), v.at(b.ret), a.client, b.client)
	s.tell(filler, b.call, "%s asked for the lock", b.client)
	s.tell(turning, b.ret, "%s, though %d had been given before", v.grantWords(b), a.token.V())
	c.tells(s)
	f.Counterexample = c
	return f
}
