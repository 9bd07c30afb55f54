package naive

import (
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// hold is a time for which a client has a lock, or believes so.
type hold struct {
	of       *grant
	from, to int64
	// one numbers the hold that it is a piece of.
	one int
}

func (a hold) touches(b hold) bool { return a.from <= b.to && b.from <= a.to }

// exclusiveBelief: "No two clients believe at once that they hold the same lock. A hold
// lasts from a grant's answer to the end of the belief, or to a loss that the lock told".
func (t *terms) exclusiveBelief() answer { return t.exclusive(t.believed()) }

func (t *terms) believed() (pieces []hold) {
	for _, g := range t.grants {
		to := g.end
		if g.loss != nil {
			to = min(to, max(g.loss.from, g.ret))
		}
		pieces = append(pieces, hold{of: g, from: g.ret, to: to})
	}
	return pieces
}

// exclusiveLease: "No two clients are inside the validity that their own lock promised
// them. A hold is that of exclusive-belief, but it ends when the promise ends, or when the lease may be over."
func (t *terms) exclusiveLease() answer {
	var pieces []hold
	for _, g := range t.grants {
		for _, p := range t.leases(g) {
			p.to = min(p.to, g.end)
			pieces = append(pieces, p)
		}
	}
	said := t.exclusive(pieces)
	// "An attempt is one, too, if it shares more than one instant with the time from the kill that ended another client's belief to the
	// end of its promise".
	if said == cannotTell && t.contended(t.deadHolds()) {
		return nothingFound
	}
	return said
}

// deadHolds are the times from the kill that ended a client's belief to the end of its promise.
func (t *terms) deadHolds() (dead []hold) {
	for _, g := range t.grants {
		if until, promised := g.promise(all); promised && g.ended < len(t.events) && t.killed(g.client, g.ended-1) == g.ended {
			dead = append(dead, hold{of: g, from: g.end, to: until})
		}
	}
	return dead
}

// leases are the times for which a grant was promised.
func (t *terms) leases(g *grant) (list []hold) {
	if _, promised := g.promise(none); !promised {
		// "Without a promise the belief counts."
		return []hold{{of: g, from: g.ret, to: g.end}}
	}
	lost, last := int64(forever), len(g.renewals)
	if g.loss != nil {
		lost = g.loss.from
		last = slices.IndexFunc(g.renewals, func(r *op) bool { return r.answered > g.loss.event })
	}
	until, promised := g.unlost(none)
	if !promised {
		until, last = forever, 0 // up to the loss
	}
	list = append(list, hold{of: g, from: g.ret, to: t.heldUntil(g, min(until, lost))})
	for i, r := range g.renewals {
		// "A renewal answered before the promise ended, or at its end, lengthens the
		// hold. A renewal answered later begins another hold at its answer, but not after the
		// end of the belief."
		further := t.heldUntil(g, min(r.said.ValidUntil().V(), lost))
		switch now := &list[len(list)-1]; {
		case i == last:
			return cut(list)
		case r.ret <= now.to:
			now.to = max(now.to, further)
		case r.answered < g.ended:
			list = append(list, hold{of: g, from: r.ret, to: further})
		}
	}
	return cut(list)
}

// heldUntil: "The hold of a lease by the client's clock ends when the lease may be over: half a TTL before the end of the promise, but not
// before a TTL has passed since the invocation of the `acquire`, of a re-entry since that of its outermost grant."
func (t *terms) heldUntil(g *grant, until int64) int64 {
	for g.outer != nil {
		g = g.outer
	}
	word := g.said.ValidUntil().IsSet() && g.said.ValidUntil().V() > g.ret
	if t.header.Quorum == 0 || word || t.endless() || !t.byClock() {
		return until
	}
	return min(until, max(until-t.ttl(g.client)/2, g.call+t.ttl(g.client)))
}

// cut leaves holds out that are none: "A promise that ended before its grant or renewal was answered, or in that instant, is no hold."
func cut(holds []hold) (list []hold) {
	for _, h := range holds {
		if h.to > h.from {
			list = append(list, h)
		}
	}
	return list
}

// exclusive: "Violated if two holds of different clients share more than one instant, or
// if one of them is a single instant that lies strictly inside the other."
func (t *terms) exclusive(pieces []hold) answer {
	violated := false
	holds := oneHold(pieces)
	for _, a := range holds {
		for _, b := range holds {
			if a.of.client != b.of.client && a.of.lock == b.of.lock {
				inside := a.from == a.to && b.from < a.from && a.to < b.to
				violated = violated || max(a.from, b.from) < min(a.to, b.to) || inside
			}
		}
	}
	return found(violated, t.contended(holds))
}

// oneHold: "Re-entries of one client that overlap the grant they re-entered, or touch it
// (one ends in the instant in which the other begins), form one hold with it."
func oneHold(pieces []hold) (holds []hold) {
	for i := range pieces {
		pieces[i].one = i
	}
	for i := range pieces {
		for j := range pieces {
			if a, b := pieces[i], pieces[j]; a.of.outer == b.of && a.touches(b) {
				for k := range pieces {
					if pieces[k].one == a.one {
						pieces[k].one = b.one
					}
				}
			}
		}
	}
	for one := range pieces {
		of := slices.DeleteFunc(slices.Clone(pieces), func(p hold) bool { return p.one != one })
		for i := range of {
			of[0].from, of[0].to = min(of[0].from, of[i].from), max(of[0].to, of[i].to)
		}
		holds = append(holds, of[:min(1, len(of))]...)
	}
	return holds
}

// contended reports "attempts that share more than one instant with a hold of another client. An
// attempt lasts from its invocation to its completion, or else to the client's next attempt or to
// its end by a fault that kills it, whichever is earlier".
func (t *terms) contended(holds []hold) bool {
	for _, p := range t.ops {
		to := t.triedTo(p)
		for _, h := range holds {
			if t.competes(p, h) && max(p.call, h.from) < min(to, h.to) {
				return true
			}
		}
	}
	return false
}

// competes reports that an operation is an attempt at the lock of another client's hold.
func (t *terms) competes(p *op, h hold) bool {
	return p.f == history.Acquire && h.of.client != p.client && h.of.lock == p.lock
}

// triedTo is when an attempt ends.
func (t *terms) triedTo(p *op) int64 {
	end := t.tried(p)
	if p.answered < 0 {
		end = min(end, t.killed(p.client, p.invoked))
	}
	if end < len(t.events) {
		return t.time(end)
	}
	return forever
}

// tried is the event that ends an attempt: "their completion, or else the client's next
// attempt".
func (t *terms) tried(p *op) int {
	if p.answered >= 0 {
		return p.answered
	}
	for _, q := range t.ops {
		if q.f == history.Acquire && q.client == p.client && q.invoked > p.invoked {
			return q.invoked
		}
	}
	return len(t.events)
}

// orderedTokens: "A later grant of the same lock has a strictly larger token. ... Unknown
// if no grant carried a token, or no grant with a token came after another."
func (t *terms) orderedTokens() answer {
	violated, chances := false, false
	for _, a := range t.grants {
		for _, b := range t.grants {
			// "A re-entry belongs to the grant that it re-enters."
			if a == b || a.outer != nil || b.outer != nil || a.lock != b.lock || !a.said.Token.IsSet() || !b.said.Token.IsSet() {
				continue
			}
			if t.later(b, a) {
				chances = true
				violated = violated || b.said.Token.V() <= a.said.Token.V()
			}
		}
	}
	return found(violated, chances)
}

// unclear is the first event that says of a key of the lock that it is unclear, or
// len(events).
func (t *terms) unclear() int {
	i := 0
	for i < len(t.events) && (t.events[i].F != history.KeyUnclear || !t.ofLock(i)) {
		i++
	}
	return i
}

// later: "A grant is later than another in two cases: It was asked for after the other had
// been answered. It was answered after the other had ended, and the keys on the nodes show
// the order: the owner values differ, there is a node where keys were set with both owner
// values, and on every such node the other's was set first and each of them was set once."
func (t *terms) later(g, other *grant) bool {
	if g.call > other.ret || g.client == other.client && g.invoked > other.answered {
		return true
	}
	some := false
	for _, node := range t.nodes() {
		others, its := t.set(node, other.owner), t.set(node, g.owner)
		if len(others) == 0 || len(its) == 0 {
			continue
		}
		if len(others) > 1 || len(its) > 1 || others[0] > its[0] {
			return false
		}
		some = true
	}
	// "A grant has ended at the end of its belief or of its promise, whichever is earlier,
	// but not before its answer."
	end := other.end
	if until, promised := other.promise(all); promised {
		end = min(end, until)
	}
	// "This case does not apply to grants answered after a key of the lock on a node was
	// unclear."
	return some && g.owner != other.owner && g.ret > max(end, other.ret) && g.answered < t.unclear()
}

// nodes are all that told of a key.
func (t *terms) nodes() (list []string) {
	for _, e := range t.events {
		if aboutKey(e.F) && !slices.Contains(list, e.Process) {
			list = append(list, e.Process)
		}
	}
	return list
}

func aboutKey(f history.F) bool {
	return f == history.KeySet || f == history.KeyExtended || f == history.KeyDeleted || f == history.KeyExpired
}

// set are the events in which a node set a key with an owner value.
func (t *terms) set(node, owner string) (list []int) {
	for i, e := range t.events {
		if e.F == history.KeySet && e.Process == node && e.Value.Owner == owner && owner != "" {
			list = append(list, i)
		}
	}
	return list
}

// ownerRelease: "Nobody's release or renewal touches another client's key. ... Violated if
// the key belonged to another client. Chances: releases and renewals with an author, of a key whose
// owner is known, if before them another client had asked for the lock. Where the owner follows
// from the owner value alone, every attempt so far of that other client, too, must have told its own
// value. A release of another client's key is always one. Unknown also if a key was ever unclear."
func (t *terms) ownerRelease() answer {
	violated, chances := false, false
	for i, e := range t.events {
		if e.F == history.KeySet {
			own, anothers := t.renewedBySet(i)
			violated, chances = violated || anothers, chances || own && t.anotherAsked(i) || anothers
		}
		if e.F != history.KeyDeleted && e.F != history.KeyExtended || e.Value.Client == "" {
			continue
		}
		if whose, byValue := t.keyOf(i); whose != "" && !t.isNobodysFault(i) {
			violated = violated || whose != e.Value.Client
			chances = chances || whose != e.Value.Client || !byValue && t.anotherAsked(i)
			for _, other := range t.ops {
				chances = chances || other.f == history.Acquire && other.client != e.Value.Client && other.invoked < i && t.toldAll(other.client, i)
			}
		}
	}
	return found(violated, chances && t.unclear() == len(t.events))
}

// anotherAsked: before event i, which a client brought about, another one had asked for the lock.
func (t *terms) anotherAsked(i int) bool {
	return slices.ContainsFunc(t.ops, func(p *op) bool {
		return p.f == history.Acquire && p.client != t.events[i].Value.Client && p.invoked < i
	})
}

// renewedBySet: "A `key-set` is a renewal if its attempt was answered `ok`, the answer stands before it, and the command left
// the client after the answer (`at`). Where there is no `at`, an `extend` of the client
// must be under way, and the header must have no `quorum`. If the belief in this grant has ended, a `key-set` of the client that
// stands after the invocation of the `acquire` must have set this key on this node already, to the same owner value (not
// empty). Whose the key was before it follows from the terms alone. If it was
// the client's own, the renewal is a chance. If a grant of another client rested on it, and the belief in that grant is open, the
// renewal is a violation."
func (t *terms) renewedBySet(i int) (own, anothers bool) {
	e := &t.events[i]
	g := t.grantOf(t.attemptOf(i))
	if e.Value.Client == "" || g == nil || g.answered > i {
		return false, false
	}
	again := false
	for _, j := range t.set(e.Process, e.Value.Owner) {
		before := &t.events[j].Value
		again = again || j > g.invoked && j < i && before.Client == e.Value.Client && before.Key == e.Value.Key
	}
	if g.ended < i && !again {
		return false, false
	}
	if at := e.Value.At(); at.IsSet() && at.V() <= g.ret || !at.IsSet() && (t.header.Quorum != 0 || !t.extending(g.client, i)) {
		return false, false
	}
	w := t.whoseOnce(e.Process, e.Value.Key, i)
	if !w.known() {
		return false, false
	}
	if t.byClock() && t.time(i) >= t.mayBeOver(w.set) {
		return false, false // "With a lease in the value, this counts only before the lease of the key may be over"
	}
	if w.client == e.Value.Client {
		return true, false
	}
	holder := t.grantOf(w.attempt)
	return false, holder != nil && holder.ended > i
}

// grantOf is the grant that an attempt brought; nil: none.
func (t *terms) grantOf(p *op) *grant {
	for _, g := range t.grants {
		if g.op == p {
			return g
		}
	}
	return nil
}

// keyOf is whose key event i is about: "Whose the key is follows from the terms if the last `key-set` and the
// release or renewal show the same owner value, or both show none. Where the terms tell nothing, the
// key belongs to the client that used the owner value in an `acquire` or to set a key, if only one
// client did, if nobody wrote the value into a key that stayed another's, and if every attempt so
// far of the client that touched the key told its own value." Empty: nobody knows.
func (t *terms) keyOf(i int) (client string, byValue bool) {
	e := &t.events[i]
	if w := t.whoseOnce(e.Process, e.Value.Key, i); w.client != "" && w.value == e.Value.Owner {
		if w.known() {
			return w.client, false
		}
		return "", false
	}
	if !t.toldAll(e.Value.Client, i) {
		return "", false
	}
	return t.userOf(e.Value.Owner), true
}

// toldAll: "every attempt so far of the client told its own value".
func (t *terms) toldAll(client string, i int) bool {
	return !slices.ContainsFunc(t.ops, func(p *op) bool {
		return p.f == history.Acquire && p.client == client && p.invoked < i && p.owner == ""
	})
}

// mayForget reports that the node goes down, comes up, is promoted or is demoted in event j, or a fault
// begins in it "that kills it, makes it forget or promotes it".
func (t *terms) mayForget(j int, node string) bool {
	switch e := &t.events[j]; e.F {
	case history.NodeDown, history.NodeUp, history.NodePromoted, history.NodeDemoted:
		return e.Process == node
	}
	return t.strikes(j, history.Kills).nodes[node] || t.strikes(j, history.Forgets).nodes[node] || t.strikes(j, history.Promotes).nodes[node]
}

// userOf is the one client that used an owner value, if only one did.
func (t *terms) userOf(owner string) string {
	var users []string
	for _, e := range t.events {
		if owner != "" && e.F == history.Acquire && e.Value.Owner == owner {
			users = append(users, e.Process)
		}
		if owner != "" && e.F == history.KeySet && e.Value.Owner == owner && e.Value.Client != "" {
			users = append(users, e.Value.Client)
		}
	}
	for i, e := range t.events {
		if e.Value.Owner == owner && t.stays(i) {
			return ""
		}
	}
	slices.Sort(users)
	if users = slices.Compact(users); len(users) == 1 {
		return users[0]
	}
	return ""
}

// noOrphanLock: "No key of the lock stays for longer than the TTL after its owner no
// longer wants it. Unknown if the nodes reported no keys, if the history does not say the
// TTL, or if a key was ever unclear (`key-unclear`), which ends what is known of it."
func (t *terms) noOrphanLock() answer {
	violated, chances := false, false
	lived := map[int]bool{}
	for i := range t.events {
		if t.events[i].F != history.KeySet || !t.ofLock(i) || lived[i] {
			continue
		}
		l := t.life(i)
		for _, j := range l.wrote {
			lived[j] = true
		}
		done, killed := t.doneWith(i)
		if done < 0 || t.isCopy(i) {
			continue
		}
		// "A key that was set after this end (by a request that came late) has its TTL from
		// then. So has a key that was renewed after it by an `extend` which was under way at
		// this end, or by a command that had left its client by then, as a link told."
		since := max(t.time(done), t.time(i))
		if l.renewed > done {
			at := t.events[l.renewed].Value.At()
			if t.extending(t.ownerOf(i), done) || at.IsSet() && at.V() <= t.time(done) || t.endsRound(t.ownerOf(i), done, l.renewed) {
				since = max(since, t.time(l.renewed))
			}
		}
		violated = violated || l.to-since > t.mayStay(t.ownerOf(i))
		// "Chances: keys that their owner no longer wanted for longer than the TTL before the run ended, if what is known of the
		// key did not end within that TTL. Also keys without a TTL whose owner was killed."
		known, forgotten := t.forgets(i)
		chances = chances || min(known, l.known)-since > t.mayStay(t.ownerOf(i)) || killed && l.endless && !forgotten
		// "A key that has no TTL, that nobody deleted, and that its owner no longer wants
		// because it was killed, is a violation at once."
		violated = violated || killed && l.endless && l.left
	}
	if t.mayStay("") <= 0 {
		return cannotTell
	}
	return found(violated, chances && t.unclear() == len(t.events))
}

// isCopy: "a key that no client is known to have set on this node, with an owner value that a client set on another."
func (t *terms) isCopy(set int) bool {
	if t.whoseOf(set).known() {
		return false
	}
	here := &t.events[set]
	for i := range t.events {
		e := &t.events[i]
		if e.F == history.KeySet && e.Process != here.Process && e.Value.Key == here.Value.Key && e.Value.Owner == here.Value.Owner &&
			e.Value.Client != "" {
			return true
		}
	}
	return false
}

// endsRound: "On a lock with a quorum of several nodes [...] so has a key there by the first renewal after the release was asked for, if no
// other came after it, and if its command left its client before that release was answered." renewal is the last one.
func (t *terms) endsRound(client string, done, renewal int) bool {
	if t.quorum() == 1 || t.events[done].F != history.Release || t.events[done].Type != history.Invoke {
		return false
	}
	here := &t.events[renewal]
	for i, e := range t.events[done+1 : renewal] {
		wrote := e.F == history.KeySet || e.F == history.KeyExtended
		if wrote && e.Process == here.Process && e.Value.Key == here.Value.Key {
			return false
		}
		left := t.time(renewal)
		if here.Value.At().IsSet() {
			left = here.Value.At().V()
		}
		if e.F == history.Release && e.Process == client && left > t.time(done+1+i) {
			return false
		}
	}
	return true
}

func (t *terms) time(i int) int64 { return int64(t.events[i].Time) }

// ofLock reports that a key event is about a key of the lock.
func (t *terms) ofLock(i int) bool {
	key := t.events[i].Value.Key
	return key == "" || t.header.LockKey == "" || key == t.header.LockKey
}

// ownerOf: "The owner of a key is the client whose it is, or else the one client that used its owner
// value. If it is not known whose the key is, nobody has to want it."
func (t *terms) ownerOf(set int) string {
	v := &t.events[set].Value
	if w := t.whoseOf(set); w.known() {
		return w.client
	}
	return t.userOf(v.Owner)
}

// whoseOf is whose the key is after the key-set i.
func (t *terms) whoseOf(i int) whose {
	return t.whoseOnce(t.events[i].Process, t.events[i].Value.Key, i+1)
}

// setAs is the key-set by which the key of the key-set i is its client's.
func (t *terms) setAs(i int) int {
	if w := t.whoseOf(i); w.known() {
		return w.set
	}
	return i
}

// life is how long a key surely lives.
type life struct {
	// to is to when, renewed when it was last renewed (-1: never); wrote are the key-sets that others wrote into it.
	to      int64
	renewed int
	wrote   []int
	// endless: it has no TTL. left: nothing ended it.
	endless, left bool
	// known is to when it is known what is in it.
	known int64
}

// due says when a key on a node runs out that an event tells of.
func (t *terms) due(node string) func(i int) int64 {
	// "A fault on a node's clock, whenever it begins, makes the end of its keys uncertain:
	// such a key lives only while it is seen to be set or renewed."
	bent := false
	for j := range t.events {
		bent = bent || t.strikes(j, history.BendsClock).nodes[node]
	}
	return func(i int) int64 {
		e := &t.events[i]
		switch {
		case t.leased(): // "With a lease in the value, the end of a key is that of its lease, also where a fault bends the node's clock"
			return t.leaseEnd(i)
		case !e.Value.TTL().IsSet():
			return forever
		case bent:
			return int64(e.Time)
		}
		// "The TTL has passed at the `valid_until` of a `key-set` or `key-extended` that has `at`: a stamp may come late."
		end := int64(e.Time) + e.Value.TTL().V()
		if v := e.Value; v.At().IsSet() && v.ValidUntil().IsSet() && v.ValidUntil().V() < end {
			end = v.ValidUntil().V()
		}
		return end
	}
}

// life is that of the key that was set in event i. "Only what is certain
// counts: a key lives until its TTL has passed or it is seen to go, whichever comes first.
// A renewal that is seen shows that the key lived until then, or, with another owner
// value, that it is gone." "What a refused waiter writes into it gives the key another end, and no new life."
func (t *terms) life(i int) (l life) {
	set := &t.events[i]
	due := t.due(set.Process)
	end, value, latest := due(i), set.Value.Owner, t.setAs(i)
	l.renewed, l.known = -1, t.last
	forgotten := false
	for j := i + 1; j < len(t.events); j++ {
		e := &t.events[j]
		// "What is known of a node's keys ends when the node goes down, and when a fault begins
		// that kills it, makes it forget or promotes it."
		gone := t.mayForget(j, set.Process) && e.F != history.NodeUp && e.F != history.NodePromoted && e.F != history.NodeDemoted
		forgotten = gone
		if (aboutKey(e.F) || e.F == history.KeyUnclear) && e.Process == set.Process && e.Value.Key == set.Value.Key {
			if e.F == history.KeySet && t.stays(j) && t.setAs(j) == latest {
				// "What a refused waiter writes into the key gives it no other end."
				if value, l.wrote = e.Value.Owner, append(l.wrote, j); !t.leased() {
					end = due(j)
				}
				continue
			}
			if t.renewsLease(i, j) {
				if l.wrote = append(l.wrote, j); !t.mayBeRelease(j) {
					end, value, latest, l.renewed = due(j), e.Value.Owner, j, j
					continue
				}
				forgotten = true
			}
			if e.F == history.KeyExtended && e.Value.Owner == value {
				if t.leased() { // "a `key-extended` changes nothing of it"
					continue
				}
				l.renewed = j
				// "A `key-extended` of a client of a lock program that has no `at` gave the key no other end", nor does it
				// show that the key lived until then.
				if t.namesEnd(j) {
					end = due(j)
				}
				continue
			}
			gone, forgotten = true, forgotten || e.F == history.KeyUnclear
		}
		if gone {
			if l.to, l.endless = min(end, t.time(j)), end == forever && !forgotten; forgotten {
				l.known = t.time(j)
			}
			return l
		}
	}
	l.to, l.endless, l.left = min(end, t.last), end == forever, true
	return l
}

// forgets is when, after the key-set i, what is known of the key would have ended if it had stayed: with the run, or sooner.
func (t *terms) forgets(i int) (at int64, sooner bool) {
	set := &t.events[i]
	for j := i + 1; j < len(t.events); j++ {
		e := &t.events[j]
		unclear := e.F == history.KeyUnclear && e.Process == set.Process && e.Value.Key == set.Value.Key
		if unclear || t.mayForget(j, set.Process) && e.F != history.NodeUp && e.F != history.NodePromoted && e.F != history.NodeDemoted {
			return t.time(j), true
		}
	}
	return t.last, false
}

// namesEnd reports that a key-extended is known to have given the key another end.
func (t *terms) namesEnd(i int) bool {
	v := &t.events[i].Value
	return t.header.Program == "" || v.Client == "" || v.At().IsSet()
}

// doneWith is the event in which the owner of the key that was set in event i no longer
// wanted it ("when it asks for the release or forgets the lock, when the attempt fails or stays unknown, when
// the client asks again without re-entering, or when it is killed"; -1: never), and
// whether the client was killed. "If several attempts used the key's owner value, the last
// of these ends counts. If none did, attempts of the client count that told no owner value: the latest one before the key was set, and
// each later one that took the same key again, or tried."
func (t *terms) doneWith(i int) (done int, killed bool) {
	client := t.ownerOf(i)
	done = -1
	for _, p := range t.attemptsFor(client, t.setAs(i)) {
		end := t.tookBack(p)
		if end < 0 {
			return -1, false
		}
		if end > done {
			done, killed = end, t.kills(end)[client]
		}
	}
	return done, killed
}

// attemptsFor are the attempts of a client that can have set a key in an event.
func (t *terms) attemptsFor(client string, set int) (named []*op) {
	owner := t.events[set].Value.Owner
	var silent []*op
	for _, p := range t.ops {
		if p.f == history.Acquire && p.client == client && client != "" {
			if p.owner == owner && owner != "" {
				named = append(named, p)
			} else if p.owner == "" && p.call <= t.time(set) {
				silent = []*op{p}
			}
		}
	}
	if len(named) == 0 && len(silent) > 0 {
		return t.tookAgain(silent[0], set)
	}
	return named
}

// tookAgain are an attempt and those that used its key later: "it was answered `ok`, or the lock does not renew by itself
// (`renews`), and between its invocation and its answer (by the `at`) the client extended the key, which had been neither set nor lost
// since, as far as is known."
func (t *terms) tookAgain(last *op, set int) []*op {
	list := []*op{last}
	of := &t.events[set]
	for i := set + 1; i < len(t.events); i++ {
		e := &t.events[i]
		if e.Process != of.Process || e.Value.Key != of.Value.Key || !aboutKey(e.F) && e.F != history.KeyUnclear {
			continue
		}
		if e.F != history.KeyExtended {
			break
		}
		for _, p := range t.ops {
			its := p.f == history.Acquire && p.client == last.client && p.owner == "" && e.Value.Client == p.client
			its = its && (p.outcome == history.OK || !t.renews(p.client))
			if at := e.Value.At(); its && at.IsSet() && p.call <= at.V() && at.V() <= p.ret && p.invoked > last.invoked {
				last = p
			}
		}
		if last != list[len(list)-1] {
			list = append(list, last)
		}
	}
	return list
}

// tookBack is the event in which the client of an attempt had done with its keys; -1: never.
func (t *terms) tookBack(p *op) int {
	end := p.answered
	if p.outcome == history.OK {
		for _, g := range t.grants {
			if g.op == p {
				end = t.learned(g)
			}
		}
	}
	if killed := t.killed(p.client, p.invoked); killed < len(t.events) && (p.answered < 0 || killed < p.answered) {
		end = killed
	}
	if end == len(t.events) {
		return -1
	}
	return end
}

// learned is the event that ended a grant's belief, or: "A client that is killed before its release is answered, and before it does
// anything else, may have been killed before the lock learned of the release: then the kill counts."
func (t *terms) learned(g *grant) int {
	release := slices.IndexFunc(t.ops, func(p *op) bool { return p.f == history.Release && p.client == g.client && p.invoked == g.ended })
	if release < 0 || t.ops[release].outcome != history.Info {
		return g.ended
	}
	next := len(t.events)
	for _, p := range t.ops {
		if p.client == g.client && p.invoked > g.ended {
			next = min(next, p.invoked)
		}
	}
	if kill := t.killed(g.client, g.ended); kill < next {
		return kill
	}
	return g.ended
}

// extending reports that a client waits for the answer to an `extend` when event i comes.
func (t *terms) extending(client string, i int) bool {
	return slices.ContainsFunc(t.ops, func(p *op) bool {
		return p.f == history.Extend && p.client == client && p.invoked < i && (p.answered < 0 || p.answered > i)
	})
}
