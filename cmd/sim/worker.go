package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/redlock-sim/redlock-sim/internal/app"
	"github.com/redlock-sim/redlock-sim/internal/app/campaign"
	"github.com/redlock-sim/redlock-sim/internal/app/trial"
	"github.com/redlock-sim/redlock-sim/internal/report/plain"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

func newWorkerCommand(a *cli) *cobra.Command {
	var w works
	var metrics string
	c := &cobra.Command{
		Use:   "worker",
		Short: "Work on the campaigns of a database",
		Long: `Work on the campaigns of a database, until Ctrl-C. Any number of workers, on any number of
machines, share the work: sim campaign says how. Start one on each machine; it makes one run
at a time on each processor.

Without --live, --lock and --docker a worker takes nothing from the database but scenarios for the virtual
world: it starts no program and connects to nothing else. It works only on campaigns that the same version
of sim began, for with another one the seeds would not repeat.

With any of these flags it works on campaigns among real servers instead, one shard at a time, for whoever
measures real time needs the machine. --live allows locks of sim. --lock NAME='COMMAND' also allows the
lock program that campaigns call NAME, if it has the digest that the campaign says. No campaign can say
how a program is started. --docker also allows nodes in Docker.

On Ctrl-C the ranges that are being worked on go back at once. What a worker that was killed
was working on is taken over after 15 s.`,
		Example: `  sim worker --db postgres://sim@db.example/campaigns
  sim worker --db postgres://sim@db.example/campaigns -j 4 --metrics 127.0.0.1:9090
  sim worker --db postgres://sim@db.example/campaigns --lock ours=/opt/my-lock`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if w.jobs < 0 || w.jobs > app.MostSlots {
				return app.Usagef("--jobs: want 1 to %d", app.MostSlots)
			}
			return a.worker(c.Context(), w, metrics)
		},
	}
	databaseFlags(a, c, &w.Database)
	c.Flags().IntVarP(&w.jobs, "jobs", "j", a.project.Jobs,
		"how many runs at once (default: one for each processor; among real servers as many as sim makes by itself)")
	c.Flags().BoolVar(&w.live, "live", false, "work on campaigns among real servers")
	c.Flags().BoolVar(&w.docker, "docker", false, "also have nodes in Docker (implies --live)")
	w.lockFlag(c)
	c.Flags().StringVar(&metrics, "metrics", "", "also serve figures for Prometheus at this address, such as 127.0.0.1:9090 (path /metrics)")
	return c
}

func (a *cli) worker(ctx context.Context, w works, metrics string) error {
	named, err := a.namedLocks(ctx, w.locks)
	if err != nil {
		return err
	}
	store, err := a.openCampaigns(ctx, w.Database, false)
	if err != nil {
		return err
	}
	defer store.Close()
	var do *campaign.Doer
	if w.live || w.docker || len(named) > 0 {
		if do, err = a.env().Doer(ctx, store, w.docker, w.jobs, named, a.listener().hear); err != nil {
			return err
		}
	}
	worker, err := app.StartWorker(ctx, store.Store, do, w.jobs, a.trouble)
	if err != nil {
		return app.DatabaseError(ctx, err)
	}
	defer worker.Stop()
	if metrics != "" {
		stop, err := serveMetrics(ctx, metrics, store.Metrics())
		if err != nil {
			return &trial.EnvironmentError{Err: fmt.Errorf("--metrics: %w", err)}
		}
		defer stop()
	}
	if do != nil {
		a.tellAbilities(do)
	} else {
		fmt.Fprintf(a.stderr, "%s on this machine (Ctrl-C stops them)\n", words.Count(app.SlotsOf(w.jobs), "worker"))
	}
	a.tellRefused(ctx, store.Store)
	<-ctx.Done()
	return &app.ExitError{Code: app.ExitInterrupted, Err: errors.New("interrupted; what was being worked on goes back")}
}

// tellRefused says which campaigns this sim cannot carry out.
func (a *cli) tellRefused(ctx context.Context, store *campaign.Store) {
	list, err := store.List(ctx)
	if err != nil {
		return // the worker tells of trouble
	}
	build, _ := a.env().Build()
	for _, st := range list {
		if st.Refused && st.State == campaign.Running {
			fmt.Fprintf(plain.Lines{Writer: a.stderr},
				"campaign %d was begun by sim %s; this is sim %s, with which its seeds would not repeat: left alone\n", st.ID, st.Build, build)
		}
	}
}

// trouble tells what goes wrong and is tried again.
func (a *cli) trouble(err error) {
	a.clearLine()
	if err == nil {
		fmt.Fprintln(a.stderr, "the database answers again")
		return
	}
	fmt.Fprintf(plain.Lines{Writer: a.stderr}, "trying again: %v\n", err)
}

// serveMetrics serves the figures until stop.
func serveMetrics(ctx context.Context, addr string, figures http.Handler) (stop func(), err error) {
	if strings.HasPrefix(addr, ":") {
		addr = "127.0.0.1" + addr
	}
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("failed to listen: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", figures)
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, WriteTimeout: time.Minute, MaxHeaderBytes: 1 << 16}
	go func() { _ = srv.Serve(ln) }()
	return func() { _ = srv.Close() }, nil
}
