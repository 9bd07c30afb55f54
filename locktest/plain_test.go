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

func openPlain(e Env) (Lock, error) { return openWith(e, redis.Options{}) }

func openWith(e Env, o redis.Options) (Lock, error) {
	o.Addr, o.Dialer = e.Nodes[0].Addr, e.Nodes[0].Dial
	rdb := redis.NewClient(&o)
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

// manySections are more than a slow lock comes to the end of; longSections last for longer than the lease.
var (
	manySections = Config{Clients: 2, Sections: 30}
	longSections = Config{Sections: 2, Think: 3 * time.Second, Kinds: []Kind{Hold, Cut, Stall}}
)

// openSlow makes a lock whose releases take all the time they have in each so many-th run, so that it does not come to its end.
func openSlow(each uint64) func(Env) (Lock, error) {
	return func(e Env) (Lock, error) {
		l, err := openPlain(e)
		o := &other{plain: l.(*plain)}
		o.acquire, o.release = o.plain.Acquire, o.plain.Release
		if e.Seed%each == 0 {
			o.release = func(ctx context.Context) error {
				<-ctx.Done()
				return o.plain.Release(context.Background())
			}
		}
		return o, err
	}
}

var renewal = redis.NewScript(`if redis.call("get", KEYS[1]) == ARGV[1] then
	return redis.call("pexpire", KEYS[1], ARGV[2])
end
return 0`)

// renewing keeps its lock until it is released, or lost.
type renewing struct {
	*plain
	tells bool
	stop  context.CancelFunc
}

func openRenewing(tells bool) func(Env) (Lock, error) {
	return func(e Env) (Lock, error) {
		l, err := openWith(e, redis.Options{ContextTimeoutEnabled: true})
		r := &renewing{plain: l.(*plain), tells: tells, stop: func() {}}
		e.Cleanup(func() { r.stop() })
		return r, err
	}
}

func (r *renewing) Acquire(ctx context.Context) (Grant, error) {
	g, err := r.plain.Acquire(ctx)
	if err != nil {
		return g, err
	}
	held, stop := context.WithCancel(context.Background())
	r.stop = stop
	lost := make(chan struct{})
	go r.renew(held, g, lost)
	return Grant{Owner: g.Owner, Lost: lost}, nil
}

// renew renews a lock three times within its TTL; where that did not succeed for a TTL, it is lost.
func (r *renewing) renew(held context.Context, g Grant, lost chan<- struct{}) {
	for until := g.Until; ; {
		select {
		case <-held.Done():
			return
		case <-time.After(r.e.TTL / 3):
		}
		ctx, cancel := context.WithTimeout(held, r.e.TTL/3)
		began := time.Now()
		n, err := renewal.Run(ctx, r.rdb, []string{r.e.Key}, g.Owner, r.e.TTL.Milliseconds()).Int()
		cancel()
		switch {
		case err == nil && n == 1:
			until = began.Add(r.e.TTL)
		case err == nil || !time.Now().Before(until):
			if r.tells {
				close(lost)
			}
			return
		}
	}
}

func (r *renewing) Release(ctx context.Context) error {
	r.stop()
	return r.plain.Release(ctx)
}

var xadd = &redis.XAddArgs{Stream: "s", Values: []string{"a", "b"}}
