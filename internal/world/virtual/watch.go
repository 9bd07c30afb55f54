package virtual

import (
	"cmp"
	"reflect"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/redis/command/model"
	"github.com/redlock-sim/redlock-sim/internal/scenario/resource"
)

// watch records what happens to the lock's key on a node, or what the resource
// appends to its log, as MONITOR shows it in the live world: an expiry shows
// with the next command that asks for the key.
type watch struct {
	w    *World
	node string
	// key is the lock's key, log the resource's log; the other is empty.
	key, log string
	// patterns are those of a guest's keys, in place of key.
	patterns program.Patterns
	// from is the link whose command is carried out; nil: none.
	from *clientLink
	// client is who of those that share the link has sent it; empty: that is not known.
	client string
	// sent is the command that is carried out, if it is a guest's or its client waits for it no more; nil: it is another.
	sent *sentCommand
}

// sentCommand is a command of which the history tells when it left its client. words are those of a guest's: they may name an instant.
type sentCommand struct {
	left  time.Duration
	words []string
}

// askedUntil is the run time till which the command asks for a key: by the clocks of clients where
// it names that instant, and else from when it left its client.
func (a *sentCommand) askedUntil(w *World, it *model.Item, ttl time.Duration) history.Int {
	if ttl <= 0 {
		return history.Int{}
	}
	if command.NamesInstant(a.words, it.Expires) {
		return history.Some(int64(time.Duration(it.Expires)*time.Millisecond - w.wallZero))
	}
	return history.Some(int64(a.left + ttl))
}

func (o *watch) Set(it *model.Item, ttl time.Duration) {
	if o.isWatched(it.Key) {
		o.recordKey(history.KeySet, it, o.caller(), ttl)
	}
}

func (o *watch) Extended(it *model.Item, ttl time.Duration) {
	if o.isWatched(it.Key) {
		o.recordKey(history.KeyExtended, it, o.caller(), ttl)
	}
}

func (o *watch) Deleted(it *model.Item) {
	if o.isWatched(it.Key) {
		o.recordKey(history.KeyDeleted, it, o.caller(), 0)
	}
}

func (o *watch) Expired(it *model.Item) {
	if o.isWatched(it.Key) {
		o.recordKey(history.KeyExpired, it, "", 0)
	}
}

// caller is the client whose command is carried out.
func (o *watch) caller() string {
	if o.from == nil {
		return ""
	}
	return cmp.Or(o.client, o.from.name.From)
}

// isWatched reports whether the key is the lock's, and somebody listens.
func (o *watch) isWatched(key string) bool {
	if o == nil || o.key == "" {
		return false
	}
	if o.patterns == nil {
		return o.key == key
	}
	return o.patterns.Fit(key)
}

func (o *watch) recordKey(f history.F, it *model.Item, caller string, ttl time.Duration) {
	v := history.Value{Key: it.Key, Owner: it.Owner(), Client: caller}
	if f == history.KeySet || f == history.KeyExtended {
		if it.Expires > 0 { // it may end in this very millisecond
			v.Grant = o.w.grantOfTTL(history.Some(int64(ttl)))
		}
		if o.sent != nil {
			v.Outcome = &history.Outcome{At: history.Some(int64(o.sent.left))}
			v.OwnGrant().ValidUntil = o.sent.askedUntil(o.w, it, ttl)
		}
	}
	o.w.record(history.Event{Process: o.node, Type: history.Info, F: f, Value: v})
}

// grantOfTTL says how long a key still lives. Most keys live equally long, and share it.
func (w *World) grantOfTTL(ttl history.Int) *history.Grant {
	if w.lastGrant == nil || w.lastGrant.TTL != ttl {
		w.lastGrant = &history.Grant{TTL: ttl}
	}
	return w.lastGrant
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
		Client: entry.Client, Section: entry.Section, Key: entry.Cell, Number: history.Some(entry.Number),
		Outcome: &history.Outcome{Op: history.F(entry.Op), Accepted: history.SomeBool(entry.Accepted), At: history.Some(int64(o.w.s.now))},
	}
	if entry.HasToken {
		v.Token = history.Some(entry.Token)
	}
	if entry.HasHighest {
		v.Outcome.Highest = history.Some(entry.Highest)
	}
	o.w.record(history.Event{Process: history.ResourceProcess, Type: history.Info, F: history.Effect, Value: v})
}

// recordFound records the keys that a node has when its observation begins, which it has just swept.
func (o *watch) recordFound(m *model.Memory) { o.recordCopied(nil, m) }

// recordCopied records what is other than before on a node that has copied another's data.
func (o *watch) recordCopied(before []model.Item, m *model.Memory) {
	if o == nil || o.key == "" {
		return
	}
	in := func(list []model.Item, it *model.Item) int {
		return slices.IndexFunc(list, func(other model.Item) bool { return other.Key == it.Key })
	}
	for i := range before {
		switch it := &before[i]; {
		case it.IsList || in(m.Items, it) >= 0:
		case it.Expires > 0 && it.Expires <= m.Milliseconds():
			o.Expired(it)
		default:
			o.Deleted(it)
		}
	}
	for i := range m.Items {
		it := &m.Items[i]
		if it.IsList || !o.isWatched(it.Key) {
			continue
		}
		if was := in(before, it); was >= 0 && reflect.DeepEqual(before[was], *it) {
			continue
		}
		var ttl time.Duration
		if it.Expires > 0 {
			ttl = time.Duration(it.Expires-m.Milliseconds()) * time.Millisecond
		}
		o.recordKey(history.KeySet, it, "", ttl)
	}
}
