package lock

import "time"

func init() {
	mistakes := redlockMistakes
	mistakes.KeepRenewing, mistakes.NeverRenew, mistakes.RenewsAfterWork, mistakes.RenewalGivesUp = true, true, true, true
	register(Algorithm{
		Name:     "redlock-extend",
		Title:    "Redlock whose holder extends its lease on a majority every third of the ttl",
		MinNodes: 1,
		Tokens:   redlockTokens,
		Points:   append([]string{PointBeforeExtend}, redlockPoints...),
		Mistakes: mistakes,
		New: func(c Config, env Env) Lock {
			l := &extendingRedlock{redlock: *newRedlock(c, env)}
			l.renewal = renewal{Config: c, env: env, extend: l.extend, remaining: l.redlock.Remaining}
			return l
		},
	})
}

// extendingRedlock is Redlock as the Redis documentation tells of its extension:
// the lease is extended where a majority still has the key, within the validity.
type extendingRedlock struct {
	redlock
	renewal renewal
}

var (
	_ Lock      = (*extendingRedlock)(nil)
	_ Forgetter = (*extendingRedlock)(nil)
)

func (l *extendingRedlock) Acquire() (Grant, Result) { return l.renewal.begin(l.redlock.Acquire()) }

func (l *extendingRedlock) Release(g Grant) Result {
	l.renewal.end()
	return l.redlock.Release(g)
}

// Forget implements Forgetter.
func (l *extendingRedlock) Forget(Grant) Result { return l.renewal.forget() }

func (l *extendingRedlock) Remaining(g Grant) time.Duration {
	return l.redlock.Remaining(l.renewal.latest(g))
}

// extend extends the lease of owner once.
func (l *extendingRedlock) extend(owner string) (Grant, Result) {
	before := l.renewal.heldGrant()
	if before.Owner != owner { // by mistake it goes on with what is not held any more
		before = Grant{Owner: owner, Forever: true}
	}
	return l.Extend(before)
}
