//go:build linux && amd64

package guests

import (
	"bytes"
	"net"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/redlock-sim/redlock-sim/internal/redis/cluster"
	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/virtual"
)

// busPort is where nodes talk to each other.
const busPort = redisPort + virtual.BusPorts

// shard is a server's part in a Redis Cluster.
type shard struct {
	s *redisServer
	// shape is the cluster's.
	shape *cluster.Shape
	// file is what it knew of the cluster when somebody looked last; buffer is for reading it.
	file, buffer []byte
	// sees is what that says.
	sees cluster.Sight
}

// idOf is how the nodes of a cluster, or sentinels, call each other.
func (g *guests) idOf(name string) string { return cluster.ID(g.spec.Seed, name) }

// arguments are those of the server.
func (c *shard) arguments() []string {
	spec := c.s.g.spec.Cluster
	args := []string{"--cluster-enabled", "yes", "--cluster-config-file", cluster.ConfigFile, "--cluster-announce-ip", c.s.host.String(),
		"--cluster-node-timeout", strconv.FormatInt(spec.NodeTimeout.Milliseconds(), 10), "--repl-ping-replica-period", "10"}
	return append(args, minReplicas(spec.MinReplicas, spec.MaxLag)...)
}

// prepareDisk leaves the file that the node has of the cluster, which it syncs whatever it does with its data. Only an empty disk has none.
func (c *shard) prepareDisk(keep world.Keep) error {
	rest := func() error { return c.s.prepareData(keep) }
	if c.s.life > 0 && keep == world.KeepNothing {
		return rest()
	}
	return c.s.keepFile(cluster.ConfigFile, c.firstFile, rest)
}

// firstFile is what the node knows of the cluster at the start.
func (c *shard) firstFile() []byte {
	return c.shape.File(c.s.h.Name(), func(name string) cluster.Place {
		return cluster.Place{Host: c.s.g.hosts[name].String(), Port: redisPort, Bus: busPort}
	})
}

// isWhole reports that the node sees all others, and that they serve.
func (c *shard) isWhole() bool {
	c.look()
	info, err := c.s.do("cluster", "info")
	if err != nil {
		return false
	}
	nodes, err := c.s.do("cluster", "nodes")
	return err == nil && cluster.IsWhole(info, nodes, len(c.shape.Names))
}

// look takes in what the node knows of the cluster since it has run.
func (c *shard) look() {
	if c == nil {
		return
	}
	file := c.read()
	if len(file) == 0 || bytes.Equal(file, c.file) {
		return
	}
	c.file = bytes.Clone(file)
	var err error
	before := c.sees
	if c.sees, err = c.shape.Read(string(file)); err != nil {
		c.s.check(err)
		return
	}
	c.s.follows = c.sees.Follows
	c.sees.Tell(c.s.h.Name(), before, c.s.record)
}

// read reads the file, in half as many calls as os.ReadFile; empty: it cannot. It does so each time that the server has run.
func (c *shard) read() []byte {
	fd, err := unix.Open(filepath.Join(c.s.dir, cluster.ConfigFile), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer func() { _ = unix.Close(fd) }()
	for {
		n, err := unix.Pread(fd, c.buffer, 0)
		if err != nil || n < len(c.buffer) {
			return c.buffer[:max(n, 0)]
		}
		c.buffer = make([]byte, 2*len(c.buffer)+8<<10)
	}
}

// said takes in a line that the server logs.
func (c *shard) said(line string) {
	if word := cluster.Said(line); c != nil && word != "" {
		c.s.g.want(func() { c.s.record(c.sees.Event(word, "")) })
	}
}

// HostAt implements virtual.Servers.
func (g *guests) HostAt(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil || port != strconv.Itoa(redisPort) {
		return ""
	}
	return g.hostOf(host)
}

// hostOf finds the name of a host by its IP address; empty: there is none.
func (g *guests) hostOf(address string) string {
	ip := net.ParseIP(address).To4()
	if ip == nil {
		return ""
	}
	return g.hostAt([4]byte(ip))
}
