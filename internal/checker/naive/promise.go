package naive

import (
	"maps"
	"math"
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// promise is when the promise of a grant ends, with those of its renewals that count;
// false: it has none.
func (g *grant) promise(counts func(*op) bool) (int64, bool) { return g.promiseBy(math.MaxInt, counts) }

// promiseBy is the promise by what has happened before an event.
func (g *grant) promiseBy(event int, counts func(*op) bool) (int64, bool) {
	if g.loss == nil || g.loss.event >= event {
		return g.unlost(func(r *op) bool { return r.answered < event && counts(r) })
	}
	// "It ends the promise of the grant at `at - at_error`, but not before the invocation of the
	// `acquire`. If the promise ends earlier, it stays as it is. If there is no promise, there is
	// one now. No renewal answered after the event counts."
	end, promised := g.unlost(func(r *op) bool { return r.answered < g.loss.event && counts(r) })
	if !promised || g.loss.from < end {
		end = g.loss.from
	}
	return end, true
}

// unlost is the promise as if no loss had been told.
func (g *grant) unlost(counts func(*op) bool) (int64, bool) {
	own := g.until
	if g.outer != nil {
		// "For a re-entry's own `valid_until` there is a special rule: if that of its outer
		// grant (with the renewals and losses so far) is later, or if its own is missing, that of
		// the outer grant counts. A re-entry has no promise if its outer grant has none."
		outer, promised := g.outer.promiseBy(g.answered, all)
		if !promised {
			return 0, false
		}
		if !own.IsSet() || outer > own.V() {
			own = history.Some(outer)
		}
	}
	// "A grant without a `valid_until` promises no end: it is never late, and renewals
	// do not change that."
	if !own.IsSet() {
		return 0, false
	}
	// "A grant's promise ends at the latest of its own `valid_until` and those of its
	// renewals."
	end := own.V()
	for _, r := range g.renewals {
		if counts(r) {
			end = max(end, r.said.ValidUntil().V())
		}
	}
	// "A promise for ever is no promise."
	return end, end < forever
}

func all(*op) bool  { return true }
func none(*op) bool { return false }

// promises finds out what each grant promises: "If the header has a `quorum` (the lock is
// a program), a grant without a `valid_until` promises the TTL that the lock was given."
func (t *terms) promises() {
	for _, g := range t.grants {
		// "Neither does one that is not after the answer: it was over when it was told."
		if g.until = g.said.ValidUntil(); t.header.Quorum > 0 && (!g.until.IsSet() || g.until.V() <= g.ret) {
			// "So a grant without a `valid_until` promises no end, and "Given promise" does not apply."
			if g.until = (history.Int{}); !t.endless() {
				t.promisesWhatWasGiven(g)
			}
		}
	}
	for i, e := range t.events {
		if e.F == history.Lost {
			t.lose(i)
		}
	}
}

// promisesWhatWasGiven: "the header's `ttl` less its `ttl_extra`. It counts from when the lock asked its nodes for it."
func (t *terms) promisesWhatWasGiven(g *grant) {
	ttl := t.givenTTL(g.client)
	t.mayHaveAskedUnseen(g)
	// "The promise is not known if the history does not say the TTL."
	if ttl <= 0 {
		g.unknown = true
		return
	}
	// "The promise counts from the instant since when the client asks for the lock by the events that stand before its answer. If by
	// these it asks for fewer nodes than a quorum, the first later event counts by which it asks for a quorum, if its `at` is not
	// after the answer."
	first := g.answered
	since := t.asksSince(g, first)
	for since == math.MinInt64 && first < len(t.events) {
		first++
		if since = t.asksSince(g, first); since != math.MinInt64 && t.events[first-1].Value.At().V() > g.ret {
			first = len(t.events)
			since = math.MinInt64
		}
	}
	rests := since > math.MinInt64
	if !rests {
		// "If there is none, the grant rests on nothing that was asked for, and its promise counts from its answer."
		first, since = g.answered, g.ret
		// "It is not known either if the grant rests on nothing, and no client was ever seen to set a key of the lock, or a `key-set` or
		// `key-extended` of the client without an `at` stands between the invocation of the `acquire` and the end of the belief."
		g.unknown = g.unknown || !t.anybodySets() || t.sentSometime(g)
	}
	// "A re-entry has then no `valid_until` of its own."
	if rests || g.outer == nil {
		g.until = later(since, ttl)
	}
	// "Each later event after which the client asks for the lock since an instant that is later than all before it is a renewal,
	// invoked at its `at`, but not after the event, and answered at the event."
	for i := first; i < len(t.events); i++ {
		if now := t.asksSince(g, i+1); t.asks(g, i) && now > since {
			since = now
			g.renewals = append(g.renewals, &op{invoked: -1, call: min(t.events[i].Value.At().V(), t.time(i)),
				answered: i, ret: t.time(i), said: history.Value{Grant: &history.Grant{ValidUntil: later(now, ttl)}}})
		}
	}
	slices.SortFunc(g.renewals, func(a, b *op) int { return a.answered - b.answered })
}

// givenTTL: "the header's `ttl` less its `ttl_extra`. The history does not say the TTL if `ttl_extra` is not within it." So it is
// with those of clients that differ: "If the header says the TTL of some clients alone, the history does not say the TTL."
func (t *terms) givenTTL(client string) int64 {
	given := func(ttl, extra int64) int64 {
		if extra < 0 || extra > ttl {
			return 0
		}
		return ttl - extra
	}
	for _, l := range t.header.Differ {
		if given(l.TTL, l.TTLExtra) <= 0 {
			return 0
		}
	}
	if l, differs := t.header.Differ[client]; differs {
		return given(l.TTL, l.TTLExtra)
	}
	return given(t.header.TTL, t.header.TTLExtra)
}

// step is the `ttl_step` of a client's lock.
func (t *terms) step(client string) int64 {
	if l, differs := t.header.Differ[client]; differs {
		return l.TTLStep
	}
	return t.header.TTLStep
}

// later is an instant that lies so much later.
func later(at, length int64) history.Int {
	if at > forever-length {
		return history.Some(int64(forever))
	}
	return history.Some(at + length)
}

// anybodySets: a client was seen to set a key of the lock.
func (t *terms) anybodySets() bool {
	for i, e := range t.events {
		if e.F == history.KeySet && e.Value.Client != "" && t.ofLock(i) {
			return true
		}
	}
	return false
}

// sentSometime: something of the lock's keys was asked for, nobody knows when.
func (t *terms) sentSometime(g *grant) bool {
	for i := g.invoked; i < g.ended; i++ {
		e := &t.events[i]
		if (e.F == history.KeySet || e.F == history.KeyExtended) && e.Value.Client == g.client && !e.Value.At().IsSet() && t.ofLock(i) {
			return true
		}
	}
	return false
}

// mayHaveAskedUnseen: something may have been asked for that nobody saw.
func (t *terms) mayHaveAskedUnseen(g *grant) {
	// "The promise is not known either if a key of the lock on a node was unclear (`key-unclear`)
	// at some time from the invocation of the `acquire` to the end of the belief, by the order of
	// events. [...] Uncertainty that ended before the first of these commands left the client does not count."
	earliest := int64(math.MaxInt64)
	for i := range t.events {
		if at := t.events[i].Value.At(); t.asks(g, i) {
			earliest = min(earliest, at.V())
		}
	}
	for i := range g.ended {
		if t.events[i].F != history.KeyUnclear || !t.ofLock(i) {
			continue
		}
		clear := t.clearAgain(i)
		if clear > g.invoked && (earliest == math.MaxInt64 || clear == len(t.events) || t.time(clear) >= earliest) {
			g.unknown = true
		}
	}
}

// clearAgain is the event that ends the uncertainty about a key that begins in event i: "This
// ends with the next event of the key on that node."
func (t *terms) clearAgain(i int) int {
	for j := i + 1; j < len(t.events); j++ {
		if e := &t.events[j]; (aboutKey(e.F) || e.F == history.KeyUnclear) &&
			e.Process == t.events[i].Process && e.Value.Key == t.events[i].Value.Key {
			return j
		}
	}
	return len(t.events)
}

// asks reports that event i tells of what a grant's client asks for: "the `key-set` and `key-extended` events of a key of the lock with an
// `at`, whose `client` is the grant's, whose `at` is not before the invocation of the `acquire`, and before the end of the belief or not
// after the answer. A `key-set` that leaves the key to another client is none, and neither is an event of a key that does not count for the
// grant."
func (t *terms) asks(g *grant, i int) bool {
	e := &t.events[i]
	at := e.Value.At()
	// "Lease in the value: in "Given promise" only `key-set` events tell what a client asks for."
	return (e.F == history.KeySet || e.F == history.KeyExtended && !t.leased()) && t.ofLock(i) && !t.leavesTo(i) &&
		e.Value.Client == g.client && at.IsSet() && at.V() >= g.call && (at.V() < g.end || at.V() <= g.ret) &&
		t.countsFor(g, e.Value.Key) && !t.inside(g, i)
}

// inside: "What it takes the client does not ask for the grant: if the grant's own `acquire` says `inner`, no event with another owner
// value than the grant's (if both have one); if such an `acquire` of the client and lock stands between the grant's answer and the event,
// neither that, nor an event of a key on a node on which, behind this `acquire`, the client has set the key (with this event or before)
// when the last that the node had told of it was that it had expired or was deleted."
func (t *terms) inside(g *grant, i int) bool {
	owner := t.events[i].Value.Owner
	other := owner != "" && g.owner != "" && owner != g.owner
	return other && g.asked.Inner() || slices.ContainsFunc(t.ops, func(p *op) bool {
		return p.f == history.Acquire && p.client == g.client && p.lock == g.lock && p.asked.Inner() && g.answered < p.invoked && p.invoked < i &&
			(other || t.tookGone(g.client, p.invoked, i))
	})
}

// tookGone reports that a client set the key of an event, behind another and not behind this, when it was gone.
func (t *terms) tookGone(client string, behind, i int) bool {
	of := &t.events[i]
	for j := behind + 1; j <= i; j++ {
		e := &t.events[j]
		if e.F == history.KeySet && e.Process == of.Process && e.Value.Key == of.Value.Key && e.Value.Client == client && t.goneBefore(j) {
			return true
		}
	}
	return false
}

// leavesTo reports that a key-set leaves the key to another client.
func (t *terms) leavesTo(i int) bool { return t.events[i].F == history.KeySet && t.stays(i) }

// asksSince is "the latest instant since when it asks for a quorum of nodes", by the events before one; math.MinInt64: it asks
// for fewer.
func (t *terms) asksSince(g *grant, before int) int64 {
	return t.asksSinceBy(g, func(i int) bool { return i < before })
}

// asksSinceBy is that instant by the events that count.
func (t *terms) asksSinceBy(g *grant, counts func(int) bool) int64 {
	nodes := map[string]int64{}
	for at, a := range t.asksFor(g, counts) {
		// "A client asks for a node since the earliest of its keys there"
		if other, some := nodes[at.node]; some {
			a.since = min(a.since, other)
		}
		nodes[at.node] = a.since
	}
	sinces := slices.Sorted(maps.Values(nodes))
	if len(sinces) < t.header.Quorum {
		return math.MinInt64
	}
	return sinces[len(sinces)-t.header.Quorum]
}

type place struct{ node, key string }

// asking is what a client asks of a key: since when, and until when.
type asking struct{ since, until int64 }

// asksFor is what a grant's client asks for of each key by the events that count.
func (t *terms) asksFor(g *grant, counts func(int) bool) map[place]asking {
	keys := map[place]asking{}
	for i, e := range t.events {
		here := place{e.Process, e.Value.Key}
		switch {
		case !counts(i):
		case t.asks(g, i):
			now := asking{e.Value.At().V(), forever}
			if e.Value.ValidUntil().IsSet() {
				now.until = e.Value.ValidUntil().V()
			}
			// "But a `key-extended` of a key that it asked for without an end gives the key its first end: [...] since then the key is asked for"
			// "One until the same instant as the event before it asks for nothing new, either."
			if last, some := keys[here]; some && (last.until == forever || last.until == now.until) && e.F == history.KeyExtended {
				now.since = last.since
			}
			keys[here] = now
		case t.takesBack(g, i):
			delete(keys, here)
		}
	}
	return keys
}

// takesBack: "A `key-deleted` of the same client takes the key back, unless it stands before the first of these events or after
// the end of the belief, or is of what an `inner` took for itself."
func (t *terms) takesBack(g *grant, i int) bool {
	e := &t.events[i]
	return e.F == history.KeyDeleted && e.Value.Client == g.client && t.ofLock(i) && i < g.ended && i > t.firstAsk(g) && !t.inside(g, i)
}

// firstAsk is the first event of what a grant's client asks for; none: the end.
func (t *terms) firstAsk(g *grant) int {
	for i := range t.events {
		if t.asks(g, i) {
			return i
		}
	}
	return len(t.events)
}

// loss is the event that told of one, and the first instant at which the grant can have been
// lost.
type loss struct {
	event int
	from  int64
}

// lose lets event i, a loss, belong to grants: "An event `lost` of a client belongs to those
// grants of its client and lock whose `acquire` was invoked before it, and whose belief had not
// ended, by the order of events. Of several such events, only the first belongs to a grant."
func (t *terms) lose(i int) {
	v := &t.events[i].Value
	for _, g := range t.grants {
		switch {
		case !t.tells(g, i) || g.invoked >= i || i >= g.ended || g.loss != nil:
		case !v.At().IsSet():
			// "Without an `at`, the promise is not known."
			g.unknown = true
		default:
			// "The instant of the loss is its `at`, if this can be true. [...] What cannot be true is ignored: the
			// instant of the loss is that of the event, and `at_error` is 0."
			at, off := v.At().V(), v.AtError()
			if !t.canBeTrue(g, at, i) {
				at, off = t.time(i), 0
			}
			g.loss = &loss{i, max(at-off, g.call)}
			g.unknown = g.unknown || t.lostAnyTime(g, at)
		}
	}
}

// tells reports that event i is a `lost` that may be about a grant: "of the same lock, with the same owner value, if both
// have one. An `at` before that invocation is about an older grant, unless both have an owner value, and no older
// grant of the client and lock has it."
func (t *terms) tells(g *grant, i int) bool {
	e := &t.events[i]
	v := &e.Value
	if e.F != history.Lost || e.Process != g.client || v.Lock() != g.lock || v.Owner != "" && g.owner != "" && v.Owner != g.owner {
		return false
	}
	if !v.At().IsSet() || v.At().V() >= g.call {
		return true
	}
	for _, older := range t.grants {
		if older.client == g.client && older.lock == g.lock && older.invoked < g.invoked && older.owner == g.owner {
			return false
		}
	}
	return v.Owner != "" && g.owner != ""
}

// canBeTrue: "It cannot if it is after the event or before the invocation of the `acquire`. Nor can it if the event
// stands after the answer to the `acquire`, and the client held on between the `at` and the event".
func (t *terms) canBeTrue(g *grant, at int64, i int) bool {
	if at > t.time(i) || at < g.call {
		return false
	}
	if i < g.answered {
		return true
	}
	if slices.ContainsFunc(t.ops, func(p *op) bool { return p.client == g.client && t.heldOn(g, p, at, i) }) {
		return false
	}
	// "or a `key-set` or `key-extended` of the client stands between the invocation of the `acquire` and the event that left
	// it (`at`) and came (its stamp) after the `at` of the loss."
	for j := g.invoked + 1; j < i; j++ {
		e := &t.events[j]
		asks := (e.F == history.KeySet || e.F == history.KeyExtended) && e.Value.Client == g.client && e.Value.At().IsSet()
		if asks && e.Value.At().V() > at && t.time(j) > at {
			return false
		}
	}
	return true
}

// heldOn reports that an operation of the client shows that it held on between the `at` of a loss and its event i.
func (t *terms) heldOn(g *grant, p *op, at int64, i int) bool {
	answered := p.answered >= 0 && p.answered < i && p.ret > at && p.outcome == history.OK && p.lock == g.lock
	switch p.f {
	case history.Acquire:
		// "an `acquire` of the client and lock was answered `ok`"
		if answered && p.answered > g.invoked {
			return true
		}
	case history.Extend:
		// "or a renewal of the grant was answered"
		if answered && p.said.ValidUntil().IsSet() && g.isRenewedBy(p) {
			return true
		}
	case history.Release, history.Forget:
	default:
		// "or the client invoked an operation on the resource while it acted under no grant of another lock"
		others := slices.ContainsFunc(t.actsUnder(p), func(under *grant) bool { return under.lock != g.lock })
		if p.call > at && p.invoked > g.invoked && p.invoked < i && !others {
			return true
		}
	}
	return false
}

// lostAnyTime: "If the promise was ended so before the instant of the loss, it is not known since when the lock was
// lost. It can be any instant from there to `at`, or to the end that the promise would have had,
// if that is earlier. The promise is then not known if, in that stretch, another client was
// granted the lock or an effect of the client may have taken place."
func (t *terms) lostAnyTime(g *grant, at int64) bool {
	from, to := g.loss.from, at
	if end, promised := g.unlost(func(r *op) bool { return r.answered < g.loss.event }); promised {
		to = min(to, end)
	}
	if from >= to {
		return false
	}
	for _, other := range t.grants {
		if other.client != g.client && other.lock == g.lock && from <= other.ret && other.ret <= to {
			return true
		}
	}
	for j := range t.events {
		if e := &t.events[j]; e.F == history.Effect && e.Value.Client == g.client {
			if earliest, latest, _ := instants(e, t.asked(e)); earliest <= to && from <= latest {
				return true
			}
		}
	}
	return false
}

// vague reports that a promise is not known.
func (t *terms) vague() bool {
	return slices.ContainsFunc(t.grants, func(g *grant) bool { return g.unknown })
}
