package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/redlock-sim/redlock-sim/internal/app/trial"
	"github.com/redlock-sim/redlock-sim/internal/explore"
	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/report/plain"
	"github.com/redlock-sim/redlock-sim/internal/report/terminal"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server"
)

// app is all that the commands touch of the outside.
type app struct {
	// system is the operating system, as in runtime.GOOS.
	system         string
	args           []string
	env            func(string) string
	stdin          io.Reader
	stdout, stderr io.Writer
	// out is stdout once the command runs.
	out *output
	// orderly says that the command has something to end when it is interrupted.
	orderly atomic.Bool
	now     func() time.Time
	// terminal reports whether a file descriptor is a terminal.
	terminal func(fd int) bool
	// project holds the defaults of the folder in which sim runs, or sim's own.
	project    scenario.Project
	projectErr error
}

// Exit codes of sim; the README lists them for users.
const (
	exitMet         = 0
	exitUnexpected  = 1
	exitUndecided   = 2
	exitUsage       = 3
	exitEnvironment = 4
	exitInternal    = 5
	exitInterrupted = 130
	// exitPipe is that of a program which SIGPIPE ends: nobody reads its output any more.
	exitPipe = 141
)

// exitError is an error with its exit code. An empty message has been said
// already.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}
func (e *exitError) Unwrap() error { return e.err }

func usageError(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

// run carries out one command line and returns the exit code.
func run(a *app) int {
	ctx, stop := a.signals()
	defer stop()
	a.project, a.projectErr = scenario.LoadProject()
	root := newRootCommand(a)
	root.SetArgs(a.args)
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	err := a.execute(ctx, root)
	switch broken := a.out.error(); {
	case errors.Is(broken, syscall.EPIPE):
		return exitPipe
	case broken != nil:
		err = &exitError{exitInternal, fmt.Errorf("failed to write to stdout: %w", broken)}
	case err == nil:
		return exitMet
	}
	code := exitCodeOf(err)
	if text := err.Error(); text != "" { // it may quote what a program printed
		fmt.Fprintf(plain.Lines{Writer: a.stderr}, "sim: %s\n", text)
	}
	var env *trial.EnvironmentError
	if errors.As(err, &env) && env.Hint != "" {
		fmt.Fprintf(a.stderr, "hint: %s\n", env.Hint)
	}
	return code
}

// execute runs the command. One that does not come to its end once ctx has ended is left where
// it is: it may wait for a file that never ends.
func (a *app) execute(ctx context.Context, root *cobra.Command) error {
	done := make(chan error, 1)
	go func() { done <- root.ExecuteContext(ctx) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	grace := atOnce
	if a.orderly.Load() {
		grace = inOrder
	}
	select {
	case err := <-done:
		return err
	case <-time.After(grace):
		return &exitError{exitInterrupted, errors.New("interrupted")}
	}
}

// How long a command may go on that has been interrupted: one that has nothing to end, and one
// that has.
const (
	atOnce  = time.Second
	inOrder = time.Minute
)

// live refuses what needs the live world on a system that cannot have it.
func (a *app) live() error {
	if err := machine.LiveOn(a.system); err != nil {
		return &trial.EnvironmentError{Err: err, Hint: "sim run --world virtual works here; " +
			"for real servers and lock programs run sim on Linux: in WSL, a virtual machine or a container"}
	}
	return nil
}

// enterLive makes sure that the live world can be had, and removes what killed runs have
// left, now and when this one is killed. leave ends what processes have left behind that were started
// meanwhile, but not what hooks have started: that may be somebody's server.
func (a *app) enterLive(hooks bool) (leave func(), err error) {
	if err := a.live(); err != nil {
		return nil, err
	}
	a.orderly.Store(true)
	clean := func() { _, _ = machine.Clean(true) } // what cannot be removed does not stop a run; sim doctor tells of it
	clean()
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("failed to find my own program: %w", err)
	}
	endCleaner, err := machine.StartCleaner(exec.Command(self, cleanerCommand))
	if err != nil {
		return nil, err
	}
	if hooks {
		return func() { clean(); endCleaner() }, nil
	}
	return func() { machine.LeaveNothing(); endCleaner() }, machine.Adopt()
}

// exitCodeOf finds the exit code that an error stands for. What cobra itself
// complains of is the command line.
func exitCodeOf(err error) int {
	var exit *exitError
	var env *trial.EnvironmentError
	var problems scenario.Problems
	var slow *trial.SlowError
	var slowSearch *explore.SlowError
	switch {
	case errors.As(err, &exit):
		return exit.code
	case errors.Is(err, server.ErrCluster): // it is refused, wherever it comes to light
		return exitUsage
	case errors.As(err, &slow), errors.As(err, &slowSearch):
		return exitUndecided
	case errors.As(err, &env):
		return exitEnvironment
	case errors.As(err, &problems), isCommandLine(err):
		return exitUsage
	}
	return exitInternal
}

// ended is the end of a command that looks for violations: an interrupt counts before
// what was found, and a violation before what is undecided.
func ended(ctx context.Context, interrupted string, violated, undecided bool) error {
	switch {
	case ctx.Err() != nil:
		return &exitError{exitInterrupted, errors.New(interrupted)}
	case violated:
		return &exitError{code: exitUnexpected}
	case undecided:
		return &exitError{code: exitUndecided}
	}
	return nil
}

// isCommandLine recognises the complaints of the flag parser, which have no
// type of their own.
func isCommandLine(err error) bool {
	for _, start := range []string{"unknown command", "unknown flag", "unknown shorthand", "invalid argument",
		"flag needs an argument", "requires at least", "accepts ", "bad flag syntax"} {
		if strings.HasPrefix(err.Error(), start) {
			return true
		}
	}
	return false
}

// echo is how long after the first signal another one is taken for the same:
// timeout(1) and shells send one to the process and one to its group.
const echo = 300 * time.Millisecond

// signals returns a context that the first Ctrl-C (or SIGTERM, SIGHUP) cancels, or a write to
// stdout that fails, so that runs end in order; the second signal ends the program at once.
func (a *app) signals() (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	a.out = &output{Writer: a.stdout, failed: cancel}
	a.stdout = a.out
	caught := make(chan os.Signal, 2)
	signal.Notify(caught, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // nohup(1)
		signal.Notify(caught, syscall.SIGHUP)
	}
	// A write to a pipe that nobody reads is an error like another one; see output.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	done := make(chan struct{})
	go func() {
		var first time.Time
		for {
			select {
			case <-caught:
			case <-done:
				return
			}
			switch {
			case first.IsZero():
				first = a.now()
				cancel()
			case a.now().Sub(first) > echo:
				os.Exit(exitInterrupted)
			}
		}
	}()
	return ctx, func() {
		signal.Stop(caught)
		close(done)
		cancel()
	}
}

// output is stdout: it keeps the first error, which ends the command.
type output struct {
	io.Writer
	failed func()

	mu  sync.Mutex
	err error
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.Writer.Write(p)
	if err != nil {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.err = cmp.Or(o.err, err)
		o.failed()
	}
	return n, err
}

func (o *output) error() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// isTerminal reports whether w is a terminal.
func (a *app) isTerminal(w io.Writer) bool {
	if o, ok := w.(*output); ok {
		w = o.Writer
	}
	f, ok := w.(*os.File)
	return ok && a.terminal(int(f.Fd()))
}

// textOptions say what stdout can show.
func (a *app) textOptions() terminal.Options {
	tty := a.isTerminal(a.stdout) && a.env("TERM") != "dumb"
	locale := a.env("LC_ALL") + a.env("LC_CTYPE") + a.env("LANG")
	return terminal.Options{
		Color:   tty && a.env("NO_COLOR") == "",
		Unicode: tty && strings.Contains(strings.ToUpper(locale), "UTF"),
	}
}

func newRootCommand(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "sim",
		Short: "Test a Redis lock under faults",
		Long: `sim tests a Redis lock under faults. It runs clients against real redis-server
nodes, and injects pauses, network faults and clock jumps. It records every operation
in a history. A linearizability checker then finds out where safety breaks, with and
without fencing tokens.`,
		Example: `  sim run gc-pause     run one scenario and judge it
  sim run locks/       run every scenario in a folder
  sim list             list the scenarios that sim ships
  sim doctor           list what is installed and what is missing`,
		Version:           versionLine(),
		SilenceUsage:      true,
		SilenceErrors:     true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: false},
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usageError("%w\nhint: %s --help", err, c.CommandPath())
	})
	root.AddCommand(newRunCommand(a), newSearchCommand(a), newExhaustCommand(a), newReplayCommand(a), newSweepCommand(a), newWatchCommand(a),
		newCheckCommand(a), newMergeCommand(a), newReportCommand(a), newCompareCommand(a), newExportCommand(a),
		newInitCommand(a), newServeCommand(a), newPlayCommand(a), newListCommand(a), newNewCommand(a), newDoctorCommand(a), newSchemaCommand(a),
		newVersionCommand(a), newManCommand(), newClientCommand(a), newLockCommand(a),
		newContainCommand(a), newCleanerCommand(a), newConformCommand(a), newAuditCommand(a), newCampaignCommand(a), newWorkerCommand(a))
	a.checkProjectFirst(root.Commands())
	return root
}
