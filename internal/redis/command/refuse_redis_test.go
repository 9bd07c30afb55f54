package command_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
)

// TestRefusesWhatRedisDoes: what a node refuses in each state are the commands without the flag that lets them pass, or with the one that
// bars them. Commands with subcommands have flags for each of these, and scripts are refused because of what they call.
func TestRefusesWhatRedisDoes(t *testing.T) {
	r := startRedis(t)
	infos, err := r.RDB.Command(context.Background()).Result()
	if err != nil {
		t.Fatal(err)
	}
	if len(infos) < 200 {
		t.Fatalf("only %d commands", len(infos))
	}
	flags := map[string]string{"LOADING": "loading", "MASTERDOWN": "stale", "BUSY": "allow_busy", "READONLY": "write", "OOM": "denyoom"}
	for code, flag := range flags {
		for name, info := range infos {
			name := strings.ToUpper(name)
			if len(info.Flags) == 0 || slices.Contains(strings.Fields(`EXEC PFDEBUG PFCOUNT EVAL EVALSHA EVAL_RO EVALSHA_RO FCALL FCALL_RO`), name) {
				continue
			}
			flagged := slices.Contains(info.Flags, flag)
			if bars := code == "READONLY" || code == "OOM"; command.Refuses(code, []string{name}) != (flagged == bars) {
				t.Errorf("%s of %s: got %v, and its flags are %v", code, name, flagged != bars, info.Flags)
			}
		}
	}
}

// TestRefusesSomeOnly: an error is that of a state in which a node answers other commands as ever.
func TestRefusesSomeOnly(t *testing.T) {
	for _, c := range []struct {
		text, words string
		want        bool
	}{
		{"LOADING", "SET lock v", true}, {"LOADING any text", "get lock", true}, {"LOADING", "HELLO 3", false}, {"LOADING", "PING", true},
		{"READONLY", "GET lock", false}, {"READONLY", "EVAL x 1 lock", true}, {"READONLY", "EVAL_RO x 1 lock", false},
		{"OOM", "DEL lock", false}, {"OOM", "SET lock v", true}, {"NOSCRIPT", "EVALSHA x 1 lock", true}, {"NOSCRIPT", "EVAL x 1 lock", false},
		{"CLUSTERDOWN", "GET lock", true}, {"CLUSTERDOWN", "EVAL x 0", false}, {"CLUSTERDOWN", "EVAL x 1 lock", true},
		{"CLUSTERDOWN", "PUBLISH c m", false}, {"MOVED 1 a:1", "GET lock", false}, {"", "GET lock", false},
	} {
		if got := command.Refuses(c.text, strings.Fields(c.words)); got != c.want {
			t.Errorf("%s of %s: got %v, want %v", c.text, c.words, got, c.want)
		}
	}
}
