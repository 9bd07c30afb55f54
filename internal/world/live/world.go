// Package live is the world of real things: redis-server processes, toxiproxy
// links and clients in processes of their own, on the machine's loopback.
package live

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/client"
	"github.com/redlock-sim/redlock-sim/internal/world/live/clients"
	"github.com/redlock-sim/redlock-sim/internal/world/live/docker"
	"github.com/redlock-sim/redlock-sim/internal/world/live/observe"
	"github.com/redlock-sim/redlock-sim/internal/world/live/postgres"
	"github.com/redlock-sim/redlock-sim/internal/world/live/proxy"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server"
)

// Options say how to build a live world.
type Options struct {
	// ClientCommand starts a client process that speaks the line protocol.
	ClientCommand []string
	// Kept are servers that stay from run to run; nil: the run has servers of its own.
	Kept *Kept
	// Resting are servers and clients that runs of our own locks share, one after the other; nil: the run has its own.
	Resting *Resting
	// Pace is told when the run begins, and how long starts took; nil: nobody is.
	Pace *machine.Pace
	server.Options
}

// World is a live world.
type World struct {
	spec   world.Spec
	ctx    context.Context
	cancel context.CancelFunc

	// scratch is the folder with the data of servers.
	scratch string
	servers *server.Servers
	// kept gets the servers back; nil: they end with the run. ready: they run and answer.
	kept  *Kept
	ready bool
	// postgres has the resource or the lock, where it is not nil.
	postgres *postgres.Server
	links    *proxy.Proxies
	// engine has the containers of lock programs; nil: they are processes.
	engine *docker.Engine
	// primaries are the addresses at which replicas found their primaries.
	primaries sync.Map
	// announced are the addresses at which servers and sentinels reach one another.
	announced map[string]string
	// sentinelIDs are the sentinels by how they call one another.
	sentinelIDs map[string]string
	// cluster is what the run has of its Redis Cluster.
	cluster clusterParts
	// roles are those of servers that sentinels watch, as Redis calls them.
	roles sync.Map
	// lives has a lock for each client and node, see changeLife.
	lives sync.Map
	// reader reads what passes between clients and nodes.
	reader      *proxy.ConnReader
	clients     *clients.Clients
	observation *observe.Observation

	// unread are connections that could not be read before the run began.
	unread struct {
		sync.Mutex
		early []func(*world.Hooks)
	}

	time machine.RunTime
	pace *machine.Pace
	// wall is the steady offset of the wall clock.
	wall func() (offset, uncertain time.Duration)
	// begun: the run's time has begun, and does not begin anew.
	begun atomic.Bool
	hooks atomic.Pointer[world.Hooks]

	activities sync.WaitGroup
	// background are goroutines that end when the parts are closed.
	background sync.WaitGroup
	// lack is what the machine had no more of.
	lack     atomic.Pointer[error]
	closing  sync.Once
	closeErr error
}

var _ world.World = (*World)(nil)

// Open builds a world: nodes first, then links and clients. Cancelling ctx
// stops the run. On an error nothing is left behind.
func Open(ctx context.Context, spec world.Spec, o Options) (*World, error) {
	if err := spec.Check(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	w := &World{spec: spec, ctx: ctx, cancel: cancel, pace: o.Pace,
		links: proxy.New(), announced: make(map[string]string), sentinelIDs: make(map[string]string)}
	w.links.Refused, w.links.Lacks = w.refused, w.endForLack
	if err := w.build(o); err != nil {
		_ = w.Close()
		return nil, err
	}
	return w, nil
}

func (w *World) build(o Options) (err error) {
	shown := w.spec.Lock.Key
	if w.scratch, err = machine.Scratch(); err != nil {
		return err
	}
	if err := w.findServers(o); err != nil {
		return err
	}
	w.makeObservers(o.Nodes == server.External, shown)
	if err := w.makeClients(o); err != nil {
		return err
	}
	if err := w.openCluster(); err != nil {
		return err
	}
	if err := w.startServers(); err != nil {
		return err
	}
	switch {
	case w.spec.Cluster != nil:
		err = w.joinCluster(w.ctx)
	case w.spec.Sentinel != nil:
		err = w.startSentinels(w.ctx)
	case w.spec.Replicated:
		err = w.replicate(w.ctx)
	}
	if err != nil {
		return err
	}
	if err := w.servers.StartConsensus(w.ctx); err != nil {
		return err
	}
	return w.startClients()
}

// makeObservers makes what sees the nodes and what reads the links to them. The history calls the lock's key shown. External: the
// nodes are servers of others.
func (w *World) makeObservers(external bool, shown string) {
	w.observation = &observe.Observation{Ctx: w.ctx, Key: w.spec.Lock.Key, Shown: shown, Others: w.spec.Lock.Keys()[1:],
		Resource: w.spec.Resource, Record: w.recordSeen, Stop: w.Stop, Background: &w.background, Replicated: w.spec.Replicated,
		Evicts:  external || w.spec.Lock.Program != nil, // which can let a node evict keys
		Reopens: w.spec.Sentinel != nil, Reopened: w.tellRole}
	w.reader = w.newConnReader(shown)
	// What our own clients say to servers of others may be in TLS, from end to end.
	w.reader.Names = !external || w.spec.Lock.Program != nil
	w.observation.Left = func(name string, words []string, since time.Duration) (time.Duration, bool) {
		at, known := w.reader.LeftAt(name, words, since)
		return at - w.time.SinceBoot(), known
	}
	if w.spec.Cluster != nil {
		w.observation.Payload = (&observe.Payloads{Ctx: w.ctx, By: w.servers.Store}).Key
	}
	w.wall = observe.Steady(w.time.WallOffset)
	if w.spec.Lock.Program != nil {
		w.observation.Strangers = w.strangers(!external)
		// On servers of others the lock's key has been given a prefix.
		w.observation.Strangers.Prefix = strings.TrimSuffix(w.spec.Lock.Key, shown)
	}
}

// makeClients makes the clients, none of which has started.
func (w *World) makeClients(o Options) (err error) {
	w.clients = &clients.Clients{Ctx: w.ctx, Command: o.ClientCommand, Dir: w.spec.Dir, Time: &w.time, Record: w.record, AtPoint: w.atPoint,
		Background: &w.background}
	if w.kept != nil {
		w.clients.Resting = &w.kept.clients
	} else if o.Resting != nil && w.spec.Lock.Program == nil {
		w.clients.Resting = &o.Resting.clients
	}
	if w.spec.Lock.Program == nil {
		return nil
	}
	for _, one := range w.spec.Lock.All() {
		if _, contained := program.Image(one.Program.Command); contained && w.engine == nil {
			if w.engine, err = docker.Connect(w.ctx); err != nil {
				return err
			}
			w.clients.Containers = w.engine
		}
	}
	return nil
}

// startServers starts the servers, unless they were kept, and PostgreSQL where the run needs it.
func (w *World) startServers() error {
	var group machine.Group
	began := machine.Monotonic()
	if !w.ready {
		group.Go(func() error { return w.servers.Start(w.ctx) })
	}
	if w.spec.Postgres || w.spec.LockStore == client.Postgres {
		group.Go(func() (err error) {
			w.postgres, err = postgres.Start(w.ctx, w.scratch, filepath.Join(w.spec.Dir, "postgres.log"))
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	w.ready = true
	w.pace.Started(machine.Monotonic() - began)
	return nil
}

// findServers makes the servers, or takes those that were kept.
func (w *World) findServers(o Options) (err error) {
	if w.spec.Sentinel == nil && w.spec.Cluster == nil { // who has been primary, and what sentinels remember, stays with their servers
		w.kept = o.Kept
	}
	if w.kept != nil {
		w.servers, w.ready, err = w.kept.take(w.ctx, &w.spec, o.Options)
	} else {
		if o.Resting != nil && w.spec.Lock.Program == nil {
			o.Options.Resting = &o.Resting.servers
		}
		w.servers, err = server.New(w.ctx, &w.spec, w.scratch, o.Options)
	}
	return err
}

// leaveServers ends the servers, or gives them back.
func (w *World) leaveServers() {
	if w.kept != nil && w.ready {
		w.closeErr = w.kept.give(w.servers)
		return
	}
	w.closeErr = w.servers.Close()
}

func (w *World) startClients() error {
	if err := w.giveClocks(); err != nil {
		return err
	}
	var group machine.Group
	began := machine.Monotonic()
	defer func() { w.pace.Started(machine.Monotonic() - began) }()
	for of := range slices.Chunk(w.spec.Clients, max(w.spec.PerProcess, 1)) {
		setups, err := w.setupsOf(of)
		if err != nil {
			return err
		}
		group.Go(func() error { return w.clients.Start(setups) })
	}
	if err := group.Wait(); err != nil || !w.warms() {
		return err
	}
	return w.dropWarmUp()
}

// giveClocks lets the wall clocks of lock programs be moved.
func (w *World) giveClocks() error {
	if w.spec.Lock.Program == nil || !slices.Contains(w.spec.Needs, world.ClientClockPower) {
		return nil
	}
	w.clients.Clocks = make(map[string]*machine.Faketime)
	for _, name := range w.spec.Clients {
		clock, err := machine.NewFaketimeHere(filepath.Join(w.scratch, "program-"+name))
		if err != nil {
			return err
		}
		w.clients.Clocks[name] = clock
	}
	return nil
}

// setupsOf are what the clients of a process are told. They share the links of the first.
func (w *World) setupsOf(process []string) (list []client.SetupMessage, err error) {
	setup, err := w.setupOf(process[0])
	if err != nil {
		return nil, err
	}
	if len(process) > 1 {
		setup.Process = process
	}
	for _, name := range process {
		setup.Client, setup.Lock = name, w.spec.LockOf(name)
		list = append(list, setup)
		setup.WarmUp = "" // the program is warm
	}
	return list, nil
}

// setupOf opens the links of a client and says where they are.
func (w *World) setupOf(name string) (client.SetupMessage, error) {
	s := client.SetupMessage{
		Protocol: client.ProtocolVersion, Client: name, Seed: w.spec.Seed,
		Lock: w.spec.LockOf(name), Resource: w.spec.Resource, Points: w.spec.Points, Replicated: w.spec.Replicated,
		Clusters: w.spec.Clusters(), Modes: w.spec.Modes,
	}
	if w.warms() {
		s.WarmUp = warmUpKey + name
	}
	if c := w.clients.Clocks[name]; c != nil {
		s.Environ = c.Variables()
	}
	if w.spec.Sentinel != nil {
		var err error
		if s.Sentinels, err = w.sentinelLinks(name); err != nil {
			return s, err
		}
		s.Master = server.MasterName
	}
	if err := w.clusterLinks(name, &s); err != nil {
		return s, err
	}
	for _, e := range w.endpoints() {
		reader, invitation := w.reader, w.servers.Host.Invitation
		if w.spec.LockStore != "" {
			reader, invitation = nil, w.invitationToStore
		}
		address, err := w.links.Open(name, e.Name, e.Dial, reader)
		if err != nil {
			return s, err
		}
		s.Nodes = append(s.Nodes, invitation(e, address))
	}
	store, invitation := w.resourceEnd()
	address, err := w.links.Open(name, store.Name, store.Dial, nil)
	if err != nil {
		return s, err
	}
	s.Store = invitation(store, address)
	if c := w.servers.Consensus; c != nil {
		if address, err = w.links.OpenSpared(name, world.Consensus, c.Dial); err != nil {
			return s, err
		}
		s.Consensus = &client.Address{Name: world.Consensus, Kind: c.Kind, Address: address}
	}
	return s, nil
}

// invitationToStore says where a link to the lock's store is, which is no Redis node.
func (w *World) invitationToStore(e server.Endpoint, link string) client.Address {
	if w.spec.LockStore == client.Postgres {
		a := w.postgres.Invitation(link)
		a.Name = e.Name
		return a
	}
	return client.Address{Name: e.Name, Kind: w.spec.LockStore, Address: link}
}

// resourceEnd is where links to the resource lead, and what makes an invitation to
// it.
func (w *World) resourceEnd() (server.Endpoint, func(server.Endpoint, string) client.Address) {
	if w.spec.Postgres {
		return server.Endpoint{Name: history.ResourceProcess, Dial: w.postgres.Dial},
			func(_ server.Endpoint, link string) client.Address { return w.postgres.Invitation(link) }
	}
	return w.servers.Store.Endpoint(history.ResourceProcess), w.servers.Store.Host.Invitation
}

// endForLack ends a run for which the machine has no more of something.
func (w *World) endForLack(what error) {
	w.lack.CompareAndSwap(nil, &what)
	w.Stop()
}

// refused notes in the log of a client that its link let somebody not in: its lock program
// may run as another user. The connection has changed nothing.
func (w *World) refused(l world.Link, why error) {
	if !w.IsClient(l.From) {
		return
	}
	if log, err := clients.OpenLog(w.spec.Dir, l.From); err == nil {
		_, _ = fmt.Fprintf(log, "sim: the link from %s to %s refused a connection: %v\n", l.From, l.To, why)
		_ = log.Close()
	}
}

// strangers is what to observe of a lock program. fresh: nodes start without keys.
func (w *World) strangers(fresh bool) *observe.Strangers {
	s := &observe.Strangers{
		Served:     w.reader.Served,
		NameAt:     func(from string, n *server.Node) string { return w.reader.NameAt(from, n.Address()) },
		WallOffset: w.wall,
		Leased:     w.spec.LockLeased, Permits: w.spec.Lock.Permits > 0,
		Fresh: fresh, Primary: w.isPrimary, Keys: w.spec.KeyPatterns(w.spec.LockKeys...)}
	return s
}

// newConnReader is what reads the links to nodes. The history calls the lock's key shown.
func (w *World) newConnReader(shown string) *proxy.ConnReader {
	reader := &proxy.ConnReader{Awaits: w.spec.Messages, Refuses: w.spec.MayRefuse(), Go: w.background.Go,
		RunWords: w.runWords(shown), Abilities: w.spec.Abilities(shown),
		Message: func(m world.Message) {
			if h := w.hooks.Load(); h != nil && h.Message != nil {
				h.Message(m)
			}
		},
		Unread: func(l world.Link, answers bool, why string) {
			w.unread.Lock()
			defer w.unread.Unlock()
			tell := func(h *world.Hooks) { h.Unread(l, answers, why) }
			if h := w.hooks.Load(); h == nil { // it is told when the run begins
				w.unread.early = append(w.unread.early, tell)
			} else if h.Unread != nil {
				tell(h)
			}
		}}
	if w.spec.Commands {
		reader.Command = w.command
	}
	return reader
}

// runWords gives the lock's keys the name that the run has for them: on servers of others they have
// a prefix, and a lock program may have several, or one of another name.
func (w *World) runWords(shown string) func(words []string) []string {
	var patterns []string
	for _, p := range w.spec.LockKeys {
		if strings.Contains(p, program.KeyPattern) {
			patterns = append(patterns, p)
		}
	}
	called, keys := w.spec.KeyPatterns(patterns...), w.spec.Lock.Keys()
	return func(words []string) []string {
		words = slices.Clone(words)
		for i, word := range words {
			if i > 0 && (slices.Contains(keys, word) || called.Fit(word)) {
				words[i] = shown
			}
		}
		return words
	}
}

// command tells of a command, if it left its client since the run began.
func (w *World) command(l world.Link, c world.Command) {
	h := w.hooks.Load()
	if !w.begun.Load() || h.Command == nil {
		return
	}
	zero := int64(w.time.SinceBoot())
	if c.Left -= zero; c.Left < 0 {
		return
	}
	if c.Answered.IsSet() {
		c.Answered = history.Some(c.Answered.V() - zero)
	}
	h.Command(l.From, c)
}

// Start opens observation and begins the run's time.
func (w *World) Start(h world.Hooks) error {
	if w.spec.WarmUp {
		for _, name := range w.spec.Clients {
			if err := client.WarmUp(name, w.Client(name)); err != nil && w.ctx.Err() == nil {
				return err
			}
		}
	}
	w.hooks.Store(&h)
	w.time.Begin()
	if err := w.watchCluster(); err != nil {
		return err
	}
	for _, n := range w.servers.All() {
		if err := w.observe(n); err != nil {
			return err
		}
	}
	if err := w.listenToAll(); err != nil {
		return err
	}
	if w.spec.Postgres {
		if err := w.postgres.Listen(w.ctx, observe.TellEffect(w.time.WallOffset, w.record)); err != nil {
			return err
		}
	}
	w.alignToSecond()
	w.time.Begin()
	w.pace.Begin()
	w.pace.TellStalls(w.stalled)
	w.begun.Store(true)
	w.unread.Lock()
	defer w.unread.Unlock()
	for _, tell := range w.unread.early {
		if h.Unread != nil {
			tell(&h)
		}
	}
	return nil
}

// alignToSecond lets runs with aof-everysec begin shortly after a full second:
// Redis fsyncs at the first write of each second of the wall clock, and a
// schedule can then say which writes are safe.
func (w *World) alignToSecond() {
	everysec := func(n *server.Node) bool { return n.Persistence == world.AOFEverysec }
	if slices.ContainsFunc(w.servers.All(), everysec) {
		past := machine.Wall() % time.Second
		w.Sleep(time.Second + 20*time.Millisecond - past)
	}
}

// observe opens the observation of a node.
func (w *World) observe(n *server.Node) error {
	ahead, about, err := n.Host.Ahead(w.ctx, n)
	if err != nil {
		return err
	}
	offset := func() (time.Duration, time.Duration) {
		offset, uncertain := w.time.WallOffset()
		return offset + ahead, uncertain + about
	}
	return w.observation.Observe(n, w.servers.Nodes[n.Name] == n && w.spec.RecordsKeys(), n == w.servers.Store, offset)
}

// Flush waits until the monitors have shown everything carried out so far.
func (w *World) Flush() error {
	ctx, cancel := context.WithTimeoutCause(context.Background(),
		observe.FlushWithin, machine.TookTooLong(observe.FlushWithin, "lags more than %v behind", observe.FlushWithin))
	defer cancel()
	var group machine.Group
	if w.spec.Postgres {
		group.Go(func() error { return w.postgres.Flush(ctx) })
	}
	for _, n := range w.servers.All() {
		group.Go(func() error {
			defer w.changeLife(n.Name)() // it may be coming back
			return w.observation.Flush(ctx, n)
		})
	}
	group.Go(w.clients.Err)
	err := errors.Join(group.Wait(), w.lookAtCluster())
	w.reader.Flush()
	return err
}

// Now is the run time. What is seen before the run begins, of keys that were written at set-up, is of its beginning.
func (w *World) Now() time.Duration {
	if !w.begun.Load() {
		return 0
	}
	return w.time.Now()
}

// Sleep lets time pass, or returns false early where the run is stopped.
func (w *World) Sleep(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-w.ctx.Done():
		return false
	}
}

// Stop ends the run.
func (w *World) Stop() { w.cancel() }

// Stopped reports that the run is to end now.
func (w *World) Stopped() bool { return w.ctx.Err() != nil }

// Go starts an activity.
func (w *World) Go(f func()) { w.activities.Go(f) }

// Wait waits for the end of all activities.
func (w *World) Wait() { w.activities.Wait() }

// Client is a client by name. It stays the same through restarts.
func (w *World) Client(name string) world.Client { return restartable{w, name} }

// Process are the clients that share a client's process.
func (w *World) Process(client string) []string { return w.spec.Process(client) }

// IsClient reports whether name is a client.
func (w *World) IsClient(name string) bool { return slices.Contains(w.spec.Clients, name) }

// restartable passes requests to the process that is the client now.
type restartable struct {
	w    *World
	name string
}

func (r restartable) Do(q client.Request) client.Answer {
	return clients.Client{Process: r.w.clients.Named(r.name), Name: r.name}.Do(q)
}

// observedBy are the witnesses of what the lock's nodes did.
func (w *World) observedBy() string {
	var list []string
	if w.reader != nil && w.reader.Names {
		list = append(list, "wire")
	}
	if w.spec.LockStore == "" {
		list = append(list, "monitor")
		for _, n := range w.servers.Nodes {
			if n.Journal() != nil && !slices.Contains(list, "journal") {
				list = append(list, "journal")
			}
		}
	}
	return strings.Join(list, ", ")
}

// Versions names what took part.
func (w *World) Versions() map[string]string {
	v := w.servers.Versions()
	if by := w.observedBy(); by != "" {
		v["observed by"] = by
	}
	if w.postgres != nil {
		v["postgres"] = w.postgres.Version
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dep := range info.Deps {
			if dep.Path == "github.com/Shopify/toxiproxy/v2" {
				v["toxiproxy"] = dep.Version
			}
		}
	}
	return v
}

// Close ends every process and connection of the world, paused ones included.
func (w *World) Close() error {
	w.closing.Do(func() {
		w.pace.TellStalls(nil)
		w.cancel()
		if w.observation != nil {
			w.clients.Close()
			if w.engine != nil {
				w.engine.Close()
			}
			w.observation.Close()
		}
		if w.servers != nil && (w.kept == nil || !w.ready) {
			w.servers.Stop()
		}
		if w.postgres != nil {
			w.postgres.Stop()
		}
		w.links.Close()
		w.background.Wait()
		if w.servers != nil {
			w.leaveServers()
		}
		w.closeErr = errors.Join(w.closeErr, machine.Discard(w.scratch))
		if what := w.lack.Load(); what != nil {
			w.closeErr = errors.Join(*what, w.closeErr)
		}
		if w.observation != nil {
			w.closeErr = errors.Join(w.observation.Err(), w.closeErr)
		}
	})
	return w.closeErr
}

func (w *World) record(e history.Event) {
	if h := w.hooks.Load(); h != nil && h.Record != nil {
		h.Record(e)
	}
}

// stalled records that this machine stalled for a while.
func (w *World) stalled(took time.Duration) {
	if !w.Stopped() {
		w.record(history.Event{Process: history.RunProcess, Type: history.Info, F: history.Stalled,
			Value: history.Value{Rare: &history.Rare{Took: history.Some(int64(took))}}})
	}
}

func (w *World) atPoint(client, point string) {
	if h := w.hooks.Load(); h != nil && h.Point != nil {
		h.Point(client, point)
	}
}

// NewSignal makes a signal.
func (w *World) NewSignal() world.Signal {
	return &signal{w: w, fired: make(chan struct{})}
}

// signal is a thing that happens once.
type signal struct {
	w     *World
	once  sync.Once
	fired chan struct{}
}

func (s *signal) Fire() { s.once.Do(func() { close(s.fired) }) }

func (s *signal) Wait(d time.Duration) bool {
	var late <-chan time.Time
	if d > 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		late = t.C
	}
	select {
	case <-s.fired:
		return true
	case <-late:
		return false
	case <-s.w.ctx.Done():
		return false
	}
}
