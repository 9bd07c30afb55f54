package virtual

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/redis/command/model"
	"github.com/redlock-sim/redlock-sim/internal/scenario/resource"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

// World is a virtual world.
type World struct {
	spec  world.Spec
	hooks world.Hooks
	s     scheduler
	// net draws what the network does.
	net *rand.PCG
	// draws says what is drawn, and how it goes on anew.
	draws draws
	// wallZero is the time of day at the run's start, counted from 1970.
	wallZero time.Duration
	// abilities say what commands can do to the lock's key; nil: the run does not wait for that.
	abilities *world.Abilities
	// begins is when a run without guests begins. booted is how long the clients' machines have been up at the time 0.
	begins, booted time.Duration

	nodes []*Host
	store *Host
	// consensus is nil where the lock needs none.
	consensus *Host
	// allModels and allLinks are those of earlier runs, too, to be used again.
	allModels             []*redisModel
	allLinks              []*clientLink
	modelsUsed, linksUsed int
	// connections is how many there have been.
	connections int
	clients     []*clientHost
	// links are those of clients to nodes, peerLinks all others, in a fixed order.
	links     []*clientLink
	peerLinks []*peerLink
	// serverRand draws what servers draw that follow one another.
	sentinels  []*sentinelProcess
	serverRand *rand.PCG
	// watchers are the sentinels that are servers.
	watchers []*Host

	// order decides about messages; nil: their delays do.
	order *ordered
	// guests run beside the world; nil: nobody does. locks are those of clients; nil: they are ours.
	guests Guests
	locks  Locks
	// fromReady: the run's time begins when all guests are ready.
	fromReady bool
	step      time.Duration
	// servers answer on the lock's nodes; nil: models do.
	servers Servers
	// lastGrant says how long the last key lives that was set.
	lastGrant *history.Grant

	closed bool
	// kept says that the world will be opened again: its coroutines stay.
	kept bool
}

var (
	_ world.World   = (*World)(nil)
	_ world.Lasting = (*World)(nil)
)

// Version of the model, which histories from it depend on.
const Version = "3"

// Open builds a world. Cancelling ctx stops the run.
func Open(ctx context.Context, spec world.Spec) (*World, error) {
	w := &World{}
	return w, w.open(ctx, spec)
}

// Engine opens one world after the other and reuses what the last one left. It
// is for one caller at a time.
type Engine struct {
	// Order decides in which order messages arrive; nil: their random delays do.
	Order Order
	// Guests run beside the world; nil: nobody does.
	Guests Guests
	// Locks are those of clients; nil: they are our own.
	Locks Locks
	// Servers answer on the nodes of the lock; nil: models do.
	Servers Servers
	// Wall is the time of day at which runs with guests begin, counted from 1970.
	Wall time.Duration
	// FromReady: the run's time begins when all guests are ready, and what they need to get ready is not part of it.
	FromReady bool
	// Step is what all times of runs with guests are multiples of; 0: of a nanosecond.
	Step time.Duration
	w    World
}

// Open builds a world; the one before it must have been closed.
func (e *Engine) Open(ctx context.Context, spec world.Spec) (*World, error) {
	e.w.fromReady, e.w.step = e.FromReady, e.Step
	e.w.kept, e.w.order, e.w.guests, e.w.locks, e.w.servers, e.w.wallZero = e.Guests == nil, nil, e.Guests, e.Locks, e.Servers, e.Wall
	if e.Order != nil {
		e.w.order = &ordered{Order: e.Order, w: &e.w}
	}
	return &e.w, e.w.open(ctx, spec)
}

// Rest tells of a run under an Order, when it is over: what its last step has
// touched, and the messages that were still under way, with what they would have
// touched at least.
func (e *Engine) Rest() (last Touched, left []Left) {
	for i, p := range e.w.order.waiting {
		if !p.neverArrives() && e.w.order.isNext(i) {
			left = append(left, Left{p.step, Touched{Clients: p.client, Nodes: p.node}})
		}
	}
	return e.w.order.touched, left
}

// Close ends what the engine keeps between worlds.
func (e *Engine) Close() { e.w.s.close() }

// The time of day at which runs begin: the start of some day, and a part of a
// second drawn from the seed.
const epoch = 1_700_006_400 * time.Second

// Begins is the time of day at which a run without guests begins, counted from 1970.
func Begins(spec *world.Spec) time.Duration { return begins(spec, newNet(spec)) }

func newNet(spec *world.Spec) *rand.PCG { return rand.NewPCG(spec.Seed, netPart) }

// The parts of what is drawn that the world has once.
const (
	netPart    = 0x7669727475616c
	serverPart = 0x73656e74696e656c
)

// begins draws it. With a node that syncs once a second it is 20 ms after the beginning of a second, as in the live world, so that a
// schedule can say which writes are safe.
func begins(spec *world.Spec, net *rand.PCG) time.Duration {
	part := time.Duration(net.Uint64() % uint64(time.Second)).Truncate(time.Microsecond) // guests know nothing shorter
	everysec := func(n world.Node) bool { return n.Persistence == world.AOFEverysec }
	if slices.ContainsFunc(spec.Nodes, everysec) || spec.StorePersistence == world.AOFEverysec {
		part = 20 * time.Millisecond
	}
	return epoch + part
}

func (w *World) open(ctx context.Context, spec world.Spec) error {
	if err := spec.Check(); err != nil {
		return err
	}
	if err := w.checkRoles(&spec); err != nil {
		return err
	}
	w.spec, w.hooks, w.closed = spec, world.Hooks{}, false
	w.s.reset(ctx)
	if w.order != nil {
		w.s.pick = w.order.doNextStep
	}
	w.s.guests, w.s.step = w.guests, w.step
	w.draws.begin(spec.Seed)
	w.net, w.abilities, w.booted = w.draws.of(netPart), spec.Abilities(spec.Lock.Keys()...), bootedBefore
	if w.begins = begins(&spec, w.net); w.guests == nil {
		w.wallZero = w.begins
	}
	w.nodes, w.links, w.peerLinks, w.sentinels, w.watchers = w.nodes[:0], w.links[:0], nil, nil, nil
	w.modelsUsed, w.linksUsed, w.connections, w.store = 0, 0, 0, nil
	if err := w.openNodes(); err != nil {
		return err
	}
	if spec.SharedStore {
		w.store = w.nodes[0]
	} else {
		if w.store == nil {
			w.store = w.newNode(history.ResourceProcess, spec.StorePersistence)
		}
		w.store.watch.key, w.store.watch.patterns = "", nil
	}
	w.store.watch.log = spec.Resource.LogKey()
	w.consensus = nil
	if spec.Lock.NeedsConsensus() {
		w.consensus = w.newNode(world.Consensus, world.AOFAlways)
		w.consensus.watch.key = ""
	}
	if spec.Replicated {
		w.serverRand = w.draws.of(serverPart)
	}
	if spec.Replicated && w.servers == nil {
		w.assignRoles()
	}
	if spec.Sentinel != nil && w.servers == nil {
		w.startSentinels()
	}
	return w.openClients()
}

// checkRoles refuses what would have to be modelled otherwise, with those who have a part in the run.
func (w *World) checkRoles(spec *world.Spec) error {
	if spec.Sentinel != nil && w.locks != nil && w.servers == nil {
		return errors.New("lock libraries as they are meet no models of sentinels")
	}
	if w.order != nil && w.servers != nil {
		return errors.New("nobody can decide the order of all messages where servers answer")
	}
	if why := spec.NoModel(); why != "" && w.servers == nil {
		return errors.New(why)
	}
	return nil
}

// warmed are the scripts that clients make known to nodes before a run.
var warmed = append(lock.Scripts(), resource.Scripts()...)

// NodesStartBefore is how long before the run its nodes are started, and a part of mostPhase later, so that their timers do not ring
// together.
const (
	NodesStartBefore = 300 * time.Millisecond
	mostPhase        = 100 * time.Millisecond
)

// startPhase is how much later the i-th node is started; the store is behind those of the lock.
func (w *World) startPhase(i int) time.Duration {
	return time.Duration(mixed(w.spec.Seed, uint64(i)) % uint64(mostPhase))
}

// openNodes makes the nodes of the lock.
func (w *World) openNodes() error {
	if w.servers != nil {
		return w.newServers()
	}
	for _, n := range w.spec.Nodes {
		w.nodes = append(w.nodes, w.newNode(n.Name, n.Persistence))
	}
	return nil
}

// newHost is a host that is up.
func (w *World) newHost(name string, p world.Persistence) Host {
	h := Host{w: w, name: name, persistence: p, up: true, watch: watch{w: w, node: name, key: w.spec.Lock.Key}}
	if w.spec.Shares() { // its key has several owners
		h.watch.key = ""
	}
	if w.locks != nil {
		h.watch.patterns = w.spec.KeyPatterns(w.spec.LockKeys...)
	} else if len(w.spec.Lock.Clients) > 0 {
		h.watch.patterns = w.spec.KeyPatterns(program.KeyPattern)
	}
	return h
}

// newNode is a node that the model of Redis answers on.
func (w *World) newNode(name string, p world.Persistence) *Host {
	if w.modelsUsed == len(w.allModels) {
		w.allModels = append(w.allModels, &redisModel{})
	}
	n := w.allModels[w.modelsUsed]
	w.modelsUsed++
	*n = redisModel{Host: w.newHost(name, p),
		memory: model.Memory{Items: n.memory.Items[:0]}, known: n.known[:0], disk: disk{synced: n.disk.synced[:0]}, redis: n.redis}
	n.service = n
	n.memory.Observer = &n.watch
	n.noteWrites()
	n.known = append(n.known, warmed...) // by the clients, when they got ready
	n.disk.started(n, int64((w.wallZero-NodesStartBefore+w.startPhase(len(w.nodes)))/time.Microsecond), world.KeepNothing)
	if w.locks != nil {
		n.serveGuests()
	}
	return &n.Host
}

func (w *World) openClients() error {
	w.clients = w.clients[:0]
	for process := range slices.Chunk(w.spec.Clients, max(w.spec.PerProcess, 1)) {
		name, ends := process[0], w.nodes
		if w.spec.Replicated && w.spec.Sentinel == nil && w.spec.Cluster == nil {
			ends = w.nodes[:1]
		}
		c := &clientHost{w: w, name: name, links: make([]*clientLink, 0, len(ends))}
		for _, client := range process {
			c.threads = append(c.threads, &clientThread{clientHost: c, name: client})
		}
		for _, n := range ends {
			c.links = append(c.links, w.newLink(name, n))
		}
		switch {
		case w.spec.Cluster != nil:
			for _, cluster := range w.spec.Clusters() { // it has a connection to the first of each alone
				for _, l := range c.links {
					if slices.Contains(cluster.Nodes[1:], l.name.To) {
						l.idle = l.idle[:0]
					}
				}
			}
		case w.spec.Sentinel != nil:
			if w.locks == nil { // else the links to sentinels carry bytes
				c.openSentinelLinks()
			}
		case w.spec.Replicated:
			c.links[0].name.To = world.Primary
		}
		for _, l := range c.links {
			l.awaits, l.tellsCommands = w.spec.Messages.On(l.name), w.spec.Commands
		}
		if w.locks != nil {
			for _, s := range w.watchers {
				c.links = append(c.links, w.newLink(name, s))
			}
		}
		c.store = w.newLink(name, w.store)
		c.store.name.To = history.ResourceProcess
		if w.consensus != nil {
			c.consensus = w.newLink(name, w.consensus)
			w.links = w.links[:len(w.links)-1] // no fault finds it
		}
		w.clients = append(w.clients, c)
		if err := c.start(); err != nil {
			return err
		}
	}
	return nil
}

// newLink opens a link with one connection on it, as a client does when it
// gets ready.
func (w *World) newLink(from string, to *Host) *clientLink {
	index := w.linksUsed
	if index == len(w.allLinks) {
		w.allLinks = append(w.allLinks, &clientLink{})
	}
	w.linksUsed++
	l := w.allLinks[index] // of an earlier run, perhaps
	*l = clientLink{w: w, name: world.Link{From: from, To: to.name}, index: index, to: to, rand: w.net,
		delay:   leastDelay + addition(w.net.Uint64()>>32),
		pending: l.pending[:0], idle: l.idle[:0], guestConns: l.guestConns[:0]}
	if w.locks != nil { // what happens on one link draws nothing that another needs
		l.rand = w.draws.of(mixed(uint64(index)))
		l.directions[requests].Rand, l.directions[answers].Rand = l.rand, l.rand
	} else if w.order == nil {
		l.directions[requests].Rand, l.directions[answers].Rand = w.net, w.net
	}
	l.idle = append(l.idle, l.addConnection(&l.opened))
	if w.servers != nil && w.spec.Lock.Pooled() { // as in the live world
		l.idle = append(l.idle, l.addConnection(&connection{}))
	}
	w.links = append(w.links, l)
	return l
}

// Start begins the run's time.
func (w *World) Start(h world.Hooks) error {
	err := w.awaitSettled()
	w.openIdle()
	err = errors.Join(err, w.awaitLocks())
	if err == nil && w.spec.WarmUp && w.locks != nil {
		err = w.warmUp()
	}
	if w.fromReady {
		w.beginNow()
	}
	w.hooks = h
	return err
}

// beginNow makes this instant the time 0 of the run, or the next one at which a run can begin.
func (w *World) beginNow() {
	w.AwaitInstant()
	w.shift()
	w.guests.Begin()
}

// AwaitInstant lets time pass until a second is as far on as where no guests are, where a server may care. Where guests have the locks it
// is // a whole number of steps after they were started: some microseconds more or less, which they took to get ready, change nothing then.
func (w *World) AwaitInstant() {
	if w.locks != nil {
		const step = 10 * time.Millisecond
		w.s.sleep(step - w.s.now%step)
	}
	if w.locks == nil || slices.ContainsFunc(w.spec.Nodes, func(n world.Node) bool { return n.Persistence == world.AOFEverysec }) {
		w.s.sleep(((w.begins-w.wallZero-w.s.now)%time.Second + time.Second) % time.Second)
	}
}

// shift makes this instant the time 0.
func (w *World) shift() {
	by := w.s.now
	w.wallZero += by
	w.s.shift(by)
	for _, l := range w.links {
		for _, g := range l.guestConns {
			for dir := range g.directions {
				g.directions[dir].free -= by
			}
		}
	}
	for _, x := range w.peerLinks {
		for _, p := range x.conns {
			p.free[requests] -= by
			p.free[answers] -= by
		}
	}
}

// Again implements world.Lasting. Guests read the clocks of their machines from their own time.
func (w *World) Again(messages world.Patterns) error {
	switch {
	case w.order != nil || w.s.stopped:
		return errors.New("the run cannot go on as another one")
	case len(w.sentinels) > 0:
		return errors.New("models of sentinels remember instants of a run")
	}
	w.spec.Messages, w.lastGrant = messages, nil
	w.abilities = w.spec.Abilities(w.spec.Lock.Keys()...)
	if w.locks == nil {
		w.booted += w.s.now
	}
	w.shift()
	for _, n := range w.nodes {
		if m := n.model(); m != nil {
			m.swept = 0
		}
	}
	for _, c := range w.clients {
		for _, l := range c.links {
			l.awaits = messages.On(l.name)
		}
	}
	if w.guests != nil {
		w.guests.Begin()
	}
	return nil
}

// Now is the run time.
func (w *World) Now() time.Duration { return w.s.now }

// Sleep lets time pass.
func (w *World) Sleep(d time.Duration) bool {
	if w.s.stopped {
		return false
	}
	w.s.sleep(d)
	return !w.s.stopped
}

// Go starts an activity. It begins when the caller waits for something.
func (w *World) Go(f func()) { w.s.start(f, true) }

// Wait waits for the end of all activities.
func (w *World) Wait() { w.s.wait() }

// NewSignal makes a signal.
func (w *World) NewSignal() world.Signal { return &signal{s: &w.s} }

// Client is a client by name.
func (w *World) Client(name string) world.Client { return w.thread(name) }

func (w *World) thread(name string) *clientThread {
	for _, c := range w.clients {
		for _, t := range c.threads {
			if t.name == name {
				return t
			}
		}
	}
	return nil
}

// client is the process of a client; nil: there is no such client.
func (w *World) client(name string) *clientHost {
	if t := w.thread(name); t != nil {
		return t.clientHost
	}
	return nil
}

// Process are the clients that share a client's process.
func (w *World) Process(client string) []string { return w.spec.Process(client) }

// IsClient reports whether name is a client.
func (w *World) IsClient(name string) bool { return slices.Contains(w.spec.Clients, name) }

// Stop ends the run.
func (w *World) Stop() { w.s.halt() }

// Stopped reports that the run is to end.
func (w *World) Stopped() bool { return w.s.stopped }

// errStuck says that the model came to a standstill, which a run with a time
// limit never does.
var errStuck = errors.New("every activity waited for ever")

// Flush has nothing to wait for: observation is immediate. It tells the commands that are
// under way.
func (w *World) Flush() error {
	for _, c := range w.clients {
		for _, l := range c.links {
			for _, k := range l.pending {
				k.reportCommands()
			}
			for _, g := range l.guestConns {
				g.commands.over()
			}
		}
	}
	if w.s.stuck {
		return errStuck
	}
	return nil
}

// Versions names the model, and the servers in its place.
func (w *World) Versions() map[string]string {
	versions := map[string]string{"virtual-world": Version}
	if w.servers != nil {
		maps.Copy(versions, w.servers.Versions())
	}
	return versions
}

// Close ends everything.
func (w *World) Close() error {
	if w.closed {
		return nil
	}
	w.closed = true
	w.hooks = world.Hooks{}
	w.s.halt()
	w.s.drain()
	for _, c := range w.clients {
		c.machine.end()
	}
	if !w.kept {
		w.s.close()
	}
	return nil
}

func (w *World) record(e history.Event) {
	if w.hooks.Record != nil {
		w.hooks.Record(e)
	}
}
