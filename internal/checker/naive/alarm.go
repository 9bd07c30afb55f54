package naive

import (
	"math"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// noFalseAlarm: "A holder that has its lock is not told that it has lost it."
func (t *terms) noFalseAlarm() answer {
	if !t.oneLock() || t.ttl("") <= 0 || t.leased() {
		return cannotTell
	}
	violated, chances := false, false
	for _, g := range t.grants {
		// "Re-entries are not judged", and "no fault bends its clock at any time".
		if g.outer != nil || t.bentClock(g.client) {
			continue
		}
		// "It stands after the answer and before the end of the belief."
		for i := g.answered + 1; i < g.ended; i++ {
			// "Chances: each `key-set` or `key-extended` of the client of a grant, of a key of the lock, with which an alarm would be
			// one in its place."
			e := &t.events[i]
			renewal := (e.F == history.KeySet || e.F == history.KeyExtended) && e.Value.Client == g.client && t.ofLock(i)
			if alarm := t.alarm(g, i); (alarm || renewal) && t.falseAt(g, i) {
				chances = true
				violated = violated || alarm
			}
		}
	}
	return found(violated, chances && t.unclear() == len(t.events))
}

// falseAt: the rest of what must be true of an alarm in event i.
func (t *terms) falseAt(g *grant, i int) bool {
	ttl, at := t.ttl(g.client), t.time(i)
	// "The client was not struck from a TTL before the alarm to the alarm."
	if t.struckIn(g.client, at-ttl, at) {
		return false
	}
	if told := t.toldUntil(g, i); told.IsSet() && told.V() <= at {
		return false
	}
	var good []string
	for _, n := range t.header.Nodes {
		// "surely had the lock after each event from the answer to the alarm"
		has := true
		for k := g.answered; k <= i; k++ {
			here := false
			for _, key := range t.lockKeys() {
				now := t.knownOnce(n, key, k)
				here = here || t.countsFor(g, key) && now.client == g.client && now.set > g.invoked
			}
			has = has && (here || t.gaveUp(g, n, k))
		}
		// "its last `key-set` or `key-extended` of a key of the lock on the node before the alarm left it not earlier" than half a TTL
		// before.
		asked := false
		for k := range t.events[:i+1] {
			e := &t.events[k]
			if (e.F == history.KeySet || e.F == history.KeyExtended) && e.Process == n && e.Value.Client == g.client && t.ofLock(k) {
				asked = t.sent(k) >= at-ttl/2
			}
		}
		if has && asked && !t.goesSoon(g.client, n, i) && !t.disturbed(g.client, n, at-ttl, at+ttl/10) {
			good = append(good, n)
		}
	}
	return t.count(good) >= t.quorum()
}

// gaveUp: "What the client deletes itself by a command that left it (`at`) after the last by which it asked the node for the lock counts
// as still there, until the next event of a key of the lock on the node."
func (t *terms) gaveUp(g *grant, node string, to int) bool {
	last, asked := -1, int64(math.MinInt64)
	for k := 0; k <= to; k++ {
		if e := &t.events[k]; e.Process != node || !t.ofLock(k) || !aboutKey(e.F) && e.F != history.KeyUnclear {
			continue
		}
		last = k
		if e := &t.events[k]; (e.F == history.KeySet || e.F == history.KeyExtended) && e.Value.Client == g.client {
			asked = t.sent(k)
		}
	}
	if last <= g.answered {
		return false
	}
	e := &t.events[last]
	return e.F == history.KeyDeleted && e.Value.Client == g.client && e.Value.At().IsSet() && asked > math.MinInt64 && e.Value.At().V() > asked
}

// toldUntil: "the latest `valid_until` of the grant and of those `extend` that were answered `ok` before the alarm, and that renew the
// grant", must be after it.
func (t *terms) toldUntil(g *grant, i int) history.Int {
	told := g.said.ValidUntil()
	for _, p := range t.ops {
		until := p.said.ValidUntil()
		renews := p.f == history.Extend && p.outcome == history.OK && p.client == g.client && p.lock == g.lock && g.isRenewedBy(p)
		if renews && p.answered > g.answered && p.answered <= i && until.IsSet() && (!told.IsSet() || until.V() > told.V()) {
			told = until
		}
	}
	return told
}

// goesSoon: not so that "the first event of a key of the lock on the node that stands after the alarm comes later than this tenth, or it
// is the client's own".
func (t *terms) goesSoon(client, node string, i int) bool {
	at := t.time(i)
	for k := i + 1; k < len(t.events) && t.time(k) <= at+t.ttl(client)/10; k++ {
		e := &t.events[k]
		if (aboutKey(e.F) || e.F == history.KeyUnclear) && e.Process == node && t.ofLock(k) {
			return e.Value.Client != client
		}
	}
	return false
}
