package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/redlock-sim/redlock-sim/docs"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
)

func newSchemaCommand(a *app) *cobra.Command {
	topics := []string{"scenario", "lock-protocol"}
	return &cobra.Command{
		Use:   "schema [scenario|lock-protocol]",
		Short: "Print the JSON Schema of scenario files, for editors, or of the lock protocol",
		Example: `  sim schema > scenario.schema.json

  and as the first line of a scenario:
  # yaml-language-server: $schema=scenario.schema.json

  sim schema lock-protocol`,
		Args:      cobra.MaximumNArgs(1),
		ValidArgs: topics,
		RunE: func(_ *cobra.Command, args []string) error {
			topic := topics[0]
			if len(args) > 0 {
				topic = args[0]
			}
			switch topic {
			case "scenario":
				return scenario.WriteSchema(a.stdout)
			case "lock-protocol":
				_, err := io.WriteString(a.stdout, docs.LockProtocolSchema)
				return err
			default:
				return usageError("no schema of %q\nhint: sim schema scenario, or sim schema lock-protocol", topic)
			}
		},
	}
}
