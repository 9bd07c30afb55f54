package node

import (
	"strconv"

	"github.com/redlock-sim/redlock-sim/internal/redis/command/model"
)

var hashRows = []row{
	{name: "hset", arity: -4, flags: write, first: 1, last: 1, step: 1, do: hset},
	{name: "hmset", arity: -4, flags: write, first: 1, last: 1, step: 1, do: hset},
	{name: "hsetnx", arity: 4, flags: write, first: 1, last: 1, step: 1, do: hsetnx},
	{name: "hget", arity: 3, first: 1, last: 1, step: 1, do: hget},
	{name: "hmget", arity: -3, first: 1, last: 1, step: 1, do: hmget},
	{name: "hgetall", arity: 2, first: 1, last: 1, step: 1, do: hgetall},
	{name: "hexists", arity: 3, first: 1, last: 1, step: 1, do: holding(model.Hash)},
	{name: "hdel", arity: -3, flags: write, first: 1, last: 1, step: 1, do: removing(model.Hash, hashClass, "hdel")},
	{name: "hincrby", arity: 4, flags: write, first: 1, last: 1, step: 1, do: hincrby},
	{name: "hlen", arity: 2, first: 1, last: 1, step: 1, do: sizeOf(model.Hash)},
	{name: "hkeys", arity: 2, first: 1, last: 1, step: 1, do: hkeys},
	{name: "hvals", arity: 2, first: 1, last: 1, step: 1, do: hvals},
}

func (x *call) openHash(key string) (*members, bool) { return x.open(key, model.Hash, hashClass) }

// setField sets a field, and says whether it is a new one.
func (s *members) setField(field, value string) bool {
	s.cloneOnce()
	if i := s.find(field); i >= 0 {
		s.list[i].Value = value
		return false
	}
	s.list = append(s.list, model.Member{Name: field, Value: value})
	return true
}

// hset is HSET and HMSET.
func hset(x *call, w []string) {
	name := find(w[0]).name
	if len(w)%2 != 0 {
		x.fail("ERR wrong number of arguments for '" + name + "' command")
		return
	}
	s, ok := x.openHash(w[1])
	if !ok {
		return
	}
	n := 0
	for i := 2; i < len(w); i += 2 {
		if s.setField(w[i], w[i+1]) {
			n++
		}
	}
	if name == "hmset" {
		x.ok()
	} else {
		x.count(n)
	}
	x.save(s, "hset")
}

func hsetnx(x *call, w []string) {
	s, ok := x.openHash(w[1])
	if !ok {
		return
	}
	isNew := s.find(w[2]) < 0
	x.bit(isNew)
	if isNew {
		s.setField(w[2], w[3])
		x.save(s, "hset")
	}
}

// field answers a field's value.
func (x *call) field(s *members, name string) {
	if i := s.find(name); i >= 0 {
		x.bulk(s.list[i].Value)
		return
	}
	x.null()
}

func hget(x *call, w []string) {
	if s, ok := x.openHash(w[1]); ok {
		x.field(s, w[2])
	}
}

func hmget(x *call, w []string) {
	s, ok := x.openHash(w[1])
	if !ok {
		return
	}
	x.array(len(w) - 2)
	for _, name := range w[2:] {
		x.field(s, name)
	}
}

func hgetall(x *call, w []string) {
	s, ok := x.openHash(w[1])
	if !ok {
		return
	}
	x.mapping(len(s.list))
	for _, f := range s.list {
		x.bulk(f.Name)
		x.bulk(f.Value)
	}
}

func hincrby(x *call, w []string) {
	by, ok := x.int(w[3])
	if !ok {
		return
	}
	s, ok := x.openHash(w[1])
	if !ok {
		return
	}
	var n int64
	if i := s.find(w[2]); i >= 0 {
		if n, ok = x.integerIn(s.list[i].Value, "ERR hash value is not an integer"); !ok {
			return
		}
	}
	if n, ok = x.plus(n, by); !ok {
		return
	}
	s.setField(w[2], strconv.FormatInt(n, 10))
	x.integer(n)
	x.save(s, "hincrby")
}

func hkeys(x *call, w []string) {
	if s, ok := x.openHash(w[1]); ok {
		x.words(s.names()...)
	}
}

func hvals(x *call, w []string) {
	s, ok := x.openHash(w[1])
	if !ok {
		return
	}
	x.array(len(s.list))
	for _, f := range s.list {
		x.bulk(f.Value)
	}
}
