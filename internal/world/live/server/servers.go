package server

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/client"
)

// Servers are the Redis servers of a run: the lock's nodes, the resource, and the store
// for consensus.
type Servers struct {
	spec *world.Spec
	// scratch is where they keep their data.
	scratch string
	// Host runs the nodes, storeHost the resource; they may be the same.
	Host, storeHost Host
	Nodes           map[string]*Node
	// Sentinels watch the nodes; empty: nobody does.
	Sentinels map[string]*Node
	// Store is the node with the resource; nil where PostgreSQL has it.
	Store *Node
	// Consensus is nil where the lock needs none.
	Consensus *consensus
	version   string
}

// New are the servers that a spec wants; their data is below the folder scratch. On servers
// of somebody else, the spec's keys get a prefix.
func New(ctx context.Context, spec *world.Spec, scratch string, o Options) (*Servers, error) {
	s := &Servers{spec: spec, scratch: scratch, Nodes: make(map[string]*Node)}
	if err := s.chooseHosts(ctx, o); err != nil {
		return s, err
	}
	for _, n := range spec.Nodes {
		s.Nodes[n.Name] = s.node(n.Name, "node-"+n.Name, s.Host, n.Persistence)
	}
	s.addSentinels()
	s.addCluster()
	if spec.SharedStore {
		s.Store = s.Nodes[spec.Nodes[0].Name]
	} else if !spec.Postgres {
		s.Store = s.node(history.ResourceProcess, history.ResourceProcess, s.storeHost, spec.StorePersistence)
	}
	return s, nil
}

// node is a node whose log is <file>.log in the run's folder.
func (s *Servers) node(name, file string, h Host, p world.Persistence) *Node {
	plain := p == world.NoPersistence && !s.spec.Replicated && s.spec.Sentinel == nil
	// What a server remembers that keeps snapshots is what they say, and not what a journal does.
	damages := 0
	draws := func() *rand.Rand {
		damages++
		return s.spec.Draws(name, damages)
	}
	return &Node{Name: name, Host: h, Persistence: p, plain: plain, journals: p != world.RDB, draws: draws,
		dir: filepath.Join(s.scratch, file), log: filepath.Join(s.spec.Dir, file+".log")}
}

// Start starts the nodes and the resource.
func (s *Servers) Start(ctx context.Context) error {
	for _, n := range s.everybody() {
		if err := n.makeFolder(); err != nil {
			return err
		}
		if n.member == nil {
			continue
		}
		if err := n.member.writeFile(n); err != nil {
			return err
		}
	}
	if slices.Contains(s.spec.Needs, world.NodeClockPower) {
		if err := s.giveClocks(); err != nil {
			return err
		}
	}
	var group machine.Group
	for _, n := range s.everybody() {
		group.Go(func() error { return n.Start(ctx) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if err := s.canCutPower(); err != nil {
		return err
	}
	if err := s.askVersion(ctx); err != nil {
		return err
	}
	return s.fit(ctx)
}

// StartConsensus starts the store for consensus, where the lock needs one.
func (s *Servers) StartConsensus(ctx context.Context) (err error) {
	if s.spec.LockStore == client.Etcd {
		if _, err := FindEtcd(); err != nil { // nothing stands in for it
			return fmt.Errorf("the lock is kept in etcd: %w", err)
		}
	}
	if s.spec.Lock.NeedsConsensus() || s.spec.LockStore == client.Etcd {
		s.Consensus, err = startConsensus(ctx, s.node(world.Consensus, world.Consensus, s.storeHost, world.NoPersistence))
	}
	return err
}

// EndConsensus ends the store for consensus, and removes what it kept.
func (s *Servers) EndConsensus() error {
	if s.Consensus == nil {
		return nil
	}
	s.Consensus.Stop()
	dir := s.Consensus.node.dir
	s.Consensus = nil
	return os.RemoveAll(dir)
}

func (s *Servers) askVersion(ctx context.Context) error {
	first := s.First()
	info, err := first.Admin.Info(ctx, "server").Result()
	if err != nil {
		return fmt.Errorf("failed to ask node %s for its version: %w", first.Name, err)
	}
	s.version = InfoField(info, "redis_version")
	if valkey := InfoField(info, "valkey_version"); valkey != "" {
		s.version = "Valkey " + valkey
	}
	return nil
}

// fit makes sure that the lock, and the faults, can be on all nodes.
func (s *Servers) fit(ctx context.Context) error {
	if len(s.spec.Lock.Needs()) == 0 && !s.spec.MovesAtomically {
		return nil
	}
	for _, n := range s.Nodes {
		info, err := n.Admin.Info(ctx, "server").Result()
		if err != nil {
			return fmt.Errorf("failed to ask node %s for its version: %w", n.Name, err)
		}
		if err := s.spec.Fits(info); err != nil {
			return err
		}
	}
	return nil
}

// First is the first of the nodes.
func (s *Servers) First() *Node { return s.Nodes[s.spec.Nodes[0].Name] }

// canCutPower makes sure that it can be seen what servers have fsynced, where
// that is going to matter.
func (s *Servers) canCutPower() error {
	if !slices.Contains(s.spec.Needs, world.PowerCutPower) {
		return nil
	}
	for _, n := range s.All() {
		if n.Persistence == world.AOFEverysec && n.Server.PID() == 0 {
			return fmt.Errorf("a power cut (kill with keep: synced) of node %s is not possible: "+
				"its process is not visible here, so sim cannot tell what it has fsynced", n.Name)
		}
	}
	return nil
}

// giveClocks lets the clocks of the lock's nodes and of sentinels be moved. The resource keeps
// the machine's clock: it stamps the effects.
func (s *Servers) giveClocks() (err error) {
	for _, n := range s.everybody() {
		if n == s.Store {
			continue
		}
		if n.Clock, err = n.Host.clock(n); err != nil {
			return err
		}
	}
	return nil
}

// All are the lock's nodes and the resource.
func (s *Servers) All() []*Node {
	all := make([]*Node, 0, len(s.Nodes)+1)
	for _, n := range s.Nodes {
		all = append(all, n)
	}
	if s.Store != nil && s.Nodes[s.Store.Name] != s.Store {
		all = append(all, s.Store)
	}
	return all
}

// everybody are all of these, and the sentinels.
func (s *Servers) everybody() []*Node {
	return slices.AppendSeq(s.All(), maps.Values(s.Sentinels))
}

// Named finds a node, a sentinel or the resource; nil: there is none.
func (s *Servers) Named(name string) *Node {
	if name == history.ResourceProcess {
		return s.Store
	}
	if n := s.Sentinels[name]; n != nil {
		return n
	}
	return s.Nodes[name]
}

// Versions name what took part.
func (s *Servers) Versions() map[string]string {
	v := map[string]string{"redis": s.version}
	if s.Consensus != nil {
		v["consensus"] = s.Consensus.version
	}
	maps.Copy(v, s.Host.Versions())
	return v
}

// Stop ends all of them.
func (s *Servers) Stop() {
	var group machine.Group
	for _, n := range s.everybody() {
		group.Go(func() error { n.Stop(); n.returnPort(); return nil })
	}
	_ = group.Wait()
	if s.Consensus != nil {
		s.Consensus.Stop()
	}
}

// Close undoes what the hosts have done.
func (s *Servers) Close() error {
	var errs []error
	if s.Host != nil {
		errs = append(errs, s.Host.Close())
	}
	if s.storeHost != nil && s.storeHost != s.Host {
		errs = append(errs, s.storeHost.Close())
	}
	return errors.Join(errs...)
}
