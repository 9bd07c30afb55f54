package naive

import (
	"math"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// leased: "If the header says `"lease":"ttl"`, and has a TTL, the lock keeps the end of its lease in the value of its key".
func (t *terms) leased() bool { return t.header.Lease == "ttl" && t.header.TTL > 0 }

// byClock: "a lock with its lease in the value, or with `"lease":"clock"` in the header", and a TTL.
func (t *terms) byClock() bool { return t.leased() || t.header.Lease == "clock" && t.header.TTL > 0 }

// endless: "Without a TTL. If the header says `"lease":"none"`, and has no `ttl`, the lock was given no TTL".
func (t *terms) endless() bool { return t.header.Lease == "none" && t.header.TTL <= 0 }

// ttl: "Where this page speaks of the TTL, that of the client counts which it is about." "If the header says the TTL of some clients alone,
// the history does not say the TTL."
func (t *terms) ttl(client string) int64 {
	for _, l := range t.header.Differ {
		if l.TTL <= 0 {
			return 0
		}
	}
	if l, differs := t.header.Differ[client]; differs {
		return l.TTL
	}
	return t.header.TTL
}

// renews: "So it is with `renews`".
func (t *terms) renews(client string) bool {
	if l, differs := t.header.Differ[client]; differs {
		return l.Renews
	}
	return t.header.Renews
}

// mayStay: "no-orphan-lock and nothing-stays measure by `grant_within`, where they measure by the TTL otherwise."
func (t *terms) mayStay(client string) int64 {
	if t.endless() {
		return t.bound
	}
	return t.ttl(client)
}

// sent is the `at` of an event, or else its stamp.
func (t *terms) sent(i int) int64 {
	if at := t.events[i].Value.At(); at.IsSet() {
		return at.V()
	}
	return t.time(i)
}

// leaseEnd: "The lease of a `key-set` of a client lasts for the TTL from the `at` of the event; from its stamp, if it has none."
func (t *terms) leaseEnd(i int) int64 { return t.sent(i) + t.ttl(t.events[i].Value.Client) }

// mayBeOver is from when on a lease may be over.
func (t *terms) mayBeOver(i int) int64 {
	// "If there is no such attempt, the lease may be over at any time."
	p := t.attemptOf(i)
	if p == nil {
		return math.MinInt64
	}
	// "A `key-set` may be the release itself, if it leaves its client at or after the end of the belief in the grant of its
	// attempt. Its lease may be over at any time."
	for _, g := range t.grants {
		if g.op == p && t.sent(i) >= g.end {
			return math.MinInt64
		}
	}
	// "from half a TTL before its end, but not before a TTL has passed since the invocation of the attempt that the `key-set`
	// belongs to. From that instant on, or else from its end, the lease may be over."
	return min(max(t.leaseEnd(i)-t.ttl(p.client)/2, p.call+t.ttl(p.client)), t.leaseEnd(i))
}

// isNobodysFault: "With a lease by the client's clock, this counts only before the lease of the key may be over: that of the `key-set` by
// which the key is its owner's. Later, or where nobody was seen to set the key, it is neither a violation nor a chance."
func (t *terms) isNobodysFault(i int) bool {
	if !t.byClock() {
		return false
	}
	e := &t.events[i]
	w := t.whoseOnce(e.Process, e.Value.Key, i)
	return w.client == "" || w.value != e.Value.Owner || t.time(i) >= t.mayBeOver(w.set)
}

// renewsLease: "A further `key-set` of the client whose key it is, in the same attempt, is a renewal". The key was set in event i.
func (t *terms) renewsLease(i, j int) bool {
	w, now := t.whoseOf(i), t.whoseOf(j)
	return t.leased() && t.events[j].F == history.KeySet && w.known() && now.known() && now.set == j &&
		now.client == w.client && t.attemptOf(j) != nil && t.attemptOf(j) == t.attemptOf(w.set)
}

// mayBeRelease: "if the command left the client at or after the release was asked for and not after the release was answered,
// the `key-set` may be the release itself".
func (t *terms) mayBeRelease(j int) bool {
	for _, g := range t.grants {
		for _, p := range t.ops {
			if g.op == t.attemptOf(j) && p.f == history.Release && len(p.ends) == 1 && p.ends[0] == g && t.sent(j) >= p.call && t.sent(j) <= p.ret {
				return true
			}
		}
	}
	return false
}
