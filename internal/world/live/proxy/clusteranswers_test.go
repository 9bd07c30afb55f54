package proxy_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/redis/cluster"
	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/redis/resp"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
	"github.com/redlock-sim/redlock-sim/internal/world/live/proxy"
)

// What a node of a Redis Cluster says of the addresses of others, and of its own, leads to the client's links: in both versions of the
// protocol, alone, in a pipeline and in a transaction. Nothing else is changed.
func TestClusterAnswers(t *testing.T) {
	for _, version := range append(suite.Versions(), "this machine's") {
		t.Run(version, func(t *testing.T) {
			binary := "redis-server"
			if version == "this machine's" {
				if _, err := exec.LookPath(binary); err != nil {
					suite.Lacks(t, binary)
				}
			} else {
				suite.All(t)
				binary = suite.Server(t, version)
			}
			for _, protocol := range []string{"2", "3"} {
				clusterAnswers(t, startMember(t, binary), protocol)
			}
		})
	}
}

// announced is the port at which a node is known, and own that of the client's link.
func announced(name string) int { return 20_000 + int(name[0]) }
func own(name string) string    { return fmt.Sprint(7000 + int(name[0])) }

var clusterShape = cluster.Shape{Seed: 7, Names: []string{"A", "B", "C", "D", "E", "F"}, Primaries: 3, Slot: command.Slot("lock")}

// startMember starts a node that knows a cluster, whose others are not there, and returns where it listens.
func startMember(t *testing.T, binary string) string {
	dir := t.TempDir()
	file := clusterShape.File("A", func(name string) cluster.Place {
		return cluster.Place{Host: "127.0.0.1", Port: announced(name), Bus: 30_000 + int(name[0])}
	})
	if strings.Contains(binary, "redis-8") || strings.Contains(binary, "valkey") { // CLUSTER SHARDS says nothing of nodes without a shard
		lines := strings.SplitAfter(string(file), "\n")
		for i := range clusterShape.Names {
			shard := cluster.ID(7, clusterShape.Names[i%clusterShape.Primaries])
			lines[i] = regexp.MustCompile(`(@\d+) `).ReplaceAllString(lines[i], "$1,,shard-id="+shard+" ")
		}
		file = []byte(strings.Join(lines, ""))
	}
	if err := os.WriteFile(filepath.Join(dir, cluster.ConfigFile), file, 0o600); err != nil {
		t.Fatal(err)
	}
	var address string
	err := machine.OnFreePort(func(port int) error {
		cmd := exec.Command(binary, "--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--dir", dir, "--cluster-enabled", "yes",
			"--cluster-node-timeout", "600000", "--cluster-require-full-coverage", "no", "--cluster-announce-ip", "127.0.0.1",
			"--cluster-announce-port", strconv.Itoa(announced("A")), "--cluster-announce-bus-port", "30065", "--save", "")
		cmd.Dir = dir
		child, err := machine.Start(binary, cmd)
		if err != nil {
			return err
		}
		address = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		t.Cleanup(func() { _ = child.Kill() })
		suite.Eventually(t, "the node serves", func() bool { return child.Dead() || strings.Contains(askOnce(address), "cluster_state:ok") })
		if child.Dead() {
			return machine.ErrPortTaken
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// askOnce is what a node says of its cluster; empty: it does not answer.
func askOnce(address string) string {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return ""
	}
	defer func() { _ = conn.Close() }()
	answers, _ := talk(conn, 1, []string{"CLUSTER", "INFO"})
	return append(answers, resp.Value{})[0].Text
}

// talk sends commands in one go and reads some answers.
func talk(conn net.Conn, many int, commands ...[]string) (answers []resp.Value, err error) {
	if err := conn.SetDeadline(time.Now().Add(suite.Patience)); err != nil {
		return nil, err
	}
	var sent, got []byte
	for _, words := range commands {
		sent = resp.AppendCommand(sent, words...)
	}
	if _, err := conn.Write(sent); err != nil {
		return nil, err
	}
	for len(answers) < many {
		v, n, err := resp.Parse(got)
		if err == nil {
			answers, got = append(answers, v), got[n:]
			continue
		}
		if !errors.Is(err, resp.ErrShort) {
			return answers, err
		}
		chunk := make([]byte, 512)
		n, err = conn.Read(chunk)
		if got = append(got, chunk[:n]...); err != nil {
			return answers, err
		}
	}
	return answers, nil
}

// keyOf is a key of which a node has the slot.
func keyOf(t *testing.T, owner string) string {
	for i := range 1000 {
		key := fmt.Sprint("key", i)
		one := clusterShape
		one.Slot = command.Slot(key)
		file := clusterShape.File("A", func(string) cluster.Place { return cluster.Place{} })
		if sees, err := one.Read(string(file)); err == nil && sees.Owner == owner {
			return key
		}
	}
	t.Fatalf("%s has the slot of no key", owner)
	return ""
}

func clusterAnswers(t *testing.T, address, protocol string) {
	mine, other := keyOf(t, "A"), keyOf(t, "B")
	slot := strconv.Itoa(command.Slot(mine))
	instead := func(known string) (string, bool) {
		for _, name := range clusterShape.Names {
			if known == net.JoinHostPort("127.0.0.1", strconv.Itoa(announced(name))) {
				return net.JoinHostPort("127.0.0.1", own(name)), true
			}
		}
		return "", false
	}
	direct, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = direct.Close() }()
	through, err := proxy.Readdress(func(ctx context.Context) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", address)
	}, instead)(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = through.Close() }()
	for _, conn := range []net.Conn{direct, through} {
		if _, err := talk(conn, 1, []string{"HELLO", protocol}); err != nil {
			t.Fatal(err)
		}
	}
	migrating := []string{"CLUSTER", "SETSLOT", slot, "MIGRATING", cluster.ID(7, "B")}
	for _, c := range []struct {
		what     string
		commands [][]string
		// tells is how many addresses the answers have, at least.
		tells int
	}{
		{"MOVED", [][]string{{"GET", other}}, 1},
		{"MOVED in a pipeline", [][]string{{"PING"}, {"GET", other}, {"SET", mine, "127.0.0.1:1"}, {"GET", mine}, {"SET", other, "v"}}, 2},
		{"MOVED in a transaction", [][]string{{"MULTI"}, {"GET", other}, {"EXEC"}}, 1},
		{"MOVED of a script", [][]string{{"EVAL", "return redis.call('get', KEYS[1])", "1", other}}, 1},
		{"ASK", [][]string{migrating, {"DEL", mine}, {"GET", mine}}, 0},
		{"ASK, again", [][]string{{"GET", mine}, {"PING"}}, 1},
		{"ASK of EXEC", [][]string{{"MULTI"}, {"GET", mine}, {"EXEC"}}, 1},
		{"the end of that", [][]string{{"CLUSTER", "SETSLOT", slot, "STABLE"}}, 0},
		{"CLUSTER SLOTS", [][]string{{"CLUSTER", "SLOTS"}}, 3},
		{"CLUSTER SHARDS", [][]string{{"CLUSTER", "SHARDS"}}, 0},
		{"CLUSTER NODES", [][]string{{"CLUSTER", "NODES"}}, 6},
		{"CLUSTER SLAVES", [][]string{{"CLUSTER", "SLAVES", cluster.ID(7, "B")}}, 1},
		{"what is no address", [][]string{{"SET", mine, "20065"}, {"GET", mine}, {"COMMAND", "COUNT"}, {"GET", "{" + mine + "}"}}, 0},
	} {
		want, err := talk(direct, len(c.commands), c.commands...)
		if err != nil {
			t.Fatalf("%s: %v", c.what, err)
		}
		got, err := talk(through, len(c.commands), c.commands...)
		if err != nil {
			t.Fatalf("%s: %v", c.what, err)
		}
		if c.what == "ASK" { // the key is gone when it is asked for the second time
			continue
		}
		tells := 0
		for i := range want {
			tells += same(t, protocol+" "+c.what, want[i], got[i])
		}
		if c.what == "CLUSTER SHARDS" && want[0].Kind != resp.Error { // Redis 6.2 does not know it
			c.tells = 6
		}
		if tells < c.tells {
			t.Errorf("%s, protocol %s: %d addresses in %+v", c.what, protocol, tells, got)
		}
	}
}

// same compares an answer with what came of it, and counts the addresses.
func same(t *testing.T, what string, want, got resp.Value) (addresses int) {
	if want.Kind != got.Kind || want.Null != got.Null || len(want.List) != len(got.List) {
		t.Errorf("%s: %+v became %+v", what, want, got)
		return 0
	}
	for i := range want.List {
		addresses += same(t, what, want.List[i], got.List[i])
	}
	before, after := want.Text, got.Text
	for _, name := range clusterShape.Names {
		port := strconv.Itoa(announced(name))
		addresses += strings.Count(before, "127.0.0.1:"+port)
		before = strings.ReplaceAll(before, "127.0.0.1:"+port, "127.0.0.1:"+own(name))
		if want.Kind == resp.Integer && before == port {
			addresses, before = addresses+1, own(name)
		}
	}
	if before != after && !strings.Contains(what, "NODES") && !strings.Contains(what, "SLAVES") { // which tell of times, too
		t.Errorf("%s: %q became %q", what, want.Text, after)
	}
	if strings.Contains(after, "127.0.0.1:200") || want.Kind == resp.Integer && strings.HasPrefix(after, "200") && len(after) == 5 {
		t.Errorf("%s: %q is past the links", what, after)
	}
	return addresses
}
