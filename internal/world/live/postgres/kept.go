package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/world/client"
)

// Kept is a PostgreSQL server of ours whose data stay on the disk. It listens on a socket in its
// folder alone, which nobody else can enter. Several processes may use one: the first starts the
// server. When that one ends, so does the server, and the next that connects starts it again.
type Kept struct {
	// folder is open, so that the server gets to it whatever the rights of the folders above it, and
	// however long its path is: both matter where we are root and the server is not.
	folder *os.File
	dir    string
	// lock is held by the process that started the server, and by the server.
	lock     *os.File
	server   *machine.Child // nil: another process has it
	password string

	mu     sync.Mutex // guards server, while connections are opened
	closed bool
}

// Names in the folder.
const (
	keptData     = "data"
	keptPassword = "password"
	keptLock     = "lock"
	keptLog      = "postgres.log"
	// keptReady is there once the data are whole.
	keptReady = "ready"
)

// inherited is the folder as the server sees it: its first file beside those of the terminal.
const inherited = "/proc/self/fd/3"

// OpenKept opens the server whose data are in a folder, and makes the folder, and starts the
// server, where there is none.
func OpenKept(ctx context.Context, dir string) (*Kept, error) {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return nil, fmt.Errorf("failed to make a folder for PostgreSQL: %w", err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("failed to make a folder for PostgreSQL: %w", err)
	}
	k := &Kept{dir: dir}
	err := k.open(ctx)
	if err != nil {
		k.Close()
		return nil, err
	}
	return k, nil
}

func (k *Kept) open(ctx context.Context) (err error) {
	if k.folder, err = os.Open(k.dir); err != nil {
		return fmt.Errorf("failed to open the folder of PostgreSQL: %w", err)
	}
	if k.lock, err = os.OpenFile(filepath.Join(k.dir, keptLock), os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return fmt.Errorf("failed to open the folder of PostgreSQL: %w", err)
	}
	deadline := time.Now().Add(keptAnswersWithin)
	for {
		mine, err := machine.TryLock(k.lock)
		if err != nil {
			return fmt.Errorf("failed to lock %q: %w", k.lock.Name(), err)
		}
		if mine {
			return k.start(ctx)
		}
		if k.readPassword() == nil {
			if err = k.try(ctx); err == nil {
				return nil
			}
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("another process has started PostgreSQL in %q, which does not answer: %w", k.dir, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// start makes the data where there are none, and starts the server.
func (k *Kept) start(ctx context.Context) error {
	binaries, err := FindPostgres()
	if err != nil {
		return err
	}
	owner, err := unprivileged()
	if err != nil {
		return err
	}
	if owner != nil {
		if err := os.Chown(k.dir, int(owner.UID), int(owner.GID)); err != nil {
			return fmt.Errorf("failed to hand PostgreSQL its folder: %w", err)
		}
	}
	if _, err := os.Stat(filepath.Join(k.dir, keptReady)); err != nil {
		if err := k.initialize(ctx, binaries, owner); err != nil {
			return err
		}
	}
	if err := k.readPassword(); err != nil {
		return err
	}
	k.server, err = k.run(binaries, owner, syscall.SIGQUIT, "postgres", "-D", inherited+"/"+keptData, "-c", "listen_addresses=",
		"-c", "port="+port, "-c", "unix_socket_directories="+inherited,
		"-c", "dynamic_shared_memory_type=mmap", "-c", "max_connections=300", "-c", "log_min_messages=warning")
	if err != nil {
		return err
	}
	deadline := time.Now().Add(keptAnswersWithin)
	for {
		err := k.try(ctx)
		switch {
		case err == nil:
			return nil
		case k.server.Dead():
			return fmt.Errorf("PostgreSQL ended at once (%w); its log is %s", k.server.Err, k.log())
		case ctx.Err() != nil:
			return ctx.Err()
		case time.Now().After(deadline):
			return machine.StartedTooSlowly("PostgreSQL did not answer within %v (%w); its log is %s", keptAnswersWithin, err, k.log())
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// initialize makes the data anew: what an interrupted attempt has left is of no use.
func (k *Kept) initialize(ctx context.Context, binaries string, owner *machine.User) error {
	password := filepath.Join(k.dir, keptPassword)
	err := errors.Join(os.RemoveAll(filepath.Join(k.dir, keptData)), os.WriteFile(password, []byte(rand.Text()), 0o600))
	if err == nil && owner != nil {
		err = os.Chown(password, int(owner.UID), int(owner.GID))
	}
	if err != nil {
		return fmt.Errorf("failed to make a folder for PostgreSQL: %w", err)
	}
	making, err := k.run(binaries, owner, syscall.SIGTERM, "initdb", "--pgdata", inherited+"/"+keptData, "--username", keptRole,
		"--auth", "scram-sha-256", "--pwfile", inherited+"/"+keptPassword, "--encoding", "UTF8", "--no-locale")
	if err != nil {
		return err
	}
	if err := made(ctx, making, k.log()); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(k.dir, keptReady), nil, 0o600)
}

// keptRole owns the database: nobody else can reach the server.
const keptRole = "sim"

// run starts one of PostgreSQL's programs with the folder, and with the lock.
func (k *Kept) run(binaries string, owner *machine.User, orphaned syscall.Signal, name string, args ...string) (*machine.Child, error) {
	log, err := os.OpenFile(k.log(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("failed to open PostgreSQL's log: %w", err)
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(filepath.Join(binaries, name), args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = "/", log, log
	cmd.ExtraFiles = []*os.File{k.folder, k.lock}
	cmd.Env = []string{"LC_ALL=C", "PATH=" + os.Getenv("PATH"), "TZ=UTC"}
	return machine.StartAs(name, cmd, owner, orphaned)
}

func (k *Kept) log() string { return filepath.Join(k.dir, keptLog) }

func (k *Kept) readPassword() error {
	text, err := machine.ReadRegular(filepath.Join(k.dir, keptPassword), 100)
	if err != nil {
		return fmt.Errorf("failed to read PostgreSQL's password: %w", err)
	}
	k.password = strings.TrimSpace(string(text))
	return nil
}

// try connects once.
func (k *Kept) try(ctx context.Context) error {
	config, err := pgx.ParseConfig(k.URL())
	if err != nil {
		return err
	}
	config.DialFunc = k.reach
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	return conn.Close(ctx)
}

// URL is the server's address, of use with Dial alone.
func (k *Kept) URL() string {
	return client.Address{Address: "127.0.0.1:" + port, Username: keptRole, Secret: k.password}.PostgresURL()
}

// Dial opens a connection; the address does not matter. Where there is no server any more, it starts one.
func (k *Kept) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := k.reach(ctx, network, address)
	if err == nil || !k.again(ctx) {
		return conn, err
	}
	return k.reach(ctx, network, address)
}

// again starts the server where nobody else has: the process that had started it has ended, or the server has.
func (k *Kept) again(ctx context.Context) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed || k.server != nil && !k.server.Dead() {
		return !k.closed
	}
	if k.server == nil {
		if mine, err := machine.TryLock(k.lock); err != nil || !mine {
			return false
		}
	}
	return k.start(ctx) == nil
}

func (k *Kept) reach(ctx context.Context, _, _ string) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, "unix", fmt.Sprintf("/proc/self/fd/%d/.s.PGSQL.%s", k.folder.Fd(), port))
}

// Started reports that this process has started the server, and ends it.
func (k *Kept) Started() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.server != nil
}

// Close ends the server in order, where this process has started it.
func (k *Kept) Close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.closed = true
	if k.server != nil {
		k.server.End(syscall.SIGINT, keptEndsWithin) // its fast shutdown: it does not wait for connections
	}
	for _, f := range []*os.File{k.folder, k.lock} {
		if f != nil {
			_ = f.Close()
		}
	}
}

// Crash kills the server, which this process has started, and closes it: its data are as a power cut of the
// server alone leaves them.
func (k *Kept) Crash() {
	k.mu.Lock()
	machine.KillTree(k.server)
	<-k.server.Gone
	k.closed = true
	k.mu.Unlock()
	k.Close()
}

// keptAnswersWithin bounds how long the server may take to answer: after a crash it first looks through its data.
const keptAnswersWithin = 2 * time.Minute

// keptEndsWithin bounds how long the server may take to write what it has to its disk.
const keptEndsWithin = 20 * time.Second
