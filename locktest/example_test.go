package locktest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-sim/redlock-sim/locktest"
)

// lock is SET NX PX with a value of its own, released by a script that compares it.
type lock struct {
	client *redis.Client
	env    locktest.Env
	value  string
	number int
}

var release = redis.NewScript(`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0`)

func (l *lock) Acquire(ctx context.Context) (locktest.Grant, error) {
	for {
		l.number++
		l.value = fmt.Sprintf("%s-%d", l.env.Client, l.number)
		until := time.Now().Add(l.env.TTL) // from before the command leaves
		err := l.client.Do(ctx, "set", l.env.Key, l.value, "nx", "px", l.env.TTL.Milliseconds()).Err()
		switch {
		case err == nil:
			return locktest.Grant{Owner: l.value, Until: until}, nil
		case !errors.Is(err, redis.Nil):
			return locktest.Grant{}, err // it may be held
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return locktest.Grant{}, fmt.Errorf("%w: somebody else has it", locktest.ErrRefused)
		}
	}
}

func (l *lock) Release(ctx context.Context) error {
	n, err := release.Run(ctx, l.client, []string{l.env.Key}, l.value).Int()
	if err == nil && n == 0 {
		return locktest.ErrRefused
	}
	return err
}

func open(e locktest.Env) (locktest.Lock, error) {
	client := redis.NewClient(&redis.Options{Addr: e.Nodes[0].Addr, Dialer: e.Nodes[0].Dial})
	e.Cleanup(func() { _ = client.Close() })
	return &lock{client: client, env: e}, nil
}

// A lock on one node, searched for two holders at once with the default faults.
func ExampleRun() {
	_ = func(t *testing.T) { // TestMyLock
		locktest.Run(t, locktest.Config{}, open)
	}
}

// Nodes that lose their data are by design too much for such a lock. A test can say so, and
// look for what else they break.
func ExampleRun_kinds() {
	_ = func(t *testing.T) {
		locktest.Run(t, locktest.Config{
			Kinds:      append(locktest.DefaultKinds(), locktest.Wipe),
			Properties: []locktest.Property{locktest.OwnerRelease, locktest.DeadlockFree},
			For:        10 * time.Second,
		}, open)
	}
}

// go test -fuzz: the bytes are the schedule.
func ExampleFuzz() {
	_ = func(f *testing.F) {
		locktest.Fuzz(f, locktest.Config{}, open)
	}
}
