package servertest

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server"
)

// Redis is a redis-server. It expires keys only when they are asked for: when else it
// does that is not for a test to know.
type Redis struct {
	// Dir is where it keeps its data.
	Dir string
	// RDB sends it commands.
	RDB *redis.Client

	words, variables []string
	clock            string
	child            *machine.Child
}

// Start starts a server with arguments of its own. Its clock shows epoch, in s since 1970.
func Start(t *testing.T, epoch int64, args ...string) *Redis {
	t.Helper()
	binary, err := server.FindRedis("")
	if err != nil {
		suite.Lacks(t, "redis-server")
	}
	dir, err := os.MkdirTemp("", "redis") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	clock, err := machine.NewFaketimeHere(dir)
	if err != nil {
		suite.Lacks(t, "libfaketime")
	}
	socket := filepath.Join(dir, "socket")
	r := &Redis{
		Dir: dir,
		RDB: redis.NewClient(&redis.Options{Addr: socket, Protocol: 2, DisableIdentity: true, MaxRetries: -1}),
		words: append([]string{binary, "--port", "0", "--unixsocket", socket, "--dir", dir,
			"--save", "", "--enable-debug-command", "yes", "--auto-aof-rewrite-percentage", "0", "--hz", "500"}, args...),
	}
	r.variables, r.clock = append(clock.Variables(), "TZ=UTC"), clock.File()
	t.Cleanup(func() { _ = r.RDB.Close() })
	t.Cleanup(r.Kill)
	r.Set(t, epoch)
	r.Launch(t)
	return r
}

// Launch starts the server, again where it was killed.
func (r *Redis) Launch(t rapid.TB) {
	t.Helper()
	cmd := exec.Command(r.words[0], r.words[1:]...)
	cmd.Env = append(os.Environ(), r.variables...)
	child, err := machine.Start("redis-server", cmd)
	if err != nil {
		t.Fatal(err)
	}
	r.child = child
	suite.Succeeds(t, "an answer of redis-server", func() error {
		err := r.ready()
		if err != nil && child.Dead() {
			t.Fatalf("redis-server ended: %v", child.Err)
		}
		return err
	})
}

// ready stops the expiry in the background. DEBUG answers while the server still loads
// its data, PING does not.
func (r *Redis) ready() error {
	ctx := context.Background()
	return errors.Join(r.RDB.Do(ctx, "debug", "set-active-expire", "0").Err(), r.RDB.Ping(ctx).Err())
}

// Kill ends it with SIGKILL.
func (r *Redis) Kill() {
	if r.child != nil {
		_ = r.child.Kill()
	}
}

// Info reads a field of a section of INFO.
func (r *Redis) Info(section, field string) string {
	return server.InfoField(r.RDB.Info(context.Background(), section).Val(), field)
}

// Set lets the clock stand at a second since 1970.
func (r *Redis) Set(t rapid.TB, s int64) {
	t.Helper()
	text := time.Unix(s, 0).UTC().Format(time.DateTime) + "\n"
	if err := os.WriteFile(r.clock+".new", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(r.clock+".new", r.clock); err != nil { // the server never reads half of it
		t.Fatal(err)
	}
}
