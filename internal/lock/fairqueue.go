package lock

import (
	"strconv"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
)

func init() {
	mistakes := ownedMistakes.and(Mistakes{PlaceOnce: true, PlaceForever: true})
	a := singleNode("fair-queue", "SET NX PX behind a line of those who wait: a sorted set of their numbers, each with a place that ends", "",
		mistakes, nil, compareAndDelete)
	a.Fair = true
	a.New = func(c Config, env Env) Lock {
		l := &inLine{single: single{Config: c, env: env, give: compareAndDelete}}
		l.take = func(_ *single, owner string) (Grant, Result) { return l.takeInLine(owner) }
		return l
	}
	register(a)
}

// inLine is a lock on one node for which clients wait in a line.
type inLine struct {
	single
	// waiter is the name of the client's place in the line; empty: it has none.
	waiter string
}

var _ Waiter = (*inLine)(nil)

// Acquire asks until the client is the first of the line and the lock is free. Who gives up leaves the line.
func (l *inLine) Acquire() (Grant, Result) {
	g, r := acquireWithRetry(l.env, &l.Config, l.Attempt)
	if r.Outcome != OK {
		l.Leave()
	}
	return g, r
}

// Attempt asks once. The client keeps its place if it is refused.
func (l *inLine) Attempt() (Grant, Result) {
	if l.waiter == "" {
		l.waiter = newOwner(l.env)
	}
	g, r := l.attempt()
	if r.Outcome == OK {
		l.waiter = ""
	}
	return g, r
}

// Leave gives the place up.
func (l *inLine) Leave() {
	if l.waiter != "" && l.takesBack(l.env) {
		l.do(command.Eval(leaveLineScript, l.keys(), l.waiter))
	}
	l.waiter = ""
}

// keys are those of the lock and of its line. A place is a key of its own, behind the line's.
func (l *inLine) keys() []string { return []string{l.Key, l.Key + ":line"} }

func (l *inLine) takeInLine(owner string) (Grant, Result) {
	g := l.leased(owner, l.now())
	lasts := l.TTL
	if l.Mistakes.PlaceForever {
		lasts = 0
	}
	args := []string{owner, command.Itoa(command.Milliseconds(l.TTL)), l.waiter, command.Itoa(command.Milliseconds(lasts))}
	if l.Mistakes.PlaceOnce {
		args = append(args, "once")
	}
	r := l.ask(command.Eval(takeInLineScript, l.keys(), args...))
	return l.granted(g, r, r.OK() && r.Int == 1)
}

// takeInLineScript gives the client a place at the end of the line, where it has none, takes away the places that have ended from the
// front of it, and sets the lock for who is the first then. ARGV: the lock's value, its TTL in ms, the waiter, for how many ms its place
// lasts (0: for ever), and, by mistake, that this counts from when it came.
var takeInLineScript = command.NewScript("take-in-line", `
local place = KEYS[2] .. ':'
local new = not redis.call('zscore', KEYS[2], ARGV[3])
if new then
  redis.call('zadd', KEYS[2], redis.call('incr', KEYS[2] .. ':number'), ARGV[3])
end
if new or not ARGV[5] then
  if ARGV[4] == '0' then
    redis.call('set', place .. ARGV[3], '1')
  else
    redis.call('set', place .. ARGV[3], '1', 'PX', ARGV[4])
  end
end
local first = redis.call('zrange', KEYS[2], 0, 0)[1]
while first and not redis.call('get', place .. first) do
  redis.call('zrem', KEYS[2], first)
  first = redis.call('zrange', KEYS[2], 0, 0)[1]
end
if first ~= ARGV[3] or redis.call('get', KEYS[1]) then return 0 end
redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2])
redis.call('zrem', KEYS[2], first)
redis.call('del', place .. first)
return 1
`, func(s command.Store, keys, args []string) command.Reply {
	waiter, place := args[2], keys[1]+":"
	ttl, _ := strconv.ParseInt(args[1], 10, 64)
	lasts, _ := strconv.ParseInt(args[3], 10, 64)
	_, has := s.ZScore(keys[1], waiter)
	if !has {
		number, _ := s.Incr(place + "number")
		s.ZAdd(keys[1], float64(number), waiter)
	}
	if !has || len(args) < 5 {
		s.Set(place+waiter, "1", time.Duration(lasts)*time.Millisecond, false)
	}
	first := s.ZFirst(keys[1])
	for first != "" && !holdsText(s, place+first) {
		s.ZRem(keys[1], first)
		first = s.ZFirst(keys[1])
	}
	if first != waiter || holdsText(s, keys[0]) {
		return command.IntReply(0)
	}
	s.Set(keys[0], args[0], time.Duration(ttl)*time.Millisecond, false)
	s.ZRem(keys[1], first)
	s.Del(place + first)
	return command.IntReply(1)
})

// leaveLineScript gives up a place in the line.
var leaveLineScript = command.NewScript("leave-line", `
redis.call('del', KEYS[2] .. ':' .. ARGV[1])
return redis.call('zrem', KEYS[2], ARGV[1])
`, func(s command.Store, keys, args []string) command.Reply {
	s.Del(keys[1] + ":" + args[0])
	if s.ZRem(keys[1], args[0]) {
		return command.IntReply(1)
	}
	return command.IntReply(0)
})

// holdsText reports that a key is there.
func holdsText(s command.Store, key string) bool {
	_, has := s.Get(key)
	return has
}
