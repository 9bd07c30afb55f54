//go:build linux && amd64

package guests

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/redis/sentinel"
	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/virtual"
)

// Sentinels begin with the file that they would have written when all had found each other, as nodes of a cluster do. The servers that
// they watch have a file, too, where they keep whom they follow.

const (
	// sentinelPort is where a sentinel listens.
	sentinelPort = 26379
	// settingsFile is where a server keeps its settings itself.
	settingsFile = "redis.conf"
)

// sentinelServer is a redis-server or a valkey-server that is a sentinel.
type sentinelServer struct{ *server }

var _ kind = (*sentinelServer)(nil)

// isSentinel reports that a name is that of a sentinel.
func (g *guests) isSentinel(name string) bool {
	return g.spec.Sentinel != nil && slices.Contains(g.spec.Sentinel.Names, name)
}

// port implements kind.
func (s *sentinelServer) port() int { return sentinelPort }

// command implements kind.
func (s *sentinelServer) command() (path string, args []string) {
	return s.redisProgram(), []string{filepath.Join(s.dir, settingsFile), "--sentinel", "--port", strconv.Itoa(sentinelPort),
		"--bind", s.host.String(), "--protected-mode", "no", "--daemonize", "no", "--dir", s.dir, "--loglevel", "verbose", "--logfile", ""}
}

// prepareDisk implements kind.
func (s *sentinelServer) prepareDisk(world.Keep) error {
	return s.keepFile(settingsFile, s.firstFile, s.wipe)
}

// firstFile is what the sentinel knows at the start.
func (s *sentinelServer) firstFile() []byte {
	var b bytes.Buffer
	say := func(format string, args ...any) { fmt.Fprintf(&b, "sentinel "+format+"\n", args...) }
	about, primary, rules := func(word, format string, args ...any) {
		say(word+" "+world.Primary+" "+format, args...)
	}, s.g.spec.Nodes[0].Name, s.g.spec.Sentinel
	say("myid %s", s.g.idOf(s.h.Name()))
	about("monitor", "%s %d %d", s.g.hosts[primary], redisPort, rules.Quorum)
	about("down-after-milliseconds", "%d", rules.DownAfter.Milliseconds())
	about("failover-timeout", "%d", rules.FailoverTimeout.Milliseconds())
	for _, n := range s.g.spec.Nodes[1:] {
		about("known-replica", "%s %d", s.g.hosts[n.Name], redisPort)
	}
	for _, name := range rules.Names {
		if name != s.h.Name() {
			about("known-sentinel", "%s %d %s", s.g.hosts[name], sentinelPort, s.g.idOf(name))
		}
	}
	return b.Bytes()
}

// usable implements kind.
func (s *sentinelServer) usable() bool { return true }

// inStep implements kind: it knows all others, and is connected to them.
func (s *sentinelServer) inStep() bool {
	answers, err := answersTo(s.ask, []string{"sentinel", "master", world.Primary}, []string{"sentinel", "replicas", world.Primary},
		[]string{"sentinel", "sentinels", world.Primary})
	if err != nil {
		return false
	}
	primary, _ := answers[0].([]any)
	if sentinel.Field(primary, "flags") != "master" || sentinel.Field(primary, "info-refresh") == "0" {
		return false
	}
	return s.knows(answers[1], "slave", len(s.g.spec.Nodes)-1) && s.knows(answers[2], "sentinel", len(s.g.spec.Sentinel.Names)-1)
}

// knows reports that an answer lists so many others, to all of which it is connected.
func (s *sentinelServer) knows(answer any, flags string, want int) bool {
	list, _ := answer.([]any)
	for _, one := range list {
		about, _ := one.([]any)
		if sentinel.Field(about, "flags") != flags || flags == "slave" && sentinel.Field(about, "master-link-status") != "ok" {
			return false
		}
	}
	return len(list) == want
}

// said implements kind.
func (s *sentinelServer) said(line string) {
	t, is := sentinel.Logged(line)
	if !is || t.OfTable() {
		return
	}
	e := sentinel.Event{Word: t.Word, Target: s.g.hostOf(t.IP), Epoch: t.Epoch}
	for _, name := range s.g.spec.Sentinel.Names {
		if t.ID == s.g.idOf(name) {
			e.Target = name
		}
	}
	s.g.want(func() { s.h.Tells(e) })
}

func (s *sentinelServer) started() error                                     { return nil }
func (s *sentinelServer) version() (name, version string)                    { return "", "" }
func (s *sentinelServer) step(*virtual.ServerConn, uint64, [][]string) error { return nil }
func (s *sentinelServer) own() error                                         { return nil }
func (s *sentinelServer) closed(uint64)                                      {}
func (s *sentinelServer) Follow(string)                                      {}
func (s *sentinelServer) quiet() bool                                        { return false }
func (s *sentinelServer) tidy() error                                        { return errors.New("sentinels keep what they know") }
func (s *sentinelServer) close()                                             {}
func (s *sentinelServer) wipeKeys() error                                    { return errNotRedis }
func (s *sentinelServer) evictKeys() error                                   { return errNotRedis }
func (s *sentinelServer) limit(bool) error                                   { return errNotRedis }

// isWatched: sentinels decide whom it follows.
func (s *redisServer) isWatched() bool {
	return s.g.spec.Sentinel != nil && s.h.Name() != history.ResourceProcess
}

// firstSettings are those with which a server starts that sentinels watch.
func (s *redisServer) firstSettings() []byte {
	if s.follows == "" {
		return nil
	}
	return fmt.Appendf(nil, "replicaof %s %d\n", s.g.hosts[s.follows], redisPort)
}

// obeyed takes in what a sentinel has made of the server.
func (s *redisServer) obeyed(commands [][]string) error {
	rules := func(words []string) bool {
		return len(words) > 0 && slices.Contains([]string{"exec", "slaveof", "replicaof"}, strings.ToLower(words[0]))
	}
	if !s.isWatched() || !slices.ContainsFunc(commands, rules) {
		return nil
	}
	answers, err := answersTo(s.ask, []string{"role"})
	if err != nil {
		return err
	}
	role, _ := answers[0].([]any)
	before := s.follows
	s.follows = ""
	if len(role) > 1 && role[0] == "slave" {
		s.follows = s.g.hostOf(fmt.Sprint(role[1]))
	}
	f := history.NodePromoted
	if s.follows != "" {
		f = history.NodeDemoted
	}
	if (before == "") != (s.follows == "") {
		s.record(history.Event{F: f})
	}
	return nil
}
