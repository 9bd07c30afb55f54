package commandtest

import (
	"slices"
	"strconv"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/command"
)

// Clock is a time that only a test moves.
type Clock struct{ T time.Duration }

// Node is a command.Node. It is not safe for concurrent use.
type Node struct {
	Store
	// Way stands between the caller and the node; nil: nothing does. It calls
	// carry for the command to arrive, if it does.
	Way func(c command.Command, carry func() command.Reply) command.Reply
	// Asked are the commands sent, in words: "set lock".
	Asked []string

	name string
}

var _ command.Node = (*Node)(nil)

// NewNode makes an empty node.
func NewNode(name string, clock *Clock) *Node {
	return &Node{name: name, Store: Store{Clock: clock, data: make(map[string]entry), lists: make(map[string][]string)}}
}

// NewNodes makes n nodes, named A, B, C ...
func NewNodes(n int, clock *Clock) []*Node {
	var list []*Node
	for i := range n {
		list = append(list, NewNode(string(rune('A'+i)), clock))
	}
	return list
}

// Name implements command.Node.
func (n *Node) Name() string { return n.name }

// Do implements command.Node.
func (n *Node) Do(c command.Command) command.Reply {
	n.Asked = append(n.Asked, words(c))
	carry := func() command.Reply { return n.carry(c) }
	if n.Way != nil {
		return n.Way(c, carry)
	}
	return carry()
}

func words(c command.Command) string {
	if c.Op == command.EVAL {
		return c.Script.Name + " " + c.Keys[0]
	}
	return c.Op.String() + " " + c.Key
}

func (n *Node) carry(c command.Command) command.Reply {
	if why := c.Refusal(); why != "" {
		return command.RefusedReply(why)
	}
	switch c.Op {
	case command.GET:
		if v, ok := n.Get(c.Key); ok {
			return command.StrReply(v)
		}
		return command.NilReply()
	case command.SET:
		if n.Set(c.Key, c.Value, c.TTL, c.NX) {
			return command.StrReply("OK")
		}
		return command.NilReply()
	case command.DEL:
		return yes(n.Del(c.Key))
	case command.PEXPIRE:
		return yes(n.PExpire(c.Key, c.TTL))
	case command.INCR:
		if i, ok := n.Incr(c.Key); ok {
			return command.IntReply(i)
		}
		return command.RefusedReply("ERR value is not an integer or out of range")
	case command.WAIT:
		return command.IntReply(0)
	case command.EVAL:
		return c.Script.Twin(&n.Store, c.Keys, c.Args)
	}
	return command.RefusedReply("ERR unknown command '" + c.Op.String() + "'")
}

func yes(b bool) command.Reply {
	if b {
		return command.IntReply(1)
	}
	return command.IntReply(0)
}

// Dead is a Way on which nothing arrives.
func Dead(command.Command, func() command.Reply) command.Reply {
	return command.RefusedReply("connection refused")
}

// Mute is a Way on which commands arrive and no answer does.
func Mute(_ command.Command, carry func() command.Reply) command.Reply {
	carry()
	return command.UnknownReply("timeout")
}

// Store is a command.Store.
type Store struct {
	Clock *Clock
	data  map[string]entry
	lists map[string][]string
}

var _ command.Store = (*Store)(nil)

type entry struct {
	value   string
	expires time.Duration // 0: never
}

// Get implements command.Store.
func (s *Store) Get(key string) (string, bool) {
	e, ok := s.data[key]
	if ok && e.expires != 0 && s.Clock.T >= e.expires {
		delete(s.data, key)
		return "", false
	}
	return e.value, ok
}

// Set implements command.Store.
func (s *Store) Set(key, value string, ttl time.Duration, nx bool) bool {
	if _, there := s.Get(key); there && nx {
		return false
	}
	e := entry{value: value}
	if ttl > 0 {
		e.expires = s.Clock.T + ttl
	}
	s.data[key] = e
	return true
}

// Del implements command.Store.
func (s *Store) Del(key string) bool {
	_, there := s.Get(key)
	_, list := s.lists[key]
	delete(s.data, key)
	delete(s.lists, key)
	return there || list
}

// PExpire implements command.Store.
func (s *Store) PExpire(key string, ttl time.Duration) bool {
	v, there := s.Get(key)
	if there {
		s.data[key] = entry{value: v, expires: s.Clock.T + ttl}
	}
	return there
}

// PTTL implements command.Store.
func (s *Store) PTTL(key string) int64 {
	if _, there := s.Get(key); !there {
		return -2
	}
	if e := s.data[key]; e.expires != 0 {
		return (e.expires - s.Clock.T).Milliseconds()
	}
	return -1
}

// Incr implements command.Store.
func (s *Store) Incr(key string) (int64, bool) {
	v, there := s.Get(key)
	n, err := strconv.ParseInt(v, 10, 64)
	if there && err != nil {
		return 0, false
	}
	s.data[key] = entry{value: command.Itoa(n + 1), expires: s.data[key].expires}
	return n + 1, true
}

// RPush implements command.Store.
func (s *Store) RPush(key, element string) int64 {
	s.lists[key] = append(s.lists[key], element)
	return int64(len(s.lists[key]))
}

// LRange implements command.Store.
func (s *Store) LRange(key string) []string { return slices.Clone(s.lists[key]) }

// Time implements command.Store.
func (s *Store) Time() int64 { return 1_700_000_000_000_000 + s.Clock.T.Microseconds() }
