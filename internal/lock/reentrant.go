package lock

import "time"

func init() {
	for _, r := range []struct {
		name, title string
		forgetful   bool
	}{
		{"reentrant", "SET NX PX; the client counts how often its holder has entered", false},
		{"reentrant-leaky", "the same, but the outer release never clears the client's own entry: its next acquire asks no node", true},
	} {
		register(Algorithm{
			Name: r.name, Title: r.title, MinNodes: 1, MaxNodes: 1, Tokens: separate,
			Mistakes: ownedMistakes.and(Mistakes{FirstFrees: true}),
			New: func(c Config, env Env) Lock {
				return &reentrant{single: single{Config: c, env: env, take: setNX, give: compareAndDelete}, leaky: r.forgetful}
			},
		})
	}
}

// reentrant lets its holder in again without asking Redis.
type reentrant struct {
	single
	leaky bool
	held  Grant
	count int
}

var _ Lock = (*reentrant)(nil)

func (l *reentrant) Acquire() (Grant, Result) {
	if l.count > 0 && (l.leaky || l.single.Remaining(l.held) > 0) {
		l.count++
		g := l.held
		g.Local, g.Nodes = true, nil
		if l.leaky {
			// It hands out its entry without a look at the lease, as if it were new.
			g.Until = l.now() + l.TTL
		}
		return g, Result{Outcome: OK}
	}
	g, result := l.single.Acquire()
	if result.Outcome == OK {
		l.held, l.count = g, 1
	}
	return g, result
}

// Release leaves once. The last one out gives the key back; the leaky one gives
// it back when it leaves a grant that came from Redis, and forgets to say so to
// itself.
func (l *reentrant) Release(g Grant) Result {
	if l.leaky && !g.Local {
		return l.single.Release(g)
	}
	if l.count--; l.count > 0 && !l.Mistakes.FirstFrees {
		return Result{Outcome: OK}
	}
	l.count = 0
	return l.single.Release(g)
}

// Forget implements Forgetter. The leaky one does not clear its entry here, either.
func (l *reentrant) Forget(Grant) Result {
	if !l.leaky {
		l.count = 0
	}
	return Result{Outcome: OK}
}

func (l *reentrant) Remaining(g Grant) time.Duration { return l.single.Remaining(g) }
