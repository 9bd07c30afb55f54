package live

import (
	"errors"

	"github.com/redlock-sim/redlock-sim/internal/world/live/clients"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server"
)

// Resting are Redis servers and processes of clients between two runs, which may happen side by side: to start new
// ones takes longer than to wipe these. A run takes those that fit, one by one, and starts what is missing. Lock
// programs may have done anything to a server, so their runs have servers and clients of their own. The zero value
// is ready.
type Resting struct {
	servers server.Resting
	clients clients.Resting
}

// Close ends them, when no run uses them any more.
func (r *Resting) Close() error { return errors.Join(r.clients.Close(), r.servers.Close()) }
