package node

import (
	"math"
	"strconv"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/redis/command/model"
)

var stringRows = []row{
	{name: "set", arity: -3, flags: write, first: 1, last: 1, step: 1, do: set},
	{name: "get", arity: 2, first: 1, last: 1, step: 1, do: get},
	{name: "getdel", arity: 2, flags: write, first: 1, last: 1, step: 1, do: getdel},
	{name: "getex", arity: -2, flags: write, first: 1, last: 1, step: 1, do: getex},
	{name: "getset", arity: 3, flags: write, first: 1, last: 1, step: 1, do: getset},
	{name: "setnx", arity: 3, flags: write, first: 1, last: 1, step: 1, do: setnx},
	{name: "setex", arity: 4, flags: write, first: 1, last: 1, step: 1, do: setex("EX", "setex")},
	{name: "psetex", arity: 4, flags: write, first: 1, last: 1, step: 1, do: setex("PX", "psetex")},
	{name: "mget", arity: -2, first: 1, last: -1, step: 1, do: mget},
	{name: "mset", arity: -3, flags: write, first: 1, last: -1, step: 2, do: mset},
	{name: "msetnx", arity: -3, flags: write, first: 1, last: -1, step: 2, do: mset},
	{name: "append", arity: 3, flags: write, first: 1, last: 1, step: 1, do: appendTo},
	{name: "strlen", arity: 2, first: 1, last: 1, step: 1, do: strlen},
	{name: "getrange", arity: 4, first: 1, last: 1, step: 1, do: getrange},
	{name: "incr", arity: 2, flags: write, first: 1, last: 1, step: 1, do: func(x *call, w []string) { x.add(w[1], 1) }},
	{name: "decr", arity: 2, flags: write, first: 1, last: 1, step: 1, do: func(x *call, w []string) { x.add(w[1], -1) }},
	{name: "incrby", arity: 3, flags: write, first: 1, last: 1, step: 1, do: incrby},
	{name: "delifeq", arity: 3, flags: write, first: 1, last: 1, step: 1, do: delifeq, since: &command.DeletesIfEq},
	{name: "decrby", arity: 3, flags: write, first: 1, last: 1, step: 1, do: decrby},
}

func set(x *call, w []string) {
	takes := command.SetTakes
	if x.n.config.Server.Knows(command.SetWithIfEq) {
		takes = setTakesIfEq
	}
	o := command.ParseOptions(w[3:], takes)
	at, ok := x.until(&o, "set")
	if !ok {
		return
	}
	it := x.any(w[1])
	if o.Get {
		if it != nil && it.Kind() != model.String {
			x.fail(model.ErrWrongType)
			return
		}
		x.value(it)
	}
	if o.Condition != "" && it != nil && it.Kind() != model.String {
		x.fail(model.ErrWrongType)
		return
	}
	if o.NX && it != nil || o.XX && it == nil || o.Condition != "" && (it == nil || it.Value != o.Match) {
		if !o.Get {
			x.null()
		}
		return
	}
	if o.Expiry == "KEEPTTL" && it != nil {
		at = it.Expires
	}
	x.store(w[1], w[2], at, o.Number != "")
	if !o.Get {
		x.ok()
	}
}

// setTakesIfEq are the options of SET where it knows IFEQ.
const setTakesIfEq = command.SetTakes + " IFEQ"

// delifeq deletes a key that has a value.
func delifeq(x *call, w []string) {
	it, ok := x.item(w[1], model.String)
	switch {
	case !ok:
	case it == nil || it.Value != w[2]:
		x.integer(0)
	default:
		x.drop(w[1])
		x.integer(1)
	}
}

// until is when a key is to expire that is given these options; 0: never. Where they are
// wrong it answers so.
func (x *call) until(o *command.Options, name string) (at int64, ok bool) {
	if o.Wrong || o.Strange != "" {
		x.fail(errSyntax)
		return 0, false
	}
	if o.Number == "" && (o.Expiry == "" || o.Expiry == "KEEPTTL" || o.Expiry == "PERSIST") {
		return 0, true
	}
	if _, isNumber := command.Integer(o.Number); !isNumber {
		x.fail(model.ErrNotInteger)
		return 0, false
	}
	span, ok := o.Until(command.At(x.n.Memory.Milliseconds()))
	if !ok {
		x.fail("ERR invalid expire time in '" + name + "' command")
	}
	return span.From, ok
}

// store writes a string. A time that is past is written all the same: the key is gone when
// somebody asks for it.
func (x *call) store(key, value string, at int64, expires bool) {
	x.put(model.Item{Key: key, Value: value, Expires: at}, text, "set")
	if expires {
		x.n.notify(generic, "expire", key)
	}
}

// value answers a string, or that there is none.
func (x *call) value(it *model.Item) {
	if it == nil {
		x.null()
		return
	}
	x.bulk(it.Value)
}

func get(x *call, w []string) {
	if it, ok := x.item(w[1], model.String); ok {
		x.value(it)
	}
}

func getdel(x *call, w []string) {
	it, ok := x.item(w[1], model.String)
	if !ok {
		return
	}
	x.value(it)
	x.drop(w[1])
}

func getex(x *call, w []string) {
	o := command.ParseOptions(w[2:], command.GetexTakes)
	if o.Wrong || o.Strange != "" {
		x.fail(errSyntax)
		return
	}
	it, ok := x.item(w[1], model.String)
	if !ok {
		return
	}
	if it == nil {
		x.null()
		return
	}
	at, ok := x.until(&o, "getex")
	if !ok {
		return
	}
	x.value(it)
	if o.Expiry == "PERSIST" {
		x.persist(w[1])
	} else if o.Expiry != "" {
		x.expireAt(w[1], at)
	}
}

func getset(x *call, w []string) {
	it, ok := x.item(w[1], model.String)
	if !ok {
		return
	}
	x.value(it)
	x.store(w[1], w[2], 0, false)
}

func setnx(x *call, w []string) {
	is := x.any(w[1]) == nil
	if is {
		x.store(w[1], w[2], 0, false)
	}
	x.bit(is)
}

func setex(unit, name string) func(x *call, w []string) {
	return func(x *call, w []string) {
		o := command.Options{Expiry: unit, Number: w[2]}
		if at, ok := x.until(&o, name); ok {
			x.store(w[1], w[3], at, true)
			x.ok()
		}
	}
}

func mget(x *call, w []string) {
	x.array(len(w) - 1)
	for _, key := range w[1:] {
		if it := x.any(key); it != nil && it.Kind() == model.String {
			x.bulk(it.Value)
		} else {
			x.null()
		}
	}
}

// mset is MSET and MSETNX.
func mset(x *call, w []string) {
	onlyNew := len(w[0]) == len("msetnx")
	if len(w)%2 == 0 {
		if onlyNew {
			x.fail("ERR wrong number of arguments for 'msetnx' command")
		} else {
			x.fail("ERR wrong number of arguments for 'mset' command")
		}
		return
	}
	for i := 1; onlyNew && i < len(w); i += 2 {
		if x.any(w[i]) != nil {
			x.bit(false)
			return
		}
	}
	for i := 1; i < len(w); i += 2 {
		x.store(w[i], w[i+1], 0, false)
	}
	if onlyNew {
		x.bit(true)
	} else {
		x.ok()
	}
}

func appendTo(x *call, w []string) {
	it, ok := x.item(w[1], model.String)
	if !ok {
		return
	}
	to := model.Item{Key: w[1], Value: w[2]}
	if it != nil {
		to.Value, to.Expires = it.Value+w[2], it.Expires
	}
	x.put(to, text, "append")
	x.count(len(to.Value))
}

func strlen(x *call, w []string) {
	it, ok := x.item(w[1], model.String)
	if !ok {
		return
	}
	if it == nil {
		x.integer(0)
		return
	}
	x.count(len(it.Value))
}

// getrange takes a last place before the first byte for the first byte, as Redis does.
func getrange(x *call, w []string) {
	first, ok := x.int(w[2])
	if !ok {
		return
	}
	last, ok := x.int(w[3])
	if !ok {
		return
	}
	it, ok := x.item(w[1], model.String)
	if !ok {
		return
	}
	if it == nil {
		x.bulk("")
		return
	}
	size := len(it.Value)
	if first >= 0 || first <= last {
		last = max(last, -int64(size))
	}
	from, to := places(first, last, size)
	x.bulk(it.Value[from:to])
}

func incrby(x *call, w []string) {
	if n, ok := x.int(w[2]); ok {
		x.add(w[1], n)
	}
}

func decrby(x *call, w []string) {
	n, ok := x.int(w[2])
	if !ok {
		return
	}
	if n == math.MinInt64 {
		x.fail("ERR decrement would overflow")
		return
	}
	x.add(w[1], -n)
}

// int reads an integer; where it is none, it answers so.
func (x *call) int(word string) (n int64, ok bool) { return x.integerIn(word, model.ErrNotInteger) }

func (x *call) integerIn(word, fault string) (n int64, ok bool) {
	if n, ok = command.Integer(word); !ok {
		x.fail(fault)
	}
	return n, ok
}

// plus adds; where that is too much, it answers so.
func (x *call) plus(n, by int64) (sum int64, ok bool) {
	if by > 0 && n > math.MaxInt64-by || by < 0 && n < math.MinInt64-by {
		x.fail(model.ErrOverflow)
		return 0, false
	}
	return n + by, true
}

func (x *call) add(key string, by int64) {
	it, ok := x.item(key, model.String)
	if !ok {
		return
	}
	to := model.Item{Key: key}
	var n int64
	if it != nil {
		if n, ok = x.int(it.Value); !ok {
			return
		}
		to.Expires = it.Expires
	}
	if n, ok = x.plus(n, by); !ok {
		return
	}
	to.Value = strconv.FormatInt(n, 10)
	x.put(to, text, "incrby")
	x.integer(n)
}
