package main

import (
	"github.com/spf13/cobra"

	"github.com/redlock-sim/redlock-sim/internal/machine"
)

const cleanerCommand = "cleaner"

// newCleanerCommand is the process that sim starts to remove what it leaves where it is killed.
func newCleanerCommand(a *cli) *cobra.Command {
	return &cobra.Command{
		Use:         cleanerCommand,
		Short:       "Wait for the end of stdin, and remove what killed runs left behind",
		Hidden:      true,
		Annotations: ownDefaults,
		Args:        cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := a.env().Live(); err != nil {
				return err
			}
			return machine.CleanAfter(a.stdin)
		},
	}
}
