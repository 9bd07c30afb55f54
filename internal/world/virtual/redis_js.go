package virtual

import (
	"math"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/redis/command/model"
)

// In a browser there are no guests: goroutines of other people's libraries need the bubble of a Go test. So what serves
// them, which is mostly Redis's Lua, is left out of what a browser has to load.
type (
	redisNode struct{ model.Listener }
	redisConn struct{}
)

const redisForever = time.Duration(math.MaxInt64)

func newRedis(*model.Memory, func(string)) *redisNode { panic("virtual: no guests in a browser") }

func (*redisNode) Restart()                                          {}
func (*redisNode) Open(func([]byte)) *redisConn                      { return nil }
func (*redisConn) Close()                                            {}
func (*redisConn) Closed() bool                                      { return true }
func (*redisConn) Do(dst []byte, _ []string) ([]byte, time.Duration) { return dst, 0 }
