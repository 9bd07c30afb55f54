package main

import (
	"github.com/spf13/cobra"

	"github.com/redlock-sim/redlock-sim/internal/app"
	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/explore"
)

func newReplayCommand(a *cli) *cobra.Command {
	f := a.runFlags()
	f.World, f.Jobs, f.Tries, f.Timeout = request.Virtual, 1, 1, 0 // the seed of the file, and no other
	c := &cobra.Command{
		Use:   "replay FILE",
		Short: "Run again what a search has found, in the virtual or the live world",
		Long: `Run again what a search has found: run the scenario once, with the seed that its file
names. In the virtual world the same happens again, to the nanosecond. In the live
world the same faults strike real servers. There, small differences in time can make
a narrow violation disappear.`,
		Example: `  sim replay reports/found/my-lock-exclusive-lease-23.yaml
  sim replay reports/found/my-lock-exclusive-lease-23.yaml --world live`,
		Args: cobra.ExactArgs(1), ValidArgsFunction: oneScenario,
		RunE: func(c *cobra.Command, args []string) error {
			s, err := app.LoadOne(args[0])
			if err != nil {
				return err
			}
			if !c.Flags().Changed("seed") {
				if f.Seed, err = explore.SeedOf(s.Text); err != nil {
					return app.Usagef("%s: %w", args[0], err).Hint("give one with --seed")
				}
			}
			f.Scenarios = args
			f.permitImages(c.Flags().Changed("nodes"))
			return a.runScenarios(c.Context(), f)
		},
	}
	c.Flags().StringVar(&f.World, "world", f.World, "where to run it: virtual or live")
	f.nodesFlags(a, c)
	f.programsFlag(c)
	registerWords(c, "world", []string{request.Live, request.Virtual})
	c.Flags().Uint64Var(&f.Seed, "seed", 0, "use this seed instead of the one in the file")
	c.Flags().BoolVar(&f.json, "json", false, "print the result as JSON on stdout")
	c.Flags().StringVar(&f.Out, "out", a.project.Out, "folder in which runs are stored")
	return c
}
