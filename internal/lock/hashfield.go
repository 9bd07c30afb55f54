package lock

import (
	"strconv"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
)

// field is the lock's field in the hash: others may be those of other locks.
const field = "lock"

func init() {
	mistakes := ownedMistakes
	mistakes.PlainDelete = false // DEL would delete the locks of the other fields, too
	mistakes.RenewalShort, mistakes.RenewalForever = true, true
	register(renewing("hash-field", "HSETEX FNX PX: a field of a hash, with a TTL of its own, renewed by HPEXPIRE (Redis 8.0, Valkey 9.0)",
		mistakes, []command.Feature{command.ExpiresFields}, func(c Config, env Env) *watchdog {
			return &watchdog{again: Config.extendField,
				single: single{Config: c, env: env, take: setField, give: compareAndDelete, deleteOwn: deleteField}}
		}))
}

// setField takes the lock where the hash does not have its field.
func setField(l *single, owner string) (Grant, Result) {
	g := l.leased(owner, l.now())
	r := l.ask(command.HSetNX(l.Key, field, owner, l.TTL))
	return l.granted(g, r, r.OK() && r.Int == 1)
}

// deleteField gives the field back if it is still the owner's.
func deleteField(key, owner string) command.Command {
	return command.Eval(releaseFieldScript, []string{key}, field, owner)
}

// extendField renews the field where it still has the owner's value.
func (c Config) extendField(owner string) command.Command {
	if c.Mistakes.RenewalForever {
		return command.Eval(setFieldScript, []string{c.Key}, field, owner)
	}
	return command.Eval(extendFieldScript, []string{c.Key}, field, owner, command.Itoa(command.Milliseconds(c.renewedTTL())))
}

// releaseFieldScript deletes a field that still carries the caller's value.
var releaseFieldScript = command.NewScript("release-field", `
if redis.call('hget', KEYS[1], ARGV[1]) == ARGV[2] then return redis.call('hdel', KEYS[1], ARGV[1]) end
return 0
`, func(s command.Store, keys, args []string) command.Reply {
	if value, ok := s.HGet(keys[0], args[0]); ok && value == args[1] && s.HDel(keys[0], args[0]) {
		return command.IntReply(1)
	}
	return command.IntReply(0)
})

// extendFieldScript prolongs a field that still carries the caller's value. Without that look Redis prolongs a field that has run
// out and is not removed yet.
var extendFieldScript = command.NewScript("extend-field", `
if redis.call('hget', KEYS[1], ARGV[1]) == ARGV[2] then
	return redis.call('hpexpire', KEYS[1], ARGV[3], 'FIELDS', 1, ARGV[1])[1]
end
return 0
`, func(s command.Store, keys, args []string) command.Reply {
	ms, err := strconv.ParseInt(args[2], 10, 64)
	if err != nil {
		return command.ErrReply("ERR value is not an integer or out of range")
	}
	value, ok := s.HGet(keys[0], args[0])
	if ok && value == args[1] && s.HPExpire(keys[0], args[0], time.Duration(ms)*time.Millisecond) {
		return command.IntReply(1)
	}
	return command.IntReply(0)
})

// setFieldScript writes a field that still carries the caller's value, and so takes its TTL away: the mistake RenewalForever.
var setFieldScript = command.NewScript("set-field", `
if redis.call('hget', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
redis.call('hset', KEYS[1], ARGV[1], ARGV[2])
return 1
`, func(s command.Store, keys, args []string) command.Reply {
	if value, ok := s.HGet(keys[0], args[0]); !ok || value != args[1] {
		return command.IntReply(0)
	}
	s.HSet(keys[0], args[0], args[1])
	return command.IntReply(1)
})
