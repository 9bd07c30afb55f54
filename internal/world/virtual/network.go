package virtual

import (
	"math/rand/v2"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/command"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

// A message needs the link's own delay and a random addition.
const (
	leastDelay = 100 * time.Microsecond
	delaySpan  = 200 * time.Microsecond
)

// link is the way from a client to a node, with the client's connections on it.
type link struct {
	w    *World
	name world.Link
	to   *node
	rand *rand.PCG
	// delay is the least that a message needs here.
	delay time.Duration
	// index is its place among all links, sent how many calls were sent on it.
	index int
	sent  uint32
	// arrival is when the message arrives that quick has begun to carry, unheard
	// that it says the node does not know the script.
	arrival time.Duration
	unheard bool
	// epoch counts how often all connections broke at once.
	epoch uint32
	// pending are calls whose clients still wait, in the order in which they
	// were sent.
	pending []*call
	// idle are open connections without a call, the latest used last.
	idle []*connection
	// opened is the connection that the link began with.
	opened   connection
	lastUsed *connection
	ways     [2]way
}

// way is one direction of a link: what disturbs it, in the order in which it
// began.
type way struct{ toxics []*toxic }

const (
	requests = 0
	answers  = 1
)

// connection carries one call at a time.
type connection struct {
	// fresh connections have to shake hands first.
	fresh bool
	// since is the number of the latest disturbance when it was opened.
	since int
	// written is the node's offset after the connection's last write, for WAIT.
	written int64
	watcher watcher
	// passed counts bytes for the disturbances that limit them.
	passed []passed
}

type passed struct {
	t *toxic
	n int64
}

// call is one request to a node and its answer. It lives until its client has
// done with it and nothing of it is under way any more.
type call struct {
	link *link
	conn *connection
	// number is its place among the calls of the link.
	number uint32
	// handshake is no command: a new connection introduces itself.
	handshake bool
	cmd       command.Command
	// source says that a script's source comes with the call, not its name.
	source bool
	reply  command.Reply
	// noScript: the node did not know the script.
	noScript bool

	waiter waiter
	// dir is the direction in which it is under way, stage the last
	// disturbance that it has passed, way its epoch: an event of another epoch
	// does not concern it.
	dir   int
	stage int
	way   uint32
	// base is when it came to the link, and how late latency makes it.
	base time.Duration
	// through says that it has passed all disturbances and only needs its time.
	through bool
	epoch   uint32
	// The client waits no more; nothing is under way any more.
	clientDone, wayDone bool
}

// draw is the time that a message takes.
func (l *link) draw() time.Duration {
	if l.w.order != nil {
		return 0
	}
	return l.takes(l.rand.Uint64() >> 32)
}

// takes is the time that a message takes by the 32 random bits.
func (l *link) takes(bits uint64) time.Duration {
	return l.delay + addition(bits)
}

// addition is what 32 random bits add to a delay.
func addition(bits uint64) time.Duration { return time.Duration(bits * uint64(delaySpan) >> 32) }

// connect finds an idle connection, the last used first, or opens one.
func (l *link) connect(other bool) *connection {
	for i := len(l.idle) - 1; i >= 0; i-- {
		c := l.idle[i]
		if other && c == l.lastUsed {
			continue
		}
		l.idle = append(l.idle[:i], l.idle[i+1:]...)
		l.lastUsed = c
		return c
	}
	c := l.w.newConnection()
	c.fresh, c.since = true, l.w.toxicNumber
	l.lastUsed = c
	return c
}

// giveBack makes a connection idle that is still good.
func (l *link) giveBack(c *connection, epoch uint32) {
	if epoch == l.epoch {
		l.idle = append(l.idle, c)
	}
}

// send puts a call on its way.
func (l *link) send(k *call) {
	k.epoch = l.epoch
	l.sent++
	k.number = l.sent
	l.w.touch(l.name.From, false)
	k.dir, k.stage, k.through, k.base = requests, 0, false, l.w.s.now
	l.pending = append(l.pending, k)
	if !l.to.up {
		// The port is closed: the connection cannot be opened, or breaks.
		l.breakLater(k, l.draw())
		k.lost()
		return
	}
	k.advance()
}

// advance moves a message on: through the disturbances that it has not passed,
// then over the link itself, then to its end.
func (k *call) advance() {
	l := k.link
	if k.epoch != l.epoch {
		k.lost()
		return
	}
	if k.through {
		k.arrive()
		return
	}
	for _, t := range l.ways[k.dir].toxics {
		if t.number > k.stage {
			k.stage = t.number
			if !t.pass(k) {
				return
			}
		}
	}
	k.through = true
	e := event{call: k, epoch: k.way}
	if o := l.w.order; o != nil {
		o.undertake(l, k.number, k.dir, e)
		return
	}
	e.at = l.w.s.now + l.draw()
	l.w.s.push(e)
}

// arrive is the end of a way.
func (k *call) arrive() {
	if k.dir == requests {
		k.link.to.arrive(k)
		return
	}
	if !k.clientDone {
		k.link.w.s.wake(k.waiter.co, k.waiter.epoch, byReply)
	}
	k.lost()
}

// answer sends the reply back.
func (k *call) answer() {
	if k.clientDone || k.epoch != k.link.epoch {
		k.lost() // nobody listens: the connection is closed
		return
	}
	k.dir, k.stage, k.through, k.base = answers, 0, false, k.link.w.s.now
	k.advance()
}

// lost says that nothing of the call is under way any more.
func (k *call) lost() {
	k.way++
	k.wayDone = true
	k.free()
}

// giveUp says that the client waits no more.
func (k *call) giveUp() {
	l := k.link
	for i, p := range l.pending {
		if p == k {
			l.pending = append(l.pending[:i], l.pending[i+1:]...)
			break
		}
	}
	k.clientDone = true
	k.free()
}

func (k *call) free() {
	if k.wayDone && k.clientDone {
		k.link.w.freeCall(k)
	}
}

// breakLater tells the waiting client in a while that its connection broke.
func (l *link) breakLater(k *call, d time.Duration) {
	at := k.waiter
	if o := l.w.order; o != nil && d == 0 {
		o.undertake(l, k.number, isBreak, event{co: at.co, epoch: at.epoch})
		return
	}
	l.w.s.after(d, func() { l.w.s.wake(at.co, at.epoch, byBreak) })
}

// breakAll breaks all connections of the link; what is under way on them is
// lost. The clients learn it after a while, later where a disturbance delays
// the end of connections.
func (l *link) breakAll() {
	l.epoch++
	l.idle = l.idle[:0]
	var late time.Duration
	for _, t := range l.ways[answers].toxics {
		if t.Kind == world.SlowClose {
			late = max(late, t.Delay)
		}
	}
	for _, k := range l.pending {
		l.breakLater(k, late+l.draw())
	}
}

// size is about how many bytes a message has.
func (k *call) size() int64 {
	const perArgument = 6 // "$12\r\n" and the like
	if k.handshake {
		return 40
	}
	if k.dir == answers {
		n := int64(len(k.reply.Str()) + perArgument)
		for _, s := range k.reply.List() {
			n += int64(len(s) + perArgument)
		}
		return n
	}
	n := int64(len(k.cmd.Key)+len(k.cmd.Value)) + 6*perArgument
	for _, s := range k.cmd.Keys {
		n += int64(len(s) + perArgument)
	}
	for _, s := range k.cmd.Args {
		n += int64(len(s) + perArgument)
	}
	for i := range k.cmd.Body {
		n += int64(len(k.cmd.Body[i].Key)) + 6*perArgument
		for _, s := range k.cmd.Body[i].Args {
			n += int64(len(s) + perArgument)
		}
	}
	if k.cmd.Script != nil {
		n += 40
		if k.source {
			n += int64(len(k.cmd.Script.Lua))
		}
	}
	return n
}
