package checker

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// Where a lock program tells no end of a grant, its promise is the TTL that it was given, counted from when the command that set its key
// left the client (Value.At). A quorum of nodes (Header.Quorum) has to hold it. What its commands asked for (Value.ValidUntil) is set
// beside that: less is no other promise, but a promise that was not kept (judgeAsks).

// commands are a client's, as the nodes' keys tell of them.
type commands struct {
	// asks are the events of those that asked for a key, by when they left the client;
	// takes those of keys deleted, in their order.
	asks, takes []int
}

// readPromises gives promises to the grants of a lock program that told none, and to re-entries
// what they have of the grants that they re-entered.
func (v *view) readPromises() {
	program := v.h.Header.Quorum > 0
	var unclear spans
	if program {
		v.collectAsks()
		unclear = v.unclearSpans()
	}
	for i := range v.grants {
		g := &v.grants[i]
		if program && g.until.given && g.until.end <= v.at(g.ret) {
			g.until = promise{}
		}
		own := g.until.given
		if program && !own {
			events := v.during(g)
			own = v.readGrant(g, events)
			if last := g.lastEvent(len(v.h.Events)); unclear.meet(int64(v.firstAsk(g, events))+1, int64(last)-1) {
				v.isVague(g.ret, fmt.Sprintf("it is not known what %s was promised at %s: a key of its lock was unclear",
					g.client, words.Instant(v.at(g.ret))))
			}
		}
		if g.outer >= 0 {
			g.inherit(v.promiseBefore(&v.grants[g.outer], g.ret), own)
		}
	}
}

// givenTTL is the TTL that the lock was given; 0: the history does not say it.
func (v *view) givenTTL() time.Duration {
	ttl, extra := v.h.Header.TTL, v.h.Header.TTLExtra
	if extra < 0 || extra > ttl {
		return 0
	}
	return time.Duration(ttl - extra)
}

// collectAsks finds the commands of each client. What has no client was done by nobody that is known.
func (v *view) collectAsks() {
	by := make(map[string]*commands)
	for i := range v.grants {
		by[v.grants[i].client] = &commands{}
	}
	v.keys, v.setsKeys = v.nodeKeys(), v.sees(history.KeySet)
	for i := range v.h.Events {
		e := v.event(i)
		c := by[e.Value.Client]
		switch {
		case c == nil || !ofLock(v.h, e):
		case e.F == history.KeyDeleted:
			c.takes = append(c.takes, i)
		case (e.F == history.KeySet && !v.leaves(i) || e.F == history.KeyExtended && !v.leased()) && e.Value.At().IsSet():
			c.asks = append(c.asks, i)
		}
	}
	for _, c := range by {
		slices.SortStableFunc(c.asks, func(a, b int) int { return cmp.Compare(v.left(a), v.left(b)) })
	}
	v.asks = by
}

// left is when the command that an event tells of left its client.
func (v *view) left(event int) time.Duration { return time.Duration(v.event(event).Value.At().V()) }

// during are the events, in their order, of the commands that left a client from the time at
// which it asked for a grant to the end of its belief, and of the keys that it took back.
func (v *view) during(g *grant) []int {
	c := v.asks[g.client]
	from := sort.Search(len(c.asks), func(i int) bool { return v.left(c.asks[i]) >= v.at(g.call) })
	to := sort.Search(len(c.asks), func(i int) bool { return v.left(c.asks[i]) >= v.at(g.ends) })
	if from >= to {
		return nil
	}
	list := slices.DeleteFunc(slices.Sorted(slices.Values(c.asks[from:to])), func(i int) bool {
		return !v.keys.counts(v.keys.keys[v.event(i).Value.Key], g)
	})
	if len(list) == 0 {
		return nil
	}
	first, _ := slices.BinarySearch(c.takes, list[0])
	last, _ := slices.BinarySearch(c.takes, g.lastEvent(len(v.h.Events)))
	if first < last {
		list = append(list, c.takes[first:last]...)
		slices.Sort(list)
	}
	return list
}

// readGrant reads the promise of a grant from when its commands asked for the lock, and the renewals from those that asked again. It
// reports whether the promise is the grant's own. An observation can come late: so where a quorum was not asked by the
// events before the answer, the first later one counts with which it was, if its command left before the answer.
func (v *view) readGrant(g *grant, events []int) (own bool) {
	ttl, quorum := v.givenTTL(), v.h.Header.Quorum
	if ttl <= 0 {
		v.isVague(g.ret, "the history does not say the TTL that the lock was given")
		return false
	}
	asked, since, now := v.newAsked(), nobody, nobody
	begin := func(from time.Duration, rests bool) {
		since = from
		if !rests && (!v.setsKeys || v.sentNobodyKnowsWhen(g)) {
			v.isVague(g.ret, fmt.Sprintf("it is not known what %s was promised at %s: nobody saw when it asked for the lock's key",
				g.client, words.Instant(v.at(g.ret))))
			return
		}
		if own = rests || g.outer < 0; own {
			g.until = promise{after(from, ttl), true}
		}
	}
	for _, i := range events {
		if i > g.ret && since == nobody && now != nobody {
			begin(now, true)
		}
		asked.count(i)
		if now = asked.since(quorum); i < g.ret || now == nobody {
			continue
		}
		if since == nobody && v.left(i) <= v.at(g.ret) {
			begin(now, true)
		} else if since == nobody {
			begin(v.at(g.ret), false)
		}
		if now > since {
			since = now
			g.extends = append(g.extends, extension{min(v.left(i), v.at(i)), i, after(now, ttl)})
		}
	}
	switch {
	case since != nobody:
	case now != nobody:
		begin(now, true)
	default:
		begin(v.at(g.ret), false)
	}
	slices.SortStableFunc(g.extends, func(a, b extension) int { return cmp.Compare(a.ret, b.ret) })
	return own
}

// sentNobodyKnowsWhen reports that the client of a grant set or extended a key in its time of which nobody knows when the command left it.
func (v *view) sentNobodyKnowsWhen(g *grant) bool {
	return slices.ContainsFunc(v.h.Events[g.call:g.lastEvent(len(v.h.Events))], func(e history.Event) bool {
		return (e.F == history.KeySet || e.F == history.KeyExtended) && e.Value.Client == g.client && !e.Value.At().IsSet() && ofLock(v.h, &e)
	})
}

// after is an instant that lies so much later.
func after(at, length time.Duration) time.Duration {
	if at > forever-length {
		return forever
	}
	return at + length
}

// firstAsk is the last event before a grant's first command left its client; its call, where no command was seen. What
// was unclear till then is no doubt about its promise: whatever an unseen command asked for, the ones that were seen
// asked later.
func (v *view) firstAsk(g *grant, events []int) int {
	left := forever
	for _, i := range events {
		if v.event(i).F != history.KeyDeleted {
			left = min(left, v.left(i))
		}
	}
	if left == forever {
		return g.call
	}
	return max(g.call, sort.Search(len(v.h.Events), func(i int) bool { return v.at(i) >= left })-1)
}

// askedFor is what the commands of a grant's client asked of each node, key by key.
type askedFor struct {
	v     *view
	nodes map[string]map[string]ask
}

// ask is what a client asked of a key: since when it has it, and until when.
type ask struct{ since, until time.Duration }

// nobody is since when it has a key that it did not ask for, or took back.
const nobody = time.Duration(math.MinInt64)

func (v *view) newAsked() *askedFor { return &askedFor{v, make(map[string]map[string]ask)} }

// count takes in an event. What gives an end to a key without one belongs to the command that set it.
func (a *askedFor) count(event int) {
	e := a.v.event(event)
	node := a.nodes[e.Process]
	if node == nil {
		node = make(map[string]ask)
		a.nodes[e.Process] = node
	}
	if e.F == history.KeyDeleted {
		delete(node, e.Value.Key)
		return
	}
	now := ask{a.v.left(event), promised(e.Value.ValidUntil()).cut(forever)}
	if before, some := node[e.Value.Key]; some && e.F == history.KeyExtended && before.until == forever {
		now.since = before.since
	}
	node[e.Value.Key] = now
}

// since is the latest instant since when a quorum of the nodes is asked for all keys that it was asked for; nobody where fewer are asked.
func (a *askedFor) since(quorum int) time.Duration {
	list := make([]time.Duration, 0, len(a.nodes))
	for _, keys := range a.nodes {
		first := forever
		for _, k := range keys {
			first = min(first, k.since)
		}
		if len(keys) > 0 {
			list = append(list, first)
		}
	}
	if len(list) < quorum {
		return nobody
	}
	slices.Sort(list)
	return list[len(list)-quorum]
}
