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

// role is a server's part among a primary and its replicas, as replication.c of Redis 7.0.15 has it.
type role struct {
	// primary is whom it follows; nil: it is a primary.
	primary *redisModel
	// runID is its process, for sentinels.
	runID string
	// id is that of its data's history; 0: it has no such part. Up to the offset secondEnd that is the history secondID
	// (replid, replid2, second_replid_offset).
	id, secondID uint64
	secondEnd    int64
	// follows is its connection to the primary, up or not yet; nil: it has none.
	follows *follower
	// downSince is since when it is not connected, by its clock in seconds; 0: it never was.
	downSince int64
	// lack are the replicas that wait for a copy; copies: one is under way.
	lack   []*follower
	copies bool
	// goodReplicas is how many replicas keep up (repl_good_slaves_count).
	goodReplicas int
	// subscribers are the connections that get hello messages.
	subscribers []*peerConn
}

var readOnly, noReplicas = command.RefusalText("READONLY"), command.RefusalText("NOREPLICAS")

const waitFails = "ERR WAIT cannot be used with replica instances. Please also note that since Redis 4.0 if a " +
	"replica is configured to be writable (which is not the default) writes to replicas are just local and are not propagated."

// replicationCron is how often a server looks after its replication; fullSyncTakes how long a primary needs
// for a copy that it sends: it makes one after the other.
const (
	replicationCron = time.Second
	fullSyncTakes   = 200 * time.Microsecond
)

// assignRoles makes the first server the primary, whom the others follow.
func (w *World) assignRoles() {
	if w.spec.Sentinel != nil {
		for _, to := range w.nodes {
			for _, from := range w.nodes {
				if from != to {
					w.lineLink(from, to, false)
				}
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
		n.setPrimary(first)
		if w.spec.Sentinel != nil {
			n.known = n.known[:0]
		}
		f := n.newFollower((*peerLink).openConn)
		f.connected, f.up, f.online, f.heard = true, true, true, first.unixtime()
		first.followers = append(first.followers, f)
		first.role.goodReplicas++
	}
}

func (w *World) newRunID() string { return fmt.Sprintf("%016x", w.serverRand.Uint64()) }

// hasRole: the server is one of a primary and its replicas.
func (n *redisModel) hasRole() bool { return n.role.id != 0 }

// setPrimary says whom the server follows; nil: it is a primary.
func (n *redisModel) setPrimary(primary *redisModel) {
	n.role.primary, n.memory.Follows = primary, primary != nil
}

// newFollower opens the server's connection to its primary.
func (n *redisModel) newFollower(open func(x *peerLink, broke func()) *peerConn) *follower {
	p := n.role.primary
	f := &follower{w: n.w, replica: n, primary: p, link: n.w.lineLink(&n.Host, &p.Host, false)}
	f.conn = open(f.link, func() { n.lostPrimary(f) })
	f.conn.onEnd = f.ended
	n.role.follows = f
	return f
}

// unixtime is the server's clock in seconds.
func (n *redisModel) unixtime() int64 { return n.wall(n.w.s.now) / second }

// cronLater lets replicationCron happen in a while, and again from then on. Under an Order it does not: there is no step without end.
func (n *redisModel) cronLater(d time.Duration) {
	if !n.w.ordersPeerLinks() {
		n.inThisLife(d, n.cron)
	}
}

// inThisLife does something in a while, if the process is the same then.
func (n *redisModel) inThisLife(d time.Duration, do func()) {
	life := n.life
	n.w.s.after(d, func() {
		if n.life == life {
			n.runOrDefer(do)
		}
	})
}

func (n *redisModel) cron() {
	if f := n.role.follows; f != nil && f.up {
		f.acknowledge()
	}
	n.connectAgain()
	n.refreshGood()
	n.cronLater(replicationCron)
}

// connectAgain connects the server to its primary, unless it is.
func (n *redisModel) connectAgain() {
	if n.role.primary != nil && n.role.follows == nil {
		n.connect()
	}
}

// refreshGood is refreshGoodSlavesCount.
func (n *redisModel) refreshGood() {
	if n.w.spec.Sentinel == nil {
		return
	}
	n.role.goodReplicas = 0
	for _, f := range n.followers {
		if f.online && n.unixtime()-f.heard <= int64(n.w.spec.Sentinel.MaxLag/time.Second) {
			n.role.goodReplicas++
		}
	}
}

// refusal is the error with which the server answers writes; empty: it carries them out.
func (n *redisModel) refusal() string {
	if n.role.primary != nil {
		return readOnly
	}
	if s := n.w.spec.Sentinel; s != nil && n.hasRole() && s.MaxLag > 0 && n.role.goodReplicas < s.MinReplicas {
		return noReplicas
	}
	return ""
}

// obey is what a sentinel has the server do, over the connection by: REPLICAOF, CONFIG REWRITE and CLIENT KILL.
func (n *redisModel) obey(primary *Host, by *peerConn) {
	was := n.role.primary == nil
	n.follow(primary)
	if is := n.role.primary == nil; is && !was {
		n.recordRole(history.NodePromoted)
	} else if was && !is {
		n.recordRole(history.NodeDemoted)
	}
	n.killClients(by)
}

// follow implements service: REPLICAOF.
func (n *redisModel) follow(primary *Host) {
	switch {
	case primary == nil && n.role.primary != nil:
		n.becomePrimary()
	case primary != nil && primary.model() != n.role.primary:
		n.becomeReplica(primary.model())
	}
}

func (n *redisModel) becomePrimary() {
	r := &n.role
	n.disconnectPrimary()
	n.setPrimary(nil)
	r.secondID, r.secondEnd, r.id, r.downSince = r.id, n.memory.Writes, n.w.serverRand.Uint64(), 0
	n.dropFollowers()
}

func (n *redisModel) becomeReplica(primary *redisModel) {
	if n.disconnectPrimary() {
		n.role.downSince = n.unixtime()
	}
	n.dropBlocked()
	n.setPrimary(primary)
	n.connect()
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

// ended forgets a follower whose connection is over. Under an Order, where nobody looks again, it tries again after a while.
func (f *follower) ended() {
	f.connected = false
	n := f.primary
	n.followers = slices.DeleteFunc(slices.Clone(n.followers), func(o *follower) bool { return o == f }) // others go through it
	n.refreshGood()
	if f.w.ordersPeerLinks() && f.replica.role.follows == f {
		f.replica.inThisLife(replicationCron, func() {
			f.replica.lostPrimary(f)
			f.replica.connectAgain()
		})
	}
}

// connect is connectWithMaster: it asks the primary for what comes behind the server's own data.
func (n *redisModel) connect() {
	open := (*peerLink).dial
	if n.w.ordersPeerLinks() {
		open = (*peerLink).openConn
	}
	f := n.newFollower(open)
	id, offset := n.role.id, n.memory.Writes
	f.arrange(f.conn.request, &f.primary.Host, func() { f.primary.psync(f, id, offset) })
}

// arrange lets the two servers arrange how changes flow. Under an Order that takes no time.
func (f *follower) arrange(send func(do func()), at *Host, do func()) {
	if !f.w.ordersPeerLinks() {
		send(do)
		return
	}
	carries := func(dir int) bool { return f.link.directions[dir].CanOpen(peerMessageSize) }
	if at.up && carries(requests) && carries(answers) {
		at.runOrDefer(func() {
			if !f.conn.silent {
				do()
			}
		})
	} else {
		f.conn.closeAtServer()
	}
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
	r := &n.role
	if f.conn.closed {
		return
	}
	if r.primary != nil && (r.follows == nil || !r.follows.up) { // -NOMASTERLINK
		f.conn.closeAtServer()
		return
	}
	n.followers = append(n.followers, f)
	if id == r.id && offset <= n.memory.Writes || id == r.secondID && offset <= r.secondEnd {
		f.sent, f.connected = offset, true
		f.online, f.heard = true, n.unixtime()
		n.refreshGood()
		now := r.id
		f.arrange(f.conn.answer, &f.replica.Host, func() { f.continued(now, offset) })
		f.sendChanges()
		return
	}
	r.lack = append(r.lack, f)
	n.copyData()
}

// copyData begins a copy for those that wait for one (startBgsaveForReplication), unless one is under way.
func (n *redisModel) copyData() {
	r := &n.role
	if r.copies || len(r.lack) == 0 {
		return
	}
	get := r.lack
	r.lack, r.copies = nil, true
	copied := snapshot{id: r.id, offset: n.memory.Writes, items: slices.Clone(n.memory.Items), backlog: slices.Clip(n.backlog)}
	for _, f := range get {
		f.sent = copied.offset
	}
	done := func() {
		r.copies = false
		for _, f := range get {
			if !f.conn.closed {
				f.connected = true
				f.arrange(f.conn.answer, &f.replica.Host, func() { f.load(copied) })
				f.sendChanges()
			}
		}
		n.copyData()
	}
	if n.w.ordersPeerLinks() {
		done()
	} else {
		n.inThisLife(fullSyncTakes, done)
	}
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
	before := n.memory.Items
	n.memory.Items, n.memory.Writes, n.backlog = slices.Clone(s.items), s.offset, s.backlog
	for i := range n.memory.Items {
		it := &n.memory.Items[i]
		it.List = slices.Clip(it.List) // both append to it
	}
	n.seeClock()
	n.watch.recordCopied(before, &n.memory)
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
	n.role = role{primary: n.role.primary, runID: n.w.newRunID(), id: n.w.serverRand.Uint64()}
	if n.w.spec.Sentinel == nil {
		n.setPrimary(nil) // its file does not say whom to follow
	}
	n.cronLater(0)
}
