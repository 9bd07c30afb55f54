package lock

import (
	"time"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
)

func init() {
	registerWatchdog("watchdog", "SET NX PX with a watchdog that renews the lease every third of the ttl, if the key is still its own",
		renewalMistakes, Config.extendOwn, false)
	registerWatchdog("watchdog-blind", "the same with a plain PEXPIRE: the watchdog renews whatever key is there, and never notices",
		Mistakes{}, func(c Config, _ string) command.Command { return command.PExpire(c.Key, c.TTL) }, true)
	registerWatchdog("set-ifeq", "SET NX PX with a watchdog that renews the lease by SET IFEQ PX, without a script (Valkey 8.1)",
		Mistakes{RenewalShort: true, RenewalTakes: true, RenewalForever: true}, Config.setOwn, false, command.SetWithIfEq)
}

// registerWatchdog registers a lock on one node that renews its lease by what again says.
func registerWatchdog(
	name, title string, more Mistakes, again func(c Config, owner string) command.Command, blind bool, needs ...command.Feature,
) {
	register(renewing(name, title, ownedMistakes.and(more), needs, func(c Config, env Env) *watchdog {
		l := &watchdog{single: single{Config: c, env: env, take: setNX, give: compareAndDelete}, again: again}
		l.renewal.blind = blind
		return l
	}))
}

// renewing is a lock on one node that renews its lease.
func renewing(name, title string, mistakes Mistakes, needs []command.Feature, made func(Config, Env) *watchdog) Algorithm {
	mistakes.KeepRenewing, mistakes.NeverRenew, mistakes.RenewsAfterWork, mistakes.RenewalGivesUp = true, true, true, true
	return Algorithm{
		Mistakes: mistakes, Needs: needs,
		Name: name, Title: title, MinNodes: 1, MaxNodes: 1, Tokens: separate, Points: []string{PointBeforeExtend},
		New: func(c Config, env Env) Lock {
			l := made(c, env)
			l.renewal.Config, l.renewal.env, l.renewal.extend, l.renewal.remaining = c, env, l.extend, l.single.Remaining
			return l
		},
	}
}

// watchdog is a lock on one node that renews its lease.
type watchdog struct {
	single
	renewal renewal
	// again is the command that renews the lease.
	again func(c Config, owner string) command.Command
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
	return g, l.renew(l.again(l.Config, owner))
}

// setOwn renews the key by setting it, where it still has the owner's value.
func (c Config) setOwn(owner string) command.Command {
	ttl := c.renewedTTL()
	if c.Mistakes.RenewalForever {
		ttl = 0
	}
	if c.Mistakes.RenewalTakes {
		return command.Set(c.Key, owner, ttl)
	}
	return command.SetIfEq(c.Key, owner, owner, ttl)
}

// renewedTTL is what a renewal asks for.
func (c Config) renewedTTL() time.Duration {
	if c.Mistakes.RenewalShort {
		return max(c.TTL/1000, time.Millisecond)
	}
	return c.TTL
}

// extendOwn renews the key where it still has the owner's value.
func (c Config) extendOwn(owner string) command.Command {
	script := extendScript
	switch {
	case c.Mistakes.RenewalFrees:
		return command.Eval(releaseScript, []string{c.Key}, owner)
	case c.Mistakes.RenewalTakes:
		script = setScript
	case c.Mistakes.ExtendAbsent:
		script = extendOrSetScript
	}
	return command.Eval(script, []string{c.Key}, owner, command.Itoa(command.Milliseconds(c.renewedTTL())))
}
