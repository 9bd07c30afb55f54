package live

import (
	"context"
	"errors"
	"reflect"
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/live/clients"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server"
)

// Kept are Redis servers, and processes of clients, that stay from one run to the next, for one run at a
// time: what a run has left on them is wiped, which is cheaper than to start new ones. Lock programs, servers of
// somebody else, the store for consensus and PostgreSQL are not kept.
type Kept struct {
	scratch string
	servers *server.Servers
	started wanted
	// clients are the processes of clients.
	clients clients.Resting
}

// wanted is what servers are started by.
type wanted struct {
	nodes                 []world.Node
	clocks                bool
	sharedStore, postgres bool
	storePersistence      world.Persistence
	logs                  string
}

func wantedBy(spec *world.Spec) wanted {
	return wanted{nodes: spec.Nodes, clocks: slices.Contains(spec.Needs, world.NodeClockPower), sharedStore: spec.SharedStore,
		postgres: spec.Postgres, storePersistence: spec.StorePersistence, logs: spec.Dir}
}

// fit reports that servers started so serve where others are wanted.
func (w wanted) fit(other wanted) bool {
	other.clocks = other.clocks || w.clocks // one that can be moved need not be
	return reflect.DeepEqual(w, other)
}

// take hands out servers for a spec, as good as new, or else new ones that have not been started.
func (k *Kept) take(ctx context.Context, spec *world.Spec, o server.Options) (s *server.Servers, running bool, err error) {
	wanted := wantedBy(spec)
	s, k.servers = k.servers, nil
	if s != nil {
		if k.started.fit(wanted) && s.Again(ctx, spec) == nil {
			return s, true, nil
		}
		k.end(s)
	}
	if err := machine.Discard(k.scratch); err != nil {
		return nil, false, err
	}
	if k.scratch, err = machine.Scratch(); err != nil {
		return nil, false, err
	}
	k.started = wanted
	s, err = server.New(ctx, spec, k.scratch, o)
	return s, false, err
}

// give takes the servers of a run that is over.
func (k *Kept) give(s *server.Servers) error {
	k.servers = s
	return s.EndConsensus()
}

// Close ends the servers.
func (k *Kept) Close() error {
	err := k.clients.Close()
	if k.servers != nil {
		k.end(k.servers)
		k.servers = nil
	}
	return errors.Join(err, machine.Discard(k.scratch))
}

func (k *Kept) end(s *server.Servers) {
	s.Stop()
	_ = s.Close()
}
