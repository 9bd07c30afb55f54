// Command valkeylock is the lock program of github.com/valkey-io/valkey-go/valkeylock.
package main

import (
	"github.com/valkey-io/valkey-go"
	"github.com/valkey-io/valkey-go/valkeylock"

	"github.com/redlock-sim/redlock-sim/adapter"
	"github.com/redlock-sim/redlock-sim/adapters/contextlock"
)

func main() {
	adapter.Serve(adapter.Program{Name: "valkeylock", Version: adapter.ModuleVersion("github.com/valkey-io/valkey-go"),
		Homepage: "https://github.com/valkey-io/valkey-go/tree/main/valkeylock", Class: "single",
		About: "valkeylock.Locker, KeyMajority 1; client valkey-go, its own timeouts and retries",
		Keys:  []string{"valkeylock:0:{key}"}, Can: []string{"renew", "lost", "sentinel", "cluster", "wakes", "clients", "cancel"}}, open)
}

func open(s adapter.Setup) (adapter.Acquire, error) {
	o, err := option(s)
	if err != nil {
		return nil, err
	}
	return contextlock.Open(s, func() (contextlock.Locker, error) {
		// KeyMajority is what its README says for one node.
		return valkeylock.NewLocker(valkeylock.LockerOption{ClientOption: o, KeyValidity: s.TTL, KeyMajority: 1})
	})
}

// option says where the node is, or who tells where the primary is.
func option(s adapter.Setup) (o valkey.ClientOption, err error) {
	if o.InitAddress, err = contextlock.Addresses(s, "valkeylock"); err != nil {
		return o, err
	}
	if len(s.Sentinels) > 0 {
		o.Sentinel.MasterSet = s.Master
		return o, nil
	}
	n := s.Nodes[0]
	o.Username, o.Password = n.Username, n.Password
	o.TLSConfig, err = n.TLSConfig()
	return o, err
}
