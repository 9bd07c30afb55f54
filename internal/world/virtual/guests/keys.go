//go:build linux && amd64

package guests

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/redis/journal"
	"github.com/redlock-sim/redlock-sim/internal/world/keylog"
	"github.com/redlock-sim/redlock-sim/internal/world/virtual"
)

// recorder takes what is observed; nil: the run has not begun, or is over.
type recorder func(history.Event) int

// newKeys follows the lock's keys on a server by its journal.
func (g *guests) newKeys(s *redisServer) *keylog.Journal {
	key := g.spec.Lock.Key
	o := keylog.JournalOptions{Node: s.h.Name(), Key: key, Shown: key, Server: command.ParseServer(s.redis, s.valkey), Payload: g.payload,
		Record: func(e history.Event) {
			if g.record != nil {
				g.record(e)
			}
		}}
	if o.Keys = g.spec.KeyPatterns(program.KeyPattern); g.o.Programs {
		o.Keys = g.spec.KeyPatterns(g.spec.LockKeys...)
		o.Program = &keylog.Program{Leased: g.spec.LockLeased, Permits: g.spec.Lock.Permits > 0,
			WallOffset: func() time.Duration { return g.wall + g.began }}
	}
	return keylog.NewJournal(s.dir, o)
}

// learnVersion asks a server for its version.
func (s *redisServer) learnVersion() error {
	info, err := s.do("info", "server")
	if err != nil {
		return err
	}
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch name {
		case "redis_version":
			s.redis = value
		case "valkey_version":
			s.valkey = value
		}
	}
	if s.h.Name() == history.ResourceProcess {
		return nil
	}
	return s.g.spec.Fits(info)
}

// started takes in what a server has found when it started.
func (s *redisServer) started() error {
	s.flipped = nil
	if s.redis == "" {
		if err := s.learnVersion(); err != nil {
			return err
		}
		if s.h.Name() != history.ResourceProcess && s.g.spec.RecordsKeys() {
			s.keys = s.g.newKeys(s)
		}
		if s.h.Name() == history.ResourceProcess || s.g.spec.SharedStore && s.server == s.g.servers[0] {
			s.log = journal.Follow(s.dir)
		}
	}
	if s.log != nil {
		s.log.Restarted()
		if err := s.readLog(); err != nil { // what it has found is no effect
			return err
		}
	}
	if s.keys == nil {
		return nil
	}
	return s.keys.Started(s.now())
}

// step takes in what commands did that came over a connection.
func (s *redisServer) step(c *virtual.ServerConn, number uint64, commands [][]string) error {
	if c.Port() != 0 { // another server's, which changes nothing, or gives it keys
		if s.keys != nil && (s.g.spec.MovesAtomically || slices.ContainsFunc(commands, gives)) { // those of a slot come as from a primary
			return s.keys.Primary(s.now())
		}
		return errors.Join(s.own(), s.obeyed(commands))
	}
	s.shard.look()
	var err error
	if s.keys != nil {
		err = s.keys.Step(keylog.Batch{Connection: strconv.FormatUint(number, 10), Caller: c.From(), Commands: commands,
			Left: history.Some(int64(c.Left())), Now: s.now()})
	}
	return errors.Join(err, s.readLog())
}

// gives reports that a command is one with which another server gives keys away.
func gives(words []string) bool {
	return len(words) > 0 && strings.HasPrefix(strings.ToUpper(words[0]), "RESTORE")
}

// noteGiven takes note of what the keys hold that a command gives to another server, by the bytes in which they go there.
func (s *redisServer) noteGiven(words []string) {
	s.gives = len(words) > 0 && strings.EqualFold(words[0], "migrate")
	if s.keys == nil || !s.gives {
		return
	}
	for _, word := range words[1:] {
		if k, followed := s.keys.Holds(word); followed {
			payload, err := s.do("dump", word)
			if err != nil && strings.HasPrefix(err.Error(), "ASK ") { // it has run out, and is not given
				continue
			}
			s.check(err)
			s.g.given[payload] = k
		}
	}
}

// payload tells what key it was of which a server has given away these bytes.
func (g *guests) payload(payload string) (k command.Key, known bool) {
	k, known = g.given[payload]
	return k, known
}

// own takes in what the server did by itself, or its primary had it do.
func (s *redisServer) own() error {
	s.shard.look()
	switch {
	case s.keys == nil:
		return s.readLog()
	case s.follows != "" || s.gives:
		return s.keys.Primary(s.now())
	}
	return s.keys.Own(s.now())
}

// readLog takes in what the resource has appended to its log.
func (s *redisServer) readLog() error {
	if s.log == nil {
		return nil
	}
	key := s.g.spec.Resource.LogKey()
	for {
		entries, err := s.log.Read()
		if err != nil || entries == nil {
			return err
		}
		for _, e := range entries {
			if e.Kind != journal.Effect || len(e.Words) < 3 || !strings.EqualFold(e.Words[0], "rpush") || e.Words[1] != key {
				continue
			}
			for _, element := range e.Words[2:] {
				s.h.Keys(virtual.Cause{}).Pushed(key, element)
			}
		}
	}
}
