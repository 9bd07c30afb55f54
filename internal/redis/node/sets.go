package node

import (
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/redis/command/model"
	"github.com/redlock-sim/redlock-sim/internal/redis/resp"
)

var setRows = []row{
	{name: "sadd", arity: -3, flags: write, first: 1, last: 1, step: 1, do: sadd},
	{name: "srem", arity: -3, flags: write, first: 1, last: 1, step: 1, do: removing(model.Set, setClass, "srem")},
	{name: "sismember", arity: 3, first: 1, last: 1, step: 1, do: holding(model.Set)},
	{name: "smembers", arity: 2, first: 1, last: 1, step: 1, do: smembers},
	{name: "scard", arity: 2, first: 1, last: 1, step: 1, do: sizeOf(model.Set)},
}

func (x *call) openSet(key string) (*members, bool) { return x.open(key, model.Set, setClass) }

func sadd(x *call, w []string) {
	s, ok := x.openSet(w[1])
	if !ok {
		return
	}
	n := 0
	for _, name := range w[2:] {
		if s.find(name) < 0 && s.setField(name, "") {
			n++
		}
	}
	if n > 0 {
		x.save(s, "sadd")
	}
	x.count(n)
}

// smembers answers integers alone in their order, as Redis keeps them; it promises no order
// of others.
func smembers(x *call, w []string) {
	s, ok := x.openSet(w[1])
	if !ok {
		return
	}
	names := s.names()
	other := slices.ContainsFunc(names, func(name string) bool { _, isInteger := command.Integer(name); return !isInteger })
	if !other {
		slices.SortFunc(names, func(a, b string) int {
			m, _ := command.Integer(a)
			n, _ := command.Integer(b)
			return int(max(-1, min(1, m/2-n/2+m%2-n%2)))
		})
	}
	x.list(resp.Set, names)
}
