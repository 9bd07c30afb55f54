package docker

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"sync"
	"time"

	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
	tclog "github.com/testcontainers/testcontainers-go/log"
)

// ErrNoEngine says that no Docker engine answers.
var ErrNoEngine = errors.New("no Docker engine answers")

// Engine is a Docker engine on this machine.
type Engine struct {
	provider *testcontainers.DockerProvider
	client   client.APIClient
	// Version is the engine's.
	Version string
}

// quieten is done before testcontainers reads its settings, which it does once.
var quieten = sync.OnceValue(func() error {
	tclog.SetDefault(tclog.NewNoopLogger())
	return os.Setenv("TESTCONTAINERS_RYUK_DISABLED", "true")
})

// connectWithin bounds how long the engine may take to answer.
const connectWithin = 10 * time.Second

// Connect finds the engine: the one of $DOCKER_HOST, or the one behind the
// usual socket. The error is ErrNoEngine where there is none.
func Connect(ctx context.Context) (*Engine, error) {
	ctx, cancel := context.WithTimeout(ctx, connectWithin)
	defer cancel()
	if err := quieten(); err != nil {
		return nil, err
	}
	if err := obeyEnvironment(ctx); err != nil {
		return nil, err
	}
	// Without the name of the bridge it would make a network of its own.
	provider, err := testcontainers.NewDockerProvider(testcontainers.WithDefaultBridgeNetwork(testcontainers.Bridge))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoEngine, err)
	}
	e := &Engine{provider: provider, client: provider.Client()}
	version, err := e.client.ServerVersion(ctx, client.ServerVersionOptions{})
	if err != nil {
		e.Close()
		return nil, fmt.Errorf("%w: %w", ErrNoEngine, err)
	}
	e.Version = version.Version
	if err := e.here(); err != nil {
		e.Close()
		return nil, err
	}
	return e, nil
}

// obeyEnvironment makes sure that the engine of $DOCKER_HOST answers.
// testcontainers would try other sockets where it does not.
func obeyEnvironment(ctx context.Context) error {
	host := os.Getenv(client.EnvOverrideHost)
	if host == "" {
		return nil
	}
	c, err := client.New(client.FromEnv)
	if err != nil {
		return fmt.Errorf("%w at DOCKER_HOST=%s: %w", ErrNoEngine, host, err)
	}
	defer func() { _ = c.Close() }()
	if _, err := c.Ping(ctx, client.PingOptions{}); err != nil {
		return fmt.Errorf("%w at DOCKER_HOST=%s: %w", ErrNoEngine, host, err)
	}
	return nil
}

// here makes sure that the engine is on this machine: ports are published on
// its loopback, and volumes are folders of it.
func (e *Engine) here() error {
	u, err := url.Parse(e.client.DaemonHost())
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNoEngine, err)
	}
	if host := u.Hostname(); u.Scheme != "unix" && host != "localhost" && host != "127.0.0.1" && host != "::1" {
		return fmt.Errorf("%w on this machine: the one at %s is on another machine", ErrNoEngine, host)
	}
	return nil
}

// Close ends the connections to the engine.
func (e *Engine) Close() { _ = e.client.Close() }
