package virtual

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/client"
	"github.com/redlock-sim/redlock-sim/internal/world/link"
)

// failover is the lock's node to a client that finds the primary through sentinels, as go-redis's
// failover client of the version in go.mod does (sentinel.go and internal/pool there).
type failover struct {
	e *env
	// servers are the links to the servers, sentinels those to the sentinels: in the order in which they
	// are asked.
	servers   []remote
	sentinels []*peerLink
	// sentinel is the sentinel that it asks; nil: it asks one after the other. idle are the open connections
	// there, subscription is that which tells of switches.
	sentinel     *peerLink
	idle         []*peerConn
	subscription *peerConn
	// primary is whom it takes for the primary, lastUsed is the server of the connection used last.
	primary  *Host
	lastUsed *remote
	// watching is the connection of a WATCH, until the transaction.
	watching *connection
	// failed counts the dials that failed one after the other, the last for lastError.
	failed    int
	lastError string
	// dialTimeout is how long the latest command may take: a dial ends with it.
	dialTimeout time.Duration
}

var _ command.Node = (*failover)(nil)

// Of go-redis: how long it waits between two tries to dial in the background, where it goes when as many dials have
// failed as its pool is large, and between two tries to subscribe.
const (
	dialAgain     = time.Second
	listenAgain   = 100 * time.Millisecond
	unreachable   = "redis: all sentinels specified in configuration are unreachable"
	watcherIsGone = "the connection that watched is gone"
)

// openSentinelLinks opens the links of a client to the sentinels. Of those to servers, that to the primary alone has
// a connection from the start.
func (c *clientHost) openSentinelLinks() {
	for _, l := range c.links[1:] {
		l.idle = l.idle[:0]
	}
	for _, sp := range c.w.sentinels {
		c.w.newPeerLink(c.name, sp.name, [2]endpoint{requests: sp, answers: c})
	}
	for _, h := range c.w.watchers {
		c.w.newPeerLink(c.name, h.name, [2]endpoint{requests: h, answers: c})
	}
}

// newFailover is the node of a client's new life. That of its first has found the primary already.
func newFailover(e *env, servers []remote) *failover {
	c := e.c
	f := &failover{e: e, servers: servers}
	for _, name := range c.w.spec.Sentinel.Names {
		f.sentinels = append(f.sentinels, c.w.peerLink(c.clientHost.name, name)) // those of a process share its links
	}
	for i := range f.sentinels { // rand.Shuffle
		j := i + int(c.w.serverRand.Uint64()%uint64(len(f.sentinels)-i))
		f.sentinels[i], f.sentinels[j] = f.sentinels[j], f.sentinels[i]
	}
	if c.life == 1 {
		f.primary, f.sentinel = c.w.nodes[0], f.sentinels[0]
		open := f.sentinel.openConn
		if len(c.w.watchers) > 0 { // which has to take a connection
			open = f.sentinel.dialSentinel
		}
		f.idle = append(f.idle, open(nil))
		f.idle[0].onBreak = f.forgetIdle(f.idle[0])
		f.listen(open)
		f.subscribe()
	}
	return f
}

// Name is the node's name in the scenario.
func (f *failover) Name() string { return world.Primary }

// Do carries a command to the primary.
func (f *failover) Do(cmd command.Command) command.Reply {
	deadline := time.Duration(math.MaxInt64)
	f.dialTimeout = client.DialTimeout
	if cmd.Timeout > 0 {
		f.dialTimeout = cmd.Timeout
		deadline = f.e.c.w.s.now + cmd.Timeout
	}
	r := f.pooled()
	if r == nil {
		var why string
		if r, why = f.dial(deadline); r == nil {
			return command.RefusedReply(why)
		}
	}
	l := r.l
	epoch := l.epoch
	o := sendOptions{conn: l.connect(cmd.OtherConnection), deadline: deadline}
	f.lastUsed = r
	if !watches(&f.watching, o.conn, cmd.Op) {
		return command.UnknownReply(watcherIsGone)
	}
	if o.conn.fresh {
		if why := r.shakeHands(&o, &command.Command{}); why != "" { // it has sent no command
			f.dialFailed(why)
			return command.RefusedReply(why)
		}
		f.failed = 0
	}
	reply := r.sendCommand(&o, &cmd)
	if reply.Outcome != command.Unknown && !strings.HasPrefix(reply.Err(), "READONLY") {
		l.giveBack(o.conn, epoch)
	}
	return reply
}

// pooled is the server to which there is an open connection, the one used last before others; nil: there is none.
func (f *failover) pooled() *remote {
	if f.lastUsed != nil && len(f.lastUsed.l.idle) > 0 {
		return f.lastUsed
	}
	for i := range f.servers {
		if len(f.servers[i].l.idle) > 0 {
			return &f.servers[i]
		}
	}
	return nil
}

// dial finds the server to which a new connection goes, or says why there is none (ConnPool.dialConn).
func (f *failover) dial(deadline time.Duration) (*remote, string) {
	if f.failed >= client.PoolSize {
		return nil, f.lastError
	}
	primary, why := f.masterAddr(deadline)
	if primary == nil {
		f.dialFailed(why)
		return nil, why
	}
	return f.server(primary), ""
}

// dialFailed counts a dial that failed.
func (f *failover) dialFailed(why string) {
	f.lastError = why
	if f.failed++; f.failed == client.PoolSize {
		f.e.Spawn(f.tryDial)
	}
}

// tryDial tries until it has got a connection, which it closes.
func (f *failover) tryDial() {
	for {
		deadline := f.e.c.w.s.now + f.dialTimeout
		primary, why := f.masterAddr(deadline)
		if primary != nil {
			r := f.server(primary)
			o := sendOptions{conn: r.l.addConnection(&connection{}), deadline: deadline}
			o.conn.fresh, o.conn.flows = true, [2]link.Flow{r.l.directions[requests].NewFlow(), r.l.directions[answers].NewFlow()}
			if why = r.shakeHands(&o, &command.Command{}); why == "" {
				f.failed = 0
				return
			}
		}
		f.lastError = why
		f.e.Sleep(dialAgain)
	}
}

func (f *failover) server(n *Host) *remote {
	i := slices.IndexFunc(f.servers, func(r remote) bool { return r.l.to == n })
	return &f.servers[i]
}

// masterAddr is sentinelFailover.MasterAddr, with trySwitchMaster behind it.
func (f *failover) masterAddr(deadline time.Duration) (primary *Host, why string) {
	defer func() {
		if primary != nil {
			f.trySwitch(primary)
		}
	}()
	for range 2 { // without its lock, and with it
		if f.sentinel == nil {
			break
		}
		known := f.sentinel
		if primary, why = f.askSentinel(known, deadline); primary != nil || why == tooLate {
			return primary, why
		}
		if known == f.sentinel {
			f.closeSentinel()
		}
	}
	return f.askAll(deadline)
}

// closeSentinel forgets the sentinel that it asks.
func (f *failover) closeSentinel() {
	for _, p := range f.idle {
		p.closeAtOpener()
	}
	f.subscription.closeAtOpener()
	f.sentinel, f.idle, f.subscription = nil, nil, nil
}

// askSentinel asks a sentinel for the primary.
func (f *failover) askSentinel(x *peerLink, deadline time.Duration) (primary *Host, why string) {
	s := &f.e.c.w.s
	var p *peerConn
	asker, epoch := s.current, s.current.epoch
	broke := func() { s.wake(asker, epoch, byBreak) }
	if n := len(f.idle); n > 0 && x == f.sentinel {
		p, f.idle = f.idle[n-1], f.idle[:n-1]
		p.onBreak = broke
	} else {
		p = x.dialSentinel(broke)
	}
	f.askPrimary(p, func(named *Host) {
		primary = named
		s.wake(asker, epoch, byReply)
	})
	reason := f.awaitAnswer(deadline)
	if reason == byTimer {
		p.closeAtOpener()
		return nil, tooLate
	}
	if reason != byReply {
		p.closeAtOpener()
		return nil, "the connection broke"
	}
	p.onBreak = f.forgetIdle(p)
	if f.sentinel == nil || f.sentinel == x {
		f.idle = append(f.idle, p)
	} else { // another activity has found another one meanwhile
		p.closeAtOpener()
	}
	return primary, ""
}

// askAll asks all sentinels at once. The first that answers is the one that it asks from then on.
func (f *failover) askAll(deadline time.Duration) (primary *Host, why string) {
	s := &f.e.c.w.s
	asker, epoch := s.current, s.current.epoch
	asked := make([]*peerConn, len(f.sentinels))
	first, left := -1, len(asked)
	for i, x := range f.sentinels {
		asked[i] = x.dialSentinel(func() {
			if left--; left == 0 {
				s.wake(asker, epoch, byBreak)
			}
		})
		f.askPrimary(asked[i], func(named *Host) {
			if first < 0 {
				first, primary = i, named
				s.wake(asker, epoch, byReply)
			}
		})
	}
	if f.awaitAnswer(deadline) != byReply {
		first, primary = -1, nil
	}
	for i, p := range asked {
		if i != first || f.sentinel != nil { // another activity may have found one meanwhile
			p.closeAtOpener()
			continue
		}
		p.onBreak = f.forgetIdle(p)
		f.sentinel, f.idle = p.link, append(f.idle, p)
	}
	if primary == nil {
		return nil, unreachable
	}
	if f.subscription == nil {
		f.listen(f.sentinel.dialSentinel)
		f.subscribe()
	}
	return primary, ""
}

// askPrimary asks over a connection to a sentinel for the primary.
func (f *failover) askPrimary(p *peerConn, told func(*Host)) {
	if p.talk != nil {
		p.talk.primary(told)
		return
	}
	sp, _ := p.link.ends[requests].(*sentinelProcess)
	p.request(func() {
		named := f.e.c.w.node(sp.rules.Primary())
		p.answer(func() { told(named) })
	})
}

// awaitAnswer waits for what was asked.
func (f *failover) awaitAnswer(deadline time.Duration) reason {
	if deadline < math.MaxInt64 {
		f.e.c.w.s.timeout(deadline)
	}
	return f.e.c.parkClient(f.e.life)
}

// forgetIdle forgets an idle connection that broke.
func (f *failover) forgetIdle(p *peerConn) func() {
	return func() { f.idle = slices.DeleteFunc(f.idle, func(o *peerConn) bool { return o == p }) }
}

// listen opens the connection that tells of switches, and another one when it broke.
func (f *failover) listen(open func(func()) *peerConn) {
	known := f.sentinel
	var p *peerConn
	p = open(func() {
		if f.subscription != p {
			return
		}
		late := time.Duration(0)
		if !p.open {
			late = listenAgain
		}
		f.e.c.w.s.after(late, func() {
			f.e.c.runOrDefer(func() {
				if f.subscription == p && f.sentinel == known {
					f.listen(known.dialSentinel)
					f.subscribe()
				}
			})
		})
	})
	f.subscription = p
}

// subscribe asks to be told of switches.
func (f *failover) subscribe() {
	p := f.subscription
	if p.talk != nil {
		p.talk.subscribe(f.trySwitch)
		return
	}
	sp, _ := p.link.ends[requests].(*sentinelProcess)
	begin := func() { sp.listeners = append(sp.listeners, listener{p, f.trySwitch}) }
	if f.e.c.w.s.now == 0 && p.open {
		begin()
		return
	}
	p.request(begin)
}

// trySwitch is sentinelFailover.trySwitchMaster: it closes the connections to all others.
func (f *failover) trySwitch(primary *Host) {
	if primary == f.primary {
		return
	}
	f.primary = primary
	for i := range f.servers {
		l := f.servers[i].l
		if l.to == primary {
			continue
		}
		l.epoch++
		l.idle = l.idle[:0]
		for _, k := range l.pending {
			k.abandon()
			l.breakLater(k, 0)
		}
	}
}

// listens implements endpoint; nobody connects to a client.
func (c *clientHost) listens() bool { return false }

// runOrDefer implements endpoint.
func (c *clientHost) runOrDefer(f func()) {
	runOrDefer(!c.dead, c.paused, &c.deferred, f)
}
