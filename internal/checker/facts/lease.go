package facts

import (
	"math"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// LeaseInValue reports that the lock keeps its lease in the value of its key: the TTL is the lease, whatever end the key has.
func (f *Facts) LeaseInValue() bool {
	return f.History.Header.Lease == history.LeaseTTL && f.History.Header.TTL > 0
}

// Endless reports that the lock was given no TTL: nothing but its release ends it.
func (f *Facts) Endless() bool {
	return f.History.Header.Lease == history.LeaseNone && f.History.Header.TTL <= 0
}

// leaseEnd is when the lease of a key-set is over.
func (f *Facts) leaseEnd(set int) time.Duration {
	return f.SentAt(set) + time.Duration(f.History.Header.TTL)
}

// LeaseMayBeOverAt is the first instant at which others may find the lease of a key-set over. Its client computed the end before
// the command left it, within the attempt, and a try that takes half a TTL for that keeps no lease. What was sent after the
// belief had ended may be the release.
func (f *Facts) LeaseMayBeOverAt(set int) time.Duration {
	attempt := f.attemptBefore(f.Event(set).Value.Client, set)
	if attempt < 0 {
		return math.MinInt64
	}
	if g := f.GrantOf(attempt); g != nil && g.End >= 0 && f.SentAt(set) >= f.At(g.End) {
		return math.MinInt64
	}
	ttl, end := time.Duration(f.History.Header.TTL), f.leaseEnd(set)
	return min(end, max(f.At(f.Ops[attempt].Call)+ttl, end-ttl/2))
}

// renewsLease reports that a key-set prolongs the life of a key: its client sets it once more in the same attempt.
func (f *Facts) renewsLease(k *KeyLife, set int) bool {
	client, by := f.OwnerAfter(set)
	if !f.LeaseInValue() || by != set || client == "" || client != k.Client {
		return false
	}
	attempt := f.attemptBefore(client, set)
	return attempt >= 0 && attempt == f.attemptBefore(client, k.by)
}

// mayBeRelease reports that a key-set left its client while a release was under way: it may be that release.
func (f *Facts) mayBeRelease(k *KeyLife, set int) bool {
	g := f.GrantOf(f.attemptBefore(k.Client, set))
	return g != nil && g.Ending == Released && f.SentAt(set) >= f.At(g.End) && f.SentAt(set) <= f.At(f.Ops[g.release].Return)
}
