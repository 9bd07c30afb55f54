// Command valkeylock is the lock program of github.com/valkey-io/valkey-go/valkeylock.
package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/valkey-io/valkey-go"
	"github.com/valkey-io/valkey-go/valkeylock"

	"github.com/redlock-sim/redlock-sim/adapter"
)

func main() {
	adapter.Serve(adapter.Program{Name: "valkeylock", Version: adapter.ModuleVersion("github.com/valkey-io/valkey-go"),
		Homepage: "https://github.com/valkey-io/valkey-go/tree/main/valkeylock", Class: "single",
		About: "valkeylock.Locker, KeyMajority 1; client valkey-go, its own timeouts and retries",
		Keys:  []string{"valkeylock:0:{key}"}, Can: []string{"renew", "lost", "sentinel", "cluster"}}, open)
}

func open(s adapter.Setup) (adapter.Acquire, error) {
	o, err := option(s)
	if err != nil {
		return nil, err
	}
	var failed atomic.Int64
	// KeyMajority is what its README says for one node.
	locker, err := valkeylock.NewLocker(valkeylock.LockerOption{ClientOption: o, KeyValidity: s.TTL, KeyMajority: 1,
		ClientBuilder: func(o valkey.ClientOption) (valkey.Client, error) {
			c, err := valkey.NewClient(o)
			return watched{c, &failed}, err
		}})
	return func(ctx context.Context) (adapter.Grant, error) {
		// The lock lasts as long as the context with which it was asked for. So ctx itself,
		// which ends with the wait, will not do.
		long, cancel := context.WithCancel(context.Background())
		stop := context.AfterFunc(ctx, cancel)
		held, unlock, err := locker.WithContext(long, s.Key)
		stop()
		if err != nil {
			cancel()
			return adapter.Grant{}, err // it hides what became of its last attempts: may be held
		}
		release := func(context.Context) error {
			lost, before := held.Err() != nil, failed.Load()
			unlock() // waits, but hides errors
			cancel()
			if lost || failed.Load() != before {
				return errors.New("the key may stay")
			}
			return nil
		}
		return adapter.Grant{Lost: held.Done(), Release: release}, nil
	}, err
}

// option says where the node is, or who tells where the primary is.
func option(s adapter.Setup) (o valkey.ClientOption, err error) {
	if len(s.Sentinels) > 0 {
		o.Sentinel.MasterSet = s.Master
		for _, n := range s.Sentinels {
			o.InitAddress = append(o.InitAddress, n.Addr())
		}
		return o, nil
	}
	if len(s.Nodes) != 1 && s.Topology != "cluster" {
		return o, fmt.Errorf("valkeylock has one node, not %d", len(s.Nodes))
	}
	n := s.Nodes[0]
	o = valkey.ClientOption{Username: n.Username, Password: n.Password}
	for _, n := range s.Nodes { // several are a cluster
		o.InitAddress = append(o.InitAddress, n.Addr())
	}
	o.TLSConfig, err = n.TLSConfig()
	return o, err
}

// watched counts commands whose reply did not arrive.
type watched struct {
	valkey.Client
	failed *atomic.Int64
}

func (w watched) Do(ctx context.Context, c valkey.Completed) valkey.ValkeyResult {
	r := w.Client.Do(ctx, c)
	// The end of the grant cancels a renewal; that says nothing of the release.
	if err := r.NonValkeyError(); err != nil && !errors.Is(err, context.Canceled) {
		w.failed.Add(1)
	}
	return r
}
