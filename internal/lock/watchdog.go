package lock

import (
	"time"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
)

func init() {
	for _, w := range []struct {
		name, title string
		blind       bool
	}{
		{"watchdog", "SET NX PX with a watchdog that renews the lease every third of the ttl, if the key is still its own", false},
		{"watchdog-blind", "the same with a plain PEXPIRE: the watchdog renews whatever key is there, and never notices", true},
	} {
		mistakes := ownedMistakes
		mistakes.KeepRenewing, mistakes.NeverRenew, mistakes.RenewsAfterWork = true, true, true
		if !w.blind {
			mistakes = mistakes.and(renewalMistakes)
		}
		register(Algorithm{
			Mistakes: mistakes,
			Name:     w.name, Title: w.title, MinNodes: 1, MaxNodes: 1, Tokens: separate, Points: []string{PointBeforeExtend},
			New: func(c Config, env Env) Lock {
				l := &watchdog{single: single{Config: c, env: env, take: setNX, give: compareAndDelete}, blind: w.blind}
				l.renewal = renewal{Config: c, env: env, extend: l.extend, remaining: l.single.Remaining, blind: w.blind}
				return l
			},
		})
	}
}

// watchdog is a lock on one node that renews its lease.
type watchdog struct {
	single
	renewal renewal
	blind   bool
}

var (
	_ Lock      = (*watchdog)(nil)
	_ Forgetter = (*watchdog)(nil)
)

func (l *watchdog) Acquire() (Grant, Result) { return l.renewal.begin(l.single.Acquire()) }

func (l *watchdog) Release(g Grant) Result {
	l.renewal.end()
	return l.single.Release(g)
}

// Forget implements Forgetter.
func (l *watchdog) Forget(Grant) Result { return l.renewal.forget() }

func (l *watchdog) Remaining(g Grant) time.Duration { return l.single.Remaining(l.renewal.latest(g)) }

// extend renews the lease once.
func (l *watchdog) extend(owner string) (Grant, Result) {
	g := l.leased(owner, l.now())
	return g, l.renew(l.extendCommand(owner))
}

func (l *watchdog) extendCommand(owner string) command.Command {
	if l.blind {
		return command.PExpire(l.Key, l.TTL)
	}
	return l.extendOwn(owner)
}

// extendOwn renews the key where it still has the owner's value.
func (c Config) extendOwn(owner string) command.Command {
	script, ttl := extendScript, c.TTL
	switch {
	case c.Mistakes.RenewalFrees:
		return command.Eval(releaseScript, []string{c.Key}, owner)
	case c.Mistakes.RenewalTakes:
		script = setScript
	case c.Mistakes.ExtendAbsent:
		script = extendOrSetScript
	}
	if c.Mistakes.RenewalShort {
		ttl = max(ttl/1000, time.Millisecond)
	}
	return command.Eval(script, []string{c.Key}, owner, command.Itoa(command.Milliseconds(ttl)))
}
