package checker

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker/facts"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// judgeTokens: a later grant has a strictly larger token. A grant is later than
// another where it was asked for after the other had been given; or given after the
// other's holding had ended, with the nodes having seen its keys after the other's.
// A re-entry is part of the grant it re-enters.
func judgeTokens(_ context.Context, j *judge, _ Options) Finding {
	f := Finding{Effort: Effort{Operations: len(j.Ops), Of: "later grants"}, Method: "sweep in real-time order"}
	var tokens []int
	for i := range j.Grants {
		if g := &j.Grants[i]; g.Token.IsSet() && g.Outer < 0 {
			tokens = append(tokens, i)
		}
	}
	if len(tokens) == 0 {
		f.Verdict, f.Why = Unknown, "no grant carried a token"
		return f
	}
	given := func(g *facts.Grant) time.Duration { return j.At(g.Return) }
	asked := func(g *facts.Grant) time.Duration { return j.At(g.Call) }
	over := func(g *facts.Grant) time.Duration {
		return max(given(g), g.LastPromise().EarlierOf(j.BelievedUntil(g)))
	}
	o := newOrder(j)
	o.compareWithinClients(j, tokens)
	o.sweep(j, tokens, given, asked, j.surelyLater())
	if keys := j.keysSet(); len(keys) > 0 {
		o.sweep(j, tokens, over, given, func(a, b *facts.Grant) bool {
			return keys.before(a.Owner, b.Owner) && (j.FirstUnclear < 0 || b.Return < j.FirstUnclear)
		})
	}
	f.Effort.Chances = o.chances
	if o.second >= 0 {
		return j.tokenOrderFinding(f, &j.Grants[o.first], &j.Grants[o.second])
	}
	if doubt := newOrder(j); j.History.Clocks != nil {
		if doubt.sweep(j, tokens, given, asked, nil); doubt.second >= 0 {
			a, b := &j.Grants[doubt.first], &j.Grants[doubt.second]
			return j.inDoubt(f, a, b, "token %d of %s was followed by token %d of %s", a.Token.V(), a.Client, b.Token.V(), b.Client)
		}
	}
	return f.noViolation("no grant came after another", "%s, %swith a larger token",
		words.Count(f.Effort.Chances, "later grant"), eachIfSeveral(f.Effort.Chances))
}

// surelyLater says which grants were asked for after others had been answered, where several clocks stamped them; nil: their stamps say it.
func (j *judge) surelyLater() func(a, b *facts.Grant) bool {
	if j.History.Clocks == nil {
		return nil
	}
	return func(a, b *facts.Grant) bool { return j.At(a.Return) < j.At(b.Call)-j.apart(a.Client, b.Client) }
}

func newOrder(j *judge) order {
	return order{later: make([]bool, len(j.Grants)), first: -1, second: -1}
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

func (j *judge) keysSet() keysSet {
	k := make(keysSet)
	for i := range j.History.Events {
		e := j.Event(i)
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

// compareWithinClients compares the grants of each client, which came one after the other
// whatever their stamps.
func (o *order) compareWithinClients(j *judge, grants []int) {
	highest := make(map[facts.Holder]int)
	for _, i := range grants {
		g := &j.Grants[i]
		k := facts.Holder{Client: g.Client, Lock: g.Lock}
		before, some := highest[k]
		if some {
			o.compare(j, i, []int{before}, nil)
		}
		if !some || g.Token.V() > j.Grants[before].Token.V() {
			highest[k] = i
		}
	}
}

// sweep compares each grant with those that were done before it came; where sure is
// not nil, only with those of which it is sure.
func (o *order) sweep(j *judge, grants []int, done, came func(*facts.Grant) time.Duration, sure func(a, b *facts.Grant) bool) {
	by := func(at func(*facts.Grant) time.Duration) []int {
		list := slices.Clone(grants)
		slices.SortStableFunc(list, func(x, y int) int {
			a, b := &j.Grants[x], &j.Grants[y]
			return cmp.Or(cmp.Compare(a.Lock, b.Lock), cmp.Compare(at(a), at(b)))
		})
		return list
	}
	byDone, next := by(done), 0
	var earlier []int // those of the same lock that are done, the highest token last
	for _, i := range by(came) {
		g := &j.Grants[i]
		if len(earlier) > 0 && j.Grants[earlier[0]].Lock != g.Lock {
			earlier = earlier[:0]
		}
		for ; next < len(byDone); next++ {
			before := &j.Grants[byDone[next]]
			// At equal stamps the invocation comes first: the two overlap.
			if before.Lock > g.Lock || before.Lock == g.Lock && done(before) >= came(g) {
				break
			}
			if before.Lock == g.Lock {
				earlier = j.insertByToken(earlier, byDone[next])
			}
		}
		o.compare(j, i, earlier, sure)
	}
}

// insertByToken keeps grants sorted by their tokens. Mostly the newest has the highest.
func (j *judge) insertByToken(list []int, i int) []int {
	at := len(list)
	for at > 0 && j.Grants[list[at-1]].Token.V() > j.Grants[i].Token.V() {
		at--
	}
	return slices.Insert(list, at, i)
}

// compare looks for an earlier grant that has no smaller token. A grant with a
// higher token may be one that is not surely earlier, so that the next must be asked
// as well.
func (o *order) compare(j *judge, i int, earlier []int, sure func(a, b *facts.Grant) bool) {
	g := &j.Grants[i]
	for k := len(earlier) - 1; k >= 0; k-- {
		before := &j.Grants[earlier[k]]
		if before == g || sure != nil && !sure(before, g) {
			continue
		}
		if !o.later[i] {
			o.later[i], o.chances = true, o.chances+1
		}
		if g.Token.V() <= before.Token.V() && (o.second < 0 || g.Return < j.Grants[o.second].Return) {
			o.first, o.second = earlier[k], i
		}
		return
	}
}

func (j *judge) tokenOrderFinding(f Finding, a, b *facts.Grant) Finding {
	f.Verdict = Violated
	f.Why = fmt.Sprintf("token %d of %s was followed by token %d of %s", a.Token.V(), a.Client, b.Token.V(), b.Client) +
		j.byClocks(a.Client, b.Client)
	if j.brief {
		return f
	}
	f.Events = sortedEvents(a.Call, a.Return, b.Call, b.Return)
	why := j.whyUnordered(a, b)
	c := &Counterexample{From: len(j.Grants), Impossible: b.Return, Assumption: string(why.cause)}
	for _, g := range []*facts.Grant{a, b} {
		c.Operations = append(c.Operations, CounterOp{Client: g.Client, Op: fmt.Sprintf("gets token %d", g.Token.V()),
			Events: sortedEvents(g.Call, g.Return), From: j.At(g.Call), To: j.At(g.Return)})
	}
	c.Operations[1].Believed = fmt.Sprintf("has a token above %d", a.Token.V())
	c.Operations[1].True = fmt.Sprintf("has token %d", b.Token.V())
	s := j.newStory()
	s.tellReason(why, b.Return)
	s.tellGrant(a, j.At(b.Return))
	s.tellEnd(a, "")
	s.tellFaults(j.At(a.Call), j.At(b.Return), a.Client, b.Client)
	s.tell(filler, b.Call, "%s asked for the lock", b.Client)
	s.tell(turning, b.Return, "%s, though %d had been given before", j.grantWords(b), a.Token.V())
	c.setStory(s)
	f.Counterexample = c
	return f
}
