package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/redlock-sim/redlock-sim/internal/app"
	"github.com/redlock-sim/redlock-sim/internal/app/campaign"
	"github.com/redlock-sim/redlock-sim/internal/explore"
	"github.com/redlock-sim/redlock-sim/internal/report/plain"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

func newCampaignResumeCommand(a *cli) *cobra.Command {
	var w works
	c := &cobra.Command{
		Use:   "resume [CAMPAIGN]",
		Short: "Go on with a campaign on this machine",
		Long: `Go on with a campaign on this machine that was interrupted: the one with the number, or else
the newest that is not over. It does what sim campaign start does without --db. Campaigns in a
database elsewhere go on as soon as there is a sim worker.`,
		Example: `  sim campaign resume
  sim campaign resume 3 --html summary.html
  sim campaign resume 4 --lock ours=bin/my-lock`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.withCampaign(c.Context(), w.Database, args, campaign.Running, func(store *app.Campaigns, id int64) error {
				st, err := store.Status(c.Context(), id)
				switch {
				case err != nil:
					return app.CampaignError(c.Context(), id, err)
				case st.State != campaign.Running:
					return app.CampaignError(c.Context(), id, campaign.ErrOver)
				case st.Refused:
					return app.Usagef("campaign %d was begun by sim %s: with another version its seeds would not repeat", id, st.Build).
						Hint("use that version, or begin a new campaign")
				}
				d, err := store.Definition(c.Context(), id)
				if err != nil {
					return app.CampaignError(c.Context(), id, err)
				}
				return a.resume(c.Context(), store, id, d, w)
			})
		},
	}
	databaseFlags(a, c, &w.Database)
	w.endFlags(c)
	w.lockFlag(c)
	c.Flags().IntVarP(&w.jobs, "jobs", "j", a.project.Jobs,
		"how many runs at once (default: one for each processor; among real servers as many as sim makes by itself)")
	return c
}

// resume goes on with a campaign.
func (a *cli) resume(ctx context.Context, store *app.Campaigns, id int64, d *campaign.Definition, w works) error {
	if !d.IsLive() {
		return a.carryOut(ctx, store, id, nil, w)
	}
	if err := htmlFits(d, w.html); err != nil {
		return err
	}
	if d.Digest != "" && len(w.locks) == 0 {
		return app.Usagef("campaign %d needs the lock %s", id, d.Lock()).Hint("--lock %s='COMMAND'", d.Lock())
	}
	named, err := a.namedLocks(ctx, w.locks)
	if err != nil {
		return err
	}
	do, err := a.env().Doer(ctx, store, app.NeedsDocker(d), w.jobs, named, a.listener().hear)
	if err != nil {
		return err
	}
	if !do.Satisfies(d.Need()) {
		return app.Usagef("campaign %d needs %s; this machine has %s", id, d.Need(), strings.Join(do.Needs(), "; ")).
			Hint("it is carried out with the program with which it began")
	}
	return a.carryOut(ctx, store, id, do, w)
}

// withCampaign does something with the campaign that is named, or else the newest in a state ("": any).
func (a *cli) withCampaign(ctx context.Context, db app.Database, args []string, state string, do func(*app.Campaigns, int64) error) error {
	var id int64
	if len(args) > 0 {
		var err error
		if id, err = strconv.ParseInt(args[0], 10, 64); err != nil || id < 1 {
			return app.Usagef("%q is no number of a campaign", args[0]).Hint("sim campaign list")
		}
	}
	store, err := a.openCampaigns(ctx, db, false)
	if err != nil {
		return err
	}
	defer store.Close()
	if id == 0 {
		if id, err = store.Latest(ctx, state); err != nil {
			return app.DatabaseError(ctx, err)
		}
		if id == 0 {
			return app.Usagef("there is no campaign that is %s", orAny(state)).Hint("sim campaign list")
		}
	}
	return do(store, id)
}

func orAny(state string) string {
	if state == "" {
		return "begun"
	}
	return state
}

func newCampaignListCommand(a *cli) *cobra.Command {
	var w works
	var asJSON bool
	c := &cobra.Command{
		Use:   "list",
		Short: "List the campaigns of a database",
		Example: `  sim campaign list
  sim campaign list --db postgres://sim@db.example/campaigns --json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			store, err := a.openCampaigns(c.Context(), w.Database, false)
			if err != nil {
				return err
			}
			defer store.Close()
			list, err := store.List(c.Context())
			if err != nil {
				return app.DatabaseError(c.Context(), err)
			}
			if asJSON {
				return a.writeStatus(list)
			}
			for i := range list {
				st := &list[i]
				fmt.Fprintf(plain.Lines{Writer: a.stdout}, "%4d  %-20.60s %-12.40s %-10s %s of %s, %s, begun %s\n",
					st.ID, st.Name, st.Variant, st.State,
					shortCount(st.Runs), words.Count(st.Target, st.Unit),
					words.Count(st.Violations, "violation"), st.Created.UTC().Format("2 January 2006, 15:04 UTC"))
			}
			return nil
		},
	}
	databaseFlags(a, c, &w.Database)
	c.Flags().BoolVar(&asJSON, "json", false, "print it as JSON on stdout")
	return c
}

func newCampaignStatusCommand(a *cli) *cobra.Command {
	var w works
	var asJSON bool
	c := &cobra.Command{
		Use:   "status [CAMPAIGN]",
		Short: "Print how far a campaign is",
		Long: `Print how far a campaign is: the one with the number, or else the newest. What is found is
counted once all runs before it are made, too.`,
		Example: `  sim campaign status
  sim campaign status 3 --json --db postgres://sim@db.example/campaigns`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.withCampaign(c.Context(), w.Database, args, "", func(store *app.Campaigns, id int64) error {
				st, err := store.Status(c.Context(), id)
				if err != nil {
					return app.CampaignError(c.Context(), id, err)
				}
				if asJSON {
					return a.writeStatus(st)
				}
				a.printStatus(st)
				return nil
			})
		},
	}
	databaseFlags(a, c, &w.Database)
	c.Flags().BoolVar(&asJSON, "json", false, "print it as JSON on stdout")
	return c
}

// printStatus prints all of a status.
func (a *cli) printStatus(st *campaign.Status) {
	out := plain.Lines{Writer: a.stdout}
	fmt.Fprintf(out, "campaign %d   %s   %s\n  state      %s\n", st.ID, st.Name, st.Variant, stateOf(st))
	if st.State == campaign.Running {
		fmt.Fprintf(out, "  progress   %s\n", a.campaignLine(st))
	}
	if st.Refused {
		fmt.Fprintf(out, "  version    begun by sim %s: this one cannot work on it\n", st.Build)
	}
	if st.Shards > 0 {
		fmt.Fprintf(out, "  needs      %s\n", st.Need)
	} else {
		fmt.Fprintf(out, "  behaviours %d\n", st.Behaviours)
	}
	for _, c := range st.Classes {
		fmt.Fprintf(out, "  violated   %-60s %s\n", c.Name, words.Count(c.Runs, "run"))
	}
	for _, w := range st.Workers {
		fmt.Fprintf(out, "  worker     %s, process %d: %d of %d at work, %s made\n",
			w.Host, w.PID, w.Busy, w.Slots, words.Count(uint64(w.Runs), "run"))
	}
}

func newCampaignWatchCommand(a *cli) *cobra.Command {
	var w works
	c := &cobra.Command{
		Use:   "watch [CAMPAIGN]",
		Short: "Watch a campaign until it is over",
		Long: `Watch a campaign until it is over, or until Ctrl-C: how fast it is, how many behaviours and violations
it has seen, how many workers are alive, and how long it will take. Classes of violations are listed as
they come. Without a number it is the newest campaign that is running.`,
		Example: `  sim campaign watch
  sim campaign watch 3 --db postgres://sim@db.example/campaigns`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.withCampaign(c.Context(), w.Database, args, campaign.Running, func(store *app.Campaigns, id int64) error {
				st, err := a.follow(c.Context(), store.Store, id)
				if err == nil && st != nil {
					a.printStatus(st)
				}
				if err == nil && c.Context().Err() != nil {
					return &app.ExitError{Code: app.ExitInterrupted}
				}
				return err
			})
		},
	}
	databaseFlags(a, c, &w.Database)
	return c
}

func newCampaignReportCommand(a *cli) *cobra.Command {
	var w works
	c := &cobra.Command{
		Use:   "report [CAMPAIGN]",
		Short: "Write what a campaign found",
		Long: `Write what a campaign found so far: shrink the violations and write them as scenarios, as sim
search does. Without a number it is the newest campaign. The exit codes are those of sim search.`,
		Example: `  sim campaign report
  sim campaign report 3 --json
  sim campaign report 3 --html summary.html --db postgres://sim@db.example/campaigns`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.withCampaign(c.Context(), w.Database, args, "", func(store *app.Campaigns, id int64) error {
				return a.reportCampaign(c.Context(), store.Store, id, w)
			})
		},
	}
	databaseFlags(a, c, &w.Database)
	w.endFlags(c)
	c.Flags().BoolVar(&w.json, "json", false, "print what came of it as JSON on stdout, as sim search or sim audit does")
	return c
}

func newCampaignCancelCommand(a *cli) *cobra.Command {
	var w works
	c := &cobra.Command{
		Use:   "cancel CAMPAIGN",
		Short: "End a campaign",
		Long: `End a campaign. Workers leave it within a few seconds. What it found stays, for sim campaign
report; it cannot be continued.`,
		Example: `  sim campaign cancel 3
  sim campaign cancel 3 --db postgres://sim@db.example/campaigns`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.withCampaign(c.Context(), w.Database, args, "", func(store *app.Campaigns, id int64) error {
				if err := store.Cancel(c.Context(), id); err != nil {
					return app.CampaignError(c.Context(), id, err)
				}
				fmt.Fprintf(a.stdout, "campaign %d is cancelled\n", id)
				return nil
			})
		},
	}
	databaseFlags(a, c, &w.Database)
	return c
}

const (
	// lookEvery is how often a campaign that is followed is looked at.
	lookEvery = 500 * time.Millisecond
	// sayEvery is how often its progress is told where there is no terminal.
	sayEvery = 10 * time.Second
)

// follow shows how a campaign goes on until it is over, or ctx ends: then what is returned is the last that was known, which
// may be nil.
func (a *cli) follow(ctx context.Context, store *campaign.Store, id int64) (last *campaign.Status, err error) {
	defer a.clearLine()
	shown := make(map[string]bool)
	var said time.Time
	troubled := false
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		limited, cancel := context.WithTimeout(ctx, app.ConnectWithin)
		st, err := store.Status(limited, id)
		cancel()
		switch {
		case ctx.Err() != nil:
			return last, nil
		case errors.Is(err, campaign.ErrNone):
			return nil, app.CampaignError(ctx, id, err)
		case err != nil && !troubled:
			a.trouble(err)
		case err == nil:
			last = st
			a.tellFound(st, shown)
			if st.State != campaign.Running {
				return st, nil
			}
			a.phase(a.campaignLine(st))
			if !a.isTerminal(a.stderr) && time.Since(said) > sayEvery {
				fmt.Fprintln(plain.Lines{Writer: a.stderr}, a.campaignLine(st))
				said = time.Now()
			}
		}
		troubled = err != nil
		select {
		case <-ctx.Done():
			return last, nil
		case <-tick.C:
		}
	}
}

// tellFound tells of the first violation of each class.
func (a *cli) tellFound(st *campaign.Status, shown map[string]bool) {
	for _, c := range st.Classes {
		if shown[c.Name] {
			continue
		}
		shown[c.Name] = true
		where := ""
		if i := slices.IndexFunc(st.Found, func(k explore.Found) bool { return k.Class == c.Name }); i >= 0 {
			where = fmt.Sprintf(" in run %d", st.Found[i].Run)
		}
		a.clearLine()
		fmt.Fprintf(plain.Lines{Writer: a.stderr}, "violated %s%s\n", c.Name, where)
	}
}

// campaignLine says how far a campaign is.
func (a *cli) campaignLine(st *campaign.Status) string {
	slots, busy := 0, 0
	for _, w := range st.Workers {
		if slices.Contains(w.Can, st.Need) {
			slots += w.Slots
			busy += w.Busy
		}
	}
	left := ""
	switch {
	case len(st.Workers) == 0:
		left = "nobody works on it"
	case !st.Able:
		left = "no worker has what it needs: " + st.Need
	case st.LeftMS == 0 && st.Runs == 0:
		left = "just begun"
	case st.LeftMS > 0:
		left = shortTime(time.Duration(st.LeftMS)*time.Millisecond) + " left"
	}
	parts := []string{fmt.Sprintf("%s of %s %ss", shortCount(st.Runs), shortCount(st.Target), st.Unit)}
	if st.Shards == 0 {
		parts = append(parts, perSecond(st.Rate), strings.TrimSpace(shortCount(st.Behaviours)+" behaviours "+a.spark(st.Points)))
	} else if st.Unit == "run" {
		parts = append(parts, perSecond(st.Rate))
	}
	parts = append(parts, words.Count(st.Violations, "violation"), fmt.Sprintf("%d of %d busy", busy, slots))
	if left != "" {
		parts = append(parts, left)
	}
	return strings.Join(parts, ", ")
}

// shortTime is a duration as a person says it.
func shortTime(d time.Duration) string {
	switch {
	case d > 48*time.Hour:
		return fmt.Sprintf("%.0f days", d.Hours()/24)
	case d > 10*time.Minute:
		return d.Round(time.Minute).String()[:len(d.Round(time.Minute).String())-2]
	}
	return d.Round(time.Second).String()
}

// spark draws how behaviours grew, where the terminal can show it.
func (a *cli) spark(points []campaign.Point) string {
	const width = 12
	if !a.textOptions().Unicode || len(points) < width {
		return ""
	}
	most := max(points[len(points)-1].Behaviours, 1)
	bars := []rune("▁▂▃▄▅▆▇█")
	var b strings.Builder
	for i := range width {
		p := points[(len(points)-1)*i/(width-1)]
		at := int(max(p.Behaviours, 0) * int64(len(bars)-1) / most)
		b.WriteRune(bars[min(at, len(bars)-1)])
	}
	return b.String()
}
