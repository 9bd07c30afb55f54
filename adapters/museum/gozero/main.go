// Command gozero is the lock program of go-zero's RedisLock before version 1.3, which knew no contexts.
package main

import (
	"context"
	"errors"
	"time"

	"github.com/tal-tech/go-zero/core/stores/redis"

	"github.com/redlock-sim/redlock-sim/adapter"
)

const between = 100 * time.Millisecond // two attempts

func main() {
	adapter.Serve(adapter.Program{Name: "go-zero", Version: adapter.ModuleVersion("github.com/tal-tech/go-zero"),
		Homepage: "https://github.com/zeromicro/go-zero", About: "redis.RedisLock; the timeouts and retries of go-zero",
		Class: "single", Keys: []string{"{key}"}, TTLMin: 1000, TTLStep: 1000, TTLExtra: 500, Can: []string{"one-object"}}, open)
}

// open makes no refusal of a no: nobody can see here whether go-redis has sent a command twice.
func open(s adapter.Setup) (adapter.Acquire, error) {
	if len(s.Nodes) != 1 || s.Topology == "cluster" {
		return nil, errors.New("RedisLock has one node")
	}
	n := s.Nodes[0]
	store := redis.New(n.Addr(), redis.WithPass(n.Password))
	return func(ctx context.Context) (adapter.Grant, error) {
		l := adapter.Object(s, func() *redis.RedisLock { return redis.NewRedisLock(store, s.Key) })
		l.SetExpire(int(s.TTL / time.Second))
		for {
			ok, err := l.Acquire()
			if err != nil {
				return adapter.Grant{}, err
			}
			if ok {
				return adapter.Grant{Release: func(context.Context) error { return release(l) }}, nil
			}
			select {
			case <-ctx.Done():
				return adapter.Grant{}, errors.New("taken")
			case <-time.After(between):
			}
		}
	}, nil
}

func release(l *redis.RedisLock) error {
	ok, err := l.Release()
	if err == nil && !ok {
		err = errors.New("not ours any more, or its release was sent twice")
	}
	return err
}
