package command_test

import (
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/redis/command/commandtest"
)

// An option that a command does not take is refused, not left out.
func TestOptionsAreNotLeftOut(t *testing.T) {
	node := commandtest.NewNode("A", &commandtest.Clock{})
	node.Do(command.Set("k", "v", time.Second))
	for _, c := range []command.Command{
		{Op: command.PEXPIRE, Key: "k", TTL: time.Minute, NX: true},
		{Op: command.DEL, Key: "k", NX: true},
		{Op: command.SET, Key: "k", Value: "w", TTL: -time.Second},
		{Op: command.SET, Key: "k", Value: "w", Discard: true},
		{Op: command.SET, Key: "k", Value: "w", Args: []string{"v"}, NX: true}, // NX and IFEQ
		{Op: command.EXEC, Body: []command.Command{{Op: command.DEL, Key: "k", NX: true}}},
		{Op: command.WATCH, Keys: []string{"k"}}, // the node does not have it
	} {
		if r := node.Do(c); r.Outcome != command.Refused || r.Err() == "" {
			t.Errorf("%+v was answered %v", c, r)
		}
	}
	if r := node.Do(command.Get("k")); r.Str() != "v" {
		t.Errorf("the key is %v", r)
	}
	if c := command.Exec(command.SetNX("k", "v", 0)); c.Refusal() != "" {
		t.Errorf("a transaction is refused: %s", c.Refusal())
	}
}
