// Command gocron is the lock program of github.com/go-co-op/gocron-redis-lock, over redsync, which draws its delays from math/rand.
//
//go:debug randseednop=0
package main

import (
	"context"
	"fmt"
	"sync"

	redislock "github.com/go-co-op/gocron-redis-lock/v2"
	"github.com/go-co-op/gocron/v2"

	"github.com/redlock-sim/redlock-sim/adapter"
	"github.com/redlock-sim/redlock-sim/adapters/goredis"
)

func main() {
	lock := "Locker of gocron, WithAutoExtendDuration, redsync " + adapter.ModuleVersion("github.com/go-redsync/redsync/v4")
	adapter.Serve(adapter.Program{Name: "gocron-redis-lock", Version: adapter.ModuleVersion("github.com/go-co-op/gocron-redis-lock/v2"),
		Homepage: "https://github.com/go-co-op/gocron-redis-lock", Class: "single", Keys: []string{"{key}"},
		About: goredis.About(lock, false), Can: []string{"renew", "sentinel", "cluster", "setup-again"}}, open)
}

func open(s adapter.Setup) (adapter.Acquire, error) {
	var doubts goredis.Doubts
	clients, err := goredis.Connections(s, false, &doubts)
	if err != nil {
		return nil, err
	}
	if len(clients) != 1 {
		return nil, fmt.Errorf("gocron-redis-lock has one node, not %d", len(clients))
	}
	var mu sync.Mutex
	var made gocron.Locker
	locker := func() (gocron.Locker, error) { // it is only made if the node answers
		mu.Lock()
		defer mu.Unlock()
		if made == nil { // it extends every quarter of the TTL, as in its own test
			made, err = redislock.NewRedisLockerWithOptions(clients[0], redislock.WithRedsyncOptions(redislock.WithExpiry(s.TTL)),
				redislock.WithAutoExtendDuration(s.TTL/4))
		}
		return made, err
	}
	_, _ = locker()
	return func(ctx context.Context) (adapter.Grant, error) {
		l, err := locker()
		if err != nil {
			return adapter.Grant{}, fmt.Errorf("%w: %w", adapter.ErrRefused, err) // it has sent a PING, and nothing else
		}
		refused := doubts.Watch()
		lock, err := l.Lock(ctx, s.Key)
		if err != nil {
			return adapter.Grant{}, refused(err)
		}
		return adapter.Grant{Release: func(ctx context.Context) error {
			refused := doubts.Watch()
			if err := lock.Unlock(ctx); err != nil {
				return refused(err)
			}
			return nil
		}}, nil
	}, nil
}
