package process

import (
	"net/http"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/world/client"
)

// store is a server that a client talks to.
type store interface {
	command.Node
	// warm opens a connection and makes scripts known. A server that cannot be
	// reached is not an error yet.
	warm(scripts []*command.Script)
	close()
}

// openStore makes the way to what listens at an address. timeout bounds commands
// that bring no timeout of their own; 0: none.
func openStore(owner string, a client.Address, timeout time.Duration) (store, error) {
	switch a.Kind {
	case client.Etcd:
		return &etcd{name: a.Name, address: a.Address, http: &http.Client{}}, nil
	case client.Postgres:
		return newPostgres(owner, a, timeout), nil
	}
	return newNode(owner, a, timeout)
}
