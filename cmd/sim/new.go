package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/redlock-sim/redlock-sim/internal/scenario"
)

const newScenario = `# Run it: sim run %[2]s
# What can stand here: sim schema, docs/scenario.md
name: %[1]s
title: What happens, in one line
source: Where the schedule comes from
story: |
  What happens, why, and what to do about it.
nodes: {count: 5, persistence: none}
lock:
  algorithm: redlock # sim list locks
  ttl: 1s
  node_timeout: 50ms
resource: {kind: register}
workload: {kind: increment, clients: 2, sections: 1}
faults: # sim list faults
  - on: {client: c1, point: before-write}
    pause: {client: c1, for: 2s}
variants:
  unfenced: {fencing: {tokens: none}}
  fenced: {fencing: {tokens: quorum-counter}}
expect: # sim list properties
  unfenced: {exclusive-lease: holds, no-late-effect: violated, linearizable-resource: violated}
  fenced: {exclusive-lease: holds, no-late-effect: holds, linearizable-resource: holds}
`

func newNewCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "new NAME|FILE",
		Short:   "Write a scenario to start from",
		Example: "  sim new my-lock              writes my-lock.yaml\n  sim new scenarios/my-lock.yaml",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			file := args[0]
			if filepath.Ext(file) == "" {
				file += ".yaml"
			}
			name := filepath.Base(file[:len(file)-len(filepath.Ext(file))])
			text := fmt.Sprintf(newScenario, name, file)
			if _, err := scenario.Parse(file, []byte(text)); err != nil {
				return &exitError{exitUsage, err}
			}
			f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
			if errors.Is(err, fs.ErrExist) {
				return usageError("%s exists already", file)
			}
			if err != nil {
				return usageError("failed to write the scenario: %w", err)
			}
			_, err = f.WriteString(text)
			if err := errors.Join(err, f.Close()); err != nil {
				return err
			}
			fmt.Fprintf(a.stdout, "%s\n", file)
			return nil
		},
	}
}
