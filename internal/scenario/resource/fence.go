package resource

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// Fence names a way of checking tokens at the resource.
type Fence string

const (
	// NoFence accepts everything.
	NoFence Fence = "none"
	// Strict keeps the highest token and the client that brought it, accepts a
	// higher one, or the same one from the same client, and refuses everything
	// else. Reads register their token too. Check and access are one atomic
	// script.
	Strict Fence = "strict"
	// EqualToken is Strict that also accepts the highest token from another
	// client: a mistake where a source gives one token twice.
	EqualToken Fence = "equal-token"
	// WritesOnly is Strict on writes; reads pass and leave no trace: a mistake,
	// for a holder that has read may still be overtaken by an older write.
	WritesOnly Fence = "writes-only"
	// CheckThenWrite is Strict, but checks in one step and writes in another: a
	// mistake, for much may happen in between.
	CheckThenWrite Fence = "check-then-write"
	// Forgetful is Strict until the resource restarts, which it does without
	// its highest token: a mistake.
	Forgetful Fence = "forgetful"
	// CompareAndSet marks the resource with the token of each read, and accepts
	// a write only under the mark that it finds: for tokens without an order.
	CompareAndSet Fence = "compare-and-set"
	// LockOwner needs no tokens: the resource lives in the same Redis as the lock,
	// and each access looks in one step whether the lock is still the client's.
	LockOwner Fence = "lock-owner"
)

// fenceTitles has all fence checks, each with one line for a person.
var fenceTitles = words.Titles[Fence]{
	{NoFence, "accepts everything"},
	{Strict, "refuses a token lower than the highest, and the highest of another client; reads count, and check and access are one step"},
	{EqualToken, "a mistake: strict, but accepts the highest token of another client, too"},
	{WritesOnly, "a mistake: strict, but reads are neither checked nor remembered"},
	{CheckThenWrite, "a mistake: strict, but checks in one step and writes in another"},
	{Forgetful, "a mistake: strict, but a restart of the resource forgets the highest token"},
	{CompareAndSet, "accepts a write only under the token of the last read; for tokens without an order"},
	{LockOwner, "needs no tokens: checks the lock's key, which is in the same Redis"},
}

// Fences lists all fence checks.
func Fences() []Fence { return fenceTitles.Words() }

// Title is one line for a person.
func (f Fence) Title() string { return fenceTitles.Title(f) }

// Tag has the words for a setting, as the tags of a scenario do.
func (Fence) Tag() string { return fenceTitles.Tag() }

// ChecksOrder reports whether the fence is meant to refuse a token lower than the
// highest that it has seen.
func (f Fence) ChecksOrder() bool {
	return f != "" && f != NoFence && f != CompareAndSet && f != LockOwner
}

// The fence keeps "token|client" of the highest token under KEYS[2]. The check
// comes in two tongues that must agree: Lua for a server, Go for a model.

// fenceLua defines, from the arguments that all resource scripts share,
// accepted and highest, and registers the token.
const fenceLua = `
local op, client, section, token, fence, cell, owner = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7]
local stored = redis.call('get', KEYS[2])
local highest, holder = '', ''
if stored then highest, holder = string.match(stored, '^(%d*)|(.*)$') end
local accepted, registers = true, false
if fence == 'compare-and-set' then
  registers = op == 'read' and token ~= ''
  accepted = registers or (op ~= 'read' and token ~= '' and token == highest)
elseif fence == 'lock-owner' then
  accepted = redis.call('get', KEYS[4]) == owner
elseif fence == 'writes-only' and op == 'read' then
  accepted = true
elseif fence ~= 'none' then
  accepted = token ~= ''
  if accepted and highest ~= '' then
    local t, h = tonumber(token), tonumber(highest)
    accepted = t > h or (t == h and (client == holder or fence == 'equal-token'))
  end
  registers = accepted
end
if registers then redis.call('set', KEYS[2], token .. '|' .. client) end
`

// logLua appends the effect to the log under KEYS[3]; shown is the number read
// or written.
const logLua = `
local now = redis.call('time')
redis.call('rpush', KEYS[3], table.concat({op, client, section, token, shown,
  accepted and '1' or '0', highest, now[1] .. string.format('%06d', now[2]), cell}, '|'))
`

// access is a script's view of its arguments: the part that the twins share.
type access struct {
	op, client, section, token, fence, cell string
	accepted                                bool
	highest                                 string
}

// admit is the twin of fenceLua.
func admit(s command.Store, keys, args []string) access {
	a := access{op: args[0], client: args[1], section: args[2], token: args[3], fence: args[4], cell: args[5]}
	var holder string
	if stored, ok := s.Get(keys[1]); ok {
		a.highest, holder, _ = strings.Cut(stored, "|")
	}
	registers := false
	switch {
	case a.fence == string(NoFence), a.fence == string(WritesOnly) && a.op == "read":
		a.accepted = true
	case a.fence == string(LockOwner):
		value, held := s.Get(keys[3])
		a.accepted = held && value == args[6]
	case a.fence == string(CompareAndSet):
		registers = a.op == "read" && a.token != ""
		a.accepted = registers || a.op != "read" && a.token != "" && a.token == a.highest
	default:
		a.accepted = a.token != ""
		if a.accepted && a.highest != "" {
			t, _ := strconv.ParseInt(a.token, 10, 64)
			h, _ := strconv.ParseInt(a.highest, 10, 64)
			a.accepted = t > h || t == h && (a.client == holder || a.fence == string(EqualToken))
		}
		registers = a.accepted
	}
	if registers {
		s.Set(keys[1], a.token+"|"+a.client, 0, false)
	}
	return a
}

// log is the twin of logLua.
func (a access) log(s command.Store, keys []string, shown string) {
	s.RPush(keys[2], strings.Join([]string{a.op, a.client, a.section, a.token, shown,
		bit(a.accepted), a.highest, micros(s.Time()), a.cell}, "|"))
}

// micros writes a time as Redis's TIME does when its two parts are joined.
func micros(t int64) string {
	if t < 1e6 {
		return fmt.Sprintf("0%06d", t)
	}
	return strconv.FormatInt(t, 10)
}

func bit(b bool) string {
	if b {
		return "1"
	}
	return "0"
}
