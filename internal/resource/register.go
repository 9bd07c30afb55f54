package resource

import "github.com/redlock-sim/redlock-sim/internal/command"

// registerScript reads or writes one number behind the fence. It answers
// {accepted, value after, highest token before}.
var registerScript = command.NewScript("register", fenceLua+`
local value = redis.call('get', KEYS[1]) or ARGV[6]
local shown = value
if op == 'write' then
  shown = ARGV[7]
  if accepted then redis.call('set', KEYS[1], ARGV[7]); value = ARGV[7] end
end
`+logLua+`
return {accepted and '1' or '0', value, highest}
`, func(s command.Store, keys, args []string) command.Reply {
	a := admit(s, keys, args)
	value, ok := s.Get(keys[0])
	if !ok {
		value = args[5]
	}
	shown := value
	if a.op == "write" {
		shown = args[6]
		if a.accepted {
			s.Set(keys[0], shown, 0, false)
			value = shown
		}
	}
	a.log(s, keys, shown)
	return command.ListReply(bit(a.accepted), value, a.highest)
})

// Scripts are all scripts of the package, for the test that compares them with
// their twins.
func Scripts() []*command.Script { return []*command.Script{registerScript} }
