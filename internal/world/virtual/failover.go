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
	// servers are the ways to the servers, sentinels those to the sentinels: in the order in which they
	// are asked.
	servers   []remote
	sentinels []*wire
	// known is the sentinel that it asks; nil: it asks one after the other. idle are the open connections
	// there, news is that which tells of switches.
	known *wire
	idle  []*pipe
	news  *pipe
	// primary is whom it takes for the primary, from is the server of the connection used last.
	primary *node
	from    *remote
	// watching is the connection of a WATCH, until the transaction.
	watching *connection
	// failed counts the dials that failed one after the other, the last for the reason why.
	failed int
	why    string
	// patience is how long the latest command may take: a dial ends with it.
	patience time.Duration
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

// learnSentinels opens the links of a client to the sentinels. Of those to servers, that to the primary alone has
// a connection from the start.
func (c *clientHost) learnSentinels() {
	for _, l := range c.links[1:] {
		l.idle = l.idle[:0]
	}
	for _, g := range c.w.guards {
		c.w.newWire(c.name, g.name, [2]endpoint{requests: g, answers: c})
	}
}

// newFailover is the node of a client's new life. That of its first has found the primary already.
func newFailover(e *env, servers []remote) *failover {
	c := e.c
	f := &failover{e: e, servers: servers}
	for _, g := range c.w.guards {
		f.sentinels = append(f.sentinels, c.w.wire(c.name, g.name))
	}
	for i := range f.sentinels { // rand.Shuffle
		j := i + int(c.w.luck.Uint64()%uint64(len(f.sentinels)-i))
		f.sentinels[i], f.sentinels[j] = f.sentinels[j], f.sentinels[i]
	}
	if c.life == 1 {
		f.primary, f.known = c.w.nodes[0], f.sentinels[0]
		f.idle = append(f.idle, f.known.connected(nil))
		f.idle[0].broke = f.forgets(f.idle[0])
		f.listen(f.known.connected)
		f.subscribe()
	}
	return f
}

// Name is the node's name in the scenario.
func (f *failover) Name() string { return world.Primary }

// Do carries a command to the primary.
func (f *failover) Do(cmd command.Command) command.Reply {
	deadline := time.Duration(math.MaxInt64)
	f.patience = client.DialTimeout
	if cmd.Timeout > 0 {
		f.patience = cmd.Timeout
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
	m := message{conn: l.connect(cmd.OtherConnection), deadline: deadline}
	f.from = r
	if !watches(&f.watching, m.conn, cmd.Op) {
		return command.UnknownReply(watcherIsGone)
	}
	if m.conn.fresh {
		if why := r.shakeHands(&m); why != "" { // it has sent no command
			f.dialFailed(why)
			return command.RefusedReply(why)
		}
		f.failed = 0
	}
	reply := r.carry(&m, &cmd)
	if reply.Outcome != command.Unknown && !strings.HasPrefix(reply.Err(), "READONLY") {
		l.giveBack(m.conn, epoch)
	}
	return reply
}

// pooled is the server to which there is an open connection, the one used last before others; nil: there is none.
func (f *failover) pooled() *remote {
	if f.from != nil && len(f.from.l.idle) > 0 {
		return f.from
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
		return nil, f.why
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
	f.why = why
	if f.failed++; f.failed == client.PoolSize {
		f.e.Spawn(f.tryDial)
	}
}

// tryDial tries until it has got a connection, which it closes.
func (f *failover) tryDial() {
	for {
		deadline := f.e.c.w.s.now + f.patience
		primary, why := f.masterAddr(deadline)
		if primary != nil {
			r := f.server(primary)
			m := message{conn: r.l.own(&connection{}), deadline: deadline}
			m.conn.fresh, m.conn.flows = true, [2]link.Flow{r.l.ways[requests].Open(), r.l.ways[answers].Open()}
			if why = r.shakeHands(&m); why == "" {
				f.failed = 0
				return
			}
		}
		f.why = why
		f.e.Sleep(dialAgain)
	}
}

func (f *failover) server(n *node) *remote {
	i := slices.IndexFunc(f.servers, func(r remote) bool { return r.l.to == n })
	return &f.servers[i]
}

// masterAddr is sentinelFailover.MasterAddr, with trySwitchMaster behind it.
func (f *failover) masterAddr(deadline time.Duration) (primary *node, why string) {
	defer func() {
		if primary != nil {
			f.trySwitch(primary)
		}
	}()
	for range 2 { // without its lock, and with it
		if f.known == nil {
			break
		}
		known := f.known
		if primary, why = f.ask(known, deadline); primary != nil || why == tooLate {
			return primary, why
		}
		if known == f.known {
			f.closeSentinel()
		}
	}
	return f.askAll(deadline)
}

// closeSentinel forgets the sentinel that it asks.
func (f *failover) closeSentinel() {
	for _, p := range f.idle {
		p.close()
	}
	f.news.close()
	f.known, f.idle, f.news = nil, nil, nil
}

// ask asks a sentinel for the primary.
func (f *failover) ask(x *wire, deadline time.Duration) (primary *node, why string) {
	s := &f.e.c.w.s
	var p *pipe
	asker, epoch := s.current, s.current.epoch
	broke := func() { s.wake(asker, epoch, byBreak) }
	if n := len(f.idle); n > 0 && x == f.known {
		p, f.idle = f.idle[n-1], f.idle[:n-1]
		p.broke = broke
	} else {
		p = x.dial(broke)
	}
	f.question(p, func(named *node) {
		primary = named
		s.wake(asker, epoch, byReply)
	})
	switch f.answered(deadline) {
	case byReply:
		p.broke = f.forgets(p)
		if f.known == nil || f.known == x {
			f.idle = append(f.idle, p)
		} else { // another activity has found another one meanwhile
			p.close()
		}
		return primary, ""
	case byTimer:
		p.close()
		return nil, tooLate
	case byBreak, byStop, byKill, bySignal, byResume:
	}
	p.close()
	return nil, "the connection broke"
}

// askAll asks all sentinels at once. The first that answers is the one that it asks from then on.
func (f *failover) askAll(deadline time.Duration) (primary *node, why string) {
	s := &f.e.c.w.s
	asker, epoch := s.current, s.current.epoch
	asked := make([]*pipe, len(f.sentinels))
	first, left := -1, len(asked)
	for i, x := range f.sentinels {
		asked[i] = x.dial(func() {
			if left--; left == 0 {
				s.wake(asker, epoch, byBreak)
			}
		})
		f.question(asked[i], func(named *node) {
			if first < 0 {
				first, primary = i, named
				s.wake(asker, epoch, byReply)
			}
		})
	}
	if f.answered(deadline) != byReply {
		first, primary = -1, nil
	}
	for i, p := range asked {
		if i != first || f.known != nil { // another activity may have found one meanwhile
			p.close()
			continue
		}
		p.broke = f.forgets(p)
		f.known, f.idle = p.on, append(f.idle, p)
	}
	if primary == nil {
		return nil, unreachable
	}
	if f.news == nil {
		f.listen(f.known.dial)
		f.subscribe()
	}
	return primary, ""
}

// question asks over a connection to a sentinel for the primary.
func (f *failover) question(p *pipe, told func(*node)) {
	g, _ := p.on.ends[requests].(*guard)
	p.ask(func() {
		named := f.e.c.w.node(g.rules.Primary())
		p.tell(func() { told(named) })
	})
}

// answered waits for what was asked.
func (f *failover) answered(deadline time.Duration) reason {
	if deadline < math.MaxInt64 {
		f.e.c.w.s.timeout(deadline)
	}
	return f.e.c.parkClient(f.e.life)
}

// forgets forgets an idle connection that broke.
func (f *failover) forgets(p *pipe) func() {
	return func() { f.idle = slices.DeleteFunc(f.idle, func(o *pipe) bool { return o == p }) }
}

// listen opens the connection that tells of switches, and another one when it broke.
func (f *failover) listen(open func(func()) *pipe) {
	known := f.known
	var p *pipe
	p = open(func() {
		if f.news != p {
			return
		}
		late := time.Duration(0)
		if !p.open {
			late = listenAgain
		}
		f.e.c.w.s.after(late, func() {
			f.e.c.whenRuns(func() {
				if f.news == p && f.known == known {
					f.listen(known.dial)
					f.subscribe()
				}
			})
		})
	})
	f.news = p
}

// subscribe asks to be told of switches.
func (f *failover) subscribe() {
	p := f.news
	g, _ := p.on.ends[requests].(*guard)
	begin := func() { g.listeners = append(g.listeners, listener{p, f.trySwitch}) }
	if f.e.c.w.s.now == 0 && p.open {
		begin()
		return
	}
	p.ask(begin)
}

// trySwitch is sentinelFailover.trySwitchMaster: it closes the connections to all others.
func (f *failover) trySwitch(primary *node) {
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
			k.lost()
			l.breakLater(k, 0)
		}
	}
}

// listens implements endpoint; nobody connects to a client.
func (c *clientHost) listens() bool { return false }

// whenRuns implements endpoint.
func (c *clientHost) whenRuns(f func()) {
	whenRuns(!c.dead, c.paused, &c.deferred, f)
}
