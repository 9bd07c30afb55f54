//go:build linux && amd64

package guests

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/redis/journal"
	"github.com/redlock-sim/redlock-sim/internal/redis/resp"
	"github.com/redlock-sim/redlock-sim/internal/supervisor"
	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/keylog"
)

// redisPort is where a server of Redis listens.
const redisPort = 6379

// redisServer is a redis-server or a valkey-server.
type redisServer struct {
	*server
	// follows is the host whose replica it is to be; empty: it is nobody's.
	follows string
	// keys follows the lock's keys, log the log of the resource; nil: neither is there.
	keys *keylog.Journal
	log  *journal.Follower
	// shard is its part in a cluster; nil: it has none.
	shard *shard
	// gives: the last that it was told is to give keys to another server.
	gives bool
	// flipped is what was damaged of its append-only file, as long as it has not started from that; nil: nothing was.
	flipped *journal.Tail
	// redis and valkey are the versions that it tells; valkey is empty for Redis.
	redis, valkey string
}

var _ kind = (*redisServer)(nil)

// port implements kind.
func (s *redisServer) port() int { return redisPort }

// said implements kind.
func (s *redisServer) said(line string) { s.shard.said(line) }

// usable implements kind.
func (s *redisServer) usable() bool { return !s.snapshots() || s.beginsJournal() }

// do asks the server something while time stands still.
func (s *redisServer) do(words ...string) (string, error) {
	answers, err := answersTo(s.ask, words)
	if err != nil {
		return "", fmt.Errorf("node %s: %w", s.h.Name(), err)
	}
	if err, failed := answers[0].(error); failed {
		return "", err
	}
	return fmt.Sprint(answers[0]), nil
}

// answersTo carries out commands by ask, which sends a server something and returns what it answers at once. What one of them cannot do is
// an error among the answers.
func answersTo(ask func([]byte) ([]byte, error), commands ...[]string) (answers []any, err error) {
	var text []byte
	for _, words := range commands {
		text = resp.AppendCommand(text, words...)
	}
	answer, err := ask(text)
	if err != nil {
		return nil, err
	}
	for _, words := range commands {
		v, n, err := resp.Parse(answer)
		if err != nil {
			return nil, fmt.Errorf("it did not answer %q: %w", words, err)
		}
		answers, answer = append(answers, v.Plain()), answer[n:]
	}
	return answers, nil
}

// inStep implements kind: a replica has what its primary has, and the primary knows it, as it is when a run begins.
func (s *redisServer) inStep() bool {
	if s.shard != nil && !s.shard.isWhole() {
		return false
	}
	if s.follows == "" {
		return true
	}
	info, err := s.do("info", "replication")
	if err != nil || !strings.Contains(info, "master_link_status:up") {
		return false
	}
	primary, is := s.g.server(s.follows).kind.(*redisServer)
	if !is {
		return false
	}
	if info, err = primary.do("info", "replication"); err != nil {
		return false
	}
	_, offset, _ := strings.Cut(info, "master_repl_offset:")
	offset, _, _ = strings.Cut(offset, "\r")
	return strings.Contains(info, fmt.Sprintf("ip=%s,port=%d,state=online,offset=%s,", s.host, redisPort, offset))
}

// beginsJournal lets a server that has read its snapshot begin a journal; false: it has not yet.
func (s *redisServer) beginsJournal() bool {
	if info, err := s.do("info", "persistence"); err != nil || !strings.Contains(info, "aof_enabled:1") {
		_, _ = s.do("config", "set", "appendonly", "yes")
		return false
	} else if !strings.Contains(info, "aof_rewrite_in_progress:0") || !strings.Contains(info, "aof_rewrite_scheduled:0") {
		return false
	}
	return true
}

// now is the server's clock, in milliseconds since 1970.
func (s *redisServer) now() int64 { return s.host.ReadWall().Milliseconds() }

// command implements kind.
func (s *redisServer) command() (path string, args []string) {
	journal, save := "yes", []string{"--save", ""}
	if s.snapshots() { // it reads its snapshot, and begins its journal then
		journal, save = "no", []string{"--save", "1", "1"} // Redis 6.2 takes no "1 1"
	}
	args = append(redisArguments(s.host, s.dir, journal, fsyncOf(s.h.Persistence())), save...)
	args = append(args, "--hz", strconv.Itoa(s.h.Persistence().Ticks()))
	if s.shard != nil {
		return s.redisProgram(), append(args, s.shard.arguments()...)
	}
	if s.life > 1 && !s.isWatched() { // nobody tells it whom to follow, as in the other worlds
		s.follows = ""
	}
	switch rules := s.g.spec.Sentinel; {
	case s.isWatched():
		args = slices.Concat([]string{filepath.Join(s.dir, settingsFile)}, args, minReplicas(rules.MinReplicas, rules.MaxLag))
	case s.follows != "":
		args = append(args, "--replicaof", s.g.hosts[s.follows].String(), strconv.Itoa(redisPort))
	}
	return s.redisProgram(), args
}

// minReplicas are the arguments of a primary that takes writes only while so many replicas have acknowledged within a lag.
func minReplicas(n int, lag time.Duration) []string {
	return []string{"--min-replicas-to-write", strconv.Itoa(n), "--min-replicas-max-lag", strconv.FormatInt(int64(lag/time.Second), 10)}
}

// redisProgram is the server's. What is started again may be of another version.
func (s *server) redisProgram() string {
	if s.life > 1 && s.h.Name() != history.ResourceProcess {
		return cmp.Or(s.g.o.Upgrade, s.g.o.Server)
	}
	return s.g.o.Server
}

// redisArguments are those of each server of Redis, which says beside them when it makes snapshots.
func redisArguments(host *supervisor.Host, dir, journal, fsync string) []string {
	return []string{"--port", strconv.Itoa(redisPort), "--bind", host.String(), "--protected-mode", "no", "--daemonize", "no",
		"--maxclients", "1000", "--dir", dir, "--loglevel", "notice", "--logfile", "", "--appendonly", journal,
		"--auto-aof-rewrite-percentage", "0",
		"--aof-use-rdb-preamble", "no", "--appendfsync", fsync, "--stop-writes-on-bgsave-error", "no",
		"--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "3600",
		"--jemalloc-bg-thread", "no", "--tcp-keepalive", "0"}
}

// quiet implements kind: the resource has no keys that run out, and nobody waits for it. Its timer would be a tenth of the time of a run.
func (s *redisServer) quiet() bool { return s.h.Name() == history.ResourceProcess && !s.byTheClock() }

// byTheClock: what is on the disk depends on when its timer rings.
func (s *redisServer) byTheClock() bool {
	return s.snapshots() || s.h.Persistence() == world.AOFEverysec
}

// snapshots: what the node keeps on disk are snapshots alone.
func (s *redisServer) snapshots() bool { return s.h.Persistence() == world.RDB }

// fsyncOf is how the append-only file is synced. A node that keeps nothing has one, too: it says what the server did.
func fsyncOf(p world.Persistence) string {
	if p.AppendOnly() {
		return strings.TrimPrefix(p.String(), "aof-")
	}
	return "no"
}

// prepareDisk implements kind.
func (s *redisServer) prepareDisk(keep world.Keep) error {
	switch {
	case s.shard != nil:
		return s.shard.prepareDisk(keep)
	case s.isWatched():
		return s.keepFile(settingsFile, s.firstSettings, func() error { return s.prepareData(keep) })
	}
	return s.prepareData(keep)
}

func (s *redisServer) prepareData(keep world.Keep) error {
	if keep == world.KeepNothing || s.h.Persistence() == world.NoPersistence {
		return s.wipe()
	}
	if keep == world.KeepSynced {
		if err := s.host.CutPower(s.dir); err != nil {
			return err
		}
	}
	if keep.Damages() {
		return s.damage(keep)
	}
	if s.snapshots() {
		return os.RemoveAll(filepath.Join(s.dir, "appendonlydir"))
	}
	return nil
}

// damage damages the last write in the append-only file.
func (s *redisServer) damage(keep world.Keep) error {
	tail, err := journal.Last(s.dir, s.now())
	if tail == nil || err != nil {
		return err
	}
	r := s.g.spec.Draws(s.h.Name(), s.life)
	if keep == world.KeepFlipped {
		s.flipped = tail
		return tail.Flip(r)
	}
	s.host.Shortened(tail.File, tail.From)
	return tail.Tear(r)
}

// mend removes what was flipped from the append-only file of a server that refuses to start from that; false: nothing was.
func (s *redisServer) mend() bool {
	tail := s.flipped
	if s.flipped = nil; tail == nil {
		return false
	}
	s.host.Shortened(tail.File, tail.From)
	return tail.Remove() == nil
}

// Follow implements kind.
func (s *redisServer) Follow(primary string) {
	s.doubtful = true
	words := []string{"replicaof", "no", "one"}
	s.follows = primary
	if primary != "" {
		words = []string{"replicaof", s.g.hosts[primary].String(), strconv.Itoa(redisPort)}
	}
	if v, err := s.do(words...); err != nil || !strings.HasPrefix(v, "OK") { // "OK Already connected to specified master"
		s.g.Unknown(fmt.Sprintf("node %s did not take %q: %v %v", s.h.Name(), words, v, err))
	}
}

// version implements kind.
func (s *redisServer) version() (name, version string) {
	if s.valkey != "" {
		return "valkey-server", s.valkey
	}
	return "redis-server", s.redis
}

// closed implements kind.
func (s *redisServer) closed(number uint64) {
	if s.keys != nil {
		s.keys.Closed(strconv.FormatUint(number, 10))
	}
}

func (s *redisServer) close() {
	if s.keys != nil {
		_ = s.keys.Close()
	}
	if s.log != nil {
		_ = s.log.Close()
	}
}
