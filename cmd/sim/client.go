package main

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/redlock-sim/redlock-sim/internal/world/client/process"
)

// newClientCommand is the client that sim starts for itself.
func newClientCommand(a *cli) *cobra.Command {
	return &cobra.Command{
		Use:         "client",
		Short:       "Run as a client of the lock; stdin and stdout carry the client protocol",
		Hidden:      true,
		Annotations: ownDefaults,
		Args:        cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := a.env().Live(); err != nil {
				return err
			}
			// The client outlives sim for a moment, to end what it has started. The end of its stdin
			// is its end, whatever signals come.
			a.orderly.Store(true)
			// There are many clients, and each waits most of the time: on one processor nobody looks for work that is not there.
			runtime.GOMAXPROCS(1)
			debug.SetGCPercent(800)
			return process.Serve(a.stdin, a.stdout, a.stderr)
		},
	}
}
