package virtual

import (
	"time"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/redis/command/model"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

// redisModel is the model of Redis on a host.
type redisModel struct {
	Host
	memory model.Memory
	// swept is the last turn of a strobing clock that has been taken note of.
	swept time.Duration
	disk  disk

	// redis serves guests; nil: there are none. expiryScheduled says that it will look for expired keys.
	redis           *redisNode
	expiryScheduled bool
	// known are the scripts whose source it has seen since its start.
	known []*command.Script

	// backlog keeps the writes for the followers.
	backlog   []change
	followers []*follower
	// executing: something is done of which followers get all changes at once.
	executing bool
	// blocked are the WAITs and BLPOPs that it has not answered yet.
	blocked []*blocked
	// role is its part among a primary and its replicas.
	role role
}

var _ service = (*redisModel)(nil)

// model is the model of Redis on the host; nil: something else answers there.
func (h *Host) model() *redisModel {
	n, _ := h.service.(*redisModel)
	return n
}

// seeClock lets memory see the clock. Redis looks for expired keys all the time, not
// only when somebody asks: what had expired before a strobing clock went back is
// gone.
func (n *redisModel) seeClock() {
	now := n.w.s.now
	if at, back := n.clock.turnedBack(now); back && at > n.swept {
		n.memory.Now = n.wall(at - 1)
		n.atOnce(n.memory.Sweep)
		n.swept = at
	}
	n.memory.Now = n.wall(now)
}

// sweep removes what has expired. The append-only file gets that; a snapshot is not made
// for it.
func (n *redisModel) sweep() {
	before := n.memory.Writes
	n.disk.log.begin(n.memory.Items)
	if n.atOnce(n.memory.Sweep); n.memory.Writes != before && n.persistence != world.RDB {
		n.disk.wrote(n, n.memory.Now)
	}
}

// onClock implements service. What has expired by now is gone before the clock is set.
func (n *redisModel) onClock(set func()) {
	n.seeClock()
	runs := n.up && !n.paused
	if runs {
		n.disk.catchUp(n, n.memory.Now)
		n.sweep()
	}
	set()
	if runs {
		n.disk.saveAfterJump(n, n.wall(n.w.s.now), n.disk.last)
	}
}

// serve implements service.
func (n *redisModel) serve(k *call) bool {
	n.seeClock()
	n.disk.catchUp(n, n.memory.Now)
	if len(n.blocked) > 0 {
		defer n.endWaits()
	}
	switch {
	case k.batch != nil:
		return n.serveBatch(k)
	case k.handshake:
		k.reply = command.OKReply()
	case k.cmd.Op == command.WAIT && n.memory.Follows:
		k.reply = command.RefusedReply(waitFails)
	case k.cmd.Op == command.WAITAOF && !n.persistence.AppendOnly():
		k.reply = command.RefusedReply(waitAOFFails)
	case k.cmd.Op == command.WAIT, k.cmd.Op == command.WAITAOF:
		n.wait(k)
		return false
	case k.cmd.Op == command.BLPOP && !k.handshake:
		return n.pop(k)
	default:
		n.memory.Refuse = n.refusal()
		if k.clientDone { // what it does now is not what its client has just asked for
			n.watch.sent = &sentCommand{left: k.left}
		}
		k.noScript = !n.execute(&k.cmd, k.link, k.conn, k.source, &k.reply)
		n.watch.sent = nil
		if n.persistence == world.AOFEverysec {
			n.expireLater()
		}
	}
	return true
}

// execute carries a command out that came on a link's connection; false: the script is
// not known, and its source did not come with it.
func (n *redisModel) execute(c *command.Command, from *clientLink, conn *connection, source bool, reply *command.Reply) bool {
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
func (n *redisModel) accountWrites(from *clientLink, conn *connection, do func()) {
	before := n.memory.Writes
	n.disk.count(n)
	n.watch.from, n.watch.client = from, conn.call.client
	n.atOnce(do)
	n.watch.from, n.watch.client = nil, ""
	if n.memory.Writes != before {
		conn.written = n.memory.Writes
		if n.persistence != world.RDB || n.disk.hasChanges(n) {
			n.disk.wrote(n, n.memory.Now)
		}
	}
}

// atOnce does something of which followers get all changes when it is done.
func (n *redisModel) atOnce(do func()) {
	within := n.executing
	n.executing = true
	do()
	if n.executing = within; !within {
		n.sendChanges()
	}
}

// knowsScript reports whether the node can run a script.
func (n *redisModel) knowsScript(script *command.Script, source bool) bool {
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

// onPause implements service.
func (n *redisModel) onPause() { n.disk.catchUp(n, n.wall(n.w.s.now)) }

// onResume implements service.
func (n *redisModel) onResume(queue []*call) {
	last := n.disk.last
	for _, k := range queue {
		if n.Host.serve(k) {
			k.answer()
		}
	}
	n.disk.saveAfterJump(n, n.wall(n.w.s.now), last)
	n.deferred = append(n.deferred, n.sendChanges) // behind what its primary has told
}

// onKill implements service.
func (n *redisModel) onKill(stood bool) {
	if !stood {
		n.disk.catchUp(n, n.wall(n.w.s.now))
	}
	n.dropBlocked()
	n.known = nil
	n.leaveRoles()
}

// dropBlocked forgets the WAITs and BLPOPs whose connections end.
func (n *redisModel) dropBlocked() {
	for _, b := range n.blocked {
		b.done = true // the call may be another's by the time its WAIT is over
		b.call.abandon()
	}
	n.blocked = nil
}

// onStart implements service.
func (n *redisModel) onStart(keep world.Keep) (started bool, err error) {
	if n.w.Sleep(processStarts); n.up {
		return false, nil
	}
	n.seeClock()
	n.memory.Items = n.disk.load(n, keep)
	if &n.Host == n.w.store {
		for _, key := range n.w.spec.Resource.Volatile() {
			n.memory.Del(key)
		}
	}
	n.up, n.memory.Full = true, false
	n.memory.Restarted()
	if n.redis != nil {
		n.redis.Restart()
	}
	n.backlog = nil
	n.disk.started(n, n.memory.Now, keep)
	if n.hasRole() {
		n.resumeRole()
	}
	n.sweep()
	n.watch.recordFound(&n.memory)
	return true, nil
}
