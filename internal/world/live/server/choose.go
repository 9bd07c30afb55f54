package server

import (
	"context"
	"errors"
	"fmt"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/live/docker"
)

// Provider says where the nodes of a live world come from.
type Provider string

// The providers.
const (
	// Auto is Process where redis-server is installed, and Docker otherwise.
	Auto Provider = "auto"
	// Process: each node a process of ours.
	Process Provider = "process"
	// Docker: each node a container of an engine on this machine.
	Docker Provider = "docker"
	// External: servers that exist already.
	External Provider = "external"
)

// Providers lists all.
func Providers() []Provider { return []Provider{Auto, Process, Docker, External} }

// ErrNowhere says that this machine has nothing to run a server with.
var ErrNowhere = errors.New("there is neither redis-server nor a Docker engine to run the nodes")

// Settle turns Auto into what this machine has, and makes sure that any other choice can be had. redis names the program of nodes that are
// processes, see Options.
func Settle(ctx context.Context, p Provider, redis string) (Provider, error) {
	switch p {
	case Process:
		_, err := FindRedis(redis)
		return p, err
	case Docker:
		return p, engineAnswers(ctx)
	case External: // the resource still needs a place
		_, err := Settle(ctx, Auto, redis)
		return p, err
	case Auto, "":
		return settleAuto(ctx, redis)
	}
	return p, fmt.Errorf("nodes cannot come from %q", p)
}

// settleAuto prefers processes. Whoever names their program wants them.
func settleAuto(ctx context.Context, redis string) (Provider, error) {
	_, noRedis := FindRedis(redis)
	if noRedis == nil || redis != "" {
		return Process, noRedis
	}
	noEngine := engineAnswers(ctx)
	if noEngine == nil {
		return Docker, nil
	}
	return Auto, fmt.Errorf("%w (%w; %w)", ErrNowhere, noRedis, noEngine)
}

func engineAnswers(ctx context.Context) error {
	e, err := docker.Connect(ctx)
	if err == nil {
		e.Close()
	}
	return err
}

// Options say where servers run.
type Options struct {
	// Nodes says where the nodes come from; empty: Auto.
	Nodes Provider
	// Redis is the program of nodes that are processes, as FindRedis takes it; empty: the machine's.
	Redis string
	// Existing are the nodes with External.
	Existing *Existing
	// Image is what nodes in Docker run in; empty: docker.DefaultImage.
	Image string
	// Resting are where processes of ours come from, and go at the end of the run, if any run can use them after
	// it; nil: each run has its own.
	Resting *Resting
}

// chooseHosts decides where the servers run.
func (s *Servers) chooseHosts(ctx context.Context, o Options) (err error) {
	p, err := Settle(ctx, o.Nodes, o.Redis)
	if err != nil {
		return err
	}
	if s.Host, err = o.open(ctx, p, s.spec); err != nil {
		return err
	}
	s.storeHost = s.Host
	if p == External {
		if p, err = Settle(ctx, Auto, o.Redis); err != nil {
			return err
		}
		s.storeHost, err = o.open(ctx, p, s.spec)
	}
	return err
}

func (o *Options) open(ctx context.Context, p Provider, spec *world.Spec) (Host, error) {
	if p == Docker {
		return openDocker(ctx, o.Image)
	}
	if p == External {
		return openExisting(ctx, o.Existing, spec)
	}
	if p == Process {
		binary, err := FindRedis(o.Redis)
		h := processHost{binary: binary}
		if err == nil && spec.Cluster != nil {
			h.old, err = isOld(ctx, binary)
		}
		if o.Resting != nil {
			h.loans = &loans{from: o.Resting}
		}
		return h, err
	}
	return nil, fmt.Errorf("nodes cannot come from %q", p)
}

// isOld reports that a program is older than Redis 7.
func isOld(ctx context.Context, binary string) (bool, error) {
	version, err := VersionOf(ctx, binary)
	major := command.ParseServer(version, "").Major // 0: it is Valkey
	return 0 < major && major < 7, err
}
