package live

import (
	"context"
	"fmt"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server"
)

var _ world.Keeper = (*World)(nil)

// Reaches reports that a node runs.
func (w *World) Reaches(node string) bool {
	return w.rule(node, func(n *server.Node, ctx context.Context) error { return n.Admin.Ping(ctx).Err() }) == nil
}

// Wipe removes all keys of a node.
func (w *World) Wipe(node string) error { return w.rule(node, (*server.Node).Wipe) }

// Evict removes the keys of a node that have a TTL.
func (w *World) Evict(node string) error { return w.rule(node, (*server.Node).Evict) }

// ruledWithin bounds how long a node may take to do something to its memory.
const ruledWithin = 2 * time.Second

func (w *World) rule(node string, do func(*server.Node, context.Context) error) error {
	n := w.servers.Named(node)
	if n == nil || n.Server.Dead() {
		return fmt.Errorf("node %s does not run", node)
	}
	if n.Admin == nil {
		return fmt.Errorf("node %s is no server of Redis", node)
	}
	ctx, cancel := context.WithTimeout(w.ctx, ruledWithin)
	defer cancel()
	return do(n, ctx)
}

// Fill lets a node refuse what takes memory. One that stands still when that ends learns it when it goes on; one that was started again has
// no limit.
func (w *World) Fill(node string) (empty func() error, err error) {
	limit := func(full bool) error {
		return w.rule(node, func(n *server.Node, ctx context.Context) error { return n.Limit(ctx, full) })
	}
	if err := limit(true); err != nil {
		return nil, err
	}
	return func() error {
		if limit(false) == nil {
			return nil
		}
		w.background.Go(func() {
			for !w.servers.Named(node).Server.Dead() && limit(false) != nil && w.Sleep(ruledWithin/100) {
			}
		})
		return nil
	}, nil
}
