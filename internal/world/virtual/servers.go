package virtual

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/redis/command/model"
	"github.com/redlock-sim/redlock-sim/internal/redis/resp"
	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/client"
)

// Servers answer on the nodes of the lock, in the place of models.
type Servers interface {
	// Server makes the server of a host. It is not started yet. The world ends no server at the end of a run: who made it
	// does.
	Server(h *Host) (Server, error)
	// Settled reports that replicas have all that their primary has, as when a run begins.
	Settled() bool
	// HostAt is the host that has an address with a port; empty: none has.
	HostAt(address string) string
	// Versions names the programs, and their versions.
	Versions() map[string]string
}

// Server is a process on a host that answers in bytes. The world calls it, and it calls the world where the world has called
// it, or asked what guests want (Guests.Grant).
type Server interface {
	// Start starts the process with what keep leaves of what the one before it had stored; the first one has nothing. It
	// calls ready when it takes connections, or with the reason why it never will. It may dial others before.
	Start(keep world.Keep, ready func(error))
	// Accept takes a connection, and says who takes what comes over it; nil: nothing listens there, and it is refused. A
	// process that stands still can be asked, too.
	Accept(c *ServerConn) End
	// Follow makes it the replica of another host from now on; of none, where the name is empty.
	Follow(primary string)
	// Pause lets the process stand still, Resume go on; Kill ends it, and its connections hear no more.
	Pause()
	Resume()
	Kill()
	// Wipe removes all of its keys, Evict those that have a TTL. Limit lets it refuse what takes memory, or no more.
	Wipe() error
	Evict() error
	Limit(full bool) error
	// SetClock says how the clock of the time of day goes there from now on; also for processes that are started later, so it is
	// called before the first Start, too.
	SetClock(c Clock)
}

// Name is the host's name, Persistence how its node is to keep its data, Seed the run's, Now the run time.
func (h *Host) Name() string                   { return h.name }
func (h *Host) Persistence() world.Persistence { return h.persistence }
func (h *Host) Seed() uint64                   { return h.w.spec.Seed }
func (h *Host) Now() time.Duration             { return h.w.s.now }

// Follows is the host whose replica the server is from the start; empty: it is nobody's.
func (h *Host) Follows() string {
	s := &h.w.spec
	if first := s.Nodes[0].Name; s.Replicated && s.Cluster == nil && h.name != first && h.w.isNode(h.name) {
		return first
	}
	return ""
}

// isNode reports that a name is that of a node of the lock.
func (w *World) isNode(name string) bool {
	return slices.ContainsFunc(w.spec.Nodes, func(n world.Node) bool { return n.Name == name })
}

// Cause is why a server changes a key. The zero Cause is none that a client gave: time, a primary, or what was found at the
// start.
type Cause struct {
	// Conn is the connection over which the command came, Words are its words, and Left is when it left its client.
	Conn  *ServerConn
	Words []string
	Left  time.Duration
}

// Keys takes what a server does to its keys for a reason, as it does it; after a start also what it has found (Set), when all
// that had expired is gone.
func (h *Host) Keys(why Cause) model.Observer {
	o := h.watch
	if c := why.Conn; c != nil {
		o.from = c.link
		a, builtIn := c.far.(*caller)
		if builtIn && a.call != nil {
			o.client = a.call.client
		}
		switch {
		case c.guest():
			o.sent = &sentCommand{why.Left, why.Words}
		case builtIn && a.call != nil && a.call.clientDone:
			o.sent = &sentCommand{left: why.Left}
		}
	}
	return &o
}

// serverProcess is a server on its host.
type serverProcess struct {
	Host
	server Server
	// conns are the connections that are open at its end.
	conns []*ServerConn
	// starting is fired when a process that is being started has come up, or has not; nil: none is.
	starting world.Signal
	// clocksSet counts how often its clock was set.
	clocksSet int
}

var _ service = (*serverProcess)(nil)

// process is the server on the host; nil: a model answers there.
func (h *Host) process() *serverProcess {
	p, _ := h.service.(*serverProcess)
	return p
}

// startWithin bounds how long a server takes to start, in run time.
const startWithin = 30 * time.Second

// onStart implements service.
func (p *serverProcess) onStart(keep world.Keep) (started bool, err error) {
	if p.starting != nil {
		p.starting.Wait(0)
		return false, nil
	}
	starting := p.w.NewSignal()
	p.starting, p.starts = starting, true
	if p.life > 0 {
		p.w.Sleep(processStarts)
	}
	p.server.Start(keep, func(why error) {
		if p.starting == starting {
			if p.up, err = why == nil, why; p.up && &p.Host == p.w.store {
				p.tell([]string{"del"}, p.w.spec.Resource.Volatile()...)
			}
			starting.Fire()
		}
	})
	if !starting.Wait(startWithin) && !p.w.s.stopped {
		err = fmt.Errorf("the server of %s did not start within %v of the run's time", p.name, startWithin)
	}
	p.starting, p.starts = nil, false
	starting.Fire()
	return p.up, err
}

// tell gives the server a command for each of some words, which end it; the answers do not matter.
func (p *serverProcess) tell(command []string, words ...string) {
	if len(words) == 0 {
		return
	}
	c := p.accept(&ServerConn{far: nobody{}})
	if c == nil {
		return
	}
	var b []byte
	for _, word := range words {
		b = resp.AppendCommand(b, append(slices.Clone(command), word)...)
	}
	c.receive(b, p.w.s.now)
	c.broke(false)
}

func (p *serverProcess) onPause() { p.server.Pause() }

func (p *serverProcess) onResume(queue []*call) {
	p.server.Resume()
	for _, k := range queue {
		if p.Host.serve(k) {
			k.answer()
		}
	}
}

func (p *serverProcess) onKill(bool) {
	for _, c := range p.conns {
		c.over = true
		if c.link == nil { // what it had sent to other hosts is on its way
			c.far.hangUp()
		}
	}
	p.conns = nil
	p.server.Kill()
}

func (p *serverProcess) onClock(set func()) {
	set()
	p.clocksSet++
	p.tellClock(p.clocksSet)
}

// tellClock tells the server how its clock goes, and again each time that a strobing one turns.
func (p *serverProcess) tellClock(set int) {
	if set != p.clocksSet {
		return // it has been set again
	}
	now := p.w.s.now
	p.server.SetClock(Clock{Base: p.w.wallZero + now + p.clock.offsetAt(now), Since: now, Rate: p.clock.rate()})
	if f := p.clock.fault; p.clock.moving && f.Strobe > 0 {
		next := f.Strobe - (now-p.clock.since)%f.Strobe
		p.w.s.after(next, func() { p.tellClock(set) })
	}
}

// serve implements service.
func (p *serverProcess) serve(k *call) bool {
	k.served = true
	b, c := k.batch, k.conn.line
	switch {
	case b != nil && b.dial:
		return p.acceptGuest(k)
	case b != nil && c == nil: // it broke before it was open
		return false
	case b != nil && b.closes:
		c.broke(false)
		return false
	case b != nil && k.refusedBy != "" && len(b.commands) == 0: // nobody can tell what to answer
		b.conn.breakLater(k.link.drawDelay())
		return false
	case b != nil:
		in, commands := c.refuser.pass(k)
		c.answers.ask(commands)
		c.receive(in, k.left)
		return false
	}
	if why := k.cmd.Refusal(); why != "" && !k.handshake {
		k.reply = command.RefusedReply(why)
		return true
	}
	if c == nil {
		if c = p.acceptBuiltIn(k); c == nil {
			k.link.breakLater(k, k.link.drawDelay())
			return false
		}
	}
	c.far.(*caller).ask(c, k)
	if k.conn.hungUp {
		c.broke(false)
	}
	return false
}

// accept lets the server take a connection; nil: it refuses it.
func (p *serverProcess) accept(c *ServerConn) *ServerConn {
	c.p = p
	p.conns = append(p.conns, c)
	if c.end = p.server.Accept(c); c.end == nil {
		c.drop()
		return nil
	}
	return c
}

// acceptGuest takes the connection of a guest; false: it is refused.
func (p *serverProcess) acceptGuest(k *call) bool {
	g := k.batch.conn
	if g.broken {
		return false
	}
	c := &ServerConn{link: k.link, far: g}
	if len(k.link.awaits) > 0 {
		c.answers = &answerReader{link: k.link}
	}
	if k.link.w.spec.MayRefuse() {
		c.refuser = &refuser{}
	}
	if k.conn.line = p.accept(c); k.conn.line == nil {
		g.breakLater(k.link.drawDelay())
		return false
	}
	return true
}

// acceptBuiltIn takes the connection of a call. One that has been open since before the run has introduced itself.
func (p *serverProcess) acceptBuiltIn(k *call) *ServerConn {
	far := &caller{conn: k.conn}
	c := p.accept(&ServerConn{link: k.link, far: far})
	if k.conn.line = c; c != nil && !k.handshake {
		far.unasked = 1
		c.receive(resp.AppendCommand(nil, hello(k.conn)...), p.w.s.now)
	}
	return c
}

// hello is how go-redis introduces a new connection.
func hello(c *connection) []string {
	return []string{"hello", "2", "setname", c.call.link.name.From}
}

// ServerConn is a server's end of a connection: of one that it took, or that it opened itself.
type ServerConn struct {
	p   *serverProcess
	end End
	far farEnd
	// link is that of the client; nil: it is another host's.
	link *clientLink
	// from is the other host, port where it wants to go there.
	from string
	port int
	left time.Duration
	over bool
	// answers reads what a guest is sent; nil: the run waits for none of that.
	answers *answerReader
	// refuser is for the commands of a guest that are refused; nil: none can be.
	refuser *refuser
}

// farEnd is what a server's connection leads to.
type farEnd interface {
	// push takes bytes to it, hangUp the end of the connection behind them.
	push(b []byte)
	hangUp()
}

// From is the client or host at the other end; empty: it is the world. Port is where a host wants to go; 0: a client does, to
// Redis. Left is when the bytes that arrived last left there.
func (c *ServerConn) From() string {
	if c.link != nil {
		return c.link.name.From
	}
	return c.from
}
func (c *ServerConn) Port() int           { return c.port }
func (c *ServerConn) Left() time.Duration { return c.left }

// Send sends bytes.
func (c *ServerConn) Send(b []byte) {
	if b = c.refuser.answer(b); !c.over && len(b) > 0 {
		c.far.push(b)
	}
}

// Close closes the connection. The other end sees that behind what has been sent to it.
func (c *ServerConn) Close() {
	if !c.over {
		c.drop()
		c.far.hangUp()
	}
}

// drop lets nothing happen at the connection any more.
func (c *ServerConn) drop() {
	c.over = true
	c.p.conns = slices.DeleteFunc(c.p.conns, func(o *ServerConn) bool { return o == c })
}

// receive hands bytes to the server that left their sender at a time.
func (c *ServerConn) receive(b []byte, left time.Duration) {
	if !c.over {
		c.left = left
		c.end.Arrived(b)
	}
}

// broke tells the server that the connection is over, behind what has come; refused: it never was open.
func (c *ServerConn) broke(refused bool) {
	c.p.runOrDefer(func() {
		if !c.over {
			c.drop()
			c.end.Broke(refused)
		}
	})
}

// guest: the connection is that of a client's guest.
func (c *ServerConn) guest() bool {
	_, is := c.far.(*GuestConn)
	return is
}

// answerReader tells which commands of a guest a server's bytes answer.
type answerReader struct {
	link    *clientLink
	scanner resp.Scanner
	pairing resp.Pairing[[]string]
	// blind: nobody can tell any more.
	blind bool
}

func (r *answerReader) ask(commands [][]string) {
	if r == nil {
		return
	}
	for _, words := range commands {
		asked := words
		if words == nil { // it is refused
			asked = refusedCommand
		}
		if err := r.pairing.Ask(asked, words); err != nil {
			r.stop(err)
		}
	}
}

// stop tells the run that the answers of the connection cannot be told any more.
func (r *answerReader) stop(why error) {
	if hook := r.link.w.hooks.Unread; !r.blind && hook != nil {
		r.link.w.Go(func() { hook(r.link.name, true, why.Error()) })
	}
	r.blind = true
}

// read finds in what the guest is sent which commands it answers, and what is pushed.
func (r *answerReader) read(a *batch) {
	if r == nil {
		return
	}
	for b := a.out; len(b) > 0 && !r.blind; {
		n, whole, err := r.scanner.Next(b)
		if err != nil {
			r.stop(err)
			return
		}
		b = b[n:]
		if !whole {
			continue
		}
		kind, message := r.scanner.Message()
		words, answers := r.pairing.Answer(kind, message)
		if !answers && world.IsPushed(message) {
			a.pushed = append(a.pushed, message)
		}
		if answers && words != nil && !resp.PutsOff(kind, message) {
			if kind == resp.Error || r.scanner.Null() {
				a.empty = append(a.empty, len(a.commands))
			}
			a.commands = append(a.commands, words)
		}
	}
}

// caller is a built-in client at the other end of a server's connection.
type caller struct {
	conn *connection
	// call is that whose answers come, as many as are expected; nil: there is none. Before them come unasked ones.
	call              *call
	expected, unasked int
	in                []byte
}

// ask sends the server what a call asks.
func (a *caller) ask(c *ServerConn, k *call) {
	commands := k.commandWords()
	if k.handshake {
		commands = [][]string{hello(k.conn)}
	}
	a.call, a.expected = k, len(commands)
	var b []byte
	for _, words := range commands {
		b = resp.AppendCommand(b, words...)
	}
	c.receive(b, k.left)
}

// push implements farEnd. The call has its answer when all of its commands have.
func (a *caller) push(b []byte) {
	a.in = append(a.in, b...)
	for {
		v, n, err := resp.Parse(a.in)
		if errors.Is(err, resp.ErrShort) {
			return
		}
		if err != nil {
			a.conn.line.Close()
			return
		}
		a.in = a.in[n:]
		if a.unasked > 0 {
			a.unasked--
			continue
		}
		if a.expected--; a.expected == 0 {
			k := a.call
			a.call = nil
			k.take(v)
			k.answer()
		}
	}
}

// take makes a server's last answer to what the call asked its reply.
func (k *call) take(v resp.Value) {
	answer := v.Plain()
	switch why, failed := answer.(error); {
	case k.handshake && !failed:
		k.reply = command.OKReply()
	case k.cmd.Op == command.EVAL && !k.source && failed && strings.HasPrefix(why.Error(), "NOSCRIPT"):
		k.noScript = true
	case k.cmd.Op == command.EXEC:
		k.reply = client.TransactionReplyOf(answer)
	default:
		k.reply = client.ReplyOf(answer)
	}
}

// hangUp implements farEnd.
func (a *caller) hangUp() { a.conn.call.link.breakOne(a.conn) }

// hangUp tells a server that the client has closed a connection, behind what it had sent there.
func (c *connection) hangUp() {
	c.hungUp = true
	l, line := c.call.link, c.line
	if line == nil {
		if n := l.to.model(); n != nil && c.call.cmd.Op == command.BLPOP && !c.call.arrived { // it may wait there
			l.w.s.after(l.delay, func() { n.runOrDefer(func() { n.forgetPop(c) }) })
		}
		return
	}
	l.w.s.after(l.delay, func() {
		if c.call.served {
			line.broke(false)
		}
	})
}

// endLines tells a server that the connections of built-in clients on a link are over.
func (l *clientLink) endLines() {
	p := l.to.process()
	if p == nil {
		return
	}
	for _, c := range p.conns {
		if _, builtIn := c.far.(*caller); builtIn && c.link == l {
			l.w.s.after(l.delay, func() { c.broke(false) })
		}
	}
}

// nobody is at the other end of a connection whose answers do not matter.
type nobody struct{}

func (nobody) push([]byte) {}
func (nobody) hangUp()     {}

// newServers makes the servers of the lock's nodes and of the resource, and lets them start before the run.
func (w *World) newServers() error {
	for _, n := range w.spec.Nodes {
		h, err := w.newServer(n.Name, n.Persistence)
		if err != nil {
			return err
		}
		w.nodes = append(w.nodes, h)
	}
	all := slices.Clone(w.nodes)
	if !w.spec.SharedStore && !w.spec.Postgres {
		h, err := w.newServer(history.ResourceProcess, w.spec.StorePersistence)
		if err != nil {
			return err
		}
		w.store = h
		all = append(all, h)
	}
	if err := w.newWatchers(); err != nil {
		return err
	}
	all = append(all, w.watchers...)
	w.linkServers()
	var sources []string
	for _, s := range warmed {
		sources = append(sources, s.Lua)
	}
	failures := make([]error, len(all))
	for i, h := range all {
		builtIn := i < len(all)-len(w.watchers) && (w.locks == nil || h == w.store || w.spec.SharedStore && i == 0)
		w.Go(func() {
			if w.fromReady {
				w.Sleep(w.startPhase(i))
			}
			h.service.onClock(func() {})
			_, failures[i] = h.service.onStart(world.KeepNothing)
			if h.up && builtIn { // such clients know their scripts to be known
				h.process().tell([]string{"script", "load"}, sources...)
			}
		})
	}
	w.Wait()
	return errors.Join(failures...)
}

// linkServers makes the links between hosts that there are from the start. Others are there when somebody dials.
func (w *World) linkServers() {
	all := func(senders, receivers []*Host, bus bool) {
		for _, from := range senders {
			for _, to := range receivers {
				if from != to {
					w.lineLink(from, to, bus)
				}
			}
		}
	}
	switch {
	case w.spec.Cluster != nil:
		for bus := range 2 {
			for _, c := range w.spec.Clusters() {
				nodes := w.hostsOf(c.Nodes)
				all(nodes, nodes, bus == 1)
			}
		}
	case w.spec.Sentinel != nil:
		all(w.nodes, w.nodes, false)
		all(w.watchers, slices.Concat(w.nodes, w.watchers), false)
	case w.spec.Replicated:
		all(w.nodes[1:], w.nodes[:1], false)
	}
}

// hostsOf are the hosts of some nodes.
func (w *World) hostsOf(nodes []string) []*Host {
	list := make([]*Host, len(nodes))
	for i, name := range nodes {
		list[i] = w.node(name)
	}
	return list
}

// newWatchers makes the servers that are sentinels.
func (w *World) newWatchers() error {
	if w.spec.Sentinel == nil {
		return nil
	}
	for _, name := range w.spec.Sentinel.Names {
		h, err := w.newServer(name, world.NoPersistence)
		if err != nil {
			return err
		}
		w.watchers = append(w.watchers, h)
	}
	return nil
}

// newServer makes the server of a host.
func (w *World) newServer(name string, p world.Persistence) (*Host, error) {
	s := &serverProcess{Host: w.newHost(name, p)}
	s.service, s.up = s, false
	var err error
	if s.server, err = w.servers.Server(&s.Host); err != nil {
		return nil, fmt.Errorf("failed to make the server of %s: %w", name, err)
	}
	return &s.Host, nil
}

// LookEvery is how often it is asked whether servers have settled (Servers.Settled), before a run.
const LookEvery = 10 * time.Millisecond

// awaitSettled lets time pass until replicas have what their primary has. It looks at whole instants, so that it does not matter how long
// guests took to get ready.
func (w *World) awaitSettled() error {
	for end := w.s.now + startWithin; w.servers != nil && !w.servers.Settled(); {
		if w.s.now > end {
			return fmt.Errorf("the replicas had not got what their primary has within %v of the run's time", startWithin)
		}
		if !w.Sleep(LookEvery - w.s.now%LookEvery) {
			return nil
		}
	}
	return nil
}

// openIdle lets the connections be open with which clients begin.
func (w *World) openIdle() {
	for _, l := range w.links {
		if p := l.to.process(); p != nil && (w.locks == nil || l.name.To == history.ResourceProcess) {
			for _, c := range l.idle { // open since before the run
				p.acceptBuiltIn(&c.call)
			}
		}
	}
}

// follow implements service.
func (p *serverProcess) follow(primary *Host) {
	if primary == nil {
		p.server.Follow("")
	} else {
		p.server.Follow(primary.name)
	}
}
