package libraries

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/bsm/redislock"

	"github.com/redlock-sim/redlock-sim/locktest"
)

func TestRedislock(t *testing.T) { locktest.Run(t, locktest.Config{For: lasts}, openRedislock(false)) }
func TestRedislockTuned(t *testing.T) {
	locktest.Run(t, locktest.Config{For: lasts}, openRedislock(true))
}

type redislockLock struct {
	c   *redislock.Client
	e   locktest.Env
	now *redislock.Lock
}

func openRedislock(tuned bool) func(locktest.Env) (locktest.Lock, error) {
	return func(e locktest.Env) (locktest.Lock, error) {
		return &redislockLock{c: redislock.New(client(e, e.Nodes[0], tuned)), e: e}, nil
	}
}

// Acquire counts the validity from before the attempt that got the lock: redislock tells none.
func (l *redislockLock) Acquire(ctx context.Context) (locktest.Grant, error) {
	for {
		began := time.Now()
		got, err := l.c.Obtain(ctx, l.e.Key, l.e.TTL, nil)
		if err == nil {
			l.now = got
			return locktest.Grant{Owner: got.Token(), Until: began.Add(l.e.TTL)}, nil
		}
		if !errors.Is(err, redislock.ErrNotObtained) {
			return locktest.Grant{}, err
		}
		select {
		case <-ctx.Done():
			return locktest.Grant{}, err
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (l *redislockLock) Release(ctx context.Context) error {
	err := l.now.Release(ctx)
	if errors.Is(err, redislock.ErrLockNotHeld) {
		return errors.Join(err, locktest.ErrRefused)
	}
	return err
}
