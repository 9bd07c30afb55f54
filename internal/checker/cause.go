package checker

import (
	"cmp"
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/scenario/workload"
)

// cause names what a violation shows to have been assumed in vain. Each class of
// violation has one; docs/reference/checker.md lists what shows it.
type cause string

const (
	actsInTime      cause = "that a holder acts before its lease runs out"
	arrivesInTime   cause = "that a write which is sent in time arrives in time"
	samePace        cause = "that the clocks of the nodes and of the clients run at the same pace"
	remembers       cause = "that a node remembers the keys that it has granted"
	replicated      cause = "that a replica has the lock's key before it becomes the primary"
	onePrimary      cause = "that one node alone serves as the primary at any time"
	ownDelete       cause = "that only its owner deletes a key of the lock"
	renewsOwn       cause = "that a renewal touches the key of its own client alone"
	keepsOwn        cause = "that a lock leaves its own keys alone while its client holds it"
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
	countsUp        cause = "that the counter of the tokens never goes back"
	drawnInOrder    cause = "that tokens which are drawn, not counted, have an order"
	leavesKey       cause = "that whoever is granted the lock leaves a key that keeps others out"
	goesOn          cause = "that a client goes on without a node that does not answer"
	givesWay        cause = "that clients which ask at once do not keep the lock from each other for ever"
	keyGoes         cause = "that every key is deleted by its owner or expires by itself"
	hasTTL          cause = "that a key gets its TTL when it is set"
	notRenewed      cause = "that nobody renews a key which its owner no longer wants"
	comesInTime     cause = "that no command arrives of an attempt which is over"
	keptLock        cause = "that a holder gives the lock back, or loses it"
	notSeen         cause = "not known: the nodes do not show what became of the first holder's keys"
	tokenWithGrant  cause = "that a token is drawn in the order of the grants"
	asksTTL         cause = "that a lock asks its nodes for the TTL that it was given"
	tellsTrue       cause = "that a lock is valid for as long as it tells"
	servesHolder    cause = "that the resource refuses a token only after it has seen a newer one"
	holderWrites    cause = "that only the holder of the lock writes, each on top of the last write"
)

// whyLate finds why an effect came after the end of its client's promise.
func (v *view) whyLate(x *effect, g *grant) culprit {
	c := culprit{cause: actsInTime, events: []int{x.event}}
	if admitted, found := v.whyAdmitted(x); found {
		c.cause = admitted
		return c
	}
	held := v.heldUp(g, x.from)
	if x.write >= 0 && v.sentInTime(x.write, g, x.event) {
		c.cause, held = arrivesInTime, v.wayToResource(x)
	}
	c.events = append(c.events, held...)
	return c
}

// wayToResource are the faults that held up a write on its way, or the resource.
func (v *view) wayToResource(x *effect) (begins []int) {
	for i := range v.faults {
		f := &v.faults[i]
		strikes := func(s history.Strike) bool {
			way := func(l history.Link) bool { return l.From == x.client() && l.To == history.ResourceProcess }
			return s.Resource || slices.ContainsFunc(s.Links, way)
		}
		if f.begin < x.event && (f.end < 0 || f.end > v.ops[x.write].Call) && slices.ContainsFunc(f.strikes, strikes) {
			begins = append(begins, f.begin)
		}
	}
	return begins
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
func (v *view) whyBroken(sections []*section, impossible *section) culprit {
	for _, x := range sections {
		if w := v.decisiveWrite(x); w >= 0 {
			if e := v.acceptedEffect(w); e != nil {
				if c, found := v.whyAdmitted(e); found {
					return culprit{cause: c, events: []int{v.closes(x)}}
				}
			}
		}
	}
	leases := v.leases()
	for i, x := range sections {
		for _, y := range sections[i+1:] {
			a, b := v.clashOf(leases, v.grantBefore(x.client, v.opens(x)), v.grantBefore(y.client, v.opens(y)))
			// One that wrote too late would have done so without the other, too.
			if a != nil && !v.late(x) && !v.late(y) {
				c := v.whyGranted(a, b, b.ret)
				if c.cause == renewedInTime { // without the renewals it would have been too late
					c.events = append(c.events, v.closes(x), v.closes(y))
				}
				return c
			}
		}
	}
	for _, x := range sections {
		g := v.grantBefore(x.client, v.opens(x))
		if g == nil {
			continue
		}
		c := culprit{cause: actsInTime, events: []int{v.closes(x)}}
		if v.revived(g) {
			c.cause, c.first = staysLost, g
			return c
		}
		if !v.late(x) {
			continue
		}
		if w := v.decisiveWrite(x); w >= 0 && v.sentInTime(w, g, v.closes(x)) {
			c.cause = arrivesInTime
		}
		return c
	}
	c := culprit{cause: holderWrites, events: []int{v.closes(impossible)}}
	if v.data(sections[0].key) == workload.JobsData {
		c.cause = doneOnce
	}
	return c
}

// late reports that a section was over when the promise of its client's grant was.
func (v *view) late(x *section) bool {
	g := v.grantBefore(x.client, v.opens(x))
	return g != nil && g.lastPromise().over(v.at(v.closes(x)))
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
func (v *view) whyUnordered(first, second *grant) culprit {
	c := culprit{cause: oneCount, events: []int{second.ret}}
	struck := func(does ...history.Does) (begins []int) {
		for _, n := range v.h.Header.Nodes {
			begins = append(begins, v.struckBy(n, first.call, second.ret, does...)...)
		}
		return begins
	}
	promoted := slices.IndexFunc(v.h.Header.Nodes, func(n string) bool { return v.promotedBetween(n, first.call, second.ret) })
	lost := struck(history.Kills, history.Forgets)
	switch {
	case promoted >= 0:
		c.cause, c.events = replicatedCount, v.promotion(v.h.Header.Nodes[promoted], second.ret)
	case len(lost) > 0:
		c.cause, c.events = remembersCount, lost
	case min(first.token.V(), second.token.V()) > drawnAbove:
		c.cause = drawnInOrder
	case second.call < first.ret:
		c.cause = tokenWithGrant
	case len(v.h.Header.Nodes) == 1:
		c.cause = countsUp
	}
	return c
}

// drawnAbove is what no counter of a run comes to: a token above it was drawn otherwise.
const drawnAbove = 1 << 40

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
