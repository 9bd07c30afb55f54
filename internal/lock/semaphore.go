package lock

import (
	"strconv"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
)

func init() {
	a := keptInSet("semaphore", "a sorted set of who has a permit, each with its end by the node's clock, to which a script adds", takePermit)
	a.Semaphore = true
	register(a)
	a = kept("semaphore-counter", "a counter of the permits that are taken, which does not say by whom: a script adds one, DECR takes one off",
		severalMistakes, countPermit, uncountPermit)
	a.Semaphore, a.Ownerless = true, true
	a.New = func(c Config, env Env) Lock {
		uncount := func(key, _ string) command.Command { return command.Decr(key) }
		return &single{Config: c, env: env, take: countPermit, give: uncountPermit, deleteOwn: uncount}
	}
	register(a)
}

// severalMistakes are what can go wrong in locks that several clients may hold at once.
var severalMistakes = Mistakes{EnterUnheld: true, WaitForEver: true, NoCleanup: true, CancelLeaves: true, StaysAtNode: true}

// kept is a lock on one node that several clients may hold at once, so that no tokens order its grants.
func kept(name, title string, mistakes Mistakes, take func(*single, string) (Grant, Result), give func(*single, Grant) Result) Algorithm {
	a := singleNode(name, title, "", mistakes, take, give)
	a.Tokens = []Tokens{NoTokens}
	return a
}

// keptInSet is one that keeps who holds it in a sorted set, each with an end of its own.
func keptInSet(name, title string, take func(*single, string) (Grant, Result)) Algorithm {
	a := kept(name, title, severalMistakes.and(Mistakes{AlwaysReleased: true, ClientEnds: true}), take, givePermit)
	a.Extends = true
	a.New = func(c Config, env Env) Lock {
		return &permits{single{Config: c, env: env, take: take, give: givePermit, deleteOwn: removePermit}}
	}
	return a
}

// takeBy takes the lock by a script that answers 1 where the client has got it.
func (l *single) takeBy(script *command.Script, owner string, args ...string) (Grant, Result) {
	return l.takeByKeys(script, []string{l.Key}, owner, args...)
}

func (l *single) takeByKeys(script *command.Script, keys []string, owner string, args ...string) (Grant, Result) {
	g := l.leased(owner, l.now())
	r := l.ask(command.Eval(script, keys, args...))
	return l.granted(g, r, r.OK() && r.Int == 1)
}

// permits is a lock in a sorted set whose user can make a grant last longer.
type permits struct{ single }

var _ Extender = (*permits)(nil)

// Extend gives the permit a later end, where it is still there.
func (l *permits) Extend(g Grant) (Grant, Result) {
	start := l.now()
	r := l.renew(command.Eval(extendPermitScript, []string{l.Key}, l.permitArgs(g.Owner)...))
	if r.Outcome == OK {
		g.Until = l.until(start)
	}
	return g, r
}

// takePermit takes a permit where one is left.
func takePermit(l *single, owner string) (Grant, Result) {
	return l.takeBy(takePermitScript, owner, l.permitArgs(owner)...)
}

// permitArgs are what the scripts are told: whose permit it is, for how many ms, how many permits there are, and, by mistake, the time.
func (l *single) permitArgs(owner string) []string {
	args := []string{owner, command.Itoa(command.Milliseconds(l.TTL)), strconv.Itoa(l.Permits)}
	if l.Mistakes.ClientEnds {
		args = append(args, command.Itoa(l.env.Wall().Milliseconds()))
	}
	return args
}

// givePermit gives a permit back if it is still there.
func givePermit(l *single, g Grant) Result {
	return deleted(l.do(removePermit(l.Key, g.Owner)), "not ours any more")
}

func removePermit(key, owner string) command.Command {
	return command.Eval(removePermitScript, []string{key}, owner)
}

// countPermit takes a permit where fewer are taken than there are.
func countPermit(l *single, owner string) (Grant, Result) {
	return l.takeBy(countPermitScript, owner, l.permitArgs(owner)[1:3]...)
}

// uncountPermit takes a permit off the counter. Nobody asks whose it is.
func uncountPermit(l *single, _ Grant) Result {
	r := l.do(command.Decr(l.Key))
	if r.OK() {
		return Result{Outcome: OK}
	}
	return deleted(r, "")
}

// Of a sorted set that keeps permits, the score of each is its end in ms since 1970, by the node's clock, or by mistake by that of
// whoever took it: then ARGV[4] is the time. The key ends with the last permit that is to end.

// takePermitScript removes the permits that have ended, and adds one where fewer are left than there are.
var takePermitScript = command.NewScript("take-permit", `
local time = redis.call('time')
local now = tonumber(ARGV[4] or time[1] * 1000 + math.floor(time[2] / 1000))
redis.call('zremrangebyscore', KEYS[1], '-inf', now)
if redis.call('zcard', KEYS[1]) >= tonumber(ARGV[3]) then return 0 end
redis.call('zadd', KEYS[1], now + ARGV[2], ARGV[1])
if tonumber(ARGV[2]) > redis.call('pttl', KEYS[1]) then redis.call('pexpire', KEYS[1], ARGV[2]) end
return 1
`, func(s command.Store, keys, args []string) command.Reply {
	ttl, permits, now := permitWords(s, args)
	s.ZRemUpTo(keys[0], float64(now))
	if s.ZCard(keys[0]) >= permits {
		return command.IntReply(0)
	}
	s.ZAdd(keys[0], float64(now+ttl), args[0])
	if ttl > s.PTTL(keys[0]) {
		s.PExpire(keys[0], time.Duration(ttl)*time.Millisecond)
	}
	return command.IntReply(1)
})

// extendPermitScript gives a permit another end.
var extendPermitScript = command.NewScript("extend-permit", `
if not redis.call('zscore', KEYS[1], ARGV[1]) then return 0 end
local time = redis.call('time')
local now = tonumber(ARGV[4] or time[1] * 1000 + math.floor(time[2] / 1000))
redis.call('zadd', KEYS[1], 'xx', now + ARGV[2], ARGV[1])
if tonumber(ARGV[2]) > redis.call('pttl', KEYS[1]) then redis.call('pexpire', KEYS[1], ARGV[2]) end
return 1
`, func(s command.Store, keys, args []string) command.Reply {
	if _, has := s.ZScore(keys[0], args[0]); !has {
		return command.IntReply(0)
	}
	ttl, _, now := permitWords(s, args)
	s.ZAdd(keys[0], float64(now+ttl), args[0])
	if ttl > s.PTTL(keys[0]) {
		s.PExpire(keys[0], time.Duration(ttl)*time.Millisecond)
	}
	return command.IntReply(1)
})

// removePermitScript gives a permit back.
var removePermitScript = command.NewScript("remove-permit", `
return redis.call('zrem', KEYS[1], ARGV[1])
`, func(s command.Store, keys, args []string) command.Reply {
	if s.ZRem(keys[0], args[0]) {
		return command.IntReply(1)
	}
	return command.IntReply(0)
})

// countPermitScript adds one to a counter that is below the number of permits. The counter ends when nobody has taken a permit for a TTL.
var countPermitScript = command.NewScript("count-permit", `
if tonumber(redis.call('get', KEYS[1]) or '0') >= tonumber(ARGV[2]) then return 0 end
redis.call('incr', KEYS[1])
redis.call('pexpire', KEYS[1], ARGV[1])
return 1
`, func(s command.Store, keys, args []string) command.Reply {
	ttl, _ := strconv.ParseInt(args[0], 10, 64)
	permits, _ := strconv.ParseInt(args[1], 10, 64)
	value, _ := s.Get(keys[0])
	if n, _ := strconv.ParseInt(value, 10, 64); n >= permits {
		return command.IntReply(0)
	}
	if _, ok := s.Incr(keys[0]); ok {
		s.PExpire(keys[0], time.Duration(ttl)*time.Millisecond)
	}
	return command.IntReply(1)
})

// permitWords are the numbers that a script is told, and the time in ms since 1970.
func permitWords(s command.Store, args []string) (ttl, permits, now int64) {
	ttl, _ = strconv.ParseInt(args[1], 10, 64)
	permits, _ = strconv.ParseInt(args[2], 10, 64)
	if now = s.Time() / 1000; len(args) > 3 && args[3] != "" {
		now, _ = strconv.ParseInt(args[3], 10, 64)
	}
	return ttl, permits, now
}
