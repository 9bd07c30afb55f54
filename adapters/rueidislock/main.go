// Command rueidislock is the lock program of github.com/redis/rueidis/rueidislock.
package main

import (
	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"

	"github.com/redlock-sim/redlock-sim/adapter"
	"github.com/redlock-sim/redlock-sim/adapters/contextlock"
)

func main() {
	adapter.Serve(adapter.Program{Name: "rueidislock", Version: adapter.ModuleVersion("github.com/redis/rueidis"),
		Homepage: "https://github.com/redis/rueidis/tree/main/rueidislock", Class: "single",
		About: "rueidislock.Locker, KeyMajority 1; client rueidis, its own timeouts and retries",
		Keys:  []string{"rueidislock:0:{key}"}, Can: []string{"renew", "lost", "sentinel", "cluster", "wakes", "clients", "cancel"}}, open)
}

func open(s adapter.Setup) (adapter.Acquire, error) {
	o, err := option(s)
	if err != nil {
		return nil, err
	}
	return contextlock.Open(s, func() (contextlock.Locker, error) {
		// KeyMajority is what its README says for one node.
		return rueidislock.NewLocker(rueidislock.LockerOption{ClientOption: o, KeyValidity: s.TTL, KeyMajority: 1})
	})
}

// option says where the node is, or who tells where the primary is.
func option(s adapter.Setup) (o rueidis.ClientOption, err error) {
	if o.InitAddress, err = contextlock.Addresses(s, "rueidislock"); err != nil {
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
