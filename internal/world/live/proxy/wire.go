package proxy

import (
	"bytes"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/resp"
)

// Wire is what is known of the connections of clients whose programs are not ours: it
// names each connection for the node behind it, and remembers when each command left
// its client.
type Wire struct {
	last  atomic.Int64 // the number of the latest connection
	mu    sync.Mutex
	conns map[string]*conn
	order []string // of their names
	seed  maphash.Seed
}

// NewWire makes one for the links of a run.
func NewWire() *Wire { return &Wire{conns: make(map[string]*conn), seed: maphash.MakeSeed()} }

// conn is a connection over a named link.
type conn struct {
	wire *Wire
	name string
	// unread are the beginning of a command that came in parts, and of the answer to our
	// own, which the client does not see.
	unread, swallowed []byte
	// swallow: that answer has not come. blind: what the client sends is not the protocol
	// of Redis.
	swallow, blind bool
	sent           []sent
}

// sent is a command that left its client.
type sent struct {
	words uint64 // their hash
	at    time.Duration
}

// Bounds of what is remembered: connections, and of each the bytes of a command that is
// not complete, and commands.
const (
	maxConns  = 1000
	maxUnread = 256 << 10
	maxSent   = 1000
)

// nameMark stands in the name of a connection between its client and its number.
const nameMark = "#"

// ClientOf is the client that a connection belongs to by its name; false: no link has
// given it that name.
func ClientOf(name string) (client string, link bool) {
	client, number, found := strings.Cut(name, nameMark)
	_, err := strconv.ParseUint(number, 10, 63)
	return client, found && err == nil
}

func (w *Wire) open(client string) *conn {
	c := &conn{wire: w, name: client + nameMark + strconv.FormatInt(w.last.Add(1), 10), swallow: true}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.conns[c.name] = c
	if w.order = append(w.order, c.name); len(w.order) > maxConns {
		delete(w.conns, w.order[0])
		w.order = w.order[1:]
	}
	return c
}

// preface is what goes to the node before anything else.
func (c *conn) preface() []byte {
	return resp.AppendCommand(nil, "CLIENT", "SETNAME", c.name)
}

// takes reads what the client sends, and returns what goes on: the same, but for the name
// that a client gives its connection.
func (c *conn) takes(data []byte) []byte {
	now := machine.Monotonic()
	c.wire.mu.Lock()
	defer c.wire.mu.Unlock()
	if c.blind {
		return data
	}
	gone := len(c.unread) // these bytes have been sent on
	c.unread = append(c.unread, data...)
	var out []byte
	read := 0
	for {
		v, n, err := resp.Parse(c.unread[read:])
		if errors.Is(err, resp.ErrShort) {
			break
		}
		words, ok := wordsOf(v)
		if err != nil || !ok {
			c.blind, c.unread, c.sent = true, nil, nil
			return data
		}
		as := c.unread[max(read, gone) : read+n]
		if read >= gone && c.rename(words) {
			as = resp.AppendCommand(nil, words...)
		}
		out = append(out, as...)
		read += n
		c.sent = append(c.sent, sent{c.wire.hash(words), now})
	}
	out = append(out, c.unread[max(read, gone):]...)
	c.unread = append(c.unread[:0], c.unread[read:]...)
	c.blind = len(c.unread) > maxUnread
	c.sent = c.sent[max(len(c.sent)-maxSent, 0):]
	return out
}

// rename puts the link's name in the place of that which a command gives the connection,
// and reports whether it gives one.
func (c *conn) rename(words []string) bool {
	at := -1
	switch {
	case len(words) == 3 && strings.EqualFold(words[0], "client") && strings.EqualFold(words[1], "setname"):
		at = 2
	case strings.EqualFold(words[0], "hello"):
		// HELLO 3 AUTH user password SETNAME name
		at = slices.IndexFunc(words, func(w string) bool { return strings.EqualFold(w, "setname") }) + 1
	}
	if at <= 0 || at >= len(words) {
		return false
	}
	words[at] = c.name
	return true
}

func wordsOf(v resp.Value) (words []string, ok bool) {
	if v.Kind != resp.Array || v.Null || len(v.List) == 0 {
		return nil, false
	}
	for _, one := range v.List {
		if one.Kind != resp.Bulk || one.Null {
			return nil, false
		}
		words = append(words, one.Text)
	}
	return words, true
}

func (w *Wire) hash(words []string) uint64 {
	var h maphash.Hash
	h.SetSeed(w.seed)
	for _, word := range words {
		_, _ = fmt.Fprintf(&h, "%d:", len(word))
		_, _ = h.WriteString(word)
	}
	return h.Sum64()
}

// answers takes the answer to our own command out of what the node sends.
func (c *conn) answers(data []byte) []byte {
	c.wire.mu.Lock()
	defer c.wire.mu.Unlock()
	if !c.swallow {
		return data
	}
	c.swallowed = append(c.swallowed, data...)
	_, n, err := resp.Parse(c.swallowed)
	if errors.Is(err, resp.ErrShort) && len(c.swallowed) < maxUnread {
		return nil
	}
	rest := c.swallowed
	if err == nil {
		rest = rest[n:]
	}
	c.swallow, c.swallowed = false, nil
	return bytes.Clone(rest)
}

// Left is when the next command with these words left its client over the connection of
// this name, on the machine's monotonic clock. Those before it were lost on their way.
func (w *Wire) Left(name string, words []string) (at time.Duration, known bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.conns[name]
	if c == nil {
		return 0, false
	}
	hash := w.hash(words)
	i := slices.IndexFunc(c.sent, func(s sent) bool { return s.words == hash })
	if i < 0 {
		return 0, false
	}
	at = c.sent[i].at
	c.sent = c.sent[i+1:]
	return at, true
}
