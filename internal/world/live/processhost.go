package live

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"github.com/redlock-sim/redlock-sim/internal/world/live/machine"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// ErrNoRedis says that no redis-server is installed.
var ErrNoRedis = errors.New("redis-server is not installed")

// FindRedis is the path of redis-server: $REDLOCK_SIM_REDIS_SERVER, or the one
// in PATH.
func FindRedis() (string, error) {
	name := os.Getenv("REDLOCK_SIM_REDIS_SERVER")
	if name == "" {
		name = "redis-server"
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrNoRedis, err)
	}
	return path, nil
}

// processHost runs servers as processes of ours, which die with this program.
type processHost struct {
	plainly
	// binary is the path of redis-server.
	binary string
}

var _ host = processHost{}

func (h processHost) launch(ctx context.Context, n *redisNode) error {
	if old, ok := n.server.(*serverProcess); ok {
		return h.launchOn(ctx, n, old.port)
	}
	return machine.OnFreePort(func(port int) error { return h.launchOn(ctx, n, port) })
}

func (h processHost) launchOn(ctx context.Context, n *redisNode, port int) error {
	log, err := os.OpenFile(n.logPath(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return fmt.Errorf("failed to open the log of node %s: %w", n.name, err)
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(h.binary, append([]string{
		"--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--protected-mode", "yes", "--dir", n.dir,
	}, n.commonArguments()...)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = n.dir, log, log
	clock, moved := n.clock.(*nodeClock)
	if moved {
		cmd.Env = append(os.Environ(), clock.variables()...)
	}
	c, err := machine.Start("redis-server "+n.name, cmd)
	if err != nil {
		return err
	}
	if err := n.begin(ctx, &serverProcess{Child: c, port: port, log: n.logPath()}); err != nil {
		return err
	}
	if moved {
		unlinkFaketimeShared(c.PID())
	}
	return nil
}

func (processHost) clock(n *redisNode) (movableClock, error) {
	library, err := FindFaketime()
	if err != nil {
		return nil, err
	}
	return newNodeClock(n.dir, n.dir, library+":"+libc())
}

func (processHost) reachable(address string) (string, error) { return address, nil }
func (processHost) versions() map[string]string              { return nil }
func (processHost) Close() error                             { return nil }

// serverProcess is a redis-server of ours.
type serverProcess struct {
	*machine.Child
	port int
	// log is the path of its log.
	log string
}

var _ server = (*serverProcess)(nil)

func (s *serverProcess) door() door {
	return door{address: net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port))}
}

func (s *serverProcess) wrote(info string) bool {
	return infoField(info, "process_id") == strconv.Itoa(s.PID())
}

func (s *serverProcess) lastWords() error {
	text, _ := os.ReadFile(s.log)
	if bytes.Contains(text, []byte("Address already in use")) {
		_ = os.Remove(s.log)
		return fmt.Errorf("port %d: %w", s.port, machine.ErrPortTaken)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return fmt.Errorf("%s ended at once (%w): %s", s.Name, s.Err, lines[len(lines)-1])
}

func (s *serverProcess) leave() { _ = s.Kill() }
