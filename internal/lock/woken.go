package lock

import (
	"strconv"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
)

func init() {
	a := singleNode("woken", "SET NX PX; a release wakes one of those who wait, by an element of a list (BLPOP, as in python-redis-lock)", "",
		ownedMistakes.and(Mistakes{AskedOnce: true, SignalTaken: true}), nil, nil)
	a.Wakes = true
	a.New = func(c Config, env Env) Lock {
		l := &woken{single{Config: c, env: env, take: setNX, give: compareAndDelete}}
		l.deleteOwn = l.deleteAndWake
		return l
	}
	register(a)
}

// woken is a lock on one node that wakes those who wait.
type woken struct{ single }

var _ Waker = (*woken)(nil)

// Acquire asks, and asks again when it is woken, for as long as others that ask as often.
func (l *woken) Acquire() (Grant, Result) {
	end := l.now() + l.Retry.Longest()
	attempt := func() (Grant, Result) {
		g, result := l.attempt()
		result.Final = l.now() >= end
		return g, result
	}
	return acquireWaiting(l.env, &l.Config, attempt, func(int) { l.Await(end - l.now()) })
}

// Release gives the lock back, and wakes somebody. By mistake it then takes back what wakes.
func (l *woken) Release(g Grant) Result {
	r := l.single.Release(g)
	if r.Outcome == OK && l.Mistakes.SignalTaken {
		l.do(command.Del(l.signalKey()))
	}
	return r
}

// Attempt implements Attempter.
func (l *woken) Attempt() (Grant, Result) { return l.attempt() }

// lateBy is how much later than its timeout Redis ends a command that waits: it looks at its clients ten times a second.
const lateBy = 100 * time.Millisecond

// Await waits until a release wakes the client. Nobody releases a lock whose holder is dead, and a message can be lost: so it waits no
// longer than a lease lasts. By mistake it waits for all the time that it has.
func (l *woken) Await(most time.Duration) {
	if !l.Mistakes.AskedOnce {
		l.isWoken(min(most, l.Span()))
		return
	}
	for end := l.now() + most; l.now() < end && !l.env.Cancelled() && !l.isWoken(end-l.now()); {
	}
}

// isWoken waits for a while until the client is woken.
func (l *woken) isWoken(long time.Duration) bool {
	c := command.BLPop(l.signalKey(), max(long, time.Millisecond))
	if wait := l.wait(); wait > 0 {
		c = c.Within(c.TTL + lateBy + wait)
	}
	c.Cancellable = true
	r := l.env.Nodes()[0].Do(c)
	if r.Outcome != command.Done { // which may have been at once
		l.env.Wait(l.Retry.Wait(l.env, 1))
	}
	return r.OK()
}

// signalKey is the list whose elements wake those who wait.
func (l *woken) signalKey() string { return l.Key + ":signal" }

func (l *woken) deleteAndWake(key, owner string) command.Command {
	return command.Eval(deleteAndWakeScript, []string{key, l.signalKey()}, owner, command.Itoa(command.Milliseconds(l.Span())))
}

// deleteAndWakeScript deletes a key that still carries the caller's value, and pushes the one element that wakes somebody. It ends with
// ARGV[2], in ms: whoever waits then asks by himself.
var deleteAndWakeScript = command.NewScript("delete-and-wake", `
if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('del', KEYS[1])
redis.call('del', KEYS[2])
redis.call('rpush', KEYS[2], '1')
redis.call('pexpire', KEYS[2], ARGV[2])
return 1
`, func(s command.Store, keys, args []string) command.Reply {
	if value, has := s.Get(keys[0]); !has || value != args[0] {
		return command.IntReply(0)
	}
	ms, _ := strconv.ParseInt(args[1], 10, 64)
	s.Del(keys[0])
	s.Del(keys[1])
	s.RPush(keys[1], "1")
	s.PExpire(keys[1], time.Duration(ms)*time.Millisecond)
	return command.IntReply(1)
})
