package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/spf13/cobra"

	"github.com/redlock-sim/redlock-sim/internal/app"
	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/app/runs"
	"github.com/redlock-sim/redlock-sim/internal/app/trial"
)

// settled is how long a file stays as it is before it is read: an editor saves it in steps.
const settled = 50 * time.Millisecond

func newWatchCommand(a *cli) *cobra.Command {
	f := a.runFlags()
	f.World, f.Jobs, f.Tries, f.Timeout = request.Virtual, 1, 0, 0
	c := &cobra.Command{
		Use:   "watch FILE",
		Short: "Run a scenario in the virtual world at each save of its file",
		Long: `Run a scenario in the virtual world, and run it again each time that its file is saved,
until Ctrl-C. The seed stays the same, so what differs comes from the file. The report of
the newest run is <out>/watch/latest/report.html: reload it in the browser.`,
		Example: `  sim new my-pause --from gc-pause
  sim watch my-pause.yaml`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			f.permitImages(c.Flags().Changed("nodes"))
			return a.watch(c.Context(), args[0], f)
		},
	}
	c.Flags().Uint64Var(&f.Seed, "seed", 1, "the seed for everything random")
	f.nodesFlags(a, c)
	f.programsFlag(c)
	c.Flags().StringVar(&f.Out, "out", a.project.Out, "folder in which runs are stored")
	return c
}

func (a *cli) watch(ctx context.Context, file string, f runFlags) error {
	if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
		return app.Usagef("%s is no file", file).Hint("sim new my-lock --from gc-pause writes one")
	}
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return &trial.EnvironmentError{Err: fmt.Errorf("failed to watch files: %w", err)}
	}
	defer func() { _ = watcher.Close() }()
	// Editors replace a file, so its folder is watched.
	if err := watcher.Add(filepath.Dir(file)); err != nil {
		return &trial.EnvironmentError{Err: fmt.Errorf("failed to watch %s: %w", filepath.Dir(file), err)}
	}
	f.Out = filepath.Join(f.Out, "watch")
	for {
		a.watchOnce(ctx, file, f)
		if !nextSave(ctx, a.stderr, watcher, file) {
			return nil
		}
	}
}

// watchOnce runs the file as it is now. Only the newest run stays.
func (a *cli) watchOnce(ctx context.Context, file string, f runFlags) {
	if a.isTerminal(a.stdout) {
		fmt.Fprint(a.stdout, "\x1b[H\x1b[2J")
	}
	before := runs.Newest(f.Out)
	f.Scenarios = []string{file}
	err := a.runScenarios(ctx, f)
	if before != "" && runs.Newest(f.Out) != before {
		_ = os.RemoveAll(before)
	}
	if err != nil && err.Error() != "" {
		fmt.Fprintf(a.stderr, "sim: %s\n", err)
	}
	fmt.Fprintf(a.stderr, "watching %s (Ctrl-C ends it)\n", file)
}

// nextSave waits for a change of the file, and until it has settled; false: the end has come.
func nextSave(ctx context.Context, w io.Writer, watcher *fsnotify.Watcher, file string) bool {
	var quiet <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return false
		case <-quiet:
			if exists(file) {
				return true
			}
			quiet = nil
			fmt.Fprintf(w, "%s is gone; waiting for it to come back\n", file)
		case event, open := <-watcher.Events:
			if !open {
				return false
			}
			if filepath.Base(event.Name) == filepath.Base(file) && !event.Has(fsnotify.Chmod) {
				quiet = time.After(settled)
			}
		case _, open := <-watcher.Errors: // events were lost: look at the file
			if !open {
				return false
			}
			quiet = time.After(settled)
		}
	}
}
