package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/redlock-sim/redlock-sim/internal/app"
	"github.com/redlock-sim/redlock-sim/internal/app/trial"
	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/supervisor/launch"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server"
)

func newDoctorCommand(a *cli) *cobra.Command {
	var clean bool
	c := &cobra.Command{
		Use:   "doctor",
		Short: "List what is installed, what is missing, and how to install it",
		Long: `List what is installed, what is missing, and how to install it, both for nodes as
processes and for nodes in Docker. The exit code is 4 if something is missing that
every live run needs.

A run removes at its end what it has made: processes, folders, shared memory, and with
Docker containers, volumes and networks. If a run was killed (SIGKILL), containers are left,
and the rest if sim cleaner was killed, too: the next live run removes it, or --clean does.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if clean {
				return a.clean(c.Context())
			}
			return a.doctor(c.Context())
		},
	}
	c.Flags().BoolVar(&clean, "clean", false, "remove what killed runs left behind")
	return c
}

// elsewhere is what sim doctor says where there is no live world.
const elsewhere = `ok       virtual world                    sim run --world virtual, sim search, sim exhaust, sim sweep, sim replay
ok       stored runs                      sim check, sim report, sim compare, sim export, sim serve
MISSING  live world                       sim run with real servers (--nodes) and lock programs (--lock), sim conform, sim lock
MISSING  ` + inVirtualTime + `  on Linux on amd64 alone; a built-in lock runs with --world virtual
`

const inVirtualTime = "virtual time with real programs"

func (a *cli) doctor(ctx context.Context) error {
	if err := a.env().Live(); err != nil {
		fmt.Fprint(a.stdout, elsewhere)
		return err
	}
	if err := machine.Adopt(); err != nil { // what a program leaves behind that is asked for its version
		return err
	}
	defer machine.KillOrphans()
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	missing := false
	for _, c := range append(server.Examine(ctx), examineVirtualTime(launch.Available())) {
		mark := "ok"
		if c.Err != nil {
			mark = "optional"
			if c.Required {
				mark, missing = "MISSING", true
			}
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", mark, c.Name, c.Found)
		if c.Err != nil {
			needed := ""
			if c.For != "" {
				needed = "; needed for " + c.For
			}
			fmt.Fprintf(w, "\t\t%v%s\n\t\thint: %s\n", c.Err, needed, c.Hint)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if missing {
		return &app.ExitError{Code: app.ExitEnvironment,
			Err: errors.New("something that every live run needs is missing; --world virtual runs without it")}
	}
	return nil
}

// examineVirtualTime puts into one what programs in virtual time use of the machine: what is missing, or what is otherwise.
func examineVirtualTime(checks []launch.Check) server.Check {
	one := server.Check{Name: inVirtualTime, For: "lock programs, which take real time otherwise, and for real servers with --world virtual"}
	var found []string
	for _, c := range checks {
		switch {
		case c.Err != nil:
			one.Err, one.Hint = c.Err, c.Hint
			return one
		case len(found) == 0:
			found = append(found, c.Found)
		case c.Replaced:
			found = append(found, c.Name+": "+c.Found)
		}
	}
	one.Found = strings.Join(found, "; ")
	return one
}

func (a *cli) clean(ctx context.Context) error {
	if err := a.env().Live(); err != nil {
		return err
	}
	did, err := server.Clean(ctx)
	for _, line := range did {
		fmt.Fprintln(a.stdout, line)
	}
	if err != nil {
		return &trial.EnvironmentError{Err: err,
			Hint: "sim doctor lists what is left; if a network without containers stays in use, restart Docker"}
	}
	return nil
}
