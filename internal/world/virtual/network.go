package virtual

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/redis/command/model"
	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/link"
)

// A message needs the link's own delay and a random addition.
const (
	leastDelay = 100 * time.Microsecond
	delaySpan  = 200 * time.Microsecond
)

// clientLink is the way from a client to a node, with the client's connections on it.
type clientLink struct {
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
	// lines are the connections of guests, dialled how many there have been.
	lines   []*Line
	dialled uint64
	ways    [2]link.Way[*call]
	// awaits are the messages here that the run waits for.
	awaits world.Patterns
	// tells: each command here is told when its call is over.
	tells bool
}

const (
	requests = 0
	answers  = 1
)

// connection carries one call at a time.
type connection struct {
	call call
	// number is its place among the connections of the world.
	number int
	// fresh connections have to shake hands first.
	fresh bool
	flows [2]link.Flow
	// written is the node's offset after the connection's last write, for WAIT.
	written int64
	watcher model.Connection
	// line is that of a guest; nil: the connection is the world's own.
	line *Line
}

// call is one request to a node and its answer. Its connection carries the next one
// only when the answer has come: what is under way is never another's.
type call struct {
	link *clientLink
	conn *connection
	// number is its place among the calls of the link.
	number uint32
	// handshake is no command: a new connection introduces itself.
	handshake bool
	cmd       command.Command
	// batch is what a guest sends, or is sent; nil: there is a command.
	batch *batch
	// source says that a script's source comes with the call, not its name.
	source bool
	reply  command.Reply
	// noScript: the node did not know the script.
	noScript bool

	// waiter waits for the answer until the deadline, arrived says that it is there.
	waiter   waiter
	deadline time.Duration
	arrived  bool
	// left and answered are when it was sent, and when its answer arrived; told: the run has
	// been told of it.
	left, answered time.Duration
	told           bool
	// luck has the random bits for the ways that it has not gone yet.
	luck uint64
	// dir is the direction in which it is under way, place how far it has got there, way
	// its epoch: an event of another epoch does not concern it.
	dir   int
	place link.Place
	way   uint32
	// through says that it has passed all disturbances and only needs its time.
	through bool
	epoch   uint32
	// clientDone: the client waits no more.
	clientDone bool
}

// draw is the time that a message takes.
func (l *clientLink) draw() time.Duration {
	if l.w.order != nil {
		return 0
	}
	return l.delay + addition(l.rand.Uint64()>>32)
}

// addition is what 32 random bits add to a delay.
func addition(bits uint64) time.Duration { return time.Duration(bits * uint64(delaySpan) >> 32) }

// connect finds an idle connection, the last used first, or opens one.
func (l *clientLink) connect(other bool) *connection {
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
	c.fresh, c.flows = true, [2]link.Flow{l.ways[requests].Open(), l.ways[answers].Open()}
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
func (l *clientLink) own(c *connection) *connection {
	c.call.link, c.call.conn = l, c
	l.w.connections++
	c.number = l.w.connections
	return c
}

// giveBack makes a connection idle that is still good.
func (l *clientLink) giveBack(c *connection, epoch uint32) {
	if epoch == l.epoch {
		l.idle = append(l.idle, c)
	}
}

// send puts a call on its way.
func (l *clientLink) send(k *call) {
	k.epoch = l.epoch
	l.sent++
	k.number = l.sent
	l.w.touch(l.name.From, false)
	k.dir, k.through = requests, false
	k.arrived, k.luck = false, l.rand.Uint64()
	k.left, k.told = l.w.s.now, false
	l.pending = append(l.pending, k)
	if !l.to.up {
		// The port is closed: the connection cannot be opened, or breaks.
		l.breakLater(k, l.draw())
		k.lost()
		return
	}
	if !k.awaited() {
		k.run()
	}
}

// run moves a message on, and on again as long as nothing else happens before. So it
// must be the last thing that its caller does at this time. Mostly a request gets to
// its node, and the answer back, without bothering the queue of events.
func (k *call) run() {
	s := &k.link.w.s
	at := k.step()
	for at < k.deadline && s.pass(at) {
		at = k.step()
	}
	if at < link.Never {
		s.push(event{at: at, call: k, epoch: k.way})
	}
}

// advance moves a message on.
func (k *call) advance() {
	if at := k.step(); at < link.Never {
		k.link.w.s.push(event{at: at, call: k, epoch: k.way})
	}
}

// step moves a message on: through the disturbances that it has not passed, then over
// the link itself, then to its end. It returns when it gets on from there by itself.
func (k *call) step() (at time.Duration) {
	l := k.link
	switch {
	case k.epoch != l.epoch:
		k.lost()
		return link.Never
	case !k.through:
	case k.dir == answers && k.batch != nil:
		k.lost()
		k.batch.arrive()
		return link.Never
	case k.dir == answers:
		if !k.clientDone {
			k.arrived, k.answered = true, l.w.s.now
			l.w.s.wake(k.waiter.co, k.waiter.epoch, byReply)
		}
		k.lost()
		return link.Never
	case !l.to.arrive(k) || !k.turn() || k.queued() || k.awaited():
		return link.Never
	}
	if !l.ways[k.dir].Clear(&k.place) {
		if until := k.pass(); until > 0 {
			return until
		}
	}
	k.through = true
	if o := l.w.order; o != nil {
		o.undertake(l, k.number, k.dir, event{call: k, epoch: k.way})
		return link.Never
	}
	luck := k.luck & math.MaxUint32
	k.luck >>= 32
	return k.inOrder(l.w.s.now + l.delay + addition(luck))
}

// pass takes a message through the disturbances. It returns till when it stands in
// one of them; 0: it has passed.
func (k *call) pass() (until time.Duration) {
	l := k.link
	fate, until := l.ways[k.dir].Pass(k, l.w.s.now)
	switch {
	case fate == link.Breaks, fate == link.Ends && k.place.Part < k.Size():
		l.breakLater(k, l.draw())
		fallthrough
	case fate == link.Lost:
		k.lost()
		return link.Never
	case fate == link.Ends:
		l.breakLater(k, 2*l.draw()) // behind the message
	}
	return until
}

// Flow implements link.Message.
func (k *call) Flow() *link.Flow { return &k.conn.flows[k.dir] }

// Place implements link.Message.
func (k *call) Place() *link.Place { return &k.place }

// turn makes the call the answer; false: nobody listens, for the connection is closed.
func (k *call) turn() bool {
	if k.clientDone || k.epoch != k.link.epoch || k.batch != nil && k.batch.line.gone {
		k.lost()
		return false
	}
	k.dir, k.through = answers, false
	return true
}

// answer sends the reply back.
func (k *call) answer() {
	if k.turn() {
		k.leave()
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
	k.tell()
}

// breakLater tells the waiting client in a while that its connection broke.
func (l *clientLink) breakLater(k *call, d time.Duration) {
	if k.batch != nil {
		k.batch.line.breakLater(d)
		return
	}
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
func (l *clientLink) breakAll() {
	l.epoch++
	l.idle = l.idle[:0]
	for _, k := range l.pending {
		l.breakLater(k, l.ending(k.conn))
	}
	for _, line := range l.lines {
		line.breakLater(l.ending(&line.conn))
	}
}

// ending is how long it takes until a client sees the end of a connection.
func (l *clientLink) ending(c *connection) time.Duration {
	late := l.ways[answers].Ending(&c.flows[answers])
	if late == link.Never {
		late = 0
	}
	return late + l.draw()
}

// Size is about how many bytes a message has.
func (k *call) Size() int64 {
	const perArgument = 6 // "$12\r\n" and the like
	switch {
	case k.handshake:
		return 40
	case k.batch != nil && k.dir == answers:
		return int64(len(k.batch.out))
	case k.batch != nil:
		return k.batch.size
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
