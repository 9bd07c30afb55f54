package virtual

import (
	"time"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/redis/command/model"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

// node is a Redis node.
type node struct {
	w           *World
	name        string
	persistence world.Persistence
	memory      model.Memory
	watch       watch
	clock       nodeClock
	// swept is the last turn of a strobing clock that has been taken note of.
	swept time.Duration
	disk  disk

	up, paused bool
	// queue holds what came while it stood still.
	queue []*call
	// deferred are changes of its primary that came meanwhile.
	deferred []func()
	// redis serves guests; nil: there are none. life counts its processes, and expiryScheduled says that
	// it will look for expired keys.
	redis           *redisNode
	life            int
	expiryScheduled bool
	// known are the scripts whose source it has seen since its start.
	known []*command.Script

	// backlog keeps the writes for the followers.
	backlog   []change
	followers []*follower
	// blocked are the WAITs that it has not answered yet.
	blocked []*blocked
	// role is its part in a set that sentinels rule.
	role role
}

// wall is the node's clock at a run time, in microseconds since 1970.
func (n *node) wall(at time.Duration) int64 {
	return int64((n.w.wallZero + at + n.clock.offsetAt(at)) / time.Microsecond)
}

// seeClock lets memory see the clock. Redis looks for expired keys all the time, not
// only when somebody asks: what had expired before a strobing clock went back is
// gone.
func (n *node) seeClock() {
	now := n.w.s.now
	if at, back := n.clock.turnedBack(now); back && at > n.swept {
		n.memory.Now = n.wall(at - 1)
		n.memory.Sweep()
		n.swept = at
	}
	n.memory.Now = n.wall(now)
}

// sweep removes what has expired. The append-only file gets that; a snapshot is not made
// for it.
func (n *node) sweep() {
	before := n.memory.Writes
	if n.memory.Sweep(); n.memory.Writes != before && n.persistence != world.RDB {
		n.disk.wrote(n, n.memory.Now)
	}
}

// bend makes the node's clock go as f says, after what has expired by now is
// gone; nil sets it right.
func (n *node) bend(f *world.ClockFault) {
	n.seeClock()
	runs := n.up && !n.paused
	if runs {
		n.disk.catchUp(n, n.memory.Now)
		n.sweep()
	}
	if f == nil {
		n.clock = nodeClock{}
	} else {
		n.clock.set(n.w.s.now, *f)
	}
	if runs {
		n.disk.saveAfterJump(n, n.wall(n.w.s.now), n.disk.last)
	}
}

// arrive takes a call in; true: it has its answer.
func (n *node) arrive(k *call) bool {
	if n.paused && (k.batch == nil || !k.batch.dial) { // its kernel takes connections
		n.queue = append(n.queue, k)
		return false
	}
	return n.carryOut(k)
}

// carryOut carries a call out; false: the answer comes later.
func (n *node) carryOut(k *call) bool {
	n.seeClock()
	n.disk.catchUp(n, n.memory.Now)
	switch {
	case k.batch != nil:
		return n.serveBatch(k)
	case k.handshake:
		k.reply = command.OKReply()
	case k.cmd.Op == command.WAIT && n.memory.Follows:
		k.reply = command.RefusedReply(waitFails)
	case k.cmd.Op == command.WAIT:
		n.wait(k)
		return false
	default:
		n.memory.Refuse = n.refusal()
		k.noScript = !n.execute(&k.cmd, k.link, k.conn, k.source, &k.reply)
	}
	return true
}

// execute carries a command out that came on a link's connection; false: the script is
// not known, and its source did not come with it.
func (n *node) execute(c *command.Command, from *clientLink, conn *connection, source bool, reply *command.Reply) bool {
	if c.Op == command.EVAL && !n.knowsScript(c.Script, source) {
		return false
	}
	n.accountWrites(from, conn, func() {
		switch c.Op {
		case command.WATCH, command.UNWATCH, command.EXEC:
			*reply = n.memory.Transact(c, &conn.watcher)
		default:
			*reply = n.memory.Do(c)
		}
	})
	return true
}

// accountWrites carries something out for a connection, and keeps account of what it writes.
func (n *node) accountWrites(from *clientLink, conn *connection, do func()) {
	before, expired := n.memory.Writes, n.memory.Expiries
	n.watch.from = from
	do()
	n.watch.from = nil
	if n.memory.Writes != before {
		conn.written = n.memory.Writes
		if n.persistence != world.RDB || n.memory.Writes-before > n.memory.Expiries-expired {
			n.disk.wrote(n, n.memory.Now)
		}
	}
}

// knowsScript reports whether the node can run a script.
func (n *node) knowsScript(script *command.Script, source bool) bool {
	for _, s := range n.known {
		if s == script {
			return true
		}
	}
	if source {
		n.known = append(n.known, script)
	}
	return source
}

func (n *node) pause() {
	if n.paused {
		return
	}
	if n.up {
		n.disk.catchUp(n, n.wall(n.w.s.now))
	}
	n.paused = true
}

// resume serves what came meanwhile, in the order in which it came.
func (n *node) resume() {
	if !n.paused {
		return
	}
	n.paused = false
	queue, last := n.queue, n.disk.last
	n.queue = nil
	for _, k := range queue {
		if n.carryOut(k) {
			k.answer()
		}
	}
	if n.up {
		n.disk.saveAfterJump(n, n.wall(n.w.s.now), last)
	}
	deferred := n.deferred
	n.deferred = nil
	for _, f := range deferred {
		f()
	}
	for _, f := range n.followers {
		f.sendChanges()
	}
}

// kill ends the process. All its connections break.
func (n *node) kill() {
	if n.up && !n.paused {
		n.disk.catchUp(n, n.wall(n.w.s.now))
	}
	n.up, n.paused = false, false
	for _, k := range n.queue {
		k.abandon()
	}
	n.queue, n.deferred = nil, nil
	n.dropBlocked()
	for _, l := range n.w.links {
		if l.to == n {
			l.breakAll()
		}
	}
	n.known = nil
	n.life++
	if n.underSentinels() {
		n.leaveRoles()
		return
	}
	n.breakFollowers()
}

// dropBlocked forgets the WAITs whose connections end.
func (n *node) dropBlocked() {
	for _, b := range n.blocked {
		b.done = true // the call may be another's by the time its WAIT is over
		b.call.abandon()
	}
	n.blocked = nil
}

// restart lets it come up with what keep leaves on its disk.
func (n *node) restart(keep world.Keep) {
	n.seeClock()
	n.memory.Items = n.disk.load(n, keep)
	if n == n.w.store {
		for _, key := range n.w.spec.Resource.Volatile() {
			n.memory.Del(key)
		}
	}
	n.up = true
	n.memory.Restarted()
	if n.redis != nil {
		n.redis.Restart()
	}
	n.backlog = nil
	n.disk.started(n, n.memory.Now)
	if n.underSentinels() {
		n.resumeRole()
	}
	n.resumeFollowers()
	n.sweep()
	n.watch.recordFound(&n.memory)
}

func (n *node) runs() bool { return n.up }

// listens implements endpoint.
func (n *node) listens() bool { return n.up }

// runOrDefer implements endpoint.
func (n *node) runOrDefer(f func()) {
	runOrDefer(n.up, n.paused, &n.deferred, f)
}
