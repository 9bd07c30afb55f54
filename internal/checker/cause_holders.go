package checker

import (
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker/facts"
	"github.com/redlock-sim/redlock-sim/internal/history"
)

// reason is what two holders at once go back to: what was assumed in vain, and the events without which
// the second would not have got the lock while the first had it.
type reason struct {
	cause  cause
	events []int
	// first and second are the holders, in the order of their keys; fates are the nodes on which it shows.
	first, second *facts.Grant
	keyFates      []keyFate
}

// keyFate is what became of a client's key on one node before another's was set there.
type keyFate struct {
	node string
	// set is the event at which the first client's key was set, taken the one at which
	// the second's was; -1 for none.
	set, taken int
	// end is the event that ended the first one's key in between, -1 for none.
	end int
	// due is when it would have ended by itself, by what was last asked for; renewed is the event that said so last, -1 for none.
	due     time.Duration
	renewed int
	// cause is what was assumed in vain there, and events show it.
	cause  cause
	events []int
}

// whyTwoHolders finds why the second client was granted the lock, or renewed it, in the event began while the first believed in it.
func (j *judge) whyTwoHolders(first, second *facts.Grant, began int) reason {
	if j.PromiseAt(first, began).EndedBefore(j.At(began)) {
		c := reason{cause: actsInTime, events: j.faultsThatHeldUp(first, j.BelievedUntil(first)), first: first, second: second}
		if len(c.events) == 0 {
			c.events = []int{first.Return} // nothing kept the client from acting in time: it relied on its grant for too long
		}
		return c
	}
	return j.whyGranted(first, second, began)
}

// faultsThatHeldUp are the faults without which a client would not have gone on until an instant after the end of its promise: they
// stopped it for so long, or held up what it had asked for or its renewals.
func (j *judge) faultsThatHeldUp(g *facts.Grant, ends time.Duration) []int {
	over := g.LastPromise().EarlierOf(facts.Forever)
	var stops, links []int
	for i := range j.Faults {
		f := &j.Faults[i]
		if j.At(f.Begin) > ends || j.At(f.Begin) > over || f.End >= 0 && f.End < g.Return {
			continue
		}
		if f.StrikesClient(history.Stops, g.Client) {
			stops = append(stops, f.Begin)
		} else if j.heldUpOperation(f, g, over) {
			links = append(links, f.Begin)
		}
	}
	renews := func(o history.Op) bool { return o.F == history.Extend && o.Process == g.Client }
	if len(stops) == 0 {
		return links
	}
	if slices.ContainsFunc(j.Ops, renews) || ends == facts.Forever || ends-j.StoppedFor(g.Client, j.At(g.Return), ends) <= over {
		return stops
	}
	return links
}

// heldUpOperation reports that a fault on links or on nodes held up an operation of a client beyond the end of its promise, or a renewal.
func (j *judge) heldUpOperation(f *facts.Fault, g *facts.Grant, over time.Duration) bool {
	strikes := func(s history.Strike) bool {
		link := func(l history.Link) bool { return l.From == g.Client || l.To == g.Client }
		return s.Does != history.BendsClock && (len(s.Nodes) > 0 || s.Resource || slices.ContainsFunc(s.Links, link))
	}
	if !slices.ContainsFunc(f.Strikes, strikes) {
		return false
	}
	return slices.ContainsFunc(j.Ops, func(o history.Op) bool {
		beside := o.Process == g.Client && o.Call > g.Return && g.OpenAt(o.Call) &&
			(o.Return < 0 || f.Begin < o.Return) && (f.End < 0 || o.Call < f.End)
		late := j.At(o.Call) <= over && j.At(o.Return) > over
		return beside && (late || o.F == history.Extend && o.Type != history.OK)
	})
}

// whyGranted looks at what became of the first client's keys on the nodes where the second set its own.
func (j *judge) whyGranted(first, second *facts.Grant, began int) reason {
	if began != second.Return {
		return j.whyRenewed(first, second, began)
	}
	fates := j.keyFates(first, second)
	set := func(n keyFate) bool { return n.set >= 0 }
	if !slices.ContainsFunc(fates, set) {
		// The second had its keys before the first, and heard of its grant too late.
		if other := j.keyFates(second, first); slices.ContainsFunc(other, set) {
			fates, first, second = other, second, first
		}
	}
	if len(fates) == 0 {
		if j.FirstUnclear < 0 && j.NodesSetFor(first) > 0 {
			return reason{cause: backedByKey, events: []int{second.Return}, first: second, second: first}
		}
		return j.whyUnseen(first, second)
	}
	for i := range fates {
		fates[i].cause, fates[i].events = j.whyKeyFailed(&fates[i], first, second)
	}
	c := reason{first: first, second: second}
	c.tellFirstCause(fates, func(list []keyFate) bool { return j.countFates(list) >= j.Quorum() })
	return c
}

// tellFirstCause chooses the cause to tell among those of several nodes, with the nodes and events that show it.
func (c *reason) tellFirstCause(fates []keyFate, enough func([]keyFate) bool) {
	// Too few nodes are left for the second without those of the cause that is told.
	short := func(of cause) bool {
		left := slices.DeleteFunc(slices.Clone(fates), func(n keyFate) bool { return n.cause == of })
		return len(left) < len(fates) && !enough(left)
	}
	at := slices.IndexFunc(causesByRank, short)
	if at < 0 {
		at = slices.IndexFunc(causesByRank, func(c cause) bool {
			return slices.ContainsFunc(fates, func(n keyFate) bool { return n.cause == c })
		})
	}
	c.cause = causesByRank[at]
	for i := range fates {
		if fates[i].cause == c.cause || !short(c.cause) {
			c.events, c.keyFates = append(c.events, fates[i].events...), append(c.keyFates, fates[i])
		}
	}
	c.events = sortedEvents(c.events...)
}

// countFates counts the nodes of the lock on which the fates are.
func (j *judge) countFates(fates []keyFate) int {
	c := j.CountNodes()
	for i := range fates {
		c.Add(fates[i].node)
	}
	return c.N
}

// causesByRank says which cause is told where nodes tell several, each of which is enough: what struck a
// node's memory before what a clock or a client did.
var causesByRank = []cause{onePrimary, replicated, remembers, ownDelete, renewsOwn, lateDelete, keepsOwn, oneKey, setOnce,
	samePace, asksTTL, renewedInTime, actsInTime, tellsTrue, countsEarly, backedByKey, majoritiesMet, notSeen}

// whyRenewed says why the second client, whose lease had run out, could renew it while the first had the lock.
func (j *judge) whyRenewed(first, second *facts.Grant, began int) reason {
	c := reason{cause: staysLost, events: []int{began}, first: first, second: second}
	for i := first.Call; i <= began; i++ {
		if before, renews := j.RenewedOver(i); renews && before.Client == first.Client && j.Event(i).Value.Client == second.Client {
			c.cause, c.events = renewsOwn, append(c.events, i)
			c.keyFates = append(c.keyFates, keyFate{node: j.Event(i).Process, set: before.Set, taken: i, end: i, renewed: -1, cause: renewsOwn})
		}
	}
	c.events = sortedEvents(c.events...)
	return c
}

// keyFates follows the keys of both grants on each node where the second has one. That it has one may be seen after its answer.
func (j *judge) keyFates(first, second *facts.Grant) []keyFate {
	byNode := make(map[string]*keyFate)
	var order []string
	answered := max(first.Return, second.Return)
	for i := range max(answered, second.EndOr(len(j.History.Events))) {
		e := j.Event(i)
		if !slices.Contains(endsKeys, e.F) && e.F != history.KeySet && e.F != history.KeyExtended {
			continue
		}
		n := byNode[e.Process]
		if n == nil {
			n = &keyFate{node: e.Process, set: -1, taken: -1, renewed: -1}
			byNode[e.Process], order = n, append(order, e.Process)
		}
		if n.taken < 0 || i <= answered {
			j.followKey(n, i, first, second)
		}
	}
	var list []keyFate
	byClient := func(n keyFate) bool { return j.Event(n.taken).Value.Client != "" }
	for _, name := range order {
		if n := byNode[name]; n.taken >= 0 {
			list = append(list, *n)
		}
	}
	if slices.ContainsFunc(list, byClient) { // the others copied it
		list = slices.DeleteFunc(list, func(n keyFate) bool { return !byClient(n) })
	}
	return list
}

// endsKeys are the events after which a key is gone, or nobody knows.
var endsKeys = []history.F{history.KeyDeleted, history.KeyExpired, history.KeyUnclear, history.NodeDown}

// followKey takes in an event of a node: what it says of the first client's key there, until the second one's is set.
func (j *judge) followKey(n *keyFate, i int, first, second *facts.Grant) {
	e := j.Event(i)
	if e.F == history.KeySet && j.SetForGrant(e, second) {
		n.taken = i
		return
	}
	if n.taken >= 0 {
		return
	}
	if e.F == history.KeySet && (j.SetForGrant(e, first) || j.copiedFor(e, first)) {
		n.set, n.end, n.due, n.renewed = i, -1, j.ExpiryAfter(e), -1
		return
	}
	leaves := e.F == history.KeySet && (e.Value.Client == "" || j.LeavesOwner(i) && !j.OverwroteByRenewal(i))
	if n.set < 0 || n.end >= 0 || leaves {
		return
	}
	if e.F != history.KeyExtended {
		n.end = i
	} else if !j.KeepsItsEnd(e) {
		n.due, n.renewed = j.ExpiryAfter(e), i
	}
}

// copiedFor reports that a node copied the key of a grant that tells no owner: it has the value that the client set in its attempt.
func (j *judge) copiedFor(e *history.Event, g *facts.Grant) bool {
	if g.Owner != "" || e.Value.Owner == "" || e.Value.Client != "" {
		return false
	}
	for i := g.Return; i > g.Call; i-- {
		if x := j.Event(i); x.F == history.KeySet && x.Value.Client == g.Client {
			return x.Value.Owner == e.Value.Owner
		}
	}
	return false
}

// whyKeyFailed says why the first client's key no longer kept the second out of a node, and by which events.
func (j *judge) whyKeyFailed(n *keyFate, first, second *facts.Grant) (cause, []int) {
	if by := j.oldPrimaryServed(n, first); by != "" {
		return onePrimary, j.faultsThatPromoted(by, n.taken)
	}
	if n.set < 0 {
		return j.whyNeverThere(n, first, second)
	}
	if struck := j.FaultsOn(n.node, n.set, n.taken, history.Kills, history.Forgets); len(struck) > 0 {
		return remembers, struck
	}
	if n.end < 0 {
		if j.At(n.taken) >= n.due {
			return j.whyExpired(n, first, second)
		}
		if bent := j.faultsOnClocks(n, first); bent != nil {
			return samePace, bent
		}
		if j.differInKey(first, second) {
			return oneKey, []int{n.taken}
		}
		return j.whySetOver(n.taken)
	}
	e := j.Event(n.end)
	switch {
	case e.F == history.KeyExpired:
		return j.whyExpired(n, first, second)
	case e.F == history.KeyUnclear:
		return notSeen, []int{second.Return}
	case e.F == history.KeySet:
		if j.OverwroteByRenewal(n.end) {
			return renewsOwn, []int{n.end}
		}
		return j.whySetOver(n.end)
	case e.Value.Client == "":
		return remembers, []int{n.end} // the node did it by itself: it went down, evicted the key, or was flushed
	case e.Value.Client != first.Client:
		return ownDelete, []int{n.end}
	case n.end < first.Call:
		return backedByKey, []int{first.Return}
	case j.faultThatHeldUpDelete(n, first) >= 0:
		return lateDelete, []int{n.end}
	}
	return keepsOwn, []int{n.end}
}

// differInKey reports that the clients of two grants have different keys for the lock.
func (j *judge) differInKey(a, b *facts.Grant) bool {
	h := &j.History.Header
	return h.LockOf(a.Client).LockKey != h.LockOf(b.Client).LockKey
}

// whySetOver says why a client set a key over that of another: its own clock can have told it that the lease in the key was over.
func (j *judge) whySetOver(set int) (cause, []int) {
	var bent []int
	for i := range j.Faults {
		if f := &j.Faults[i]; f.Begin < set && f.StrikesClient(history.BendsClock, j.Event(set).Value.Client) {
			bent = append(bent, f.Begin)
		}
	}
	if len(bent) > 0 {
		return samePace, bent
	}
	return setOnce, []int{set}
}

// whyNeverThere says why a node had no key of the first client.
func (j *judge) whyNeverThere(n *keyFate, first, second *facts.Grant) (cause, []int) {
	if j.PromotedBetween(n.node, first.Call, max(first.Return, second.Return)) {
		return replicated, j.faultsThatPromoted(n.node, max(first.Return, second.Return))
	}
	mine, its := j.Event(first.Return).Value.Nodes(), j.Event(second.Return).Value.Nodes()
	switch has := j.NodesSetFor(first); {
	case slices.ContainsFunc(its, func(node string) bool { return slices.Contains(mine, node) }):
		return notSeen, []int{second.Return} // the nodes tell less than the clients
	case has == 0:
		return backedByKey, []int{first.Return}
	case has < j.NodesSetFor(second):
		return majoritiesMet, []int{first.Return}
	}
	return majoritiesMet, []int{second.Return}
}

// faultThatHeldUpDelete is the fault that had held up what deleted a client's own key, a command of an earlier release or try: the
// fault began when the client had asked for the lock, and before the key was set, and the key was deleted before the fault
// was over or right after. It is -1 where the client deleted the key otherwise.
func (j *judge) faultThatHeldUpDelete(n *keyFate, first *facts.Grant) int {
	if j.RenewalUnderWay(first.Client, n.end) {
		return -1 // it renewed
	}
	asked := j.Ops[j.Attempts[first.Client][0]].Call
	for i := range j.Faults {
		f := &j.Faults[i]
		held := func(s history.Strike) bool {
			between := func(l history.Link) bool {
				return l.From == first.Client && l.To == n.node || l.From == n.node && l.To == first.Client
			}
			stops := s.Does == history.Stops && (slices.Contains(s.Clients, first.Client) || slices.Contains(s.Nodes, n.node))
			return stops || slices.ContainsFunc(s.Links, between)
		}
		soon := f.End < 0 || j.At(n.end) < j.At(f.End)+10*stampsAreLate
		if asked < f.Begin && f.Begin < n.set && soon && slices.ContainsFunc(f.Strikes, held) {
			return f.Begin
		}
	}
	return -1
}

// oldPrimaryServed is the node that had become the primary when one of the two clients had its key set or renewed at a node that had been
// it before; empty where that was not so.
func (j *judge) oldPrimaryServed(n *keyFate, first *facts.Grant) string {
	now, been := "", map[string]bool{j.firstPrimary(n.node): true}
	for i := range n.taken + 1 {
		e := j.Event(i)
		if j.ClusterOf(e.Process) != j.ClusterOf(n.node) {
			continue
		}
		if e.F == history.NodePromoted {
			now, been[e.Process] = e.Process, true
			continue
		}
		byClient := (e.F == history.KeySet || e.F == history.KeyExtended) && e.Value.Client != ""
		if !byClient || now == "" || e.Process == now || !been[e.Process] {
			continue
		}
		if i == n.taken || e.Value.Client == first.Client && j.SetForGrant(e, first) {
			return now
		}
	}
	return ""
}

// faultsThatPromoted is the last fault before an event that made a node the primary. Where others promoted it, it is the first that
// struck the primary before, or its ways to them; without any it is the promotion itself.
func (j *judge) faultsThatPromoted(node string, before int) []int {
	if struck := j.FaultsOn(node, -1, before, history.Promotes); len(struck) > 0 {
		return struck[len(struck)-1:]
	}
	promoted, old := -1, j.firstPrimary(node)
	for i := range before {
		e := j.Event(i)
		if e.F != history.NodePromoted || j.ClusterOf(e.Process) != j.ClusterOf(node) {
			continue
		}
		if e.Process == node {
			promoted = i
		} else if promoted < 0 {
			old = e.Process
		}
	}
	for i := range j.Faults {
		f := &j.Faults[i]
		strikes := func(s history.Strike) bool {
			link := func(l history.Link) bool {
				return l.From == old && !j.isClient(l.To) || l.To == old && !j.isClient(l.From)
			}
			return s.Does != history.BendsClock && (slices.Contains(s.Nodes, old) || slices.ContainsFunc(s.Links, link))
		}
		if f.Begin < promoted && slices.ContainsFunc(f.Strikes, strikes) {
			return []int{f.Begin}
		}
	}
	return sortedEvents(promoted)
}

// firstPrimary is the primary at the start of the servers that a node is one of: of its cluster, or of all; empty: there is none.
func (j *judge) firstPrimary(node string) string {
	servers := j.Beside(node)
	if servers == nil {
		servers = j.History.Header.Nodes
	}
	if len(servers) == 0 {
		return ""
	}
	return servers[0]
}

func (j *judge) isClient(name string) bool { return slices.Contains(j.History.Header.Clients, name) }

// whyExpired says why the first client's key ended by itself before its promise.
func (j *judge) whyExpired(n *keyFate, first, second *facts.Grant) (cause, []int) {
	if n.end >= 0 && n.end < first.Call || n.end < 0 && n.due < j.At(first.Call) {
		return backedByKey, []int{first.Return}
	}
	if bent := j.faultsOnClocks(n, first); bent != nil {
		return samePace, bent
	}
	if short := j.askedForLess(n, first); short >= 0 {
		return asksTTL, []int{short}
	}
	if n.end >= 0 && j.At(n.end)+stampsAreLate < n.due {
		return remembers, []int{n.end} // the node let it go before its end
	}
	if first.Until.EndedBefore(j.At(second.Return)) {
		var renewed []int
		for _, x := range first.Renewals {
			if x.Until >= j.At(second.Return) {
				renewed = append(renewed, x.Return)
			}
		}
		if len(renewed) == 0 {
			return actsInTime, []int{first.Return} // it heard of its grant when its lease was over
		}
		return renewedInTime, renewed
	}
	if j.toldTooLongValidity(first) {
		return tellsTrue, []int{first.Return}
	}
	return countsEarly, []int{first.Return}
}

// toldTooLongValidity reports that a lock program told of a validity that is too long even if it
// counted from the answer: a unit was mistaken.
func (j *judge) toldTooLongValidity(g *facts.Grant) bool {
	told := j.Event(g.Return).Value.ValidUntil()
	return j.History.Header.Quorum > 0 && j.GivenTTL("") > 0 && told.IsSet() &&
		time.Duration(told.V()) > j.LatestTrueEnd(g.Client, j.At(g.Return))
}

// askedForLess is the event by which the first client asked for its key for less than the TTL that its lock was given, -1 for none: of a
// lock program as asks-its-ttl says, of a lock of sim its last renewal.
func (j *judge) askedForLess(n *keyFate, first *facts.Grant) int {
	if _, short := j.AskedTooLittle(first); short >= 0 && short < n.taken {
		return short
	}
	for i := n.taken - 1; i > first.Return && j.History.Header.Quorum == 0; i-- {
		if e := j.Event(i); e.F == history.KeyExtended && e.Process == n.node && e.Value.Client == first.Client {
			if e.Value.TTL().IsSet() && e.Value.TTL().V() < int64(j.TTL(first.Client))/2 {
				return i
			}
			return -1
		}
	}
	return -1
}

// faultsOnClocks are the faults that had bent the clock of the node, so that the key went before its end, or that of the first client, by
// the time the second set its key.
func (j *judge) faultsOnClocks(n *keyFate, first *facts.Grant) (begins []int) {
	early := n.end < 0 || j.At(n.end) < n.due
	for i := range j.Faults {
		f := &j.Faults[i]
		if f.Begin < n.taken && (early && f.StrikesNode(history.BendsClock, n.node) || f.StrikesClient(history.BendsClock, first.Client)) {
			begins = append(begins, f.Begin)
		}
	}
	return begins
}

// whyUnseen names the cause by the faults alone, where the nodes told nothing: that of the only kind of fault which can
// have taken keys away.
func (j *judge) whyUnseen(first, second *facts.Grant) reason {
	c := reason{cause: leavesKey, events: []int{second.Return}, first: first, second: second}
	elsewhere := j.History.Header.Program != "" && j.History.Header.Quorum == 0
	if j.FirstUnclear >= 0 || elsewhere || len(j.History.Header.Nodes) == 0 {
		c.cause = notSeen
	}
	causes := map[history.Does]cause{
		history.Promotes: replicated, history.Forgets: remembers, history.Kills: remembers, history.BendsClock: samePace}
	found := make(map[cause]bool)
	for i := range j.Faults {
		f := &j.Faults[i]
		if j.At(f.Begin) > j.At(second.Return) || j.At(f.End) < j.At(first.Call) {
			continue
		}
		for _, s := range f.Strikes {
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

// stampsAreLate is by how much the stamps of a key's events can be late, as far as a cause is concerned.
const stampsAreLate = 10 * time.Millisecond

// clashingGrants are two grants whose clients were inside their validity at once, the earlier
// first; nil where they were not.
func (j *judge) clashingGrants(leases []facts.Holding, a, b *facts.Grant) (first, second *facts.Grant) {
	if a == nil || b == nil || a.Client == b.Client || a.Lock != b.Lock {
		return nil, nil
	}
	of := func(g *facts.Grant) (list []facts.Holding) {
		for _, h := range leases {
			if began := &j.Grants[h.Grant]; began.Client == g.Client && began.Lock == g.Lock && h.From <= j.At(g.Return) && j.At(g.Return) < h.To {
				list = append(list, h)
			}
		}
		return list
	}
	for _, p := range of(a) {
		for _, q := range of(b) {
			if max(p.From, q.From) < min(p.To, q.To) {
				if p.From > q.From {
					return b, a
				}
				return a, b
			}
		}
	}
	return nil, nil
}
