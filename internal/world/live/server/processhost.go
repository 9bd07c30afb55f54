package server

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/redlock-sim/redlock-sim/internal/machine"
)

// ErrNoRedis says that no redis-server is installed, ErrNoProgram that there is none where it was named.
var (
	ErrNoRedis   = errors.New("redis-server is not installed")
	ErrNoProgram = errors.New("there is no server program")
)

// FindRedis is the path of a server program: of the one that is named, else of $REDLOCK_SIM_REDIS_SERVER, else of redis-server. Names
// without a folder are looked up in PATH.
func FindRedis(named string) (string, error) {
	path, err := exec.LookPath(cmp.Or(named, os.Getenv("REDLOCK_SIM_REDIS_SERVER"), "redis-server"))
	if err == nil {
		path, err = filepath.Abs(path) // it is started in another folder
	}
	switch {
	case err != nil && named != "":
		return "", fmt.Errorf("%w %s: %w", ErrNoProgram, named, err)
	case err != nil:
		return "", fmt.Errorf("%w: %w", ErrNoRedis, err)
	}
	return path, nil
}

// processHost runs servers as processes of ours, which die with this program.
type processHost struct {
	ownHost
	// binary is the path of redis-server.
	binary string
	// old: it is older than Redis 7.
	old bool
	// loans are the servers that go on after the run; nil: none does.
	loans *loans
}

var _ Host = processHost{}

func (h processHost) launch(ctx context.Context, n *Node) error {
	if old, ok := n.Server.(*serverProcess); ok {
		return h.launchOn(ctx, n, old.port, n.dir, n.log)
	}
	if h.loans != nil && n.plain && n.Clock == nil {
		return h.loans.launch(ctx, n, h)
	}
	start := func(port int) error { return h.launchOn(ctx, n, port, n.dir, n.log) }
	if n.member != nil {
		return n.member.onFreePorts(n, h.old, start)
	}
	return machine.OnFreePort(start)
}

// launchOn starts a server that works in a folder.
func (h processHost) launchOn(ctx context.Context, n *Node, port int, dir, logPath string) error {
	log, err := openLog(logPath)
	if err != nil {
		return fmt.Errorf("failed to open the log of node %s: %w", n.Name, err)
	}
	defer func() { _ = log.Close() }()
	args := append([]string{"--port", strconv.Itoa(port), "--protected-mode", "yes", "--dir", dir}, n.commonArguments()...)
	switch {
	case n.member != nil:
		args = append(args, n.member.bound(n, h.old)...)
	case n.failsOver():
		args = append(args, "--bind", "127.0.0.1", "--bind-source-addr", n.source)
	default:
		args = append(args, "--bind", "127.0.0.1")
	}
	if n.failsOver() {
		if args, err = n.writeSettings(dir, args); err != nil {
			return err
		}
	}
	cmd := exec.Command(h.binary, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, log, log
	if clock, moved := n.Clock.(*machine.Faketime); moved {
		cmd.Env = machine.Environ(clock.Variables())
	}
	c, err := machine.Start("redis-server "+n.Name, cmd)
	if err != nil {
		return err
	}
	return n.begin(ctx, &serverProcess{Child: c, port: port, password: n.password, dir: dir, log: logPath})
}

func (processHost) clock(n *Node) (movableClock, error) { return machine.NewFaketimeHere(n.dir) }

func (processHost) Reachable(address string) (string, error) { return address, nil }
func (processHost) Versions() map[string]string              { return nil }

// Close gives back what was lent.
func (h processHost) Close() error {
	if h.loans == nil {
		return nil
	}
	return h.loans.end()
}

// serverProcess is a redis-server of ours.
type serverProcess struct {
	*machine.Child
	port     int
	password string
	// dir has its data, log is the path of its log.
	dir, log string
	// lent: it goes on after the run, whose log is at runLog.
	lent   bool
	runLog string
}

var _ server = (*serverProcess)(nil)

func (s *serverProcess) folder() string { return s.dir }

func (s *serverProcess) Door() Door { return onLoopback(s.port, s.password, true) }

func (s *serverProcess) checkInfo(info string) error {
	pid, err := strconv.Atoi(InfoField(info, "process_id"))
	if err == nil && pid == s.PID() {
		return nil
	}
	if err == nil && machine.GroupOf(pid) == s.PID() {
		return errors.New("the server is not the process that sim has started: a script in its place has to end with exec redis-server")
	}
	return machine.ErrPortTaken
}

func (s *serverProcess) whyEnded() error {
	text, _ := os.ReadFile(s.log)
	if bytes.Contains(text, []byte("Address already in use")) {
		_ = os.Remove(s.log)
		return fmt.Errorf("port %d: %w", s.port, machine.ErrPortTaken)
	}
	return fmt.Errorf("%s ended at once (%w): %s", s.Name, s.Err, lastLine(text))
}

func (s *serverProcess) leave() {
	if !s.lent {
		_ = s.Kill()
	} else if s.Dead() {
		_ = s.saveLog() // before whoever comes in its place writes there
	}
}

// openLog opens a log to append to it.
func openLog(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
}
