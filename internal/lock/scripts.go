package lock

import (
	"strconv"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
)

// releaseScript deletes a key if it still carries the caller's value: the
// "compare and delete" of the Redis documentation.
var releaseScript = command.NewScript("release", `
if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end
return 0
`, func(s command.Store, keys, args []string) command.Reply {
	if value, ok := s.Get(keys[0]); ok && value == args[0] && s.Del(keys[0]) {
		return command.IntReply(1)
	}
	return command.IntReply(0)
})

// acquireCountedScript is SET NX PX and, where it succeeds, INCR of the node's
// token counter in one step. It answers the counter, or 0 where the lock is
// taken.
var acquireCountedScript = command.NewScript("acquire-counted", `
if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return redis.call('incr', KEYS[2]) end
return 0
`, func(s command.Store, keys, args []string) command.Reply {
	ms, err := strconv.ParseInt(args[1], 10, 64)
	if err != nil {
		return command.ErrReply("ERR value is not an integer or out of range")
	}
	if !s.Set(keys[0], args[0], time.Duration(ms)*time.Millisecond, true) {
		return command.IntReply(0)
	}
	n, ok := s.Incr(keys[1])
	if !ok {
		return command.ErrReply("ERR value is not an integer or out of range")
	}
	return command.IntReply(n)
})

// raiseCounterScript lifts the node's token counter to at least ARGV[1], so
// that later grants count on from there. It answers the counter.
var raiseCounterScript = command.NewScript("raise-counter", `
local n = tonumber(redis.call('get', KEYS[1]) or '0')
local least = tonumber(ARGV[1])
if n < least then redis.call('set', KEYS[1], ARGV[1]); return least end
return n
`, func(s command.Store, keys, args []string) command.Reply {
	var n int64
	if value, ok := s.Get(keys[0]); ok {
		n, _ = strconv.ParseInt(value, 10, 64)
	}
	least, err := strconv.ParseInt(args[0], 10, 64)
	if err != nil {
		return command.ErrReply("ERR value is not an integer or out of range")
	}
	if n < least {
		s.Set(keys[0], args[0], 0, false)
		return command.IntReply(least)
	}
	return command.IntReply(n)
})

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

// setScript sets the key, whoever has it: the mistake RenewalTakes.
var setScript = command.NewScript("set", `
redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
`, func(s command.Store, keys, args []string) command.Reply {
	ms, err := strconv.ParseInt(args[1], 10, 64)
	if err != nil {
		return command.ErrReply("ERR value is not an integer or out of range")
	}
	s.Set(keys[0], args[0], time.Duration(ms)*time.Millisecond, false)
	return command.IntReply(1)
})

// Scripts are all scripts of the package, for the test that compares them with
// their twins.
func Scripts() []*command.Script {
	return []*command.Script{releaseScript, acquireCountedScript, raiseCounterScript, extendScript, extendOrSetScript, setScript,
		releaseFieldScript, extendFieldScript, setFieldScript,
		takePermitScript, extendPermitScript, removePermitScript, countPermitScript,
		takeModeScript, changeModeScript, countReaderScript, uncountReaderScript, takeInLineScript, leaveLineScript, deleteAndWakeScript}
}
