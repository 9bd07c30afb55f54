package observe

import (
	"context"
	"fmt"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/command"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server"
)

// keyState is what a node says of the lock's key.
type keyState struct {
	kind  string // in Redis's words: none, string, list ...
	owner string // of a string
	ttl   history.Int
}

// lookScript reads the lock's key in one step, in a place of the stream that its
// mark names.
const lookScript = `local kind = redis.call('type', KEYS[1])['ok']
return {kind, kind == 'string' and redis.call('get', KEYS[1]) or '', redis.call('pttl', KEYS[1]), ARGV[1]}`

// look is a question to a node about the key. state and err are for reading after
// done.
type look struct {
	mark  string
	done  chan struct{}
	state keyState
	err   error
}

// ask asks the node for the key's state and returns at once.
func (o *Observation) ask(n *server.Node, key string, number int) *look {
	l := &look{mark: fmt.Sprintf("look-%d-%d", time.Now().UnixNano(), number), done: make(chan struct{})}
	o.Background.Go(func() {
		defer close(l.done)
		ctx, cancel := context.WithTimeout(o.Ctx, lookWithin)
		defer cancel()
		l.state, l.err = lookAt(ctx, n, key, l.mark)
	})
	return l
}

// lookWithin bounds how long a node may take to tell of its key.
const lookWithin = 2 * time.Second

// lookAt reads the state of a key in one step that carries mark.
func lookAt(ctx context.Context, n *server.Node, key, mark string) (keyState, error) {
	reply, err := n.Admin.Eval(ctx, lookScript, []string{key}, mark).Slice()
	if err != nil || len(reply) != 4 {
		return keyState{}, fmt.Errorf("failed to look at the key on node %s: %w", n.Name, err)
	}
	kind, _ := reply[0].(string)
	owner, _ := reply[1].(string)
	ms, _ := reply[2].(int64)
	s := keyState{kind: kind, owner: owner}
	if ms >= 0 { // less says that there is no end, or no key
		s.ttl = history.Some(ms * int64(time.Millisecond))
	}
	return s, nil
}

// key is the state as it was at an instant. The script reads the time to live a
// moment after it began.
func (s keyState) key(at command.Span) command.Key {
	switch s.kind {
	case "none":
		return command.Key{}
	case "string":
		k := command.Key{Holds: command.Text, Value: s.owner}
		if s.ttl.IsSet() {
			ms := time.Duration(s.ttl.V()).Milliseconds()
			k.Expires = command.Span{From: at.From + ms - 1, To: at.To + ms + 1}
		}
		return k
	}
	return command.Key{Holds: command.Unclear}
}

// fits reports whether a key that was as k says may be found as seen a moment
// later.
func fits(k, seen command.Key, at command.Span) bool {
	gone := k.Expires != (command.Span{}) && at.To > k.Expires.From
	switch {
	case seen.Holds == command.Absent:
		return k.Holds == command.Absent || gone
	case k.Holds != seen.Holds || k.Value != seen.Value:
		return false
	}
	return k.Expires.From <= seen.Expires.To && seen.Expires.From <= k.Expires.To
}
