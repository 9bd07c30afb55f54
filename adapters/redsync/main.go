// Command redsync is the lock program of github.com/go-redsync/redsync, which draws its delays from math/rand.
//
//go:debug randseednop=0
package main

import (
	"context"
	"errors"
	"flag"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis"
	pool "github.com/go-redsync/redsync/v4/redis/goredis/v9"

	"github.com/redlock-sim/redlock-sim/adapter"
	"github.com/redlock-sim/redlock-sim/adapters/goredis"
)

var tuned = flag.Bool("tuned", false, "tune go-redis: node timeout, contexts, no repetition")

func main() {
	flag.Parse()
	p := adapter.Program{Name: "redsync", Version: adapter.ModuleVersion("github.com/go-redsync/redsync/v4"),
		Homepage: "https://github.com/go-redsync/redsync", Class: "quorum", Keys: []string{"{key}"},
		About: goredis.About("redsync.Mutex", *tuned),
		Can:   []string{"validity", "extend", "owner", "sentinel", "cluster", "setup-again", "one-object", "cancel"}}
	if *tuned {
		p.Name = "redsync-tuned"
	}
	adapter.Serve(p, open)
}

func open(s adapter.Setup) (adapter.Acquire, error) {
	var doubts goredis.Doubts
	var pools []redis.Pool
	clients, err := goredis.Connections(s, *tuned, &doubts)
	if err != nil {
		return nil, err
	}
	for _, c := range clients {
		pools = append(pools, pool.NewPool(c))
	}
	rs := redsync.New(pools...)
	return func(ctx context.Context) (adapter.Grant, error) {
		refused := doubts.Watch()
		m := adapter.Object(s, func() *redsync.Mutex { return rs.NewMutex(s.Key, redsync.WithExpiry(s.TTL)) })
		if err := m.LockContext(ctx); err != nil {
			return adapter.Grant{}, refused(err)
		}
		release := func(ctx context.Context) error {
			refused := doubts.Watch()
			if ok, err := m.UnlockContext(ctx); !ok {
				return refused(err)
			}
			return nil
		}
		extend := func(ctx context.Context) (time.Time, error) {
			refused := doubts.Watch()
			ok, err := m.ExtendContext(ctx)
			if taken := (*redsync.ErrTaken)(nil); !ok && errors.As(err, &taken) {
				return time.Time{}, refused(err) // the key of a quorum is gone, or another's
			}
			return m.Until(), err
		}
		return adapter.Grant{Owner: m.Value(), Until: m.Until(), Release: release, Extend: extend}, nil
	}, nil
}
