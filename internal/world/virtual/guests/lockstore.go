//go:build linux && amd64

package guests

import (
	"errors"

	"github.com/redlock-sim/redlock-sim/internal/supervisor"
	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/client"
	"github.com/redlock-sim/redlock-sim/internal/world/virtual"
)

// storeKind is how a server is started and asked that is not of Redis, on which a lock program keeps its lock.
type storeKind struct {
	// port is where it listens for clients.
	port int
	// command starts it from what Options.Stores names. Its data are below dir.
	command func(from string, host *supervisor.Host, dir string) (path string, args []string)
	// prepare writes what it reads when it starts; nil: nothing.
	prepare func(host *supervisor.Host, dir string) error
	// version asks a server what it is, by something that is sent to it and what it answers at once; empty: it does not serve yet.
	version func(ask func([]byte) ([]byte, error)) string
}

// storeKinds are those that run in virtual time.
var storeKinds = map[client.StoreKind]storeKind{client.Etcd: etcd, client.Zookeeper: zookeeper, client.Nats: nats}

// lockStore is such a server. What happens in it nobody observes, as in the live world: the program tells.
type lockStore struct {
	*server
	storeKind
	from, is string
}

var _ kind = (*lockStore)(nil)

// port implements kind.
func (s *lockStore) port() int { return s.storeKind.port }

// command implements kind.
func (s *lockStore) command() (path string, args []string) {
	return s.storeKind.command(s.from, s.host, s.dir)
}

// prepareDisk implements kind. Such a server always keeps its data, whatever the scenario says of the persistence of Redis.
func (s *lockStore) prepareDisk(keep world.Keep) (err error) {
	switch keep {
	case world.KeepNothing:
		err = s.wipe()
	case world.KeepSynced:
		err = s.host.CutPower(s.dir)
	case world.KeepData, world.KeepTorn, world.KeepFlipped: // it has no append-only file of Redis, and is asked for none
	}
	if err == nil && s.prepare != nil {
		err = s.prepare(s.host, s.dir)
	}
	return err
}

// usable implements kind: it tells what it is.
func (s *lockStore) usable() bool {
	s.is = s.storeKind.version(s.ask)
	return s.is != ""
}

// version implements kind. The name is that of the live world.
func (s *lockStore) version() (name, version string) { return world.Consensus, s.is }

func (s *lockStore) started() error                                     { return nil }
func (s *lockStore) step(*virtual.ServerConn, uint64, [][]string) error { return nil }
func (s *lockStore) own() error                                         { return nil }
func (s *lockStore) closed(uint64)                                      {}
func (s *lockStore) said(string)                                        {}
func (s *lockStore) Follow(string)                                      {}
func (s *lockStore) inStep() bool                                       { return true }
func (s *lockStore) quiet() bool                                        { return false }
func (s *lockStore) tidy() error                                        { return errors.New("it keeps what it had") }
func (s *lockStore) close()                                             {}
