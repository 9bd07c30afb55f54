package model

import (
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
)

// Connection is a connection that may watch keys until its next transaction.
type Connection struct{ dirty bool }

// watched is a key that a connection watches. Redis does not remove what it finds
// expired then, but takes note of it: that it is removed later is no change.
type watched struct {
	by      *Connection
	key     string
	expired bool
}

// Transact carries out WATCH, UNWATCH and EXEC for a connection.
func (m *Memory) Transact(c *command.Command, w *Connection) command.Reply {
	switch c.Op {
	case command.WATCH:
		m.Watch(w, c.Keys...)
		return command.OKReply()
	case command.UNWATCH:
		m.Unwatch(w)
		return command.OKReply()
	}
	dirty := m.Unwatch(w)
	if c.Discard {
		return command.OKReply()
	}
	if slices.ContainsFunc(c.Body, func(c command.Command) bool { return c.Malformed() || m.refuses(c.Op) != "" }) {
		return command.RefusedReply(command.ExecAbort)
	}
	if dirty {
		return command.NilReply()
	}
	var body []command.Reply
	for i := range c.Body {
		body = append(body, m.Do(&c.Body[i]))
	}
	return command.BodyReply(body)
}

// Watch lets the connection watch keys until Unwatch.
func (m *Memory) Watch(w *Connection, keys ...string) {
	for _, key := range keys {
		if !slices.ContainsFunc(m.watched, func(k watched) bool { return k.by == w && k.key == key }) {
			m.watched = append(m.watched, watched{w, key, m.Overdue(key)})
		}
	}
}

// Unwatch ends that, and says whether one of the keys was changed meanwhile.
func (m *Memory) Unwatch(w *Connection) (dirty bool) {
	dirty = w.dirty || slices.ContainsFunc(m.watched, func(k watched) bool { return k.by == w && !k.expired && m.Overdue(k.key) })
	w.dirty = false
	m.watched = slices.DeleteFunc(m.watched, func(k watched) bool { return k.by == w })
	return dirty
}

// touch lets transactions fail that watch the key, which was changed or removed:
// as Redis's touchWatchedKey does, which stops at a connection that found the key
// expired and now sees it changed, for a clock that went back.
func (m *Memory) touch(key string) {
	for i := range m.watched {
		k := &m.watched[i]
		if k.key != key {
			continue
		}
		if !k.expired {
			k.by.dirty = true
			continue
		}
		if m.there(key) {
			return
		}
		k.expired = false
	}
}

// Overdue reports that a key is still there though it has expired, there that it
// is there at all. Neither removes it.
func (m *Memory) Overdue(key string) bool {
	return slices.ContainsFunc(m.Items, func(it Item) bool { return it.Key == key && it.Expires != 0 && m.Milliseconds() > it.Expires })
}

func (m *Memory) there(key string) bool {
	return slices.ContainsFunc(m.Items, func(it Item) bool { return it.Key == key })
}

// Restarted forgets what a restart forgets, beside data: who watches what, and how many
// changes there were.
func (m *Memory) Restarted() { m.Writes, m.watched = 0, nil }
