package live

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/live/machine"
)

// replicate makes every node but the first a replica of the first, over a link
// of its own, and waits until all are in step.
func (w *World) replicate(ctx context.Context) error {
	primary := w.nodes[w.spec.Nodes[0].Name]
	var group machine.Group
	for _, spec := range w.spec.Nodes[1:] {
		replica := w.nodes[spec.Name]
		address, err := w.replicationLink(replica, primary)
		if err != nil {
			return err
		}
		group.Go(func() error { return replica.follow(ctx, address) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return primary.acknowledged(ctx, len(w.spec.Nodes)-1)
}

// replicationLink opens the link over which a replica follows its primary, and
// says where the replica finds it.
func (w *World) replicationLink(replica, primary *redisNode) (string, error) {
	address, err := w.links.Open(replica.name, primary.name, primary.address())
	if err != nil {
		return "", err
	}
	return replica.host.reachable(address)
}

// acknowledged waits until all replicas have acknowledged everything, so that a
// run begins with nothing under way. Replicas acknowledge once a second.
func (n *redisNode) acknowledged(ctx context.Context, replicas int) error {
	deadline := time.Now().Add(followWithin)
	for {
		info, err := n.admin.Info(ctx, "replication").Result()
		if err != nil {
			return fmt.Errorf("failed to ask node %s about its replicas: %w", n.name, err)
		}
		if strings.Count(info, "state=online,offset="+infoField(info, "master_repl_offset")+",") == replicas {
			return nil
		}
		if time.Now().After(deadline) {
			return errors.New("the replicas of node " + n.name + " do not acknowledge")
		}
		time.Sleep(time.Millisecond)
	}
}

// followNew lets the replicas that are left follow a new primary. They get in step
// in their own time.
func (w *World) followNew(primary *redisNode) error {
	for _, spec := range w.spec.Nodes {
		replica := w.nodes[spec.Name]
		if replica == primary || replica.server.Dead() {
			continue
		}
		address, err := w.replicationLink(replica, primary)
		if err != nil {
			return err
		}
		host, port, err := net.SplitHostPort(address)
		if err != nil {
			return err
		}
		if err := replica.admin.ReplicaOf(w.ctx, host, port).Err(); err != nil {
			return fmt.Errorf("failed to let node %s follow node %s: %w", replica.name, primary.name, err)
		}
	}
	return nil
}

// followWithin bounds the first synchronisation.
const followWithin = 20 * time.Second

func (n *redisNode) follow(ctx context.Context, address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	if err := n.admin.ReplicaOf(ctx, host, port).Err(); err != nil {
		return fmt.Errorf("failed to make node %s a replica: %w", n.name, err)
	}
	deadline := time.Now().Add(followWithin)
	for {
		info, err := n.admin.Info(ctx, "replication").Result()
		switch {
		case err != nil:
			return fmt.Errorf("failed to ask node %s about its replication: %w", n.name, err)
		case infoField(info, "master_link_status") == "up":
			return nil
		case time.Now().After(deadline):
			return errors.New("node " + n.name + " did not get in step with its primary")
		}
		time.Sleep(time.Millisecond)
	}
}

// endpoints are the names and addresses under which clients see the nodes.
func (w *World) endpoints() []endpoint {
	if w.spec.Replicated {
		return []endpoint{{world.Primary, w.nodes[w.spec.Nodes[0].Name].address()}}
	}
	list := make([]endpoint, 0, len(w.spec.Nodes))
	for _, n := range w.spec.Nodes {
		list = append(list, endpoint{n.Name, w.nodes[n.Name].address()})
	}
	return list
}

type endpoint struct{ name, address string }
