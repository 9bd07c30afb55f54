package checker

import (
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// culprit is what two holders at once go back to: what was assumed in vain, and the events without which
// the second would not have got the lock while the first had it.
type culprit struct {
	cause  cause
	events []int
	// first and second are the holders, in the order of their keys; fates are the nodes on which it shows.
	first, second *grant
	fates         []fate
}

// fate is what became of a client's key on one node before another's was set there.
type fate struct {
	node string
	// set is the event at which the first client's key was set, taken the one at which
	// the second's was; -1 for none.
	set, taken int
	// end is the event that ended the first one's key in between, -1 for none.
	end int
	// due is when it would have ended by itself, by what was last asked for.
	due time.Duration
	// cause is what was assumed in vain there, and events show it.
	cause  cause
	events []int
}

// whyTwoHolders finds why the second client was granted the lock, or renewed it, in the event began while the first believed in it.
func (v *view) whyTwoHolders(first, second *grant, began int) culprit {
	if v.openPromise(first, began).over(v.at(began)) {
		c := culprit{cause: actsInTime, events: v.heldUp(first, v.believedUntil(first)), first: first, second: second}
		if len(c.events) == 0 {
			c.events = []int{first.ret} // nothing kept the client from acting in time: it relied on its grant for too long
		}
		return c
	}
	return v.whyGranted(first, second, began)
}

// openPromise is the promise of a client that believes in a grant when an event comes, which its second entries can have lengthened.
func (v *view) openPromise(g *grant, event int) promise {
	p := v.promiseBefore(g, event)
	for _, i := range v.grantsTo(g.client, g.lock) {
		if again := &v.grants[i]; again.ret < event && again.openAt(event) {
			p = p.longer(v.promiseBefore(again, event))
		}
	}
	return p
}

// heldUp are the faults without which a client would not have gone on until an instant after the end of its promise: they stopped it for so
// long, or held up what it had asked for or its renewals.
func (v *view) heldUp(g *grant, ends time.Duration) []int {
	over := g.lastPromise().cut(forever)
	var stops, links []int
	for i := range v.faults {
		f := &v.faults[i]
		switch {
		case v.at(f.begin) > ends || v.at(f.begin) > over || f.end >= 0 && f.end < g.ret:
		case f.strikesClient(history.Stops, g.client):
			stops = append(stops, f.begin)
		case v.waitedFor(f, g, over):
			links = append(links, f.begin)
		}
	}
	renews := func(o history.Op) bool { return o.F == history.Extend && o.Process == g.client }
	if len(stops) > 0 && (slices.ContainsFunc(v.ops, renews) || ends == forever || ends-v.stopped(g.client, v.at(g.ret), ends) <= over) {
		return stops
	}
	return links
}

// waitedFor reports that a fault on links or on nodes held up an operation of a client beyond the end of its promise, or a renewal.
func (v *view) waitedFor(f *fault, g *grant, over time.Duration) bool {
	strikes := func(s history.Strike) bool {
		link := func(l history.Link) bool { return l.From == g.client || l.To == g.client }
		return s.Does != history.BendsClock && (len(s.Nodes) > 0 || s.Resource || slices.ContainsFunc(s.Links, link))
	}
	if !slices.ContainsFunc(f.strikes, strikes) {
		return false
	}
	return slices.ContainsFunc(v.ops, func(o history.Op) bool {
		beside := o.Process == g.client && o.Call > g.ret && g.openAt(o.Call) &&
			(o.Return < 0 || f.begin < o.Return) && (f.end < 0 || o.Call < f.end)
		late := v.at(o.Call) <= over && v.at(o.Return) > over
		return beside && (late || o.F == history.Extend && o.Type != history.OK)
	})
}

// whyGranted looks at what became of the first client's keys on the nodes where the second set its own.
func (v *view) whyGranted(first, second *grant, began int) culprit {
	if began != second.ret {
		return v.whyRenewed(first, second, began)
	}
	fates := v.fates(first, second)
	set := func(n fate) bool { return n.set >= 0 }
	if !slices.ContainsFunc(fates, set) {
		// The second had its keys before the first, and heard of its grant too late.
		if other := v.fates(second, first); slices.ContainsFunc(other, set) {
			fates, first, second = other, second, first
		}
	}
	switch {
	case len(fates) == 0 && v.unclear < 0 && v.nodesSet(first) > 0:
		return culprit{cause: backedByKey, events: []int{second.ret}, first: second, second: first}
	case len(fates) == 0:
		return v.whyUnseen(first, second)
	}
	for i := range fates {
		fates[i].cause, fates[i].events = v.whyLost(&fates[i], first, second)
	}
	c := culprit{first: first, second: second}
	// Too few nodes are left for the second without those of the cause that is told.
	short := func(of cause) bool {
		left := slices.DeleteFunc(slices.Clone(fates), func(n fate) bool { return n.cause == of })
		return len(left) < len(fates) && len(left) < v.quorum()
	}
	at := slices.IndexFunc(causeRank, short)
	if at < 0 {
		at = slices.IndexFunc(causeRank, func(c cause) bool {
			return slices.ContainsFunc(fates, func(n fate) bool { return n.cause == c })
		})
	}
	c.cause = causeRank[at]
	for i := range fates {
		if fates[i].cause == c.cause || !short(c.cause) {
			c.events, c.fates = append(c.events, fates[i].events...), append(c.fates, fates[i])
		}
	}
	c.events = sortedEvents(c.events...)
	return c
}

// causeRank says which cause is told where nodes tell several, each of which is enough: what struck a
// node's memory before what a clock or a client did.
var causeRank = []cause{onePrimary, replicated, remembers, ownDelete, renewsOwn, lateDelete, keepsOwn, setOnce,
	samePace, asksTTL, renewedInTime, actsInTime, tellsTrue, countsEarly, backedByKey, majoritiesMet, notSeen}

// whyRenewed says why the second client, whose lease had run out, could renew it while the first had the lock.
func (v *view) whyRenewed(first, second *grant, began int) culprit {
	c := culprit{cause: staysLost, events: []int{began}, first: first, second: second}
	for i := first.call; i <= began; i++ {
		if before, renews := v.renewedOverKey(i); renews && before.client == first.client && v.event(i).Value.Client == second.client {
			c.cause, c.events = renewsOwn, append(c.events, i)
			c.fates = append(c.fates, fate{node: v.event(i).Process, set: before.set, taken: i, end: i, cause: renewsOwn})
		}
	}
	c.events = sortedEvents(c.events...)
	return c
}

// fates follows the keys of both grants on each node where the second has one. That it has one may be seen after its answer.
func (v *view) fates(first, second *grant) []fate {
	byNode := make(map[string]*fate)
	var order []string
	answered := max(first.ret, second.ret)
	for i := range max(answered, second.lastEvent(len(v.h.Events))) {
		e := v.event(i)
		switch e.F {
		case history.KeySet, history.KeyExtended, history.KeyDeleted, history.KeyExpired, history.KeyUnclear, history.NodeDown:
		default:
			continue
		}
		n := byNode[e.Process]
		if n == nil {
			n = &fate{node: e.Process, set: -1, taken: -1}
			byNode[e.Process], order = n, append(order, e.Process)
		}
		switch {
		case i > answered && n.taken >= 0:
		case e.F == history.KeySet && v.setFor(e, second):
			n.taken = i
		case n.taken >= 0:
		case e.F == history.KeySet && v.setFor(e, first):
			n.set, n.end, n.due = i, -1, v.ranOut(e)
		case n.set < 0 || n.end >= 0 || e.F == history.KeySet && (e.Value.Client == "" || v.leaves(i) && !v.overwrites(i)):
		case e.F != history.KeyExtended:
			n.end = i
		case !v.keepsEnd(e):
			n.due = v.ranOut(e)
		}
	}
	var list []fate
	byClient := func(n fate) bool { return v.event(n.taken).Value.Client != "" }
	for _, name := range order {
		if n := byNode[name]; n.taken >= 0 {
			list = append(list, *n)
		}
	}
	if slices.ContainsFunc(list, byClient) { // the others copied it
		list = slices.DeleteFunc(list, func(n fate) bool { return !byClient(n) })
	}
	return list
}

// overwrites reports that a client renewed its lock by a key-set that overwrote the key of another.
func (v *view) overwrites(set int) bool {
	before, renews := v.renewedOverKey(set)
	return renews && before.client != v.event(set).Value.Client
}

// setFor reports whether a key was set for a grant.
func (v *view) setFor(e *history.Event, g *grant) bool {
	if g.owner == "" || e.Value.Owner == "" {
		return e.Value.Client == g.client
	}
	return e.Value.Owner == g.owner && (e.Value.Client == "" || e.Value.Client == g.client)
}

// whyLost says why the first client's key no longer kept the second out of a node, and by which events.
func (v *view) whyLost(n *fate, first, second *grant) (cause, []int) {
	if by := v.oldPrimaryServed(n, first); by != "" {
		return onePrimary, v.promotion(by, n.taken)
	}
	if n.set < 0 {
		return v.whyNeverThere(n, first, second)
	}
	if struck := v.struckBy(n.node, n.set, n.taken, history.Kills, history.Forgets); len(struck) > 0 {
		return remembers, struck
	}
	if n.end < 0 {
		switch {
		case v.at(n.taken) >= n.due:
			return v.whyExpired(n, first, second)
		case v.bent(n, first) != nil:
			return samePace, v.bent(n, first)
		}
		return v.whySetOver(n.taken)
	}
	e := v.event(n.end)
	switch {
	case e.F == history.KeyExpired:
		return v.whyExpired(n, first, second)
	case e.F == history.KeyUnclear:
		return notSeen, []int{second.ret}
	case e.F == history.KeySet:
		if v.overwrites(n.end) {
			return renewsOwn, []int{n.end}
		}
		return v.whySetOver(n.end)
	case e.Value.Client == "":
		return remembers, []int{n.end} // the node did it by itself: it went down, evicted the key, or was flushed
	case e.Value.Client != first.client:
		return ownDelete, []int{n.end}
	case n.end < first.call:
		return backedByKey, []int{first.ret}
	case v.cameLate(n, first) >= 0:
		return lateDelete, []int{n.end}
	}
	return keepsOwn, []int{n.end}
}

// whySetOver says why a client set a key over that of another: its own clock can have told it that the lease in the key was over.
func (v *view) whySetOver(set int) (cause, []int) {
	var bent []int
	for i := range v.faults {
		if f := &v.faults[i]; f.begin < set && f.strikesClient(history.BendsClock, v.event(set).Value.Client) {
			bent = append(bent, f.begin)
		}
	}
	if len(bent) > 0 {
		return samePace, bent
	}
	return setOnce, []int{set}
}

// whyNeverThere says why a node had no key of the first client.
func (v *view) whyNeverThere(n *fate, first, second *grant) (cause, []int) {
	if v.promotedBetween(n.node, first.call, max(first.ret, second.ret)) {
		return replicated, v.promotion(n.node, max(first.ret, second.ret))
	}
	mine, its := v.event(first.ret).Value.Nodes(), v.event(second.ret).Value.Nodes()
	switch has := v.nodesSet(first); {
	case slices.ContainsFunc(its, func(node string) bool { return slices.Contains(mine, node) }):
		return notSeen, []int{second.ret} // the nodes tell less than the clients
	case has == 0:
		return backedByKey, []int{first.ret}
	case has < v.nodesSet(second):
		return majoritiesMet, []int{first.ret}
	}
	return majoritiesMet, []int{second.ret}
}

// nodesSet is on how many nodes a key was set for a grant.
func (v *view) nodesSet(g *grant) int {
	nodes := make(map[string]bool)
	for i := g.call; i < g.lastEvent(len(v.h.Events)); i++ {
		if e := v.event(i); e.F == history.KeySet && v.setFor(e, g) {
			nodes[e.Process] = true
		}
	}
	return len(nodes)
}

// cameLate is the fault that had held up what deleted a client's own key, a command of an earlier release or try: the
// fault began when the client had asked for the lock, and before the key was set, and the key was deleted before the fault
// was over or right after. It is -1 where the client deleted the key otherwise.
func (v *view) cameLate(n *fate, first *grant) int {
	if v.underWay(first.client, n.end) {
		return -1 // it renewed
	}
	asked := v.ops[v.acquires[first.client][0]].Call
	for i := range v.faults {
		f := &v.faults[i]
		held := func(s history.Strike) bool {
			between := func(l history.Link) bool {
				return l.From == first.client && l.To == n.node || l.From == n.node && l.To == first.client
			}
			stops := s.Does == history.Stops && (slices.Contains(s.Clients, first.client) || slices.Contains(s.Nodes, n.node))
			return stops || slices.ContainsFunc(s.Links, between)
		}
		soon := f.end < 0 || v.at(n.end) < v.at(f.end)+10*stampsAreLate
		if asked < f.begin && f.begin < n.set && soon && slices.ContainsFunc(f.strikes, held) {
			return f.begin
		}
	}
	return -1
}

// oldPrimaryServed is the node that had become the primary when one of the two clients had its key set or renewed at a node that had been
// it before; empty where that was not so.
func (v *view) oldPrimaryServed(n *fate, first *grant) string {
	now, been := "", make(map[string]bool)
	for _, name := range v.h.Header.Nodes[:min(len(v.h.Header.Nodes), 1)] {
		been[name] = true
	}
	for i := range n.taken + 1 {
		e := v.event(i)
		switch {
		case e.F == history.NodePromoted:
			now, been[e.Process] = e.Process, true
		case e.F != history.KeySet && e.F != history.KeyExtended, e.Value.Client == "", now == "", e.Process == now, !been[e.Process]:
		case i == n.taken, e.Value.Client == first.client && v.setFor(e, first):
			return now
		}
	}
	return ""
}

// promotion is the last fault before an event that made a node the primary. Where others promoted it, it is the first that
// struck the primary before, or its ways to them; without any it is the promotion itself.
func (v *view) promotion(node string, before int) []int {
	if struck := v.struckBy(node, -1, before, history.Promotes); len(struck) > 0 {
		return struck[len(struck)-1:]
	}
	promoted, old := -1, ""
	if len(v.h.Header.Nodes) > 0 {
		old = v.h.Header.Nodes[0]
	}
	for i := range before {
		switch e := v.event(i); {
		case e.F != history.NodePromoted:
		case e.Process == node:
			promoted = i
		case promoted < 0:
			old = e.Process
		}
	}
	for i := range v.faults {
		f := &v.faults[i]
		strikes := func(s history.Strike) bool {
			link := func(l history.Link) bool {
				return l.From == old && !slices.Contains(v.h.Header.Clients, l.To) || l.To == old && !slices.Contains(v.h.Header.Clients, l.From)
			}
			return s.Does != history.BendsClock && (slices.Contains(s.Nodes, old) || slices.ContainsFunc(s.Links, link))
		}
		if f.begin < promoted && slices.ContainsFunc(f.strikes, strikes) {
			return []int{f.begin}
		}
	}
	return sortedEvents(promoted)
}

// whyExpired says why the first client's key ended by itself before its promise.
func (v *view) whyExpired(n *fate, first, second *grant) (cause, []int) {
	if n.end >= 0 && n.end < first.call || n.end < 0 && n.due < v.at(first.call) {
		return backedByKey, []int{first.ret}
	}
	if bent := v.bent(n, first); bent != nil {
		return samePace, bent
	}
	if short := v.askedForLess(n, first); short >= 0 {
		return asksTTL, []int{short}
	}
	if n.end >= 0 && v.at(n.end)+stampsAreLate < n.due {
		return remembers, []int{n.end} // the node let it go before its end
	}
	if first.until.over(v.at(second.ret)) {
		var renewed []int
		for _, x := range first.extends {
			if x.until >= v.at(second.ret) {
				renewed = append(renewed, x.ret)
			}
		}
		if len(renewed) == 0 {
			return actsInTime, []int{first.ret} // it heard of its grant when its lease was over
		}
		return renewedInTime, renewed
	}
	if v.tellsTooMuch(first) {
		return tellsTrue, []int{first.ret}
	}
	return countsEarly, []int{first.ret}
}

// tellsTooMuch reports that a lock program told of a validity that is too long even if it counted from the answer: a unit was mistaken.
func (v *view) tellsTooMuch(g *grant) bool {
	told := v.event(g.ret).Value.ValidUntil()
	return v.h.Header.Quorum > 0 && v.givenTTL() > 0 && told.IsSet() &&
		time.Duration(told.V()) > v.latestTrueEnd(v.at(g.ret))
}

// askedForLess is the event by which a lock program asked for the first client's key for less than the TTL that it was given, -1 for none.
func (v *view) askedForLess(n *fate, first *grant) int {
	if _, short := v.asksTooLittle(first); short < n.taken {
		return short
	}
	return -1
}

// bent are the faults that had bent the clock of the node, so that the key went before its end, or that of the first client, by
// the time the second set its key.
func (v *view) bent(n *fate, first *grant) (begins []int) {
	early := n.end < 0 || v.at(n.end) < n.due
	for i := range v.faults {
		f := &v.faults[i]
		if f.begin < n.taken && (early && f.strikesNode(history.BendsClock, n.node) || f.strikesClient(history.BendsClock, first.client)) {
			begins = append(begins, f.begin)
		}
	}
	return begins
}

// whyUnseen names the cause by the faults alone, where the nodes told nothing: that of the only kind of fault which can
// have taken keys away.
func (v *view) whyUnseen(first, second *grant) culprit {
	c := culprit{cause: leavesKey, events: []int{second.ret}, first: first, second: second}
	elsewhere := v.h.Header.Program != "" && v.h.Header.Quorum == 0
	if v.unclear >= 0 || elsewhere || len(v.h.Header.Nodes) == 0 {
		c.cause = notSeen
	}
	causes := map[history.Does]cause{
		history.Promotes: replicated, history.Forgets: remembers, history.Kills: remembers, history.BendsClock: samePace}
	found := make(map[cause]bool)
	for i := range v.faults {
		f := &v.faults[i]
		if v.at(f.begin) > v.at(second.ret) || v.at(f.end) < v.at(first.call) {
			continue
		}
		for _, s := range f.strikes {
			if of, takes := causes[s.Does]; takes && len(s.Nodes) > 0 {
				found[of] = true
				c.cause = of
			}
		}
	}
	if len(found) > 1 {
		c.cause = notSeen
	}
	return c
}

// ranOut is when a key went by itself, on a clock that nobody bent, by the event that set its end.
func (v *view) ranOut(e *history.Event) time.Duration {
	if !e.Value.TTL().IsSet() {
		return forever
	}
	end := e.Time + time.Duration(e.Value.TTL().V())
	if e.Value.At().IsSet() && e.Value.ValidUntil().IsSet() {
		end = min(end, time.Duration(e.Value.ValidUntil().V()))
	}
	return end
}

// stampsAreLate is by how much the stamps of a key's events can be late, as far as a cause is concerned.
const stampsAreLate = 10 * time.Millisecond

// struckBy are the faults that did something of these kinds to a node between two events. That the node went down is as good as a kill.
func (v *view) struckBy(node string, from, to int, does ...history.Does) (begins []int) {
	for i := range v.faults {
		f := &v.faults[i]
		strikes := func(d history.Does) bool { return f.strikesNode(d, node) }
		if f.begin > from && f.begin < to && slices.ContainsFunc(does, strikes) {
			begins = append(begins, f.begin)
		}
	}
	return begins
}

// struckBetween reports that a fault did something of these kinds to a node between two
// events. That the node went down is as good as a kill.
func (v *view) struckBetween(node string, from, to int, does ...history.Does) bool {
	return len(v.struckBy(node, from, to, does...)) > 0 || slices.Contains(does, history.Kills) && v.sawNode(history.NodeDown, node, from, to)
}

// sawNode reports an event of a node between two others.
func (v *view) sawNode(what history.F, node string, from, to int) bool {
	for i := from; i < to; i++ {
		if e := v.event(i); e.F == what && e.Process == node {
			return true
		}
	}
	return false
}

func (v *view) promotedBetween(node string, from, to int) bool {
	return v.sawNode(history.NodePromoted, node, from, to) || v.struckBetween(node, from, to, history.Promotes)
}
