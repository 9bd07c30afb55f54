package journal

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/redis/resp"
)

// Tail is the last write of a journal of which something is left to lose: a block that has to do with a key whose end has not passed. What
// stands behind it has to do with keys that have run out, or is their removal, which a server makes at times of its own.
type Tail struct {
	File string
	// The write stands in the bytes from From up to To.
	From, To int64
	text     []byte
}

// Last finds the last write of the journal of a dead server, at a time of its clock in ms since 1970. Only the last file of a journal may
// be damaged at its end, or a server refuses to start. nil: there is none.
func Last(path string, now int64) (*Tail, error) {
	list, err := Follow(path).list()
	if len(list) == 0 || err != nil {
		return nil, err
	}
	var w writes
	for _, s := range list {
		text, err := os.ReadFile(s.path)
		if err != nil {
			return nil, err
		}
		w.blocks = w.blocks[:0]
		if bytes.HasPrefix(text, []byte("REDIS")) { // a snapshot: of its keys nothing is known
			continue
		}
		if err := w.read(text); err != nil {
			return nil, fmt.Errorf("%s: %w", s.path, err)
		}
		if last := len(w.blocks) - 1; last >= 0 && w.blocks[last].to == 0 { // it has no end
			w.blocks = w.blocks[:last]
		}
		w.file, w.text = s.path, text
	}
	for i := len(w.blocks) - 1; i >= 0; i-- {
		if b := &w.blocks[i]; !b.hasRunOut(now) {
			return &Tail{w.file, b.from, b.to, w.text[b.from:b.to]}, nil
		}
	}
	return nil, nil
}

// Tear cuts the file in the middle of the write: in its first command, or between two. Redis 7.0.15 leaves MULTI behind where
// a later command of its block ends in the middle, appends what comes then to that, and leaves that out when it starts again: writes
// that were synced. That is mended in Valkey (pull request 4342), and is not what is shown here.
func (t *Tail) Tear(r *rand.Rand) error {
	var cuts []int64
	for at := int64(0); at < int64(len(t.text)); {
		_, n, err := resp.ParseCommand(t.text[at:])
		if err != nil {
			return err
		}
		if at > 0 {
			cuts = append(cuts, at)
		}
		for i := int64(1); at == 0 && i < int64(n); i++ {
			cuts = append(cuts, i)
		}
		at += int64(n)
	}
	return os.Truncate(t.File, t.From+cuts[r.IntN(len(cuts))])
}

// Flip changes a bit of the write. In one case of two that is a bit of its form, and the server refuses to start. In the other it is one of
// a key or of a value that was set: nothing in the file says what they were, so that the server has others. It is no bit of an end: with
// that, a key could stay for a century, and any lock would be held up.
func (t *Tail) Flip(r *rand.Rand) error {
	at, bit := int64(0), 3 // of "*", which becomes "\""
	if data := t.data(); len(data) > 0 && r.IntN(2) == 0 {
		at, bit = int64(data[r.IntN(len(data))]), r.IntN(5) // of most letters and digits it makes others
	}
	file, err := os.OpenFile(t.File, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteAt([]byte{t.text[at] ^ 1<<bit}, t.From+at)
	return errors.Join(err, file.Close())
}

// Remove removes the write and all behind it, as redis-check-aof --fix does with what cannot be read.
func (t *Tail) Remove() error { return os.Truncate(t.File, t.From) }

// data are the places of all bytes of keys, and of values that were set.
func (t *Tail) data() (list []int) {
	for at := 0; at < len(t.text); {
		words, n, err := resp.ParseCommand(t.text[at:])
		if err != nil {
			return list
		}
		most := 1
		switch strings.ToLower(words[0]) {
		case "multi", "exec", "select":
			most = 0
		case "set":
			most = 2
		}
		from := at + lineLength(t.text[at:])
		for i, word := range words[:min(most+1, len(words))] {
			from += lineLength(t.text[from:])
			for place := range len(word) {
				if i > 0 {
					list = append(list, from+place)
				}
			}
			from += len(word) + len("\r\n")
		}
		at += n
	}
	return list
}

// lineLength is the length of a line, with its end.
func lineLength(text []byte) int { return bytes.IndexByte(text, '\n') + 1 }

// writes reads the blocks of a journal, and the ends of the keys in them.
type writes struct {
	file   string
	text   []byte
	blocks []block
	db     string
	// ends are those of keys that have one.
	ends map[string]int64
	// multi: a block has begun with MULTI.
	multi bool
}

// block is a block of a file.
type block struct {
	from, to int64
	// keys are those of its commands. unclear: a command has others.
	keys    map[string]*ends
	unclear bool
}

// ends are those of a key before a block and behind it; 0: none. removed: it is not there behind it.
type ends struct {
	before, behind int64
	removed        bool
}

// hasRunOut reports that the ends of all keys of a block have passed: those behind it, or, of keys that it has removed, before it.
func (b *block) hasRunOut(now int64) bool {
	if b.unclear {
		return false
	}
	for _, key := range b.keys {
		end := key.behind
		if key.removed {
			end = key.before
		}
		if end == 0 || end >= now {
			return false
		}
	}
	return true
}

// read reads a file. What is there in part is left out.
func (w *writes) read(text []byte) error {
	if w.ends == nil {
		w.ends = make(map[string]int64)
	}
	w.multi, w.db = false, ""
	for at := 0; at < len(text); {
		if text[at] == '#' {
			line, _, ended := bytes.Cut(text[at:], []byte("\n"))
			if !ended {
				return nil
			}
			at += len(line) + 1
			continue
		}
		words, n, err := resp.ParseCommand(text[at:])
		if errors.Is(err, resp.ErrShort) {
			return nil
		}
		if err != nil || len(words) == 0 {
			return fmt.Errorf("byte %d: %w", at, errors.Join(err, errors.New("no entry")))
		}
		isBlock := w.multi || !strings.EqualFold(words[0], "select")
		if isBlock && !w.multi {
			w.blocks = append(w.blocks, block{from: int64(at), keys: make(map[string]*ends)})
		}
		at += n
		w.take(words)
		if isBlock && !w.multi {
			w.blocks[len(w.blocks)-1].to = int64(at)
		}
	}
	return nil
}

// take takes in an entry.
func (w *writes) take(words []string) {
	switch command := strings.ToLower(words[0]); command {
	case "select":
		w.db = words[len(words)-1]
	case "multi":
		w.multi = true
	case "exec":
		w.multi = false
	case "del", "unlink":
		for _, key := range words[1:] {
			w.end(key, 0).removed = true
		}
	case "set":
		w.set(words)
	case "pexpireat":
		if len(words) > 2 {
			end, _ := strconv.ParseInt(words[2], 10, 64)
			w.end(words[1], end)
		}
	case "incr", "incrby", "decr", "decrby", "append", "setrange", "setbit", "hset", "hdel", "hincrby", "rpush", "lpush", "rpop", "lpop",
		"lrem", "lset", "ltrim", "linsert", "sadd", "srem", "zadd", "zrem", "zincrby", "zremrangebyscore", "zremrangebyrank": // they keep it
		if len(words) > 1 {
			w.end(words[1], w.ends[w.db+" "+words[1]])
		}
	default:
		w.blocks[len(w.blocks)-1].unclear = true
		for _, word := range words {
			delete(w.ends, w.db+" "+word)
		}
		if strings.HasPrefix(command, "flush") || command == "swapdb" {
			clear(w.ends)
		}
	}
}

// set takes in a SET.
func (w *writes) set(words []string) {
	if len(words) < 3 {
		return
	}
	end := int64(0)
	for i := 3; i < len(words); i++ {
		switch {
		case strings.EqualFold(words[i], "keepttl"):
			end = w.ends[w.db+" "+words[1]]
		case strings.EqualFold(words[i], "pxat") && i+1 < len(words):
			end, _ = strconv.ParseInt(words[i+1], 10, 64)
		}
	}
	w.end(words[1], end)
}

// end takes in that a key has an end from now on; 0: none.
func (w *writes) end(key string, end int64) *ends {
	key = w.db + " " + key
	b := &w.blocks[len(w.blocks)-1]
	if b.keys[key] == nil {
		b.keys[key] = &ends{before: w.ends[key]}
	}
	b.keys[key].behind, b.keys[key].removed = end, false
	if w.ends[key] = end; end == 0 {
		delete(w.ends, key)
	}
	return b.keys[key]
}
