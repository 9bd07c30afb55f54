package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/redlock-sim/redlock-sim/internal/app"
	"github.com/redlock-sim/redlock-sim/internal/app/observe"
	"github.com/redlock-sim/redlock-sim/internal/keystory"
	"github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/report/observed"
	"github.com/redlock-sim/redlock-sim/internal/report/plain"
)

// observeFlags are the flags of sim observe.
type observeFlags struct {
	keys, resource []string
	whole, json    bool
	html           string
	// live is a look at a server.
	live                      observe.Live
	passwordEnv, passwordFile string
	record                    string
	force, plainPassword      bool
	follow                    bool
	sample, metrics           string
	sentinelPasswordEnv       string
}

func newObserveCommand(a *cli) *cobra.Command {
	var f observeFlags
	c := &cobra.Command{
		Use:   "observe WHERE... --keys PATTERN",
		Short: "Tell who held a lock, and who ended it, from what a Redis server does or did",
		Long: `Tell who held a lock, and who ended it. WHERE is a server that is in use
(redis://host:6379, rediss:// for TLS, /2 behind it for database 2), a saved output of
MONITOR (redis-cli monitor > FILE; - is stdin), or an append-only file (the file, its
folder, or its manifest). sim writes to no server.

There may be several servers, such as the independent nodes of a Redlock. Where a Sentinel
(redis+sentinel://host:26379/NAME) or a node of a Redis Cluster (redis+cluster://host:6379)
tells of others, --follow permits sim to contact them; on this machine it may anyway.

A look at a server lasts till Ctrl-C, or for --for. It uses MONITOR, which costs a busy
server up to half of its throughput, so it is refused, and ended, above --most-ops
commands a second, unless --force is given. --without-monitor goes by the events that the
server sends of keys, and by what it says that they hold; --sample 1s/10s uses MONITOR for
one second in ten.

For each key that --keys fits it tells who had it, for how long, how often it was renewed
and asked for in vain, who ended it, and what was wrong with that. What the file cannot
tell is said to be unknown. A finding goes by the owner's value; what only connections
tell is a question, marked with "?": pools share connections.

Exit codes: 0 nothing was found, 1 something was found, 2 nobody is known to have held a
lock, or commands were left out, 3 bad flags or a file that cannot be read, 4 the server cannot be reached, at the
beginning or at the end, or is too busy.`,
		Example: `  sim observe redis://127.0.0.1:6379 --keys 'lock:*' --for 10m
  sim observe rediss://observer@redis.example:6380 --keys 'lock:*' --password-env REDIS_PASSWORD
  redis-cli monitor > monitor.log
  sim observe monitor.log --keys 'lock:*'
  sim observe monitor.log --keys lock:order:17 --whole
  sim observe /var/lib/redis/appendonlydir --keys 'lock:*' --resource 'stock:*'`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if len(f.keys) == 0 {
				return app.Usagef("--keys is missing: it says which keys are those of locks").Hint("--keys 'lock:*'")
			}
			if err := checkFile("--html", f.html); err != nil {
				return err
			}
			if strings.Contains(args[0], "://") {
				return a.observeServer(c.Context(), args, f)
			}
			if len(args) > 1 {
				return app.Usagef("several addresses are those of servers: %q is none", args[0])
			}
			if c.Flags().Changed("for") {
				return app.Usagef("--for goes with a server: a file is read whole")
			}
			if f.live.WithoutMonitor || f.sample != "" || f.metrics != "" {
				return app.Usagef("--without-monitor, --sample and --metrics go with a server")
			}
			return a.observeFile(c.Context(), args[0], f)
		},
	}
	c.Flags().StringSliceVar(&f.keys, "keys", nil, "the keys of the locks; * stands for any characters")
	c.Flags().StringSliceVar(&f.resource, "resource", nil, "the keys of what the locks protect: who writes them without its lock is found")
	c.Flags().BoolVar(&f.whole, "whole", false, "tell all that befell each lock, not only what is around findings")
	c.Flags().BoolVar(&f.json, "json", false, "print what befell each lock as JSON on stdout, at the end")
	c.Flags().StringVar(&f.html, "html", "", "also write what befell the locks, with pictures, as an HTML page to this file")
	c.Flags().DurationVar(&f.live.For, "for", 0, "how long to look at a server (default: till Ctrl-C)")
	c.Flags().IntVar(&f.live.MostOps, "most-ops", 10_000, "how many commands a second a server may carry out for MONITOR to be used")
	c.Flags().BoolVar(&f.force, "force", false, "use MONITOR however busy the server is")
	c.Flags().StringVar(&f.record, "record", "", "write the lines of MONITOR that are about the keys to this new file, to be read again")
	c.Flags().StringVar(&f.passwordEnv, "password-env", "", "the environment variable that holds the password")
	c.Flags().StringVar(&f.passwordFile, "password-file", "", "the file that holds the password")
	c.Flags().BoolVar(&f.plainPassword, "allow-plain-password", false,
		"send the password also without TLS to a server that is not on this machine")
	c.Flags().BoolVar(&f.live.WithoutMonitor, "without-monitor", false,
		"go by the events that the server sends of keys, and by asking what they hold: it costs less, and tells less")
	c.Flags().StringVar(&f.metrics, "metrics", "",
		"also serve figures for Prometheus at this address of this machine, such as 127.0.0.1:9090 (path /metrics)")
	c.Flags().StringVar(&f.sample, "sample", "",
		"use MONITOR for one time in each other, such as 1s/10s, for a busy server: what is between is not seen")
	c.Flags().BoolVar(&f.follow, "follow", false, "also contact the servers that a Sentinel or a Redis Cluster tells of")
	c.Flags().StringVar(&f.sentinelPasswordEnv, "sentinel-password-env", "",
		"the environment variable that holds the password of the Sentinel")
	c.Flags().StringVar(&f.live.CA, "ca-cert", "", "a file with the certificates to trust (default: those of the machine)")
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
	return a.tellStory(s, path, read.Notes, &f)
}

// tellStory prints what befell the locks, as JSON where that is asked for, and writes the page.
func (a *cli) tellStory(s *keystory.Story, where string, notes []string, f *observeFlags) error {
	notes = append(notes, s.Notes...)
	r := s.Report(where, notes)
	if f.html != "" {
		if err := a.toOutput(f.html, func(w io.Writer) error { return observed.WriteHTML(w, r) }); err != nil {
			return err
		}
	}
	if f.json {
		return errors.Join(a.printIndented(r), concluded(s))
	}
	when := ""
	if s.First.At > 0 && s.Last.At > 0 {
		when = ", " + keystory.Period(s.First.Wall(), s.Last.Wall())
	}
	fmt.Fprintf(a.stdout, "%s%s\n", s.Seen(), when)
	for _, note := range notes {
		fmt.Fprintf(a.stdout, "note: %s\n", note)
	}
	if err := s.WriteText(a.stdout, keystory.TextOptions{Whole: f.whole}); err != nil {
		return err
	}
	return concluded(s)
}

func (a *cli) observeServer(ctx context.Context, args []string, f observeFlags) (err error) {
	l := &f.live
	places, err := a.places(args, &f)
	if err != nil {
		return err
	}
	l.Server = places[0].Server
	if f.force {
		l.MostOps = 0
	}
	if f.record != "" {
		file, err := os.OpenFile(f.record, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return app.Usagef("--record: %w", err)
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		l.Record = file
	}
	a.orderly.Store(true)
	l.Story, l.Patterns = f.options(), f.keys
	l.Story.Events = l.WithoutMonitor
	publish, stop, err := f.serveFigures(ctx)
	if err != nil {
		return err
	}
	defer stop()
	if len(places) > 1 || places[0].Topology != observe.Single {
		return a.observeServers(ctx, places, publish, &f)
	}
	if publish != nil {
		l.Publish = func(s *keystory.Story, now keystory.Time) { publish(l.Address, s, now) }
	}
	if !f.json {
		l.Story.Tell = func(k *keystory.Lock, found *keystory.Finding) { fmt.Fprintln(a.stdout, k.Line(found)) }
	}
	l.Note = func(text string) { fmt.Fprintf(plain.Lines{Writer: a.stderr}, "note: %s\n", text) }
	s, err := l.Look(ctx)
	if gone := (*observe.GoneError)(nil); errors.As(err, &gone) {
		told := a.tellStory(s, args[0], []string{err.Error()}, &f)
		if findings, _ := s.Tally(); findings > 0 {
			return told
		}
	}
	if err != nil {
		return a.notLooked(err)
	}
	return a.tellStory(s, args[0], nil, &f)
}

// password is that of the server, from where the flags say.
func (a *cli) password(f *observeFlags) (string, error) {
	switch {
	case f.passwordEnv != "" && f.passwordFile != "":
		return "", app.Usagef("--password-env and --password-file do not go together: choose one")
	case f.passwordEnv != "":
		password := a.variable(f.passwordEnv)
		if password == "" {
			return "", app.Usagef("the environment variable %s, which should hold the password, is not set", f.passwordEnv)
		}
		return password, nil
	case f.passwordFile != "":
		b, err := os.ReadFile(f.passwordFile)
		if err != nil {
			return "", app.Usagef("--password-file: %w", err)
		}
		return strings.TrimRight(string(b), "\r\n"), nil
	}
	return "", nil
}

// concluded is the end of a look.
func concluded(s *keystory.Story) error {
	switch findings, _ := s.Tally(); {
	case findings > 0:
		return &app.ExitError{Code: app.ExitUnexpected}
	case s.Undecided() || s.Left.Keys > 0:
		return &app.ExitError{Code: app.ExitUndecided}
	}
	return nil
}
