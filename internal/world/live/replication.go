package live

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/world"
)

// replicate makes every node but the first a replica of the first, over a link
// of its own, and waits until all are in step.
func (w *World) replicate(ctx context.Context) error {
	primary := w.nodes[w.spec.Nodes[0].Name]
	var group errorGroup
	for _, spec := range w.spec.Nodes[1:] {
		replica := w.nodes[spec.Name]
		address, err := w.links.open(replica.name, primary.name, primary.address())
		if err != nil {
			return err
		}
		group.Go(func() error { return replica.follow(ctx, address) })
	}
	return group.Wait()
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
