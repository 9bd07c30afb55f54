//go:build linux && amd64

package guests

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/supervisor"
)

// standingServer is a server between two runs. It does not go on.
type standingServer struct {
	running *supervisor.Program
	boot    boot
}

// boot is how a process started: how long it took, and after which time it then went on by itself.
type boot struct {
	took, goesOn time.Duration
}

// parked is by how much a server that stands is late: more than a run waits before it starts its servers.
const parked = 24 * time.Hour

// goOn lets a server begin that the run before has left, as the first process of its host, and as if it were started now: it takes as
// long, and goes on by itself when that one would.
func (s *server) goOn(left *standingServer, ready func(error)) {
	delete(s.g.site().standing, s.h.Name())
	s.life++
	s.ready, s.running, s.boot = ready, left.running, left.boot
	c := s.outputs()
	s.running.Output, s.running.Errors, s.running.Ended = c.Output, c.Errors, c.Ended
	s.running.Reseed()
	s.g.sup.Spend(s.boot.took)
	wall := s.host.Wall()
	s.host.Skip(s.goesOnIn() - s.boot.goesOn)
	s.host.SetClocks(wall, s.host.Monotonic())
	s.lookForStart()
}

// leave makes the server ready for the next run; an error says why that cannot be.
func (s *server) leave() error {
	switch {
	case s.life != 1 || s.ready != nil || s.running == nil || s.running.HasEnded():
		return errors.New("it was killed, or is being started")
	case s.paused:
		return errors.New("it stands still")
	case s.doubtful:
		return errors.New("more has happened to it than commands on data")
	case s.boot.goesOn == 0:
		return errors.New("it does nothing by itself")
	}
	s.host.Quiet(false)
	if err := s.tidy(); err != nil {
		return err
	}
	if n := s.running.Connections(); n > 0 {
		return fmt.Errorf("%d connections are left", n)
	}
	return nil
}

// park lets servers stand until they begin again. The timer of each rings before, so that it waits for the next time as long as from one to
// the other, and later than it will when it begins again: its clock is never set back. Each time that it rings, a server of Redis opens a
// file; it may wait once more when there is not quite a millisecond left.
func (g *guests) park(list []*server) {
	for most := 3 * len(list); most > 0 && len(list) > 0 && g.unknown() == nil; most-- {
		next := 0
		for i, s := range list {
			if s.goesOnIn() < list[next].goesOnIn() {
				next = i
			}
		}
		s := list[next]
		before := s.running.Opened()
		g.sup.Run(g.sup.Now() + s.goesOnIn())
		if s.running.Opened() != before {
			s.host.Skip(-parked)
			g.site().standing[s.h.Name()] = &standingServer{s.running, s.boot}
			list = slices.Delete(list, next, next+1)
		}
	}
	for _, s := range list {
		s.running.Kill()
	}
}

// goesOnIn is when a server goes on by itself.
func (s *server) goesOnIn() time.Duration {
	in, _ := s.running.GoesOnIn()
	return in
}

// endConnections ends what is open to a server when the run is over.
func (s *server) endConnections() {
	byNumber := func(a, b *supervisor.Conn) int { return cmp.Compare(a.Number, b.Number) }
	for _, c := range slices.SortedFunc(maps.Keys(s.g.conns), byNumber) {
		if l := s.g.conns[c]; l.end == supervisor.Listener && c.To.IP == s.host.IP {
			delete(s.g.conns, c)
			c.Finish(l.end)
			c.Reset(l.end)
		}
	}
}

// lasting are commands that change a server in a way that tidy does not undo, or may; for those of which it depends on the second word,
// harmless has the second words that do not.
var (
	lasting = []string{
		"acl", "bgrewriteaof", "bgsave", "client", "cluster", "config", "debug", "failover", "migrate", "module", "pfdebug", "psync", "replconf",
		"replicaof", "save", "script", "shutdown", "slaveof", "sync",
	}
	harmless = map[string][]string{
		"client": {"caching", "getname", "getredir", "id", "info", "list", "maint_notifications", "no-evict", "no-touch", "reply",
			"setinfo", "setname", "tracking", "trackinginfo"},
		"config": {"get", "resetstat"},
		"script": {"exists", "flush", "load"},
	}
)

// lasts reports that a command may change a server in a way that tidy does not undo.
func lasts(words []string) bool {
	if len(words) == 0 {
		return false
	}
	name := strings.ToLower(words[0])
	return slices.Contains(lasting, name) && (len(words) < 2 || !slices.Contains(harmless[name], strings.ToLower(words[1])))
}

// tidies are the commands by which a server becomes what it was when it had started. What comes next is in another database, so the
// journal begins with SELECT, as the first one did.
var tidies = [][]string{
	{"select", "15"}, {"flushall"}, {"script", "flush"}, {"function", "flush"}, {"config", "resetstat"}, {"slowlog", "reset"},
	{"latency", "reset"}, {"info", "clients"},
}

// tidy implements kind.
func (s *redisServer) tidy() error {
	if s.g.spec.Replicated || s.byTheClock() {
		return errors.New("it has or had a replica, or saves by the clock")
	}
	s.endConnections()
	answers, err := answersTo(s.ask, tidies...)
	if err != nil {
		return err
	}
	for i, answer := range answers {
		if why, failed := answer.(error); failed && !strings.Contains(why.Error(), "unknown command") { // before version 7 there are no functions
			return fmt.Errorf("it answered %q: %w", tidies[i], why)
		}
	}
	info := fmt.Sprint(answers[len(answers)-1])
	if !strings.Contains(info, "connected_clients:1\r") || !strings.Contains(info, "blocked_clients:0\r") {
		return fmt.Errorf("somebody is connected: %q", info)
	}
	return s.cutJournal()
}

// cutJournal empties the journal. The server appends to it, wherever its end is.
func (s *redisServer) cutJournal() error {
	for _, pattern := range []string{"*.aof", "appendonlydir/*.aof"} {
		files, err := filepath.Glob(filepath.Join(s.dir, pattern))
		for _, file := range files {
			err = errors.Join(err, s.host.Empty(file))
		}
		if err != nil {
			return fmt.Errorf("failed to empty the journal: %w", err)
		}
	}
	return nil
}
