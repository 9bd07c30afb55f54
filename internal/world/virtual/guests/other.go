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
