package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/kballard/go-shellquote"
	"github.com/spf13/cobra"

	"github.com/redlock-sim/redlock-sim/internal/app"
	"github.com/redlock-sim/redlock-sim/internal/app/campaign"
	"github.com/redlock-sim/redlock-sim/internal/app/serve"
	"github.com/redlock-sim/redlock-sim/internal/app/trial"
	"github.com/redlock-sim/redlock-sim/internal/explore"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

func newServeCommand(a *cli) *cobra.Command {
	var listen, tokenEnv string
	var hosts []string
	var remote, readOnly bool
	var memory int64
	var campaigns bool
	var db app.Database
	c := &cobra.Command{
		Use:   "serve [FOLDER]",
		Short: "Browse stored runs in a web browser",
		Long: `Browse stored runs in a web browser: list and filter them, compare two side by
side, delete them, watch a run in progress, and try other settings in the playground.

sim prints the server's address with a secret in it. Open that address: without the
secret the server shows nothing. Each start has a new secret. To choose it, put it into
an environment variable and name that with --token-env.

The server listens on the loopback interface. For any other address give --remote, and
with --host each name or address under which browsers reach the server.`,
		Example: `  sim serve
  sim serve my/reports --listen 127.0.0.1:9000 --read-only
  sim serve --campaigns --db postgres://sim@db.example/campaigns
  SIM_TOKEN=a-secret-of-my-own sim serve --token-env SIM_TOKEN`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			folder := a.project.Out
			if len(args) == 1 {
				folder = args[0]
			}
			o := serve.Options{Dir: folder, Hosts: hosts, ReadOnly: readOnly, Memory: memory << 20, Now: a.now, Playground: playground(c.Context())}
			if memory < 0 || memory > 1<<20 {
				return app.Usagef("--memory %d: want a number of MiB", memory)
			}
			if tokenEnv != "" {
				if o.Token = os.Getenv(tokenEnv); o.Token == "" {
					return app.Usagef("--token-env: the environment variable %s is not set", tokenEnv)
				}
			}
			if campaigns || db.URL != "" {
				store, err := a.openCampaigns(c.Context(), db, false)
				if err != nil {
					return err
				}
				defer store.Close()
				o.Campaigns = func(ctx context.Context) ([]serve.Campaign, error) { return a.servedCampaigns(ctx, store.Store) }
			}
			h, err := serve.New(o)
			if errors.Is(err, serve.ErrToken) {
				return app.Usagef("--token-env %s: %w", tokenEnv, err)
			}
			if err != nil {
				return app.Usagef("%w", err).Hint("sim run leaves its runs in reports/; name another folder")
			}
			defer func() { _ = h.Close() }()
			a.orderly.Store(true)
			token := h.Token()
			if tokenEnv != "" { // who chose it has it, and what is printed may be logged
				token = "$" + tokenEnv
			}
			err = serve.Run(c.Context(), listen, remote, h, func(url string, open bool) {
				a.sayWhere(folder, url, token, open)
			})
			if errors.Is(err, serve.ErrOpen) {
				return app.Usagef("%w", err)
			}
			if err != nil {
				return &trial.EnvironmentError{Err: err}
			}
			return nil
		},
	}
	c.Flags().StringVar(&listen, "listen", "", "address to listen on (default 127.0.0.1:8137)")
	c.Flags().BoolVar(&remote, "remote", false, "allow an address other than loopback")
	c.Flags().StringSliceVar(&hosts, "host", nil, "a host name under which browsers reach the server, besides those of loopback")
	c.Flags().StringVar(&tokenEnv, "token-env", "",
		"the environment variable with the secret, of at least 16 letters and digits (default: a new secret)")
	c.Flags().Int64Var(&memory, "memory", 0,
		"how much memory pages may take together, in MiB (default: a quarter of what is free, at most 1024)")
	c.Flags().BoolVar(&campaigns, "campaigns", false, "also show campaigns, at /campaigns: those of --db")
	databaseFlags(a, c, &db)
	c.Flags().BoolVar(&readOnly, "read-only", false, "do not allow runs to be deleted")
	return c
}

// sayWhere tells where a browser finds the pages. Those of an open server can be read on their way.
func (a *cli) sayWhere(folder, url, token string, open bool) {
	fmt.Fprintf(a.stderr, "browse %s at %s?token=%s (Ctrl-C stops it)\n", folder, url, token)
	if near := serve.Elsewhere(folder); !serve.HasRuns(folder) && len(near) > 0 {
		fmt.Fprintf(a.stderr, "warning: %s has no runs, but others near it have\nhint: sim serve %s\n", folder, shellquote.Join(near[0]))
	}
	if open {
		fmt.Fprintln(a.stderr, "warning: there is no TLS: who can read the network can read the secret and the reports\n"+
			"hint: leave out --remote, and go through ssh -L 8137:127.0.0.1:8137 or a proxy with TLS")
	}
}

// mostServed bounds how many campaigns a page shows.
const mostServed = 20

// servedCampaigns are the newest campaigns for their page.
func (a *cli) servedCampaigns(ctx context.Context, store *campaign.Store) (list []serve.Campaign, err error) {
	ctx, cancel := context.WithTimeout(ctx, app.ConnectWithin)
	defer cancel()
	known, err := store.List(ctx)
	if err != nil {
		return nil, err
	}
	for _, one := range known[:min(len(known), mostServed)] {
		st, err := store.Status(ctx, one.ID)
		if err != nil {
			return nil, err
		}
		c := serve.Campaign{ID: st.ID, Name: st.Name, Variant: st.Variant, State: st.State, Running: st.State == campaign.Running}
		c.Facts = []serve.CampaignFact{
			{Name: st.Unit + "s", Value: shortCount(st.Runs) + " of " + shortCount(st.Target)},
			{Name: "violations", Value: fmt.Sprint(st.Violations)},
			{Name: "work", Value: shortTime(time.Duration(st.WorkMS) * time.Millisecond)},
			{Name: "workers alive", Value: words.Count(len(st.Workers), "process")},
		}
		if st.Shards == 0 {
			c.Facts = append(c.Facts, serve.CampaignFact{Name: "rate", Value: perSecond(st.Rate)},
				serve.CampaignFact{Name: "behaviours", Value: fmt.Sprint(st.Behaviours)})
		} else {
			c.Facts = append(c.Facts, serve.CampaignFact{Name: "needs", Value: st.Need})
		}
		if st.LeftMS > 0 {
			c.Facts = append(c.Facts, serve.CampaignFact{Name: "left", Value: shortTime(time.Duration(st.LeftMS) * time.Millisecond)})
		}
		if st.Failure != "" {
			c.Facts = append(c.Facts, serve.CampaignFact{Name: "failure", Value: st.Failure})
		}
		var first uint64
		if d, err := store.Definition(ctx, one.ID); err == nil && d.Request.Search != nil {
			first = d.Request.Search.Seed
		}
		for _, class := range st.Classes {
			c.Violated = append(c.Violated, servedClass(st, first, class))
		}
		for _, p := range st.Points {
			c.Points = append(c.Points, serve.CampaignPoint{After: p.At.Sub(st.Created), Behaviours: p.Behaviours})
		}
		list = append(list, c)
	}
	return list, nil
}

// servedClass is a class of violations for the page, with what sim campaign report calls what was found of it.
func servedClass(st *campaign.Status, first uint64, class explore.Class) serve.CampaignClass {
	c := serve.CampaignClass{Name: class.Name, Runs: fmt.Sprint(class.Runs)}
	if st.Runs > 0 {
		c.Share = fmt.Sprintf("%.3g %%", 100*float64(class.Runs)/float64(st.Runs))
	}
	for i := range st.Found {
		if st.Found[i].Class == class.Name {
			c.Found = append(c.Found, app.FoundName(st.Name, first, st.Found[i]))
		}
	}
	return c
}
