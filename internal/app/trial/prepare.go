package trial

import (
	"context"
	"errors"

	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/live"
	"github.com/redlock-sim/redlock-sim/internal/world/live/docker"
	"github.com/redlock-sim/redlock-sim/internal/world/live/postgres"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server"
)

// prepareLive settles where the nodes come from, and makes sure that all variants
// can be acted out there.
func (t *trial) prepareLive(ctx context.Context) (err error) {
	if t.Nodes, err = server.Settle(ctx, t.Nodes, t.Redis); err != nil {
		return &EnvironmentError{Err: err, Hint: hintFor(t.Nodes, err)}
	}
	if t.Nodes != server.Process {
		t.refuseClusters(world.NoClusterThere)
	}
	for i := range t.subjects {
		setup := &t.subjects[i].Setup
		if t.subjects[i].notApplicable != "" {
			continue
		}
		options := t.live(runName(t.Name, t.subjects[i].Name), setup).Options
		if err := server.Prepare(ctx, options, setup.Demands()); err != nil {
			return &EnvironmentError{Err: err, Hint: hintFor(t.Nodes, err)}
		}
	}
	return nil
}

func runName(scenario, variant string) string { return scenario + ":" + variant }

// HintCluster says what to do about servers with Redis Cluster enabled.
const HintCluster = "use servers without it (cluster-enabled no), such as those that --nodes process starts; " +
	"or let sim make a cluster: nodes: {topology: cluster}"

// hintFor says what to do about a live world that cannot be had.
func hintFor(nodes server.Provider, err error) string {
	switch {
	case errors.Is(err, server.ErrNowhere):
		return "apt-get install redis-server libfaketime (or: make setup), or start Docker; or run with --world virtual, which needs no servers"
	case errors.Is(err, postgres.ErrNoPostgres):
		return "apt-get install postgresql; or run with --world virtual, which needs no servers"
	case errors.Is(err, server.ErrNoRedis):
		return "apt-get install redis-server (or: make setup), or run with --nodes docker; or run with --world virtual, which needs no servers"
	case errors.Is(err, server.ErrNoProgram):
		return "name a redis-server or a valkey-server with --redis PATH"
	case errors.Is(err, docker.ErrNoEngine):
		return "start Docker, set DOCKER_HOST to its address, or run with --nodes process; or run with --world virtual, which needs no servers"
	case errors.Is(err, docker.ErrNoImage):
		return "make docker-image (it builds the default image from this machine's packages, " +
			"without a registry), or name another image with nodes: {image: ...}"
	case errors.Is(err, machine.ErrNoFaketime) && nodes == server.Docker:
		return "leave nodes: {image: ...} out to use the default image, which has libfaketime; " +
			"docs/reference/nodes.md says how to add it to another image"
	case errors.Is(err, server.ErrKeysExist):
		return "wait for the other run, or remove the keys (redis-cli -h HOST -p PORT --scan --pattern 'redlock-sim:*' lists them), " +
			"or use another prefix: nodes: {prefix: ...}"
	case errors.Is(err, server.ErrCluster):
		return HintCluster
	case nodes == server.External:
		return "run with --nodes process or --nodes docker, which can do this; or run with --world virtual, which needs no servers"
	}
	return "sim doctor (it lists what is missing and how to install it); or run with --world virtual, which needs no servers"
}

// live says how a variant's live world is to be built. run tells it apart
// from others.
func (o *Options) live(run string, s *scenario.Setup) live.Options {
	l := live.Options{ClientCommand: o.ClientCommand, Options: server.Options{Nodes: o.Nodes, Redis: o.Redis, Image: s.Nodes.Image}}
	if n := &s.Nodes; o.Nodes == server.External {
		l.Existing = &server.Existing{
			Addresses: n.Addresses, TLS: n.TLS, CA: n.CA, Username: n.Username,
			Prefix: n.Prefix, Run: run, Hooks: make(map[string]server.Hooks),
		}
		if n.Password {
			l.Existing.PasswordEnv = o.PasswordEnv
		}
		for node, h := range n.Hooks {
			l.Existing.Hooks[node] = server.Hooks(h)
		}
	}
	return l
}
