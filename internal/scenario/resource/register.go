package resource

import (
	"strconv"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
)

// registerScript reads or writes one number behind the fence. It answers
// {accepted, value after, highest token before}.
var registerScript = command.NewScript("register", fenceLua+`
local value = redis.call('get', KEYS[1]) or ARGV[8]
local shown = value
if op == 'write' then
  shown = ARGV[9]
  if accepted then redis.call('set', KEYS[1], ARGV[9]); value = ARGV[9] end
end
`+logLua+`
return {accepted and '1' or '0', value, highest}
`, func(s command.Store, keys, args []string) command.Reply {
	a := admit(s, keys, args)
	value := stored(s, keys, args)
	shown := value
	if a.op == "write" {
		shown = args[8]
		if a.accepted {
			s.Set(keys[0], shown, 0, false)
			value = shown
		}
	}
	a.log(s, keys, shown)
	return command.ListReply(bit(a.accepted), value, a.highest)
})

// checkScript is the first half of CheckThenWrite: the check alone. It answers
// as registerScript does, and logs only what it refuses.
var checkScript = command.NewScript("check", fenceLua+`
local value = redis.call('get', KEYS[1]) or ARGV[8]
if not accepted then
  local shown = ARGV[9]
  `+logLua+`
end
return {accepted and '1' or '0', value, highest}
`, func(s command.Store, keys, args []string) command.Reply {
	a := admit(s, keys, args)
	value := stored(s, keys, args)
	if !a.accepted {
		a.log(s, keys, args[8])
	}
	return command.ListReply(bit(a.accepted), value, a.highest)
})

// takeScript takes ARGV[9] units off a number, where there are that many, in one
// step. It answers {accepted, value after, highest token before, taken}.
var takeScript = command.NewScript("take", fenceLua+`
local value = tonumber(redis.call('get', KEYS[1]) or ARGV[8])
local units = tonumber(ARGV[9])
local taken = accepted and value >= units
if taken then
  value = value - units
  redis.call('set', KEYS[1], string.format('%d', value))
end
local shown = string.format('%d', value)
if taken or not accepted then
  `+logLua+`
end
return {accepted and '1' or '0', shown, highest, taken and '1' or '0'}
`, func(s command.Store, keys, args []string) command.Reply {
	a := admit(s, keys, args)
	value, _ := strconv.ParseInt(stored(s, keys, args), 10, 64)
	units, _ := strconv.ParseInt(args[8], 10, 64)
	taken := a.accepted && value >= units
	if taken {
		value -= units
		s.Set(keys[0], command.Itoa(value), 0, false)
	}
	shown := command.Itoa(value)
	if taken || !a.accepted {
		a.log(s, keys, shown)
	}
	return command.ListReply(bit(a.accepted), shown, a.highest, bit(taken))
})

// stored is the number at the key, or the initial one.
func stored(s command.Store, keys, args []string) string {
	if value, ok := s.Get(keys[0]); ok {
		return value
	}
	return args[7]
}
