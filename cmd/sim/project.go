package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/redlock-sim/redlock-sim/internal/app"
	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
)

// ownDefaults marks the commands that work the same in every folder.
var ownDefaults = map[string]string{"project": "not read"}

// checkProjectFirst has the commands complain of a project's file that cannot be used before
// they look at their arguments, which may rest on it.
func (a *cli) checkProjectFirst(commands []*cobra.Command) {
	for _, c := range commands {
		if c.Annotations["project"] != "" {
			continue
		}
		check := c.Args
		c.Args = func(c *cobra.Command, args []string) error {
			if a.projectErr != nil {
				return app.Usagef("%w", a.projectErr)
			}
			return check(c, args)
		}
	}
}

// takeProjectLock is the project's lock, in the place of --lock. Where there are no lock programs at all, the virtual world has the
// locks of the scenarios.
func (a *cli) takeProjectLock(world string, allowed bool) (string, error) {
	if a.project.Lock != "" && world == request.Virtual && a.env().Live() != nil {
		fmt.Fprintf(a.stderr, "note: the lock of %s is a program, which needs Linux: the locks of the scenarios run\n", scenario.ProjectFile)
		return "", nil
	}
	return a.projectLock(allowed)
}

// projectLock is the command of the project's lock. It is started only with the user's word.
func (a *cli) projectLock(allowed bool) (string, error) {
	if a.project.Lock == "" || allowed {
		return a.project.Lock, nil
	}
	if err := a.env().Live(); err != nil {
		return "", err
	}
	return "", app.Usagef("%s names a program to run on this machine:\n  %s", scenario.ProjectFile, a.project.Lock).
		Hint("read it; if it is safe, run with --allow-programs")
}
