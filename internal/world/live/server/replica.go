package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"
)

// ReplicaOf lets the node follow the primary at an address.
func (n *Node) ReplicaOf(ctx context.Context, address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	if err := n.Admin.Do(ctx, "replicaof", host, port).Err(); err != nil {
		return fmt.Errorf("failed to make node %s a replica: %w", n.Name, err)
	}
	return nil
}

// followWithin bounds the first synchronisation.
const followWithin = 20 * time.Second

// Follow makes the node a replica of the primary at an address, and waits until it is in
// step.
func (n *Node) Follow(ctx context.Context, address string) error {
	if err := n.ReplicaOf(ctx, address); err != nil {
		return err
	}
	deadline := time.Now().Add(followWithin)
	for {
		info, err := n.Admin.Info(ctx, "replication").Result()
		if err != nil {
			return fmt.Errorf("failed to ask node %s about its replication: %w", n.Name, err)
		}
		if InfoField(info, "master_link_status") == "up" {
			return nil
		}
		if time.Now().After(deadline) {
			return errors.New("node " + n.Name + " did not catch up with its primary")
		}
		time.Sleep(time.Millisecond)
	}
}

// InStep waits until a replica has got all that its primary has, and reports that it did: not if it is dead
// before that, or a primary.
func (n *Node) InStep(ctx context.Context) bool {
	for !n.Server.Dead() && ctx.Err() == nil {
		info, err := n.Admin.Info(ctx, "replication").Result()
		if err == nil { // it may close connections
			if InfoField(info, "role") == "master" {
				return false
			}
			if InfoField(info, "master_link_status") == "up" {
				return true
			}
		}
		time.Sleep(time.Millisecond)
	}
	return false
}

// AwaitAcknowledged waits until all replicas have acknowledged everything, so that a
// run begins with nothing under way. Replicas acknowledge once a second.
func (n *Node) AwaitAcknowledged(ctx context.Context, replicas int) error {
	deadline := time.Now().Add(followWithin)
	for {
		info, err := n.Admin.Info(ctx, "replication").Result()
		if err != nil {
			return fmt.Errorf("failed to ask node %s about its replicas: %w", n.Name, err)
		}
		if strings.Count(info, "state=online,offset="+InfoField(info, "master_repl_offset")+",") == replicas {
			return nil
		}
		if time.Now().After(deadline) {
			return errors.New("the replicas of node " + n.Name + " do not acknowledge")
		}
		time.Sleep(time.Millisecond)
	}
}
