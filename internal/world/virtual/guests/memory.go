//go:build linux && amd64

package guests

import (
	"errors"
	"fmt"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/world/keylog"
)

// Wipe implements virtual.Server.
func (s *server) Wipe() error { return s.ruled(s.wipeKeys) }

// Evict implements virtual.Server.
func (s *server) Evict() error { return s.ruled(s.evictKeys) }

// Limit implements virtual.Server.
func (s *server) Limit(full bool) error { return s.ruled(func() error { return s.limit(full) }) }

// ruled does something to its memory, and takes in what became of the keys.
func (s *server) ruled(do func() error) error {
	s.doubtful = true
	return errors.Join(do(), s.own())
}

// wipeKeys implements kind.
func (s *redisServer) wipeKeys() error {
	flush := []string{"flushall"}
	err := s.doAll(flush)
	if err == nil && s.keys != nil {
		err = s.keys.Step(keylog.Batch{Connection: "sim", Commands: [][]string{flush}, Now: s.now()})
	}
	return err
}

// evictKeys implements kind.
func (s *redisServer) evictKeys() error { return s.doAll(command.Evicting()...) }

// limit implements kind.
func (s *redisServer) limit(full bool) error { return s.doAll(command.Limiting(full)) }

// doAll carries out commands one after the other, with nothing between them.
func (s *redisServer) doAll(commands ...[]string) error {
	answers, err := answersTo(s.ask, commands...)
	for _, answer := range answers {
		if why, failed := answer.(error); failed {
			err = errors.Join(err, fmt.Errorf("node %s answered one of %q: %w", s.h.Name(), commands, why))
		}
	}
	return err
}

var errNotRedis = errors.New("only servers of Redis lose keys so")

func (s *lockStore) wipeKeys() error  { return errNotRedis }
func (s *lockStore) evictKeys() error { return errNotRedis }
func (s *lockStore) limit(bool) error { return errNotRedis }
