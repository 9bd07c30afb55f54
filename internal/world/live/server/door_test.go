package server

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

// The passwords are in nobody's sight: not among the arguments of processes, and not on disk.
func TestNoPasswordCanBeRead(t *testing.T) {
	if _, err := FindRedis(""); err != nil {
		suite.Lacks(t, "redis-server")
	}
	t.Setenv("REDLOCK_SIM_ETCD", "/nonexistent")
	ctx := context.Background()
	spec := &world.Spec{Name: t.Name(), Dir: t.TempDir(),
		Nodes: []world.Node{{Name: "A", Persistence: world.AOFAlways}}, Lock: lock.Config{Tokens: lock.Consensus}}
	s, err := New(ctx, spec, spec.Dir, Options{Nodes: Process})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop()
	if err := s.Start(ctx); err != nil {
		t.Fatal(err)
	}
	if err := s.StartConsensus(ctx); err != nil {
		t.Fatal(err)
	}
	nodes := append(s.All(), s.Consensus.node)
	if len(nodes) != 3 {
		t.Fatalf("%d servers", len(nodes))
	}
	for _, n := range nodes {
		if err := n.Admin.Set(ctx, "key", "value", 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Nodes["A"].Server.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := s.Nodes["A"].Restart(ctx, world.KeepData); err != nil {
		t.Fatal(err)
	}
	unseen := func(what string, text []byte) {
		for _, n := range nodes {
			if len(n.password) < 26 {
				t.Fatalf("the password of %s is %q", n.Name, n.password)
			}
			if bytes.Contains(text, []byte(n.password)) {
				t.Errorf("%s has the password of %s", what, n.Name)
			}
		}
	}
	for _, n := range nodes {
		arguments, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", n.Server.PID()))
		if err != nil {
			t.Fatal(err)
		}
		unseen(fmt.Sprintf("the command line %q", arguments), arguments)
	}
	unseenIn := func(dir string) (files int) {
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() {
				return err
			}
			files++
			text, err := os.ReadFile(path)
			unseen(path, text)
			return err
		})
		if err != nil {
			t.Error(err)
		}
		return files
	}
	if unseenIn(spec.Dir) < 4 { // three logs, and what node A keeps
		t.Error("the servers have no files")
	}
	s.Stop()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	unseenIn(spec.Dir)
}

// Who comes over a link sees nothing of the password, unless the server refuses it.
func TestALinkPassesNoAnswerToItsPassword(t *testing.T) {
	for said, want := range map[string]string{
		"+OK\r\n":                                "",
		"+OK\r\n+PONG\r\n":                       "+PONG\r\n",
		"-ERR max number of clients reached\r\n": "-ERR max number of clients reached\r\n",
		"+O":                                     "+O",
		"":                                       "",
	} {
		got, err := io.ReadAll(&authenticated{Conn: saying(said)})
		if string(got) != want || err != nil {
			t.Errorf("of %q %q is passed on, want %q (%v)", said, got, want, err)
		}
	}
	got, err := io.ReadAll(&authenticated{Conn: saying("+OK\r\n+OK\r\n+PONG\r\n"), more: 1})
	if string(got) != "+PONG\r\n" || err != nil {
		t.Errorf("of the answers to two commands %q is passed on (%v)", got, err)
	}
}

// saying is a connection over which something is said, byte by byte.
func saying(said string) net.Conn {
	near, far := net.Pipe()
	go func() {
		for i := range said {
			_, _ = far.Write([]byte{said[i]})
		}
		_ = far.Close()
	}()
	return near
}

// Clients of any version may publish.
func TestClientsMayDoAnything(t *testing.T) {
	binary, err := FindRedis("")
	if err != nil {
		suite.Lacks(t, "redis-server")
	}
	n := &Node{Name: "A", Host: processHost{binary: binary}, dir: t.TempDir(), log: filepath.Join(t.TempDir(), "A.log")}
	if err := n.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer n.Stop()
	conn, err := n.Endpoint("A").Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	for _, words := range [][]string{{"PUBLISH", "channel", "x"},
		{"EVAL", "return redis.call('publish', 'c', 'x')", "0"}, {"CONFIG", "GET", "port"}, {"SUBSCRIBE", "channel"}} {
		if err := mustDo(conn, words...); err != nil {
			t.Errorf("%v: %v", words, err)
		}
	}
}
