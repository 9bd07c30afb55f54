package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/client"
)

// Existing are servers that somebody else started, and that go on after us.
type Existing struct {
	// Addresses of the nodes, in their order.
	Addresses []string
	// TLS says to encrypt; CA is a file with the certificates to trust, empty
	// for those of the machine.
	TLS bool
	CA  string
	// Username, and the environment variable that holds the password.
	Username, PasswordEnv string
	// Keys of ours are those that begin with Prefix and the run's name.
	Prefix, Run string
	// Hooks do to a node's host, by the node's name, what we cannot.
	Hooks map[string]Hooks
}

// keyPrefix is what all our keys begin with.
func (e *Existing) keyPrefix() string { return e.Prefix + e.Run + ":" }

// Invitation is how to reach the server behind address at link.
func (e *Existing) Invitation(name, address, link string) client.Address {
	a := client.Address{Name: name, Address: link, Username: e.Username, PasswordEnv: e.PasswordEnv}
	if host, _, err := net.SplitHostPort(address); err == nil && e.TLS {
		a.TLS = &client.TLS{ServerName: host, CA: e.CA}
	}
	return a
}

// Door is where a server is reached past all proxies.
func (e *Existing) Door(address string) (Door, error) {
	a := e.Invitation("", address, address)
	trust, err := a.TLS.Config()
	if err == nil && e.PasswordEnv != "" && os.Getenv(e.PasswordEnv) == "" {
		err = fmt.Errorf("the environment variable %s, which should hold the password, is not set", e.PasswordEnv)
	}
	return Door{Address: address, tls: trust, username: e.Username, password: a.Password()}, err
}

// existingHost is where somebody else's servers run: out of reach, but for what
// hooks do there.
type existingHost struct {
	*Existing
	ctx   context.Context
	names []string // of the nodes, in the order of the addresses

	mu      sync.Mutex
	servers []*existingServer
}

var _ Host = (*existingHost)(nil)

// openExisting gives the spec's keys our prefix.
func openExisting(ctx context.Context, e *Existing, spec *world.Spec) (Host, error) {
	if e == nil || len(e.Addresses) != len(spec.Nodes) {
		return nil, errors.New("the scenario names no address for each of its nodes")
	}
	h := &existingHost{Existing: e, ctx: ctx}
	for i := range spec.Nodes {
		h.names = append(h.names, spec.Nodes[i].Name)
		spec.Nodes[i].Persistence = world.NoPersistence // what they keep is not ours to say
	}
	spec.Lock = spec.Lock.WithPrefix(h.keyPrefix())
	if spec.SharedStore {
		spec.Resource.Key, spec.Resource.LockKey = h.keyPrefix()+spec.Resource.Key, spec.Lock.Key
	}
	return h, nil
}

func (h *existingHost) launch(ctx context.Context, n *Node) error {
	if old, ok := n.Server.(*existingServer); ok {
		if err := old.Restart(n.keep); err != nil {
			return err
		}
		return n.begin(ctx, old)
	}
	d, err := h.Door(h.hooksOf(n).address)
	if err != nil {
		return err
	}
	s := &existingServer{at: d, hooks: h.hooksOf(n)}
	if err := n.begin(ctx, s); err != nil {
		return err
	}
	if err := claim(ctx, n.Admin, h.keyPrefix()); err != nil {
		return fmt.Errorf("node %s at %s: %w", n.Name, d.Address, err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.servers = append(h.servers, s)
	return nil
}

// hooksOf are the hooks of a node, with its address.
func (h *existingHost) hooksOf(n *Node) nodeHooks {
	return nodeHooks{n.Name, h.Addresses[slices.Index(h.names, n.Name)], h.Hooks[n.Name]}
}

func (h *existingHost) Invitation(node Endpoint, link string) client.Address {
	return h.Existing.Invitation(node.Name, node.Address, link)
}

func (h *existingHost) clock(n *Node) (movableClock, error) {
	if hooks := h.hooksOf(n); len(hooks.hooks.Clock) > 0 {
		return &hookClock{hooks: hooks}, nil
	}
	return fixedClock{}, nil // demands upon it have been refused
}

// Ahead asks the server for its time, some times over, and believes the quickest
// answer.
func (h *existingHost) Ahead(ctx context.Context, n *Node) (ahead, about time.Duration, err error) {
	const asked = 5
	for i := range asked {
		before := machine.Wall()
		theirs, err := n.Admin.Time(ctx).Result()
		if err != nil {
			return 0, 0, fmt.Errorf("failed to ask node %s for its time: %w", n.Name, err)
		}
		after := machine.Wall()
		if half := (after - before) / 2; i == 0 || half < about {
			ahead, about = time.Duration(theirs.UnixNano())-before-half, half
		}
	}
	return ahead, about, nil
}

func (h *existingHost) Reachable(string) (string, error) {
	return "", errors.New("existing servers are not made replicas")
}

func (h *existingHost) Versions() map[string]string { return nil }

// Close leaves the servers as they were found: running, and without our keys.
func (h *existingHost) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	var group machine.Group
	for _, s := range h.servers {
		group.Go(func() error {
			if err := s.undoFaults(); err != nil {
				return err
			}
			admin := AdminClient(s.at)
			defer func() { _ = admin.Close() }()
			ctx, cancel := context.WithTimeout(context.Background(), tidyWithin)
			defer cancel()
			if err := removeKeys(ctx, admin, h.keyPrefix()); err != nil {
				return fmt.Errorf("keys that begin with %q may be left on node %s at %s: %w", h.keyPrefix(), s.hooks.node, s.at.Address, err)
			}
			return nil
		})
	}
	return group.Wait()
}

// tidyWithin bounds the removal of our keys from one server.
const tidyWithin = 30 * time.Second

// existingServer is a server of somebody else's.
type existingServer struct {
	at    Door
	hooks nodeHooks

	mu             sync.Mutex
	paused, killed bool
}

var _ server = (*existingServer)(nil)

func (s *existingServer) Door() Door             { return s.at }
func (s *existingServer) PID() int               { return 0 }
func (s *existingServer) folder() string         { return "" }
func (s *existingServer) checkInfo(string) error { return nil }
func (s *existingServer) leave()                 {}
func (s *existingServer) whyEnded() error {
	return fmt.Errorf("node %s at %s was killed", s.hooks.node, s.at.Address)
}

func (s *existingServer) Dead() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.killed
}

// runHook runs a hook and notes what it has done.
func (s *existingServer) runHook(hook string, flag *bool, to bool, more ...string) error {
	if err := s.hooks.run(hook, more...); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	*flag = to
	return nil
}

func (s *existingServer) Stop() error { return s.runHook("pause", &s.paused, true) }
func (s *existingServer) Kill() error { return s.runHook("kill", &s.killed, true) }
func (s *existingServer) Restart(keep world.Keep) error {
	return s.runHook("restart", &s.killed, false, "{keep}", keep.String())
}

func (s *existingServer) Resume() error {
	s.mu.Lock()
	paused := s.paused
	s.mu.Unlock()
	if !paused {
		return nil
	}
	return s.runHook("resume", &s.paused, false)
}

// undoFaults undoes what faults have left when a run ends early.
func (s *existingServer) undoFaults() error {
	if s.Dead() {
		if err := s.Restart(world.KeepData); err != nil {
			return err
		}
		for deadline := time.Now().Add(startWithin); s.at.answers() != nil && time.Now().Before(deadline); {
			time.Sleep(10 * time.Millisecond)
		}
	}
	return s.Resume()
}

// ErrKeysExist says that there are keys already that would be taken for ours.
var ErrKeysExist = errors.New("keys exist already")

// prepareExisting makes sure that all servers answer, that they can be observed,
// that they are in no Redis Cluster, that no key of ours is there, and that hooks can do what is demanded.
func prepareExisting(ctx context.Context, e *Existing, demands []world.Demand) error {
	if e == nil || len(e.Addresses) == 0 {
		return errors.New("the scenario names no existing servers: nodes: {addresses: [...]}")
	}
	if err := refuse(demands, func(d world.Demand) error {
		if d.Power == world.MessagePower && e.TLS {
			return errors.New("it waits for a message, and over TLS none can be read")
		}
		if d.Power == world.RefusePower && e.TLS {
			return errors.New("it answers commands, and over TLS none can be read")
		}
		return e.Hooks[d.Node].missingFor(d)
	}); err != nil {
		return err
	}
	var group machine.Group
	for _, address := range e.Addresses {
		group.Go(func() error {
			if err := e.examine(ctx, address); err != nil {
				return fmt.Errorf("the server at %s: %w", address, err)
			}
			return nil
		})
	}
	return group.Wait()
}

func (e *Existing) examine(ctx context.Context, address string) error {
	d, err := e.Door(address)
	if err != nil {
		return err
	}
	conn, err := d.Monitor()
	if err != nil {
		return err
	}
	_ = conn.Close()
	admin := AdminClient(d)
	defer func() { _ = admin.Close() }()
	info, err := admin.Info(ctx).Result()
	if err != nil {
		return fmt.Errorf("it does not answer INFO: %w", err)
	}
	if err := notInCluster(info); err != nil {
		return err
	}
	return mustBeFree(ctx, admin, e.keyPrefix())
}

// mustBeFree makes sure that no key begins with own.
func mustBeFree(ctx context.Context, admin *redis.Client, own string) error {
	found, err := keysOf(ctx, admin, own, 3)
	if err != nil {
		return err
	}
	if len(found) > 0 {
		return fmt.Errorf("%w that begin with %q, such as %q: another run may be using them, or a killed run has left them",
			ErrKeysExist, own, found)
	}
	return nil
}
