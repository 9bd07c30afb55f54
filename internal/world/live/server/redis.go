package server

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/redis/driver"
	"github.com/redlock-sim/redlock-sim/internal/redis/journal"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

// Node is a Redis server that holds the lock, or the resource.
type Node struct {
	Name string
	Host Host
	// dir has its data, and is gone after the run; log is where its log is kept.
	dir, log    string
	Persistence world.Persistence
	// plain: it keeps nothing on disk, and follows nobody.
	plain bool
	// password is what a server of ours wants of those who come.
	password string
	// keep is what a restart is to leave of its data.
	keep world.Keep
	// draws are the random numbers for what is damaged of its append-only file, flipped is what was as long as it has not started from that.
	draws   func() *mathrand.Rand
	flipped *journal.Tail
	// Clock moves the server's wall clock, where the run needs that.
	Clock  movableClock
	Server server
	// door is that of Server: links ask for it while the node is started again.
	door atomic.Pointer[Door]
	// source is the address from which its connections come, where the servers fail over by themselves; watches: it
	// is a sentinel.
	source  string
	watches bool
	// member is its part in a Redis Cluster; nil: it has none.
	member *member
	// unlisten ends the subscription to what a sentinel tells.
	unlisten func() error
	// minReplicas and maxLag are min-replicas-to-write and min-replicas-max-lag.
	minReplicas int
	maxLag      time.Duration
	// journals: it keeps a journal of what it does, an append-only file that journal reads.
	journals bool
	journal  *journal.Follower
	// synced watches how much of the append-only file has been fsynced.
	synced *syncWatch
	// Admin talks to the server past the proxies.
	Admin *redis.Client
}

// startWithin bounds how long a server may take to answer.
const startWithin = 20 * time.Second

// Start starts the server, or starts it again at the same address, and returns
// once it answers.
func (n *Node) Start(ctx context.Context) error {
	if err := n.Host.launch(ctx, n); err != nil {
		return err
	}
	if n.Persistence == world.AOFEverysec && n.Server.PID() != 0 {
		n.synced = watchSync(n.Server.PID(), n.aofPath())
	}
	return nil
}

// Endpoint is the node as clients see it, under a name.
func (n *Node) Endpoint(name string) Endpoint {
	d := n.door.Load()
	return Endpoint{Name: name, Address: d.Address, Dial: d.Link}
}

// Restart starts a dead server again, with what keep leaves of its data.
func (n *Node) Restart(ctx context.Context, keep world.Keep) error {
	n.keep = keep
	if err := n.prepareDisk(keep); err != nil {
		return err
	}
	err := n.Start(ctx)
	flipped := n.flipped
	if n.flipped = nil; err == nil || flipped == nil {
		return err
	}
	if err := flipped.Remove(); err != nil { // it has refused to start
		return err
	}
	return n.Start(ctx)
}

// begin makes server the node's and waits until it answers.
func (n *Node) begin(ctx context.Context, s server) error {
	d := s.Door()
	n.Server = s
	n.door.Store(&d)
	n.Admin = AdminClient(d)
	if err := n.awaitReady(ctx); err != nil {
		n.Stop()
		return err
	}
	if folder := s.folder(); n.journals && folder != "" {
		n.journal = journal.Follow(folder)
	}
	return nil
}

// commonArguments are the options of every server of ours. Others on this machine can read
// them, so they have the password's hash alone.
func (n *Node) commonArguments() []string {
	if n.password == "" {
		n.password = rand.Text()
	}
	args := []string{
		"--user", "default", "on", fmt.Sprintf("#%x", sha256.Sum256([]byte(n.password))), "~*", "+@all",
		"--daemonize", "no", "--maxclients", "1000", "--loglevel", "notice", "--logfile", "",
	}
	if n.watches {
		return args
	}
	args = append(args, "--hz", strconv.Itoa(n.Persistence.Ticks()),
		"--stop-writes-on-bgsave-error", "no", "--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "3600")
	if n.minReplicas > 0 {
		args = append(args, "--min-replicas-to-write", strconv.Itoa(n.minReplicas),
			"--min-replicas-max-lag", strconv.Itoa(int(n.maxLag/time.Second)))
	}
	if n.member != nil {
		args = append(args, n.member.arguments(n)...)
	}
	return append(args, persistenceArguments(n.Persistence, n.journals)...)
}

// awaitReady waits until the server answers, and makes sure that it is ours: another
// Server may listen on the port.
func (n *Node) awaitReady(ctx context.Context) error {
	if err := n.awaitAnswer(ctx); err != nil {
		return err
	}
	info, err := n.Admin.Info(ctx).Result()
	if n.Server.Dead() {
		return n.Server.whyEnded()
	}
	if err != nil {
		return fmt.Errorf("node %s does not answer: %w", n.Name, err)
	}
	if err := n.Server.checkInfo(info); err != nil {
		return fmt.Errorf("node %s at %s: %w", n.Name, n.Address(), err)
	}
	if err := notInCluster(info); err != nil && n.member == nil {
		return fmt.Errorf("node %s at %s: %w", n.Name, n.Address(), err)
	}
	if err := n.awaitLoaded(ctx); err != nil || n.password == "" {
		return err
	}
	// Redis 6.0 does not know this permission, so it cannot be among the arguments.
	if err := n.Admin.Do(ctx, "acl", "setuser", "default", "allchannels").Err(); err != nil && !redis.HasErrorPrefix(err, "ERR") {
		return fmt.Errorf("failed to let clients of node %s publish: %w", n.Name, err)
	}
	return nil
}

// ErrCluster says that a server has Redis Cluster enabled.
var ErrCluster = errors.New("the server has Redis Cluster enabled (cluster_enabled:1), and sim can only use a cluster of its own")

// notInCluster refuses a server that answered INFO so, if it has Redis Cluster enabled: it sends clients elsewhere (MOVED), past
// the links of the run, and may hold other slots than the lock's.
func notInCluster(info string) error {
	if InfoField(info, "cluster_enabled") == "1" {
		return ErrCluster
	}
	return nil
}

// awaitLoaded waits until the server has read its data from disk; before that it
// refuses commands.
func (n *Node) awaitLoaded(ctx context.Context) error {
	deadline := time.Now().Add(startWithin)
	for {
		err := n.Admin.Ping(ctx).Err()
		if !redis.HasErrorPrefix(err, "LOADING") {
			return err
		}
		if time.Now().After(deadline) {
			return n.tookTooLong("node %s did not load its data within %v", n.Name, startWithin)
		}
		time.Sleep(time.Millisecond)
	}
}

// awaitAnswer waits until somebody answers at the address. The driver is not asked
// to try: after a few refusals it backs off for a second. An open port is not
// enough: an engine's forwarder opens it before the server in the container is up.
func (n *Node) awaitAnswer(ctx context.Context) error {
	deadline := time.Now().Add(startWithin)
	for {
		err := n.Server.Door().answers()
		if err == nil {
			return nil
		}
		if n.Server.Dead() {
			return n.Server.whyEnded()
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if time.Now().After(deadline) {
			return n.tookTooLong("node %s at %s did not answer within %v: %w", n.Name, n.Address(), startWithin, err)
		}
		time.Sleep(time.Millisecond)
	}
}

// tookTooLong is the error of a server that is not ready within startWithin. One of ours starts on this machine.
func (n *Node) tookTooLong(format string, args ...any) error {
	if n.password == "" {
		return machine.TookTooLong(startWithin, format, args...)
	}
	return machine.StartedTooSlowly(format, args...)
}

// Pause lets the server stand still.
func (n *Node) Pause() error {
	if n.synced == nil {
		return n.Server.Stop()
	}
	return n.synced.pause(n.Server.Stop)
}

// Resume lets it go on.
func (n *Node) Resume() error {
	if n.synced == nil {
		return n.Server.Resume()
	}
	return n.synced.resume(n.Server.Resume)
}

// Stop ends the server where it is ours, and what watches it.
func (n *Node) Stop() {
	if n.unlisten != nil {
		_ = n.unlisten()
		n.unlisten = nil
	}
	if n.Admin != nil {
		_ = n.Admin.Close()
	}
	if n.Server != nil {
		n.Server.leave()
	}
	if n.synced != nil {
		n.synced.Stop()
	}
	if n.journal != nil {
		_ = n.journal.Close()
	}
	if n.Clock != nil {
		n.Clock.Halt()
	}
}

// makeFolder makes the folder for its data, which only this user may enter.
func (n *Node) makeFolder() error {
	if err := os.MkdirAll(n.dir, 0o700); err != nil {
		return fmt.Errorf("failed to make the folder of node %s: %w", n.Name, err)
	}
	return nil
}

// returnPort lets the server's port be handed out again.
func (n *Node) returnPort() {
	if s, ok := n.Server.(*serverProcess); n.Server == nil || ok && s.lent && !s.Dead() {
		return
	}
	if n.member != nil {
		machine.ReturnPort(n.member.bus)
	}
	if _, text, err := net.SplitHostPort(n.Address()); err == nil {
		if port, err := strconv.Atoi(text); err == nil {
			machine.ReturnPort(port)
		}
	}
}

// Address is where it listens.
func (n *Node) Address() string { return n.door.Load().Address }

// AdminClient talks to a server past the proxies.
func AdminClient(d Door) *redis.Client {
	c := driver.New(redis.Options{
		Addr:        d.Address,
		Dialer:      func(ctx context.Context, _, _ string) (net.Conn, error) { return d.connect(ctx) },
		Username:    d.username,
		Password:    d.password,
		ClientName:  adminName,
		DialTimeout: time.Second,
		PoolSize:    2,
	})
	c.AddHook(retryBusy{})
	return c
}

// retryBusy sends a command again while the server refuses it because it runs a long script or command of a module.
type retryBusy struct{}

// busyWithin bounds how long a server may be busy.
const busyWithin = 20 * time.Second

func (retryBusy) DialHook(next redis.DialHook) redis.DialHook { return next }

func (retryBusy) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (retryBusy) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		for deadline := time.Now().Add(busyWithin); ; cmd.SetErr(nil) {
			err := next(ctx, cmd)
			if !redis.HasErrorPrefix(err, "BUSY ") || time.Now().After(deadline) {
				return err
			}
			select {
			case <-ctx.Done():
				return err
			case <-time.After(time.Millisecond):
			}
		}
	}
}

// adminName is the name of our own connections to a node.
const adminName = "sim"

// InfoField reads one field of the answer to INFO.
func InfoField(info, name string) string {
	for line := range strings.Lines(info) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), name+":"); ok {
			return v
		}
	}
	return ""
}
