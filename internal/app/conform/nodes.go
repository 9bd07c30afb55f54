package conform

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/world"
	stores "github.com/redlock-sim/redlock-sim/internal/world/client"
	"github.com/redlock-sim/redlock-sim/internal/world/live/postgres"
	"github.com/redlock-sim/redlock-sim/internal/world/live/proxy"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server"
)

// nodes are the Redis servers on which the program locks.
type nodes struct {
	servers *server.Servers
	// scratch is the folder with their data.
	scratch string
	list    []*server.Node
	// links are how the program reaches them: it need not know their passwords.
	links *proxy.Proxies
	told  []program.Node
	// postgres is in the place of the nodes, where the lock is kept there.
	postgres *postgres.Server
	// ends are the ends that the journals of the nodes tell of.
	ends []keyEnd
}

// startNodes starts what a program needs: three nodes for a quorum, else one, or another server in
// the place of that.
func startNodes(ctx context.Context, dir, redis string, r *program.Ready) (*nodes, error) {
	spec := &world.Spec{Name: "conform", Dir: dir, Nodes: []world.Node{{Name: "A"}}, SharedStore: true}
	if r.Elsewhere() {
		spec.LockStore = stores.StoreKind(r.Store)
	}
	if r.Class == program.Quorum {
		spec.Nodes = append(spec.Nodes, world.Node{Name: "B"}, world.Node{Name: "C"})
	}
	scratch, err := machine.Scratch()
	if err != nil {
		return nil, err
	}
	n := &nodes{scratch: scratch, links: proxy.New()}
	if n.servers, err = server.New(ctx, spec, scratch, server.Options{Redis: redis}); err != nil {
		return n, err
	}
	for i := range spec.Nodes {
		n.list = append(n.list, n.servers.Nodes[spec.Nodes[i].Name])
	}
	if err := n.servers.Start(ctx); err != nil {
		return n, err
	}
	if r.Elsewhere() {
		return n, n.linkStore(ctx, r.Store, dir)
	}
	for _, node := range n.list {
		if err := n.link(program.Node{Name: node.Name}, node.Endpoint(node.Name).Dial); err != nil {
			return n, err
		}
	}
	return n, nil
}

// linkStore starts the server that keeps the lock in the place of the nodes.
func (n *nodes) linkStore(ctx context.Context, store program.Store, dir string) (err error) {
	to := program.Node{Name: n.list[0].Name}
	if store == program.Etcd {
		if err := n.servers.StartConsensus(ctx); err != nil {
			return err
		}
		return n.link(to, n.servers.Consensus.Dial)
	}
	if n.postgres, err = postgres.Start(ctx, n.scratch, filepath.Join(dir, "postgres.log")); err != nil {
		return err
	}
	a := n.postgres.Invitation("")
	to.Username, to.Password = a.Username, a.Password()
	return n.link(to, n.postgres.Dial)
}

// link opens a link to a node.
func (n *nodes) link(to program.Node, dial proxy.Dial) error {
	address, err := n.links.Open("program", to.Name, dial, nil)
	if err != nil {
		return err
	}
	host, port, _ := net.SplitHostPort(address)
	to.Host = host
	to.Port, _ = strconv.Atoi(port)
	n.told = append(n.told, to)
	return nil
}

func (n *nodes) stop() {
	if n != nil && n.servers != nil {
		n.links.Close()
		if n.postgres != nil {
			n.postgres.Stop()
		}
		n.servers.Stop()
		_ = n.servers.Close()
		_ = machine.Discard(n.scratch)
	}
}

// quorum is how many of them have to hold the lock.
func (n *nodes) quorum() int { return len(n.list)/2 + 1 }

// runs reports that a process is one of them.
func (n *nodes) runs(pid int) bool {
	return n != nil && (n.servers.Consensus.Runs(pid) || n.postgres.Runs(pid) ||
		slices.ContainsFunc(n.list, func(node *server.Node) bool { return node.Server.PID() == pid }))
}

// reset makes all of them as they were at the beginning.
func (n *nodes) reset(ctx context.Context) error {
	for _, node := range n.list {
		if node.Server.Dead() {
			if err := node.Restart(ctx, world.KeepNothing); err != nil {
				return err
			}
		}
		if err := node.Admin.FlushAll(ctx).Err(); err != nil {
			return fmt.Errorf("failed to empty node %s: %w", node.Name, err)
		}
	}
	return nil
}

// entry is a key on a node.
type entry struct {
	node *server.Node
	name string
	kind string
	// value is what DUMP tells of it, the same for the same value.
	value string
	// texts are the value of a string, the fields and values of a hash, the elements of a list or a set.
	texts []string
	// ttl is its time to live; negative: it has none.
	ttl time.Duration
}

func (e entry) String() string { return fmt.Sprintf("%q on node %s", e.name, e.node.Name) }

// entries are all keys on the nodes that live.
func (n *nodes) entries(ctx context.Context) (list []entry, err error) {
	for _, node := range n.list {
		if node.Server.Dead() {
			continue
		}
		names, err := node.Admin.Keys(ctx, "*").Result()
		if err != nil {
			return nil, fmt.Errorf("failed to list the keys of node %s: %w", node.Name, err)
		}
		slices.Sort(names)
		for _, name := range names {
			e, err := look(ctx, node, name)
			if err != nil {
				return nil, fmt.Errorf("failed to read the key %q of node %s: %w", name, node.Name, err)
			}
			if e.kind != "none" { // it has ended meanwhile
				list = append(list, e)
			}
		}
	}
	return list, nil
}

func look(ctx context.Context, node *server.Node, name string) (entry, error) {
	e := entry{node: node, name: name}
	pipe := node.Admin.TxPipeline()
	kind, dump, ttl := pipe.Type(ctx, name), pipe.Dump(ctx, name), pipe.PTTL(ctx, name)
	text, hash := pipe.Get(ctx, name), pipe.HGetAll(ctx, name)
	items, set, sorted := pipe.LRange(ctx, name, 0, -1), pipe.SMembers(ctx, name), pipe.ZRange(ctx, name, 0, -1)
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) && !redis.HasErrorPrefix(err, "WRONGTYPE") {
		return e, err
	}
	e.kind, e.value, e.ttl = kind.Val(), dump.Val(), ttl.Val()
	switch e.kind {
	case "string":
		e.texts = []string{text.Val()}
	case "list":
		e.texts = items.Val()
	case "set":
		e.texts = set.Val()
	case "zset":
		e.texts = sorted.Val()
	case "hash":
		e.texts = slices.Concat(slices.Collect(maps.Keys(hash.Val())), slices.Collect(maps.Values(hash.Val())))
	}
	return e, nil
}

// locks are the keys of the lock: all but a counter of its tokens. Where some have a name that the
// program told, others that do not have the lock's name in theirs are not the lock. A lock that keeps its lease in the value
// may keep other keys for ever: those that it did not tell are not the lock.
func (n *nodes) locks(ctx context.Context, s *suite) ([]entry, error) {
	list, err := n.entries(ctx)
	told := slices.ContainsFunc(list, func(e entry) bool { return s.named(e.name) })
	return slices.DeleteFunc(list, func(e entry) bool {
		return s.isCounter(e) || told && !s.named(e.name) && (s.leased() || !strings.Contains(e.name, s.Key))
	}), err
}

// isCounter reports that a key may be where the lock counts its tokens.
func (s *suite) isCounter(e entry) bool {
	if !s.ready.Has(program.TellsToken) || e.kind != "string" || e.ttl >= 0 || s.named(e.name) {
		return false
	}
	_, err := strconv.ParseInt(e.texts[0], 10, 64)
	return err == nil
}

// patterns are those of the lock's keys.
func (s *suite) patterns() program.Patterns {
	if len(s.ready.Keys) == 0 {
		return program.PatternsFor(s.Key, []string{program.KeyPattern})
	}
	return program.PatternsFor(s.Key, s.ready.Keys)
}

// named reports that a pattern fits a key.
func (s *suite) named(key string) bool {
	return s.patterns().Fit(key)
}

// on counts the nodes of some keys.
func on(list []entry) int {
	names := make(map[string]bool)
	for _, e := range list {
		names[e.node.Name] = true
	}
	return len(names)
}

// still are those of the keys that have the values that they had.
func (n *nodes) still(ctx context.Context, before []entry) (list []entry, err error) {
	now, err := n.entries(ctx)
	for _, e := range before {
		if slices.ContainsFunc(now, func(o entry) bool { return o.node == e.node && o.name == e.name && o.value == e.value }) {
			list = append(list, e)
		}
	}
	return list, err
}

// somebody is the value of the keys that somebody else has taken.
const somebody = "somebody else"

// take gives keys to somebody else.
func take(ctx context.Context, list []entry, ttl time.Duration) error {
	for _, e := range list {
		pipe := e.node.Admin.TxPipeline()
		pipe.Del(ctx, e.name)
		switch e.kind {
		case "hash":
			pipe.HSet(ctx, e.name, somebody, 1)
		case "list":
			pipe.RPush(ctx, e.name, somebody)
		case "set":
			pipe.SAdd(ctx, e.name, somebody)
		case "zset": // its score is an end that is far away
			pipe.ZAdd(ctx, e.name, redis.Z{Score: math.Inf(1), Member: somebody})
		default:
			pipe.Set(ctx, e.name, somebody, 0)
		}
		pipe.PExpire(ctx, e.name, ttl)
		if _, err := pipe.Exec(ctx); err != nil {
			return fmt.Errorf("failed to take the key %s: %w", e, err)
		}
	}
	return nil
}

// texts tell of keys.
func texts(list []entry) string {
	names := make([]string, len(list))
	for i, e := range list {
		names[i] = e.String()
	}
	return strings.Join(names, ", ")
}
