package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/redis/cluster"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

// member is a node's part in a Redis Cluster.
type member struct {
	shape *cluster.Shape
	// place is where all others find the node and each of them, behind links.
	place func(name string) cluster.Place
	// timeout is cluster-node-timeout.
	timeout time.Duration
	// bus is where it listens for the others; 0: it has not been started.
	bus int
}

// startTimeout is cluster-node-timeout while the nodes start: nobody is to be taken for failed who has not come yet.
const startTimeout = time.Minute

// addCluster makes the nodes a Redis Cluster, where the spec wants one.
func (s *Servers) addCluster() {
	if s.spec.Cluster == nil {
		return
	}
	for i, spec := range s.spec.Nodes {
		n, c := s.Nodes[spec.Name], s.spec.Cluster
		n.source, n.minReplicas, n.maxLag = sourceOf(i), c.MinReplicas, c.MaxLag
		n.member = &member{shape: s.spec.Shape(spec.Name), timeout: c.NodeTimeout}
	}
}

// Place says where the nodes of the cluster find each other, before they start.
func (s *Servers) Place(place func(name string) cluster.Place) {
	for _, n := range s.Nodes {
		n.member.place = place
	}
}

// arguments are those of the server by which it is a node of the cluster.
func (m *member) arguments(n *Node) []string {
	at := m.place(n.Name)
	return []string{"--cluster-enabled", "yes", "--cluster-config-file", cluster.ConfigFile,
		"--cluster-announce-ip", at.Host, "--cluster-announce-port", strconv.Itoa(at.Port), "--cluster-announce-bus-port", strconv.Itoa(at.Bus),
		"--cluster-node-timeout", strconv.FormatInt(startTimeout.Milliseconds(), 10), "--repl-ping-replica-period", "10"}
}

// bound are the options that say where the server listens and from where its connections come. Redis 6.2 knows no other port for its bus
// than one, and no other address for its connections than that where it listens first.
func (m *member) bound(n *Node, old bool) []string {
	if old {
		return []string{"--bind", n.source, "127.0.0.1"}
	}
	return []string{"--bind", "127.0.0.1", "--bind-source-addr", n.source, "--cluster-port", strconv.Itoa(m.bus)}
}

// busOffset is how much higher than for its clients a node listens for the others, where nobody says another port.
const busOffset = 10_000

// onFreePorts starts a server on a free port, with a bus on another.
func (m *member) onFreePorts(n *Node, old bool, start func(port int) error) error {
	return machine.OnFreePorts(2, func(ports []int) error {
		if m.bus = ports[1]; !old {
			return start(ports[0])
		}
		machine.ReturnPort(ports[1])
		m.bus = ports[0] + busOffset
		l, err := net.Listen("tcp", net.JoinHostPort(n.source, strconv.Itoa(m.bus)))
		if err != nil {
			return machine.ErrPortTaken
		}
		if err := l.Close(); err != nil {
			return err
		}
		return start(ports[0])
	})
}

// writeFile lets the server know the cluster when it starts for the first time.
func (m *member) writeFile(n *Node) error {
	return os.WriteFile(filepath.Join(n.dir, cluster.ConfigFile), m.shape.File(n.Name, m.place), 0o600)
}

// DialBus opens a connection to the bus.
func (n *Node) DialBus(ctx context.Context) (net.Conn, error) {
	return Door{Address: net.JoinHostPort("127.0.0.1", strconv.Itoa(n.member.bus)), process: true}.connect(ctx)
}

// wholeWithin bounds how long a cluster may take until all nodes see each other, and serve.
const wholeWithin = 30 * time.Second

// AwaitWhole waits until the node sees all others of its cluster, and serves, and lets it take others for failed from then on.
func (n *Node) AwaitWhole(ctx context.Context) error {
	for deadline := time.Now().Add(wholeWithin); ; time.Sleep(5 * time.Millisecond) {
		info, err := n.Admin.ClusterInfo(ctx).Result()
		if err != nil {
			return fmt.Errorf("failed to ask node %s about its cluster: %w", n.Name, err)
		}
		nodes, err := n.Admin.ClusterNodes(ctx).Result()
		if err != nil {
			return fmt.Errorf("failed to ask node %s about its cluster: %w", n.Name, err)
		}
		if cluster.IsWhole(info, nodes, len(n.member.shape.Names)) {
			break
		}
		if time.Now().After(deadline) {
			return machine.TookTooLong(wholeWithin, "node %s did not see its whole cluster within %v", n.Name, wholeWithin)
		}
	}
	for _, words := range [][]any{{"set", "cluster-node-timeout", n.member.timeout.Milliseconds()}, {"rewrite"}} {
		if err := n.Admin.Do(ctx, append([]any{"config"}, words...)...).Err(); err != nil {
			return fmt.Errorf("failed to set the timeout of node %s: %w", n.Name, err)
		}
	}
	return nil
}

// FailOver lets a replica of a cluster become the primary.
func (n *Node) FailOver(ctx context.Context, how world.Failover) error {
	var words []any
	for _, word := range how.Command() {
		words = append(words, word)
	}
	if err := n.Admin.Do(ctx, words...).Err(); err != nil {
		return fmt.Errorf("node %s did not do %q: %w", n.Name, words, err)
	}
	return nil
}

// operated is a node to whoever moves slots.
type operated struct {
	*Node
}

// Operated is the node to whoever moves slots.
func (n *Node) Operated() cluster.Server { return operated{n} }

// Name implements cluster.Server.
func (o operated) Name() string { return o.Node.Name }

// Answers implements cluster.Server.
func (o operated) Answers() bool {
	conn, err := o.Server.Door().dial(context.Background())
	if err != nil {
		return false
	}
	_, err = roundTrip(conn, answersWithin, "PING")
	return errors.Join(err, conn.Close()) == nil
}

// answersWithin is how long a node that stands still is given.
const answersWithin = time.Second

// Order implements cluster.Server.
func (o operated) Order(words ...string) (any, error) {
	failed := func(err error) (any, error) {
		return nil, fmt.Errorf("node %s did not do %q: %w", o.Node.Name, words, err)
	}
	conn, err := o.Server.Door().dial(context.Background())
	if err != nil {
		return failed(err)
	}
	defer func() { _ = conn.Close() }()
	if err := mustDo(conn, "CLIENT", "SETNAME", Operator); err != nil {
		return failed(err)
	}
	v, err := roundTrip(conn, cluster.OrderedWithin, words...)
	if err != nil {
		return failed(err)
	}
	answer := v.Plain()
	if why, is := answer.(error); is {
		return failed(why)
	}
	return answer, nil
}

// Sights tells what a node knows of its cluster, from the file in which it keeps that and from its log, as long as it is asked.
type Sights struct {
	n    *Node
	tell func(history.Event)

	mu   sync.Mutex // guards what follows
	file []byte
	sees cluster.Sight
	// written says how the file was when it was read.
	written fs.FileInfo
	// logged is how much of the log has been read.
	logged int64
}

// Sights begins to tell. What the node knows by now is known.
func (n *Node) Sights(tell func(history.Event)) (*Sights, error) {
	s := &Sights{n: n}
	if err := s.Look(); err != nil {
		return nil, err
	}
	s.tell = tell
	return s, nil
}

// Look takes in what the node knows that it did not know before.
func (s *Sights) Look() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.readFile(); err != nil {
		return err
	}
	return s.readLog()
}

func (s *Sights) record(e history.Event) {
	if s.tell != nil {
		s.tell(e)
	}
}

// readFile reads the file, where that is there and whole.
func (s *Sights) readFile() error {
	path := filepath.Join(s.n.dir, cluster.ConfigFile)
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil || s.isRead(info) {
		return err
	}
	file, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	s.written = info
	if err != nil || slices.Equal(file, s.file) || !strings.Contains(string(file), "\nvars ") {
		return err
	}
	sees, err := s.n.member.shape.Read(string(file))
	if err != nil {
		return fmt.Errorf("node %s: %w", s.n.Name, err)
	}
	before := s.sees
	s.file, s.sees = file, sees
	sees.Tell(s.n.Name, before, s.record)
	return nil
}

// isRead reports that the file is as it was when it was read. Two changes may have the same time, so one that has just been written is
// read again.
func (s *Sights) isRead(info fs.FileInfo) bool {
	const tick = 20 * time.Millisecond
	w, at := s.written, info.ModTime()
	return w != nil && os.SameFile(w, info) && w.Size() == info.Size() && w.ModTime().Equal(at) && time.Since(at) > tick
}

// readLog reads what has been added to the log.
func (s *Sights) readLog() error {
	info, err := os.Stat(s.n.log)
	if err != nil || info.Size() <= s.logged {
		return err
	}
	log, err := os.Open(s.n.log)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	added, err := io.ReadAll(io.NewSectionReader(log, s.logged, info.Size()-s.logged))
	if err != nil {
		return err
	}
	end := strings.LastIndexByte(string(added), '\n') + 1
	for line := range strings.Lines(string(added[:end])) {
		if word := cluster.Said(line); word != "" {
			s.record(s.sees.Event(word, ""))
		}
	}
	s.logged += int64(end)
	return nil
}
