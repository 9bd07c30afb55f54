package app

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

	"github.com/redlock-sim/redlock-sim/internal/app/campaign"
	"github.com/redlock-sim/redlock-sim/internal/app/trial"
	"github.com/redlock-sim/redlock-sim/internal/world/live/postgres"
)

// DatabaseVariable names the database where --db does not.
const DatabaseVariable = "REDLOCK_SIM_DB"

// lostVariable says how long a worker may be silent until others take over: tests are in a hurry.
const lostVariable = "REDLOCK_SIM_LOST_AFTER"

// Database says where campaigns are: in the database at a URL, or in one of sim's own in a folder.
type Database struct{ URL, Folder string }

// Campaigns is an open database.
type Campaigns struct {
	*campaign.Store
	// kept is sim's own server; nil: the database is elsewhere.
	kept *postgres.Kept
	// leave puts away what is left of runs among real servers; nil: there were none.
	leave func()
}

// Close disconnects, and ends what was started for it.
func (c *Campaigns) Close() {
	c.Store.Close()
	if c.kept != nil {
		c.kept.Close()
	}
	if c.leave != nil {
		c.leave()
	}
}

// ConnectWithin bounds how long a database may take to let somebody in.
const ConnectWithin = 10 * time.Second

// OpenCampaigns connects to the database. Where it is that of sim's own server, the server is started if need be; new: its
// data may be made.
func (e *Env) OpenCampaigns(ctx context.Context, d Database, create bool, l Listener) (*Campaigns, error) {
	if d.URL == "" {
		d.URL = e.Variable(DatabaseVariable)
	}
	build, err := e.Build()
	if err != nil {
		return nil, err
	}
	timing := campaign.Timing{}
	if text := e.Variable(lostVariable); text != "" {
		if timing.LostAfter, err = time.ParseDuration(text); err != nil || timing.LostAfter < 100*time.Millisecond {
			return nil, Usagef("%s=%s: want a duration of at least 100ms", lostVariable, text)
		}
	}
	l.tell(Started{})
	if d.URL == "" {
		return e.openKept(ctx, d.Folder, build, timing, create)
	}
	config, err := pgxpool.ParseConfig(d.URL)
	if err != nil {
		return nil, Usagef("--db: %w", err).
			Hint("postgres://user@host:5432/database; the password belongs into PGPASSWORD or ~/.pgpass")
	}
	if config.ConnConfig.ConnectTimeout == 0 {
		config.ConnConfig.ConnectTimeout = ConnectWithin
	}
	store, err := campaign.Open(ctx, config, build, timing)
	if err != nil {
		return nil, DatabaseError(ctx, err)
	}
	return &Campaigns{Store: store}, nil
}

// DatabaseError tells what to do where a database lets nobody in.
func DatabaseError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return Interrupted("interrupted")
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
func (e *Env) openKept(ctx context.Context, folder, build string, timing campaign.Timing, create bool) (*Campaigns, error) {
	if err := e.Live(); err != nil {
		return nil, &trial.EnvironmentError{Err: errors.New("sim has a PostgreSQL server of its own on Linux only"),
			Hint: "name a database with --db"}
	}
	dir := filepath.Join(folder, "database")
	if _, err := os.Stat(dir); err != nil && !create {
		return nil, Usagef("there are no campaigns in %s", folder).
			Hint("sim campaign start begins one, --db names a database elsewhere")
	}
	kept, err := postgres.OpenKept(ctx, dir)
	if err != nil {
		if ctx.Err() != nil {
			return nil, Interrupted("interrupted")
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
			return &Campaigns{Store: store, kept: kept}, nil
		}
	}
	kept.Close()
	return nil, DatabaseError(ctx, err)
}

// Build tells builds apart whose seeds may not repeat: versions, processors (which round differently), and
// programs of no version, by what is in them.
func (e *Env) Build() (string, error) {
	v := e.Version
	if v != "unknown" && v != "dev" && v != "(devel)" && !strings.Contains(v, "dirty") {
		return v + " " + runtime.GOARCH, nil
	}
	path, err := Self()
	if err != nil {
		return "", err
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

// IsOwn reports that the database is sim's own: then this program works on its campaigns itself.
func (c *Campaigns) IsOwn() bool { return c.kept != nil }

// CampaignError tells a campaign that is not there from a database that does not answer.
func CampaignError(ctx context.Context, id int64, err error) error {
	if errors.Is(err, campaign.ErrNone) {
		return Usagef("there is no campaign %d", id).Hint("sim campaign list")
	}
	if errors.Is(err, campaign.ErrOver) {
		return Usagef("campaign %d is over", id).Hint("sim campaign report %d", id)
	}
	return DatabaseError(ctx, err)
}
