// Command dapr is the lock program of the lock component for Redis of Dapr's components-contrib. It asks with that alone, without a
// sidecar. go-redis draws from math/rand how long it waits before it sends something again.
//
//go:debug randseednop=0
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/dapr/components-contrib/lock"
	"github.com/dapr/components-contrib/lock/redis"
	"github.com/dapr/components-contrib/metadata"
	"github.com/dapr/kit/logger"
	"github.com/google/uuid"

	"github.com/redlock-sim/redlock-sim/adapter"
)

const between = 50 * time.Millisecond // two attempts

var tuned = flag.Bool("tuned", false, "the node timeout, and nothing sent twice")

func main() {
	flag.Parse()
	p := adapter.Program{Name: "dapr", Version: adapter.ModuleVersion("github.com/dapr/components-contrib"),
		Homepage: "https://github.com/dapr/components-contrib", About: "lock.redis; client go-redis, the timeouts and retries of the component",
		Class: "single", Keys: []string{"{key}"}, Can: []string{"owner", "sentinel", "setup-again", "cancel"}, TTLMin: 1000, TTLStep: 1000}
	if *tuned {
		p.Name, p.About = "dapr-tuned", "lock.redis; client go-redis, the timeout of setup, redisMaxRetries -1"
	}
	adapter.Serve(p, open)
}

func open(s adapter.Setup) (adapter.Acquire, error) {
	if len(s.Sentinels) == 0 && (len(s.Nodes) != 1 || s.Nodes[0].TLS != nil) {
		return nil, fmt.Errorf("it has one node without TLS, not %d", len(s.Nodes))
	}
	c := &component{setup: s}
	s.OnClose(c.close)
	if _, err := c.store(); err != nil && s.Topology == "replicated" {
		return nil, fmt.Errorf("%w: %w", adapter.ErrUnsupported, err)
	}
	return c.acquire, nil
}

type component struct {
	setup adapter.Setup
	mu    sync.Mutex
	made  lock.Store
}

// store is the component, once the node has answered it.
func (c *component) store() (lock.Store, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.made != nil {
		return c.made, nil
	}
	made := redis.NewStandaloneRedisLock(logger.NewLogger("dapr"))
	var told map[string]string
	if sentinels := c.setup.Sentinels; len(sentinels) > 0 {
		var at []string
		for _, n := range sentinels {
			at = append(at, n.Addr())
		}
		told = map[string]string{"redisHost": strings.Join(at, ","), "failover": "true", "sentinelMasterName": c.setup.Master}
	} else {
		n := c.setup.Nodes[0]
		told = map[string]string{"redisHost": n.Addr(), "redisUsername": n.Username, "redisPassword": n.Password}
	}
	if *tuned {
		told["redisMaxRetries"] = "-1"
		for _, name := range []string{"dialTimeout", "readTimeout", "writeTimeout"} {
			told[name] = c.setup.NodeTimeout.String()
		}
	}
	if err := made.InitLockStore(context.Background(), lock.Metadata{Base: metadata.Base{Properties: told}}); err != nil {
		return nil, errors.Join(err, made.Close())
	}
	c.made = made
	return made, nil
}

func (c *component) close() {
	if c.made != nil {
		_ = c.made.Close()
	}
}

// acquire asks again and again: the component tries once. It hides what go-redis has sent twice, so only the tuned program is sure of a no.
func (c *component) acquire(ctx context.Context) (adapter.Grant, error) {
	store, err := c.store()
	if err != nil {
		return adapter.Grant{}, fmt.Errorf("%w: %w", adapter.ErrRefused, err) // it has asked for the lock nowhere
	}
	owner := uuid.NewString()
	ask := &lock.TryLockRequest{ResourceID: c.setup.Key, LockOwner: owner, ExpiryInSeconds: int32(c.setup.TTL / time.Second)}
	for {
		answer, err := store.TryLock(ctx, ask)
		if err != nil {
			return adapter.Grant{}, err
		}
		if answer.Success {
			return adapter.Grant{Owner: owner, Release: func(ctx context.Context) error { return c.release(ctx, store, owner) }}, nil
		}
		select {
		case <-ctx.Done():
			return adapter.Grant{}, refused("taken")
		case <-time.After(between):
		}
	}
}

func (c *component) release(ctx context.Context, store lock.Store, owner string) error {
	answer, err := store.Unlock(ctx, &lock.UnlockRequest{ResourceID: c.setup.Key, LockOwner: owner})
	switch {
	case err != nil || answer.Status == lock.Success:
		return err
	case answer.Status == lock.LockDoesNotExist, answer.Status == lock.LockBelongsToOthers:
		return refused(fmt.Sprintf("status %d", answer.Status))
	}
	return fmt.Errorf("status %d", answer.Status)
}

func refused(why string) error {
	if *tuned {
		return fmt.Errorf("%w: %s", adapter.ErrRefused, why)
	}
	return errors.New(why)
}
