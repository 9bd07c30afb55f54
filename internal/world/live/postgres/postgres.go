// Package postgres is a PostgreSQL server that holds the resource, and tells of effects.
package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/scenario/resource"
	"github.com/redlock-sim/redlock-sim/internal/world/client"
)

// Server is a PostgreSQL server of ours that holds the resource. It listens on a socket in a
// folder of its own, which nobody else can enter.
type Server struct {
	binaries string
	dir      string
	log      string
	server   *machine.Child
	// user runs it: PostgreSQL refuses to run as root.
	user *machine.User
	// password is that of the role sim, which has the resource and is no superuser.
	password string
	Version  string
	// listening tells of effects.
	listening *effectStream
}

// ErrNoPostgres says that PostgreSQL's server is not installed.
var ErrNoPostgres = errors.New("PostgreSQL is not installed")

// FindPostgres is the folder of PostgreSQL's programs: $REDLOCK_SIM_POSTGRES, that of
// the postgres in PATH, or Debian's, the latest version first.
func FindPostgres() (string, error) {
	if dir := os.Getenv("REDLOCK_SIM_POSTGRES"); dir != "" {
		if _, err := exec.LookPath(filepath.Join(dir, "postgres")); err != nil {
			return "", fmt.Errorf("%w: %w", ErrNoPostgres, err)
		}
		return dir, nil
	}
	if path, err := exec.LookPath("postgres"); err == nil {
		return filepath.Dir(path), nil
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if len(found) == 0 {
		return "", ErrNoPostgres
	}
	version := func(path string) int {
		n, _ := strconv.Atoi(strings.Split(path, "/")[4])
		return n
	}
	return filepath.Dir(slices.MaxFunc(found, func(a, b string) int { return version(a) - version(b) })), nil
}

// Start starts a server with the resource's tables. Its data is below the folder scratch, log
// is where its log goes.
func Start(ctx context.Context, scratch, log string) (*Server, error) {
	binaries, err := FindPostgres()
	if err != nil {
		return nil, err
	}
	p := &Server{binaries: binaries, dir: filepath.Join(scratch, "postgres"), log: log, password: rand.Text()}
	if err := p.begin(ctx); err != nil {
		p.Stop()
		return nil, err
	}
	return p, nil
}

func (p *Server) begin(ctx context.Context) (err error) {
	if p.user, err = unprivileged(); err != nil {
		return err
	}
	if err := os.Mkdir(p.dir, 0o700); err != nil {
		return fmt.Errorf("failed to make a folder for PostgreSQL: %w", err)
	}
	superuser := rand.Text()
	if err := os.WriteFile(p.passwordFile(), []byte(superuser), 0o600); err != nil {
		return fmt.Errorf("failed to make PostgreSQL's password: %w", err)
	}
	if p.user != nil {
		for _, path := range []string{p.dir, p.passwordFile()} {
			if err := os.Chown(path, int(p.user.UID), int(p.user.GID)); err != nil {
				return fmt.Errorf("failed to hand PostgreSQL its folder: %w", err)
			}
		}
	}
	if err := p.initialize(ctx); err != nil {
		return err
	}
	if err := p.launch(ctx, superuser); err != nil {
		return err
	}
	conn, err := p.connect(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	p.Version = conn.PgConn().ParameterStatus("server_version")
	if _, err := conn.Exec(ctx, resource.PostgresSchema); err != nil {
		return fmt.Errorf("failed to make the resource's tables: %w", err)
	}
	return nil
}

// passwordFile has the superuser's password while the database is made.
func (p *Server) passwordFile() string { return filepath.Join(p.dir, "password") }

// unprivileged is whom the server runs as: ourselves (nil), or the user postgres
// or nobody where we are root.
func unprivileged() (*machine.User, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, _ := strconv.ParseUint(u.Uid, 10, 32)
		gid, _ := strconv.ParseUint(u.Gid, 10, 32)
		return &machine.User{UID: uint32(uid), GID: uint32(gid)}, nil
	}
	return nil, errors.New("PostgreSQL refuses to run as root, and there is neither a user postgres nor nobody")
}

func (p *Server) command(name string, args ...string) (*exec.Cmd, *os.File, error) {
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, nil, fmt.Errorf("failed to open PostgreSQL's log: %w", err)
	}
	cmd := exec.Command(filepath.Join(p.binaries, name), args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = p.dir, log, log
	cmd.Env = []string{"LC_ALL=C", "PATH=" + os.Getenv("PATH"), "TZ=UTC"}
	return cmd, log, nil
}

func (p *Server) data() string { return filepath.Join(p.dir, "data") }

func (p *Server) initialize(ctx context.Context) error {
	cmd, log, err := p.command("initdb", "--pgdata", p.data(), "--username", superuserName,
		"--auth", "scram-sha-256", "--pwfile", p.passwordFile(), "--no-sync", "--encoding", "UTF8", "--no-locale")
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	// SIGTERM lets it end the server that it uses, which removes its shared memory.
	making, err := machine.StartAs("initdb", cmd, p.user, syscall.SIGTERM)
	if err != nil {
		return err
	}
	if err := made(ctx, making, p.log); err != nil {
		return err
	}
	return os.Remove(p.passwordFile())
}

// made waits until initdb has made the folder of a database.
func made(ctx context.Context, making *machine.Child, log string) error {
	select {
	case <-making.Gone:
	case <-ctx.Done():
		making.End(syscall.SIGTERM, endWithin)
		return ctx.Err()
	}
	if making.Err != nil {
		return fmt.Errorf("initdb failed (%w); its log is %s", making.Err, log)
	}
	return nil
}

// superuserName is the role that makes the role sim, and is not used after that.
const superuserName = "postgres"

// launch starts the server, and makes the role sim the owner of its database.
func (p *Server) launch(ctx context.Context, superuser string) error {
	cmd, log, err := p.command("postgres", "-D", p.data(), "-c", "listen_addresses=", "-c", "port="+port,
		"-c", "unix_socket_directories="+p.dir, "-c", "fsync=off", "-c", "max_connections=100", "-c", "shared_buffers=8MB",
		"-c", "dynamic_shared_memory_type=mmap", "-c", "autovacuum=off", "-c", "log_min_messages=warning")
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	// SIGQUIT is its immediate shutdown: it kills its children and removes its shared memory.
	if p.server, err = machine.StartAs("postgres", cmd, p.user, syscall.SIGQUIT); err != nil {
		return err
	}
	deadline := time.Now().Add(answerWithin)
	for {
		conn, err := p.connectAs(ctx, superuserName, superuser)
		if err == nil {
			_, err = conn.Exec(ctx, "create role sim login password '"+p.password+"'; alter database postgres owner to sim")
			return errors.Join(err, conn.Close(ctx))
		}
		if p.server.Dead() {
			return fmt.Errorf("PostgreSQL ended at once (%w); its log is %s", p.server.Err, p.log)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if time.Now().After(deadline) {
			return machine.StartedTooSlowly("PostgreSQL did not answer within %v (%w); its log is %s", answerWithin, err, p.log)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// port is in the name of the socket.
const port = "5432"

// Dial opens a connection for a link.
func (p *Server) Dial(ctx context.Context) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, "unix", filepath.Join(p.dir, ".s.PGSQL."+port))
}

func (p *Server) connect(ctx context.Context) (*pgx.Conn, error) {
	return p.connectAs(ctx, "sim", p.password)
}

func (p *Server) connectAs(ctx context.Context, role, password string) (*pgx.Conn, error) {
	config, err := pgx.ParseConfig(client.Address{Address: "127.0.0.1:" + port, Username: role, Secret: password}.PostgresURL())
	if err != nil {
		return nil, err
	}
	config.DialFunc = func(ctx context.Context, _, _ string) (net.Conn, error) { return p.Dial(ctx) }
	return pgx.ConnectConfig(ctx, config)
}

// Invitation is what a client has to know; link leads to the server.
func (p *Server) Invitation(link string) client.Address {
	return client.Address{Name: history.ResourceProcess, Kind: client.Postgres, Address: link, Username: "sim", Secret: p.password}
}

// answerWithin bounds how long the server may take to answer.
const answerWithin = 20 * time.Second

// endWithin bounds how long the server may take to end in order.
const endWithin = 2 * time.Second

// Runs reports that a process is one of the server's.
func (p *Server) Runs(pid int) bool {
	return p != nil && p.server != nil && (p.server.PID() == pid || slices.Contains(machine.Below(p.server), pid))
}

// Stop ends the server.
func (p *Server) Stop() {
	if p.listening != nil {
		p.listening.Close()
	}
	if p.server != nil {
		p.server.End(syscall.SIGQUIT, endWithin) // its immediate shutdown: nobody wants its data
	}
}
