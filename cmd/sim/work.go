package main

import (
	"github.com/spf13/cobra"

	"github.com/redlock-sim/redlock-sim/internal/app"
	"github.com/redlock-sim/redlock-sim/internal/app/request"
)

// workCommand is the command that sim starts itself with to have a request carried out in a process of its own.
const workCommand = "work"

func newWorkCommand(a *cli) *cobra.Command {
	var permit app.Permit
	c := &cobra.Command{
		Use:         workCommand,
		Short:       "Carry out the request that is on stdin",
		Hidden:      true, // sim starts it
		Args:        cobra.NoArgs,
		Annotations: ownDefaults,
		RunE: func(c *cobra.Command, _ []string) error {
			asked, err := request.Read(a.stdin)
			if err != nil {
				return app.Usagef("%w", err)
			}
			name, _, err := asked.Only()
			if err != nil {
				return app.Usagef("%w", err)
			}
			env, hear := a.env(), a.listener().hear
			env.Permit = permit
			if r := asked.Search; r != nil {
				result, err := app.Search(c.Context(), env, *r, hear)
				if err != nil || result == nil {
					return err
				}
				return a.concludeSearch(c.Context(), result, "")
			}
			if r := asked.Audit; r != nil {
				result, err := app.Audit(c.Context(), env, *r, nil, hear)
				if err != nil {
					return err
				}
				return a.concludeAudit(c.Context(), result, nil, cardFiles{})
			}
			return app.Usagef("no process of its own is started for sim %s", name)
		},
	}
	c.Flags().BoolVar(&permit.Lock, "allow-lock", false, "allow the lock program that the request names")
	return c
}
