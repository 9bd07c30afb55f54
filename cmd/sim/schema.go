package main

import (
	"github.com/spf13/cobra"

	"github.com/redlock-sim/redlock-sim/internal/scenario"
)

func newSchemaCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of scenario files, for editors",
		Example: `  sim schema > scenario.schema.json

  and as the first line of a scenario:
  # yaml-language-server: $schema=scenario.schema.json`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return scenario.WriteSchema(a.stdout)
		},
	}
}
