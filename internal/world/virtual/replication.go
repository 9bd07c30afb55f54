package virtual

import (
	"fmt"
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
	// up says that the replica is in step, online that the primary has heard so, heard when it heard of it last, in seconds.
	up, online bool
	heard      int64
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
	r := f.replica
	f.conn.transmit(answers, func() {
		r.runOrDefer(func() {
			r.atOnce(func() {
				for _, c := range changes {
					f.apply(c)
				}
			})
		})
	})
}

// apply does a change on the replica.
func (f *follower) apply(c change) {
	r := f.replica
	if !f.up || c.offset != f.applied+1 || r.role.follows != f {
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
	} else {
		m.Tell(key)
	}
}

// applyItem makes a key what it is at the primary.
func (n *redisModel) applyItem(item model.Item) {
	m := &n.memory
	item.List = slices.Clip(item.List) // both append to it
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
	for _, l := range w.links {
		if l.name.To == world.Primary {
			l.breakAll()
			l.to = h
		}
	}
	w.lead(h)
	w.record(history.Event{Process: name, Type: history.Info, F: history.NodePromoted})
	return nil
}

// lead makes a node the primary of all others that are up.
func (w *World) lead(primary *Host) {
	primary.service.follow(nil)
	for _, h := range w.nodes {
		if h != primary && h.up {
			h.runOrDefer(func() { h.service.follow(primary) })
		}
	}
}
