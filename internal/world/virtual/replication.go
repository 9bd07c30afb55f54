package virtual

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/command"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

// change is a write as it goes to the followers: the key as it is afterwards.
type change struct {
	offset int64
	item   item
	gone   bool
}

// follower is a replica on its link to the primary. The primary sends its
// changes in order; the follower acknowledges when it is asked to, as WAIT does.
type follower struct {
	w       *World
	name    world.Link
	replica *node
	primary *node
	delay   time.Duration
	// sent and applied are offsets of the primary; acked is what the primary
	// knows to have been applied.
	sent, applied, acked int64
	// connected: changes flow. epoch counts the connections.
	connected bool
	epoch     int
	// streamFree and ackFree keep each direction in order.
	streamFree, ackFree time.Duration
	// toxics disturb the link; each keeps the messages that it holds.
	toxics []*followerToxic
	// carried counts the messages of each direction under an Order.
	carried [2]uint32
}

type followerToxic struct {
	world.Disturbance
	// epoch is that of the connection that was open when it began; -1: none was.
	epoch int
	held  []heldMessage
	// free is when the bandwidth has passed everything on, in each direction.
	free [2]time.Duration
}

// changeSize is about how many bytes a change, or its acknowledgement, has.
const changeSize = 100

type heldMessage struct {
	dir    int
	arrive func()
}

// The stream of changes is the answers' direction: the follower asked for it.
func (t *followerToxic) strikes(dir int) bool {
	return dir == requests && t.Direction != world.Answers || dir == answers && t.Direction != world.Requests
}

// retryAfter is how long a follower waits before it connects again, as a
// replica of Redis does.
const retryAfter = time.Second

func (w *World) follow(primary, replica *node) {
	f := &follower{w: w, name: world.Link{From: replica.name, To: primary.name}, replica: replica, primary: primary,
		delay: leastDelay, connected: true}
	w.followers = append(w.followers, f)
	primary.followers = append(primary.followers, f)
	primary.memory.changed = primary.remember
}

func (w *World) followerOn(name world.Link) *follower {
	for _, f := range w.followers {
		if f.name == name {
			return f
		}
	}
	return nil
}

// remember keeps a change for the followers and sends it to them.
func (n *node) remember(key string) {
	c := change{offset: n.memory.writes, item: item{key: key}, gone: true}
	if i := slices.IndexFunc(n.memory.items, func(it item) bool { return it.key == key }); i >= 0 {
		c.item, c.gone = n.memory.items[i], false
	}
	n.backlog = append(n.backlog, c)
	for _, f := range n.followers {
		f.pump()
	}
}

// pump sends what has not been sent yet.
func (f *follower) pump() {
	if !f.connected || !f.primary.up || f.primary.paused {
		return
	}
	for ; f.sent < f.primary.memory.writes; f.sent++ {
		c := f.primary.backlog[f.sent]
		f.transmit(answers, func() { f.apply(c) })
	}
}

// transmit delivers a message in one direction, in order, unless a disturbance
// has it.
func (f *follower) transmit(dir int, deliver func()) {
	epoch := f.epoch
	arrive := func() {
		if f.epoch == epoch {
			deliver()
		}
	}
	free := &f.streamFree
	if dir == requests {
		free = &f.ackFree
	}
	var late time.Duration
	if f.w.order == nil {
		late = f.delay + addition(f.w.net.Uint64()>>32)
	}
	for _, t := range f.toxics {
		if !t.strikes(dir) {
			continue
		}
		switch t.Kind {
		case world.Bandwidth:
			t.free[dir] = max(t.free[dir], f.w.s.now) + time.Duration(changeSize*int64(time.Second)/max(t.Rate, 1))
			late = max(late, t.free[dir]-f.w.s.now)
		case world.SlowClose: // messages pass; disconnect looks for it
		case world.Latency:
			late += t.Latency
			if t.Jitter > 0 {
				late += time.Duration(int64(f.w.net.Uint64()>>1)%int64(2*t.Jitter)) - t.Jitter
			}
		case world.Cut:
			return
		case world.Hold:
			t.held = append(t.held, heldMessage{dir, arrive})
			return
		case world.Stall:
			if t.epoch == epoch {
				t.held = append(t.held, heldMessage{dir, arrive})
				return
			}
		case world.Reset, world.LimitData:
			f.disconnect()
			return
		}
	}
	f.arriveAt(free, max(late, 0), dir, arrive)
}

// arriveAt lets a message arrive in a while, and behind those before it. free is when
// the last of them does.
func (f *follower) arriveAt(free *time.Duration, late time.Duration, dir int, arrive func()) {
	s, o := &f.w.s, f.w.order
	if o != nil && late == 0 && (*free == 0 || *free < s.now) {
		o.carry(f, dir, arrive)
		return
	}
	if o != nil {
		delivered := arrive
		arrive = func() { o.carry(f, dir, delivered) }
	}
	*free = max(*free, s.now+late)
	s.push(event{at: *free, f: arrive})
}

// apply does a change on the replica.
func (f *follower) apply(c change) {
	r := f.replica
	if r.paused {
		r.deferred = append(r.deferred, func() { f.apply(c) })
		return
	}
	if !r.up || c.offset != f.applied+1 {
		return
	}
	f.applied = c.offset
	r.look()
	m := &r.memory
	i := slices.IndexFunc(m.items, func(it item) bool { return it.key == c.item.key })
	switch {
	case c.gone && i >= 0:
		r.watch.deleted(&m.items[i])
		m.remove(i)
	case c.gone:
	case i < 0:
		m.items = append(m.items, c.item)
		i = len(m.items) - 1
		fallthrough
	default:
		fresh := m.items[i].value != c.item.value || m.items[i].expires == c.item.expires
		m.items[i] = c.item
		ttl := time.Duration(0)
		if c.item.expires > 0 {
			ttl = time.Duration(c.item.expires-m.ms()) * time.Millisecond
		}
		if fresh {
			r.watch.set(&m.items[i], ttl)
		} else {
			r.watch.extended(&m.items[i], ttl)
		}
		m.tell(c.item.key)
	}
	r.disk.wrote(r, m.now)
}

// disconnect breaks the replica's connection; it tries again after a while and
// then takes over what it missed.
func (f *follower) disconnect() {
	if !f.connected {
		return
	}
	f.connected = false
	f.epoch++
	late := retryAfter
	for _, t := range f.toxics {
		if t.Kind == world.SlowClose && t.strikes(answers) {
			late = max(late, retryAfter+t.Delay) // the replica learns late that it is cut off
		}
	}
	f.w.s.after(late, f.reconnect)
}

func (f *follower) reconnect() {
	if f.connected || !slices.Contains(f.primary.followers, f) {
		return
	}
	blocked := slices.ContainsFunc(f.toxics, func(t *followerToxic) bool {
		return t.Kind == world.Cut || t.Kind == world.Hold || t.Kind == world.Reset || t.Kind == world.LimitData
	})
	if blocked || !f.primary.up || !f.replica.up || f.primary.paused || f.replica.paused {
		f.w.s.after(retryAfter, f.reconnect)
		return
	}
	f.connected = true
	f.streamFree, f.ackFree = 0, 0
	if f.applied > f.primary.memory.writes || int64(len(f.primary.backlog)) < f.primary.memory.writes {
		// The primary's past is another one: the replica starts from a copy.
		f.applied = f.primary.memory.writes
		f.replica.memory.items = slices.Clone(f.primary.memory.items)
		f.replica.look()
		f.replica.watch.begin(&f.replica.memory)
	}
	f.sent = f.applied
	f.pump()
}

// breakFollowers ends the replication from and to a dead node. A replica that
// died comes back as a node of its own: nobody tells it whom to follow.
func (n *node) breakFollowers() {
	for _, f := range n.followers {
		f.disconnect()
	}
	for _, f := range n.w.followers {
		if f.replica == n {
			f.leave()
		}
	}
}

// resumeFollowers makes the followers of a restarted primary begin anew.
func (n *node) resumeFollowers() {
	for _, f := range n.followers {
		f.applied, f.acked = math.MaxInt64, 0 // another past: a full copy
	}
}

func (f *follower) leave() {
	f.connected = false
	f.epoch++
	f.primary.followers = slices.DeleteFunc(f.primary.followers, func(o *follower) bool { return o == f })
}

// disturb puts a disturbance on the replication link.
func (f *follower) disturb(d world.Disturbance) []func() {
	t := &followerToxic{Disturbance: d, epoch: f.epoch}
	if !f.connected {
		t.epoch = -1
	}
	f.toxics = append(f.toxics, t)
	return []func(){func() {
		f.toxics = slices.DeleteFunc(f.toxics, func(o *followerToxic) bool { return o == t })
		for _, m := range t.held {
			if o := f.w.order; o != nil {
				o.carry(f, m.dir, m.arrive)
			} else {
				f.w.s.after(f.delay, m.arrive)
			}
		}
		t.held = nil
		if d.Kind == world.Cut {
			f.disconnect()
		}
	}}
}

// blocked is a WAIT without its answer.
type blocked struct {
	call   *call
	needs  int
	offset int64
	done   bool
}

// wait carries out WAIT: it answers once enough replicas have acknowledged the
// writes of the connection, or after the timeout.
func (n *node) wait(k *call) {
	b := &blocked{call: k, needs: k.cmd.Replicas, offset: k.conn.written}
	if n.acknowledged(b.offset) >= b.needs {
		n.unblock(b)
		return
	}
	n.blocked = append(n.blocked, b)
	for _, f := range n.followers {
		n.ask(f)
	}
	if k.cmd.TTL > 0 {
		n.w.s.after(k.cmd.TTL, func() { n.unblock(b) })
	}
}

// ask asks a follower how far it is; the answer comes behind all changes.
func (n *node) ask(f *follower) {
	if !f.connected {
		return
	}
	f.transmit(answers, func() {
		if !f.replica.up || f.replica.paused {
			return
		}
		at := f.applied
		f.transmit(requests, func() {
			f.acked = max(f.acked, at)
			for _, b := range slices.Clone(n.blocked) {
				if n.acknowledged(b.offset) >= b.needs {
					n.unblock(b)
				}
			}
		})
	})
}

func (n *node) acknowledged(offset int64) int {
	count := 0
	for _, f := range n.followers {
		if f.connected && f.acked >= offset {
			count++
		}
	}
	return count
}

func (n *node) unblock(b *blocked) {
	if b.done || !n.up {
		return
	}
	b.done = true
	n.blocked = slices.DeleteFunc(n.blocked, func(o *blocked) bool { return o == b })
	b.call.reply = command.IntReply(int64(n.acknowledged(b.offset)))
	b.call.answer()
}

// promoteTakes is how long a promotion takes. What clients ask meanwhile, they ask
// the old primary.
const promoteTakes = 2 * time.Millisecond

// Promote makes a replica the primary, leads the clients there and lets the
// other replicas follow it.
func (w *World) Promote(name string) error {
	w.touchAll()
	n := w.node(name)
	if n == nil || !w.spec.Replicated || n == w.store {
		return fmt.Errorf("no replica %q", name)
	}
	if !n.up || n.paused {
		return fmt.Errorf("failed to promote node %s: it does not answer", name)
	}
	w.Sleep(promoteTakes)
	if !n.up || n.paused {
		return fmt.Errorf("failed to promote node %s: it does not answer any more", name)
	}
	for _, f := range w.followers {
		if f.replica == n {
			f.leave()
		}
	}
	for _, l := range w.links {
		if l.name.To == world.Primary {
			l.breakAll()
			l.to = n
		}
	}
	w.followNew(n)
	w.record(history.Event{Process: name, Type: history.Info, F: history.NodePromoted})
	return nil
}

// followNew lets the replicas that are left follow a new primary: each starts
// from a copy.
func (w *World) followNew(primary *node) {
	for _, old := range slices.Clone(w.followers) {
		if old.replica == primary || !old.replica.up || old.primary == primary {
			continue
		}
		old.leave()
		primary.backlog = make([]change, primary.memory.writes) // its own past is nobody's to replay
		w.follow(primary, old.replica)
		f := w.followers[len(w.followers)-1]
		f.connected, f.applied = false, math.MaxInt64
		w.s.after(f.delay, f.reconnect)
	}
}
