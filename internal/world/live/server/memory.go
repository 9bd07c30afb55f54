package server

import (
	"context"
	"errors"
	"fmt"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
)

// Operator is the name of the connection by which sim does to a node's memory what its operator does.
const Operator = "sim-operator"

// Wipe removes all keys.
func (n *Node) Wipe(ctx context.Context) error { return n.operate(ctx, []string{"flushall"}) }

// Evict lets the server evict the keys that have a TTL. Nobody's command comes in between.
func (n *Node) Evict(ctx context.Context) error { return n.operate(ctx, command.Evicting()...) }

// Limit lets the server refuse what takes memory, or no more.
func (n *Node) Limit(ctx context.Context, full bool) error {
	return n.operate(ctx, command.Limiting(full))
}

// operate carries out commands together, over a connection that is known as the operator's.
func (n *Node) operate(ctx context.Context, commands ...[]string) (err error) {
	conn := n.Admin.Conn()
	defer func() { err = errors.Join(err, conn.Close()) }()
	if err := conn.ClientSetName(ctx, Operator).Err(); err != nil {
		return err
	}
	pipe := conn.Pipeline()
	for _, words := range commands {
		pipe.Do(ctx, arguments(words)...)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return fmt.Errorf("node %s: %w", n.Name, err)
	}
	return nil
}

// arguments are words as the client library takes them.
func arguments(words []string) []any {
	list := make([]any, len(words))
	for i, word := range words {
		list[i] = word
	}
	return list
}
