package node

import (
	"math"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
)

var expiryRows = []row{
	{name: "expire", arity: -3, flags: write, first: 1, last: 1, step: 1, do: expire(1000, false)},
	{name: "pexpire", arity: -3, flags: write, first: 1, last: 1, step: 1, do: expire(1, false)},
	{name: "expireat", arity: -3, flags: write, first: 1, last: 1, step: 1, do: expire(1000, true)},
	{name: "pexpireat", arity: -3, flags: write, first: 1, last: 1, step: 1, do: expire(1, true)},
	{name: "ttl", arity: 2, first: 1, last: 1, step: 1, do: ttl(1000, false)},
	{name: "pttl", arity: 2, first: 1, last: 1, step: 1, do: ttl(1, false)},
	{name: "expiretime", arity: 2, first: 1, last: 1, step: 1, do: ttl(1000, true)},
	{name: "pexpiretime", arity: 2, first: 1, last: 1, step: 1, do: ttl(1, true)},
	{name: "persist", arity: 2, flags: write, first: 1, last: 1, step: 1, do: persist},
}

func expire(unit int64, absolute bool) func(x *call, w []string) {
	return func(x *call, w []string) {
		o := command.ParseOptions(w[3:], command.ExpireTakes)
		if x.refuseExpireOptions(&o) {
			return
		}
		n, ok := x.int(w[2])
		if !ok {
			return
		}
		now := int64(0)
		if !absolute {
			now = x.n.Memory.Milliseconds()
		}
		if n > math.MaxInt64/unit || n < math.MinInt64/unit || n*unit > math.MaxInt64-now {
			x.fail("ERR invalid expire time in '" + find(w[0]).name + "' command")
			return
		}
		at := n*unit + now
		it := x.any(w[1])
		if it == nil || !mayExpireAt(&o, it.Expires, at) {
			x.bit(false)
			return
		}
		past := at <= x.n.Memory.Milliseconds()
		if !past { // Redis answers before the event "expire", but after "del"
			x.bit(true)
		}
		x.expireAt(w[1], at)
		if past {
			x.bit(true)
		}
	}
}

// refuseExpireOptions answers options that do not go together; false: they do.
func (x *call) refuseExpireOptions(o *command.Options) bool {
	switch {
	case o.Strange != "":
		x.refuse("Unsupported option " + o.Strange)
	case o.NX && (o.XX || o.GT || o.LT):
		x.fail("ERR NX and XX, GT or LT options at the same time are not compatible")
	case o.GT && o.LT:
		x.fail("ERR GT and LT options at the same time are not compatible")
	default:
		return false
	}
	return true
}

// mayExpireAt reports whether NX, XX, GT and LT let an expiry follow the one that a key has; 0: it has none.
func mayExpireAt(o *command.Options, has, at int64) bool {
	if has == 0 {
		return !o.XX && !o.GT
	}
	return !o.NX && (!o.GT || at > has) && (!o.LT || at < has)
}

// expireAt gives a key that is there an expiry.
func (x *call) expireAt(key string, at int64) {
	m := x.n.Memory
	if at <= m.Milliseconds() {
		x.drop(key)
		return
	}
	m.ExpireAt(m.Find(key), at)
	x.n.notify(generic, "expire", key)
}

// persist lets a key live for ever; false: it does already.
func (x *call) persist(key string) bool {
	m := x.n.Memory
	i := m.Find(key)
	if i < 0 || m.Items[i].Expires == 0 || m.Items[i].OfField {
		return false
	}
	m.ExpireAt(i, 0)
	x.n.notify(generic, "persist", key)
	return true
}

func persist(x *call, w []string) { x.bit(x.persist(w[1])) }

func ttl(unit int64, absolute bool) func(x *call, w []string) {
	return func(x *call, w []string) {
		it := x.any(w[1])
		switch {
		case it == nil:
			x.integer(-2)
		case it.Expires == 0 || it.OfField:
			x.integer(-1)
		case absolute:
			x.integer((it.Expires + unit/2) / unit)
		default:
			x.integer((max(0, it.Expires-x.n.Memory.Milliseconds()) + unit/2) / unit)
		}
	}
}
