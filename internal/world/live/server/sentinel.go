package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/redis/sentinel"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

// MasterName is the name under which sentinels know the servers.
const MasterName = world.Primary

// addSentinels makes the sentinels that the spec wants. Each server and each sentinel then opens its connections
// from an address of its own, by which those at the other end, or a link on the way, can tell it.
func (s *Servers) addSentinels() {
	if s.spec.Sentinel == nil {
		return
	}
	for i, spec := range s.spec.Nodes {
		n := s.Nodes[spec.Name]
		n.source, n.minReplicas, n.maxLag = sourceOf(i), s.spec.Sentinel.MinReplicas, s.spec.Sentinel.MaxLag
	}
	s.Sentinels = make(map[string]*Node)
	for i, name := range s.spec.Sentinel.Names {
		n := s.node(name, "sentinel-"+name, s.Host, world.NoPersistence)
		n.source, n.watches = sourceOf(len(s.spec.Nodes)+i), true
		s.Sentinels[name] = n
	}
}

// sourceOf is the address from which the connections of the i-th of them come.
func sourceOf(i int) string { return fmt.Sprintf("127.0.1.%d", 2+i) }

// Source is the address from which the server's connections come.
func (n *Node) Source() netip.Addr {
	a, _ := netip.ParseAddr(n.source)
	return a
}

// IsSentinel: it watches servers.
func (n *Node) IsSentinel() bool { return n.watches }

// failsOver: the server's settings change while it runs, and it keeps them.
func (n *Node) failsOver() bool { return n.source != "" }

// settingsFile is a server's configuration file in the folder of its data, where it keeps its settings itself.
const settingsFile = "redis.conf"

// writeSettings writes arguments as the server's configuration file, and returns those that name it: the server sees the
// folder of its data as folder. A file that is there has what the server has written into it since.
func (n *Node) writeSettings(folder string, args []string) ([]string, error) {
	path := filepath.Join(n.dir, settingsFile)
	by := []string{filepath.Join(folder, settingsFile)}
	if n.watches {
		by = append(by, "--sentinel")
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return by, err
	}
	var b strings.Builder
	for _, arg := range args {
		if name, found := strings.CutPrefix(arg, "--"); found {
			fmt.Fprintf(&b, "\n%s", name)
		} else {
			fmt.Fprintf(&b, " %s", strconv.Quote(arg))
		}
	}
	return by, os.WriteFile(path, []byte(b.String()+"\n"), 0o600)
}

// Announce lets the server tell others that it is at an address.
func (n *Node) Announce(ctx context.Context, address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	if n.watches {
		return errors.Join(n.sentinel(ctx, "config", "set", "announce-ip", host), n.sentinel(ctx, "config", "set", "announce-port", port))
	}
	for _, words := range [][]any{{"set", "replica-announce-ip", host}, {"set", "replica-announce-port", port}, {"rewrite"}} {
		if err := n.Admin.Do(ctx, append([]any{"config"}, words...)...).Err(); err != nil {
			return fmt.Errorf("failed to let node %s announce its address: %w", n.Name, err)
		}
	}
	return nil
}

// Watch lets a sentinel watch the primary at an address. From version 7 on it looks around more often until it is told
// to keep Redis' own periods.
func (n *Node) Watch(ctx context.Context, address string, s *world.Sentinel) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	_ = n.sentinel(ctx, "debug", "info-period", 100, "publish-period", 50)
	if err := n.sentinel(ctx, "monitor", MasterName, host, port, s.Quorum); err != nil {
		return err
	}
	return n.sentinel(ctx, "set", MasterName, "down-after-milliseconds",
		s.DownAfter.Milliseconds(), "failover-timeout", s.FailoverTimeout.Milliseconds())
}

// AwaitWatching waits until a sentinel knows so many replicas, and all other sentinels.
func (n *Node) AwaitWatching(ctx context.Context, s *world.Sentinel, replicas int) error {
	for deadline := time.Now().Add(followWithin); ; time.Sleep(2 * time.Millisecond) {
		about, err := n.Admin.Do(ctx, "sentinel", "master", MasterName).Slice()
		if slow := net.Error(nil); err != nil && (!errors.As(err, &slow) || !slow.Timeout()) {
			return fmt.Errorf("failed to ask sentinel %s about the primary: %w", n.Name, err)
		}
		if sentinel.Field(about, "num-slaves") == strconv.Itoa(replicas) &&
			sentinel.Field(about, "num-other-sentinels") == strconv.Itoa(len(s.Names)-1) && sentinel.Field(about, "flags") == "master" {
			return nil
		}
		if time.Now().After(deadline) {
			return machine.TookTooLong(followWithin, "sentinel %s did not find all servers and sentinels within %v", n.Name, followWithin)
		}
	}
}

// KeepPeriods lets a sentinel look around as often as Redis' own do.
func (n *Node) KeepPeriods(ctx context.Context) {
	_ = n.sentinel(ctx, "debug", "info-period", sentinel.InfoPeriod, "publish-period", sentinel.PublishPeriod)
}

// sentinel has a sentinel carry out a command.
func (n *Node) sentinel(ctx context.Context, words ...any) error {
	if err := n.Admin.Do(ctx, append([]any{"sentinel"}, words...)...).Err(); err != nil {
		return fmt.Errorf("sentinel %s refused %v: %w", n.Name, words[0], err)
	}
	return nil
}

// ID is how sentinels call a sentinel.
func (n *Node) ID(ctx context.Context) (string, error) {
	id, err := n.Admin.Do(ctx, "sentinel", "myid").Text()
	if err != nil {
		return "", fmt.Errorf("failed to ask sentinel %s for its id: %w", n.Name, err)
	}
	return id, nil
}

// Listen subscribes to all that a sentinel tells, and calls told with it as long as the sentinel lives.
func (n *Node) Listen(ctx context.Context, told func(sentinel.Told)) error {
	s := n.Admin.PSubscribe(ctx, "+*", "-*")
	for range 2 {
		if _, err := s.Receive(ctx); err != nil {
			return errors.Join(fmt.Errorf("failed to listen to sentinel %s: %w", n.Name, err), s.Close())
		}
	}
	messages := s.Channel()
	go func() {
		for m := range messages {
			if t := sentinel.ParseTold(m.Channel, m.Payload); !t.OfTable() {
				told(t)
			}
		}
	}()
	n.unlisten = s.Close
	return nil
}
