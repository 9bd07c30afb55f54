package server

import (
	"context"
	"errors"
	"fmt"
)

// Operator is the name of the connection by which sim does to a node's memory what its operator does.
const Operator = "sim-operator"

// Wipe removes all keys.
func (n *Node) Wipe(ctx context.Context) error {
	return n.operate(ctx, []any{"flushall"})
}

// Evict lets the server evict the keys that have a TTL. It does so before it carries the next command out. Nobody's command comes in
// between.
func (n *Node) Evict(ctx context.Context) error {
	return n.operate(ctx, []any{"config", "set", "maxmemory-policy", "volatile-ttl"}, []any{"config", "set", "maxmemory", 1},
		[]any{"config", "set", "maxmemory", 0}, []any{"config", "set", "maxmemory-policy", "noeviction"})
}

// Limit lets the server refuse what takes memory, or no more.
func (n *Node) Limit(ctx context.Context, full bool) error {
	bytes := 0
	if full {
		bytes = 1
	}
	return n.operate(ctx, []any{"config", "set", "maxmemory", bytes})
}

// operate carries out commands together, over a connection that is known as the operator's.
func (n *Node) operate(ctx context.Context, commands ...[]any) (err error) {
	conn := n.Admin.Conn()
	defer func() { err = errors.Join(err, conn.Close()) }()
	if err := conn.ClientSetName(ctx, Operator).Err(); err != nil {
		return err
	}
	pipe := conn.Pipeline()
	for _, words := range commands {
		pipe.Do(ctx, words...)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return fmt.Errorf("node %s: %w", n.Name, err)
	}
	return nil
}
