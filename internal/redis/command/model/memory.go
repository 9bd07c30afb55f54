package model

import (
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
)

// Memory is the data of a Redis node and what commands do to it. It has no clock of
// its own: Now is set before each command and stands still during it, as it does in
// Redis. It is not safe for concurrent use.
type Memory struct {
	// Items are few, and looked through one by one.
	Items []Item
	// Now is the node's wall clock in microseconds since 1970.
	Now int64
	// Observer is told what happens to keys; nil: nobody.
	Observer Observer
	// Writes counts the changes of keys, Expiries those among them that were due
	// to time alone: Redis tells its replicas of them, and its append-only file, but
	// makes no snapshot for them.
	Writes, Expiries int64
	// Changed is called after a key was changed, or removed; nil: nobody asks.
	Changed func(key string)
	// Flushed is called after FLUSHALL (all), and FLUSHDB; nil: nobody asks.
	Flushed func(all bool)
	// Listener is told of the same, and of what has expired, by name; nil: nobody.
	Listener Listener

	// Refuse is the error with which writes are answered; empty: they are carried out.
	Refuse string
	// Full: what takes memory is answered with an error, save on a replica.
	Full bool
	// Follows: expired keys are not found, and stay till the primary tells that they are gone.
	Follows bool

	// fault is the error that a script ran into, in Redis's words. It does nothing more from then on.
	fault string
	// watched are the keys that connections watch, in the order of their WATCH.
	watched []watched
}

// Observer sees what happens to keys. An expiry shows with the next command that asks
// for the key.
type Observer interface {
	Set(it *Item, ttl time.Duration)
	Extended(it *Item, ttl time.Duration)
	Deleted(it *Item)
	Expired(it *Item)
	Pushed(key, element string)
}

// Listener is who tells the node's clients of changes. It must not change the data.
type Listener interface {
	// Modified is called after a key was changed, or removed.
	Modified(key string)
	// Expired is called before an expired key is removed.
	Expired(key string)
}

var _ command.Store = (*Memory)(nil)

// Errors in Redis's words.
const (
	ErrWrongType  = "WRONGTYPE Operation against a key holding the wrong kind of value"
	ErrNotInteger = "ERR value is not an integer or out of range"
	ErrOverflow   = "ERR increment or decrement would overflow"
)

// Milliseconds is the clock as expiries count it.
func (m *Memory) Milliseconds() int64 { return m.Now / 1000 }

// Find returns the place of a key, or -1. A key is gone once the clock shows a
// later millisecond than that of its expiry.
func (m *Memory) Find(key string) int {
	for i := range m.Items {
		it := &m.Items[i]
		if it.Key != key {
			continue
		}
		if it.Expires != 0 && m.Milliseconds() > it.Expires {
			if m.Follows {
				return -1
			}
			if m.Observer != nil {
				m.Observer.Expired(it)
			}
			if m.Listener != nil {
				m.Listener.Expired(key)
			}
			m.Expiries++
			m.Remove(i)
			return -1
		}
		return i
	}
	return -1
}

// Sweep removes what has expired.
func (m *Memory) Sweep() {
	for i := len(m.Items) - 1; i >= 0; i-- {
		m.Find(m.Items[i].Key)
	}
}

// Remove takes the i-th key away.
func (m *Memory) Remove(i int) {
	key, last := m.Items[i].Key, len(m.Items)-1
	m.Items[i] = m.Items[last]
	m.Items[last] = Item{}
	m.Items = m.Items[:last]
	m.Tell(key)
}

// Tell counts a change of a key, and tells of it.
func (m *Memory) Tell(key string) {
	m.Writes++
	m.touch(key)
	if m.Changed != nil {
		m.Changed(key)
	}
	if m.Listener != nil {
		m.Listener.Modified(key)
	}
}

// Put writes a key with all that it holds. Of lists the observer learns by Pushed.
func (m *Memory) Put(it Item) {
	i := m.Find(it.Key)
	if i < 0 {
		m.Items = append(m.Items, it)
		i = len(m.Items) - 1
	} else {
		m.Items[i] = it
	}
	if m.Observer != nil && !it.IsList {
		m.Observer.Set(&m.Items[i], m.life(&it))
	}
	m.Tell(it.Key)
}

// life is how long a key still lives; 0: for ever.
func (m *Memory) life(it *Item) time.Duration {
	if it.Expires == 0 {
		return 0
	}
	return time.Duration(it.Expires-m.Milliseconds()) * time.Millisecond
}

// ExpireAt sets the expiry of the i-th key, in milliseconds since 1970; 0: never. One that
// is past removes the key, and then it answers false.
func (m *Memory) ExpireAt(i int, at int64) bool {
	it := &m.Items[i]
	if at != 0 && at <= m.Milliseconds() {
		m.Del(it.Key)
		return false
	}
	key := it.Key
	it.Expires = at
	if m.Observer != nil {
		m.Observer.Extended(it, m.life(it))
	}
	m.Tell(key)
	return true
}

// Get reads a string for a script, which anything else ends.
func (m *Memory) Get(key string) (string, bool) {
	i := m.Find(key)
	if i < 0 || m.fault != "" {
		return "", false
	}
	if m.Items[i].Kind() != String {
		m.fault = ErrWrongType
		return "", false
	}
	return m.Items[i].Value, true
}

// Set writes a key.
func (m *Memory) Set(key, value string, ttl time.Duration, nx bool) bool {
	if m.fault != "" {
		return false
	}
	i := m.Find(key)
	if i >= 0 && nx {
		return false
	}
	it := Item{Key: key, Value: value}
	if ttl > 0 {
		it.Expires = m.Milliseconds() + command.Milliseconds(ttl)
	}
	if i < 0 {
		m.Items = append(m.Items, it)
		i = len(m.Items) - 1
	} else {
		m.Items[i] = it
	}
	if m.Observer != nil {
		m.Observer.Set(&m.Items[i], ttl)
	}
	m.Tell(key)
	return true
}

// Del removes a key.
func (m *Memory) Del(key string) bool {
	i := m.Find(key)
	if i < 0 || m.fault != "" {
		return false
	}
	if m.Observer != nil {
		m.Observer.Deleted(&m.Items[i])
	}
	m.Remove(i)
	return true
}

// PExpire sets a key's expiry; one that is not in the future removes the key.
func (m *Memory) PExpire(key string, ttl time.Duration) bool {
	i := m.Find(key)
	if i < 0 || m.fault != "" {
		return false
	}
	if ttl <= 0 {
		if m.Observer != nil {
			m.Observer.Deleted(&m.Items[i])
		}
		m.Remove(i)
		return true
	}
	m.Items[i].Expires = m.Milliseconds() + command.Milliseconds(ttl)
	if m.Observer != nil {
		m.Observer.Extended(&m.Items[i], ttl)
	}
	m.Tell(key)
	return true
}

// PTTL is how long a key still lives, in milliseconds.
func (m *Memory) PTTL(key string) int64 {
	i := m.Find(key)
	if i < 0 {
		return -2
	}
	if m.Items[i].Expires == 0 || m.Items[i].OfField {
		return -1
	}
	return m.Items[i].Expires - m.Milliseconds()
}

// Incr adds one for a script.
func (m *Memory) Incr(key string) (n int64, ok bool) {
	if m.fault == "" {
		n, m.fault = m.incr(key, 1)
	}
	return n, m.fault == ""
}

// Decr subtracts one.
func (m *Memory) Decr(key string) (n int64, ok bool) {
	if m.fault == "" {
		n, m.fault = m.incr(key, -1)
	}
	return n, m.fault == ""
}

func (m *Memory) incr(key string, by int64) (n int64, fault string) {
	i := m.Find(key)
	if i < 0 {
		m.Items = append(m.Items, Item{Key: key, Value: strconv.FormatInt(by, 10)})
		m.Tell(key)
		return by, ""
	}
	it := &m.Items[i]
	if it.Kind() != String {
		return 0, ErrWrongType
	}
	n, err := strconv.ParseInt(it.Value, 10, 64)
	if err != nil || strconv.FormatInt(n, 10) != it.Value {
		return 0, ErrNotInteger
	}
	if by > 0 && n > math.MaxInt64-by || by < 0 && n < math.MinInt64-by {
		return 0, ErrOverflow
	}
	it.Value = strconv.FormatInt(n+by, 10)
	m.Tell(key)
	return n + by, ""
}

// RPush appends to a list.
func (m *Memory) RPush(key, element string) int64 {
	if m.fault != "" {
		return 0
	}
	i := m.Find(key)
	if i < 0 {
		m.Items = append(m.Items, Item{Key: key, IsList: true})
		i = len(m.Items) - 1
	}
	it := &m.Items[i]
	if !it.IsList {
		m.fault = ErrWrongType
		return 0
	}
	it.List = append(it.List, element)
	if m.Observer != nil {
		m.Observer.Pushed(key, element)
	}
	m.Tell(key)
	return int64(len(it.List))
}

// LPop takes the first element of a list; false: there is none.
func (m *Memory) LPop(key string) (element string, some bool) {
	i := m.Find(key)
	if i < 0 {
		return "", false
	}
	if !m.Items[i].IsList {
		m.fault = ErrWrongType
		return "", false
	}
	list := m.Items[i].List
	if element = list[0]; len(list) == 1 {
		m.Remove(i)
		return element, true
	}
	m.Items[i].List = slices.Clone(list[1:])
	m.Tell(key)
	return element, true
}

// LRange reads a whole list.
func (m *Memory) LRange(key string) []string {
	i := m.Find(key)
	if i < 0 {
		return nil
	}
	if !m.Items[i].IsList {
		m.fault = ErrWrongType
		return nil
	}
	return slices.Clone(m.Items[i].List)
}

// Time is the node's wall clock in microseconds.
func (m *Memory) Time() int64 { return m.Now }

// Do carries a command out. What Redis answers with an error was refused.
func (m *Memory) Do(c *command.Command) command.Reply {
	if why := c.Refusal(); why != "" {
		return command.RefusedReply(why)
	}
	if why := m.refuses(c.Op); why != "" {
		return command.RefusedReply(why)
	}
	switch c.Op {
	case command.PING:
		return command.StrReply("PONG")
	case command.GET:
		switch i := m.Find(c.Key); {
		case i < 0:
			return command.NilReply()
		case m.Items[i].Kind() != String:
			return command.RefusedReply(ErrWrongType)
		default:
			return command.StrReply(m.Items[i].Value)
		}
	case command.SET:
		return m.set(c)
	case command.DEL:
		return bitReply(m.Del(c.Key))
	case command.HSETEX:
		return m.hsetEX(c)
	case command.DELIFEQ:
		return m.delIfEq(c)
	case command.PEXPIRE:
		return bitReply(m.PExpire(c.Key, c.TTL))
	case command.PTTL:
		return command.IntReply(m.PTTL(c.Key))
	case command.INCR, command.DECR:
		by := int64(1)
		if c.Op == command.DECR {
			by = -1
		}
		n, fault := m.incr(c.Key, by)
		if fault != "" {
			return command.RefusedReply(fault)
		}
		return command.IntReply(n)
	case command.RPUSH:
		return m.pushed(c)
	case command.BLPOP: // who waits for an element is the node's affair
		return m.popped(c.Key)
	case command.LRANGE:
		if i := m.Find(c.Key); i >= 0 && !m.Items[i].IsList {
			return command.RefusedReply(ErrWrongType)
		}
		return command.ListReply(m.LRange(c.Key)...)
	case command.EVAL:
		return m.eval(c)
	}
	return command.RefusedReply("ERR unknown command '" + c.Op.String() + "'")
}

func (m *Memory) pushed(c *command.Command) command.Reply {
	if c.Malformed() {
		return command.RefusedReply("ERR wrong number of arguments for 'rpush' command")
	}
	var n int64
	for _, element := range c.Args {
		n = m.RPush(c.Key, element)
	}
	if fault := m.takeFault(); fault != "" {
		return command.RefusedReply(fault)
	}
	return command.IntReply(n)
}

func (m *Memory) popped(key string) command.Reply {
	element, some := m.LPop(key)
	switch fault := m.takeFault(); {
	case fault != "":
		return command.RefusedReply(fault)
	case !some:
		return command.NilReply()
	}
	return command.ListReply(key, element)
}

func (m *Memory) set(c *command.Command) command.Reply {
	if len(c.Args) > 0 {
		if met, refused := m.has(c.Key, c.Args[0]); !met {
			return refused
		}
	}
	if m.Set(c.Key, c.Value, c.TTL, c.NX) {
		return command.OKReply()
	}
	return command.NilReply()
}

func (m *Memory) delIfEq(c *command.Command) command.Reply {
	met, refused := m.has(c.Key, c.Value)
	if !met && !refused.Nil {
		return refused
	}
	return bitReply(met && m.Del(c.Key))
}

// has reports whether a key has a value. Otherwise it answers as SET with IFEQ does: nil, or an error where the key is no string.
func (m *Memory) has(key, value string) (bool, command.Reply) {
	switch i := m.Find(key); {
	case i >= 0 && m.Items[i].Kind() != String:
		return false, command.RefusedReply(ErrWrongType)
	case i < 0 || m.Items[i].Value != value:
		return false, command.NilReply()
	}
	return true, command.Reply{}
}

// eval runs a script.
func (m *Memory) eval(c *command.Command) command.Reply {
	store := command.Store(m)
	if m.Refuse != "" || m.Full {
		store = refusing{m}
	}
	r := c.Script.Twin(store, c.Keys, c.Args)
	if fault := m.takeFault(); fault != "" {
		return command.RefusedReply(fault)
	}
	if r.Err() != "" {
		return command.RefusedReply(r.Err())
	}
	return r
}

// takeFault returns the error that a script ran into, and forgets it.
func (m *Memory) takeFault() (fault string) {
	fault, m.fault = m.fault, ""
	return fault
}

func bitReply(yes bool) command.Reply {
	if yes {
		return command.IntReply(1)
	}
	return command.IntReply(0)
}
