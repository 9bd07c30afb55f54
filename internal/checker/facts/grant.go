package facts

import (
	"slices"
	"sort"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// Grant is an acquire that was answered OK, as its client saw it.
type Grant struct {
	Client, Lock, Owner string
	Token               history.Int
	// Shared: it is a reader's.
	Shared bool
	// op is the acquire in Facts.Ops; Call and Return are its events.
	op, Call, Return int
	// Until is the promise as it was given with the grant, or before a loss of it.
	Until    Promise
	Renewals []Renewal
	// longestUntil is, for some of the first renewals, the latest end of each and those before it.
	longestUntil []time.Duration
	// End is the event at which the client's belief ended, -1 where it never
	// did; Ending says what kind of end it was.
	End    int
	Ending Ending
	// release is the operation in Facts.Ops that gave it back, or dropped it, where one did.
	release int
	// Outer is the grant that this one re-entered, -1 for none. around is that, or the one in whose section it was asked for.
	Outer, around int
	// byItsClock: nothing but a clock that the client read itself, nobody knows when, says when the lease is over.
	byItsClock bool
	// loss is the event in which the lock told that it had lost the grant, -1 where it never
	// did; lostAt is its instant, lostError how much earlier it can have been. unlost is the last promise as if it had
	// not told.
	loss              int
	lostAt, lostError time.Duration
	unlost            Promise
}

// Ending says how a belief ended.
type Ending uint8

// How a belief ended.
const (
	Endless    Ending = iota // held to the end of the history
	Released                 // the client asked to release
	Dropped                  // the client forgot it
	Killed                   // the client was killed, or its lock program ended
	Superseded               // the client asked for the lock anew
)

// Holder names whose grants of which lock belong together.
type Holder struct{ Client, Lock string }

// collectGrants follows every client through the history. A client has several
// grants open only where it re-entered, which shows by the owner value being the
// same, or asked inside a section.
func (f *Facts) collectGrants() {
	open := make(map[Holder][]int)
	reenters := make(map[int]bool)  // acquires by which clients enter again what they have
	early := make(map[string][]int) // losses that were told since each client asked for its lock
	for i, begun := 0, 0; i < len(f.History.Events); i++ {
		e, op := &f.History.Events[i], int(f.OpAt[i])
		switch {
		case e.F == history.FaultBegin:
			if fault := &f.Faults[begun]; fault.Does(history.Kills) {
				f.endKilled(open, i, func(client string) bool { return fault.StrikesClient(history.Kills, client) })
			}
			begun++
		case e.F == history.ProgramEnded:
			f.endKilled(open, i, func(client string) bool { return client == e.Process })
		case e.F == history.Lost:
			early[e.Process] = append(early[e.Process], i)
			for _, g := range open[Holder{e.Process, e.Value.Lock()}] {
				f.noteLoss(&f.Grants[g], i)
			}
		case e.F == history.Acquire && e.Type == history.Invoke:
			if f.endReplaced(open, op) {
				reenters[op] = true
			}
			delete(early, e.Process)
		case e.F == history.Acquire && e.Type == history.OK && op >= 0:
			f.addGrant(open, op, reenters[op])
			for _, loss := range early[e.Process] {
				f.noteLoss(&f.Grants[len(f.Grants)-1], loss)
			}
		case e.F == history.Extend && e.Type == history.OK && op >= 0:
			f.addRenewal(open, op)
		case e.F == history.Release && e.Type == history.Invoke:
			f.endLatest(open, op, Released)
		case e.F == history.Forget && e.Type == history.Invoke:
			f.endLatest(open, op, Dropped)
		}
	}
}

// endKilled ends the beliefs of the clients that an event kills.
func (f *Facts) endKilled(open map[Holder][]int, event int, kills func(client string) bool) {
	for k, list := range open {
		if !kills(k.Client) {
			continue
		}
		for _, g := range list {
			f.Grants[g].End, f.Grants[g].Ending = event, Killed
		}
		delete(open, k)
	}
}

// HolderOf finds the lock that an operation is about: its completion may name it
// where its invocation did not.
func (f *Facts) HolderOf(op int) Holder {
	o := &f.Ops[op]
	k := Holder{o.Process, f.Event(o.Call).Value.Lock()}
	if k.Lock == "" && o.Return >= 0 {
		k.Lock = f.Event(o.Return).Value.Lock()
	}
	return k
}

// ownerOf finds the owner value of an operation in the same way.
func (f *Facts) ownerOf(op int) string {
	o := &f.Ops[op]
	owner := f.Event(o.Call).Value.Owner
	if owner == "" && o.Return >= 0 {
		owner = f.Event(o.Return).Value.Owner
	}
	return owner
}

// endReplaced takes note that a client asks for a lock anew. Whatever comes of it, a client
// that asks anew without re-entering has given up what it held before. It reports that the client enters again what it has.
func (f *Facts) endReplaced(open map[Holder][]int, op int) (reenters bool) {
	k := f.HolderOf(op)
	list := open[k]
	if len(list) == 0 {
		return false
	}
	inner := f.IsInner(op)
	if inner && f.History.Header.Modes && !f.IsShared(op) && f.Grants[list[len(list)-1]].Shared {
		f.Upgrades = append(f.Upgrades, op)
		return false
	}
	if f.Ops[op].Type == history.OK {
		owner, latest := f.ownerOf(op), f.Grants[list[len(list)-1]].Owner
		same := owner != "" && owner == latest || inner && (owner == "" || latest == "")
		if same && !f.takesAnew(op) {
			return true
		}
	}
	if inner {
		return false // it works on with what it has
	}
	for _, g := range list {
		f.Grants[g].End, f.Grants[g].Ending = f.Ops[op].Call, Superseded
	}
	delete(open, k)
	return false
}

// IsInner reports that an acquire was asked for inside a section of its client.
func (f *Facts) IsInner(op int) bool { return f.Event(f.Ops[op].Call).Value.Inner() }

// IsShared reports that an acquire is a reader's.
func (f *Facts) IsShared(op int) bool { return f.Event(f.Ops[op].Call).Value.Shared() }

// takesAnew reports that the keys of a lock program's lock were gone on enough nodes, and that its client set them while it asked: what
// it got then is no re-entry, whatever its owner value is.
func (f *Facts) takesAnew(op int) bool {
	if f.History.Header.Quorum == 0 {
		return false
	}
	o, owner := &f.Ops[op], f.ownerOf(op)
	var nodes []string
	for i := o.Call; i <= o.Return; i++ {
		e := f.Event(i)
		if e.F == history.KeySet && e.Value.Client == o.Process && (owner == "" || e.Value.Owner == owner) && f.ConcernsLock(e) && f.wasGone(i) &&
			!slices.Contains(nodes, e.Process) {
			nodes = append(nodes, e.Process)
		}
	}
	return len(nodes) >= f.Quorum()
}

// wasGone reports that a node had told, before it set a key, that this key had ended.
func (f *Facts) wasGone(set int) bool {
	key := f.Event(set)
	for i := set - 1; i >= 0; i-- {
		e := f.Event(i)
		if e.Process != key.Process || e.Value.Key != key.Value.Key {
			continue
		}
		switch e.F {
		case history.KeyExpired, history.KeyDeleted:
			return true
		case history.KeySet, history.KeyExtended, history.KeyUnclear:
			return false
		}
	}
	return false
}

// addGrant takes note of a grant. What its client still holds of the lock it has
// re-entered.
func (f *Facts) addGrant(open map[Holder][]int, op int, reenters bool) {
	o := &f.Ops[op]
	k, e := f.HolderOf(op), f.Event(o.Return)
	g := Grant{Client: o.Process, Lock: k.Lock, Owner: f.ownerOf(op), Token: e.Value.Token, Shared: f.IsShared(op), op: op,
		Call: o.Call, Return: o.Return, Until: promiseUntil(e.Value.ValidUntil()), End: -1, Outer: -1, around: -1, loss: -1}
	list := open[k]
	if n := len(list); n > 0 {
		g.around = list[n-1]
		if reenters {
			g.Outer = g.around
			g.Shared = f.Grants[g.Outer].Shared // it works on with what it has
		}
	}
	open[k] = append(list, len(f.Grants))
	f.byClient[g.Client] = append(f.byClient[g.Client], len(f.Grants))
	if f.byHolder[k] == nil {
		f.locks[k.Client] = append(f.locks[k.Client], k.Lock)
	}
	f.byHolder[k] = append(f.byHolder[k], len(f.Grants))
	f.Grants = append(f.Grants, g)
}

// endLatest ends the grant that a release is about, or that a client forgets: the latest with the owner value of the operation, or
// else the latest.
func (f *Facts) endLatest(open map[Holder][]int, op int, how Ending) {
	k := f.HolderOf(op)
	list := open[k]
	if len(list) == 0 {
		return
	}
	at, owner := len(list)-1, f.ownerOf(op)
	for i := at; owner != "" && i >= 0; i-- {
		if f.Grants[list[i]].Owner == owner {
			at = i
			break
		}
	}
	g := &f.Grants[list[at]]
	g.End, g.Ending, g.release = f.Ops[op].Call, how, op
	if open[k] = list[:len(list)-1]; at < len(list)-1 {
		open[k] = slices.Concat(list[:at], list[at+1:])
	}
}

// addRenewal lengthens the open grants that a renewal is about. A re-entrant hold has
// one lease, so there can be several; a renewal that names another owner value
// belongs to a grant that is gone.
func (f *Facts) addRenewal(open map[Holder][]int, op int) {
	o := &f.Ops[op]
	until := f.Event(o.Return).Value.ValidUntil()
	if !until.IsSet() {
		return
	}
	for _, i := range open[f.HolderOf(op)] {
		if g := &f.Grants[i]; f.IsRenewedBy(g, op) {
			g.Renewals = append(g.Renewals, Renewal{f.At(o.Call), o.Return, time.Duration(until.V())})
		}
	}
}

// IsRenewedBy reports that a renewal of the client and lock of a grant is one of this grant.
func (f *Facts) IsRenewedBy(g *Grant, op int) bool {
	owner := f.ownerOf(op)
	return f.Ops[op].Call > g.Call && (owner == "" || g.Owner == "" || owner == g.Owner)
}

// EndOr is the event that ended the belief in a grant, or another where none did.
func (g *Grant) EndOr(event int) int {
	if g.End < 0 {
		return event
	}
	return g.End
}

// OpenAt reports that the belief in a grant is open when an event comes.
func (g *Grant) OpenAt(event int) bool { return g.End < 0 || event < g.End }

// ReleaseOf is the operation that gave a grant back, nil where none did.
func (f *Facts) ReleaseOf(g *Grant) *history.Op {
	if g.Ending != Released {
		return nil
	}
	return &f.Ops[g.release]
}

// BelievedUntil is the end of the client's belief in a grant; Forever where the
// history ended first.
func (f *Facts) BelievedUntil(g *Grant) time.Duration { return f.At(g.End) }

// FreeFrom is when the lock could be had again for all that is known of a
// grant: released, or its promise over. A client that was killed, that forgot it, or that asked
// anew, keeps its lease, where it has one; Forever where nothing ends it.
func (f *Facts) FreeFrom(g *Grant) time.Duration {
	last := g.LastPromise()
	if g.loss >= 0 {
		last = g.unlost
	}
	at := last.EarlierOf(Forever)
	if g.Ending == Released && f.Ops[g.release].Type != history.Info {
		at = min(at, f.At(f.Ops[g.release].Return))
	}
	if !last.Given && g.Ending == Dropped {
		at = min(at, f.At(g.End))
	}
	if !last.Given {
		at = min(at, f.At(f.KilledBetween(g.Client, g.Return, -1)), f.At(f.askedAnewAfter(g)))
	}
	return at
}

// GivenBack is when a grant was given back: when the release was answered with a yes. False: it never was.
func (f *Facts) GivenBack(g *Grant) (at time.Duration, ok bool) {
	if g.Ending != Released || f.Ops[g.release].Type != history.OK {
		return 0, false
	}
	return f.At(f.Ops[g.release].Return), true
}

// askedAnewAfter is the event in which the client of a grant first asked for the lock
// anew without re-entering, -1 where it never did.
func (f *Facts) askedAnewAfter(g *Grant) int {
	acquires := f.Attempts[g.Client]
	after := sort.Search(len(acquires), func(i int) bool { return f.Ops[acquires[i]].Call > g.Return })
	for _, op := range acquires[after:] {
		if again := f.GrantOf(op); f.HolderOf(op).Lock == g.Lock && (again == nil || again.Outer < 0) && !f.IsInner(op) {
			return f.Ops[op].Call
		}
	}
	return -1
}

// GrantOf is the grant that an acquire brought, nil where it brought none. A client's
// grants are in the order of its attempts.
func (f *Facts) GrantOf(op int) *Grant {
	list := f.byClient[f.Ops[op].Process]
	n := sort.Search(len(list), func(i int) bool { return f.Grants[list[i]].op >= op })
	if n == len(list) || f.Grants[list[n]].op != op {
		return nil
	}
	return &f.Grants[list[n]]
}

// GrantBefore is the latest grant that a client had been given before an event,
// nil for none.
func (f *Facts) GrantBefore(client string, event int) *Grant {
	return f.latestBefore(f.byClient[client], event)
}

// GrantsActedUnder are the grants under which a client does what it asks for in an event. What it asks for names
// no lock: it is under the latest grant of each lock, those that it has given back left out if others are open.
func (f *Facts) GrantsActedUnder(client string, event int) (open []*Grant) {
	var ended []*Grant
	for _, lock := range f.locks[client] {
		g := f.LatestGrant(client, lock, event)
		if g == nil {
			continue
		}
		if g.End >= 0 && g.End < event {
			ended = append(ended, g)
		} else {
			open = append(open, g)
		}
	}
	if len(open) == 0 {
		return ended
	}
	return open
}

// GrantsTo are the places of a client's grants of a lock.
func (f *Facts) GrantsTo(client, lock string) []int { return f.byHolder[Holder{client, lock}] }

// LocksOf are the locks that a client was granted.
func (f *Facts) LocksOf(client string) []string { return f.locks[client] }

// LatestGrant is the latest grant of a lock that a client had been given before an event, or what
// that re-entered; nil for none.
func (f *Facts) LatestGrant(client, lock string, event int) *Grant {
	return f.latestBefore(f.GrantsTo(client, lock), event)
}

// latestBefore is the last of some grants of a client that was answered before an event, or what that re-entered.
func (f *Facts) latestBefore(list []int, event int) *Grant {
	n := sort.Search(len(list), func(i int) bool { return f.Grants[list[i]].Return >= event })
	if n == 0 {
		return nil
	}
	g := &f.Grants[list[n-1]]
	for g.around >= 0 && g.End >= 0 && g.End < event {
		g = &f.Grants[g.around]
	}
	return g
}
