package checker

import (
	"cmp"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/workload"
)

// cause names what a violation shows to have been assumed in vain. Each class of
// violation has one; docs/checker.md lists what shows it.
type cause string

const (
	actsInTime      cause = "that a holder acts before its lease runs out"
	arrivesInTime   cause = "that a write which is sent in time arrives in time"
	samePace        cause = "that the clocks of the nodes and of the clients run at the same pace"
	remembers       cause = "that a node remembers the keys that it has granted"
	replicated      cause = "that a replica has the lock's key before it becomes the primary"
	onePrimary      cause = "that one node alone serves as the primary at any time"
	ownDelete       cause = "that only its owner deletes a key of the lock"
	lateDelete      cause = "that a late release of one attempt leaves the keys of the next alone"
	setOnce         cause = "that a key of the lock is set only where there is none"
	backedByKey     cause = "that a client which believes in a grant has keys for it"
	renewedInTime   cause = "that a renewal counts only where enough nodes took it in time"
	countsEarly     cause = "that a promise counts from before its request was sent"
	majoritiesMet   cause = "that any two grants have a node in common"
	fenceOrders     cause = "that the resource refuses a token older than the highest that it has seen"
	tokensDiffer    cause = "that no two grants have the same token"
	staysLost       cause = "that a lease which ran out stays lost"
	doneOnce        cause = "that a job takes longer than the difference between the clocks of its schedulers"
	replicatedCount cause = "that a replica has the last token before it becomes the primary"
	remembersCount  cause = "that a node remembers the tokens that it has given"
	oneCount        cause = "that tokens counted on different nodes have one order"
	excludes        cause = "that a lock granted to one client is granted to no other"
	tokenWithGrant  cause = "that a token is drawn in the order of the grants"
	asksTTL         cause = "that a lock asks its nodes for the TTL that it was given"
	tellsTrue       cause = "that a lock is valid for as long as it tells"
	servesHolder    cause = "that the resource serves whoever holds the lock"
	holderWrites    cause = "that only the holder of the lock writes, each on top of the last write"
)

// whyTwoHolders finds why the second client was granted the lock while the first
// believed in it.
func (v *view) whyTwoHolders(first, second *grant) string {
	if first.lastPromise().over(v.at(second.ret)) {
		return string(actsInTime)
	}
	return string(v.whyGranted(first, second))
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
}

// whyGranted looks at what became of the first client's keys on the nodes where the
// second set its own.
func (v *view) whyGranted(first, second *grant) cause {
	fates := v.fates(first, second)
	if len(fates) == 0 {
		return v.whyByFaults(first, second)
	}
	if !slices.ContainsFunc(fates, func(n fate) bool { return n.set >= 0 }) {
		// The second had its keys before the first, and heard of its grant too late.
		if other := v.fates(second, first); slices.ContainsFunc(other, func(n fate) bool { return n.set >= 0 }) {
			fates, first, second = other, second, first
		}
	}
	found, rank := excludes, len(causeRank)
	for i := range fates {
		c := v.whyLost(&fates[i], first, second)
		if r := slices.Index(causeRank, c); r >= 0 && r < rank {
			found, rank = c, r
		}
	}
	return found
}

// causeRank says which cause is told where nodes tell several: what struck a
// node's memory before what a clock or a client did.
var causeRank = []cause{onePrimary, replicated, remembers,
	ownDelete, lateDelete, setOnce, samePace, asksTTL, renewedInTime, countsEarly, backedByKey, majoritiesMet}

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
		case n.set < 0 || n.end >= 0 || e.F == history.KeySet:
		case e.F != history.KeyExtended:
			n.end = i
		case !v.keepsEnd(e):
			n.due = v.ranOut(e)
		}
	}
	var list []fate
	for _, name := range order {
		if n := byNode[name]; n.taken >= 0 {
			list = append(list, *n)
		}
	}
	return list
}

// setFor reports whether a key was set for a grant.
func (v *view) setFor(e *history.Event, g *grant) bool {
	if g.owner == "" || e.Value.Owner == "" {
		return e.Value.Client == g.client
	}
	return e.Value.Owner == g.owner && (e.Value.Client == "" || e.Value.Client == g.client)
}

// whyLost says why the first client's key no longer kept the second out of a node.
func (v *view) whyLost(n *fate, first, second *grant) cause {
	if v.oldPrimaryServed(n, first) {
		return onePrimary
	}
	if n.set < 0 {
		if v.promotedBetween(n.node, first.call, max(first.ret, second.ret)) {
			return replicated
		}
		if slices.ContainsFunc(v.event(second.ret).Value.Nodes(), func(node string) bool {
			return slices.Contains(v.event(first.ret).Value.Nodes(), node)
		}) {
			return excludes // the nodes tell less than the clients
		}
		return majoritiesMet
	}
	if n.end < 0 {
		if v.struckBetween(n.node, n.set, n.taken, history.Kills, history.Forgets) {
			return remembers
		}
		if v.at(n.taken) < n.due {
			if v.bent(n, first) {
				return samePace
			}
			return setOnce
		}
		return v.whyExpired(n, first)
	}
	e := v.event(n.end)
	switch {
	case e.F == history.NodeDown || v.struckBetween(n.node, n.set, n.taken, history.Kills, history.Forgets):
		return remembers
	case e.F == history.KeyExpired:
		return v.whyExpired(n, first)
	case e.F == history.KeyUnclear:
		return excludes // nobody knows what became of it
	case e.Value.Client == "":
		return remembers // the node did it by itself: it evicted the key, or was flushed
	case e.Value.Client != first.client:
		return ownDelete
	case n.end < first.call:
		return backedByKey
	}
	return lateDelete
}

// dropped is the first event in which a node let go of a key of the first client by itself, so that the second could
// get it; -1 for none.
func (v *view) dropped(first, second *grant) int {
	for _, n := range v.fates(first, second) {
		struck := n.set >= 0 && v.struckBetween(n.node, n.set, n.taken, history.Kills, history.Forgets)
		if n.end >= 0 && !struck && v.whyLost(&n, first, second) == remembers {
			return n.end
		}
	}
	return -1
}

// oldPrimaryServed reports that one of the two clients had its key set or renewed at a node that had been the primary, when another one
// had been promoted in its place.
func (v *view) oldPrimaryServed(n *fate, first *grant) bool {
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
			return true
		}
	}
	return false
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

// whyExpired says why the first client's key ended by itself before its promise.
func (v *view) whyExpired(n *fate, first *grant) cause {
	switch {
	case n.end >= 0 && n.end < first.call, n.end < 0 && n.due < v.at(first.call):
		return backedByKey
	case v.bent(n, first):
		return samePace
	case v.askedForLess(n, first):
		return asksTTL
	case n.end >= 0 && v.at(n.end)+stampsAreLate < n.due:
		return remembers // the node let it go before its end
	case len(first.extends) > 0:
		return renewedInTime
	}
	return countsEarly
}

// askedForLess reports that a lock program asked for the first client's key for less than the TTL that it was given.
func (v *view) askedForLess(n *fate, first *grant) bool {
	c := v.asks[first.client]
	if c == nil {
		return false
	}
	_, short := v.asksTooLittle(first)
	return short >= 0 && short < n.taken
}

// bent reports that a fault had bent the clock of the node or of the first client by
// the time the second set its key.
func (v *view) bent(n *fate, first *grant) bool {
	for i := range v.faults {
		f := &v.faults[i]
		if f.begin < n.taken && (f.strikesNode(history.BendsClock, n.node) || f.strikesClient(history.BendsClock, first.client)) {
			return true
		}
	}
	return false
}

// struckBetween reports that a fault did something of these kinds to a node between two
// events. That the node went down is as good as a kill.
func (v *view) struckBetween(node string, from, to int, does ...history.Does) bool {
	for i := range v.faults {
		f := &v.faults[i]
		strikes := func(d history.Does) bool { return f.strikesNode(d, node) }
		if f.begin > from && f.begin < to && slices.ContainsFunc(does, strikes) {
			return true
		}
	}
	return slices.Contains(does, history.Kills) && v.sawNode(history.NodeDown, node, from, to)
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

// whyByFaults names the cause by the faults alone, where the nodes told nothing.
func (v *view) whyByFaults(first, second *grant) cause {
	for _, c := range []struct {
		does  history.Does
		cause cause
	}{{history.Promotes, replicated}, {history.Forgets, remembers}, {history.Kills, remembers}, {history.BendsClock, samePace}} {
		for i := range v.faults {
			f := &v.faults[i]
			if v.at(f.begin) <= v.at(second.ret) && v.at(f.end) >= v.at(first.call) &&
				slices.ContainsFunc(f.strikes, func(s history.Strike) bool { return s.Does == c.does && len(s.Nodes) > 0 }) {
				return c.cause
			}
		}
	}
	return excludes
}

// whyLate finds why an effect came after the end of its client's promise.
func (v *view) whyLate(x *effect, g *grant) string {
	if c, found := v.whyAdmitted(x); found {
		return string(c)
	}
	if x.write >= 0 && v.sentInTime(x.write, g, x.event) {
		return string(arrivesInTime)
	}
	return string(actsInTime)
}

// sentInTime reports that a client asked for a write before its promise was over and
// was not stopped between that and an event: it acted in time, and the write came late.
func (v *view) sentInTime(write int, g *grant, event int) bool {
	call := v.ops[write].Call
	if g.lastPromise().over(v.at(call)) {
		return false
	}
	for i := range v.faults {
		f := &v.faults[i]
		if f.begin < event && (f.end < 0 || f.end > call) && f.strikesClient(history.Stops, g.client) {
			return false
		}
	}
	return true
}

// whyAdmitted says what a fence took for granted that let an old token pass; not found
// where the effect came without a token, or no other client had come with a newer one.
func (v *view) whyAdmitted(x *effect) (c cause, found bool) {
	if !v.h.Header.ChecksOrder {
		return "", false
	}
	for i := range v.effects {
		y := &v.effects[i]
		if y.event >= x.event {
			break
		}
		if !x.token().IsSet() || !y.token().IsSet() || !y.accepted || y.client() == x.client() {
			continue
		}
		switch cmp.Compare(y.token().V(), x.token().V()) {
		case 1:
			return fenceOrders, true
		case 0:
			c, found = tokensDiffer, true
		}
	}
	return c, found
}

// whyBroken finds why sections of the resource have no explanation: two of their
// clients held the lock at once, or one of them wrote late.
func (v *view) whyBroken(sections []*section) string {
	for _, x := range sections {
		if w := v.decisiveWrite(x); w >= 0 {
			if e := v.acceptedEffect(w); e != nil {
				if c, found := v.whyAdmitted(e); found {
					return string(c)
				}
			}
		}
	}
	leases := v.leases()
	for i, x := range sections {
		for _, y := range sections[i+1:] {
			if a, b := v.clashOf(leases, v.grantBefore(x.client, v.opens(x)), v.grantBefore(y.client, v.opens(y))); a != nil {
				return string(v.whyGranted(a, b))
			}
		}
	}
	for _, x := range sections {
		g := v.grantBefore(x.client, v.opens(x))
		if g == nil {
			continue
		}
		if v.revived(g) {
			return string(staysLost)
		}
		if !g.lastPromise().over(v.at(v.closes(x))) {
			continue
		}
		if w := v.decisiveWrite(x); w >= 0 && v.sentInTime(w, g, v.closes(x)) {
			return string(arrivesInTime)
		}
		return string(actsInTime)
	}
	if v.data(sections[0].key) == workload.JobsData {
		return string(doneOnce)
	}
	return string(holderWrites)
}

// revived reports that a grant was renewed after its promise was over.
func (v *view) revived(g *grant) bool {
	until := g.until
	for _, x := range g.extends {
		if until.over(v.at(x.ret)) {
			return true
		}
		until.end = max(until.end, x.until)
	}
	return false
}

// whyUnordered finds why a later grant has no larger token.
func (v *view) whyUnordered(first, second *grant) string {
	between := func(does ...history.Does) bool {
		return slices.ContainsFunc(v.h.Header.Nodes, func(n string) bool { return v.struckBetween(n, first.call, second.ret, does...) })
	}
	switch {
	case between(history.Promotes):
		return string(replicatedCount)
	case between(history.Kills, history.Forgets):
		return string(remembersCount)
	case second.call < first.ret:
		return string(tokenWithGrant)
	}
	return string(oneCount)
}

// clashOf are two grants whose clients were inside their validity at once, the earlier
// first; nil where they were not.
func (v *view) clashOf(leases []hold, a, b *grant) (first, second *grant) {
	if a == nil || b == nil || a.client == b.client || a.lock != b.lock {
		return nil, nil
	}
	of := func(g *grant) (list []hold) {
		for _, h := range leases {
			if began := &v.grants[h.grant]; began.client == g.client && began.lock == g.lock && h.from <= v.at(g.ret) && v.at(g.ret) < h.to {
				list = append(list, h)
			}
		}
		return list
	}
	for _, p := range of(a) {
		for _, q := range of(b) {
			if max(p.from, q.from) < min(p.to, q.to) {
				if p.from > q.from {
					return b, a
				}
				return a, b
			}
		}
	}
	return nil, nil
}
