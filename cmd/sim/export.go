package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/redlock-sim/redlock-sim/internal/app"
	"github.com/redlock-sim/redlock-sim/internal/app/trial"
	"github.com/redlock-sim/redlock-sim/internal/checker/evidence"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/history/edn"
	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/report"
)

func newExportCommand(a *cli) *cobra.Command {
	var format, out string
	c := &cobra.Command{
		Use:   "export HISTORY|RUN",
		Short: "Write a history for other tools",
		Long: `Write a history for other tools.

  edn     one history as EDN, the format of Jepsen and its checkers
  jsonl   one history in sim's own format, from any format that sim reads
  trace   a run's folder as a Chrome trace; open it at ui.perfetto.dev`,
		Example: `  sim export reports/latest/unfenced/history.jsonl > history.edn
  sim export reports/latest --format trace > trace.json`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return a.toOutput(out, func(w io.Writer) error { return export(w, args[0], format) })
		},
	}
	c.Flags().StringVar(&format, "format", "edn", "edn, jsonl or trace")
	c.Flags().StringVarP(&out, "output", "o", "", "write to this file instead of stdout")
	registerWords(c, "format", []string{"edn", "jsonl", "trace"})
	return c
}

func export(w io.Writer, path, format string) error {
	if format == "trace" {
		r, err := trial.Load(path)
		if err != nil {
			return app.Usagef("%w", err)
		}
		return report.WriteTrace(w, r)
	}
	write := map[string]func(io.Writer, *history.History) error{"edn": edn.Write, "jsonl": history.Encode}[format]
	if write == nil {
		return app.Usagef("--format %q: want edn, jsonl or trace", format).Unknown(format, []string{"edn", "jsonl", "trace"})
	}
	f, err := os.Open(path)
	if err != nil {
		return app.Usagef("failed to open the history: %w", err)
	}
	defer func() { _ = f.Close() }()
	h, _, err := evidence.FromHistory(f, evidence.Auto, 0)
	if err != nil {
		return app.CheckError(path, err)
	}
	return write(w, h)
}

// toOutput lets write write to a file, or to stdout where out is empty or "-". A file
// appears only when it is whole.
func (a *cli) toOutput(out string, write func(io.Writer) error) error {
	if out == "" || out == "-" {
		return write(a.stdout)
	}
	if info, err := os.Stat(out); err == nil && !info.Mode().IsRegular() { // /dev/null, a pipe
		f, err := os.OpenFile(out, os.O_WRONLY, 0)
		if err != nil {
			return fmt.Errorf("failed to write %q: %w", out, err)
		}
		return errors.Join(write(f), f.Close())
	}
	return machine.WriteFile(out, write)
}

// checkFile refuses a file that cannot be written, before the work rather than after it.
func checkFile(flag, path string) error {
	if path == "" || path == "-" {
		return nil
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return app.Usagef("%s %s: that is a folder", flag, path)
	} else if err == nil && !info.Mode().IsRegular() { // /dev/null, a pipe
		return nil
	}
	if info, err := os.Stat(filepath.Dir(path)); err == nil && !info.IsDir() {
		return app.Usagef("%s %s: %s is no folder", flag, path, filepath.Dir(path))
	}
	return app.CanStore(filepath.Dir(path), "choose another file with "+flag)
}
