//go:build !linux || !amd64

package guests

import (
	"context"

	"github.com/redlock-sim/redlock-sim/internal/supervisor"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

// Available is why no program can run in virtual time here.
func Available() error { return supervisor.Available() }

// Open says why.
func Open(context.Context, world.Spec, Options) (world.World, error) { return nil, Available() }

// Keeper keeps nothing, for nothing runs here.
type Keeper struct{}

// NewKeeper makes one.
func NewKeeper(context.Context, Options) *Keeper { return &Keeper{} }

// Open says why nothing runs.
func (*Keeper) Open(context.Context, world.Spec) (world.World, error) { return nil, Available() }

// NotAgain is empty.
func (*Keeper) NotAgain() string { return "" }

// Close ends nothing.
func (*Keeper) Close() error { return nil }

// Keepers keep nothing, either.
type Keepers struct{}

// NewKeepers makes them.
func NewKeepers(context.Context) *Keepers { return &Keepers{} }

// Open says why nothing runs.
func (*Keepers) Open(context.Context, world.Spec, Options) (world.World, error) {
	return nil, Available()
}

// Close ends nothing.
func (*Keepers) Close() error { return nil }
