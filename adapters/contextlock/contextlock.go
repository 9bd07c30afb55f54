// Package contextlock is what the lock programs of rueidislock and valkeylock share: a lock that is held while a context lasts, and whose
// release hides errors.
package contextlock

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/redlock-sim/redlock-sim/adapter"
)

// Locker is such a library's.
type Locker interface {
	WithContext(ctx context.Context, name string) (context.Context, context.CancelFunc, error)
}

// Failed counts commands whose reply did not arrive, or was an error.
type Failed struct{ n atomic.Int64 }

// Count takes in the error of a command. The end of the grant cancels a renewal; that says nothing of the release. An answer of nothing
// is no error, and a script that the server does not know is sent whole then.
func (f *Failed) Count(err error) {
	var answer interface {
		IsNil() bool
		IsNoScript() bool
	}
	harmless := errors.As(err, &answer) && (answer.IsNil() || answer.IsNoScript())
	if err != nil && !harmless && !errors.Is(err, context.Canceled) {
		f.n.Add(1)
	}
}

// shared is what all clients of a process have in common.
type shared struct {
	Locker
	failed Failed
}

// Open has all clients of a process use one locker.
func Open(s adapter.Setup, locker func(failed *Failed) (Locker, error)) (adapter.Acquire, error) {
	all, err := adapter.Once(s, func() (all *shared, err error) {
		all = new(shared)
		all.Locker, err = locker(&all.failed)
		return all, err
	})
	if err != nil {
		return nil, err
	}
	return acquire(all, s.Key, &all.failed), nil
}

// acquire asks a locker for a key.
func acquire(locker Locker, key string, failed *Failed) adapter.Acquire {
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
			lost, before := held.Err() != nil, failed.n.Load()
			unlock() // waits, but hides errors
			cancel()
			if lost || failed.n.Load() != before {
				return errors.New("the key may stay")
			}
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
