package servertest

import "github.com/redlock-sim/redlock-sim/internal/redis/command"

// KeyOf is what a server has under a key, to the millisecond. do asks the server.
func KeyOf(do func(words ...string) any, name string) command.Key {
	var k command.Key
	switch kind := do("type", name); kind {
	case "none":
		return k
	case "string":
		k.Holds, k.Value = command.Text, do("get", name).(string)
	case "hash":
		k.Holds, k.Fields = command.Hash, map[string]string{}
		list := do("hgetall", name).([]any)
		for i := 0; i < len(list); i += 2 {
			k.Fields[list[i].(string)] = list[i+1].(string)
		}
		if len(list) == 0 { // all its fields have run out
			return command.Key{}
		}
	case "list":
		k.Holds = command.List
		for _, item := range do("lrange", name, "0", "-1").([]any) {
			k.Items = append(k.Items, item.(string))
		}
	case "set", "zset":
		k.Holds, k.Fields = command.Members, map[string]string{}
		words := []string{"smembers", name}
		if kind == "zset" {
			k.Holds, words = command.Sorted, []string{"zrange", name, "0", "-1"}
		}
		for _, member := range do(words...).([]any) {
			k.Fields[member.(string)] = ""
			if kind == "zset" {
				k.Fields[member.(string)] = command.Score(do("zscore", name, member.(string)).(string))
			}
		}
	default:
		k.Holds = command.Unclear
	}
	if k.Holds == command.Hash && len(k.Fields) == 1 {
		for field := range k.Fields {
			if ends, ok := do("hpexpiretime", name, "FIELDS", "1", field).([]any); ok && ends[0].(int64) > 0 {
				k.Expires, k.OfField = command.At(ends[0].(int64)), true
			}
		}
	}
	if at := do("pexpiretime", name).(int64); at > 0 {
		k.Expires = command.At(at)
	}
	return k
}
