package checker_test

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
// lasts from a grant's answer to the end of the belief."
func (t *terms) exclusiveBelief() answer {
	var pieces []hold
	for _, g := range t.grants {
		pieces = append(pieces, hold{of: g, from: g.ret, to: g.end})
	}
	return t.exclusive(pieces)
}

// exclusiveLease: "No two clients are inside the validity that their own lock promised
// them. A hold is that of exclusive-belief, cut off where the promise ended."
func (t *terms) exclusiveLease() answer {
	var pieces []hold
	for _, g := range t.grants {
		for _, p := range g.leases() {
			p.to = min(p.to, g.end)
			pieces = append(pieces, p)
		}
	}
	return t.exclusive(pieces)
}

// leases are the times for which a grant was promised.
func (g *grant) leases() (list []hold) {
	until, promised := g.promise(none)
	if !promised {
		// "Without a promise the belief counts."
		return []hold{{of: g, from: g.ret, to: g.end}}
	}
	// "A promise that ended before its grant or renewal was answered, or in that instant,
	// is no hold."
	lease := func(from, to int64) {
		if to > from {
			list = append(list, hold{of: g, from: from, to: to})
		}
	}
	lease(g.ret, until)
	for _, r := range g.renewals {
		// "A renewal answered before the promise ended, or at its end, lengthens the
		// hold. A renewal answered later begins another hold at its answer."
		further := r.said.ValidUntil.V
		if n := len(list); n > 0 && r.ret <= list[n-1].to {
			list[n-1].to = max(list[n-1].to, further)
		} else {
			lease(r.ret, further)
		}
	}
	return list
}

// exclusive: "Violated if two holds of different clients share more than one instant, or
// if one of them is a single instant that lies strictly inside the other."
func (t *terms) exclusive(pieces []hold) answer {
	violated, chances := false, t.contended(pieces)
	holds := oneHold(pieces)
	for _, a := range holds {
		for _, b := range holds {
			if a.of.client != b.of.client && a.of.lock == b.of.lock {
				inside := a.from == a.to && b.from < a.from && a.to < b.to
				violated = violated || max(a.from, b.from) < min(a.to, b.to) || inside
			}
		}
	}
	// "Chances: attempts while another client held the lock or asked for it; if there are
	// none, hand-overs from one client to another."
	for _, a := range t.grants {
		for _, b := range t.grants {
			chances = chances || a.lock == b.lock && a.client != b.client
		}
	}
	return found(violated, chances)
}

// oneHold: "re-entries of one client that overlap or touch the grant they re-entered form
// one hold with it."
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

// contended reports an attempt while another client held the lock or asked for it.
func (t *terms) contended(pieces []hold) bool {
	for _, a := range t.ops {
		if a.f != history.Acquire {
			continue
		}
		asks := hold{from: a.call, to: a.ret}
		for _, p := range pieces {
			if p.of.client != a.client && p.of.lock == a.lock && p.touches(asks) {
				return true
			}
		}
		for _, b := range t.ops {
			if b.f == history.Acquire && b.client != a.client && b.lock == a.lock && asks.touches(hold{from: b.call, to: b.ret}) {
				return true
			}
		}
	}
	return false
}

// orderedTokens: "A later grant of the same lock has a strictly larger token. ... Unknown
// if no grant carried a token or none came after another."
func (t *terms) orderedTokens() answer {
	violated, chances := false, false
	for _, a := range t.grants {
		for _, b := range t.grants {
			// "A re-entry belongs to the grant that it re-enters."
			if a == b || a.outer != nil || b.outer != nil || a.lock != b.lock || !a.said.Token.Set || !b.said.Token.Set {
				continue
			}
			if t.later(b, a) {
				chances = true
				violated = violated || b.said.Token.V <= a.said.Token.V
			}
		}
	}
	return found(violated, chances)
}

// later: "A grant is later than another if it was asked for after the other had been
// answered. It is also later if it was answered after the other's hold had ended, and
// every node that had keys with both owner values had the other's first, and there is such
// a node."
func (t *terms) later(g, other *grant) bool {
	if g.call > other.ret {
		return true
	}
	some := false
	for _, node := range t.nodes() {
		others, its := t.firstKey(node, other.owner), t.firstKey(node, g.owner)
		if others == forever || its == forever {
			continue
		}
		if others >= its {
			return false
		}
		some = true
	}
	return some && g.ret > t.held(other)
}

// held is when a grant's hold ended: "the earlier of the belief's and the promise's end,
// but not before its answer". Its re-entries belong to it.
func (t *terms) held(g *grant) int64 {
	end := g.end
	if until, promised := g.promise(all); promised {
		end = min(end, until)
	}
	end = max(end, g.ret)
	for _, inner := range t.grants {
		if inner.outer == g {
			end = max(end, t.held(inner))
		}
	}
	return end
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

// firstKey is when a node first had a key with an owner value; forever: never.
func (t *terms) firstKey(node, owner string) int64 {
	for _, e := range t.events {
		if aboutKey(e.F) && e.Process == node && e.Value.Owner == owner && owner != "" {
			return int64(e.Time)
		}
	}
	return forever
}

// ownerRelease: "Nobody's release or renewal touches another client's key. ... Violated if
// the key was that of another client. Unknown if no node told of a release or a renewal
// with its author."
func (t *terms) ownerRelease() answer {
	violated, chances := false, false
	for i, e := range t.events {
		if e.F != history.KeyDeleted && e.F != history.KeyExtended || e.Value.Client == "" {
			continue
		}
		chances = true
		if whose := t.keyOf(i); whose != "" && whose != e.Value.Client {
			violated = true
		}
	}
	return found(violated, chances)
}

// keyOf is whose key event i is about: "that of the client that set it last on that node,
// if that was seen, the node has not been down since, no fault has made it forget since,
// and the owner value is the same. Otherwise it is that of the one client that used the
// owner value, if only one did and every attempt so far of the client that touched it told
// its own value." Empty: nobody knows.
func (t *terms) keyOf(i int) string {
	e := &t.events[i]
	setter := ""
	for j, s := range t.events[:i] {
		switch {
		case s.F == history.KeySet && s.Process == e.Process && s.Value.Key == e.Value.Key:
			setter = ""
			if s.Value.Owner == e.Value.Owner && e.Value.Owner != "" {
				setter = s.Value.Client
			}
		case s.F == history.NodeDown && s.Process == e.Process, t.strikes(j, history.Forgets).nodes[e.Process]:
			setter = ""
		}
	}
	if setter != "" {
		return setter
	}
	for _, p := range t.ops {
		if p.f == history.Acquire && p.client == e.Value.Client && p.invoked < i && p.owner == "" {
			return ""
		}
	}
	return t.userOf(e.Value.Owner)
}

// userOf is the one client that used an owner value, if only one did.
func (t *terms) userOf(owner string) string {
	var users []string
	for _, p := range t.ops {
		if owner != "" && p.owner == owner {
			users = append(users, p.client)
		}
	}
	for _, e := range t.events {
		if owner != "" && e.F == history.KeySet && e.Value.Owner == owner && e.Value.Client != "" {
			users = append(users, e.Value.Client)
		}
	}
	slices.Sort(users)
	if users = slices.Compact(users); len(users) == 1 {
		return users[0]
	}
	return ""
}

// keyLife is the certain life of a key from when it was set.
type keyLife struct {
	set           int // the event
	client, owner string
	from, to      int64
	// left: it has no TTL, and nobody deleted it to the end of the history.
	left bool
}

// lives are the lives of all keys. "Only what is certain counts: a key lives until its TTL
// has passed or it is seen to go, whichever comes first."
func (t *terms) lives() (list []keyLife) {
	for i := range t.events {
		if e := &t.events[i]; e.F == history.KeySet {
			list = append(list, t.life(i))
		}
	}
	return list
}

func (t *terms) life(i int) keyLife {
	set := &t.events[i]
	k := keyLife{set: i, client: orElse(set.Value.Client, t.userOf(set.Value.Owner)), owner: set.Value.Owner, from: int64(set.Time), left: true}
	due := func(e *history.Event) int64 {
		if !e.Value.TTL.Set {
			return forever
		}
		return int64(e.Time) + e.Value.TTL.V
	}
	end, used, seen := due(set), int64(set.Time), t.last
	k.left = !set.Value.TTL.Set
	for j := i + 1; j < len(t.events) && int64(t.events[j].Time) <= end; j++ {
		e := &t.events[j]
		// "A node that goes down, and a fault that kills it, makes it forget or promotes it,
		// ends what is known of its keys."
		ends := e.F == history.NodeDown && e.Process == set.Process
		for _, does := range []history.Does{history.Kills, history.Forgets, history.Promotes} {
			ends = ends || t.strikes(j, does).nodes[set.Process]
		}
		if aboutKey(e.F) && e.Process == set.Process && e.Value.Key == set.Value.Key {
			switch e.F {
			case history.KeyExtended:
				end, used, k.left = due(e), int64(e.Time), !e.Value.TTL.Set
			case history.KeyDeleted:
				used, ends = int64(e.Time), true
			default:
				ends = true
			}
		}
		if ends {
			seen, k.left = int64(e.Time), false
			break
		}
	}
	k.to = min(end, seen)
	// "A fault on a node's clock makes the end of its keys uncertain: such a key lives only
	// while it is seen to be used."
	for j := range t.events {
		if t.strikes(j, history.BendsClock).nodes[set.Process] && int64(t.events[j].Time) <= k.to {
			k.to = used
		}
	}
	return k
}

// noOrphanLock: "No key of the lock lives on for longer than the TTL after its owner had
// done with it. A key that was set later than that (a request that came late) has its TTL
// from then. A key of a killed client that has no TTL, and that nobody deleted, is a
// violation at once. Unknown if the nodes told nothing of keys, the history does not say
// the TTL, or no owner had done with its keys."
func (t *terms) noOrphanLock() answer {
	violated, chances := false, false
	for _, k := range t.lives() {
		inUse, since := true, int64(0)
		for i, e := range t.events {
			now := int64(e.Time)
			done, anew := t.doneWith(k, i)
			if anew && !inUse {
				inUse = true
				violated = violated || min(k.to, now)-max(since, k.from) > t.header.TTL
			}
			if done && inUse {
				inUse, since, chances = false, now, true
			}
			violated = violated || k.left && t.strikes(i, history.Kills).clients[k.client]
		}
		violated = violated || !inUse && k.to-max(since, k.from) > t.header.TTL
	}
	if t.header.TTL == 0 {
		return cannotTell
	}
	return found(violated, chances)
}

// doneWith reports whether the owner of a key has done with it in event i ("the release
// was asked for, the attempt failed or stayed unknown, or the client was killed"), or uses
// its owner value anew.
func (t *terms) doneWith(k keyLife, i int) (done, anew bool) {
	if t.strikes(i, history.Kills).clients[k.client] {
		return true, false
	}
	for _, p := range t.ops {
		switch {
		case p.client != k.client || p.invoked != i && p.answered != i:
		case p.f == history.Release && p.invoked == i:
			named := p.owner == k.owner || len(p.ends) > 0 && p.ends[0].owner == k.owner
			done = done || named && len(withOwner(t.open(p, i+1), k.owner)) == 0
		case p.f == history.Acquire && t.attempt(p, k):
			anew = anew || p.invoked == i
			done = done || p.answered == i && p.outcome != history.OK
		}
	}
	return done, anew
}

// attempt reports whether an acquire can be the one that set a key: that with its owner
// value; where there is none, one without an owner value that was asked for before.
func (t *terms) attempt(p *op, k keyLife) bool {
	for _, q := range t.ops {
		if q.f == history.Acquire && q.client == k.client && q.owner == k.owner {
			return p.owner == k.owner
		}
	}
	return p.owner == "" && p.invoked < k.set
}
