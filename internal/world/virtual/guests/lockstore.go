//go:build linux && amd64

package guests

import (
	"errors"

	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/virtual"
)

// lockStore is a server that is not of Redis, on which a lock program keeps its lock, as far as such servers are the same. What happens
// in it nobody observes, as in the live world: the program tells.
type lockStore struct {
	*server
	is string
}

// prepareDisk implements kind. Such a server always keeps its data, whatever the scenario says of the persistence of Redis.
func (s *lockStore) prepareDisk(keep world.Keep) error {
	switch keep {
	case world.KeepNothing:
		return s.wipe()
	case world.KeepSynced:
		return s.host.CutPower(s.dir)
	case world.KeepData, world.KeepTorn, world.KeepFlipped: // it has no append-only file of Redis, and is asked for none
	}
	return nil
}

// version implements kind. The name is that of the live world.
func (s *lockStore) version() (name, version string) { return world.Consensus, s.is }

func (s *lockStore) step(*virtual.ServerConn, uint64, [][]string) error { return nil }
func (s *lockStore) own() error                                         { return nil }
func (s *lockStore) closed(uint64)                                      {}
func (s *lockStore) said(string)                                        {}
func (s *lockStore) Follow(string)                                      {}
func (s *lockStore) inStep() bool                                       { return true }
func (s *lockStore) quiet() bool                                        { return false }
func (s *lockStore) tidy() error                                        { return errors.New("it keeps what it had") }
func (s *lockStore) close()                                             {}
