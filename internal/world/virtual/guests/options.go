package guests

import (
	"fmt"

	"github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/client"
)

// Options say what takes part.
type Options struct {
	// Server is the program that answers on the nodes of the lock, redis-server or valkey-server; empty: models answer there.
	Server string
	// Upgrade is the program with which a node of the lock that was killed starts again; empty: Server.
	Upgrade string
	// Stores are from what the server is started that is in the place of the only node, where a lock program keeps its lock elsewhere:
	// the program etcd or nats-server, or the folder with the jars of ZooKeeper.
	Stores map[client.StoreKind]string
	// Programs: the locks of clients are the lock program that the scenario names; false: they are built in.
	Programs bool
	// Dir is where the logs of programs and servers go; empty: nowhere.
	Dir string
	// observed is for tests: it is called when what a server did has been recorded, and can ask the server while time stands still.
	observed func(node string, ask func(words ...string) (string, error))
}

// Refusal is why a run cannot be made with these programs; empty: it can.
func Refusal(spec *world.Spec, o Options) string {
	if o.Programs {
		if spec.Lock.Program == nil {
			return "it names no lock program"
		}
		for _, one := range spec.Lock.All() {
			if _, contained := program.Image(one.Program.Command); contained {
				return "a lock program in a Docker image runs in real time"
			}
		}
		if spec.LockStore == client.Postgres { // its signalfd and its shared futexes are not modelled
			return "PostgreSQL runs in real time: --world live"
		}
		if spec.LockStore != "" && o.Stores[spec.LockStore] == "" {
			return fmt.Sprintf("%s is not installed", spec.LockStore)
		}
		if spec.Lock.NeedsConsensus() {
			return "a lock program does not reach the store that its tokens come from in virtual time"
		}
		if o.Server == "" {
			return "a lock program meets real servers"
		}
	}
	if o.Server == "" {
		return spec.NoModel()
	}
	return ""
}
