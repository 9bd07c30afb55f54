package main

import (
	"fmt"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/nemesis"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server"
)

func newListCommand(a *app) *cobra.Command {
	topics := []string{"scenarios", "locks", "faults", "properties"}
	return &cobra.Command{
		Use:   "list [scenarios|locks|faults|properties] [FOLDER]",
		Short: "List scenarios, locks, faults or properties",
		Example: `  sim list                     the scenarios in scenarios/
  sim list scenarios my/folder
  sim list locks`,
		Args:      cobra.MaximumNArgs(2),
		ValidArgs: topics,
		RunE: func(_ *cobra.Command, args []string) error {
			topic, folder := "scenarios", "scenarios"
			if len(args) > 0 {
				topic = args[0]
			}
			if len(args) > 1 {
				folder = args[1]
			}
			return a.list(topic, folder)
		},
	}
}

func (a *app) list(topic, folder string) error {
	w := tabwriter.NewWriter(a.stdout, 0, 0, 3, ' ', 0)
	switch topic {
	case "scenarios":
		if err := listScenarios(w, folder); err != nil {
			return err
		}
	case "locks":
		for _, l := range lock.Algorithms() {
			fmt.Fprintf(w, "%s\t%s\n", l.Name, l.Title)
		}
	case "faults":
		for _, k := range nemesis.Kinds() {
			fmt.Fprintf(w, "%s\t%s%s\n", k.Name, k.Title, lacking(k))
		}
	case "properties":
		for _, p := range checker.Properties() {
			fmt.Fprintf(w, "%s\t%s\n", p, p.Title())
		}
	default:
		return usageError("nothing to list under %q\nhint: sim list scenarios, locks, faults or properties", topic)
	}
	return w.Flush()
}

// lacking says what of a kind this machine cannot do.
func lacking(k nemesis.Kind) string {
	for _, p := range k.Powers {
		if err := server.Available(p); err != nil {
			return fmt.Sprintf(" [not here: %s: %v; hint: sim doctor]", p, err)
		}
	}
	return ""
}

func listScenarios(w *tabwriter.Writer, folder string) error {
	if _, err := os.Stat(folder); err != nil {
		return usageError("failed to list scenarios: %w", err)
	}
	scenarios, err := loadScenarios([]string{folder})
	if err != nil {
		return err
	}
	for _, s := range scenarios {
		fmt.Fprintf(w, "%s\t%s\n", s.File, s.Title)
	}
	return nil
}
