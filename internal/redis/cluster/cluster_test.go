package cluster_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/redis/cluster"
	"github.com/redlock-sim/redlock-sim/internal/redis/command"
)

func shape() *cluster.Shape {
	return &cluster.Shape{Seed: 7, Names: []string{"A", "B", "C", "D", "E", "F"}, Primaries: 3, Slot: command.Slot("lock")}
}

func place(name string) cluster.Place {
	return cluster.Place{Host: "127.0.0.1", Port: 7000 + int(name[0]), Bus: 8000 + int(name[0])}
}

// TestFile: what a node knows at the start says who it is, whose replicas there are, and that the first primary has the lock's slot.
func TestFile(t *testing.T) {
	s := shape()
	for name, follows := range map[string]string{"A": "", "B": "", "D": "A", "E": "B"} {
		file := string(s.File(name, place))
		sees, err := s.Read(file)
		if err != nil || sees.Owner != "A" || sees.Epoch != 1 || sees.Follows != follows || len(sees.Failed) > 0 {
			t.Errorf("%s sees %+v, %v in\n%s", name, sees, err, file)
		}
		if strings.Count(file, "myself") != 1 || !strings.Contains(file, cluster.ID(7, "D")+" 127.0.0.1:7068@8068 ") {
			t.Errorf("%s knows\n%s", name, file)
		}
	}
	slots := 0
	for line := range strings.Lines(string(s.File("A", place))) {
		f := strings.Fields(line)
		if first, last, err := command.ParseSlots(f[len(f)-1]); err == nil && strings.Contains(line, "master") {
			slots += last - first + 1
		}
	}
	if slots != command.Slots {
		t.Errorf("primaries have %d slots", slots)
	}
}

// TestTell: what has changed in the eyes of a node is told, once.
func TestTell(t *testing.T) {
	s := shape()
	start := string(s.File("D", place))
	a, d := cluster.ID(7, "A"), cluster.ID(7, "D")
	failed := strings.Replace(start, "@8065 master", "@8065 master,fail", 1)
	lines := strings.SplitAfter(failed, "\n")
	slots := lines[0][strings.LastIndex(lines[0], " "):]
	lines[0] = strings.TrimSuffix(lines[0], slots) + "\n"
	lines[3] = fmt.Sprintf("%s 127.0.0.1:7068@8068 myself,master - 0 0 4 connected%s", d, slots)
	elected := strings.Join(lines, "")
	open := strings.Replace(start, "\n", fmt.Sprintf(" [%d->-%s]\n", s.Slot, cluster.ID(7, "B")), 1)
	for _, c := range []struct {
		name, before, after string
		want                []string
	}{
		{"nothing", start, start, nil},
		{"a failure", start, failed, []string{"cluster failed A 1"}},
		{"an election", failed, elected, []string{"node-promoted", "cluster slot D 4"}},
		{"a return", elected, start, []string{"node-demoted", "cluster slot A 1", "cluster back A 1"}},
		{"an open slot", start, open, []string{"cluster sends B 1"}},
	} {
		before, err1 := s.Read(c.before)
		after, err2 := s.Read(c.after)
		var told []string
		after.Tell("D", before, func(e history.Event) {
			if r := e.Value.Rare; r != nil {
				told = append(told, fmt.Sprintf("%s %s %s %d", e.F, r.Detail, r.Target, r.Epoch.V()))
				return
			}
			told = append(told, string(e.F))
		})
		if slices.Sort(told); err1 != nil || err2 != nil || !slices.Equal(told, slices.Sorted(slices.Values(c.want))) {
			t.Errorf("%s: %v %v %q, want %q", c.name, err1, err2, told, c.want)
		}
	}
	if _, err := s.Read(a + " 127.0.0.1:1@2 master - 0 0 1 connected many\n"); err == nil {
		t.Error("slots that are none are read")
	}
}

// TestSaid: a log tells whether its node serves.
func TestSaid(t *testing.T) {
	for line, want := range map[string]string{
		"1:M 27 Nov 2026 18:58:04.710 # Cluster state changed: fail": history.ClusterRefuses,
		"1:M 27 Nov 2026 18:58:04.710 * Cluster state changed: ok\n": history.ClusterServes,
		"1:M 27 Nov 2026 18:58:04.710 * Ready":                       "",
	} {
		if got := cluster.Said(line); got != want {
			t.Errorf("%q says %q", line, got)
		}
	}
}

// recorded is a node of a cluster that takes note of what it is told.
type recorded struct {
	name, nodes string
	dead        bool
	keys        []any
	told        *[]string
}

func (r *recorded) Name() string  { return r.name }
func (r *recorded) Answers() bool { return !r.dead }
func (r *recorded) Order(words ...string) (any, error) {
	if words[1] == "nodes" {
		return r.nodes, nil
	}
	*r.told = append(*r.told, r.name+": "+strings.Join(words, " "))
	if words[1] == "getkeysinslot" {
		return r.keys, nil
	}
	if words[0] == "migrate" {
		r.keys = nil
	}
	return "OK", nil
}

// TestMove: a slot moves by the commands of redis-cli, with its keys first, last, or without them. Where the old primary is dead it
// stays open.
func TestMove(t *testing.T) {
	s := shape()
	a, b := cluster.ID(7, "A"), cluster.ID(7, "B")
	open := []string{"B: cluster setslot 8718 importing " + a, "A: cluster setslot 8718 migrating " + b}
	keys := []string{"A: cluster getkeysinslot 8718 10", "A: migrate 127.0.0.1 9 " + " 0 60000 keys lock", "A: cluster getkeysinslot 8718 10"}
	none := keys[:1]
	assigned := func(names ...string) (list []string) {
		for _, name := range names {
			list = append(list, name+": cluster setslot 8718 node "+b)
		}
		return list
	}
	for _, c := range []struct {
		name        string
		move        cluster.Move
		dies        bool
		open, close []string
	}{
		{"keys first", cluster.Move{KeysFirst: true}, false, slices.Concat(open, keys), slices.Concat(none, assigned("B", "A", "C"))},
		{"keys last", cluster.Move{}, false, open, slices.Concat(keys, assigned("B", "A", "C"))},
		{"without keys", cluster.Move{KeysLeft: true}, false, open, assigned("B")},
		{"the old primary dies", cluster.Move{}, true, open, nil},
	} {
		var told []string
		m := c.move
		m.Primaries, m.Slot = 3, s.Slot
		m.Reach = func(from, to string) (string, error) { return "127.0.0.1:9", nil }
		var nodes []*recorded
		for _, name := range s.Names {
			n := &recorded{name: name, nodes: string(s.File(name, place)), told: &told}
			nodes, m.Servers = append(nodes, n), append(m.Servers, n)
		}
		nodes[0].keys = []any{"lock"}
		if err := m.Open("B"); err != nil || !slices.Equal(told, c.open) {
			t.Errorf("%s: %v %q, want %q", c.name, err, told, c.open)
		}
		told, nodes[0].dead = nil, c.dies
		if err := m.Finish(); err != nil || !slices.Equal(told, c.close) {
			t.Errorf("%s, at the end: %v %q, want %q", c.name, err, told, c.close)
		}
	}
	m := cluster.Move{Primaries: 3, Slot: s.Slot}
	for _, name := range s.Names {
		m.Servers = append(m.Servers, &recorded{name: name, nodes: string(s.File(name, place)), told: new([]string)})
	}
	for _, to := range []string{"A", "D", "X"} {
		if again := m; again.Open(to) == nil {
			t.Errorf("the slot moves to %s", to)
		}
	}
}
