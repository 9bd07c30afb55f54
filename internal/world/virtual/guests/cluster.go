//go:build linux && amd64

package guests

import (
	"bytes"
	"crypto/sha1" //nolint:gosec // for names, which are no secret
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/virtual"
)

// A cluster is one from the start: each node begins with the file that it would have written when all had met, with names that come from
// the seed. A meeting takes 6 to 10 s of virtual time, and ends in the same.

const (
	// clusterFile is where a node keeps what it knows of the cluster.
	clusterFile = "nodes.conf"
	// busPort is where nodes talk to each other.
	busPort = redisPort + virtual.BusPorts
)

// shard is a server's part in a Redis Cluster.
type shard struct {
	s *redisServer
	// file is what it knew of the cluster when somebody looked last; buffer is for reading it.
	file, buffer []byte
	// sees is what that says.
	sees sight
}

// sight is the cluster in the eyes of a node.
type sight struct {
	// owner has the slot of the lock's key, with a configuration of an epoch.
	owner string
	epoch int64
	// follows is whose replica the node itself is; empty: it is a primary.
	follows string
	// failed are those that it takes for failed, with a majority.
	failed []string
	// sends is to whom, as a primary, it sends the clients whose keys it has not, and takes from whose clients it takes: the slot is open.
	sends, takes string
}

// idOf is how the nodes of a cluster, or sentinels, call each other.
func (g *guests) idOf(name string) string {
	return fmt.Sprintf("%x", sha1.Sum(fmt.Appendf(nil, "%d %s", g.spec.Seed, name))) //nolint:gosec // see above
}

// slotsOf are the slots of a primary, as from and to. The first primary has that of the lock.
func (g *guests) slotsOf(primary int) (from, to int) {
	n := g.spec.Cluster.Primaries
	part := (primary + g.spec.LockSlot()*n/command.Slots) % n
	bound := func(i int) int { return (i*command.Slots + n - 1) / n }
	return bound(part), bound(part+1) - 1
}

// arguments are those of the server.
func (c *shard) arguments() []string {
	cluster := c.s.g.spec.Cluster
	args := []string{"--cluster-enabled", "yes", "--cluster-config-file", clusterFile, "--cluster-announce-ip", c.s.host.String(),
		"--cluster-node-timeout", strconv.FormatInt(cluster.NodeTimeout.Milliseconds(), 10), "--repl-ping-replica-period", "10"}
	return append(args, minReplicas(cluster.MinReplicas, cluster.MaxLag)...)
}

// prepareDisk leaves the file that the node has of the cluster, which it syncs whatever it does with its data. Only an empty disk has none.
func (c *shard) prepareDisk(keep world.Keep) error {
	rest := func() error { return c.s.prepareData(keep) }
	if c.s.life > 0 && keep == world.KeepNothing {
		return rest()
	}
	return c.s.keepFile(clusterFile, c.firstFile, rest)
}

// firstFile is what the node knows of the cluster at the start.
func (c *shard) firstFile() []byte {
	g, n := c.s.g, c.s.g.spec.Cluster.Primaries
	var b bytes.Buffer
	for i, node := range g.spec.Nodes {
		flags, of := "master", "-"
		if i >= n {
			flags, of = "slave", g.idOf(g.spec.Nodes[i%n].Name)
		}
		if node.Name == c.s.h.Name() {
			flags = "myself," + flags
		}
		fmt.Fprintf(&b, "%s %s:%d@%d %s %s 0 0 %d connected", g.idOf(node.Name), g.hosts[node.Name], redisPort, busPort, flags, of, i%n+1)
		if i < n {
			from, to := g.slotsOf(i)
			fmt.Fprintf(&b, " %d-%d", from, to)
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "vars currentEpoch %d lastVoteEpoch 0\n", n)
	return b.Bytes()
}

// isWhole reports that the node sees all others, and that they serve.
func (c *shard) isWhole() bool {
	c.look()
	info, err := c.s.do("cluster", "info")
	if err != nil || !strings.Contains(info, "cluster_state:ok") {
		return false
	}
	nodes, err := c.s.do("cluster", "nodes")
	return err == nil && strings.Count(nodes, " connected") == len(c.s.g.spec.Nodes) && !strings.Contains(nodes, "fail")
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
	if c.sees, err = c.parse(string(file)); err != nil {
		c.s.check(err)
		return
	}
	c.s.follows = c.sees.follows
	c.tell(before)
}

// read reads the file, in half as many calls as os.ReadFile; empty: it cannot. It does so each time that the server has run.
func (c *shard) read() []byte {
	fd, err := unix.Open(filepath.Join(c.s.dir, clusterFile), unix.O_RDONLY|unix.O_CLOEXEC, 0)
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

// parse reads the file.
func (c *shard) parse(file string) (v sight, err error) {
	g := c.s.g
	names := make(map[string]string)
	for _, n := range g.spec.Nodes {
		names[g.idOf(n.Name)] = n.Name
	}
	slot := g.spec.LockSlot()
	for line := range strings.Lines(file) {
		f := strings.Fields(line)
		if len(f) < 8 {
			continue
		}
		flags := strings.Split(f[2], ",")
		if slices.Contains(flags, "myself") {
			v.follows = names[f[3]]
		}
		if slices.Contains(flags, "fail") {
			v.failed = append(v.failed, names[f[0]])
		}
		for _, slots := range f[8:] {
			if c.parseOpen(slots, names, &v) {
				continue
			}
			first, last, err := command.ParseSlots(slots)
			if err != nil {
				return v, fmt.Errorf("slots %q in %s: %w", slots, clusterFile, err)
			}
			if first <= slot && slot <= last {
				v.owner = names[f[0]]
				if v.epoch, err = strconv.ParseInt(f[6], 10, 64); err != nil {
					return v, fmt.Errorf("epoch %q in %s: %w", f[6], clusterFile, err)
				}
			}
		}
	}
	return v, nil
}

// parseOpen reads of a slot that is open, as [93->-name] or [93-<-name]; false: it is none.
func (c *shard) parseOpen(slot string, names map[string]string, v *sight) bool {
	open, is := strings.CutPrefix(strings.TrimSuffix(slot, "]"), "[")
	number, to, sends := strings.Cut(open, "->-")
	from := ""
	if !sends {
		number, from, _ = strings.Cut(open, "-<-")
	}
	if is && number == strconv.Itoa(c.s.g.spec.LockSlot()) {
		v.sends, v.takes = names[to], names[from]
	}
	return is
}

// tell tells what is other than before. What a node knows when the run begins is known.
func (c *shard) tell(before sight) {
	me := c.s.h.Name()
	if was, is := before.owner == me, c.sees.owner == me; is && !was {
		c.s.record(history.Event{F: history.NodePromoted})
	} else if was && !is {
		c.s.record(history.Event{F: history.NodeDemoted})
	}
	if before.owner != c.sees.owner {
		c.recordSight(history.ClusterSlot, c.sees.owner)
	}
	if c.sees.sends != "" && before.sends != c.sees.sends {
		c.recordSight(history.ClusterSends, c.sees.sends)
	}
	if c.sees.takes != "" && before.takes != c.sees.takes {
		c.recordSight(history.ClusterTakes, c.sees.takes)
	}
	for _, node := range c.sees.failed {
		if !slices.Contains(before.failed, node) {
			c.recordSight(history.ClusterFailed, node)
		}
	}
	for _, node := range before.failed {
		if !slices.Contains(c.sees.failed, node) {
			c.recordSight(history.ClusterBack, node)
		}
	}
}

func (c *shard) recordSight(word, about string) {
	c.s.record(history.Event{F: history.Cluster,
		Value: history.Value{Rare: &history.Rare{Detail: word, Target: about, Epoch: history.Some(c.sees.epoch)}}})
}

// said takes in a line that the server logs.
func (c *shard) said(line string) {
	_, state, is := strings.Cut(line, "Cluster state changed: ")
	if c == nil || !is {
		return
	}
	word := history.ClusterRefuses
	if strings.TrimSpace(state) == "ok" {
		word = history.ClusterServes
	}
	c.s.g.want(func() { c.recordSight(word, "") })
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
