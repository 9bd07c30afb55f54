package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/redlock-sim/redlock-sim/internal/app"
	"github.com/redlock-sim/redlock-sim/internal/app/observe"
	"github.com/redlock-sim/redlock-sim/internal/keystory"
	"github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// observeFlags are the flags of sim observe.
type observeFlags struct {
	keys, resource []string
	whole          bool
}

func newObserveCommand(a *cli) *cobra.Command {
	var f observeFlags
	c := &cobra.Command{
		Use:   "observe FILE --keys PATTERN",
		Short: "Tell who held a lock, and who ended it, from what a Redis server did",
		Long: `Tell who held a lock, and who ended it, from what a Redis server did: a saved output
of MONITOR (redis-cli monitor > FILE; - is stdin), or an append-only file (the file, its
folder, or its manifest).

For each key that --keys fits it tells who had it, for how long, how often it was renewed
and asked for in vain, who ended it, and what was wrong with that. What the file cannot
tell is said to be unknown. A finding goes by the owner's value; what only connections
tell is a question, marked with "?": pools share connections.

Exit codes: 0 nothing was found, 1 something was found, 2 nobody is known to have held a
lock, 3 bad flags or a file that cannot be read.`,
		Example: `  redis-cli monitor > monitor.log
  sim observe monitor.log --keys 'lock:*'
  sim observe monitor.log --keys lock:order:17 --whole
  sim observe /var/lib/redis/appendonlydir --keys 'lock:*' --resource 'stock:*'`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if len(f.keys) == 0 {
				return app.Usagef("--keys is missing: it says which keys are those of locks").Hint("--keys 'lock:*'")
			}
			return a.observeFile(c.Context(), args[0], f)
		},
	}
	c.Flags().StringSliceVar(&f.keys, "keys", nil, "the keys of the locks; * stands for any characters")
	c.Flags().StringSliceVar(&f.resource, "resource", nil, "the keys of what the locks protect: who writes them without its lock is found")
	c.Flags().BoolVar(&f.whole, "whole", false, "tell all that befell each lock, not only what is around findings")
	return c
}

// kept is how many moments of each lock are kept: where all are told, and where those around findings are.
const (
	keptWhole = 10_000
	kept      = 100
)

func (f *observeFlags) options() keystory.Options {
	o := keystory.Options{Keys: program.PatternsFor("", f.keys), Moments: kept}
	if len(f.resource) > 0 {
		o.Resource = program.PatternsFor("", f.resource)
	}
	if f.whole {
		o.Moments = keptWhole
	}
	return o
}

func (a *cli) observeFile(ctx context.Context, path string, f observeFlags) error {
	s := keystory.New(f.options())
	read, err := observe.File(ctx, path, a.stdin, s)
	if err != nil {
		return app.Usagef("failed to read %q: %w", path, err)
	}
	fmt.Fprintf(a.stdout, "%s%s\n", words.GroupedCount(s.Lines, "command"), period(s))
	for _, note := range read.Notes {
		fmt.Fprintf(a.stdout, "note: %s\n", note)
	}
	if err := s.WriteText(a.stdout, keystory.TextOptions{Whole: f.whole}); err != nil {
		return err
	}
	return observed(s)
}

// period says when the look began and ended.
func period(s *keystory.Story) string {
	if s.First.At == 0 || s.Last.At == 0 {
		return ""
	}
	const day, clock = "2006-01-02 15:04:05", "15:04:05"
	from, to := s.First.Wall(), s.Last.Wall()
	end := to.Format(day)
	if strings.HasPrefix(end, from.Format("2006-01-02")) {
		end = to.Format(clock)
	}
	return fmt.Sprintf(", %s to %s UTC", from.Format(day), end)
}

// observed is the end of a look.
func observed(s *keystory.Story) error {
	switch findings, _ := s.Tally(); {
	case findings > 0:
		return &app.ExitError{Code: app.ExitUnexpected}
	case s.Undecided():
		return &app.ExitError{Code: app.ExitUndecided}
	}
	return nil
}
