package live

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/live/machine"
)

// redisNode is a Redis server that holds the lock, or the resource.
type redisNode struct {
	name        string
	host        host
	dir         string
	persistence world.Persistence
	// keep is what a restart is to leave of its data.
	keep world.Keep
	// clock moves the server's wall clock, where the run needs that.
	clock  movableClock
	server server
	// synced watches how much of the append-only file has been fsynced.
	synced *syncWatch
	// admin talks to the server past the proxies.
	admin *redis.Client
}

// startWithin bounds how long a server may take to answer.
const startWithin = 20 * time.Second

// start starts the server, or starts it again at the same address, and returns
// once it answers.
func (n *redisNode) start(ctx context.Context) error {
	if err := n.host.launch(ctx, n); err != nil {
		return err
	}
	if n.persistence == world.AOFEverysec && n.server.PID() != 0 {
		n.synced = watchSync(n.server.PID(), n.aofPath())
	}
	return nil
}

// begin makes server the node's and waits until it answers.
func (n *redisNode) begin(ctx context.Context, s server) error {
	n.server = s
	n.admin = adminClient(s.door())
	if err := n.ready(ctx); err != nil {
		n.Stop()
		return err
	}
	return nil
}

// commonArguments are the options of every server of ours.
func (n *redisNode) commonArguments() []string {
	args := []string{
		"--daemonize", "no", "--hz", "100", "--maxclients", "1000",
		"--stop-writes-on-bgsave-error", "no", "--loglevel", "notice", "--logfile", "",
		"--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "3600",
	}
	return append(args, persistenceArguments(n.persistence)...)
}

// ready waits until the server answers, and makes sure that it is ours: another
// server may listen on the port.
func (n *redisNode) ready(ctx context.Context) error {
	if err := n.answering(ctx); err != nil {
		return err
	}
	info, err := n.admin.Info(ctx, "server").Result()
	switch {
	case n.server.Dead():
		return n.server.lastWords()
	case err != nil:
		return fmt.Errorf("node %s does not answer: %w", n.name, err)
	case !n.server.wrote(info):
		return fmt.Errorf("node %s at %s: %w", n.name, n.address(), machine.ErrPortTaken)
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

// answering waits until somebody answers at the address. The driver is not asked
// to try: after a few refusals it backs off for a second. An open port is not
// enough: an engine's forwarder opens it before the server in the container is up.
func (n *redisNode) answering(ctx context.Context) error {
	deadline := time.Now().Add(startWithin)
	for {
		err := n.server.door().answers()
		if err == nil {
			return nil
		}
		switch {
		case n.server.Dead():
			return n.server.lastWords()
		case ctx.Err() != nil:
			return ctx.Err()
		case time.Now().After(deadline):
			return fmt.Errorf("node %s at %s did not answer within %v: %w", n.name, n.address(), startWithin, err)
		}
		time.Sleep(time.Millisecond)
	}
}

func (n *redisNode) Stop() {
	if n.admin != nil {
		_ = n.admin.Close()
	}
	if n.server != nil {
		n.server.leave()
	}
	if n.synced != nil {
		n.synced.Stop()
	}
	if n.clock != nil {
		n.clock.halt()
	}
}

// returnPort lets the server's port be handed out again.
func (n *redisNode) returnPort() {
	if n.server == nil {
		return
	}
	if _, text, err := net.SplitHostPort(n.address()); err == nil {
		if port, err := strconv.Atoi(text); err == nil {
			machine.ReturnPort(port)
		}
	}
}

func (n *redisNode) address() string { return n.server.door().address }
func (n *redisNode) logPath() string { return filepath.Join(n.dir, "node.log") }

func adminClient(d door) *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr:                     d.address,
		Username:                 d.username,
		Password:                 d.password,
		TLSConfig:                d.tls,
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

// infoField reads one field of the answer to INFO.
func infoField(info, name string) string {
	for line := range strings.Lines(info) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), name+":"); ok {
			return v
		}
	}
	return ""
}
