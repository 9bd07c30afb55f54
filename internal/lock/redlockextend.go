package lock

import (
	"strconv"
	"time"
)

func init() {
	mistakes := redlockMistakes
	mistakes.ExtendAbsent, mistakes.ExtendAnyhow, mistakes.KeepRenewing = true, true, true
	mistakes.NeverRenew, mistakes.RenewsAfterWork = true, true
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

var _ Lock = (*extendingRedlock)(nil)

func (l *extendingRedlock) Acquire() (Grant, Result) { return l.renewal.begin(l.redlock.Acquire()) }

func (l *extendingRedlock) Release(g Grant) Result {
	l.renewal.end()
	return l.redlock.Release(g)
}

func (l *extendingRedlock) Remaining(g Grant) time.Duration {
	return l.redlock.Remaining(l.renewal.latest(g))
}

// extend extends the lease once, on all nodes. It counts with a majority of them,
// before the promise that it extends has ended.
func (l *extendingRedlock) extend(owner string) (Grant, Result) {
	before := l.renewal.heldGrant()
	start := l.now()
	round := l.ask(l.extendOwn(owner), done)
	g := Grant{Owner: owner, Until: l.until(start), Nodes: round.yes}
	late := before.Owner == owner && l.redlock.Remaining(before) <= 0
	if l.Mistakes.ExtendAnyhow {
		return g, Result{Outcome: OK}
	}
	switch {
	case len(round.yes) < l.quorum() && len(round.yes)+round.silent >= l.quorum():
		return g, Result{Outcome: Info, Err: "too few nodes answered the extension"} // the next one may succeed
	case len(round.yes) < l.quorum():
		return g, Result{Outcome: Fail, Err: strconv.Itoa(len(round.yes)) +
			" of " + strconv.Itoa(len(l.env.Nodes())) + " nodes extended it: no quorum"}
	case late:
		return g, Result{Outcome: Fail, Err: "extended too late: the promise had ended"}
	}
	return g, Result{Outcome: OK}
}
