package resource

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/command"
)

// The fence keeps "token|client" of the highest token under KEYS[2]. The check
// comes in two tongues that must agree: Lua for a server, Go for a model.

// fenceLua defines, from the arguments that all resource scripts share,
// accepted and highest, and registers the token.
const fenceLua = `
local op, client, section, token, fence = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local stored = redis.call('get', KEYS[2])
local highest, holder = '', ''
if stored then highest, holder = string.match(stored, '^(%d*)|(.*)$') end
local accepted = true
if fence ~= 'none' then
  accepted = token ~= ''
  if accepted and highest ~= '' then
    local t, h = tonumber(token), tonumber(highest)
    accepted = t > h or (t == h and client == holder)
  end
  if accepted then redis.call('set', KEYS[2], token .. '|' .. client) end
end
`

// logLua appends the effect to the log under KEYS[3]; shown is the number read
// or written.
const logLua = `
local now = redis.call('time')
redis.call('rpush', KEYS[3], table.concat({op, client, section, token, shown,
  accepted and '1' or '0', highest, now[1] .. string.format('%06d', now[2])}, '|'))
`

// access is a script's view of its arguments: the part that the twins share.
type access struct {
	op, client, section, token, fence string
	accepted                          bool
	highest                           string
}

// admit is the twin of fenceLua.
func admit(s command.Store, keys, args []string) access {
	a := access{op: args[0], client: args[1], section: args[2], token: args[3], fence: args[4], accepted: true}
	var holder string
	if stored, ok := s.Get(keys[1]); ok {
		a.highest, holder, _ = strings.Cut(stored, "|")
	}
	if a.fence == string(NoFence) {
		return a
	}
	a.accepted = a.token != ""
	if a.accepted && a.highest != "" {
		t, _ := strconv.ParseInt(a.token, 10, 64)
		h, _ := strconv.ParseInt(a.highest, 10, 64)
		a.accepted = t > h || t == h && a.client == holder
	}
	if a.accepted {
		s.Set(keys[1], a.token+"|"+a.client, 0, false)
	}
	return a
}

// log is the twin of logLua.
func (a access) log(s command.Store, keys []string, shown string) {
	s.RPush(keys[2], strings.Join([]string{a.op, a.client, a.section, a.token, shown,
		bit(a.accepted), a.highest, micros(s.Time())}, "|"))
}

// micros writes a time as Redis's TIME does when its two parts are joined.
func micros(t int64) string { return fmt.Sprintf("%d%06d", t/1e6, t%1e6) }

func bit(b bool) string {
	if b {
		return "1"
	}
	return "0"
}
