package libraries

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis"
	pool "github.com/go-redsync/redsync/v4/redis/goredis/v9"
	goredis "github.com/redis/go-redis/v9"

	"github.com/redlock-sim/redlock-sim/locktest"
)

// lasts is how long each test searches.
const lasts = 3 * time.Second

func TestRedsync(t *testing.T) {
	locktest.Run(t, locktest.Config{Nodes: 3, For: lasts}, openRedsync(false))
}
func TestRedsyncTuned(t *testing.T) {
	locktest.Run(t, locktest.Config{Nodes: 3, For: lasts}, openRedsync(true))
}
func TestRedsyncOneNode(t *testing.T) {
	locktest.Run(t, locktest.Config{For: lasts}, openRedsync(true))
}

type redsyncLock struct {
	rs  *redsync.Redsync
	e   locktest.Env
	now *redsync.Mutex
}

// client is what users write; tuned, it waits for a node no longer than a lock should.
func client(e locktest.Env, n locktest.Node, tuned bool) *goredis.Client {
	o := &goredis.Options{Addr: n.Addr, Dialer: n.Dial}
	if tuned {
		o.ContextTimeoutEnabled, o.MaxRetries = true, -1
		o.DialTimeout, o.ReadTimeout, o.WriteTimeout = 50*time.Millisecond, 50*time.Millisecond, 50*time.Millisecond
	}
	c := goredis.NewClient(o)
	e.Cleanup(func() { _ = c.Close() })
	return c
}

func openRedsync(tuned bool) func(locktest.Env) (locktest.Lock, error) {
	return func(e locktest.Env) (locktest.Lock, error) {
		var pools []redis.Pool
		for _, n := range e.Nodes {
			pools = append(pools, pool.NewPool(client(e, n, tuned)))
		}
		return &redsyncLock{rs: redsync.New(pools...), e: e}, nil
	}
}

func (l *redsyncLock) Acquire(ctx context.Context) (locktest.Grant, error) {
	l.now = l.rs.NewMutex(l.e.Key, redsync.WithExpiry(l.e.TTL))
	if err := l.now.LockContext(ctx); err != nil {
		return locktest.Grant{}, err
	}
	return locktest.Grant{Owner: l.now.Value(), Until: l.now.Until()}, nil
}

func (l *redsyncLock) Release(ctx context.Context) error {
	if ok, err := l.now.UnlockContext(ctx); !ok {
		return errors.Join(err, errors.New("not released by a majority"))
	}
	return nil
}
