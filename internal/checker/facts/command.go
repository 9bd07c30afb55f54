package facts

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
// beside that: less is no other promise, but a promise that was not kept (asks-its-ttl).

// clientCommands are a client's, as the nodes' keys tell of them.
type clientCommands struct {
	// asked are the events of those that asked for a key, by when they left the client;
	// deleted those of keys deleted, in their order.
	asked, deleted []int
}

// readPromises gives promises to the grants of a lock program that told none, and to re-entries
// what they have of the grants that they re-entered.
func (f *Facts) readPromises() {
	program := f.History.Header.Quorum > 0
	var unclear spans
	if program {
		f.collectCommands()
		unclear = f.unclearSpans()
	}
	for i := range f.Grants {
		g := &f.Grants[i]
		if program && g.Until.Given && g.Until.End <= f.At(g.Return) {
			g.Until = Promise{}
		}
		own := g.Until.Given
		if program && !own && !f.Endless() {
			g.byItsClock = f.LeaseByClock()
			events := f.commandsFor(g)
			own = f.promiseFromCommands(g, events)
			if last := g.EndOr(len(f.History.Events)); unclear.overlaps(int64(f.eventBeforeFirstCommand(g, events))+1, int64(last)-1) {
				f.noteUnknownPromise(g.Return, fmt.Sprintf("it is not known what %s was promised at %s: a key of its lock was unclear",
					g.Client, words.Instant(f.At(g.Return))))
			}
		}
		if g.Outer >= 0 {
			g.inherit(f.promiseBefore(&f.Grants[g.Outer], g.Return), own)
			g.byItsClock = f.Grants[g.Outer].byItsClock
		}
	}
}

// GivenTTL is the TTL that the lock of a client was given, Forever if none was; 0: the history does not say it of all clients.
func (f *Facts) GivenTTL(client string) time.Duration {
	if f.Endless() {
		return Forever
	}
	h := &f.History.Header
	for _, l := range h.Differ {
		if l.GivenTTL() <= 0 {
			return 0
		}
	}
	return time.Duration(h.LockOf(client).GivenTTL())
}

// collectCommands finds the commands of each client. What has no client was done by nobody that is known.
func (f *Facts) collectCommands() {
	by := make(map[string]*clientCommands)
	for i := range f.Grants {
		by[f.Grants[i].Client] = &clientCommands{}
	}
	f.askedInside = make(map[Holder][]int)
	for op := range f.Ops {
		if o := &f.Ops[op]; o.F == history.Acquire && f.IsInner(op) {
			k := f.HolderOf(op)
			f.askedInside[k] = append(f.askedInside[k], o.Call)
		}
	}
	f.keys, f.setsKeys = f.ReplayKeys(), f.SawOnKeys(history.KeySet)
	for i := range f.History.Events {
		e := f.Event(i)
		c := by[e.Value.Client]
		if c == nil || !f.ConcernsLock(e) {
			continue
		}
		asks := e.F == history.KeySet && !f.LeavesOwner(i) || e.F == history.KeyExtended && !f.LeaseInValue()
		if e.F == history.KeyDeleted {
			c.deleted = append(c.deleted, i)
		} else if asks && e.Value.At().IsSet() {
			c.asked = append(c.asked, i)
		}
	}
	for _, c := range by {
		slices.SortStableFunc(c.asked, func(a, b int) int { return cmp.Compare(f.LeftAt(a), f.LeftAt(b)) })
	}
	f.commandsOf = by
}

// LeftAt is when the command that an event tells of left its client.
func (f *Facts) LeftAt(event int) time.Duration { return time.Duration(f.Event(event).Value.At().V()) }

// SentAt is when the command that an event tells of left its client; its stamp, where no link told.
func (f *Facts) SentAt(event int) time.Duration {
	if f.Event(event).Value.At().IsSet() {
		return f.LeftAt(event)
	}
	return f.At(event)
}

// LeftBefore reports that a link told of a command that it left its client before an instant.
func (f *Facts) LeftBefore(event int, at time.Duration) bool {
	return f.Event(event).Value.At().IsSet() && f.LeftAt(event) <= at
}

// commandsFor are the events, in their order, of the commands that left a client from the time at
// which it asked for a grant to the end of its belief, and of the keys that it took back.
func (f *Facts) commandsFor(g *Grant) []int {
	c := f.commandsOf[g.Client]
	from := sort.Search(len(c.asked), func(i int) bool { return f.LeftAt(c.asked[i]) >= f.At(g.Call) })
	to := sort.Search(len(c.asked), func(i int) bool {
		return f.LeftAt(c.asked[i]) >= f.At(g.End) && f.LeftAt(c.asked[i]) > f.At(g.Return)
	})
	if from >= to {
		return nil
	}
	list := slices.DeleteFunc(slices.Sorted(slices.Values(c.asked[from:to])), func(i int) bool {
		return !f.keys.countsFor(f.keys.keys[f.Event(i).Value.Key], g) || f.isInside(g, i)
	})
	if len(list) == 0 {
		return nil
	}
	first, _ := slices.BinarySearch(c.deleted, list[0])
	last, _ := slices.BinarySearch(c.deleted, g.EndOr(len(f.History.Events)))
	for _, i := range c.deleted[first:max(first, last)] {
		if !f.isInside(g, i) {
			list = append(list, i)
		}
	}
	slices.Sort(list)
	return list
}

// isInside reports that an event of a key is about another grant of its client: one that it asked for inside a section, or the one in which
// it did.
func (f *Facts) isInside(g *Grant, event int) bool {
	owner := f.Event(event).Value.Owner
	other := owner != "" && g.Owner != "" && owner != g.Owner
	if other && f.IsInner(g.op) {
		return true
	}
	asked := f.askedInside[Holder{g.Client, g.Lock}]
	first := sort.SearchInts(asked, g.Return+1)
	return first < len(asked) && asked[first] < event && (other || f.tookGone(asked[first], event))
}

// tookGone reports that a client set its key, between two events or with the second, when the key was gone.
func (f *Facts) tookGone(behind, event int) bool {
	of := f.Event(event)
	for i := behind + 1; i <= event; i++ {
		e := f.Event(i)
		if e.F == history.KeySet && e.Process == of.Process && e.Value.Key == of.Value.Key && e.Value.Client == of.Value.Client && f.wasGone(i) {
			return true
		}
	}
	return false
}

// promiseFromCommands reads the promise of a grant from when its commands asked for the lock, and
// the renewals from those that asked again. It reports whether the promise is the grant's own. An
// observation can come late: so where a quorum was not asked by the events before the answer, the
// first later one counts with which it was, if its command left before the answer.
func (f *Facts) promiseFromCommands(g *Grant, events []int) (own bool) {
	ttl, quorum := f.GivenTTL(g.Client), f.History.Header.Quorum
	if ttl <= 0 {
		f.noteUnknownPromise(g.Return, "the history does not say the TTL that the lock was given")
		return false
	}
	asked, since, now := f.newNodeRequests(g.Client), NeverAsked, NeverAsked
	for _, i := range events {
		if i > g.Return && since == NeverAsked && now != NeverAsked {
			since, own = now, f.beginPromise(g, now, true)
		}
		asked.add(i)
		if now = asked.quorumSince(quorum); i < g.Return || now == NeverAsked {
			continue
		}
		if since == NeverAsked && f.LeftAt(i) <= f.At(g.Return) {
			since, own = now, f.beginPromise(g, now, true)
		} else if since == NeverAsked {
			since, own = f.At(g.Return), f.beginPromise(g, f.At(g.Return), false)
		}
		if now > since {
			since = now
			g.Renewals = append(g.Renewals, Renewal{min(f.LeftAt(i), f.At(i)), i, addUpToForever(now, ttl)})
		}
	}
	if since == NeverAsked && now != NeverAsked {
		own = f.beginPromise(g, now, true)
	} else if since == NeverAsked {
		own = f.beginPromise(g, f.At(g.Return), false)
	}
	slices.SortStableFunc(g.Renewals, func(a, b Renewal) int { return cmp.Compare(a.Return, b.Return) })
	return own
}

// beginPromise gives a grant the promise that counts from an instant; asked: since then its client asked a quorum for the lock. It
// reports whether the promise is the grant's own.
func (f *Facts) beginPromise(g *Grant, from time.Duration, asked bool) (own bool) {
	if !asked && (!f.setsKeys || f.sentAtUnknownTime(g)) {
		f.noteUnknownPromise(g.Return, fmt.Sprintf("it is not known what %s was promised at %s: nobody saw when it asked for the lock's key",
			g.Client, words.Instant(f.At(g.Return))))
		return false
	}
	own = asked || g.Outer < 0
	if own {
		g.Until = Promise{addUpToForever(from, f.GivenTTL(g.Client)), true}
	}
	return own
}

// sentAtUnknownTime reports that the client of a grant set or extended a key in its time of which nobody knows when the command left it.
func (f *Facts) sentAtUnknownTime(g *Grant) bool {
	return slices.ContainsFunc(f.History.Events[g.Call:g.EndOr(len(f.History.Events))], func(e history.Event) bool {
		return (e.F == history.KeySet || e.F == history.KeyExtended) && e.Value.Client == g.Client &&
			!e.Value.At().IsSet() && f.ConcernsLock(&e)
	})
}

// addUpToForever is an instant that lies so much later.
func addUpToForever(at, length time.Duration) time.Duration {
	if at > Forever-length {
		return Forever
	}
	return at + length
}

// eventBeforeFirstCommand is the last event before a grant's first command left its client; its call, where no command was seen.
// What was unclear till then is no doubt about its promise: whatever an unseen command asked for, the ones that were seen
// asked later.
func (f *Facts) eventBeforeFirstCommand(g *Grant, events []int) int {
	left := Forever
	for _, i := range events {
		if f.Event(i).F != history.KeyDeleted {
			left = min(left, f.LeftAt(i))
		}
	}
	if left == Forever {
		return g.Call
	}
	return max(g.Call, sort.Search(len(f.History.Events), func(i int) bool { return f.At(i) >= left })-1)
}

// nodeRequests is what the commands of a grant's client asked of each node, key by key.
type nodeRequests struct {
	facts  *Facts
	client string
	nodes  map[string]map[string]keyRequest
}

// keyRequest is what a client asked of a key: since when it has it, and until when.
type keyRequest struct{ since, until time.Duration }

// NeverAsked is since when it has a key that it did not ask for, or took back.
const NeverAsked = time.Duration(math.MinInt64)

func (f *Facts) newNodeRequests(client string) *nodeRequests {
	return &nodeRequests{f, client, make(map[string]map[string]keyRequest)}
}

// add takes in an event. What gives an end to a key without one belongs to the command that set it, and what leaves the end as it is to the
// one that gave it.
func (a *nodeRequests) add(event int) {
	e := a.facts.Event(event)
	node := a.nodes[e.Process]
	if node == nil {
		node = make(map[string]keyRequest)
		a.nodes[e.Process] = node
	}
	if e.F == history.KeyDeleted {
		delete(node, e.Value.Key)
		return
	}
	now := keyRequest{a.facts.LeftAt(event), promiseUntil(e.Value.ValidUntil()).EarlierOf(Forever)}
	before, some := node[e.Value.Key]
	if some && e.F == history.KeyExtended && (before.until == Forever || before.until == now.until) {
		now.since = before.since
	}
	node[e.Value.Key] = now
}

// isOlder reports that an event tells of a command that left its client before the one by which it asks for the key.
func (a *nodeRequests) isOlder(event int) bool {
	e := a.facts.Event(event)
	last, some := a.nodes[e.Process][e.Value.Key]
	return some && a.facts.LeftAt(event) < last.since
}

// quorumSince is the latest instant since when a quorum of the nodes is asked for all keys that it
// was asked for; NeverAsked where fewer are asked.
func (a *nodeRequests) quorumSince(quorum int) time.Duration {
	list := make([]time.Duration, 0, len(a.nodes))
	for _, keys := range a.nodes {
		first := Forever
		for _, k := range keys {
			first = min(first, k.since)
		}
		if len(keys) > 0 {
			list = append(list, first)
		}
	}
	if len(list) < quorum {
		return NeverAsked
	}
	slices.Sort(list)
	return list[len(list)-quorum]
}

// AskedTooLittle reports that the client of a grant asked a quorum of nodes for it by what it did before the answer, and the first
// event, of that or later, by which it asked for too little; -1 for none.
func (f *Facts) AskedTooLittle(g *Grant) (asked bool, short int) {
	if f.commandsOf[g.Client] == nil {
		return false, -1
	}
	events, quorum := f.commandsFor(g), f.History.Header.Quorum
	last := f.lastBeforeAnswer(g, events)
	requests, little := f.newNodeRequests(g.Client), -1
	for n, i := range events {
		if f.isAfterLoss(g, i) {
			break
		}
		requests.add(i)
		e := f.Event(i)
		if k, asks := requests.nodes[e.Process][e.Value.Key]; asks && requests.isTooLittle(k) {
			little = i
		}
		if n < last || last < 0 {
			continue
		}
		all, enough := requests.countNodes()
		asked = asked || n == last && all >= quorum
		if all >= quorum && enough < quorum {
			return asked, little
		}
	}
	return asked, -1
}

// lastBeforeAnswer is the place of the last of a grant's commands that was done before the answer, -1 for none.
func (f *Facts) lastBeforeAnswer(g *Grant, events []int) (last int) {
	last = -1
	for n, i := range events {
		deleted := f.Event(i).F == history.KeyDeleted
		if deleted && i < g.Return || !deleted && f.LeftAt(i) <= f.At(g.Return) {
			last = n
		}
	}
	return last
}

// isAfterLoss reports that one of a grant's commands came or left after the lock had told that it lost the grant.
func (f *Facts) isAfterLoss(g *Grant, event int) bool {
	return g.loss >= 0 && (event > g.loss || f.Event(event).F != history.KeyDeleted && f.LeftAt(event) >= f.earliestLoss(g))
}

// countNodes counts the nodes that were asked for the lock, and those of them that were asked for enough.
func (a *nodeRequests) countNodes() (all, enough int) {
	for node, keys := range a.nodes {
		short := true
		for _, k := range keys {
			short = short && a.isTooLittle(k)
		}
		if len(keys) > 0 {
			all++
			if !short || a.facts.bendsClockOf(node) {
				enough++
			}
		}
	}
	return all, enough
}

// isTooLittle reports that a key is asked for for less than the TTL.
func (a *nodeRequests) isTooLittle(k keyRequest) bool {
	return addUpToForever(k.until, a.facts.ttlAllowance(a.client)) < addUpToForever(k.since, a.facts.GivenTTL(a.client))
}

// ttlAllowance is by how much less than its TTL a lock may ask for: a tenth, for clocks that run at other rates, or the step of its ends;
// nothing, if its keys are to have no end.
func (f *Facts) ttlAllowance(client string) time.Duration {
	if f.Endless() {
		return 0
	}
	return max(f.GivenTTL(client)/10, time.Duration(f.History.Header.LockOf(client).TTLStep))
}

// LatestTrueEnd is the latest end of a validity that may be told of a lock which a client asked for at an instant.
func (f *Facts) LatestTrueEnd(client string, asked time.Duration) time.Duration {
	return addUpToForever(addUpToForever(asked, f.GivenTTL(client)), f.ttlAllowance(client))
}

// ofAnotherTry reports that an event has another owner value than a grant tells: it is late, of a try that had failed.
func (f *Facts) ofAnotherTry(g *Grant, i int) bool {
	told, has := f.Event(g.Return).Value.Owner, f.Event(i).Value.Owner
	return told != "" && has != "" && told != has
}

// AskedSince is since when the client of a grant asked for the lock by what it did before the
// answer; NeverAsked: it asked fewer nodes than a quorum.
func (f *Facts) AskedSince(g *Grant) time.Duration {
	asked, answered := f.newNodeRequests(g.Client), f.newNodeRequests(g.Client)
	for _, i := range f.commandsFor(g) {
		switch {
		case i < g.Return:
			asked.add(i)
			answered.add(i)
		case f.Event(i).F != history.KeyDeleted && f.LeftAt(i) <= f.At(g.Return) && !f.ofAnotherTry(g, i) && !answered.isOlder(i):
			asked.add(i)
		}
	}
	return asked.quorumSince(f.History.Header.Quorum)
}
