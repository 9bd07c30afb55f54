package virtual

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/redis/command/model"
	"github.com/redlock-sim/redlock-sim/internal/redis/sentinel"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

// change is a write as it goes to the followers: the key as it is afterwards.
type change struct {
	offset  int64
	item    model.Item
	deleted bool
	// hello is a message of a sentinel, which is passed on as writes are; nil: it is a write.
	hello *sentinel.Hello
}

// follower is a replica on its link to the primary. The primary sends its
// changes in order; the follower acknowledges when it is asked to, as WAIT does.
type follower struct {
	w       *World
	replica *redisModel
	primary *redisModel
	// sent and applied are offsets of the primary; acked is what the primary
	// knows to have been applied.
	sent, applied, acked int64
	// connected: changes flow, over conn. The stream of changes is the answers'
	// direction: the follower asked for it.
	connected bool
	link      *peerLink
	conn      *peerConn
	// Where sentinels rule: up says that the replica is in step, online that the primary has heard
	// so, heard when it heard of it last, in seconds.
	up, online bool
	heard      int64
}

// retryAfter is how long a follower waits before it connects again, as a
// replica of Redis does.
const retryAfter = time.Second

func (w *World) follow(primary, replica *redisModel) {
	f := &follower{w: w, replica: replica, primary: primary, connected: true,
		link: w.newPeerLink(replica.name, primary.name, [2]endpoint{&primary.Host, &replica.Host})}
	f.conn = f.link.openConn(nil)
	f.conn.onEnd = f.disconnect
	w.followers = append(w.followers, f)
	primary.followers = append(primary.followers, f)
	primary.memory.Changed, replica.memory.Follows = primary.remember, true
}

// remember keeps a change for the followers and sends it to them.
func (n *redisModel) remember(key string) {
	c := change{offset: n.memory.Writes, item: model.Item{Key: key}, deleted: true}
	if i := slices.IndexFunc(n.memory.Items, func(it model.Item) bool { return it.Key == key }); i >= 0 {
		c.item, c.deleted = n.memory.Items[i], false
	}
	n.appendBacklog(c)
}

func (n *redisModel) appendBacklog(c change) {
	n.backlog = append(n.backlog, c)
	n.sendChanges()
}

func (n *redisModel) sendChanges() {
	for _, f := range n.followers {
		f.sendChanges()
	}
}

// sendChanges sends what has not been sent yet, as one message: a replica sees all that a command does, or nothing.
func (f *follower) sendChanges() {
	p := f.primary
	if !p.up || p.paused || p.executing || !f.connected || f.sent >= p.memory.Writes {
		return
	}
	changes := p.backlog[f.sent:p.memory.Writes]
	f.sent = p.memory.Writes
	f.conn.transmit(answers, func() {
		for _, c := range changes {
			f.apply(c)
		}
	})
}

// apply does a change on the replica.
func (f *follower) apply(c change) {
	r := f.replica
	if r.paused {
		r.deferred = append(r.deferred, func() { f.apply(c) })
		return
	}
	if !r.up || c.offset != f.applied+1 || r.underSentinels() && r.role.follows != f {
		return
	}
	f.applied = c.offset
	if c.hello != nil {
		r.memory.Writes++
		r.appendBacklog(c)
		r.spread(*c.hello)
		return
	}
	r.seeClock()
	if c.deleted {
		r.applyDeletion(c.item.Key)
	} else {
		r.applyItem(c.item)
	}
	r.disk.wrote(r, r.memory.Now)
}

// applyDeletion deletes a key that the primary has deleted.
func (n *redisModel) applyDeletion(key string) {
	m := &n.memory
	i := slices.IndexFunc(m.Items, func(it model.Item) bool { return it.Key == key })
	if i >= 0 {
		n.watch.Deleted(&m.Items[i])
		m.Remove(i)
	} else if n.underSentinels() {
		m.Tell(key)
	}
}

// applyItem makes a key what it is at the primary.
func (n *redisModel) applyItem(item model.Item) {
	m := &n.memory
	i := slices.IndexFunc(m.Items, func(it model.Item) bool { return it.Key == item.Key })
	if i < 0 {
		m.Items = append(m.Items, item)
		i = len(m.Items) - 1
	}
	fresh := m.Items[i].Value != item.Value || m.Items[i].Expires == item.Expires
	m.Items[i] = item
	ttl := time.Duration(0)
	if item.Expires > 0 {
		ttl = time.Duration(item.Expires-m.Milliseconds()) * time.Millisecond
	}
	if fresh {
		n.watch.Set(&m.Items[i], ttl)
	} else {
		n.watch.Extended(&m.Items[i], ttl)
	}
	m.Tell(item.Key)
}

// disconnect breaks the replica's connection; it tries again after a while and
// then takes over what it missed.
func (f *follower) disconnect() {
	if !f.connected {
		return
	}
	f.connected = false
	f.conn.closeAtServer()
	f.w.s.after(retryAfter+f.conn.endDelay(), f.reconnect) // the replica learns late that it is cut off
}

func (f *follower) reconnect() {
	if f.connected || !slices.Contains(f.primary.followers, f) {
		return
	}
	if x := f.link; !x.directions[requests].CanOpen(peerMessageSize) || !x.directions[answers].CanOpen(peerMessageSize) ||
		!f.primary.up || !f.replica.up || f.primary.paused || f.replica.paused {
		f.w.s.after(retryAfter, f.reconnect)
		return
	}
	f.connected = true
	f.conn.forget()
	f.conn = f.link.openConn(nil)
	f.conn.onEnd = f.disconnect
	if f.applied > f.primary.memory.Writes || int64(len(f.primary.backlog)) < f.primary.memory.Writes {
		// The primary's past is another one: the replica starts from a copy.
		f.applied = f.primary.memory.Writes
		f.replica.memory.Items = slices.Clone(f.primary.memory.Items)
		f.replica.seeClock()
		f.replica.watch.recordFound(&f.replica.memory)
	}
	f.sent = f.applied
	f.sendChanges()
}

// breakFollowers ends the replication from and to a dead node. A replica that
// died comes back as a node of its own: nobody tells it whom to follow.
func (n *redisModel) breakFollowers() {
	for _, f := range n.followers {
		f.disconnect()
	}
	n.w.detachFollower(n)
}

// resumeFollowers makes the followers of a restarted primary begin anew.
func (n *redisModel) resumeFollowers() {
	for _, f := range n.followers {
		f.applied, f.acked = math.MaxInt64, 0 // another past: a full copy
	}
}

func (f *follower) detach() {
	f.connected, f.replica.memory.Follows = false, false
	f.conn.forget()
	f.primary.followers = slices.DeleteFunc(f.primary.followers, func(o *follower) bool { return o == f })
	f.w.followers = slices.DeleteFunc(f.w.followers, func(o *follower) bool { return o == f })
}

// promoteTakes is how long a promotion takes. What clients ask meanwhile, they ask
// the old primary.
const promoteTakes = 2 * time.Millisecond

// Promote makes a replica the primary, leads the clients there and lets the
// other replicas follow it.
func (w *World) Promote(name string) error {
	w.touchAll()
	h := w.node(name)
	if h == nil || !w.spec.Replicated || h == w.store || w.spec.Sentinel != nil {
		return fmt.Errorf("no replica %q", name)
	}
	if !h.up || h.paused {
		return fmt.Errorf("failed to promote node %s: it does not answer", name)
	}
	if w.spec.Cluster != nil { // its nodes decide the rest, and tell it
		return w.Failover(name, world.Takeover)
	}
	w.Sleep(promoteTakes)
	if !h.up || h.paused {
		return fmt.Errorf("failed to promote node %s: it does not answer any more", name)
	}
	if w.servers == nil {
		w.detachFollower(h.model())
	}
	for _, l := range w.links {
		if l.name.To == world.Primary {
			l.breakAll()
			l.to = h
		}
	}
	if w.servers == nil {
		w.followNew(h.model())
	} else {
		w.leadServers(h)
	}
	w.record(history.Event{Process: name, Type: history.Info, F: history.NodePromoted})
	return nil
}

// detachFollower ends the replication to a node.
func (w *World) detachFollower(n *redisModel) {
	for _, f := range slices.Clone(w.followers) {
		if f.replica == n {
			f.detach()
		}
	}
}

// followNew lets the others that run follow a new primary, the old one as well: each starts from a copy.
func (w *World) followNew(primary *redisModel) {
	for _, h := range w.nodes {
		n := h.model()
		if n == primary || !n.up {
			continue
		}
		w.detachFollower(n)
		primary.backlog = make([]change, primary.memory.Writes) // its own past is nobody's to replay
		w.follow(primary, n)
		f := w.followers[len(w.followers)-1]
		f.connected, f.applied = false, math.MaxInt64
		f.conn.forget()
		if w.ordersPeerLinks() { // what goes over a link takes no time then
			f.reconnect()
		} else {
			w.s.after(f.link.delay, f.reconnect)
		}
	}
}
