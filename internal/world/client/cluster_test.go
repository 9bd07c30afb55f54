package client_test

import (
	"slices"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/world/client"
)

// told is a node of a cluster that answers as it is told to.
type told struct {
	name    string
	answers map[string][]command.Reply
	asked   *[]string
}

func (n told) Name() string { return n.name }
func (n told) Do(c command.Command) command.Reply {
	asked := n.name
	if c.Asking {
		asked += " asking"
	}
	*n.asked = append(*n.asked, asked)
	list := n.answers[n.name]
	if len(list) == 0 {
		return command.IntReply(1)
	}
	n.answers[n.name] = list[1:]
	return list[0]
}

// TestCluster: MOVED is for good, ASK for once; who does not answer, or serves nobody, is asked no more.
func TestCluster(t *testing.T) {
	refused := func(why string) []command.Reply { return []command.Reply{command.RefusedReply(why)} }
	moved := "MOVED 1 b:1"
	for what, c := range map[string]struct {
		answers map[string][]command.Reply
		// first and then are who is asked by two commands.
		first, then []string
		ok          bool
	}{
		"all is well":     {nil, []string{"a"}, []string{"a"}, true},
		"moved":           {map[string][]command.Reply{"a": refused(moved)}, []string{"a", "b"}, []string{"b"}, true},
		"asked":           {map[string][]command.Reply{"a": refused("ASK 1 b:1")}, []string{"a", "b asking"}, []string{"a"}, true},
		"asked to nobody": {map[string][]command.Reply{"a": refused("ASK 1 x:1")}, []string{"a"}, []string{"a"}, false},
		"try again":       {map[string][]command.Reply{"a": refused("TRYAGAIN later")}, []string{"a", "a"}, []string{"a"}, true},
		"down":            {map[string][]command.Reply{"a": refused("CLUSTERDOWN no")}, []string{"a"}, []string{"b"}, false},
		"not connected":   {map[string][]command.Reply{"a": refused(client.NotConnected + ": no")}, []string{"a"}, []string{"b"}, false},
		"no answer":       {map[string][]command.Reply{"a": {command.UnknownReply("timeout")}}, []string{"a"}, []string{"b"}, false},
		"a plain refusal": {map[string][]command.Reply{"a": refused("ERR no")}, []string{"a"}, []string{"a"}, false},
		"to and fro": {map[string][]command.Reply{"a": slices.Repeat(refused(moved), 9), "b": slices.Repeat(refused("MOVED 1 a:1"), 9)},
			[]string{"a", "b", "a", "b"}, []string{"a", "b", "a", "b"}, false},
	} {
		var asked []string
		named := map[string]string{"a:1": "a", "b:1": "b"}
		now := time.Duration(0)
		cluster := &client.Cluster{Called: "primary", Named: func(address string) string { return named[address] },
			Now: func() time.Duration { now += time.Millisecond; return now }, Sleep: func(d time.Duration) { now += d }}
		for _, name := range []string{"a", "b"} {
			cluster.Nodes = append(cluster.Nodes, told{name, c.answers, &asked})
		}
		cmd := command.Command{Op: command.PING, Timeout: time.Minute}
		if r := cluster.Do(cmd); r.OK() != c.ok || !slices.Equal(asked, c.first) {
			t.Errorf("%s: %+v of %v, want %v", what, r, asked, c.first)
		}
		asked = nil
		if cluster.Do(cmd); !slices.Equal(asked, c.then) {
			t.Errorf("%s, then: %v, want %v", what, asked, c.then)
		}
	}
}
