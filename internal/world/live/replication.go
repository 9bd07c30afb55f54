package live

import (
	"context"

	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/client"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server"
)

// replicate makes every node but the first a replica of the first, over a link
// of its own, and waits until all are in step.
func (w *World) replicate(ctx context.Context) error {
	primary := w.servers.First()
	var group machine.Group
	for _, spec := range w.spec.Nodes[1:] {
		replica := w.servers.Nodes[spec.Name]
		address, err := w.replicationLink(replica, primary)
		if err != nil {
			return err
		}
		group.Go(func() error { return replica.Follow(ctx, address) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return primary.AwaitAcknowledged(ctx, len(w.spec.Nodes)-1)
}

// replicationLink opens the link over which a replica follows its primary, and
// says where the replica finds it.
func (w *World) replicationLink(replica, primary *server.Node) (string, error) {
	address, err := w.links.Open(replica.Name, primary.Name, primary.Endpoint(primary.Name).Dial, nil)
	if err != nil {
		return "", err
	}
	if address, err = replica.Host.Reachable(address); err == nil {
		w.primaries.Store(address, true)
	}
	return address, err
}

// isPrimary reports whether replicas find a primary at an address.
func (w *World) isPrimary(address string) bool {
	_, found := w.primaries.Load(address)
	return found
}

// followNew lets the replicas that are left follow a new primary. They get in step
// in their own time.
func (w *World) followNew(primary *server.Node) error {
	for _, spec := range w.spec.Nodes {
		replica := w.servers.Nodes[spec.Name]
		if replica == primary || replica.Server.Dead() {
			continue
		}
		address, err := w.replicationLink(replica, primary)
		if err != nil {
			return err
		}
		if err := replica.ReplicaOf(w.ctx, address); err != nil {
			return err
		}
	}
	return nil
}

// endpoints are the names and addresses under which clients see the nodes.
func (w *World) endpoints() []server.Endpoint {
	if w.spec.Sentinel != nil || w.spec.Cluster != nil {
		return nil
	}
	if w.spec.Replicated {
		return []server.Endpoint{w.servers.First().Endpoint(world.Primary)}
	}
	switch name := w.spec.Nodes[0].Name; w.spec.LockStore {
	case client.Etcd:
		return []server.Endpoint{{Name: name, Dial: w.servers.Consensus.Dial}}
	case client.Postgres:
		return []server.Endpoint{{Name: name, Dial: w.postgres.Dial}}
	}
	list := make([]server.Endpoint, 0, len(w.spec.Nodes))
	for _, n := range w.spec.Nodes {
		list = append(list, w.servers.Nodes[n.Name].Endpoint(n.Name))
	}
	return list
}
