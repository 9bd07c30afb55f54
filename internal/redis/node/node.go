package node

import (
	"math"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/redis/command/model"
	"github.com/redlock-sim/redlock-sim/internal/redis/node/script"
)

// Node is one server process. It is not safe for concurrent use.
type Node struct {
	// Memory is the node's data. Its Now is the time at which a command runs.
	Memory *model.Memory

	config Config
	// known are the scripts whose source it has seen, by their SHA-1.
	known map[string]*knownScript
	// conns are the open connections, in the order in which they came; lastID is the number
	// of the last one.
	conns  []*Conn
	lastID int64
	// current is the connection whose command is carried out; nil: none.
	current *Conn
	// events says which changes of keys are published.
	events eventSet
	tracking
	host host
	// random is the state of the scripts' random numbers.
	random uint64
}

// Config says what a node needs beside its data.
type Config struct {
	// Server says whose commands it knows beside those of Redis 7.0; zero: nobody's.
	Server command.Server
	// Scripts are known texts that run as their Go twins, where nobody listens to what
	// happens to keys.
	Scripts []*command.Script
	// Unknown is told of a command, an option or something in Lua that a real Redis 7.0 may
	// know and the model does not; nil: nobody is. What a real server answers with the same
	// error is none of these.
	Unknown func(what string)
}

// Forever is the delay of an answer that never comes.
const Forever = time.Duration(math.MaxInt64)

// New makes a node on a memory. It is the memory's Listener from now on.
func New(m *model.Memory, c Config) *Node {
	if c.Server == (command.Server{}) {
		c.Server.Major = 7
	}
	n := &Node{Memory: m, config: c, random: script.FirstRandom}
	m.Listener = n
	return n
}

// Restart forgets what a process forgets when it ends: connections, scripts, settings,
// subscriptions and tracking.
func (n *Node) Restart() {
	for _, c := range n.conns {
		c.closed = true
	}
	m, config := n.Memory, n.config
	m.Restarted()
	*n = Node{Memory: m, config: config, random: script.FirstRandom}
}

// unknown tells of what the model does not have.
func (n *Node) unknown(what string) {
	if n.config.Unknown != nil {
		n.config.Unknown(what)
	}
}

// Conn is a client's connection.
type Conn struct {
	call
	id   int64
	name string
	send func([]byte)
	// closed: the node answers nothing any more.
	closed bool

	watcher model.Connection
	// multi: a transaction is open. spoilt: a command was refused that should have been
	// queued.
	multi, spoilt bool
	queue         []queued

	channels, patterns []string
	tracks             tracks
	// later are bytes that the node sends by itself behind the answer.
	later []byte
}

// Open makes a connection. push gets the bytes that the node sends by itself, without being
// asked on this connection: messages of pub/sub, and invalidations. What a command's own
// connection gets of these comes with its answer.
func (n *Node) Open(push func(b []byte)) *Conn {
	n.lastID++
	c := &Conn{id: n.lastID, send: push}
	c.call = call{n: n, c: c}
	n.conns = append(n.conns, c)
	return c
}

// Close ends the connection, as if the client had gone.
func (c *Conn) Close() {
	if c.closed {
		return
	}
	c.closed = true
	n := c.n
	n.Memory.Unwatch(&c.watcher)
	n.conns = slices.DeleteFunc(n.conns, func(o *Conn) bool { return o == c })
}

// Closed says that the node has ended the connection: after QUIT, or where it was killed.
func (c *Conn) Closed() bool { return c.closed }

// Do carries a command out, and appends the answer's bytes to dst. delay > 0: the node answers
// this, and goes on with what is behind it on the connection, only after so long; Forever:
// never. A closed connection gets no answer.
func (c *Conn) Do(dst []byte, words []string) (answer []byte, delay time.Duration) {
	if c.closed || len(words) == 0 {
		return dst, 0
	}
	n := c.n
	n.current, c.b, c.delay = c, dst, 0
	isClient := c.process(words)
	if !c.multi && !isClient {
		c.tracks.caching = false
	}
	n.broadcast()
	n.current = nil
	c.b = append(c.b, c.later...)
	answer, c.b, c.later = c.b, nil, c.later[:0]
	return answer, c.delay
}

// give sends a connection bytes that it did not ask for. Where its own command is the cause,
// Redis sends invalidations behind the answer, and messages at once.
func (c *Conn) give(b []byte, atOnce bool) {
	switch {
	case c.n.current == c && atOnce:
		c.b = append(c.b, b...)
	case c.n.current == c:
		c.later = append(c.later, b...)
	case c.send != nil:
		c.send(b)
	}
}
