package main

import (
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/redlock-sim/redlock-sim/internal/app"
)

// newManCommand writes the man pages that a release has beside the program.
func newManCommand() *cobra.Command {
	return &cobra.Command{
		Use:         "man FOLDER",
		Short:       "Write the man pages of all commands to a folder",
		Hidden:      true,
		Args:        cobra.ExactArgs(1),
		Annotations: ownDefaults,
		RunE: func(c *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return app.Usagef("failed to make the folder of the man pages: %w", err)
			}
			c.Root().DisableAutoGenTag = true // the pages must not tell of the day and the machine
			for _, c := range c.Root().Commands() {
				c.Long = strings.ReplaceAll(c.Long, "<", `\<`) // Markdown takes <out> for HTML
				if jobs := c.Flags().Lookup("jobs"); jobs != nil {
					jobs.DefValue = "by the number of processors"
				}
			}
			return doc.GenManTree(c.Root(), &doc.GenManHeader{Section: "1", Source: "sim " + programVersion(), Manual: "redlock-sim"}, args[0])
		},
	}
}
