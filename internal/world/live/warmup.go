package live

import (
	"fmt"
	"strings"
)

// warmUpKey and the name of a client are the key that its lock program takes before the run, so that what it loads when it locks for the
// first time is there when faults begin.
const warmUpKey = "warm-up-"

// warms reports that lock programs warm up: on nodes of our own, and with a key that none of the run's patterns fits. Those that get the
// lock itself before the run have loaded all then.
func (w *World) warms() bool {
	return w.spec.Lock.Program != nil && !w.spec.WarmUp && w.spec.LockStore == "" && w.observation.Strangers.Fresh &&
		!w.spec.KeyPatterns(w.spec.LockKeys...).Fit(warmUpKey+"c1")
}

// dropWarmUp deletes what the warm-up has left on the nodes.
func (w *World) dropWarmUp() error {
	for _, n := range w.servers.Nodes {
		names, err := n.Admin.Keys(w.ctx, "*"+warmUpKey+"*").Result()
		for i := 0; err == nil && i < len(names); i++ { // in a cluster a command has keys of one slot
			err = n.Admin.Del(w.ctx, names[i]).Err()
			if err != nil && (strings.HasPrefix(err.Error(), "READONLY") || strings.HasPrefix(err.Error(), "MOVED")) {
				err = nil // a replica does what its primary does
			}
		}
		if err != nil {
			return fmt.Errorf("failed to delete the keys of the warm-up on node %s: %w", n.Name, err)
		}
	}
	return nil
}
