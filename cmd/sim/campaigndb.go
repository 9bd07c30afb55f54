package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"github.com/redlock-sim/redlock-sim/internal/app/campaign"
	"github.com/redlock-sim/redlock-sim/internal/app/trial"
	"github.com/redlock-sim/redlock-sim/internal/world/live/postgres"
)

// databaseVariable names the database where --db does not.
const databaseVariable = "REDLOCK_SIM_DB"

// lostVariable says how long a worker may be silent until others take over: tests are in a hurry.
const lostVariable = "REDLOCK_SIM_LOST_AFTER"

// database says where campaigns are.
type database struct{ url, folder string }

func (d *database) databaseFlags(a *app, c *cobra.Command) {
	c.Flags().StringVar(&d.url, "db", "", "the PostgreSQL database, postgres://user@host/name (default: $"+
		databaseVariable+", else a server of sim's own on this machine)")
	c.Flags().StringVar(&d.folder, "folder", filepath.Join(a.project.Out, "campaigns"),
		"without --db: the folder with the data of sim's own server")
}

// campaigns is an open database.
type campaigns struct {
	*campaign.Store
	// kept is sim's own server; nil: the database is elsewhere.
	kept *postgres.Kept
	// leave puts away what is left of runs among real servers; nil: there were none.
	leave func()
}

func (c *campaigns) close() {
	c.Close()
	if c.kept != nil {
		c.kept.Close()
	}
	if c.leave != nil {
		c.leave()
	}
}

// connectWithin bounds how long a database may take to let somebody in.
const connectWithin = 10 * time.Second

// open connects to the database. Where it is that of sim's own server, the server is started if need be; new: its
// data may be made.
func (a *app) openCampaigns(ctx context.Context, d database, create bool) (*campaigns, error) {
	if d.url == "" {
		d.url = a.env(databaseVariable)
	}
	build, err := programBuild()
	if err != nil {
		return nil, err
	}
	timing := campaign.Timing{}
	if text := a.env(lostVariable); text != "" {
		if timing.LostAfter, err = time.ParseDuration(text); err != nil || timing.LostAfter < 100*time.Millisecond {
			return nil, usageError("%s=%s: want a duration of at least 100ms", lostVariable, text)
		}
	}
	a.orderly.Store(true)
	if d.url == "" {
		return a.openKept(ctx, d.folder, build, timing, create)
	}
	config, err := pgxpool.ParseConfig(d.url)
	if err != nil {
		return nil, usageError("--db: %w\nhint: postgres://user@host:5432/database; the password belongs into PGPASSWORD or ~/.pgpass", err)
	}
	if config.ConnConfig.ConnectTimeout == 0 {
		config.ConnConfig.ConnectTimeout = connectWithin
	}
	store, err := campaign.Open(ctx, config, build, timing)
	if err != nil {
		return nil, databaseError(ctx, err)
	}
	return &campaigns{Store: store}, nil
}

// databaseError tells what to do where a database lets nobody in.
func databaseError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return &exitError{exitInterrupted, errors.New("interrupted")}
	}
	hint := "is PostgreSQL running there, and does it let this machine in? Without --db sim starts a server of its own"
	var refused *pgconn.PgError
	switch {
	case errors.Is(err, campaign.ErrNewer):
		hint = "use that sim, or another database"
	case errors.As(err, &refused) && strings.HasPrefix(refused.Code, "28"):
		hint = "the password belongs into PGPASSWORD or ~/.pgpass"
	case errors.As(err, &refused) && refused.Code == "3D000":
		hint = "createdb makes a database"
	case errors.As(err, &refused) && refused.Code == "42501":
		hint = "sim keeps its tables in a schema redlock_sim of its own: grant create on database ... lets it make that"
	case errors.As(err, &refused) && refused.Code == "53300":
		hint = "raise max_connections: each sim worker has a few connections, see docs/guide/searching.md"
	}
	return &trial.EnvironmentError{Err: err, Hint: hint}
}

// openKept opens sim's own server.
func (a *app) openKept(ctx context.Context, folder, build string, timing campaign.Timing, create bool) (*campaigns, error) {
	if err := a.live(); err != nil {
		return nil, &trial.EnvironmentError{Err: errors.New("sim has a PostgreSQL server of its own on Linux only"),
			Hint: "name a database with --db"}
	}
	dir := filepath.Join(folder, "database")
	if _, err := os.Stat(dir); err != nil && !create {
		return nil, usageError("there are no campaigns in %s\nhint: sim campaign start begins one, --db names a database elsewhere", folder)
	}
	kept, err := postgres.OpenKept(ctx, dir)
	if err != nil {
		if ctx.Err() != nil {
			return nil, &exitError{exitInterrupted, errors.New("interrupted")}
		}
		hint := "name a database elsewhere with --db, or another folder with --folder"
		if errors.Is(err, postgres.ErrNoPostgres) {
			hint = "apt-get install postgresql, or name a database elsewhere with --db; sim search needs none"
		}
		return nil, &trial.EnvironmentError{Err: err, Hint: hint}
	}
	config, err := campaign.Local(kept)
	if err == nil {
		var store *campaign.Store
		if store, err = campaign.Open(ctx, config, build, timing); err == nil {
			return &campaigns{Store: store, kept: kept}, nil
		}
	}
	kept.Close()
	return nil, databaseError(ctx, err)
}

// programBuild tells builds apart whose seeds may not repeat: versions, processors (which round differently), and
// programs of no version, by what is in them.
func programBuild() (string, error) {
	v := programVersion()
	if v != "unknown" && v != "dev" && v != "(devel)" && !strings.Contains(v, "dirty") {
		return v + " " + runtime.GOARCH, nil
	}
	path, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("failed to read this program: %w", err)
	}
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("failed to read this program: %w", err)
	}
	defer func() { _ = f.Close() }()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", fmt.Errorf("failed to read this program: %w", err)
	}
	return fmt.Sprintf("%s %s %.12x", v, runtime.GOARCH, sum.Sum(nil)), nil
}
