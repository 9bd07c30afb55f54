package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"github.com/spf13/cobra"

	"github.com/redlock-sim/redlock-sim/internal/app"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
)

const newScenario = `# What can stand here: sim schema, docs/reference/scenario.md
name: new
title: What happens, in one line
source: Where the schedule comes from
story: |
  What happens, why, and what to do about it.
nodes: {count: 5, persistence: none}
lock:
  algorithm: redlock # sim list locks
  ttl: 1s
  node_timeout: 200ms
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

func newNewCommand(a *cli) *cobra.Command {
	var from string
	c := &cobra.Command{
		Use:   "new NAME|FILE",
		Short: "Write a scenario to start from",
		Example: `  sim new my-lock                         writes my-lock.yaml
  sim new locks/my-lock.yaml
  sim new my-pause --from gc-pause        a copy of a shipped scenario, or of a file
  sim new --from gc-pause                 writes gc-pause.yaml`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 || len(args) == 0 && from == "" {
				return app.Usagef("name the new scenario").Hint("sim new my-lock")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			original, err := originalOf(from)
			if err != nil {
				return err
			}
			file := original.Name
			if len(args) == 1 {
				file = args[0]
			}
			if filepath.Ext(file) == "" {
				file += ".yaml"
			}
			name := filepath.Base(file[:len(file)-len(filepath.Ext(file))])
			text := copyOf(original, name)
			if _, err := scenario.Parse(file, []byte(text)); err != nil {
				return &app.ExitError{Code: app.ExitUsage, Err: err}
			}
			switch err := writeAnywhere(file, text); {
			case errors.Is(err, fs.ErrExist):
				return app.Usagef("%s exists already", file)
			case err != nil:
				return app.Usagef("failed to write the scenario: %w", err)
			}
			fmt.Fprintf(a.stdout, "%s\nrun it: sim run %[1]s\n", file)
			return nil
		},
	}
	c.Flags().StringVar(&from, "from", "", "a shipped scenario, or a file, to copy")
	register(c, "from", manyScenarios)
	return c
}

// originalOf is the scenario to copy; without a name the one that new scenarios start with.
func originalOf(from string) (*scenario.Scenario, error) {
	if from != "" {
		return app.LoadOne(from)
	}
	return scenario.Parse("new", []byte(newScenario))
}

// copyOf is the text of a scenario under another name, with a schema that editors find
// anywhere.
func copyOf(s *scenario.Scenario, name string) string {
	text := schemaLine.ReplaceAllString(s.Text, "")
	text = nameLine.ReplaceAllLiteralString(text, "name: "+name)
	return "# yaml-language-server: $schema=" + schemaAddress() + "\n" + text
}

var (
	schemaLine = regexp.MustCompile(`(?m)^# yaml-language-server: .*\n`)
	nameLine   = regexp.MustCompile(`(?m)^name: .*$`)
)

// schemaAddress is where editors find the schema of scenarios.
func schemaAddress() string {
	return "https://raw.githubusercontent.com/redlock-sim/redlock-sim/" +
		cmp.Or(programOrigin().version, "main") + "/docs/scenario.schema.json"
}

// writeAnywhere writes a new file where the user says, and makes its folder.
func writeAnywhere(file, text string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	folder, err := os.OpenRoot(filepath.Dir(file))
	if err != nil {
		return err
	}
	return errors.Join(writeNew(folder, filepath.Base(file), text), folder.Close())
}

// writeNew writes a file that must not exist yet, and its folders, inside a folder.
func writeNew(in *os.Root, file, text string) error {
	if err := in.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	f, err := in.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}
