package rapid

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis"
	pool "github.com/go-redsync/redsync/v4/redis/goredis/v9"
	goredis "github.com/redis/go-redis/v9"
)

type redsyncClient struct{ *redsync.Mutex }

func (c redsyncClient) acquire() bool { return c.TryLock() == nil }

func (c redsyncClient) release() bool {
	ok, _ := c.Unlock()
	return ok
}

func (c redsyncClient) extend() bool {
	ok, _ := c.Extend()
	return ok
}

func TestRedsync(t *testing.T) {
	nodes := start(t, 3)
	synctest.Test(t, func(t *testing.T) {
		var pools []redis.Pool
		for _, n := range nodes {
			c := goredis.NewClient(&goredis.Options{Addr: n.Addr(), MaxRetries: -1, DisableIdentity: true})
			defer func() { _ = c.Close() }()
			pools = append(pools, pool.NewPool(c))
		}
		rs := redsync.New(pools...)
		check(t, nodes, time.Sleep, func() (list []client) {
			for range 3 {
				list = append(list, redsyncClient{rs.NewMutex(key, redsync.WithExpiry(ttl), redsync.WithTries(1))})
			}
			return list
		})
	})
}
