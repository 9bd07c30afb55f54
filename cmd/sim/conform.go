package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kballard/go-shellquote"
	"github.com/spf13/cobra"

	"github.com/redlock-sim/redlock-sim/internal/app"
	"github.com/redlock-sim/redlock-sim/internal/app/conform"
	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/report/plain"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

func newConformCommand(a *cli) *cobra.Command {
	r, p := usualConform(), newConformPrinter(a)
	var allowPrograms bool
	c := &cobra.Command{
		Use:   "conform [COMMAND]",
		Short: "Check that a lock program speaks the protocol and behaves as a lock",
		Long: `Check that a lock program speaks the lock protocol (docs/reference/lock-protocol.md) and behaves
as a lock. COMMAND starts the program; it is split as a shell would split it, but no shell
runs it. sim starts it several times, as clients c1 and c2, with Redis servers of its own:
three for a program of class quorum, else one.

Programs and servers run in virtual time: that takes about a second, what is found is the same
each time, and no machine is too slow. The check "repeats" sees there that two runs with one
seed are the same, byte for byte. Where virtual time cannot be had (see sim doctor), the first
line says so, and the checks take real time. --world live asks for that.

COMMAND can also be a lock of sim, with rules switched off, as for --lock of sim run:
'redlock --switch value'. Without COMMAND it is the lock of sim.yaml.

Each finding says what was seen, what was expected, and how to mend it. A check that needs
what the program cannot do by its own words is not applicable.

A program that conforms can be put on trial: sim run scenarios/ --lock COMMAND.

Exit codes: 0 it conforms, 1 findings, 2 it cannot tell (the machine was too slow, or virtual
time does not model what the program does), 3 bad command or flags, 4 the machine lacks
something, 5 internal error, 130 interrupted.`,
		Example: `  sim conform 'python3 my_lock.py'
  sim conform --world live 'python3 my_lock.py'
  sim conform -v bin/adapters/redsync
  sim conform --json --ttl 5s redlock
  sim conform 'redlock --switch value'`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 || len(args) == 0 && a.project.Lock == "" {
				return app.Usagef("name one command").Hint("put a command with arguments in quotes: sim conform 'python3 my_lock.py'")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) (err error) {
			if len(args) == 1 {
				r.Command = args[0]
			} else if r.Command, err = a.projectLock(allowPrograms); err != nil {
				return err
			}
			return a.conform(c.Context(), r, p)
		},
	}
	c.Flags().StringVar(&r.Key, "key", r.Key, "the lock's key")
	durationFlag(c, &r.TTL, "ttl", "the lease to ask for; on a slow machine take a longer one")
	durationFlag(c, &r.Patience, "patience", "how long an answer may take, beyond the wait that was asked for")
	worldFlag(c, &r.World, "virtual where this machine lets sim, else live")
	redisFlag(c, &r.Redis)
	c.Flags().BoolVar(&allowPrograms, "allow-programs", false, "allow the lock program that sim.yaml names; read it first")
	c.Flags().BoolVarP(&p.verbose, "verbose", "v", false, "print every line of the conversations (on stderr, with --json)")
	c.Flags().BoolVar(&p.json, "json", false, "print the result as JSON on stdout")
	return c
}

// usualConform is a check of a lock program where no flag says otherwise.
func usualConform() request.Conform {
	return request.Conform{Key: "lock", TTL: request.Duration(2 * time.Second), Patience: request.Duration(program.ReadyWithin)}
}

func newConformPrinter(a *cli) *conformPrinter {
	return &conformPrinter{cli: a, notRun: make(map[string][]string)}
}

// conform makes the checks, and says how they ended.
func (a *cli) conform(ctx context.Context, r request.Conform, p *conformPrinter) error {
	result, err := a.makeConform(ctx, r, p)
	if err != nil {
		return err
	}
	return app.Ended(ctx, "interrupted", result.Count(conform.Failed) > 0, !result.Conforms())
}

// makeConform makes the checks, and prints what came of them.
func (a *cli) makeConform(ctx context.Context, r request.Conform, p *conformPrinter) (*app.ConformResult, error) {
	p.out = plain.Lines{Writer: a.stdout}
	env := a.env()
	env.Permit.Lock = true // it was named as the argument, or sim.yaml's was allowed
	result, err := app.Conform(ctx, env, r, func(e app.Event) {
		switch e := e.(type) {
		case app.Started:
			a.orderly.Store(true)
		case app.Note:
			fmt.Fprintln(plain.Lines{Writer: a.stderr}, e.Text)
		case app.Said:
			p.line(e.Line)
		case app.CheckBegun:
			p.begin(e.Name)
		case app.CheckEnded:
			p.end(e.Check)
		}
	})
	p.clear()
	if err != nil {
		return nil, err
	}
	if p.json {
		return result, a.printJSON(conformed{result.Result, result.Conforms(), result.Logs})
	}
	p.summary(result.Result, result.Logs)
	return result, nil
}

// conformPrinter shows the checks as they end.
type conformPrinter struct {
	*cli
	out           io.Writer // what a program says may be anything
	verbose, json bool
	// notRun are the checks that were not made, by the reason.
	notRun map[string][]string
}

func (p *conformPrinter) begin(name string) {
	if p.isTerminal(p.stderr) && p.variable("TERM") != "dumb" && !p.verbose {
		fmt.Fprintf(p.stderr, "\r\x1b[K  %s ...", name)
	}
}

// clear takes the line away that tells which check is being made.
func (p *conformPrinter) clear() {
	if p.isTerminal(p.stderr) && p.variable("TERM") != "dumb" && !p.verbose {
		fmt.Fprint(p.stderr, "\r\x1b[K")
	}
}

func (p *conformPrinter) line(l conform.Line) {
	if !p.verbose {
		return
	}
	out := p.out
	if p.json {
		out = plain.Lines{Writer: p.stderr}
	}
	fmt.Fprintf(out, "      %s\n", l)
	if l.Wrong != "" {
		fmt.Fprintf(out, "      ^ the schema refuses it: %s\n", l.Wrong)
	}
}

var conformMarks = map[conform.Outcome]string{conform.Passed: "+", conform.Failed: "x", conform.NotApplicable: "-", conform.NotRun: "?"}

func (p *conformPrinter) end(c conform.Check) {
	p.clear()
	if p.json {
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
	if r.Program != nil && r.Program.About != "" {
		fmt.Fprintf(p.out, "  %s\n", r.Program.About)
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
