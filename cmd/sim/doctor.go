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
	var clean, asJSON bool
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
			if clean && asJSON {
				return app.Usagef("--clean and --json do not go together: choose one")
			}
			if clean {
				return a.clean(c.Context())
			}
			return a.doctor(c.Context(), asJSON)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the list as JSON on stdout")
	c.Flags().BoolVar(&clean, "clean", false, "remove what killed runs left behind")
	return c
}

// doctored is what sim doctor prints with --json.
type doctored struct {
	Checks []doctorCheck `json:"checks"`
}

type doctorCheck struct {
	Name  string `json:"name"`
	State string `json:"state"`
	// Found is what is there, Problem what is missing, For what needs it.
	Found   string `json:"found,omitempty"`
	Problem string `json:"problem,omitempty"`
	For     string `json:"for,omitempty"`
	Hint    string `json:"hint,omitempty"`
}

// The states of what sim doctor looks at.
const (
	stateOK       = "ok"
	stateOptional = "optional"
	stateMissing  = "MISSING"
)

// elsewhere is what sim doctor says where there is no live world.
var elsewhere = []doctorCheck{
	{Name: "virtual world", State: stateOK, Found: "sim run --world virtual, sim search, sim exhaust, sim sweep, sim replay"},
	{Name: "stored runs", State: stateOK, Found: "sim check, sim report, sim compare, sim export, sim serve"},
	{Name: "live world", State: stateMissing, Found: "sim run with real servers (--nodes) and lock programs (--lock), sim conform, sim lock"},
	{Name: inVirtualTime, State: stateMissing, Found: "on Linux on amd64 alone; a built-in lock runs with --world virtual"},
}

const inVirtualTime = "virtual time with real programs"

func (a *cli) doctor(ctx context.Context, asJSON bool) error {
	if err := a.env().Live(); err != nil {
		return errors.Join(a.printDoctor(elsewhere, asJSON), err)
	}
	if err := machine.Adopt(); err != nil { // what a program leaves behind that is asked for its version
		return err
	}
	defer machine.KillOrphans()
	var list []doctorCheck
	missing := false
	for _, c := range append(server.Examine(ctx), examineVirtualTime(launch.Available())) {
		one := doctorCheck{Name: c.Name, State: stateOK, Found: c.Found}
		if c.Err != nil {
			one.State, one.Problem, one.For, one.Hint = stateOptional, c.Err.Error(), c.For, c.Hint
			if c.Required {
				one.State, missing = stateMissing, true
			}
		}
		list = append(list, one)
	}
	if err := a.printDoctor(list, asJSON); err != nil {
		return err
	}
	if missing {
		return &app.ExitError{Code: app.ExitEnvironment,
			Err: errors.New("something that every live run needs is missing; --world virtual runs without it")}
	}
	return nil
}

func (a *cli) printDoctor(list []doctorCheck, asJSON bool) error {
	if asJSON {
		return a.printIndented(doctored{list})
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	for _, c := range list {
		fmt.Fprintf(w, "%s\t%s\t%s\n", c.State, c.Name, c.Found)
		if c.Problem != "" {
			needed := ""
			if c.For != "" {
				needed = "; needed for " + c.For
			}
			fmt.Fprintf(w, "\t\t%s%s\n\t\thint: %s\n", c.Problem, needed, c.Hint)
		}
	}
	return w.Flush()
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
