package server

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/client"
)

// consensus is the store that no fault strikes: etcd where it is installed, or
// else a redis-server of its own, which is linearizable as long as nothing
// happens to it.
type consensus struct {
	// Kind is what it is, and Dial opens a connection to it for a link.
	Kind    client.StoreKind
	Dial    func(context.Context) (net.Conn, error)
	version string
	// node is what it is as a redis-server; etcd works in the same folder.
	node *Node
	// Either the node was started, or etcd's process.
	etcd *machine.Child
}

// FindEtcd is the path of etcd: $REDLOCK_SIM_ETCD, or the one in PATH.
func FindEtcd() (string, error) {
	name := os.Getenv("REDLOCK_SIM_ETCD")
	if name == "" {
		name = "etcd"
	}
	return exec.LookPath(name)
}

// startConsensus starts etcd, or the node in its place.
func startConsensus(ctx context.Context, n *Node) (*consensus, error) {
	c := &consensus{node: n}
	err := n.makeFolder()
	if err == nil {
		if binary, missing := FindEtcd(); missing == nil {
			err = c.startEtcd(ctx, binary)
		} else {
			err = c.startRedis(ctx)
		}
	}
	if err != nil {
		c.Stop()
		return nil, err
	}
	return c, nil
}

// Runs reports that a process is etcd's.
func (c *consensus) Runs(pid int) bool { return c != nil && c.etcd != nil && c.etcd.PID() == pid }

func (c *consensus) startRedis(ctx context.Context) error {
	if err := c.node.Start(ctx); err != nil {
		return err
	}
	c.Dial = c.node.Endpoint(world.Consensus).Dial
	c.version = "redis (etcd is not installed)"
	return nil
}

// etcdSocket is where etcd listens for clients, in its folder: whoever gets there may do anything.
// etcd before 3.5.10 takes a socket only if its name looks like a host with a port.
const etcdSocket, etcdPeers = "clients:1", "peers:1"

func (c *consensus) startEtcd(ctx context.Context, binary string) error {
	log, err := os.OpenFile(c.node.log, os.O_CREATE|os.O_RDWR|os.O_TRUNC, 0o644)
	if err != nil {
		return fmt.Errorf("failed to open etcd's log: %w", err)
	}
	defer func() { _ = log.Close() }()
	const nowhere = "http://127.0.0.1:1" // it does not advertise sockets
	cmd := exec.Command(binary, "--name", "sim", "--data-dir", "data", "--log-level", "warn",
		"--listen-client-urls", "unix://"+etcdSocket, "--advertise-client-urls", nowhere,
		"--listen-peer-urls", "unix://"+etcdPeers, "--initial-advertise-peer-urls", nowhere, "--initial-cluster", "sim="+nowhere,
		"--heartbeat-interval", "20", "--election-timeout", "200")
	cmd.Dir, cmd.Stdout, cmd.Stderr = c.node.dir, log, log
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")} // ETCD_... would overrule what we say
	if c.etcd, err = machine.Start("etcd", cmd); err != nil {
		return err
	}
	// The path of the folder may be too long for the address of a socket.
	socket := fmt.Sprintf("/proc/%d/cwd/%s", c.etcd.PID(), etcdSocket)
	c.Kind, c.version = client.Etcd, "etcd"
	c.Dial = func(ctx context.Context) (net.Conn, error) { return (&net.Dialer{}).DialContext(ctx, "unix", socket) }
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return c.Dial(ctx) }}
	defer transport.CloseIdleConnections()
	return c.awaitHealthy(ctx, &http.Client{Transport: transport})
}

// awaitHealthy waits until etcd has elected itself.
func (c *consensus) awaitHealthy(ctx context.Context, to *http.Client) error {
	deadline := time.Now().Add(startWithin)
	for {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://etcd/health", nil)
		if err != nil {
			return err
		}
		reply, err := to.Do(r)
		if err == nil {
			_ = reply.Body.Close()
			if reply.StatusCode == http.StatusOK {
				return c.askVersion(ctx, to)
			}
		}
		if c.etcd.Dead() {
			return c.etcdError()
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if time.Now().After(deadline) {
			return machine.StartedTooSlowly("etcd did not answer within %v; its log is %s", startWithin, c.node.log)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// askVersion asks etcd which it is.
func (c *consensus) askVersion(ctx context.Context, to *http.Client) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://etcd/version", nil)
	if err != nil {
		return err
	}
	reply, err := to.Do(r)
	if err != nil {
		return fmt.Errorf("failed to ask etcd for its version: %w", err)
	}
	defer func() { _ = reply.Body.Close() }()
	var answer struct {
		Server string `json:"etcdserver"`
	}
	if err := json.NewDecoder(io.LimitReader(reply.Body, 1<<16)).Decode(&answer); err != nil {
		return fmt.Errorf("failed to read etcd's version: %w", err)
	}
	c.version = "etcd " + answer.Server
	return nil
}

func (c *consensus) etcdError() error {
	text, _ := os.ReadFile(c.node.log)
	return fmt.Errorf("etcd ended at once (%w): %s", c.etcd.Err, lastLine(text))
}

// Stop ends the store.
func (c *consensus) Stop() {
	c.node.Stop()
	c.node.returnPort()
	if c.etcd != nil {
		_ = c.etcd.Kill()
	}
	c.etcd = nil
}
