package lock

import (
	"strconv"
	"sync"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/command"
)

func init() {
	for _, w := range []struct {
		name, title string
		blind       bool
	}{
		{"watchdog", "SET NX PX with a watchdog that renews the lease every third of the ttl, if the key is still its own", false},
		{"watchdog-blind", "the same with a plain PEXPIRE: the watchdog renews whatever key is there, and never notices", true},
	} {
		register(Algorithm{
			Name: w.name, Title: w.title, MinNodes: 1, MaxNodes: 1, Tokens: []Tokens{NoTokens}, Points: []string{PointBeforeExtend},
			New: func(c Config, env Env) Lock {
				return &watchdog{single: single{Config: c, env: env, take: setNX, give: compareAndDelete}, blind: w.blind}
			},
		})
	}
}

// watchdog renews its lease in the background until it releases.
type watchdog struct {
	single
	blind bool

	mu sync.Mutex // guards held; never locked across a call of Env
	// held is the grant in hand; its owner is empty where there is none.
	held Grant
}

var _ Lock = (*watchdog)(nil)

func (l *watchdog) Acquire() (Grant, Result) {
	g, result := l.single.Acquire()
	if result.Outcome == OK {
		l.hold(g)
		l.env.Spawn(func() { l.guard(g.Owner) })
	}
	return g, result
}

func (l *watchdog) Release(g Grant) Result {
	if !l.Mistakes.KeepRenewing {
		l.hold(Grant{})
	}
	return l.single.Release(g)
}

// Remaining counts from the latest renewal.
func (l *watchdog) Remaining(g Grant) time.Duration {
	if held := l.holding(); held.Owner == g.Owner {
		g = held
	}
	return l.single.Remaining(g)
}

func (l *watchdog) hold(g Grant) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held = g
}

func (l *watchdog) holding() Grant {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.held
}

// guard renews the lease of owner until it is released or lost.
func (l *watchdog) guard(owner string) {
	for {
		l.env.Sleep(l.TTL / 3)
		if l.holding().Owner != owner {
			return
		}
		l.env.Point(PointBeforeExtend)
		lost := false
		l.env.Background(Extend, func() (Grant, Result) {
			g, result := l.extend(owner)
			lost = result.Outcome == Fail && !l.blind
			return g, result
		}, l.single.Remaining)
		if lost {
			return
		}
	}
}

// extend renews the lease once.
func (l *watchdog) extend(owner string) (Grant, Result) {
	g := l.leased(owner, l.now())
	r := l.do(l.extendCommand(owner))
	switch {
	case r.Outcome != command.Done:
		return g, Result{Outcome: Info, Err: r.Err}
	case !r.OK() || r.Int != 1:
		return g, Result{Outcome: Fail, Err: "the key is not there, or not ours any more"}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held.Owner == owner {
		l.held = g
	}
	return g, Result{Outcome: OK}
}

func (l *watchdog) extendCommand(owner string) command.Command {
	if l.blind {
		return command.PExpire(l.Key, l.TTL)
	}
	script := extendScript
	if l.Mistakes.ExtendAbsent {
		script = extendOrSetScript
	}
	return command.Eval(script, []string{l.Key}, owner, command.Itoa(command.Milliseconds(l.TTL)))
}

// extendScript prolongs a key if it still carries the caller's value.
var extendScript = command.NewScript("extend", `
if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) end
return 0
`, func(s command.Store, keys, args []string) command.Reply {
	ms, err := strconv.ParseInt(args[1], 10, 64)
	if err != nil {
		return command.ErrReply("ERR value is not an integer or out of range")
	}
	if value, ok := s.Get(keys[0]); ok && value == args[0] && s.PExpire(keys[0], time.Duration(ms)*time.Millisecond) {
		return command.IntReply(1)
	}
	return command.IntReply(0)
})

// extendOrSetScript also sets the key where it has expired: the mistake
// ExtendAbsent.
var extendOrSetScript = command.NewScript("extend-or-set", `
local value = redis.call('get', KEYS[1])
if value == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) end
if value then return 0 end
redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
`, func(s command.Store, keys, args []string) command.Reply {
	ms, err := strconv.ParseInt(args[1], 10, 64)
	if err != nil {
		return command.ErrReply("ERR value is not an integer or out of range")
	}
	ttl := time.Duration(ms) * time.Millisecond
	switch value, ok := s.Get(keys[0]); {
	case ok && value == args[0]:
		s.PExpire(keys[0], ttl)
	case ok:
		return command.IntReply(0)
	default:
		s.Set(keys[0], args[0], ttl, false)
	}
	return command.IntReply(1)
})
