package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/redlock-sim/redlock-sim/internal/app"
	"github.com/redlock-sim/redlock-sim/internal/app/trial"
	"github.com/redlock-sim/redlock-sim/internal/report/plain"
	"github.com/redlock-sim/redlock-sim/internal/report/terminal"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
)

// cli is all that the commands touch of the outside.
type cli struct {
	// system is the operating system, as in runtime.GOOS.
	system         string
	args           []string
	variable       func(string) string
	stdin          io.Reader
	stdout, stderr io.Writer
	// out is stdout once the command runs.
	out *output
	// orderly says that the command has something to end when it is interrupted.
	orderly atomic.Bool
	now     func() time.Time
	// terminal reports whether a file descriptor is a terminal, columns how wide that is; 0: that is not known.
	terminal func(fd int) bool
	columns  func(fd int) int
	// project holds the defaults of the folder in which sim runs, or sim's own.
	project    scenario.Project
	projectErr error
}

// exitPipe is the exit code of a program which SIGPIPE ends: nobody reads its output any more.
const exitPipe = 141

// env is what requests need of the outside. What they are permitted, flags say.
func (a *cli) env() *app.Env {
	return &app.Env{System: a.system, Version: programVersion(), Now: a.now, Variable: a.variable,
		CleanerCommand: cleanerCommand, WorkCommand: workCommand,
		RealTime: app.RealTime{Nodes: a.project.Nodes, Tries: a.project.Tries}}
}

// run carries out one command line and returns the exit code.
func run(a *cli) int {
	ctx, stop := a.signals()
	defer stop()
	a.project, a.projectErr = scenario.LoadProject()
	root := newRootCommand(a)
	root.SetArgs(a.args)
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	err := a.execute(ctx, root)
	if err != nil {
		err = commandError(root, a.args, err)
	}
	a.out.close()
	switch broken := a.out.error(); {
	case errors.Is(broken, syscall.EPIPE):
		return exitPipe
	case broken != nil:
		err = &app.ExitError{Code: app.ExitEnvironment, Err: fmt.Errorf("failed to write to stdout: %w", broken)}
	case err == nil:
		return app.ExitMet
	}
	if text := explained(err); text != "" { // it may quote what a program printed
		fmt.Fprintf(plain.Lines{Writer: a.stderr}, "sim: %s\n", text)
	}
	return exitCode(err)
}

// explained is an error with what the user can do about it.
func explained(err error) string {
	var env *trial.EnvironmentError
	if errors.As(err, &env) && env.Hint != "" {
		return err.Error() + "\nhint: " + env.Hint
	}
	return err.Error()
}

// writingTo is the same command line, with another place for what it prints; nobody waits there.
func (a *cli) writingTo(stdout io.Writer) *cli {
	return &cli{system: a.system, variable: a.variable, stdin: strings.NewReader(""), stdout: stdout, stderr: io.Discard, now: a.now,
		terminal: func(int) bool { return false }, project: a.project, projectErr: a.projectErr}
}

// execute runs the command. One that does not come to its end once ctx has ended is left where
// it is: it may wait for a file that never ends.
func (a *cli) execute(ctx context.Context, root *cobra.Command) error {
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
		return &app.ExitError{Code: app.ExitInterrupted, Err: errors.New("interrupted")}
	}
}

// How long a command may go on that has been interrupted: one that has nothing to end, and one
// that has.
const (
	atOnce  = time.Second
	inOrder = time.Minute
)

// exitCode is the exit code that an error stands for. What cobra itself complains of is the command line.
func exitCode(err error) int {
	if code := app.ExitCode(err); code != app.ExitInternal || !isCommandLine(err) {
		return code
	}
	return app.ExitUsage
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
func (a *cli) signals() (context.Context, func()) {
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
				os.Exit(app.ExitInterrupted)
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
	// hanging lays lines out for a terminal; nil: they are written as they are.
	hanging *terminal.Hanging

	mu  sync.Mutex
	err error
}

func (o *output) Write(p []byte) (int, error) {
	to := o.Writer
	if o.hanging != nil {
		to = o.hanging
	}
	n, err := to.Write(p)
	if err != nil {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.err = cmp.Or(o.err, err)
		o.failed()
	}
	return n, err
}

// close writes what is kept of a line that has no end.
func (o *output) close() {
	if o.hanging == nil {
		return
	}
	hanging := o.hanging
	o.hanging = nil
	if _, err := o.Write(hanging.Rest()); err != nil {
		return // it is kept
	}
}

// hangs are the commands whose lines are broken for a terminal that is narrower. Others lay their text out themselves, or print files.
var hangs = []string{"campaign", "check", "conform", "doctor", "exhaust", "list", "merge", "replay", "search", "sweep", "version"}

// layOut has the lines of a command broken where it prints to a terminal, and for people.
func (a *cli) layOut(c *cobra.Command) {
	for c.HasParent() && c.Parent().HasParent() {
		c = c.Parent()
	}
	asJSON := c.Flags().Lookup("json")
	if columns := a.columnsOf(a.stdout); columns > 0 && a.isTerminal(a.stdout) && slices.Contains(hangs, c.Name()) &&
		(asJSON == nil || asJSON.Value.String() == asJSON.DefValue) {
		a.out.hanging = &terminal.Hanging{Writer: a.out.Writer, Width: max(columns, leastWidth)}
	}
}

func (o *output) error() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// isTerminal reports whether w is a terminal.
func (a *cli) isTerminal(w io.Writer) bool {
	if o, ok := w.(*output); ok {
		w = o.Writer
	}
	f, ok := w.(*os.File)
	return ok && a.terminal(int(f.Fd()))
}

// textOptions say what stdout can show.
func (a *cli) textOptions() terminal.Options {
	tty := a.isTerminal(a.stdout) && a.variable("TERM") != "dumb"
	locale := a.variable("LC_ALL") + a.variable("LC_CTYPE") + a.variable("LANG")
	return terminal.Options{
		Color:   tty && a.variable("NO_COLOR") == "",
		Unicode: tty && strings.Contains(strings.ToUpper(locale), "UTF"),
		Width:   a.width(),
	}
}

// leastWidth is for how few columns text is laid out.
const leastWidth = 40

// width is for how many columns text is laid out: those of the terminal, or of COLUMNS, but no more than can be read well; 0: as usual.
func (a *cli) width() int {
	columns := a.columnsOf(a.stdout)
	if columns <= 0 {
		return 0
	}
	return min(max(columns, leastWidth), terminal.DefaultWidth)
}

// columnsOf is how wide the terminal is to which something is written, or what COLUMNS says; 0: that is not known.
func (a *cli) columnsOf(w io.Writer) int {
	if o, ok := w.(*output); ok {
		w = o.Writer
	}
	said, _ := strconv.Atoi(a.variable("COLUMNS"))
	if f, ok := w.(*os.File); ok && a.columns != nil && a.isTerminal(f) {
		return cmp.Or(a.columns(int(f.Fd())), said)
	}
	return said
}

// lineWidth is how long a line on stderr may be that is written over again: one that the terminal breaks could not be.
func (a *cli) lineWidth() int {
	if columns := a.columnsOf(a.stderr); columns > 0 {
		return max(min(columns, terminal.DefaultWidth)-1, leastWidth/2)
	}
	return terminal.DefaultWidth - 1
}

func newRootCommand(a *cli) *cobra.Command {
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
	root.SetHelpFunc(a.help)
	root.SetFlagErrorFunc(flagError)
	root.PersistentPreRun = func(c *cobra.Command, _ []string) { a.layOut(c) }
	root.AddCommand(newRunCommand(a), newSearchCommand(a), newSoakCommand(a), newExhaustCommand(a), newReplayCommand(a),
		newSweepCommand(a), newWatchCommand(a), newCheckCommand(a), newCorpusCommand(a), newObserveCommand(a), newMergeCommand(a),
		newReportCommand(a), newCompareCommand(a), newExplainCommand(a), newExportCommand(a),
		newInitCommand(a), newServeCommand(a), newMCPCommand(a), newPlayCommand(a),
		newListCommand(a), newNewCommand(a), newDoctorCommand(a), newSchemaCommand(a),
		newVersionCommand(a), newManCommand(), newClientCommand(a), newLockCommand(a),
		newContainCommand(a), newCleanerCommand(a), newWorkCommand(a), newConformCommand(a), newAuditCommand(a),
		newCampaignCommand(a), newWorkerCommand(a))
	a.checkProjectFirst(root.Commands())
	return root
}
