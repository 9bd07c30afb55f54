package node_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/redis/node"
	"github.com/redlock-sim/redlock-sim/internal/redis/node/nodetest"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server/servertest"
)

// apart are commands whose answers are not compared, with the reason.
var apart = map[string]string{
	"quit":        "it ends the connection: TestConnectionsEnd",
	"command":     "the model has no such list",
	"client|id":   "each server counts for itself: TestConnectionsEnd",
	"client|info": "it tells of sockets",
	"pubsub":      "it only has subcommands", "config": "it only has subcommands",
	"script": "it only has subcommands", "cluster": "it only has subcommands",
}

// Every command of the table is put to a real server by make model-check.
func TestRowsAreTried(t *testing.T) {
	for _, r := range node.Rows() {
		if !slices.Contains(nodetest.Names(), r.Name) && apart[r.Name] == "" {
			t.Errorf("%s has a row, and no shape in which it is drawn", r.Name)
		}
	}
}

// info reads what the server says of commands.
func info(t *testing.T, real *servertest.Redis, words ...any) map[string][]any {
	t.Helper()
	list, err := real.RDB.Do(t.Context(), append([]any{"command", "info"}, words...)...).Slice()
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string][]any)
	for _, one := range list {
		if one != nil {
			c := one.([]any)
			all[c[0].(string)] = c
			for _, sub := range c[9].([]any) {
				all[sub.([]any)[0].(string)] = sub.([]any)
			}
		}
	}
	return all
}

// The table says of each command what a real server says, and names those that it has not.
func TestTableIsRedis(t *testing.T) {
	real := servertest.Start(t, epoch)
	if v := real.Info("server", "redis_version"); !strings.HasPrefix(v, "7.0.") {
		suite.Lacks(t, "Redis 7.0, of which the table is: here it is "+v)
	}
	theirs := info(t, real)
	for _, r := range node.Rows() {
		c := theirs[r.Name]
		if c == nil {
			t.Errorf("%s: Redis has no such command", r.Name)
			continue
		}
		flag := func(name string) bool {
			return slices.ContainsFunc(c[2].([]any), func(f any) bool { return f.(string) == name })
		}
		if int64(r.Arity) != c[1].(int64) || !r.Container &&
			(r.Write != flag("write") || r.NoScript != flag("noscript") || r.Reads && !flag("readonly")) {
			t.Errorf("%s: %+v, Redis: %v", r.Name, r, c[:6])
		}
		if r.Last != 0 && (int64(r.First) != c[3].(int64) || int64(r.Last) != c[4].(int64) || int64(r.Step) != c[5].(int64)) {
			t.Errorf("%s: keys %d %d %d, Redis: %v", r.Name, r.First, r.Last, r.Step, c[3:6])
		}
		if r.Last == 0 && c[4].(int64) != 0 && (r.Name != "watch") {
			t.Errorf("%s has no keys, in Redis %v", r.Name, c[3:6])
		}
		delete(theirs, r.Name)
		for name := range strings.FieldsSeq(r.Others) {
			if theirs[r.Name+"|"+name] == nil {
				t.Errorf("Redis has no %s %s", r.Name, name)
			}
			delete(theirs, r.Name+"|"+name)
		}
	}
	for name := range strings.FieldsSeq(node.Unmodelled) {
		if theirs[name] == nil {
			t.Errorf("Redis has no %s, or it has a row", name)
		}
		delete(theirs, name)
	}
	for name := range theirs {
		if parent, _, sub := strings.Cut(name, "|"); !sub || !slices.Contains(strings.Fields(node.Unmodelled), parent) && parent != "command" {
			t.Errorf("%s is not named", name)
		}
	}
}
