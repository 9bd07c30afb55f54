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

// clientLink is the link from a client to a node, with the client's connections on it.
type clientLink struct {
	w    *World
	name world.Link
	to   *Host
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
	// guestConns are the connections of guests, dialled how many there have been.
	guestConns []*GuestConn
	dialled    uint64
	directions [2]link.Direction[*call]
	// awaits are the messages here that the run waits for.
	awaits world.Patterns
	// tellsCommands: the run is told of each command here when its call is over.
	tellsCommands bool
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
	// transaction is that of a guest, refusals those of its commands that a model refuses.
	transaction world.Transaction
	refusals    world.Refusals
	// guest is that of a guest; nil: the connection is the world's own.
	guest *GuestConn
	// line is a server's end; nil: no server has taken it. hungUp: a built-in client has closed it. ending: it is closed towards the
	// client, who sees so in a moment.
	line           *ServerConn
	hungUp, ending bool
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
	// client is who sends it, of those that share the link; empty: a guest does.
	client string
	// batch is what a guest sends, or is sent; nil: there is a command.
	batch *batch
	// source says that a script's source comes with the call, not its name.
	source bool
	reply  command.Reply
	// noScript: the node did not know the script.
	noScript bool
	// refusedBy is the error that it has met on its way (link.Refused); refusals are those of single commands, by their place. refused is
	// with what the node has refused it; empty: it has not.
	refusedBy, refused string
	refusals           []string

	// waiter waits for the answer until the deadline, arrived says that it is there.
	waiter   waiter
	deadline time.Duration
	arrived  bool
	// served: a server has got it.
	served bool
	// left and answered are when it was sent, and when its answer arrived; reported: the run has
	// been told of it.
	left, answered time.Duration
	reported       bool
	// delayBits has the random bits for the delays of the directions in which it has not gone yet.
	delayBits uint64
	// dir is the direction in which it is under way, place how far it has got there. transit
	// counts how often what was to happen to it was called off: an event of an earlier transit
	// does not concern it.
	dir     int
	place   link.Place
	transit uint32
	// passed says that it has passed all disturbances and only needs its time.
	passed bool
	epoch  uint32
	// clientDone: the client waits no more.
	clientDone bool
}

// drawDelay is the time that a message takes.
func (l *clientLink) drawDelay() time.Duration {
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
	c := l.addConnection(&connection{})
	c.fresh, c.flows = true, [2]link.Flow{l.directions[requests].NewFlow(), l.directions[answers].NewFlow()}
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

// addConnection makes a connection one of the link's.
func (l *clientLink) addConnection(c *connection) *connection {
	c.call.link, c.call.conn = l, c
	l.w.connections++
	c.number = l.w.connections
	return c
}

// giveBack makes a connection idle that is still good.
func (l *clientLink) giveBack(c *connection, epoch uint32) {
	if c.ending {
		c.hangUp()
	} else if epoch == l.epoch {
		l.idle = append(l.idle, c)
	}
}

// send sends a call.
func (l *clientLink) send(k *call) {
	k.epoch = l.epoch
	l.sent++
	k.number = l.sent
	l.w.touch(l.name.From, false)
	k.dir, k.passed = requests, false
	k.arrived, k.served, k.delayBits = false, false, l.rand.Uint64()
	k.refusedBy, k.refused, k.refusals = "", "", nil
	k.left, k.reported = l.w.s.now, false
	l.pending = append(l.pending, k)
	if !l.to.up {
		// The port is closed: the connection cannot be opened, or breaks.
		l.breakLater(k, l.drawDelay())
		k.abandon()
		return
	}
	if !k.awaitedByRun() {
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
		s.push(event{at: at, call: k, epoch: k.transit})
	}
}

// advance moves a message on.
func (k *call) advance() {
	if at := k.step(); at < link.Never {
		k.link.w.s.push(event{at: at, call: k, epoch: k.transit})
	}
}

// step moves a message on: through the disturbances that it has not passed, then over
// the link itself, then to its end. It returns when it gets on from there by itself.
func (k *call) step() (at time.Duration) {
	l := k.link
	if k.epoch != l.epoch {
		k.abandon()
		return link.Never
	}
	if k.passed && k.dir == answers {
		k.arriveAtClient()
		return link.Never
	}
	if k.passed && (!l.to.arrive(k) || !k.becomeAnswer() || k.queueBehind() || k.awaitedByRun()) {
		return link.Never
	}
	if !l.directions[k.dir].Clear(&k.place) {
		if until := k.passDisturbances(); until > 0 {
			return until
		}
	}
	k.passed = true
	if o := l.w.order; o != nil {
		o.takeMessage(l, k.number, k.dir, event{call: k, epoch: k.transit})
		return link.Never
	}
	bits := k.delayBits & math.MaxUint32
	k.delayBits >>= 32
	return k.arrivalInOrder(l.w.s.now + l.delay + addition(bits))
}

// arriveAtClient hands an answer to who waits for it.
func (k *call) arriveAtClient() {
	if k.batch != nil {
		k.abandon()
		k.batch.deliver()
		return
	}
	if s := &k.link.w.s; !k.clientDone {
		k.arrived, k.answered = true, s.now
		s.wake(k.waiter.co, k.waiter.epoch, byReply)
	}
	k.abandon()
}

// passDisturbances takes a message through the disturbances. It returns till when it stands in
// one of them; 0: it has passed.
func (k *call) passDisturbances() (until time.Duration) {
	l := k.link
	fate, until := l.directions[k.dir].Pass(k, l.w.s.now)
	if fate == link.Refused {
		k.refusedBy, k.place.Refusal = k.place.Refusal, ""
	}
	breaks := fate == link.Breaks || fate == link.Ends && k.place.Part < k.Size()
	if breaks {
		l.breakLater(k, l.drawDelay())
	}
	if breaks || fate == link.Lost {
		k.abandon()
		return link.Never
	}
	if fate == link.Ends {
		l.breakLater(k, 2*l.drawDelay()) // behind the message
	}
	return until
}

// Flow implements link.Message.
func (k *call) Flow() *link.Flow { return &k.conn.flows[k.dir] }

// Place implements link.Message.
func (k *call) Place() *link.Place { return &k.place }

// becomeAnswer makes the call the answer; false: nobody listens, for the connection is closed.
func (k *call) becomeAnswer() bool {
	if k.clientDone || k.epoch != k.link.epoch || k.batch != nil && k.batch.conn.closed {
		k.abandon()
		return false
	}
	if k.refused != "" {
		k.reply = command.RefusedReply(k.refused)
	}
	k.dir, k.passed = answers, false
	return true
}

// answer sends the reply back.
func (k *call) answer() {
	if k.becomeAnswer() {
		k.begin()
	}
}

// abandon calls off what was to happen to the message: nothing of the call is under way any more.
func (k *call) abandon() { k.transit++ }

// giveUp says that the client waits no more.
func (k *call) giveUp() {
	l := k.link
	if i := slices.Index(l.pending, k); i >= 0 {
		l.pending = drop(l.pending, i)
	}
	k.clientDone = true
	k.reportCommands()
}

// breakLater tells the waiting client in a while that its connection broke.
func (l *clientLink) breakLater(k *call, d time.Duration) {
	if k.batch != nil {
		k.batch.conn.breakLater(d)
		return
	}
	at := k.waiter
	if o := l.w.order; o != nil && d == 0 {
		o.takeMessage(l, k.number, isBreak, event{co: at.co, epoch: at.epoch})
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
		l.breakLater(k, l.endDelay(k.conn))
	}
	for _, g := range l.guestConns {
		g.breakLater(l.endDelay(&g.conn))
	}
	l.endLines()
}

// closeStalled closes, towards the client, the connections that carry nothing because of a stall. What it has sent stays there.
func (l *clientLink) closeStalled() {
	stalled := func(c *connection) bool {
		return l.directions[requests].Stalls(&c.flows[requests]) || l.directions[answers].Stalls(&c.flows[answers])
	}
	l.idle = slices.DeleteFunc(l.idle, func(c *connection) bool {
		if stalled(c) {
			c.hangUp()
		}
		return c.hungUp
	})
	for _, k := range l.pending {
		if stalled(k.conn) {
			k.conn.ending = true
			l.breakLater(k, l.drawDelay())
		}
	}
	for _, g := range l.guestConns {
		if stalled(&g.conn) {
			l.w.s.after(l.drawDelay(), g.closeAtClient)
		}
	}
}

// endDelay is how long it takes until a client sees the end of a connection.
func (l *clientLink) endDelay(c *connection) time.Duration {
	late := l.directions[answers].EndDelay(&c.flows[answers])
	if late == link.Never {
		late = 0
	}
	return late + l.drawDelay()
}

// Size is about how many bytes a message has.
func (k *call) Size() int64 {
	const perArgument = 6 // "$12\r\n" and the like
	switch {
	case k.handshake:
		return 40
	case k.batch != nil && k.dir == answers:
		return int64(len(k.batch.out))
	case k.batch != nil && len(k.batch.in) == 0:
		return packet
	case k.batch != nil:
		return int64(len(k.batch.in))
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
