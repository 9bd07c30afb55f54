package keylog

import (
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/redis/journal"
)

// Key is one of the lock's keys on a node, which is followed by the node's journal. Its replay has what the journal says.
type Key struct {
	Log
	// Effects are those of which it is not known yet whose they are.
	Effects []Effect
	// Block is what the entries of a block did so far; nil: none is open.
	Block *Step
	// copied is what the key was before the node copied the data of another.
	copied command.Key
}

// Effect is an entry of the journal that concerns a key, with its place among those that have been read.
type Effect struct {
	journal.Entry
	// Block is the number of its block.
	Number, Block int
}

// ByItself reports that no command need have done it: the key ran out or was evicted, or the node got the data of another.
func (e *Effect) ByItself(key command.Key) bool {
	if e.Kind != journal.Effect {
		return true
	}
	return e.First && e.removes(key)
}

// removes reports that an entry takes one key away, or the only field of a hash, which has an end of its own.
func (e *Effect) removes(key command.Key) bool {
	return key.OfField && len(e.Words) == 3 && strings.EqualFold(e.Words[0], "hdel") ||
		len(e.Words) == 2 && (strings.EqualFold(e.Words[0], "del") || strings.EqualFold(e.Words[0], "unlink"))
}

// RanOut reports that it may be a key that had run out when a command came across it. A script that looks at several keys removes
// each where it meets it.
func (e *Effect) RanOut(key command.Key, at command.Span) bool {
	return e.ByItself(key) || e.removes(key) && !IsAlive(key, at)
}

// SkipUnchanging passes over effects that leave the key as it is: no line need wait for them.
func (k *Key) SkipUnchanging() {
	for len(k.Effects) > 0 && k.Effects[0].Kind == journal.Effect {
		if r := k.Replay; applied(&r, k.Effects[0].Entry).Did != command.Kept {
			break
		}
		k.pop()
	}
	if k.Block != nil && (len(k.Effects) == 0 || k.Effects[0].Block != k.Block.Number) {
		k.CloseBlock()
	}
}

func (k *Key) pop() Effect {
	e := k.Effects[0]
	k.Effects = k.Effects[1:]
	return e
}

// TakeEffect lets a line take the effect at the head; more: and the next one.
func (k *Key) TakeEffect(r command.Result, line Line, more bool) {
	e := k.pop()
	if k.Block == nil {
		k.Block = &Step{Number: e.Block, Before: k.Replay.Key, Line: line, At: line.Span, extended: true}
	}
	b := k.Block
	change := k.Apply(e.Entry)
	change.Ends = r.Ends
	b.Add(change, k.Replay.Key)
	if end := k.Replay.Expires; r.Ends && end != (command.Span{}) && r.After.Expires != (command.Span{}) {
		// The end is exact, and so is for how long the command asked. So it is known when it was carried out.
		b.At = command.At(end.From - (r.After.Expires.From - line.Span.From))
	}
	if !more && (len(k.Effects) == 0 || k.Effects[0].Block != e.Block) {
		k.CloseBlock()
	}
}

// CloseBlock records what a block did in all.
func (k *Key) CloseBlock() {
	b, now := k.Block, k.Replay.Key
	k.Block = nil
	ends := b.Before.Expires
	b.Expired = (now.Holds == command.Absent || b.wrote && b.Before.OfField) && ends != (command.Span{}) && ends.From < b.At.To
	if change, _ := k.changeOf(b); change.Did != command.Kept && b.Line.Stranger {
		k.RecordStranger(&b.Line)
		k.RecordFound(b.At)
		return
	}
	k.RecordStep(b)
}

// RecordOwn records what the node did by itself.
func (k *Key) RecordOwn(now command.Span) {
	before, e := k.Replay.Key, k.pop()
	k.Apply(e.Entry)
	if e.Kind == journal.Gap {
		k.copied = before
	}
	switch {
	case e.Kind == journal.Effect:
		k.removed(before, now)
	case e.Kind != journal.Known || k.Replay.Equal(k.copied):
	case k.Replay.Holds == command.Absent:
		k.removed(k.copied, now)
	default:
		k.RecordFound(now)
	}
}

// removed records that the node removed the key, if it was there.
func (k *Key) removed(before command.Key, now command.Span) {
	if before.Holds == command.Absent {
		return
	}
	if before.Expires != (command.Span{}) && before.Expires.From <= now.To {
		k.RecordKey(history.KeyExpired, before, "", nil)
		return
	}
	k.RecordKey(history.KeyDeleted, before, "", nil)
}

// RecordUnexplained records an effect that no line fits: of a command that has waited until another's woke it, or nobody knows whose.
func (k *Key) RecordUnexplained(now command.Span) {
	e, waiter := k.pop(), ""
	if change := k.Apply(e.Entry); change.Did == command.Kept {
		return
	}
	if k.Program != nil && k.Program.Served != nil {
		waiter = k.Program.Served(k.Replay.Name)
	}
	k.RecordUnknown(e.Words[0], waiter)
	k.RecordFound(now)
}

// RecordFound records what the key is, where nobody knows who did it.
func (k *Key) RecordFound(now command.Span) {
	end := k.Replay.Expires
	switch {
	case k.Replay.Holds == command.Absent:
		if k.Unclear {
			k.RecordKey(history.KeyDeleted, command.Key{}, "", nil)
		}
	case k.Replay.Holds == command.Unclear:
		if !k.Unclear {
			k.RecordUnclear(history.Value{Rare: &history.Rare{Detail: "a key found that is a stream, or has more than 1000 elements,"}})
		}
	case end != (command.Span{}) && end.To < now.From:
		k.Replay.Key = command.Key{}
	default:
		k.RecordKey(history.KeySet, k.Replay.Key, "", k.ttlAt(now))
	}
}
