package checker

import (
	"math"
	"sort"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// leased reports that the lock keeps its lease in the value of its key: the TTL is the lease, whatever end the key has.
func (v *view) leased() bool { return v.h.Header.Lease == history.LeaseTTL && v.h.Header.TTL > 0 }

// sent is when the command that an event tells of left its client; its stamp, where no link told.
func (v *view) sent(event int) time.Duration {
	if v.event(event).Value.At().IsSet() {
		return v.left(event)
	}
	return v.at(event)
}

// leaseEnd is when the lease of a key-set is over.
func (v *view) leaseEnd(set int) time.Duration { return v.sent(set) + time.Duration(v.h.Header.TTL) }

// mayBeOver is the first instant at which others may find the lease of a key-set over. Its client computed the end before
// the command left it, within the attempt, and a try that takes half a TTL for that keeps no lease. What was sent after the
// belief had ended may be the release.
func (v *view) mayBeOver(set int) time.Duration {
	attempt := v.attemptBefore(v.event(set).Value.Client, set)
	if attempt < 0 {
		return math.MinInt64
	}
	if g := v.grantOf(attempt); g != nil && g.ends >= 0 && v.sent(set) >= v.at(g.ends) {
		return math.MinInt64
	}
	ttl, end := time.Duration(v.h.Header.TTL), v.leaseEnd(set)
	return min(end, max(v.at(v.ops[attempt].Call)+ttl, end-ttl/2))
}

// attemptBefore is a client's latest attempt before an event, -1 for none.
func (v *view) attemptBefore(client string, event int) int {
	attempts := v.acquires[client]
	n := sort.Search(len(attempts), func(n int) bool { return v.ops[attempts[n]].Call > event })
	if n == 0 {
		return -1
	}
	return attempts[n-1]
}

// renewsLease reports that a key-set prolongs the life of a key: its client sets it once more in the same attempt.
func (v *view) renewsLease(k *keyLife, set int) bool {
	client, by := v.keyOf(set)
	if !v.leased() || by != set || client == "" || client != k.client {
		return false
	}
	attempt := v.attemptBefore(client, set)
	return attempt >= 0 && attempt == v.attemptBefore(client, k.set)
}

// renewLease lets a key live on for the lease of a key-set. One that left its client while a release was under way may be
// that release.
func (v *view) renewLease(open map[nodeKey]int, lives []keyLife, key nodeKey, set int) {
	k := &lives[open[key]]
	if g := v.grantOf(v.attemptBefore(k.client, set)); g != nil && g.how == released &&
		v.sent(set) >= v.at(g.ends) && v.sent(set) <= v.at(v.ops[g.release].Return) {
		k.expires, k.end, k.forgotten = min(k.expires, v.at(set)), set, set
		delete(open, key)
		return
	}
	k.value, k.expires, k.latest, k.renewed = v.event(set).Value.Owner, v.leaseEnd(set), set, set
}
