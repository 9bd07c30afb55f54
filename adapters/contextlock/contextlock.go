// Package contextlock is what the lock programs of rueidislock and valkeylock share: a lock that is held while a context lasts, and whose
// release says nothing.
package contextlock

import (
	"context"
	"fmt"

	"github.com/redlock-sim/redlock-sim/adapter"
)

// Locker is such a library's.
type Locker interface {
	WithContext(ctx context.Context, name string) (context.Context, context.CancelFunc, error)
}

// Open has all clients of a process use one locker.
func Open(s adapter.Setup, locker func() (Locker, error)) (adapter.Acquire, error) {
	all, err := adapter.Once(s, locker)
	if err != nil {
		return nil, err
	}
	return acquire(all, s.Key), nil
}

// acquire asks a locker for a key.
func acquire(locker Locker, key string) adapter.Acquire {
	return func(ctx context.Context) (adapter.Grant, error) {
		// The lock lasts as long as the context with which it was asked for. So ctx itself,
		// which ends with the wait, will not do.
		long, cancel := context.WithCancel(context.Background())
		stop := context.AfterFunc(ctx, cancel)
		held, unlock, err := locker.WithContext(long, key)
		stop()
		if err != nil {
			cancel()
			return adapter.Grant{}, err // it hides what became of its last attempts: may be held
		}
		release := func(context.Context) error {
			unlock() // waits, and says nothing
			cancel()
			return nil
		}
		return adapter.Grant{Lost: held.Done(), Release: release}, nil
	}
}

// Addresses are where the client of a lock begins: at the sentinels, at the node, or at the nodes of a cluster.
func Addresses(s adapter.Setup, lock string) (list []string, err error) {
	nodes := s.Sentinels
	if len(nodes) == 0 {
		if nodes = s.Nodes; len(nodes) != 1 && s.Topology != "cluster" {
			return nil, fmt.Errorf("%s has one node, not %d", lock, len(nodes))
		}
	}
	for _, n := range nodes {
		list = append(list, n.Addr())
	}
	return list, nil
}
