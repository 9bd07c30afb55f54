package resource

import "github.com/redlock-sim/redlock-sim/internal/redis/command"

// listScript reads a list, or writes it as a whole (ARGV[10] and on), behind the
// fence. It answers {accepted, length after, highest token before, element ...};
// only a read that was accepted has elements. It logs the element that a write
// brought (ARGV[9]), or the length that was read.
var listScript = command.NewScript("list", fenceLua+`
local list = redis.call('lrange', KEYS[1], 0, -1)
local shown = string.format('%d', #list)
local answer = {accepted and '1' or '0', shown, highest}
if op == 'write' then
  shown = ARGV[9]
  if accepted then
    redis.call('del', KEYS[1])
    for i = 10, #ARGV do redis.call('rpush', KEYS[1], ARGV[i]) end
    answer[2] = string.format('%d', #ARGV - 9)
  end
elseif accepted then
  for i = 1, #list do answer[3 + i] = list[i] end
end
`+logLua+`
return answer
`, func(s command.Store, keys, args []string) command.Reply {
	a := admit(s, keys, args)
	list := s.LRange(keys[0])
	shown := command.Itoa(int64(len(list)))
	answer := []string{bit(a.accepted), shown, a.highest}
	if a.op == "write" {
		shown = args[8]
		if a.accepted {
			s.Del(keys[0])
			for _, element := range args[9:] {
				s.RPush(keys[0], element)
			}
			answer[1] = command.Itoa(int64(len(args) - 9))
		}
	} else if a.accepted {
		answer = append(answer, list...)
	}
	a.log(s, keys, shown)
	return command.ListReply(answer...)
})
