// Package live is the world of real things: redis-server processes, toxiproxy
// links and clients in processes of their own, on the machine's loopback.
package live

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/redlock-sim/redlock-sim/internal/client"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/live/machine"
	"github.com/redlock-sim/redlock-sim/internal/world/live/proxy"
)

// Options say how to build a live world.
type Options struct {
	// ClientCommand starts a client process that speaks the line protocol.
	ClientCommand []string
	// Nodes says where the nodes come from; empty: Auto.
	Nodes Provider
	// Existing are the nodes with External.
	Existing *Existing
	// Image is what nodes in Docker run in; empty: docker.DefaultImage.
	Image string
}

// World is a live world.
type World struct {
	spec    world.Spec
	options Options
	dir     string
	ctx     context.Context
	cancel  context.CancelFunc

	// host runs the nodes, storeHost the resource; they may be the same.
	host, storeHost host

	nodes map[string]*redisNode
	// store is the node with the resource; nil where PostgreSQL has it.
	store    *redisNode
	postgres *postgres
	// consensus is nil where the lock needs none.
	consensus *consensus
	links     *proxy.Proxies
	version   string

	mu       sync.Mutex // guards what follows
	clients  map[string]*clientProcess
	monitors map[string]*monitor

	// shownKey is what the history calls the lock's key. On servers of somebody
	// else it has a prefix.
	shownKey string

	// zero is the machine's monotonic clock at the run's start, in ns.
	zero  atomic.Int64
	hooks atomic.Pointer[world.Hooks]

	activities sync.WaitGroup
	// background are goroutines that end when the parts are closed.
	background sync.WaitGroup
	closing    sync.Once
	closeErr   error
}

var _ world.World = (*World)(nil)

// Open builds a world: nodes first, then links and clients. Cancelling ctx
// stops the run. On an error nothing is left behind.
func Open(ctx context.Context, spec world.Spec, o Options) (*World, error) {
	ctx, cancel := context.WithCancel(ctx)
	w := &World{
		spec: spec, options: o, ctx: ctx, cancel: cancel, dir: spec.Dir, shownKey: spec.Lock.Key,
		nodes: make(map[string]*redisNode), clients: make(map[string]*clientProcess),
		monitors: make(map[string]*monitor), links: proxy.New(),
	}
	err := w.build()
	if err != nil {
		_ = w.Close()
		return nil, err
	}
	return w, nil
}

func (w *World) build() error {
	if err := w.spec.Check(has); err != nil {
		return err
	}
	if err := w.chooseHosts(); err != nil {
		return err
	}
	if err := w.startNodes(); err != nil {
		return err
	}
	first := w.nodes[w.spec.Nodes[0].Name]
	info, err := first.admin.Info(w.ctx, "server").Result()
	if err != nil {
		return fmt.Errorf("failed to ask node %s for its version: %w", first.name, err)
	}
	w.version = infoField(info, "redis_version")
	if valkey := infoField(info, "valkey_version"); valkey != "" {
		w.version = "Valkey " + valkey
	}
	if w.spec.Lock.NeedsConsensus() {
		if w.consensus, err = startConsensus(w.ctx, w.dir, w.storeHost); err != nil {
			return err
		}
	}
	return w.startClients()
}

func (w *World) startNodes() error {
	for _, n := range w.spec.Nodes {
		w.nodes[n.Name] = &redisNode{name: n.Name, host: w.host, persistence: n.Persistence, dir: filepath.Join(w.dir, "node-"+n.Name)}
	}
	switch {
	case w.spec.SharedStore:
		w.store = w.nodes[w.spec.Nodes[0].Name]
	case !w.spec.Postgres:
		w.store = &redisNode{name: history.ResourceProcess, host: w.storeHost, persistence: w.spec.StorePersistence,
			dir: filepath.Join(w.dir, history.ResourceProcess)}
	}
	for _, n := range w.allNodes() {
		if err := os.MkdirAll(n.dir, 0o755); err != nil {
			return fmt.Errorf("failed to make the folder of node %s: %w", n.name, err)
		}
	}
	if slices.Contains(w.spec.Needs, world.NodeClockPower) {
		if err := w.giveClocks(); err != nil {
			return err
		}
	}
	var group machine.Group
	for _, n := range w.allNodes() {
		group.Go(func() error { return n.start(w.ctx) })
	}
	if w.spec.Postgres {
		group.Go(func() (err error) {
			w.postgres, err = startPostgres(w.ctx, filepath.Join(w.dir, "postgres.log"))
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if err := w.canCutPower(); err != nil || !w.spec.Replicated {
		return err
	}
	return w.replicate(w.ctx)
}

// canCutPower makes sure that it can be seen what servers have fsynced, where
// that is going to matter.
func (w *World) canCutPower() error {
	if !slices.Contains(w.spec.Needs, world.PowerCutPower) {
		return nil
	}
	for _, n := range w.allNodes() {
		if n.persistence == world.AOFEverysec && n.server.PID() == 0 {
			return fmt.Errorf("a power cut (kill with keep: synced) of node %s is not possible: its process cannot be seen from here, and so not what it has fsynced", n.name)
		}
	}
	return nil
}

// giveClocks lets the clocks of the lock's nodes be moved. The resource keeps
// the machine's clock: it stamps the effects.
func (w *World) giveClocks() (err error) {
	for _, n := range w.nodes {
		if n.clock, err = n.host.clock(n); err != nil {
			return err
		}
	}
	return nil
}

func (w *World) startClients() error {
	var group machine.Group
	for _, name := range w.spec.Clients {
		setup, err := w.setupOf(name)
		if err != nil {
			return err
		}
		group.Go(func() error {
			c, err := startClient(w, setup)
			if err != nil {
				return err
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			w.clients[name] = c
			return nil
		})
	}
	return group.Wait()
}

// setupOf opens the links of a client and says where they are.
func (w *World) setupOf(name string) (client.SetupMessage, error) {
	s := client.SetupMessage{
		Protocol: client.ProtocolVersion, Client: name, Seed: w.spec.Seed,
		Lock: w.spec.Lock, Resource: w.spec.Resource, Points: w.spec.Points,
	}
	for _, e := range w.endpoints() {
		address, err := w.links.Open(name, e.name, e.address)
		if err != nil {
			return s, err
		}
		s.Nodes = append(s.Nodes, w.host.invitation(e, address))
	}
	store, invitation := w.resourceEnd()
	address, err := w.links.Open(name, store.name, store.address)
	if err != nil {
		return s, err
	}
	s.Store = invitation(store, address)
	if w.consensus != nil {
		s.Consensus = &w.consensus.address
	}
	return s, nil
}

// resourceEnd is where links to the resource lead, and what makes an invitation to
// it.
func (w *World) resourceEnd() (endpoint, func(endpoint, string) client.Address) {
	if w.postgres != nil {
		return endpoint{history.ResourceProcess, w.postgres.address()}, w.postgres.invitation
	}
	return endpoint{history.ResourceProcess, w.store.address()}, w.store.host.invitation
}

// allNodes are the lock's nodes and the resource.
func (w *World) allNodes() []*redisNode {
	all := make([]*redisNode, 0, len(w.nodes)+1)
	for _, n := range w.nodes {
		all = append(all, n)
	}
	if w.store != nil && w.nodes[w.store.name] != w.store {
		all = append(all, w.store)
	}
	return all
}

// Start opens observation and begins the run's time.
func (w *World) Start(h world.Hooks) error {
	w.hooks.Store(&h)
	w.zero.Store(int64(machine.Monotonic()))
	for _, n := range w.allNodes() {
		if err := w.observeNode(n.name); err != nil {
			return err
		}
	}
	if w.postgres != nil {
		if err := w.postgres.listen(w.ctx, tellEffect(w.wallOffset, w.record)); err != nil {
			return err
		}
	}
	w.alignToSecond()
	w.zero.Store(int64(machine.Monotonic()))
	return nil
}

// alignToSecond lets runs with aof-everysec begin shortly after a full second:
// Redis fsyncs at the first write of each second of the wall clock, and a
// schedule can then say which writes are safe.
func (w *World) alignToSecond() {
	everysec := func(n *redisNode) bool { return n.persistence == world.AOFEverysec }
	if slices.ContainsFunc(w.allNodes(), everysec) {
		past := machine.Clock(unix.CLOCK_REALTIME) % time.Second
		w.Sleep(time.Second + 20*time.Millisecond - past)
	}
}

// observeNode opens the MONITOR stream of a node.
func (w *World) observeNode(name string) error {
	n := w.node(name)
	offset, err := w.offsetOf(n)
	if err != nil {
		return err
	}
	log := watchLog(w.spec.Resource, offset, w.record)
	if n == w.store && !w.spec.SharedStore {
		return w.monitor(n, log, nil)
	}
	watch, err := w.keyWatch(n)
	if err != nil {
		return err
	}
	see := watch.see
	if n == w.store {
		see = func(c monitored) { watch.see(c); log(c) }
	}
	if err := w.monitor(n, see, watch); err != nil {
		return err
	}
	return watch.start(w.ctx)
}

// monitor opens the stream of a node, which watch follows, where one does.
func (w *World) monitor(n *redisNode, see func(monitored), watch *keyWatch) error {
	end := func() {}
	if watch != nil {
		end = watch.end
	}
	m, err := openMonitor(n.server.door(), see, end)
	if err != nil {
		return err
	}
	m.watch = watch
	w.mu.Lock()
	defer w.mu.Unlock()
	w.monitors[n.name] = m
	return nil
}

// unobserve closes a node's stream, after what it has shown has been seen.
func (w *World) unobserve(name string) {
	w.mu.Lock()
	m := w.monitors[name]
	delete(w.monitors, name)
	w.mu.Unlock()
	if m == nil {
		return
	}
	select {
	case <-m.ended:
	case <-time.After(flushWithin): // a server that somebody else killed may leave its connections open
	}
	m.Close()
}

// wallOffset is what to subtract from the machine's wall clock to get run time,
// and how far off that may be. It is taken anew for every effect, because the
// wall clock may be set while a run goes on.
func (w *World) wallOffset() (offset, uncertain time.Duration) {
	before := machine.Monotonic()
	wall := machine.Clock(unix.CLOCK_REALTIME)
	after := machine.Monotonic()
	return wall - after + w.sinceBoot(), after - before + time.Millisecond
}

// offsetOf is wallOffset for the wall clock of a server's machine.
func (w *World) offsetOf(n *redisNode) (func() (offset, uncertain time.Duration), error) {
	ahead, about, err := n.host.ahead(w.ctx, n)
	return func() (time.Duration, time.Duration) {
		offset, uncertain := w.wallOffset()
		return offset + ahead, uncertain + about
	}, err
}

// Flush waits until the monitors have shown everything carried out so far.
func (w *World) Flush() error {
	ctx, cancel := context.WithTimeout(context.Background(), flushWithin)
	defer cancel()
	var group machine.Group
	if w.postgres != nil {
		group.Go(func() error { return w.postgres.flush(ctx) })
	}
	for _, n := range w.allNodes() {
		group.Go(func() error { return w.flushNode(ctx, n) })
	}
	return group.Wait()
}

// flushNode waits until a node's monitor has shown everything. It can be done once
// in the life of a server.
func (w *World) flushNode(ctx context.Context, n *redisNode) error {
	const mark = "flush"
	w.mu.Lock()
	m := w.monitors[n.name]
	w.mu.Unlock()
	if m == nil || n.server.Dead() {
		return nil
	}
	for {
		if err := n.admin.Echo(ctx, mark).Err(); err != nil {
			return fmt.Errorf("failed to flush the observation of node %s: %w", n.name, err)
		}
		select {
		case <-m.flushed:
			if m.watch == nil || !m.watch.settle(ctx) {
				return nil
			}
		case <-m.ended:
			return fmt.Errorf("the observation of node %s ended early", n.name)
		case <-ctx.Done():
			return fmt.Errorf("the observation of node %s lags more than %v behind", n.name, flushWithin)
		}
	}
}

const flushWithin = 5 * time.Second

// Now is the run time.
func (w *World) Now() time.Duration { return machine.Monotonic() - w.sinceBoot() }

// sinceBoot is the machine's monotonic clock at the run's start.
func (w *World) sinceBoot() time.Duration { return time.Duration(w.zero.Load()) }

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

// IsClient reports whether name is a client.
func (w *World) IsClient(name string) bool { return slices.Contains(w.spec.Clients, name) }

// restartable passes requests to the process that is the client now.
type restartable struct {
	w    *World
	name string
}

func (r restartable) Do(q client.Request) client.Answer { return r.w.client(r.name).Do(q) }

// Versions names what took part.
func (w *World) Versions() map[string]string {
	v := map[string]string{"redis": w.version}
	if w.consensus != nil {
		v["consensus"] = w.consensus.version
	}
	if w.postgres != nil {
		v["postgres"] = w.postgres.version
	}
	maps.Copy(v, w.host.versions())
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
		w.cancel()
		var group machine.Group
		for _, c := range w.clients {
			group.Go(func() error { c.Close(); return nil })
		}
		_ = group.Wait()
		for _, m := range w.monitors {
			m.Close()
		}
		for _, n := range w.allNodes() {
			group.Go(func() error { n.Stop(); n.returnPort(); return nil })
		}
		_ = group.Wait()
		if w.consensus != nil {
			w.consensus.Stop()
		}
		if w.postgres != nil {
			w.postgres.Stop()
		}
		w.links.Close()
		w.background.Wait()
		w.closeErr = errors.Join(w.closeHosts(), w.tidy())
	})
	return w.closeErr
}

// tidy keeps of each node's folder the log alone, as node-A.log.
func (w *World) tidy() error {
	var errs []error
	for _, n := range w.allNodes() {
		if err := os.Rename(n.logPath(), n.dir+".log"); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
			continue
		}
		errs = append(errs, os.RemoveAll(n.dir))
	}
	return errors.Join(errs...)
}

func (w *World) record(e history.Event) {
	if h := w.hooks.Load(); h != nil && h.Record != nil {
		h.Record(e)
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
