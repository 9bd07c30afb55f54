package server

import (
	"context"
	"fmt"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

// Again makes the servers of a run that is over as good as new, for another run of a spec that wants the
// same servers. The processes stay; who is dead is started again.
func (s *Servers) Again(ctx context.Context, spec *world.Spec) error {
	s.spec = spec
	var group machine.Group
	for _, n := range s.All() {
		group.Go(func() error { return n.reset(ctx) })
	}
	return group.Wait()
}

// reset lets the server go on, with a clock that is right, without data and without strangers.
func (n *Node) reset(ctx context.Context) error {
	if n.Clock != nil {
		if err := n.Clock.Reset(); err != nil {
			return err
		}
	}
	if n.Server.Dead() {
		return n.Restart(ctx, world.KeepNothing)
	}
	if err := n.Resume(); err != nil {
		return err
	}
	return n.clear(ctx)
}

// clear ends all connections to the server but ours, and removes all data.
func (n *Node) clear(ctx context.Context) error {
	// What clients of the last run have sent, and the server has not yet read, must not come after the
	// wiping: their connections end first.
	commands := []string{"ping", "replicaof no one",
		"client kill type normal", "client kill type pubsub", "client kill type replica",
		"config set maxmemory 0", "config set maxmemory-policy noeviction",
		"ping", "flushall sync", "script flush"}
	for _, command := range commands {
		if err := n.Admin.Do(ctx, arguments(strings.Fields(command))...).Err(); err != nil {
			return fmt.Errorf("failed to wipe node %s: %s: %w", n.Name, command, err)
		}
	}
	return n.skipJournal()
}
