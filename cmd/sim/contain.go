package main

import (
	"github.com/spf13/cobra"

	"github.com/redlock-sim/redlock-sim/internal/app"
	"github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/world/live/docker"
)

// newContainCommand is a lock program in a container, as sim starts it for itself.
func newContainCommand(a *cli) *cobra.Command {
	var env []string
	c := &cobra.Command{
		Use:         program.Contain + " IMAGE [ARGUMENT...]",
		Short:       "Run a lock program in a container; stdin and stdout carry the lock protocol",
		Hidden:      true,
		Annotations: ownDefaults,
		Args:        cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			a.orderly.Store(true) // the container ends first
			ctx := c.Context()
			e, err := docker.Connect(ctx)
			if err != nil {
				return err
			}
			defer e.Close()
			status, err := e.RunProgram(ctx, docker.Program{Image: args[0], Arguments: args[1:], Env: env},
				docker.Streams{In: a.stdin, Out: a.stdout, Log: a.stderr})
			if err == nil && status != 0 {
				err = &app.ExitError{Code: status}
			}
			return err
		},
	}
	c.Flags().StringArrayVar(&env, "env", nil, "add NAME=value to its environment (repeatable)")
	return c
}
