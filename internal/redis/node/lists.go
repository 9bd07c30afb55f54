package node

import (
	"math"
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/redis/command/model"
)

var listRows = []row{
	{name: "rpush", arity: -3, flags: write, first: 1, last: 1, step: 1, do: push("rpush", false)},
	{name: "lpush", arity: -3, flags: write, first: 1, last: 1, step: 1, do: push("lpush", false)},
	{name: "rpushx", arity: -3, flags: write, first: 1, last: 1, step: 1, do: push("rpush", true)},
	{name: "lpushx", arity: -3, flags: write, first: 1, last: 1, step: 1, do: push("lpush", true)},
	{name: "rpop", arity: -2, flags: write, first: 1, last: 1, step: 1, do: pop("rpop")},
	{name: "lpop", arity: -2, flags: write, first: 1, last: 1, step: 1, do: pop("lpop")},
	{name: "lrange", arity: 4, first: 1, last: 1, step: 1, do: lrange},
	{name: "llen", arity: 2, first: 1, last: 1, step: 1, do: llen},
	{name: "lrem", arity: 4, flags: write, first: 1, last: 1, step: 1, do: lrem},
	{name: "lindex", arity: 3, first: 1, last: 1, step: 1, do: lindex},
	{name: "ltrim", arity: 4, flags: write, first: 1, last: 1, step: 1, do: ltrim},
}

// openList reads a list: a copy, which may be changed.
func (x *call) openList(key string) (to model.Item, ok bool) {
	it, ok := x.item(key, model.List)
	to = model.Item{Key: key, IsList: true}
	if it != nil {
		to.List, to.Expires = slices.Clone(it.List), it.Expires
	}
	return to, ok
}

// saveList writes a list; an empty one is gone.
func (x *call) saveList(it model.Item, event string) {
	if len(it.List) > 0 {
		x.put(it, listClass, event)
		return
	}
	x.emptied(it.Key, listClass, event)
}

func push(event string, onlyThere bool) func(x *call, w []string) {
	return func(x *call, w []string) {
		it, ok := x.openList(w[1])
		if !ok {
			return
		}
		if onlyThere && len(it.List) == 0 {
			x.integer(0)
			return
		}
		for _, element := range w[2:] {
			if event == "rpush" {
				it.List = append(it.List, element)
			} else {
				it.List = slices.Insert(it.List, 0, element)
			}
			if o := x.n.Memory.Observer; o != nil {
				o.Pushed(it.Key, element)
			}
		}
		x.count(len(it.List))
		x.saveList(it, event)
	}
}

func pop(event string) func(x *call, w []string) {
	return func(x *call, w []string) {
		n := int64(1)
		if len(w) > 3 {
			x.fail("ERR wrong number of arguments for '" + event + "' command")
			return
		}
		if len(w) == 3 {
			var ok bool
			if n, ok = x.between(w[2], 0, math.MaxInt64); !ok {
				return
			}
		}
		it, ok := x.openList(w[1])
		switch {
		case !ok:
			return
		case len(it.List) == 0 && len(w) == 3:
			x.nullArray()
			return
		case len(it.List) == 0:
			x.null()
			return
		case n == 0:
			x.array(0)
			return
		}
		k := int(min(n, int64(len(it.List))))
		taken := slices.Clone(it.List[:k])
		if event == "lpop" {
			it.List = it.List[k:]
		} else {
			taken = slices.Clone(it.List[len(it.List)-k:])
			slices.Reverse(taken)
			it.List = it.List[:len(it.List)-k]
		}
		if len(w) == 3 {
			x.words(taken...)
		} else {
			x.bulk(taken[0])
		}
		x.n.eventsFirst(func() { x.saveList(it, event) })
	}
}

// between reads an integer within bounds; where it is none, it answers so.
func (x *call) between(word string, low, high int64) (int64, bool) {
	n, ok := x.integerIn(word, errRange+", must be positive")
	if ok && (n < low || n > high) {
		x.fail(errRange + ", must be positive")
		return 0, false
	}
	return n, ok
}

// span reads two words as the first and the last place among size; from is not less than to
// where there is nothing between them.
func (x *call) span(first, last string, size int) (from, to int, ok bool) {
	a, ok := x.int(first)
	if !ok {
		return 0, 0, false
	}
	b, ok := x.int(last)
	if !ok {
		return 0, 0, false
	}
	from, to = places(a, b, size)
	return from, to, true
}

func places(first, last int64, size int) (from, to int) {
	n := int64(size)
	if first < 0 {
		first = max(first+n, 0)
	}
	if last < 0 {
		last += n
	}
	last = min(last, n-1)
	if first > last || first >= n {
		return 0, 0
	}
	return int(first), int(last) + 1
}

func lrange(x *call, w []string) {
	_, _, ok := x.span(w[2], w[3], 0)
	if !ok {
		return
	}
	it, ok := x.item(w[1], model.List)
	if !ok {
		return
	}
	if it == nil {
		x.array(0)
		return
	}
	from, to, _ := x.span(w[2], w[3], len(it.List))
	x.words(it.List[from:to]...)
}

func llen(x *call, w []string) {
	if it, ok := x.openList(w[1]); ok {
		x.count(len(it.List))
	}
}

func lrem(x *call, w []string) {
	n, ok := x.int(w[2])
	if !ok {
		return
	}
	it, ok := x.openList(w[1])
	if !ok {
		return
	}
	if n < 0 {
		slices.Reverse(it.List)
	}
	left, removed := max(n, -n), 0
	it.List = slices.DeleteFunc(it.List, func(s string) bool {
		if s != w[3] || n != 0 && left == 0 {
			return false
		}
		left--
		removed++
		return true
	})
	if n < 0 {
		slices.Reverse(it.List)
	}
	if removed > 0 {
		x.saveList(it, "lrem")
	}
	x.count(removed)
}

func lindex(x *call, w []string) {
	it, ok := x.item(w[1], model.List)
	if !ok {
		return
	}
	if it == nil {
		x.null()
		return
	}
	i, ok := x.int(w[2])
	if !ok {
		return
	}
	if i < 0 {
		i += int64(len(it.List))
	}
	if i < 0 || i >= int64(len(it.List)) {
		x.null()
		return
	}
	x.bulk(it.List[i])
}

func ltrim(x *call, w []string) {
	if _, _, ok := x.span(w[2], w[3], 0); !ok {
		return
	}
	it, ok := x.openList(w[1])
	if !ok {
		return
	}
	if len(it.List) > 0 {
		from, to, _ := x.span(w[2], w[3], len(it.List))
		it.List = it.List[from:to]
		x.n.eventsFirst(func() { x.saveList(it, "ltrim") })
	}
	x.ok()
}
