package process

import (
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/scenario/resource"
	"github.com/redlock-sim/redlock-sim/internal/world/client"
)

// commonEnv is what every lock.Env here has: real clocks and real connections.
type commonEnv struct {
	clocks
	attempt
	name  string
	nodes []command.Node
	rand  *rand.Rand
	// process is what the clients of this process have in common.
	process *lock.Process
}

// newCommonEnv makes that of a client. connection is the name that it gives its
// connections; empty: none.
func newCommonEnv(owner, connection string, seed uint64, nodes []client.Address, process *lock.Process) (*commonEnv, error) {
	name := fnv.New64a()
	_, _ = name.Write([]byte(owner))
	e := &commonEnv{name: owner, process: process, rand: rand.New(rand.NewPCG(seed, name.Sum64()))}
	for _, a := range nodes {
		n, err := newNode(connection, a, 0)
		if err != nil {
			return nil, err
		}
		n.attempt = &e.attempt
		e.nodes = append(e.nodes, n)
	}
	return e, nil
}

// addPrimary adds the primary that sentinels name.
func (e *commonEnv) addPrimary(owner, master string, sentinels []client.Address) {
	n := newPrimary(owner, master, sentinels, 0)
	n.attempt = &e.attempt
	e.nodes = append(e.nodes, n)
}

// joinClusters makes the nodes of each Redis Cluster one. Where there is none, they stay as they are.
func (e *commonEnv) joinClusters(clusters []history.ClusterNodes, addresses []client.Address) {
	nodes := e.nodes
	for i, c := range clusters {
		if i == 0 {
			e.nodes = nil
		}
		n := len(c.Nodes)
		e.nodes = append(e.nodes, newClusterNode(c.Name, nodes[:n], addresses[:n], e.Now, e.Sleep))
		nodes, addresses = nodes[n:], addresses[n:]
	}
}

// connected is a node, or a cluster of them, with its connections.
type connected interface {
	command.Node
	warm([]*command.Script)
	warmOther()
	close()
}

// warmUp opens a connection to every node and makes the scripts known there, so
// that the first request of the lock does not pay for it, and a request that
// arrives late finds its script. A node that cannot be reached is not an error
// yet. pooled: the lock uses other connections, too.
func (e *commonEnv) warmUp(pooled bool) {
	var wg sync.WaitGroup
	for _, n := range e.nodes {
		wg.Go(func() { n.(connected).warm(lock.Scripts()) })
		if pooled {
			wg.Go(n.(connected).warmOther)
		}
	}
	wg.Wait()
}

const warmTimeout = 2 * time.Second

func (e *commonEnv) close() {
	for _, n := range e.nodes {
		n.(connected).close()
	}
}

func (e *commonEnv) Client() string         { return e.name }
func (e *commonEnv) Sleep(d time.Duration)  { time.Sleep(d) }
func (e *commonEnv) Rand() *rand.Rand       { return e.rand }
func (e *commonEnv) Nodes() []command.Node  { return e.nodes }
func (e *commonEnv) Process() *lock.Process { return e.process }
func (e *commonEnv) Spawn(f func())         { go f() }

func (e *commonEnv) Fan(n int, call func(int) command.Reply, arrived func(int, command.Reply) bool) {
	Fan(n, call, arrived)
}

// Fan is lock.Env's, with goroutines.
func Fan(n int, call func(int) command.Reply, arrived func(int, command.Reply) bool) {
	type answer struct {
		i int
		r command.Reply
	}
	answers := make(chan answer, n)
	for i := range n {
		go func() { answers <- answer{i, call(i)} }()
	}
	for range n {
		if a := <-answers; arrived(a.i, a.r) {
			return
		}
	}
}

// env is lock.Env for a client.
type env struct {
	*commonEnv
	server *server
	armed  []string
	store  store
	// consensus is nil where the run has none.
	consensus store
}

var _ lock.Env = (*env)(nil)

func newEnv(setup *client.SetupMessage, s *server) (e *env, err error) {
	e = &env{server: s, armed: setup.Points}
	if e.store, err = openStore(setup.Client, setup.Store, setup.StoreTimeout); err != nil {
		return nil, err
	}
	nodes := setup.Nodes
	if setup.Lock.Program != nil { // they are its own affair
		nodes = nil
	}
	if e.commonEnv, err = newCommonEnv(setup.Client, setup.Client, setup.Seed, nodes, &s.memory); err != nil {
		return nil, err
	}
	if setup.Lock.Program == nil {
		e.joinClusters(setup.Clusters, nodes)
	}
	if len(setup.Sentinels) > 0 && setup.Lock.Program == nil {
		e.addPrimary(setup.Client, setup.Master, setup.Sentinels)
	}
	if c := setup.Consensus; c != nil {
		e.consensus, err = openStore(setup.Client, *c, 0)
	}
	return e, err
}

// warmUp does so for all servers.
func (e *env) warmUp(pooled bool) {
	var wg sync.WaitGroup
	wg.Go(func() { e.store.warm(resource.Scripts()) })
	wg.Go(func() { e.commonEnv.warmUp(pooled) })
	if e.consensus != nil {
		wg.Go(func() { e.consensus.warm(lock.Scripts()) })
	}
	wg.Wait()
}

func (e *env) close() {
	e.store.close()
	if e.consensus != nil {
		e.consensus.close()
	}
	e.commonEnv.close()
}

func (e *env) Consensus() command.Node { return e.consensus }

func (e *env) Point(name string) {
	if slices.Contains(e.armed, name) {
		e.server.report(client.Message{Type: client.AtPoint, Point: name})
	}
}

func (e *env) Background(op lock.Operation, do func() (lock.Grant, lock.Result), remaining func(lock.Grant) time.Duration) {
	e.server.background(op, do, remaining)
}
