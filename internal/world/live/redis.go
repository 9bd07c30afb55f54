package live

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/redlock-sim/redlock-sim/internal/world"
)

// ErrNoRedis says that no redis-server is installed.
var ErrNoRedis = errors.New("redis-server is not installed")

// FindRedis is the path of redis-server: $REDLOCK_SIM_REDIS_SERVER, or the one
// in PATH.
func FindRedis() (string, error) {
	name := os.Getenv("REDLOCK_SIM_REDIS_SERVER")
	if name == "" {
		name = "redis-server"
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrNoRedis, err)
	}
	return path, nil
}

// redisNode is a redis-server of ours on a port of its own.
type redisNode struct {
	name        string
	binary      string
	dir         string
	persistence world.Persistence
	// clock moves the server's wall clock, where the run needs that; library is
	// the path of libfaketime.
	clock   *nodeClock
	library string
	port    int
	server  *child
	// synced watches how much of the append-only file has been fsynced.
	synced *syncWatch
	// admin talks to the server past the proxies.
	admin *redis.Client
}

// startWithin bounds how long a server may take to answer.
const startWithin = 20 * time.Second

// start starts the server on a free port and returns once it answers. Another
// program may take the port between our look and the server's; then the next
// one is tried.
func (n *redisNode) start(ctx context.Context) error {
	for try := 1; ; try++ {
		port, err := freePort()
		if err != nil {
			return fmt.Errorf("failed to find a free port for node %s: %w", n.name, err)
		}
		err = n.startOn(ctx, port)
		if err == nil {
			return nil
		}
		returnPort(port)
		if !errors.Is(err, errPortTaken) || try == 20 {
			return err
		}
	}
}

var errPortTaken = errors.New("the port was taken meanwhile")

func (n *redisNode) startOn(ctx context.Context, port int) error {
	if err := os.MkdirAll(n.dir, 0o755); err != nil {
		return fmt.Errorf("failed to make the folder of node %s: %w", n.name, err)
	}
	log, err := os.OpenFile(n.logPath(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return fmt.Errorf("failed to open the log of node %s: %w", n.name, err)
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(n.binary, n.arguments(port)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = n.dir, log, log
	if n.clock != nil {
		cmd.Env = n.clock.environment(n.library)
	}
	server, err := startChild("redis-server "+n.name, cmd)
	if err != nil {
		return err
	}
	n.server, n.port = server, port
	n.admin = adminClient(port)
	if err := n.ready(ctx); err != nil {
		n.stop()
		return err
	}
	if n.clock != nil {
		unlinkFaketimeShared(server.pid())
	}
	if n.persistence == world.AOFEverysec {
		n.synced = watchSync(server.pid(), n.aofPath())
	}
	return nil
}

func (n *redisNode) arguments(port int) []string {
	args := []string{
		"--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--protected-mode", "yes",
		"--dir", n.dir, "--daemonize", "no", "--hz", "100", "--maxclients", "1000",
		"--stop-writes-on-bgsave-error", "no", "--loglevel", "notice", "--logfile", "",
		"--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1",
	}
	return append(args, persistenceArguments(n.persistence)...)
}

// ready waits until the server answers, and makes sure that it is ours: another
// server may listen on the port.
func (n *redisNode) ready(ctx context.Context) error {
	if err := n.listening(ctx); err != nil {
		return err
	}
	info, err := n.admin.Info(ctx, "server").Result()
	switch {
	case n.server.dead():
		return n.startError()
	case err != nil:
		return fmt.Errorf("node %s does not answer: %w", n.name, err)
	case infoField(info, "process_id") != strconv.Itoa(n.server.pid()):
		return fmt.Errorf("node %s, port %d: %w", n.name, n.port, errPortTaken)
	}
	return n.loaded(ctx)
}

// loaded waits until the server has read its data from disk; before that it
// refuses commands.
func (n *redisNode) loaded(ctx context.Context) error {
	deadline := time.Now().Add(startWithin)
	for {
		err := n.admin.Ping(ctx).Err()
		if !redis.IsLoadingError(err) {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("node %s did not load its data within %v", n.name, startWithin)
		}
		time.Sleep(time.Millisecond)
	}
}

// listening waits until the port is open. The driver is not asked to try:
// after a few refusals it backs off for a second.
func (n *redisNode) listening(ctx context.Context) error {
	deadline := time.Now().Add(startWithin)
	for {
		conn, err := net.DialTimeout("tcp", n.address(), time.Second)
		if err == nil {
			return conn.Close()
		}
		switch {
		case n.server.dead():
			return n.startError()
		case ctx.Err() != nil:
			return ctx.Err()
		case time.Now().After(deadline):
			return fmt.Errorf("node %s did not answer within %v; its log is %s", n.name, startWithin, n.logPath())
		}
		time.Sleep(time.Millisecond)
	}
}

// startError says why the server ended at once.
func (n *redisNode) startError() error {
	text, _ := os.ReadFile(n.logPath())
	if bytes.Contains(text, []byte("Address already in use")) {
		_ = os.Remove(n.logPath())
		return fmt.Errorf("node %s, port %d: %w", n.name, n.port, errPortTaken)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return fmt.Errorf("redis-server of node %s ended at once (%w): %s", n.name, n.server.err, lines[len(lines)-1])
}

func (n *redisNode) stop() {
	if n.admin != nil {
		_ = n.admin.Close()
	}
	if n.server != nil {
		n.server.kill()
	}
	if n.synced != nil {
		n.synced.stop()
	}
	if n.clock != nil {
		n.clock.halt()
	}
}

func (n *redisNode) address() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(n.port)) }
func (n *redisNode) logPath() string { return filepath.Join(n.dir, "node.log") }

func adminClient(port int) *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr:                     net.JoinHostPort("127.0.0.1", strconv.Itoa(port)),
		Protocol:                 2,
		ClientName:               adminName,
		DisableIdentity:          true,
		MaxRetries:               -1,
		DialTimeout:              time.Second,
		DialerRetries:            1,
		ContextTimeoutEnabled:    true,
		PoolSize:                 2,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
}

// adminName is the name of our own connections to a node.
const adminName = "sim"

// look reads the state of a key in one step that carries mark.
func (n *redisNode) look(ctx context.Context, key, mark string) (keyState, error) {
	reply, err := n.admin.Eval(ctx, lookScript, []string{key}, mark).Slice()
	if err != nil || len(reply) != 3 {
		return keyState{}, fmt.Errorf("failed to look at the key on node %s: %w", n.name, err)
	}
	owner, held := reply[0].(string)
	ms, _ := reply[1].(int64)
	return keyState{held: held, owner: owner, ttl: max(time.Duration(ms), 0) * time.Millisecond}, nil
}

// infoField reads one field of the answer to INFO.
func infoField(info, name string) string {
	for line := range strings.Lines(info) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), name+":"); ok {
			return v
		}
	}
	return ""
}
