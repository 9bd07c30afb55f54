package observe

import (
	"context"
	"fmt"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server"
)

// keyState is what a node says of the lock's key.
type keyState struct {
	kind   string // in Redis's words: none, string, list ...
	owner  string // of a string
	items  []string
	fields map[string]string
	ttl    history.Int
	// ends is when the key ends in ms since 1970, where the server says so: from Redis 7 on.
	ends history.Int
	// fieldEnds is when the only field of a hash ends, in ms since 1970, where it has an end of its own; ttl is for how long it lives then.
	fieldEnds history.Int
	// evicted is how many keys the server has evicted since it started.
	evicted int64
	// till is when the script read it, at the latest, in ms since 1970. MONITOR shows a script when it begins.
	till int64
}

// lookScript reads the lock's key in one step, in a place of the stream that its
// mark names. Of a hash it reads the fields, and of others the elements, unless they are many.
const lookScript = `local kind = redis.call('type', KEYS[1])['ok']
local held = {}
if kind == 'string' then held = {redis.call('get', KEYS[1])} end
if kind == 'hash' then
	local size = redis.pcall('hlen', KEYS[1])
	if type(size) == 'number' and size <= 1000 then
		held = redis.pcall('hgetall', KEYS[1])
		if #held == 0 then kind = 'none' end
	end
end
if kind == 'list' and redis.call('llen', KEYS[1]) <= 1000 then held = redis.call('lrange', KEYS[1], 0, -1) end
if kind == 'set' and redis.call('scard', KEYS[1]) <= 1000 then held = redis.call('smembers', KEYS[1]) end
if kind == 'zset' and redis.call('zcard', KEYS[1]) <= 1000 then held = redis.call('zrange', KEYS[1], 0, -1, 'withscores') end
local ofField = -1
if kind == 'hash' and #held > 0 then
	local names = {}
	for i = 1, #held, 2 do names[#names + 1] = held[i] end
	for _, at in ipairs(redis.pcall('hpexpiretime', KEYS[1], 'FIELDS', #names, unpack(names))) do ofField = math.max(ofField, at) end
end
local ends = redis.pcall('pexpiretime', KEYS[1])
local evicted = string.match(redis.call('info', 'stats'), 'evicted_keys:(%d+)')
local now = redis.call('time')
return {kind, held, redis.call('pttl', KEYS[1]), type(ends) == 'number' and ends or -1, tonumber(evicted or 0),
	now[1] * 1000 + math.floor(now[2] / 1000), ofField, ARGV[1]}`

// keyQuery is a question to a node about the key. state and err are for reading after
// done.
type keyQuery struct {
	mark  string
	done  chan struct{}
	state keyState
	err   error
}

// queryKey asks the node for the key's state and returns at once.
func (o *Observation) queryKey(n *server.Node, key string, number int) *keyQuery {
	l := &keyQuery{mark: fmt.Sprintf("look-%d-%d", time.Now().UnixNano(), number), done: make(chan struct{})}
	o.Background.Go(func() {
		defer close(l.done)
		ctx, cancel := context.WithTimeout(o.Ctx, lookWithin)
		defer cancel()
		l.state, l.err = readKeyState(ctx, n, key, l.mark)
	})
	return l
}

// lookWithin bounds how long a node may take to tell of its key.
const lookWithin = 2 * time.Second

// readKeyState reads the state of a key in one step that carries mark.
func readKeyState(ctx context.Context, n *server.Node, key, mark string) (keyState, error) {
	reply, err := n.Admin.Eval(ctx, lookScript, []string{key}, mark).Slice()
	if err != nil || len(reply) != 8 {
		return keyState{}, fmt.Errorf("failed to look at the key on node %s: %w", n.Name, err)
	}
	kind, _ := reply[0].(string)
	held, _ := reply[1].([]any)
	ms, _ := reply[2].(int64)
	end, _ := reply[3].(int64)
	s := keyState{kind: kind, fields: make(map[string]string)}
	s.evicted, _ = reply[4].(int64)
	s.till, _ = reply[5].(int64)
	for i := 0; (kind == "hash" || kind == "zset") && i+1 < len(held); i += 2 {
		s.fields[fmt.Sprint(held[i])] = fmt.Sprint(held[i+1])
	}
	for _, e := range held {
		switch kind {
		case "list":
			s.items = append(s.items, fmt.Sprint(e))
		case "set":
			s.fields[fmt.Sprint(e)] = ""
		}
	}
	if kind == "string" && len(held) == 1 {
		s.owner, _ = held[0].(string)
	}
	if end >= 0 {
		s.ends = history.Some(end)
	}
	switch at, _ := reply[6].(int64); {
	case at < 0:
	case len(s.fields) > 1 || ms >= 0:
		s.kind = "hash whose fields end"
	default:
		s.fieldEnds = history.Some(at)
		s.ttl = history.Some(max(at-s.till, 0) * int64(time.Millisecond))
	}
	if ms >= 0 { // less says that there is no end, or no key
		s.ttl = history.Some(ms * int64(time.Millisecond))
	}
	return s, nil
}

// key is the state as it was at an instant. The script reads the time to live a
// moment after it began.
func (s keyState) key(at command.Span) (k command.Key) {
	switch {
	case s.kind == "none":
		return k
	case s.kind == "string":
		k.Holds, k.Value = command.Text, s.owner
	case s.kind == "hash" && len(s.fields) > 0:
		k.Holds, k.Fields = command.Hash, s.fields
	case s.kind == "list" && len(s.items) > 0:
		k.Holds, k.Items = command.List, s.items
	case s.kind == "set" && len(s.fields) > 0:
		k.Holds, k.Fields = command.Members, s.fields
	case s.kind == "zset" && len(s.fields) > 0:
		k.Holds, k.Fields = command.Sorted, make(map[string]string)
		for member, score := range s.fields {
			k.Fields[member] = command.Score(score)
		}
	default:
		return command.Key{Holds: command.Unclear}
	}
	switch {
	case s.fieldEnds.IsSet():
		k.Expires, k.OfField = command.At(s.fieldEnds.V()), true
	case s.ends.IsSet():
		k.Expires = command.At(s.ends.V())
	case s.ttl.IsSet():
		ms := time.Duration(s.ttl.V()).Milliseconds()
		k.Expires = command.Span{From: at.From + ms - 1, To: at.To + ms + 1}
	}
	return k
}

// holdsTheSame reports that both keys are there and hold the same.
func holdsTheSame(k, o command.Key) bool {
	k.Expires = o.Expires
	return k.Holds != command.Absent && k.Equal(o)
}

// fits reports whether a key that was as k says may be found as seen a moment
// later.
func fits(k, seen command.Key, at command.Span) bool {
	if seen.Holds == command.Absent {
		return k.Holds == command.Absent || k.Expires != (command.Span{}) && at.To > k.Expires.From
	}
	return holdsTheSame(k, seen) && k.Expires.From <= seen.Expires.To && seen.Expires.From <= k.Expires.To
}
