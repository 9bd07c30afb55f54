package locktest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// plain is a lock on one node, as people write it.
type plain struct {
	rdb   *redis.Client
	e     Env
	value string
	n     int
}

var release = redis.NewScript(`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) else return 0 end`)

func openPlain(e Env) (Lock, error) {
	rdb := redis.NewClient(&redis.Options{Addr: e.Nodes[0].Addr, Dialer: e.Nodes[0].Dial})
	e.Cleanup(func() { _ = rdb.Close() })
	return &plain{rdb: rdb, e: e}, nil
}

func (p *plain) Acquire(ctx context.Context) (Grant, error) {
	for {
		p.n++
		p.value = p.e.Client + "-" + strconv.Itoa(p.n)
		began := time.Now()
		ok, err := p.rdb.SetNX(ctx, p.e.Key, p.value, p.e.TTL).Result()
		if ok {
			return Grant{Owner: p.value, Until: began.Add(p.e.TTL)}, nil
		}
		if err != nil && !errors.Is(err, redis.Nil) {
			return Grant{}, err
		}
		select {
		case <-ctx.Done():
			return Grant{}, fmt.Errorf("%w: taken", ErrRefused)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (p *plain) Release(ctx context.Context) error {
	n, err := release.Run(ctx, p.rdb, []string{p.e.Key}, p.value).Int()
	if err == nil && n == 0 {
		return ErrRefused
	}
	return err
}

// careless deletes its key whoever has it.
type careless struct{ *plain }

func (c careless) Release(ctx context.Context) error { return c.rdb.Del(ctx, c.e.Key).Err() }

func openCareless(e Env) (Lock, error) {
	l, err := openPlain(e)
	return careless{l.(*plain)}, err
}

// other is such a lock with other methods.
type other struct {
	*plain
	acquire func(context.Context) (Grant, error)
	release func(context.Context) error
}

func (o *other) Acquire(ctx context.Context) (Grant, error) { return o.acquire(ctx) }
func (o *other) Release(ctx context.Context) error          { return o.release(ctx) }

func changed(change func(*other)) func(Env) (Lock, error) {
	return func(e Env) (Lock, error) {
		l, err := openPlain(e)
		o := &other{plain: l.(*plain)}
		o.acquire, o.release = o.plain.Acquire, o.plain.Release
		change(o)
		return o, err
	}
}

var xadd = &redis.XAddArgs{Stream: "s", Values: []string{"a", "b"}}
