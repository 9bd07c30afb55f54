package main

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/redlock-sim/redlock-sim/internal/app"
	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/world/client/process"
)

func newLockCommand(a *cli) *cobra.Command {
	var switches []string
	var obey, asJSON bool
	c := &cobra.Command{
		Use:   "lock [NAME]",
		Short: "Run a built-in lock as a lock program, or list those that can run so",
		Long: `Run a built-in lock as a lock program: it speaks the lock protocol
(docs/reference/lock-protocol.md) on stdin and stdout, as a lock in any other language does. So it
shows what a lock program says, and it tests sim itself: the lock gets the verdicts that it
gets inside.

Its settings (drift, retry, fan_out, tokens, ...) are the options of the message "setup".
Without a name, the locks are listed.`,
		Example: `  sim lock
  sim conform 'sim lock redlock'
  sim conform -v 'sim lock set-nx-px'
  echo '{"type":"hello","protocols":[1]}' | sim lock redlock --switch quorum`,
		Args:        cobra.MaximumNArgs(1),
		ValidArgs:   wordsOfLocks(),
		Annotations: ownDefaults,
		RunE: func(_ *cobra.Command, args []string) error {
			if asJSON && len(args) > 0 {
				return app.Usagef("--json is for the list of locks: name none")
			}
			if len(args) == 0 {
				return a.listPrograms(asJSON)
			}
			if err := a.env().Live(); err != nil {
				return err
			}
			config, err := app.BuiltIn(args[0], switches)
			if err != nil {
				return err
			}
			if err := process.ServeLock(a.stdin, a.stdout, scenario.Describe(config, programVersion()), config, obey); err != nil {
				return app.Usagef("%w", err)
			}
			return nil
		},
	}
	c.Flags().StringArrayVar(&switches, "switch", nil, "switch off a safety rule of the lock (repeatable); sim list switches lists them")
	registerSwitches(c)
	c.Flags().BoolVar(&asJSON, "json", false, "print the list of locks as JSON on stdout")
	c.Flags().BoolVar(&obey, "obey", false,
		"also switch off the rules that the options of the message \"setup\" name, as the scenario's own lock does")
	return c
}

// programs are the locks that need nothing but nodes, and of which the lock protocol can speak.
func programs() (list []lock.Algorithm) {
	for _, l := range lock.Algorithms() {
		if !l.Consensus {
			list = append(list, l)
		}
	}
	return list
}

func wordsOfLocks() (names []string) {
	for _, l := range programs() {
		names = append(names, l.Name)
	}
	return names
}

func (a *cli) listPrograms(asJSON bool) error {
	names := wordsOfLocks()
	return a.printList(slices.DeleteFunc(listLocks(), func(l listed) bool { return !slices.Contains(names, l.Name) }), asJSON)
}
