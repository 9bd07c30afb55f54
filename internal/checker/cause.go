package checker

import (
	"cmp"
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/checker/facts"
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
	replicated      cause = "that a node has the lock's key before it becomes the primary"
	onePrimary      cause = "that one node alone serves as the primary at any time"
	ownDelete       cause = "that only its owner deletes a key of the lock"
	renewsOwn       cause = "that a renewal touches the key of its own client alone"
	keepsOwn        cause = "that a lock leaves its own keys alone while its client holds it"
	lateDelete      cause = "that a late release of one attempt leaves the keys of the next alone"
	setOnce         cause = "that a key of the lock is set only where there is none"
	oneKey          cause = "that all clients have one key for the lock"
	backedByKey     cause = "that a client which believes in a grant has keys for it"
	renewedInTime   cause = "that a renewal counts only where enough nodes took it in time"
	countsEarly     cause = "that a promise counts from before its request was sent"
	majoritiesMet   cause = "that any two grants have a node in common"
	fenceOrders     cause = "that the resource refuses a token older than the highest that it has seen"
	tokensDiffer    cause = "that no two grants have the same token"
	staysLost       cause = "that a lease which ran out stays lost"
	doneOnce        cause = "that a job takes longer than the difference between the clocks of its schedulers"
	keptForTick     cause = "that the lock is kept until the clocks of all clients have shown the tick"
	replicatedCount cause = "that a replica has the last token before it becomes the primary"
	remembersCount  cause = "that a node remembers the tokens that it has given"
	oneCount        cause = "that tokens counted on different nodes have one order"
	countsUp        cause = "that the counter of the tokens never goes back"
	drawnInOrder    cause = "that tokens which are drawn, not counted, have an order"
	permitTaken     cause = "that what a client holds stays its own until it is given back, or has ended"
	permitClock     cause = "that all clocks agree on when a client's hold has ended"
	permitOnce      cause = "that a hold which has ended is not given back once more"
	permitUnheld    cause = "that an attempt which got nothing gives nothing back"
	upgradeAnswered cause = "that a reader which asks to write is answered, and told no where others who read ask the same"
	permitReturns   cause = "that what a dead client held comes back"
	servesInOrder   cause = "that a lock which says so serves those who ask in their order"
	servesAll       cause = "that everybody who waits gets the lock in the end"
	placeEnds       cause = "that a client which dies while it waits keeps no place before others"
	leavesKey       cause = "that whoever is granted the lock leaves a key that keeps others out"
	goesOn          cause = "that a client goes on without a node that does not serve it"
	reconnects      cause = "that a client gives up a connection that has gone silent"
	givesWay        cause = "that clients which ask at once do not keep the lock from each other for ever"
	asksAgain       cause = "that a client which waits asks again, or is woken, while the lock is free"
	keyGoes         cause = "that every key is deleted by its owner or expires by itself"
	hasTTL          cause = "that a key gets its TTL when it is set"
	releasedAlive   cause = "that the holder of a lock without a TTL lives until it has given it back"
	notRenewed      cause = "that nobody renews a key which its owner no longer wants"
	comesInTime     cause = "that no command arrives of an attempt which is over"
	keptLock        cause = "that a holder gives the lock back, or loses it"
	notSeen         cause = "not known: the nodes do not show what became of the first holder's keys"
	tokenWithGrant  cause = "that a token is drawn in the order of the grants"
	asksTTL         cause = "that a lock asks its nodes for the TTL that it was given"
	tellsTrue       cause = "that a lock is valid for as long as it tells"
	saysAtRelease   cause = "that a release says when it gave nothing back"
	tellsTrueLoss   cause = "that a loss is told only where a majority of the nodes does not keep the lock, or cannot be asked"
	goesOnRunning   cause = "that a client's program goes on, whatever happens to its connections and to the nodes"
	takesAllBack    cause = "that an attempt which is over has taken back all that it set, and that nothing of it arrives later"
	servesHolder    cause = "that the resource refuses a token only after it has seen a newer one"
	holderWrites    cause = "that only the holder of the lock writes, each on top of the last write"
)

// whyLate finds why an effect came after the end of its client's promise.
func (j *judge) whyLate(x *facts.Effect, g *facts.Grant) reason {
	c := reason{cause: actsInTime, events: []int{x.Event}}
	if admitted, found := j.whyAdmitted(x); found {
		c.cause = admitted
		return c
	}
	held := j.faultsThatHeldUp(g, x.From)
	if x.Write >= 0 && j.sentInTime(x.Write, g, x.Event) {
		c.cause, held = arrivesInTime, j.faultsOnWayToResource(x)
	}
	c.events = append(c.events, held...)
	return c
}

// faultsOnWayToResource are the faults that held up a write on its way, or the resource.
func (j *judge) faultsOnWayToResource(x *facts.Effect) (begins []int) {
	for i := range j.Faults {
		f := &j.Faults[i]
		strikes := func(s history.Strike) bool {
			way := func(l history.Link) bool { return l.From == x.Client() && l.To == history.ResourceProcess }
			return s.Resource || slices.ContainsFunc(s.Links, way)
		}
		if f.Begin < x.Event && (f.End < 0 || f.End > j.Ops[x.Write].Call) && slices.ContainsFunc(f.Strikes, strikes) {
			begins = append(begins, f.Begin)
		}
	}
	return begins
}

// sentInTime reports that a client asked for a write before its promise was over and
// was not stopped between that and an event: it acted in time, and the write came late.
func (j *judge) sentInTime(write int, g *facts.Grant, event int) bool {
	call := j.Ops[write].Call
	if g.LastPromise().EndedBefore(j.At(call)) {
		return false
	}
	for i := range j.Faults {
		f := &j.Faults[i]
		if f.Begin < event && (f.End < 0 || f.End > call) && f.StrikesClient(history.Stops, g.Client) {
			return false
		}
	}
	return true
}

// whyAdmitted says what a fence took for granted that let an old token pass; not found
// where the effect came without a token, or no other client had come with a newer one.
func (j *judge) whyAdmitted(x *facts.Effect) (c cause, found bool) {
	if !j.History.Header.ChecksOrder {
		return "", false
	}
	for i := range j.Effects {
		y := &j.Effects[i]
		if y.Event >= x.Event {
			break
		}
		if !x.Token().IsSet() || !y.Token().IsSet() || !y.Accepted || y.Client() == x.Client() {
			continue
		}
		switch cmp.Compare(y.Token().V(), x.Token().V()) {
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
func (j *judge) whyBroken(sections []*facts.Section, impossible *facts.Section) reason {
	for _, x := range sections {
		if w := j.DecisiveWrite(x); w >= 0 {
			if e := j.AcceptedEffect(w); e != nil {
				if c, found := j.whyAdmitted(e); found {
					return reason{cause: c, events: []int{j.SectionEnd(x)}}
				}
			}
		}
	}
	leases := j.Leases()
	for i, x := range sections {
		for _, y := range sections[i+1:] {
			a, b := j.clashingGrants(leases, j.GrantBefore(x.Client, j.SectionBegin(x)), j.GrantBefore(y.Client, j.SectionBegin(y)))
			// One that wrote too late would have done so without the other, too.
			if a != nil && !j.sectionIsLate(x) && !j.sectionIsLate(y) {
				c := j.whyGranted(a, b, b.Return)
				if c.cause == renewedInTime { // without the renewals it would have been too late
					c.events = append(c.events, j.SectionEnd(x), j.SectionEnd(y))
				}
				return c
			}
		}
	}
	for _, x := range sections {
		g := j.GrantBefore(x.Client, j.SectionBegin(x))
		if g == nil {
			continue
		}
		c := reason{cause: actsInTime, events: []int{j.SectionEnd(x)}}
		if j.renewedAfterEnd(g) {
			c.cause, c.first = staysLost, g
			return c
		}
		if !j.sectionIsLate(x) {
			continue
		}
		if w := j.DecisiveWrite(x); w >= 0 && j.sentInTime(w, g, j.SectionEnd(x)) {
			c.cause = arrivesInTime
		}
		return c
	}
	c := reason{cause: holderWrites, events: []int{j.SectionEnd(impossible)}}
	if j.CellData(sections[0].Key) == workload.JobsData {
		c.cause = doneOnce
	}
	return c
}

// sectionIsLate reports that a section was over when the promise of its client's grant was.
func (j *judge) sectionIsLate(x *facts.Section) bool {
	g := j.GrantBefore(x.Client, j.SectionBegin(x))
	return g != nil && g.LastPromise().EndedBefore(j.At(j.SectionEnd(x)))
}

// renewedAfterEnd reports that a grant was renewed after its promise was over.
func (j *judge) renewedAfterEnd(g *facts.Grant) bool {
	until := g.Until
	for _, x := range g.Renewals {
		if until.EndedBefore(j.At(x.Return)) {
			return true
		}
		until.End = max(until.End, x.Until)
	}
	return false
}

// whyUnordered finds why a later grant has no larger token.
func (j *judge) whyUnordered(first, second *facts.Grant) reason {
	c := reason{cause: oneCount, events: []int{second.Return}}
	struck := func(does ...history.Does) (begins []int) {
		for _, n := range j.History.Header.Nodes {
			begins = append(begins, j.FaultsOn(n, first.Call, second.Return, does...)...)
		}
		return begins
	}
	promoted := slices.IndexFunc(j.History.Header.Nodes, func(n string) bool { return j.PromotedBetween(n, first.Call, second.Return) })
	lost := struck(history.Kills, history.Forgets)
	switch {
	case promoted >= 0:
		c.cause, c.events = replicatedCount, j.faultsThatPromoted(j.History.Header.Nodes[promoted], second.Return)
	case len(lost) > 0:
		c.cause, c.events = remembersCount, lost
	case min(first.Token.V(), second.Token.V()) > drawnAbove:
		c.cause = drawnInOrder
	case second.Call < first.Return:
		c.cause = tokenWithGrant
	case len(j.History.Header.Nodes) == 1:
		c.cause = countsUp
	}
	return c
}

// drawnAbove is what no counter of a run comes to: a token above it was drawn otherwise.
const drawnAbove = 1 << 40
