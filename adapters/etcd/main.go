// Command etcd is the lock program of etcd's package concurrency.
package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/redlock-sim/redlock-sim/adapter"
)

func main() {
	adapter.Serve(adapter.Program{Name: "etcd-concurrency", Version: adapter.ModuleVersion("go.etcd.io/etcd/client/v3"),
		Homepage: "https://pkg.go.dev/go.etcd.io/etcd/client/v3/concurrency", Class: "session", Store: "etcd",
		About: "concurrency.Mutex of a concurrency.Session; client clientv3, its own retries",
		Can:   []string{"renew", "lost", "token", "fair", "cancel"}, TTLMin: 1000, TTLStep: 1000}, open)
}

func open(s adapter.Setup) (adapter.Acquire, error) {
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{s.Nodes[0].Addr()}, DialTimeout: 5 * time.Second})
	return func(ctx context.Context) (adapter.Grant, error) {
		session, err := concurrency.NewSession(client, concurrency.WithTTL(int(s.TTL/time.Second)))
		if err != nil {
			return adapter.Grant{}, fmt.Errorf("%w: %w", adapter.ErrRefused, err) // a lease without a key is no lock
		}
		mutex := concurrency.NewMutex(session, s.Key)
		if err := mutex.Lock(ctx); err != nil {
			if closing := session.Close(); closing != nil {
				return adapter.Grant{}, errors.Join(err, closing)
			}
			return adapter.Grant{}, fmt.Errorf("%w: %w", adapter.ErrRefused, err) // the lease is gone, and its key with it
		}
		token := mutex.Header().Revision
		release := func(ctx context.Context) error {
			if err := mutex.Unlock(ctx); err != nil {
				return errors.Join(err, session.Close())
			}
			_ = session.Close() // it has no keys any more
			return nil
		}
		return adapter.Grant{Token: &token, Lost: session.Done(), Release: release}, nil
	}, err
}
