package main

import (
	"context"
	"errors"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/redlock-sim/redlock-sim/internal/world/live"
)

func newDoctorCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Say what is installed, what is missing, and how to get it",
		Long: `Say what is installed, what is missing, and how to get it. The exit code is 4
where something is missing that every run needs.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.doctor(c.Context()) },
	}
}

func (a *app) doctor(ctx context.Context) error {
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	missing := false
	for _, c := range live.Examine(ctx) {
		mark := "ok"
		if c.Err != nil {
			mark = "optional"
			if c.Required {
				mark, missing = "MISSING", true
			}
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", mark, c.Name, c.Found)
		if c.Err != nil {
			fmt.Fprintf(w, "\t\t%v; needed for %s\n\t\thint: %s\n", c.Err, c.For, c.Hint)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if missing {
		return &exitError{exitEnvironment, errors.New("something that every run needs is missing")}
	}
	return nil
}
