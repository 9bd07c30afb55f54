package world

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/redis/cluster"
	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/scenario/resource"
	"github.com/redlock-sim/redlock-sim/internal/world/client"
)

// Spec says what to build.
type Spec struct {
	// Name tells runs apart in messages and process titles.
	Name string
	// Dir is where logs of the parts go; empty: nowhere.
	Dir  string
	Seed uint64
	// Nodes hold the lock. Where Replicated is set, the first is the primary
	// and the others replicate it; clients then see one node, Primary, which
	// moves when another is promoted.
	Nodes      []Node
	Replicated bool
	// Sentinel says who watches replicated nodes, and makes another the primary when that is down; nil: nobody
	// does. Clients then ask the sentinels where the primary is.
	Sentinel *Sentinel
	// Cluster says what Redis Cluster the nodes are, or several; nil: they are none. The first of each is the primary of
	// the lock's slot. Clients then go where that is.
	Cluster *Cluster
	// MovesAtomically: the slot of the lock may move with KeysAtomic.
	MovesAtomically bool
	// SharedStore: the resource lives on the first node.
	SharedStore bool
	// Postgres: the resource lives in PostgreSQL, or behaves so.
	Postgres bool
	// StorePersistence is the resource's way of persistence.
	StorePersistence Persistence
	// Clients by name, in order.
	Clients []string
	// PerProcess is how many of them share a process; 0: each has one of its own.
	PerProcess int
	Lock       lock.Config
	// Readers are the clients that take the lock shared.
	Readers []string
	// Modes: the lock has readers and writers.
	Modes bool
	// LockKeys are patterns of the keys that a lock program writes, with {key} for the
	// lock's key and * for anything.
	LockKeys []string
	// LockLeased: the lock program keeps its lease in the value of its key.
	LockLeased bool
	// LockStore is on what a lock program keeps its lock, in the place of the only node; empty: on
	// the nodes.
	LockStore client.StoreKind
	// Resource is what the lock protects, in a store of its own.
	Resource resource.Config
	// Points are the points of clients at which Hooks.Point wants to be called.
	Points []string
	// Messages are those at which Hooks.Message wants to be called.
	Messages Patterns
	// Commands: Hooks.Command wants to be called.
	Commands bool
	// WarmUp: each client that has a lock program warms up before the run's time begins, see client.WarmUp.
	WarmUp bool
	// Needs are the powers over the world that the run's faults use, so that
	// a world can prepare for them.
	Needs []Power
}

// RecordsKeys reports that what becomes of the lock's keys is recorded: those of a built-in lock that several clients can hold have
// several owners.
func (s *Spec) RecordsKeys() bool { return !s.Shares() || len(s.LockKeys) > 0 }

// Shares reports that several clients may hold the lock at once.
func (s *Spec) Shares() bool { return s.Modes || s.Lock.Permits > 0 }

// LockOf is the lock as a client asks for it.
func (s *Spec) LockOf(client string) lock.Config {
	c := s.Lock.For(client)
	c.Shared = slices.Contains(s.Readers, client)
	return c
}

// KeyPatterns tell the keys of the lock, whichever client's.
func (s *Spec) KeyPatterns(patterns ...string) (list program.Patterns) {
	for _, key := range s.Lock.Keys() {
		list = append(list, program.PatternsFor(key, patterns)...)
	}
	return list
}

// LockSlot is the slot of the lock's key, where the nodes are a Redis Cluster.
func (s *Spec) LockSlot() int {
	key := s.Lock.Key
	if len(s.LockKeys) > 0 {
		key = strings.ReplaceAll(strings.ReplaceAll(s.LockKeys[0], program.KeyPattern, key), "*", "")
	}
	return command.Slot(key)
}

// Clusters are the Redis Clusters that the nodes are: so many of the first nodes are one, and so on. To clients each is one node.
func (s *Spec) Clusters() (list []history.ClusterNodes) {
	if s.Cluster == nil {
		return nil
	}
	each := len(s.Nodes) / s.Cluster.count()
	for nodes := range slices.Chunk(s.Nodes, each) {
		c := history.ClusterNodes{Name: Primary}
		if s.Cluster.Several() {
			c.Name = fmt.Sprintf("cluster%d", len(list)+1)
		}
		for i := range nodes {
			c.Nodes = append(c.Nodes, nodes[i].Name)
		}
		list = append(list, c)
	}
	return list
}

// Beside are the nodes of the Redis Cluster that a node is one of; nil: it is of none.
func (s *Spec) Beside(node string) []string {
	for _, c := range s.Clusters() {
		if slices.Contains(c.Nodes, node) {
			return c.Nodes
		}
	}
	return nil
}

// Shape is the shape of the Redis Cluster that a node is one of.
func (s *Spec) Shape(node string) *cluster.Shape {
	return &cluster.Shape{Seed: s.Seed, Names: s.Beside(node), Primaries: s.Cluster.Primaries, Slot: s.LockSlot()}
}

// SlotMove is a move of the slot of the lock between the nodes of a cluster, in their order. Whoever makes it says how servers are reached.
func (s *Spec) SlotMove(keys SlotKeys, servers []cluster.Server) *cluster.Move {
	return &cluster.Move{Servers: servers, Primaries: s.Cluster.Primaries, Slot: s.LockSlot(),
		KeysFirst: keys == KeysFirst, KeysLeft: keys == KeysLeft, Atomic: keys == KeysAtomic}
}

// MayRefuse: a fault may let nodes refuse commands.
func (s *Spec) MayRefuse() bool { return slices.Contains(s.Needs, RefusePower) }

// Draws are the random numbers for what is damaged of a node's disk when it has died for the nth time.
func (s *Spec) Draws(node string, n int) *rand.Rand {
	h := fnv.New64a()
	_, _ = h.Write([]byte(node))
	return rand.New(rand.NewPCG(s.Seed, h.Sum64()+uint64(n)))
}

// NoModel says why models cannot do what the run needs; empty: they can.
func (s *Spec) NoModel() string {
	switch {
	case s.Cluster != nil:
		return NoModelOfCluster
	case slices.Contains(s.Needs, FlipPower):
		return noModelOfFlips
	case slices.Contains(s.Needs, TearPower) && s.Replicated:
		return noModelOfTornReplicas
	}
	return ""
}

// Check refuses what there is not.
func (s *Spec) Check() error {
	err := check(persistenceNames, "persistence", s.StorePersistence)
	for i := range s.Nodes {
		err = errors.Join(err, check(persistenceNames, "persistence", s.Nodes[i].Persistence))
	}
	if s.Sentinel != nil {
		err = errors.Join(err, s.Sentinel.check(s.Nodes))
	}
	if c := s.Cluster; c != nil && (c.Primaries < 1 || len(s.Nodes) == 0 || len(s.Nodes)%(c.Primaries*c.count()) != 0) {
		err = errors.Join(err, fmt.Errorf("%d nodes are not %d clusters with %d primaries", len(s.Nodes), c.count(), c.Primaries))
	}
	for _, p := range s.Needs {
		err = errors.Join(err, check(powerNames, "power", p))
	}
	return err
}

// Consensus is the name of the store that no fault strikes. A world has it where
// the lock needs one (lock.Config.NeedsConsensus).
const Consensus = "consensus"

// Primary is the name under which clients see a replicated set of nodes.
const Primary = history.PrimaryProcess

// Node is one Redis node.
type Node struct {
	Name        string
	Persistence Persistence
}

// Sentinel is who watches the nodes, and how.
type Sentinel struct {
	Names []string
	// Quorum is how many sentinels must see the primary down; a switch takes a majority of all.
	Quorum int
	// DownAfter is how long the primary must not have answered, FailoverTimeout how long a failover may take.
	DownAfter, FailoverTimeout time.Duration
	// MinReplicas is how many replicas must have been heard of within MaxLag for the primary to accept a write.
	MinReplicas int
	MaxLag      time.Duration
}

// Cluster is a Redis Cluster. The first nodes are its primaries, which share the slots; the others follow them, one after the other.
type Cluster struct {
	// Count is how many there are, all alike; 0: one.
	Count     int
	Primaries int
	// NodeTimeout is how long a node must not have answered to be taken for down.
	NodeTimeout time.Duration
	// MinReplicas and MaxLag are those of Sentinel.
	MinReplicas int
	MaxLag      time.Duration
}

func (c *Cluster) count() int { return max(c.Count, 1) }

// Several reports that there are several clusters.
func (c *Cluster) Several() bool { return c != nil && c.count() > 1 }

// NoModelOfCluster is why models cannot be a Redis Cluster, NoClusterThere why servers in containers, and those of others, cannot.
// NoLiveCluster is why a search, which shrinks what it finds by many runs, does not take one in real time.
const (
	noModelOfFlips        = "models have no files of which a bit could be flipped (keep: flipped): " + realNodes
	noModelOfTornReplicas = "models of replicas have no files that could be torn (keep: torn): " + realNodes
	realNodes             = "real servers have (--nodes process in virtual time, or --world live)"
	NoModelOfCluster      = "a Redis Cluster is not available on models: real servers are one in virtual time " +
		"(--world virtual --nodes process)"
	NoLiveCluster  = "a Redis Cluster is searched in virtual time alone: --world virtual --nodes process"
	NoClusterThere = "a Redis Cluster is not available in containers and on servers that exist already: use --nodes process"
)

// check refuses sentinels that could not do their work.
func (s *Sentinel) check(nodes []Node) error {
	if len(s.Names) == 0 || len(nodes) < 2 {
		return fmt.Errorf("%d sentinels cannot watch %d nodes", len(s.Names), len(nodes))
	}
	if s.Quorum < 1 || s.Quorum > len(s.Names) {
		return fmt.Errorf("%d of %d sentinels is no quorum", s.Quorum, len(s.Names))
	}
	if s.DownAfter < time.Millisecond || s.FailoverTimeout < time.Millisecond {
		return errors.New("a sentinel needs a time after which a node is down, and one for a failover")
	}
	return nil
}

// Hooks are how a world tells what happens in it.
type Hooks struct {
	// Record takes an event; Index and Time are filled in.
	Record func(history.Event) int
	// Point is called when a client passes an armed point, on the client's own
	// activity; the client goes on when it returns.
	Point func(client, point string)
	// Message is called with a message that Spec.Messages name, on an activity of its
	// own. Unread is called where nobody can tell the messages of a connection any more, or
	// its answers alone.
	Message func(Message)
	Unread  func(link Link, answers bool, why string)
	// Sentinel is called with each thing that a sentinel tells, when it has been recorded, on an activity of its own.
	Sentinel func(history.Event)
	// Command is called once for each command that left a client for a node of the lock since
	// the run began: when it has been answered, or cannot be any more, at the latest by Flush.
	Command func(client string, c Command)
}

// World is a place for one run. Close undoes everything, whatever state the
// world is in, and may be called at any time and more than once.
type World interface {
	// Start begins the run's time and opens observation. It is called once.
	Start(Hooks) error
	// Now is the run time.
	Now() time.Duration
	// Sleep lets run time pass for the calling activity; false: the run was
	// stopped meanwhile.
	Sleep(time.Duration) bool
	// Go starts an activity; Wait waits for the end of all of them. Activities
	// other than these must not call the world's methods.
	Go(f func())
	Wait()
	// NewSignal makes a signal that activities can wait for.
	NewSignal() Signal
	// Client is a client by its name in the Spec.
	Client(name string) Client
	// Process are the clients that share a client's process, itself among them. What strikes one of them as a process strikes all.
	Process(client string) []string
	// IsClient reports whether name is a client of the Spec.
	IsClient(name string) bool
	// Stop ends the run: what waits returns at once. Stopped reports that it is
	// to end, by Stop or from outside.
	Stop()
	Stopped() bool
	// Flush returns when everything observed so far has been recorded.
	Flush() error
	// Versions names the parts that took part, and their versions.
	Versions() map[string]string
	Close() error

	Pauser
	Canceller
	Keeper
	Network
	Clocks
	Crasher
	Replicator
}

// Redrawer is a world in which chance can go on otherwise than the run's seed has it.
type Redrawer interface {
	// Redraw lets all that is drawn from now on depend on another seed.
	Redraw(seed uint64)
}

// Client is a client of the lock, as the runner drives it.
type Client interface {
	// Do asks for an operation and waits for its completion. Where the client
	// died or the run was stopped, the answer is of type Info.
	Do(client.Request) client.Answer
}

// Signal is something that happens once.
type Signal interface {
	Fire()
	// Wait waits until it has happened, at most for d where d is not 0. It
	// reports whether it has.
	Wait(d time.Duration) bool
}
