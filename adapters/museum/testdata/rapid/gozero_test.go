package rapid

import (
	"testing"
	"time"

	"github.com/tal-tech/go-zero/core/logx"
	"github.com/tal-tech/go-zero/core/stores/redis"
)

type gozeroClient struct{ *redis.RedisLock }

func (c gozeroClient) acquire() bool {
	ok, err := c.Acquire()
	return ok && err == nil
}

func (c gozeroClient) release() bool {
	ok, err := c.Release()
	return ok && err == nil
}

// TestGoZero: the lock looks at no clock, so the time of miniredis is enough.
func TestGoZero(t *testing.T) {
	logx.Disable()
	nodes := start(t, 1)
	store := redis.New(nodes[0].Addr())
	check(t, nodes, func(time.Duration) {}, func() (list []client) {
		for range 3 {
			l := redis.NewRedisLock(store, key)
			l.SetExpire(int(ttl / time.Second))
			list = append(list, gozeroClient{l})
		}
		return list
	})
}
