package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/kballard/go-shellquote"
	"github.com/spf13/cobra"

	"github.com/redlock-sim/redlock-sim/internal/app/conform"
	"github.com/redlock-sim/redlock-sim/internal/app/trial"
	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/words"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server"
)

// conformFlags are the flags of sim conform.
type conformFlags struct {
	key           string
	ttl, patience time.Duration
	verbose, json bool
}

func newConformCommand(a *app) *cobra.Command {
	var f conformFlags
	var allowPrograms bool
	c := &cobra.Command{
		Use:   "conform [COMMAND]",
		Short: "Check that a lock program speaks the protocol and behaves as a lock",
		Long: `Check that a lock program speaks the lock protocol (docs/reference/lock-protocol.md) and behaves
as a lock. COMMAND starts the program; it is split as a shell would split it, but no shell
runs it. sim starts it several times, as clients c1 and c2, with Redis servers of its own:
three for a program of class quorum, else one.

Without COMMAND it is the lock of sim.yaml.

Each finding says what was seen, what was expected, and how to mend it. A check that needs
what the program cannot do by its own words is not applicable.

A program that conforms can be put on trial: sim run scenarios/ --lock COMMAND.

Exit codes: 0 it conforms, 1 findings, 2 the machine was too slow to tell, 3 bad command or
flags, 4 the machine lacks something, 5 internal error, 130 interrupted.`,
		Example: `  sim conform 'python3 my_lock.py'
  sim conform -v bin/adapters/redsync
  sim conform --json --ttl 5s 'sim lock redlock'`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 || len(args) == 0 && a.project.Lock == "" {
				return usageError("name one command\nhint: put a command with arguments in quotes: sim conform 'python3 my_lock.py'")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 1 {
				return a.conform(c.Context(), args[0], f)
			}
			command, err := a.projectLock(allowPrograms)
			if err != nil {
				return err
			}
			return a.conform(c.Context(), command, f)
		},
	}
	c.Flags().StringVar(&f.key, "key", "lock", "the lock's key")
	c.Flags().DurationVar(&f.ttl, "ttl", 2*time.Second, "the lease to ask for; on a slow machine take a longer one")
	c.Flags().DurationVar(&f.patience, "patience", program.ReadyWithin, "how long an answer may take, beyond the wait that was asked for")
	c.Flags().BoolVar(&allowPrograms, "allow-programs", false, "allow the lock program that sim.yaml names; read it first")
	c.Flags().BoolVarP(&f.verbose, "verbose", "v", false, "print every line of the conversations (on stderr, with --json)")
	c.Flags().BoolVar(&f.json, "json", false, "print the result as JSON")
	return c
}

func (a *app) conform(ctx context.Context, command string, f conformFlags) error {
	if f.ttl < 100*time.Millisecond || f.ttl > time.Minute || f.patience < time.Second {
		return usageError("--ttl %v, --patience %v: want a ttl from 100ms to 1m, and a patience of at least 1s", f.ttl, f.patience)
	}
	leave, err := a.enterLive(false)
	if err != nil {
		return err
	}
	defer leave()
	argv, err := splitCommand("conform", command)
	if err != nil {
		return err
	}
	if _, ours := lock.Lookup(argv[0]); ours {
		return usageError("conform %s: that is a lock of sim, and no program\nhint: conform 'sim lock %s'", command, command)
	}
	if _, err := trial.FindImage(ctx, argv); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "sim-conform-")
	if err != nil {
		return &trial.EnvironmentError{Err: err, Hint: "set TMPDIR to a folder that can be written to"}
	}
	p := &conformPrinter{app: a, out: report.PlainLines{Writer: a.stdout}, flags: f, notRun: make(map[string][]string)}
	result, err := conform.Run(ctx, conform.Options{Command: argv, Key: f.key, TTL: f.ttl, Patience: f.patience, Dir: dir,
		Line: p.line, Begin: p.begin, End: p.end})
	p.clear()
	logs := dir
	if err != nil || result.Conforms() { // nobody needs the logs
		defer func() { _ = os.RemoveAll(dir) }()
		logs = ""
	}
	if err != nil {
		return conformError(ctx, argv[0], err)
	}
	if f.json {
		err = a.printJSON(struct {
			*conform.Result
			Conforms bool   `json:"conforms"`
			Logs     string `json:"logs,omitempty"`
		}{result, result.Conforms(), logs})
	} else {
		p.summary(result, logs)
	}
	return errors.Join(err, ended(ctx, "interrupted", result.Count(conform.Failed) > 0, !result.Conforms()))
}

// conformError tells what is not the program's fault.
func conformError(ctx context.Context, name string, err error) error {
	switch {
	case ctx.Err() != nil:
		return &exitError{exitInterrupted, errors.New("interrupted")}
	case errors.Is(err, server.ErrCluster):
		return &trial.EnvironmentError{Err: err, Hint: trial.HintCluster}
	case errors.Is(err, server.ErrNowhere):
		return &trial.EnvironmentError{Err: err, Hint: "apt-get install redis-server (or: make setup), or start Docker"}
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, os.ErrNotExist), errors.Is(err, os.ErrPermission):
		return &trial.EnvironmentError{Err: err, Hint: trial.HintAbsent(name, err)}
	}
	return &trial.EnvironmentError{Err: err, Hint: "sim doctor lists what is missing"}
}

// conformPrinter shows the checks as they end.
type conformPrinter struct {
	app   *app
	out   io.Writer // what a program says may be anything
	flags conformFlags
	// notRun are the checks that were not made, by the reason.
	notRun map[string][]string
}

func (p *conformPrinter) begin(name string) {
	if p.app.isTerminal(p.app.stderr) && p.app.env("TERM") != "dumb" && !p.flags.verbose {
		fmt.Fprintf(p.app.stderr, "\r\x1b[K  %s ...", name)
	}
}

// clear takes the line away that tells which check is being made.
func (p *conformPrinter) clear() {
	if p.app.isTerminal(p.app.stderr) && p.app.env("TERM") != "dumb" && !p.flags.verbose {
		fmt.Fprint(p.app.stderr, "\r\x1b[K")
	}
}

func (p *conformPrinter) line(l conform.Line) {
	if !p.flags.verbose {
		return
	}
	out := p.out
	if p.flags.json {
		out = report.PlainLines{Writer: p.app.stderr}
	}
	fmt.Fprintf(out, "      %s\n", l)
	if l.Wrong != "" {
		fmt.Fprintf(out, "      ^ the schema refuses it: %s\n", l.Wrong)
	}
}

var conformMarks = map[conform.Outcome]string{conform.Passed: "+", conform.Failed: "x", conform.NotApplicable: "-", conform.NotRun: "?"}

func (p *conformPrinter) end(c conform.Check) {
	p.clear()
	if p.flags.json {
		return
	}
	text := c.Title
	switch c.Outcome {
	case conform.NotRun:
		p.notRun[c.Why] = append(p.notRun[c.Why], c.Name)
		return
	case conform.NotApplicable:
		text = fmt.Sprintf("%s: %s", c.Outcome, c.Why)
	case conform.Passed, conform.Failed:
	}
	fmt.Fprintf(p.out, "  %s %-19s %s\n", conformMarks[c.Outcome], c.Name, text)
	if f := c.Finding; f != nil {
		p.field("seen", f.Seen)
		p.field("line", f.Line)
		p.field("expected", f.Expected)
		p.field("mend", f.Mend)
		p.field("output", strings.Join(f.Output, "\n"))
		p.field("printed", strings.Join(f.Printed, "\n"))
		p.field("log", f.Log)
	}
	for _, note := range c.Notes {
		p.field("note", note)
	}
}

// field prints a field of a finding; its further lines stand below the first.
func (p *conformPrinter) field(name, text string) {
	if text != "" {
		fmt.Fprintf(p.out, "      %-9s %s\n", name, strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", 16)))
	}
}

// summary is the last line.
func (p *conformPrinter) summary(r *conform.Result, dir string) {
	for _, why := range slices.Sorted(maps.Keys(p.notRun)) {
		fmt.Fprintf(p.out, "  %s %s: %s\n      (%s)\n", conformMarks[conform.NotRun], conform.NotRun, why, strings.Join(p.notRun[why], ", "))
	}
	name := shellquote.Join(r.Command...)
	if r.Program != nil {
		name = strings.TrimSpace(r.Program.Name + " " + r.Program.Version)
	}
	word := "conforms"
	if !r.Conforms() {
		word = cmp.Or(map[bool]string{true: "does not conform"}[r.Count(conform.Failed) > 0], "undecided")
		fmt.Fprintf(p.out, "logs: %s\n", dir)
	}
	parts := []string{name, words.Count(r.Count(conform.Passed), "check") + " passed"}
	for _, o := range []conform.Outcome{conform.Failed, conform.NotApplicable, conform.NotRun} {
		if n := r.Count(o); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, o))
		}
	}
	fmt.Fprintf(p.out, "%s: %s\n", word, strings.Join(parts, ", "))
}
