package virtual

import (
	"time"

	"github.com/redlock-sim/redlock-sim/internal/command/model"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/resource"
)

// watch records what happens to the lock's key on a node, or what the resource
// appends to its log, as MONITOR shows it in the live world: an expiry shows
// with the next command that asks for the key.
type watch struct {
	w    *World
	node string
	// key is the lock's key, log the resource's log; the other is empty.
	key, log string
	// from is the link whose command is carried out; nil: none.
	from *clientLink
}

func (o *watch) Set(it *model.Item, ttl time.Duration) {
	if o.sees(it.Key) {
		o.emit(history.KeySet, it, o.caller(), lives(ttl))
	}
}

func (o *watch) Extended(it *model.Item, ttl time.Duration) {
	if o.sees(it.Key) {
		o.emit(history.KeyExtended, it, o.caller(), lives(ttl))
	}
}

func (o *watch) Deleted(it *model.Item) {
	if o.sees(it.Key) {
		o.emit(history.KeyDeleted, it, o.caller(), history.Int{})
	}
}

func (o *watch) Expired(it *model.Item) {
	if o.sees(it.Key) {
		o.emit(history.KeyExpired, it, "", history.Int{})
	}
}

// caller is the client whose command is carried out.
func (o *watch) caller() string {
	if o.from == nil {
		return ""
	}
	return o.from.name.From
}

// sees reports whether the key is the lock's, and somebody listens.
func (o *watch) sees(key string) bool { return o != nil && o.key == key && o.key != "" }

func lives(ttl time.Duration) history.Int {
	if ttl <= 0 {
		return history.Int{}
	}
	return history.Some(int64(ttl))
}

func (o *watch) emit(f history.F, it *model.Item, caller string, ttl history.Int) {
	o.w.record(history.Event{Process: o.node, Type: history.Info, F: f, Value: history.Value{
		Key: it.Key, Owner: it.Value, Client: caller, TTL: ttl,
	}})
}

// Pushed records an effect. The world knows its time exactly.
func (o *watch) Pushed(key, element string) {
	if o == nil || o.log == "" || o.log != key {
		return
	}
	entry, err := resource.ParseLogEntry(element)
	if err != nil {
		return // a log entry that we did not write tells nothing
	}
	v := history.Value{
		Client: entry.Client, Op: history.F(entry.Op), Section: entry.Section, Key: entry.Cell,
		Number: history.Some(entry.Number), Accepted: history.SomeBool(entry.Accepted),
		At: history.Some(int64(o.w.s.now)),
	}
	if entry.HasToken {
		v.Token = history.Some(entry.Token)
	}
	if entry.HasHighest {
		v.Highest = history.Some(entry.Highest)
	}
	o.w.record(history.Event{Process: history.ResourceProcess, Type: history.Info, F: history.Effect, Value: v})
}

// begin records a key that a node has when its observation begins.
func (o *watch) begin(m *model.Memory) {
	if o == nil || o.key == "" {
		return
	}
	if i := m.Find(o.key); i >= 0 && !m.Items[i].IsList {
		var ttl history.Int
		if m.Items[i].Expires > 0 {
			ttl = history.Some((m.Items[i].Expires - m.Milliseconds()) * int64(time.Millisecond))
		}
		o.emit(history.KeySet, &m.Items[i], "", ttl)
	}
}
