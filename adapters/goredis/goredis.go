// Package goredis connects locks that use go-redis, and knows when their word is certain.
package goredis

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-sim/redlock-sim/adapter"
)

// Connections are a lock's clients of its nodes, its client of the primary that sentinels name, or its client of a Redis Cluster. tuned
// says that they shall obey the node timeout and the contexts, and send nothing twice; else they have the settings of go-redis. They are
// closed before the lock is opened again.
func Connections(s adapter.Setup, tuned bool, d *Doubts) ([]redis.UniversalClient, error) {
	list, err := connections(s, tuned, d)
	for _, c := range list {
		s.OnClose(func() { _ = c.Close() })
	}
	return list, err
}

// About says what is behind a lock with such clients.
func About(lock string, tuned bool) string {
	settings := "its own timeouts and retries"
	if tuned {
		settings = "the timeout of setup, no retries"
	}
	return lock + "; client go-redis " + adapter.ModuleVersion("github.com/redis/go-redis/v9") + ", " + settings
}

func connections(s adapter.Setup, tuned bool, d *Doubts) ([]redis.UniversalClient, error) {
	switch {
	case len(s.Sentinels) > 0:
		return []redis.UniversalClient{primary(s, tuned, d)}, nil
	case s.Topology == "cluster":
		return []redis.UniversalClient{cluster(s, tuned, d)}, nil
	}
	var list []redis.UniversalClient
	for _, n := range s.Nodes {
		tls, err := n.TLSConfig()
		if err != nil {
			return nil, err
		}
		o := &redis.Options{Addr: n.Addr(), Username: n.Username, Password: n.Password, TLSConfig: tls, Limiter: d}
		if tuned {
			o.ContextTimeoutEnabled, o.MaxRetries = true, -1
			o.DialTimeout, o.ReadTimeout, o.WriteTimeout = s.NodeTimeout, s.NodeTimeout, s.NodeTimeout
		}
		list = append(list, redis.NewClient(o))
	}
	return list, nil
}

// primary is a client of the primary that sentinels name.
func primary(s adapter.Setup, tuned bool, d *Doubts) *redis.Client {
	o := &redis.FailoverOptions{MasterName: s.Master}
	for _, n := range s.Sentinels {
		o.SentinelAddrs = append(o.SentinelAddrs, n.Addr())
	}
	if tuned {
		o.ContextTimeoutEnabled, o.MaxRetries = true, -1
		o.DialTimeout, o.ReadTimeout, o.WriteTimeout = s.NodeTimeout, s.NodeTimeout, s.NodeTimeout
	}
	c := redis.NewFailoverClient(o)
	c.Options().Limiter = d // FailoverOptions has no place for it
	return c
}

// cluster is a client of a Redis Cluster.
func cluster(s adapter.Setup, tuned bool, d *Doubts) *redis.ClusterClient {
	o := &redis.ClusterOptions{NewClient: func(o *redis.Options) *redis.Client {
		o.Limiter = d // ClusterOptions has no place for it
		return redis.NewClient(o)
	}}
	for _, n := range s.Nodes {
		o.Addrs = append(o.Addrs, n.Addr())
	}
	if tuned {
		o.ContextTimeoutEnabled = true
		o.DialTimeout, o.ReadTimeout, o.WriteTimeout = s.NodeTimeout, s.NodeTimeout, s.NodeTimeout
	}
	return redis.NewClusterClient(o)
}

// Doubts counts attempts whose reply did not arrive. go-redis hides those that it repeats.
// What such an attempt has sent may take effect, or have taken effect: if the reply to a
// SET with NX is lost, and go-redis sends it again, the node answers that the lock is
// taken, by the client itself.
type Doubts struct{ n atomic.Int64 }

var _ redis.Limiter = (*Doubts)(nil)

// Allow is part of redis.Limiter. It limits nothing.
func (d *Doubts) Allow() error { return nil }

// ReportResult is told of each attempt.
func (d *Doubts) ReportResult(err error) {
	var reply redis.Error
	if err != nil && !errors.As(err, &reply) {
		d.n.Add(1)
	}
}

// Watch begins to watch an operation. The function that it returns makes a refusal of the
// library's error, if every reply since then has arrived, and it says more than that the operation was cancelled.
func (d *Doubts) Watch() (refused func(error) error) {
	before := d.n.Load()
	return func(err error) error {
		if errors.Is(err, context.Canceled) {
			return err
		}
		if d.n.Load() != before {
			return fmt.Errorf("%w; some reply did not arrive", err)
		}
		return fmt.Errorf("%w: %w", adapter.ErrRefused, err)
	}
}
