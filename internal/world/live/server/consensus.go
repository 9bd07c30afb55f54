package server

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/client"
	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

// consensus is the store that no fault strikes: etcd where it is installed, or
// else a redis-server of its own, which is linearizable as long as nothing
// happens to it. Clients reach it past the proxies.
type consensus struct {
	Address client.Address
	version string
	// node is what it is as a redis-server; etcd works in the same folder.
	node *Node
	// Either the node was started, or etcd's process on two ports.
	etcd  *machine.Child
	ports []int
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

func (c *consensus) startRedis(ctx context.Context) error {
	if err := c.node.Start(ctx); err != nil {
		return err
	}
	c.Address = client.Address{Name: world.Consensus, Address: c.node.Address()}
	c.version = "redis (etcd is not installed)"
	return nil
}

func (c *consensus) startEtcd(ctx context.Context, binary string) error {
	return machine.OnFreePorts(2, func(ports []int) error {
		err := c.tryEtcd(ctx, binary, "http://127.0.0.1:"+strconv.Itoa(ports[0]), "http://127.0.0.1:"+strconv.Itoa(ports[1]))
		if err != nil {
			c.Stop()
			return err
		}
		c.ports = ports
		return nil
	})
}

// tryEtcd starts etcd at an address for clients and one for its peers.
func (c *consensus) tryEtcd(ctx context.Context, binary, clients, peers string) error {
	log, err := os.OpenFile(c.node.log, os.O_CREATE|os.O_RDWR|os.O_TRUNC, 0o644)
	if err != nil {
		return fmt.Errorf("failed to open etcd's log: %w", err)
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(binary, "--name", "sim", "--data-dir", filepath.Join(c.node.dir, "data"), "--log-level", "warn",
		"--listen-client-urls", clients, "--advertise-client-urls", clients,
		"--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers, "--initial-cluster", "sim="+peers,
		"--heartbeat-interval", "20", "--election-timeout", "200")
	cmd.Dir, cmd.Stdout, cmd.Stderr = c.node.dir, log, log
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")} // ETCD_... would overrule what we say
	if c.etcd, err = machine.Start("etcd", cmd); err != nil {
		return err
	}
	c.Address = client.Address{Name: world.Consensus, Kind: client.Etcd, Address: strings.TrimPrefix(clients, "http://")}
	c.version = "etcd"
	return c.healthy(ctx)
}

// healthy waits until etcd has elected itself.
func (c *consensus) healthy(ctx context.Context) error {
	deadline := time.Now().Add(startWithin)
	for {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+c.Address.Address+"/health", nil)
		if err != nil {
			return err
		}
		reply, err := http.DefaultClient.Do(r)
		if err == nil {
			_ = reply.Body.Close()
			if reply.StatusCode == http.StatusOK {
				return c.askVersion(ctx)
			}
		}
		switch {
		case c.etcd.Dead():
			return c.etcdError()
		case ctx.Err() != nil:
			return ctx.Err()
		case time.Now().After(deadline):
			return fmt.Errorf("etcd did not answer within %v; its log is %s", startWithin, c.node.log)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// askVersion asks etcd which it is.
func (c *consensus) askVersion(ctx context.Context) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+c.Address.Address+"/version", nil)
	if err != nil {
		return err
	}
	reply, err := http.DefaultClient.Do(r)
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
	if strings.Contains(string(text), "address already in use") {
		return machine.ErrPortTaken
	}
	return fmt.Errorf("etcd ended at once (%w): %s", c.etcd.Err, lastLine(text))
}

// Stop ends the store.
func (c *consensus) Stop() {
	c.node.Stop()
	c.node.returnPort()
	if c.etcd != nil {
		_ = c.etcd.Kill()
	}
	for _, p := range c.ports {
		machine.ReturnPort(p)
	}
	c.etcd, c.ports = nil, nil
}
