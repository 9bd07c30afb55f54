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

// LeaseByClock reports that a clock which the client read itself, nobody knows when, says when a lease is over.
func (f *Facts) LeaseByClock() bool {
	return f.LeaseInValue() || f.History.Header.Lease == history.LeaseClock && f.History.Header.TTL > 0
}

// Endless reports that the lock was given no TTL: nothing but its release ends it.
func (f *Facts) Endless() bool {
	return f.History.Header.Lease == history.LeaseNone && f.History.Header.TTL <= 0
}

// TTL is for how long the keys of a client's lock live; 0: the history does not say it of all clients.
func (f *Facts) TTL(client string) time.Duration {
	h := &f.History.Header
	for _, l := range h.Differ {
		if l.TTL <= 0 {
			return 0
		}
	}
	return time.Duration(h.LockOf(client).TTL)
}

// LongestTTL is the longest TTL of a client.
func (f *Facts) LongestTTL() time.Duration {
	longest := f.TTL("")
	for client := range f.History.Header.Differ {
		longest = max(longest, f.TTL(client))
	}
	return longest
}

// Renews reports that the lock of some client renews itself.
func (f *Facts) Renews() bool {
	renews := f.History.Header.Renews
	for _, l := range f.History.Header.Differ {
		renews = renews || l.Renews
	}
	return renews
}

// leaseEnd is when the lease of a key-set is over.
func (f *Facts) leaseEnd(set int) time.Duration {
	return f.SentAt(set) + f.TTL(f.Event(set).Value.Client)
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
	return f.mayBeOver(f.Ops[attempt].Process, f.At(f.Ops[attempt].Call), f.leaseEnd(set))
}

// heldUntil is the end of a promise that was told in an event, or the instant from which on others may find the lease over, as
// LeaseMayBeOverAt says. A lock log has the one in ValidUntil and the other in Validity.
func (f *Facts) heldUntil(g *Grant, p Promise, told int) Promise {
	if v := f.Event(told).Value.Validity(); f.History.Clocks != nil && v.IsSet() {
		return Promise{min(p.End, f.At(told)+time.Duration(v.V())), p.Given}
	}
	if !g.byItsClock || !p.Given || p.End == Forever {
		return p
	}
	first := g
	for first.Outer >= 0 {
		first = &f.Grants[first.Outer]
	}
	return Promise{f.mayBeOver(g.Client, f.At(first.Call), p.End), true}
}

// mayBeOver is the first instant at which a lease with such an end may be over, of a client that asked for the lock at an instant.
func (f *Facts) mayBeOver(client string, asked, end time.Duration) time.Duration {
	ttl := f.TTL(client)
	return min(end, max(asked+ttl, end-ttl/2))
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
