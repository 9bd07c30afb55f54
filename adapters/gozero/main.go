// Command gozero is the lock program of go-zero's RedisLock.
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"time"

	red "github.com/redis/go-redis/v9"
	"github.com/zeromicro/go-zero/core/conf"
	"github.com/zeromicro/go-zero/core/stores/redis"

	"github.com/redlock-sim/redlock-sim/adapter"
)

const between = 100 * time.Millisecond // two attempts

// nobody is the address that go-zero knows. go-redis dials idle connections as soon as there is
// a client, and go-zero adds its hooks afterwards. What is dialed before fails, go-redis dials
// again 100 ms later, and doubts watches every connection there is.
const nobody = "127.0.0.1:0"

func main() {
	about := "redis.RedisLock; client go-redis " + adapter.ModuleVersion("github.com/redis/go-redis/v9") +
		", the timeouts and retries of go-zero"
	adapter.Serve(adapter.Program{Name: "go-zero", Version: adapter.ModuleVersion("github.com/zeromicro/go-zero"),
		Homepage: "https://github.com/zeromicro/go-zero", About: about,
		Class: "single", Keys: []string{"{key}"}, TTLMin: 1000, TTLStep: 1000, TTLExtra: 500,
		Can: []string{"one-object", "cluster", "cancel"}}, open)
}

func open(s adapter.Setup) (adapter.Acquire, error) {
	store, lost, err := connect(s)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (adapter.Grant, error) {
		sure := lost.watch()
		l := adapter.Object(s, func() *redis.RedisLock { return redis.NewRedisLock(store, s.Key) })
		l.SetExpire(int(s.TTL / time.Second))
		for {
			ok, err := l.AcquireCtx(ctx)
			if err != nil {
				return adapter.Grant{}, sure(err)
			}
			if ok {
				return adapter.Grant{Release: release(l, lost)}, nil
			}
			select {
			case <-ctx.Done():
				return adapter.Grant{}, sure(errors.New("taken"))
			case <-time.After(between):
			}
		}
	}, nil
}

// connect makes go-zero's client of the node or the cluster, and what doubts its connections. Those of a cluster nobody can watch.
func connect(s adapter.Setup) (*redis.Redis, *doubts, error) {
	n := s.Nodes[0]
	if n.TLS != nil {
		return nil, nil, errors.New("go-zero does not check who a server is")
	}
	var c redis.RedisConf
	if err := conf.FillDefault(&c); err != nil {
		return nil, nil, err
	}
	c.User, c.Pass = n.Username, n.Password
	if s.Topology == "cluster" {
		addresses := make([]string, len(s.Nodes))
		for i, n := range s.Nodes {
			addresses[i] = n.Addr()
		}
		c.Type, c.Host = redis.ClusterType, strings.Join(addresses, ",")
		store, err := redis.NewRedis(c)
		return store, &doubts{always: true}, err
	}
	if len(s.Nodes) != 1 {
		return nil, nil, fmt.Errorf("RedisLock has one node, not %d", len(s.Nodes))
	}
	c.Host = nobody
	d := &doubts{node: n.Addr()}
	store, err := redis.NewRedis(c, redis.WithHook(d))
	return store, d, err
}

func release(l *redis.RedisLock, lost *doubts) func(context.Context) error {
	return func(ctx context.Context) error {
		sure := lost.watch()
		ok, err := l.ReleaseCtx(ctx)
		if err == nil && !ok {
			err = sure(errors.New("not ours any more"))
		}
		return err
	}
}

// doubts counts what broke on connections. go-redis hides what it repeats, and go-zero hides
// go-redis. What was sent before a connection broke may take effect.
type doubts struct {
	node   string // its address
	n      atomic.Int64
	always bool // nobody counts
}

var _ red.Hook = (*doubts)(nil)

// DialHook dials the node instead of nobody, and watches the connection.
func (d *doubts) DialHook(next red.DialHook) red.DialHook {
	return func(ctx context.Context, network, _ string) (net.Conn, error) {
		c, err := next(ctx, network, d.node)
		if tcp, ok := c.(*net.TCPConn); ok {
			return &watched{tcp, d}, nil
		}
		return c, err
	}
}

// ProcessHook is part of red.Hook. It changes nothing.
func (d *doubts) ProcessHook(next red.ProcessHook) red.ProcessHook { return next }

// ProcessPipelineHook is part of red.Hook. It changes nothing.
func (d *doubts) ProcessPipelineHook(next red.ProcessPipelineHook) red.ProcessPipelineHook {
	return next
}

// watch begins to watch an operation. The function that it returns makes a refusal of an
// error, if no connection has broken since then.
func (d *doubts) watch() (sure func(error) error) {
	before := d.n.Load()
	return func(err error) error {
		if errors.Is(err, context.Canceled) {
			return err
		}
		if d.always || d.n.Load() != before {
			return fmt.Errorf("%w; some reply did not arrive", err)
		}
		return fmt.Errorf("%w: %w", adapter.ErrRefused, err)
	}
}

// watched is a connection that remains what it was to go-redis, which looks at its socket.
type watched struct {
	*net.TCPConn
	doubts *doubts
}

func (w *watched) Read(b []byte) (int, error) {
	n, err := w.TCPConn.Read(b)
	w.broke(err)
	return n, err
}

func (w *watched) Write(b []byte) (int, error) {
	n, err := w.TCPConn.Write(b)
	w.broke(err)
	return n, err
}

func (w *watched) broke(err error) {
	if err != nil {
		w.doubts.n.Add(1)
	}
}
