//go:build !js

package virtual

import (
	"github.com/redlock-sim/redlock-sim/internal/redis/command/model"
	redis "github.com/redlock-sim/redlock-sim/internal/redis/node"
)

// What guests are served by: a node that understands all of Redis, its Lua as well.
type (
	redisNode = redis.Node
	redisConn = redis.Conn
)

// redisForever is the delay of an answer that never comes.
const redisForever = redis.Forever

func newRedis(m *model.Memory, unknown func(what string)) *redisNode {
	return redis.New(m, redis.Config{Scripts: warmed, Unknown: unknown})
}
