// Command redislock is the lock program of github.com/bsm/redislock. go-redis draws from math/rand how long it waits before it sends
// something again.
//
//go:debug randseednop=0
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"time"

	"github.com/bsm/redislock"

	"github.com/redlock-sim/redlock-sim/adapter"
	"github.com/redlock-sim/redlock-sim/adapters/goredis"
)

var tuned = flag.Bool("tuned", false, "tune go-redis: node timeout, contexts, no repetition")

func main() {
	flag.Parse()
	p := adapter.Program{Name: "redislock", Version: adapter.ModuleVersion("github.com/bsm/redislock"),
		Homepage: "https://github.com/bsm/redislock", Class: "single", Keys: []string{"{key}"}, About: goredis.About("redislock.Lock", *tuned),
		Can: []string{"extend", "owner", "sentinel", "cluster", "setup-again", "cancel"}}
	if *tuned {
		p.Name = "redislock-tuned"
	}
	adapter.Serve(p, open)
}

func open(s adapter.Setup) (adapter.Acquire, error) {
	var doubts goredis.Doubts
	clients, err := goredis.Connections(s, *tuned, &doubts)
	if err != nil {
		return nil, err
	}
	if len(clients) != 1 {
		return nil, fmt.Errorf("redislock has one node, not %d", len(clients))
	}
	client, retry := redislock.New(clients[0]), &redislock.Options{RetryStrategy: redislock.LinearBackoff(100 * time.Millisecond)}
	return func(ctx context.Context) (adapter.Grant, error) {
		refused := doubts.Watch()
		l, err := client.Obtain(ctx, s.Key, s.TTL, retry)
		if err != nil {
			return adapter.Grant{}, refused(err)
		}
		release := func(ctx context.Context) error {
			refused := doubts.Watch()
			err := l.Release(ctx)
			if errors.Is(err, redislock.ErrLockNotHeld) {
				return refused(err)
			}
			return err
		}
		extend := func(ctx context.Context) (time.Time, error) {
			err := l.Refresh(ctx, s.TTL, nil)
			if errors.Is(err, redislock.ErrNotObtained) { // also of a repeated command: only a release takes the key away
				err = fmt.Errorf("%w: %w", adapter.ErrRefused, err)
			}
			return time.Time{}, err
		}
		return adapter.Grant{Owner: l.Token(), Release: release, Extend: extend}, nil
	}, nil
}
