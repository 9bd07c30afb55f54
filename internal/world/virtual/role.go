package virtual

import (
	"fmt"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/redis/command/model"
	"github.com/redlock-sim/redlock-sim/internal/redis/sentinel"
)

// role is a server's part in a set that sentinels rule, as replication.c of Redis 7.0.15 has it.
type role struct {
	// primary is whom it follows, as its file says; nil: it is a primary.
	primary *redisModel
	runID   string
	// id is that of its data's history. Up to the offset secondEnd that is the history secondID
	// (replid, replid2, second_replid_offset).
	id, secondID uint64
	secondEnd    int64
	// follows is its connection to the primary, up or not yet; nil: it has none.
	follows *follower
	// downSince is since when it is not connected, by its clock in seconds; 0: it never was.
	downSince int64
	// goodReplicas is how many replicas keep up (repl_good_slaves_count).
	goodReplicas int
	// subscribers are the connections that get hello messages.
	subscribers []*peerConn
}

var readOnly, noReplicas = command.RefusalText("READONLY"), command.RefusalText("NOREPLICAS")

const waitFails = "ERR WAIT cannot be used with replica instances. Please also note that since Redis 4.0 if a " +
	"replica is configured to be writable (which is not the default) writes to replicas are just local and are not propagated."

// replicationCron is how often a server looks after its replication; fullSyncTakes how long a primary needs
// for the copy that it sends.
const (
	replicationCron = time.Second
	fullSyncTakes   = 15 * time.Millisecond
)

// assignRoles gives the servers the roles in which sentinels find them: the first is the primary, and the others follow it.
func (w *World) assignRoles() {
	for _, to := range w.nodes {
		for _, from := range w.nodes {
			if from != to {
				w.newPeerLink(from.name, to.name, [2]endpoint{requests: to, answers: from})
			}
		}
	}
	first := w.nodes[0].model()
	id := w.serverRand.Uint64()
	for _, h := range w.nodes {
		n := h.model()
		n.role = role{runID: w.newRunID(), id: id}
		n.memory.Changed = n.remember
		n.cronLater(time.Duration(w.serverRand.Uint64() % uint64(replicationCron)))
		if n == first {
			continue
		}
		n.role.primary, n.memory.Follows, n.known = first, true, n.known[:0]
		f := &follower{w: w, replica: n, primary: first, link: w.peerLink(n.name, first.name), connected: true}
		f.conn = f.link.openConn(func() { n.lostPrimary(f) })
		f.conn.onEnd = f.drop
		f.up, f.online, f.heard = true, true, first.unixtime()
		n.role.follows = f
		first.followers = append(first.followers, f)
		first.role.goodReplicas++
	}
}

func (w *World) newRunID() string { return fmt.Sprintf("%016x", w.serverRand.Uint64()) }

// underSentinels: sentinels rule the server.
func (n *redisModel) underSentinels() bool { return n.role.runID != "" }

// unixtime is the server's clock in seconds.
func (n *redisModel) unixtime() int64 { return n.wall(n.w.s.now) / second }

// cronLater lets replicationCron happen in a while, and again from then on.
func (n *redisModel) cronLater(d time.Duration) {
	life := n.life
	n.w.s.after(d, func() {
		if n.life == life {
			n.runOrDefer(n.cron)
		}
	})
}

func (n *redisModel) cron() {
	r := &n.role
	if r.primary != nil && r.follows == nil {
		n.connect()
	} else if r.primary != nil && r.follows.up {
		r.follows.acknowledge()
	}
	n.refreshGood()
	n.cronLater(replicationCron)
}

// refreshGood is refreshGoodSlavesCount.
func (n *redisModel) refreshGood() {
	n.role.goodReplicas = 0
	for _, f := range n.followers {
		if f.online && n.unixtime()-f.heard <= int64(n.w.spec.Sentinel.MaxLag/time.Second) {
			n.role.goodReplicas++
		}
	}
}

// refusal is the error with which the server answers writes; empty: it carries them out.
func (n *redisModel) refusal() string {
	if !n.underSentinels() {
		return ""
	}
	if n.role.primary != nil {
		return readOnly
	}
	if s := n.w.spec.Sentinel; s.MaxLag > 0 && n.role.goodReplicas < s.MinReplicas {
		return noReplicas
	}
	return ""
}

// replicaOf is what a sentinel has the server do, over the connection by: REPLICAOF, CONFIG REWRITE and CLIENT KILL.
func (n *redisModel) replicaOf(primary *redisModel, by *peerConn) {
	if primary == nil && n.role.primary != nil {
		n.becomePrimary()
	} else if primary != n.role.primary {
		n.becomeReplica(primary)
	}
	n.killClients(by)
}

func (n *redisModel) becomePrimary() {
	r := &n.role
	n.disconnectPrimary()
	r.primary, n.memory.Follows = nil, false
	r.secondID, r.secondEnd, r.id, r.downSince = r.id, n.memory.Writes, n.w.serverRand.Uint64(), 0
	n.dropFollowers()
	n.recordRole(history.NodePromoted)
}

func (n *redisModel) becomeReplica(primary *redisModel) {
	r := &n.role
	demoted := r.primary == nil
	if n.disconnectPrimary() {
		r.downSince = n.unixtime()
	}
	n.dropBlocked()
	r.primary, n.memory.Follows = primary, true
	n.connect()
	if demoted {
		n.recordRole(history.NodeDemoted)
	}
}

func (n *redisModel) recordRole(f history.F) {
	n.w.record(history.Event{Process: n.name, Type: history.Info, F: f})
}

// killClients closes all connections of clients and sentinels but one.
func (n *redisModel) killClients(but *peerConn) {
	n.dropBlocked()
	n.breakClients()
	for _, x := range n.w.peerLinks {
		if x.ends[requests] != &n.Host || n.w.node(x.name.From) != nil {
			continue
		}
		for _, p := range slices.Clone(x.conns) {
			if p != but {
				p.closeAtServer()
			}
		}
	}
}

// disconnectPrimary ends the connection to the primary. It reports whether that was up.
func (n *redisModel) disconnectPrimary() (was bool) {
	f := n.role.follows
	n.role.follows = nil
	if f == nil {
		return false
	}
	f.conn.closeAtOpener()
	return f.up
}

// dropFollowers closes the connections of those that follow the server.
func (n *redisModel) dropFollowers() {
	for _, f := range slices.Clone(n.followers) {
		f.conn.closeAtServer()
	}
}

// drop forgets a follower whose connection is over.
func (f *follower) drop() {
	f.connected = false
	n := f.primary
	n.followers = slices.DeleteFunc(slices.Clone(n.followers), func(o *follower) bool { return o == f }) // others go through it
	n.refreshGood()
}

// connect is connectWithMaster: it asks the primary for what comes behind the server's own data.
func (n *redisModel) connect() {
	r := &n.role
	f := &follower{w: n.w, replica: n, primary: r.primary, link: n.w.peerLink(n.name, r.primary.name)}
	f.conn = f.link.dial(func() { n.lostPrimary(f) })
	f.conn.onEnd = f.drop
	r.follows = f
	id, offset := r.id, n.memory.Writes
	f.conn.request(func() { f.primary.psync(f, id, offset) })
}

// lostPrimary is replicationHandleMasterDisconnection. Where the connection never was up, the server tries again
// at its next look.
func (n *redisModel) lostPrimary(f *follower) {
	if n.role.follows != f {
		return
	}
	n.role.follows = nil
	if f.up {
		n.role.downSince = n.unixtime()
		n.connect()
	}
}

// psync is syncCommand, at the primary: what is missing, or a copy of all.
func (n *redisModel) psync(f *follower, id uint64, offset int64) {
	r, at := &n.role, n.memory.Writes
	if f.conn.closed {
		return
	}
	if r.primary != nil && (r.follows == nil || !r.follows.up) { // -NOMASTERLINK
		f.conn.closeAtServer()
		return
	}
	n.followers = append(n.followers, f)
	if id == r.id && offset <= at || id == r.secondID && offset <= r.secondEnd {
		f.sent, f.acked, f.connected = offset, offset, true
		f.online, f.heard = true, n.unixtime()
		n.refreshGood()
		now := r.id
		f.conn.answer(func() { f.continued(now, offset) })
		f.sendChanges()
		return
	}
	f.sent = at
	copied := snapshot{id: r.id, offset: at, items: slices.Clone(n.memory.Items), backlog: slices.Clip(n.backlog)}
	n.w.s.after(fullSyncTakes, func() {
		n.runOrDefer(func() {
			if !f.conn.closed {
				f.conn.answer(func() { f.load(copied) })
				f.connected = true
				f.sendChanges()
			}
		})
	})
}

// snapshot is a copy of a server's data, and of how it came about.
type snapshot struct {
	id      uint64
	offset  int64
	items   []model.Item
	backlog []change
}

// continued: what the replica misses comes now (+CONTINUE).
func (f *follower) continued(id uint64, offset int64) {
	n := f.replica
	if r := &n.role; r.id != id { // another primary, which has gone on from here
		r.secondID, r.secondEnd, r.id = r.id, offset, id
		n.dropFollowers()
	}
	f.goOnFrom(offset)
}

// load: the replica has got a copy (+FULLRESYNC).
func (f *follower) load(s snapshot) {
	n := f.replica
	n.dropFollowers()
	n.role.id, n.role.secondID = s.id, 0
	n.memory.Items, n.memory.Writes, n.backlog = s.items, s.offset, s.backlog
	n.seeClock()
	n.watch.recordFound(&n.memory)
	n.disk.wrote(n, n.memory.Now)
	f.goOnFrom(s.offset)
	f.acknowledge()
}

func (f *follower) goOnFrom(offset int64) {
	f.applied, f.up, f.replica.role.downSince = offset, true, 0
}

// acknowledge tells the primary how far the replica is.
func (f *follower) acknowledge() {
	at := f.applied
	f.conn.request(func() { f.acknowledged(at) })
}

func (f *follower) acknowledged(at int64) {
	n := f.primary
	f.heard, f.acked = n.unixtime(), max(f.acked, at)
	if !f.online {
		f.online = true
		n.refreshGood()
	}
	n.unblockAll()
}

// publish sends a hello message to those that subscribed here, and to the replicas.
func (n *redisModel) publish(h sentinel.Hello) {
	r := &n.role
	if r.primary == nil {
		n.memory.Writes++
		n.appendBacklog(change{offset: n.memory.Writes, hello: &h})
	}
	n.spread(h)
}

// spread sends a hello message to those that subscribed here.
func (n *redisModel) spread(h sentinel.Hello) {
	r := &n.role
	r.subscribers = slices.DeleteFunc(r.subscribers, func(p *peerConn) bool { return p.closed })
	for _, p := range r.subscribers {
		p.answer(func() { p.onHello(&h) })
	}
}

// info is what a sentinel looks for in the server's INFO.
func (n *redisModel) info() sentinel.Info {
	r := &n.role
	i := sentinel.Info{RunID: r.runID, Role: sentinel.Primary, Offset: n.memory.Writes}
	for _, f := range n.followers {
		i.Replicas = append(i.Replicas, f.replica.name)
	}
	if r.primary == nil {
		return i
	}
	i.Role, i.Primary, i.LinkUp = sentinel.Replica, r.primary.name, r.follows != nil && r.follows.up
	if i.LinkDownSince = -1; r.downSince != 0 {
		i.LinkDownSince = n.unixtime() - r.downSince
	}
	return i
}

// leaveRoles ends what a dead server had with others.
func (n *redisModel) leaveRoles() {
	n.w.breakPeerConns(&n.Host)
	n.followers, n.role.follows, n.role.subscribers = nil, nil, nil
}

// resumeRole lets a restarted server be what its file says.
func (n *redisModel) resumeRole() {
	w := n.w
	n.role = role{primary: n.role.primary, runID: w.newRunID(), id: w.serverRand.Uint64()}
	n.cronLater(0)
}
