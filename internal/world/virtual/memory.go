package virtual

import (
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/command"
)

// memory is the data of a Redis node and what commands do to it. It has no
// clock of its own: now is set before each command and stands still during it,
// as it does in Redis.
type memory struct {
	// items are few, and looked through one by one.
	items []item
	// now is the node's wall clock in microseconds since 1970.
	now int64
	// watch is told what happens to keys; nil: nobody.
	watch *watch
	// fault is the error that a script ran into, in Redis's words.
	fault string
	// writes counts the changes of keys, expiries those among them that were due
	// to time alone: Redis tells its replicas of them, and its append-only file, but
	// makes no snapshot for them.
	writes, expiries int64
	// changed is called after a key was changed, or removed; nil: nobody asks.
	changed func(key string)
	// watched are the keys that connections watch, in the order of their WATCH.
	watched []watched
}

// item is a key with its value: a string, or a list where isList.
type item struct {
	key    string
	value  string
	isList bool
	list   []string
	// expires is in milliseconds since 1970; 0: never.
	expires int64
}

var _ command.Store = (*memory)(nil)

// Errors in Redis's words.
const (
	errWrongType  = "WRONGTYPE Operation against a key holding the wrong kind of value"
	errNotInteger = "ERR value is not an integer or out of range"
	errOverflow   = "ERR increment or decrement would overflow"
)

func (m *memory) ms() int64 { return m.now / 1000 }

// find returns the place of a key, or -1. A key is gone once the clock shows a
// later millisecond than that of its expiry.
func (m *memory) find(key string) int {
	for i := range m.items {
		it := &m.items[i]
		if it.key != key {
			continue
		}
		if it.expires != 0 && m.ms() > it.expires {
			m.watch.expired(it)
			m.expiries++
			m.remove(i)
			return -1
		}
		return i
	}
	return -1
}

// sweep removes what has expired.
func (m *memory) sweep() {
	for i := len(m.items) - 1; i >= 0; i-- {
		m.find(m.items[i].key)
	}
}

func (m *memory) remove(i int) {
	key, last := m.items[i].key, len(m.items)-1
	m.items[i] = m.items[last]
	m.items[last] = item{}
	m.items = m.items[:last]
	m.tell(key)
}

func (m *memory) tell(key string) {
	m.writes++
	m.touch(key)
	if m.changed != nil {
		m.changed(key)
	}
}

// Get reads a string; a list is no string.
func (m *memory) Get(key string) (string, bool) {
	i := m.find(key)
	if i < 0 || m.items[i].isList {
		return "", false
	}
	return m.items[i].value, true
}

// Set writes a key.
func (m *memory) Set(key, value string, ttl time.Duration, nx bool) bool {
	i := m.find(key)
	if i >= 0 && nx {
		return false
	}
	it := item{key: key, value: value}
	if ttl > 0 {
		it.expires = m.ms() + command.Milliseconds(ttl)
	}
	if i < 0 {
		m.items = append(m.items, it)
		i = len(m.items) - 1
	} else {
		m.items[i] = it
	}
	m.watch.set(&m.items[i], ttl)
	m.tell(key)
	return true
}

// Del removes a key.
func (m *memory) Del(key string) bool {
	i := m.find(key)
	if i < 0 {
		return false
	}
	m.watch.deleted(&m.items[i])
	m.remove(i)
	return true
}

// PExpire sets a key's expiry; one that is not in the future removes the key.
func (m *memory) PExpire(key string, ttl time.Duration) bool {
	i := m.find(key)
	if i < 0 {
		return false
	}
	if ttl <= 0 {
		m.watch.deleted(&m.items[i])
		m.remove(i)
		return true
	}
	m.items[i].expires = m.ms() + command.Milliseconds(ttl)
	m.watch.extended(&m.items[i], ttl)
	m.tell(key)
	return true
}

// PTTL is how long a key still lives, in milliseconds.
func (m *memory) PTTL(key string) int64 {
	i := m.find(key)
	switch {
	case i < 0:
		return -2
	case m.items[i].expires == 0:
		return -1
	}
	return m.items[i].expires - m.ms()
}

// Incr adds one.
func (m *memory) Incr(key string) (int64, bool) {
	n, fault := m.incr(key)
	return n, fault == ""
}

func (m *memory) incr(key string) (n int64, fault string) {
	i := m.find(key)
	if i < 0 {
		m.items = append(m.items, item{key: key, value: "1"})
		m.tell(key)
		return 1, ""
	}
	it := &m.items[i]
	if it.isList {
		return 0, errWrongType
	}
	n, err := strconv.ParseInt(it.value, 10, 64)
	switch {
	case err != nil || strconv.FormatInt(n, 10) != it.value:
		return 0, errNotInteger
	case n == math.MaxInt64:
		return 0, errOverflow
	}
	it.value = strconv.FormatInt(n+1, 10)
	m.tell(key)
	return n + 1, ""
}

// RPush appends to a list.
func (m *memory) RPush(key, element string) int64 {
	i := m.find(key)
	if i < 0 {
		m.items = append(m.items, item{key: key, isList: true})
		i = len(m.items) - 1
	}
	it := &m.items[i]
	if !it.isList {
		m.fault = errWrongType
		return 0
	}
	it.list = append(it.list, element)
	m.watch.pushed(key, element)
	m.tell(key)
	return int64(len(it.list))
}

// LRange reads a whole list.
func (m *memory) LRange(key string) []string {
	i := m.find(key)
	if i < 0 {
		return nil
	}
	return slices.Clone(m.items[i].list)
}

// Time is the node's wall clock in microseconds.
func (m *memory) Time() int64 { return m.now }

// do carries a command out. What Redis answers with an error was refused.
func (m *memory) do(c *command.Command) command.Reply {
	if why := c.Refusal(); why != "" {
		return command.RefusedReply(why)
	}
	switch c.Op {
	case command.PING:
		return command.StrReply("PONG")
	case command.GET:
		switch i := m.find(c.Key); {
		case i < 0:
			return command.NilReply()
		case m.items[i].isList:
			return command.RefusedReply(errWrongType)
		default:
			return command.StrReply(m.items[i].value)
		}
	case command.SET:
		if m.Set(c.Key, c.Value, c.TTL, c.NX) {
			return command.OKReply()
		}
		return command.NilReply()
	case command.DEL:
		return bitReply(m.Del(c.Key))
	case command.PEXPIRE:
		return bitReply(m.PExpire(c.Key, c.TTL))
	case command.PTTL:
		return command.IntReply(m.PTTL(c.Key))
	case command.INCR:
		n, fault := m.incr(c.Key)
		if fault != "" {
			return command.RefusedReply(fault)
		}
		return command.IntReply(n)
	case command.RPUSH:
		if len(c.Args) == 0 {
			return command.RefusedReply("ERR wrong number of arguments for 'rpush' command")
		}
		m.fault = ""
		var n int64
		for _, element := range c.Args {
			if n = m.RPush(c.Key, element); m.fault != "" {
				return command.RefusedReply(m.fault)
			}
		}
		return command.IntReply(n)
	case command.LRANGE:
		if i := m.find(c.Key); i >= 0 && !m.items[i].isList {
			return command.RefusedReply(errWrongType)
		}
		return command.ListReply(m.LRange(c.Key)...)
	case command.EVAL:
		return m.eval(c)
	}
	return command.RefusedReply("ERR unknown command '" + c.Op.String() + "'")
}

// eval runs a script.
func (m *memory) eval(c *command.Command) command.Reply {
	m.fault = ""
	r := c.Script.Twin(m, c.Keys, c.Args)
	switch {
	case m.fault != "":
		return command.RefusedReply(m.fault)
	case r.Err() != "":
		return command.RefusedReply(r.Err())
	}
	return r
}

func bitReply(yes bool) command.Reply {
	if yes {
		return command.IntReply(1)
	}
	return command.IntReply(0)
}
