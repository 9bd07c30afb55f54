package virtual

import (
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
)

// blocked is a WAIT, a WAITAOF or a BLPOP without its answer.
type blocked struct {
	call   *call
	needs  int
	offset int64
	// due is when its timeout ends by the node's clock, in milliseconds; 0: it has none.
	due  int64
	done bool
}

// waitAOFFails is what a node without an append-only file answers.
const waitAOFFails = "ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled."

// local reports that it waits for the node's own disk, pops that it waits for an element of a list.
func (b *blocked) local() bool { return b.call.cmd.Op == command.WAITAOF }
func (b *blocked) pops() bool  { return b.call.cmd.Op == command.BLPOP }

// hasEnough reports that a WAIT or a WAITAOF has what it waits for.
func (n *redisModel) hasEnough(b *blocked) bool {
	if b.pops() {
		return false
	}
	if b.local() {
		return n.disk.syncedTo >= b.offset
	}
	return n.acknowledged(b.offset) >= b.needs
}

// wait carries out WAIT and WAITAOF: it answers once enough replicas have acknowledged the
// writes of the connection, or after the timeout.
func (n *redisModel) wait(k *call) {
	b := &blocked{call: k, needs: k.cmd.Replicas, offset: k.conn.written}
	if n.hasEnough(b) {
		n.unblock(b)
		return
	}
	n.blocked = append(n.blocked, b)
	for _, f := range n.followers {
		if !b.local() {
			n.askProgress(f)
		}
	}
	n.setDue(b)
}

// setDue says when the timeout of a command ends, if it has one.
func (n *redisModel) setDue(b *blocked) {
	if ttl := b.call.cmd.TTL; ttl > 0 {
		b.due = n.memory.Milliseconds() + command.Milliseconds(ttl)
		n.endLater(b)
	}
}

// pop carries BLPOP out; false: the list is empty, and the answer comes when an element does, or after the timeout.
func (n *redisModel) pop(k *call) bool {
	n.memory.Refuse = n.refusal()
	if n.execute(&k.cmd, k.link, k.conn, false, &k.reply); !k.reply.Nil {
		return true
	}
	if k.conn.hungUp {
		return false
	}
	b := &blocked{call: k}
	n.blocked = append(n.blocked, b)
	n.setDue(b)
	return false
}

// servePops gives the elements that lists have got to those who wait, in the order in which they came.
func (n *redisModel) servePops() {
	for _, b := range slices.Clone(n.blocked) {
		if !b.pops() || b.done {
			continue
		}
		var reply command.Reply
		if n.execute(&b.call.cmd, b.call.link, b.call.conn, false, &reply); reply.OK() {
			n.answerBlocked(b, reply)
		}
	}
}

// forgetPop lets nobody wait for an element any more whose connection is over.
func (n *redisModel) forgetPop(c *connection) {
	n.blocked = slices.DeleteFunc(n.blocked, func(b *blocked) bool {
		over := b.pops() && b.call.conn == c
		b.done = b.done || over
		return over
	})
}

// endLater answers a command when its timeout is over. Redis looks whether it is when something has come to it, or when it looks after its
// clients. When in that time it does so depends on when it was started.
func (n *redisModel) endLater(b *blocked) {
	every := time.Second / time.Duration(n.persistence.Ticks())
	phase := n.w.startPhase(slices.Index(n.w.nodes, &n.Host)) % every
	life := n.life
	var look func()
	look = func() {
		if b.done || n.life != life {
			return
		}
		if !n.paused {
			n.endWaits()
		}
		n.w.s.after(every, look)
	}
	n.w.s.after((phase-n.w.s.now%every+every)%every, look)
}

// endWaits answers those who wait and have what they wait for, or whose timeouts are over.
func (n *redisModel) endWaits() {
	n.seeClock()
	n.disk.catchUp(n, n.memory.Now)
	n.servePops()
	for _, b := range slices.Clone(n.blocked) {
		if b.due > 0 && n.memory.Milliseconds() >= b.due || b.local() && n.hasEnough(b) {
			n.unblock(b)
		}
	}
}

// askProgress asks a follower how far it is; the answer comes behind all changes.
func (n *redisModel) askProgress(f *follower) {
	if !f.connected {
		return
	}
	f.conn.transmit(answers, func() {
		f.replica.runOrDefer(f.acknowledge)
	})
}

// unblockAll answers the WAITs that have what they need.
func (n *redisModel) unblockAll() {
	for _, b := range slices.Clone(n.blocked) {
		if n.hasEnough(b) {
			n.unblock(b)
		}
	}
}

func (n *redisModel) acknowledged(offset int64) int {
	count := 0
	for _, f := range n.followers {
		if f.connected && f.acked >= offset {
			count++
		}
	}
	return count
}

func (n *redisModel) unblock(b *blocked) {
	if b.done || !n.up {
		return
	}
	reply := command.IntReply(int64(n.acknowledged(b.offset)))
	switch {
	case b.pops():
		reply = command.NilReply()
	case b.local() && n.hasEnough(b):
		reply = command.ListReply("1", "0")
	case b.local():
		reply = command.ListReply("0", "0")
	}
	n.answerBlocked(b, reply)
}

func (n *redisModel) answerBlocked(b *blocked, reply command.Reply) {
	b.done = true
	n.blocked = slices.DeleteFunc(n.blocked, func(o *blocked) bool { return o == b })
	b.call.reply = reply
	b.call.answer()
}
