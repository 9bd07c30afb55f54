package virtual

import (
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/redis/command/model"
)

// writeLog is the end of an append-only file, as far as a fault can tear it off: Redis appends what a command, a transaction or a script
// does as one block, and leaves out a block that ends in the middle. The zero value keeps nothing.
type writeLog struct {
	// kept: a fault of the run may tear the file.
	kept bool
	// blocks are the last ones. all is how many there are in the file, synced how many of them a power cut leaves.
	blocks      []writeBlock
	all, synced int64
	// open is the block that a command has begun; begun: it may write. single: all commands are one block.
	open          writeBlock
	begun, single bool
}

// writeBlock is what the memory had before a block, and the keys that the block has to do with. all: these are all keys.
type writeBlock struct {
	before []model.Item
	keys   []string
	all    bool
}

// mostBlocks bounds the log: each fault tears one off.
const mostBlocks = 64

// begin begins a block.
func (l *writeLog) begin(items []model.Item) {
	if l.kept && !l.single {
		l.open, l.begun = writeBlock{before: slices.Clone(items)}, true
	}
}

// note takes in that the block has to do with a key.
func (l *writeLog) note(key string) { l.open.keys = append(l.open.keys, key) }

// end appends the block.
func (l *writeLog) end() {
	if !l.begun || l.single {
		return
	}
	if l.begun = false; len(l.blocks) == mostBlocks {
		l.blocks = slices.Delete(l.blocks, 0, 1)
	}
	l.blocks = append(l.blocks, l.open)
	l.all++
}

// cutTo leaves so many blocks.
func (l *writeLog) cutTo(left int64) {
	l.blocks = l.blocks[:max(int64(len(l.blocks))-(l.all-left), 0)]
	l.all, l.synced = left, min(l.synced, left)
}

// tear takes off the last block of which something is left to lose, and what is behind it (see journal.Last), and returns what is left of
// the items.
func (l *writeLog) tear(items []model.Item, now int64) []model.Item {
	after := items
	for i := len(l.blocks) - 1; i >= 0; i-- {
		if b := &l.blocks[i]; !b.hasRunOut(after, now) {
			left := b.before
			l.cutTo(l.all - int64(len(l.blocks)-i))
			return left
		}
		after = l.blocks[i].before
	}
	return slices.Clone(items)
}

// hasRunOut reports that the ends of all keys of the block have passed: those behind it, or, of keys that it has removed, before it.
func (b *writeBlock) hasRunOut(after []model.Item, now int64) bool {
	for _, key := range b.keys {
		end, there := endOf(after, key)
		if !there {
			end, _ = endOf(b.before, key)
		}
		if end == 0 || end >= now {
			return false
		}
	}
	return !b.all
}

// endOf is the end of a key in ms since 1970, and whether the key is there; 0: it has none. That of a field is none of a key's.
func endOf(items []model.Item, key string) (end int64, there bool) {
	for i := range items {
		if it := &items[i]; it.Key == key {
			if it.OfField {
				return 0, true
			}
			return it.Expires, true
		}
	}
	return 0, false
}
