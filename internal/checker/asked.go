package checker

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// Where a lock program tells no end of a grant, its promise is what its commands asked
// for: the nodes' keys say till when, counted from when each command left the client
// (Value.At, Value.ValidUntil). A quorum of nodes (Header.Quorum) has to hold it.

// commands are a client's, as the nodes' keys tell of them.
type commands struct {
	// asks are the events of those that asked for a key, by when they left the client;
	// takes those of keys deleted, in their order.
	asks, takes []int
}

// readAsked gives promises to the grants of a lock program that told none, and to re-entries
// what they have of the grants that they re-entered.
func (v *view) readAsked() {
	program := v.h.Header.Quorum > 0
	var by map[string]*commands
	var unclear spans
	if program {
		by, unclear = v.commands(), v.unclearSpans()
	}
	for i := range v.grants {
		g := &v.grants[i]
		own := g.until.given
		if program && !own {
			own = v.readGrant(g, by[g.client])
			if last := g.lastEvent(len(v.h.Events)); unclear.meet(int64(v.firstAsk(g, by[g.client]))+1, int64(last)-1) {
				v.isVague(g.ret, fmt.Sprintf("it is not known what %s was promised at %s: a key of its lock was unclear",
					g.client, instant(v.at(g.ret))))
			}
		}
		if g.outer >= 0 {
			g.inherit(v.promiseBefore(&v.grants[g.outer], g.ret), own)
		}
	}
}

// commands are those of each client. What has no client was done by nobody that is known.
func (v *view) commands() map[string]*commands {
	by := make(map[string]*commands)
	for i := range v.grants {
		by[v.grants[i].client] = &commands{}
	}
	for i := range v.h.Events {
		e := v.event(i)
		c := by[e.Value.Client]
		switch {
		case c == nil:
		case e.F == history.KeyDeleted:
			c.takes = append(c.takes, i)
		case (e.F == history.KeySet || e.F == history.KeyExtended && !v.leased()) && e.Value.At().IsSet():
			c.asks = append(c.asks, i)
		}
	}
	for _, c := range by {
		slices.SortStableFunc(c.asks, func(a, b int) int { return cmp.Compare(v.left(a), v.left(b)) })
	}
	return by
}

// left is when the command that an event tells of left its client.
func (v *view) left(event int) time.Duration { return time.Duration(v.event(event).Value.At().V()) }

// during are the events, in their order, of the commands that left a client from the time at
// which it asked for a grant to the end of its belief, and of the keys that it took back.
func (v *view) during(g *grant, c *commands) []int {
	from := sort.Search(len(c.asks), func(i int) bool { return v.left(c.asks[i]) >= v.at(g.call) })
	to := sort.Search(len(c.asks), func(i int) bool { return v.left(c.asks[i]) >= v.at(g.ends) })
	if from >= to {
		return nil
	}
	list := slices.Sorted(slices.Values(c.asks[from:to]))
	first, _ := slices.BinarySearch(c.takes, list[0])
	last, _ := slices.BinarySearch(c.takes, g.lastEvent(len(v.h.Events)))
	if first < last {
		list = append(list, c.takes[first:last]...)
		slices.Sort(list)
	}
	return list
}

// readGrant reads the promise of a grant from what its commands asked for before its answer,
// and the renewals from the others. It reports whether a quorum was asked. An observation can come
// late: those that are missing for a quorum may stand behind the answer, where their
// commands left the client before it, and so may one that asked for less.
func (v *view) readGrant(g *grant, c *commands) bool {
	events, quorum := v.during(g, c), v.h.Header.Quorum
	asked, n := make(askedFor), 0
	for ; n < len(events) && events[n] < g.ret; n++ {
		asked.count(v, events[n])
	}
	end := asked.held(quorum)
	var renewals []int
	for _, i := range events[n:] {
		if end == nobody && v.event(i).F != history.KeyDeleted && v.left(i) <= v.at(g.ret) {
			asked.count(v, i)
			end = asked.held(quorum)
		} else {
			renewals = append(renewals, i)
		}
	}
	known := end != nobody
	if known {
		g.until = promise{end, end < forever}
	} else if g.outer < 0 {
		v.isVague(g.ret, fmt.Sprintf("it is not known what %s was promised at %s: the keys of its lock were seen on %d of %s",
			g.client, instant(v.at(g.ret)), len(asked.ends()), plural(quorum, "node")))
	}
	for _, i := range renewals {
		asked.count(v, i)
		now, deleted := asked.held(quorum), v.event(i).F == history.KeyDeleted
		switch {
		case deleted || now >= end:
		case v.left(i) <= v.at(g.ret) && len(g.extends) == 0:
			g.until = promise{now, now < forever}
		default:
			v.isVague(g.ret, fmt.Sprintf("it is not known what %s was promised at %s: its lock asked for less later, at %s",
				g.client, instant(v.at(g.ret)), instant(v.left(i))))
		}
		if now > end && !deleted {
			g.extends = append(g.extends, extension{min(v.left(i), v.at(i)), i, now})
		}
		end = now
	}
	slices.SortStableFunc(g.extends, func(a, b extension) int { return cmp.Compare(a.ret, b.ret) })
	return known
}

// firstAsk is the last event before a grant's first command left its client; its call, where no command was seen. What
// was unclear till then is no doubt about its promise: whatever an unseen command asked for, the ones that were seen
// asked later.
func (v *view) firstAsk(g *grant, c *commands) int {
	first := sort.Search(len(c.asks), func(i int) bool { return v.left(c.asks[i]) >= v.at(g.call) })
	if first == len(c.asks) || v.left(c.asks[first]) >= v.at(g.ends) {
		return g.call
	}
	left := v.left(c.asks[first])
	return max(g.call, sort.Search(len(v.h.Events), func(i int) bool { return v.at(i) >= left })-1)
}

// askedFor has the last event of each node and key that counts.
type askedFor map[string]map[string]lastAsked

// lastAsked is an event that asked for a key, and until when; nobody: it took the key back.
type lastAsked struct {
	event int
	until time.Duration
}

// nobody is the end of what nobody asked for.
const nobody = time.Duration(math.MinInt64)

func (a askedFor) count(v *view, event int) {
	e := v.event(event)
	if a[e.Process] == nil {
		a[e.Process] = make(map[string]lastAsked)
	}
	if last, some := a[e.Process][e.Value.Key]; some && last.event > event {
		return
	}
	until := promised(e.Value.ValidUntil()).cut(forever)
	switch {
	case e.F == history.KeyDeleted:
		until = nobody
	case v.leased():
		until = v.leaseEnd(event)
	}
	a[e.Process][e.Value.Key] = lastAsked{event, until}
}

// ends are till when each node was asked to hold all its keys.
func (a askedFor) ends() []time.Duration {
	list := make([]time.Duration, 0, len(a))
	for _, keys := range a {
		end, some := forever, false
		for _, k := range keys {
			if k.until != nobody {
				end, some = min(end, k.until), true
			}
		}
		if some {
			list = append(list, end)
		}
	}
	return list
}

// held is till when a quorum of the nodes was asked: forever for ever, nobody where fewer were.
func (a askedFor) held(quorum int) time.Duration {
	ends := a.ends()
	if len(ends) < quorum {
		return nobody
	}
	slices.Sort(ends)
	return ends[len(ends)-quorum]
}
