package observe

import (
	"context"
	"net"
	"os"
	"os/exec"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server"
)

func TestMain(m *testing.M) { os.Exit(suite.Live(m).Run()) }

// startRedis starts a redis-server for a test.
func startRedis(t *testing.T, options ...string) (address string, admin *redis.Client) {
	t.Helper()
	binary, err := server.FindRedis("")
	if err != nil {
		suite.Lacks(t, "redis-server")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address = l.Addr().String()
	_ = l.Close()
	_, port, _ := net.SplitHostPort(address)
	cmd := exec.Command(binary, append([]string{"--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", t.TempDir()}, options...)...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	admin = server.AdminClient(server.Door{Address: address})
	t.Cleanup(func() { _ = admin.Close() })
	suite.Succeeds(t, "an answer of redis-server", func() error { return admin.Ping(context.Background()).Err() })
	return address, admin
}
