package model

import (
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
)

// A field can have an expiry of its own here where its hash has no other: built-in locks have one field in one hash.

const errFields = "ERR this model has expiries of fields only for hashes with one field and without an expiry"

// field finds a field: the place of its key, and its own in the hash; -1: it is not there. Anything but a hash ends a script.
func (m *Memory) field(key, field string) (i, j int) {
	i = m.Find(key)
	if i < 0 || m.fault != "" {
		return i, -1
	}
	if m.Items[i].Kind() != Hash {
		m.fault = ErrWrongType
		return i, -1
	}
	return i, slices.IndexFunc(m.Items[i].Members.List, func(f Member) bool { return f.Name == field })
}

// expires reports that the hash at a place may get an expiry for its field j.
func (m *Memory) expires(i, j int) bool {
	it := &m.Items[i]
	if j < 0 || len(it.Members.List) > 1 || it.Expires != 0 && !it.OfField {
		m.fault = errFields
		return false
	}
	return true
}

// hsetEX is HSETEX with FNX, of one field.
func (m *Memory) hsetEX(c *command.Command) command.Reply {
	i, j := m.field(c.Key, c.Args[0])
	if i >= 0 && m.fault == "" && (!c.NX || j < 0) {
		m.expires(i, j)
	}
	if fault := m.takeFault(); fault != "" {
		return command.RefusedReply(fault)
	}
	if c.NX && j >= 0 {
		return command.IntReply(0)
	}
	it := Item{Key: c.Key, Members: &Members{Kind: Hash, List: []Member{{Name: c.Args[0], Value: c.Value}}}}
	if c.TTL > 0 {
		it.Expires, it.OfField = m.Milliseconds()+command.Milliseconds(c.TTL), true
	}
	m.Put(it)
	return command.IntReply(1)
}

// HGet reads a field for a script.
func (m *Memory) HGet(key, field string) (string, bool) {
	i, j := m.field(key, field)
	if j < 0 {
		return "", false
	}
	return m.Items[i].Members.List[j].Value, true
}

// HSet writes a field. It has no expiry of its own then.
func (m *Memory) HSet(key, field, value string) {
	i, j := m.field(key, field)
	if m.fault != "" {
		return
	}
	var list []Member
	it := Item{Key: key}
	if i >= 0 {
		it = m.Items[i]
		list = slices.Clone(it.Members.List)
	}
	switch {
	case it.OfField && j < 0:
		m.fault = errFields
		return
	case it.OfField && list[j].Value == value: // only its end is new
		m.Items[i].OfField = false
		m.ExpireAt(i, 0)
		return
	case it.OfField:
		it.Expires, it.OfField = 0, false
	}
	if j >= 0 {
		list[j].Value = value
	} else {
		list = append(list, Member{Name: field, Value: value})
	}
	it.Members = &Members{Kind: Hash, List: list}
	m.Put(it)
}

// HDel removes a field, and the hash with the last one.
func (m *Memory) HDel(key, field string) bool {
	i, j := m.field(key, field)
	if j < 0 {
		return false
	}
	it := m.Items[i]
	if len(it.Members.List) == 1 {
		return m.Del(key)
	}
	it.Members = &Members{Kind: Hash, List: slices.Delete(slices.Clone(it.Members.List), j, j+1)}
	m.Put(it)
	return true
}

// HPExpire sets the expiry of a field.
func (m *Memory) HPExpire(key, field string, ttl time.Duration) bool {
	i, j := m.field(key, field)
	if j < 0 {
		return false
	}
	if ttl <= 0 {
		return m.HDel(key, field)
	}
	if !m.expires(i, j) {
		return false
	}
	m.Items[i].OfField = true
	return m.ExpireAt(i, m.Milliseconds()+command.Milliseconds(ttl))
}
