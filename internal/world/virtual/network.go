package virtual

import (
	"math"
	"math/rand/v2"
	"slices"
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
	// disturbed says that a way has been disturbed in this run.
	disturbed bool
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
	call call
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

// call is one request to a node and its answer. Its connection carries the next one
// only when the answer has come: what is under way is never another's.
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

	// waiter waits for the answer until the deadline, arrived says that it is there.
	waiter   waiter
	deadline time.Duration
	arrived  bool
	// luck has the random bits for the ways that it has not gone yet.
	luck uint64
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
	// clientDone: the client waits no more.
	clientDone bool
}

// draw is the time that a message takes.
func (l *link) draw() time.Duration {
	if l.w.order != nil {
		return 0
	}
	return l.delay + addition(l.rand.Uint64()>>32)
}

// addition is what 32 random bits add to a delay.
func addition(bits uint64) time.Duration { return time.Duration(bits * uint64(delaySpan) >> 32) }

// connect finds an idle connection, the last used first, or opens one.
func (l *link) connect(other bool) *connection {
	last := len(l.idle) - 1
	if other && last >= 0 && l.idle[last] == l.lastUsed {
		last--
	}
	if last >= 0 {
		c := l.idle[last]
		l.idle = drop(l.idle, last)
		l.lastUsed = c
		return c
	}
	c := l.own(&connection{})
	c.fresh, c.since = true, l.w.toxicNumber
	l.lastUsed = c
	return c
}

// drop takes the i-th out of a list; mostly it is the last.
func drop[T any](list []T, i int) []T {
	if i == len(list)-1 {
		return list[:i]
	}
	return slices.Delete(list, i, i+1)
}

// own makes a connection one of the link's.
func (l *link) own(c *connection) *connection {
	c.call.link, c.call.conn = l, c
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
	k.arrived, k.luck = false, l.rand.Uint64()
	l.pending = append(l.pending, k)
	if !l.to.up {
		// The port is closed: the connection cannot be opened, or breaks.
		l.breakLater(k, l.draw())
		k.lost()
		return
	}
	k.run()
}

// run moves a message on, and on again as long as nothing else happens before. So it
// must be the last thing that its caller does at this time. Mostly a request gets to
// its node, and the answer back, without bothering the queue of events.
func (k *call) run() {
	s := &k.link.w.s
	at, on := k.step()
	for on && at < k.deadline && s.pass(at) {
		at, on = k.step()
	}
	if on {
		s.push(event{at: at, call: k, epoch: k.way})
	}
}

// advance moves a message on.
func (k *call) advance() {
	if at, on := k.step(); on {
		k.link.w.s.push(event{at: at, call: k, epoch: k.way})
	}
}

// step moves a message on: through the disturbances that it has not passed, then over
// the link itself, then to its end. It returns when it gets on from there by itself,
// if it does.
func (k *call) step() (at time.Duration, on bool) {
	l := k.link
	switch {
	case k.epoch != l.epoch:
		k.lost()
		return 0, false
	case !k.through:
	case k.dir == answers:
		if !k.clientDone {
			k.arrived = true
			l.w.s.wake(k.waiter.co, k.waiter.epoch, byReply)
		}
		k.lost()
		return 0, false
	case !l.to.arrive(k) || !k.turn():
		return 0, false
	}
	if l.disturbed && !k.pass() {
		return 0, false
	}
	k.through = true
	if o := l.w.order; o != nil {
		o.undertake(l, k.number, k.dir, event{call: k, epoch: k.way})
		return 0, false
	}
	luck := k.luck & math.MaxUint32
	k.luck >>= 32
	return l.w.s.now + l.delay + addition(luck), true
}

// pass takes a message through the disturbances; false: it stands in one of them, or
// is lost there.
func (k *call) pass() bool {
	for _, t := range k.link.ways[k.dir].toxics {
		if t.number > k.stage {
			k.stage = t.number
			if !t.pass(k) {
				return false
			}
		}
	}
	return true
}

// turn makes the call the answer; false: nobody listens, for the connection is closed.
func (k *call) turn() bool {
	if k.clientDone || k.epoch != k.link.epoch {
		k.lost()
		return false
	}
	k.dir, k.stage, k.through, k.base = answers, 0, false, k.link.w.s.now
	return true
}

// answer sends the reply back.
func (k *call) answer() {
	if k.turn() {
		k.advance()
	}
}

// lost says that nothing of the call is under way any more.
func (k *call) lost() { k.way++ }

// giveUp says that the client waits no more.
func (k *call) giveUp() {
	l := k.link
	if i := slices.Index(l.pending, k); i >= 0 {
		l.pending = drop(l.pending, i)
	}
	k.clientDone = true
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
