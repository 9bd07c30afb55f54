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
			Mistakes: ownedMistakes.and(Mistakes{FirstFrees: true, ProcessHolds: true}),
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
	own   entry
}

// entry is a grant in the process's own memory, and how often its holder has entered.
type entry struct {
	held  Grant
	count int
}

var _ Lock = (*reentrant)(nil)

// entered is the entry of the holder, for the caller alone until done is called.
func (l *reentrant) entered() (e *entry, done func()) {
	if !l.Mistakes.ProcessHolds {
		return &l.own, func() {}
	}
	p := l.env.Process()
	p.mu.Lock()
	return &p.entry, p.mu.Unlock
}

func (l *reentrant) Acquire() (Grant, Result) { return acquireWithRetry(l.env, &l.Config, l.attempt) }

func (l *reentrant) attempt() (Grant, Result) {
	if g, again := l.enterAgain(); again {
		return g, Result{Outcome: OK}
	}
	g, result := l.single.attempt()
	if result.Outcome == OK {
		e, done := l.entered()
		defer done()
		e.held, e.count = g, 1
	}
	return g, result
}

// enterAgain lets the holder in; false: the caller is not the holder.
func (l *reentrant) enterAgain() (g Grant, is bool) {
	e, done := l.entered()
	defer done()
	if e.count == 0 || !l.leaky && l.single.Remaining(e.held) <= 0 {
		return Grant{}, false
	}
	e.count++
	g = e.held
	g.Local, g.Nodes = true, nil
	if l.leaky {
		// It hands out its entry without a look at the lease, as if it were new.
		g.Until = l.now() + l.TTL
	}
	return g, true
}

// Release leaves once. The last one out gives the key back; the leaky one gives
// it back when it leaves a grant that came from Redis, and forgets to say so to
// itself.
func (l *reentrant) Release(g Grant) Result {
	if l.leaky && !g.Local {
		return l.single.Release(g)
	}
	if !l.isLast() {
		return Result{Outcome: OK}
	}
	return l.single.Release(g)
}

// isLast counts one entry less, and reports that none is left.
func (l *reentrant) isLast() bool {
	e, done := l.entered()
	defer done()
	if e.count--; e.count > 0 && !l.Mistakes.FirstFrees {
		return false
	}
	e.count = 0
	return true
}

// Forget implements Forgetter. The leaky one does not clear its entry here, either.
func (l *reentrant) Forget(Grant) Result {
	if !l.leaky {
		e, done := l.entered()
		defer done()
		e.count = 0
	}
	return Result{Outcome: OK}
}

func (l *reentrant) Remaining(g Grant) time.Duration { return l.single.Remaining(g) }
