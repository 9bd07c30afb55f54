package node_test

import (
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/redis/command/model"
	"github.com/redlock-sim/redlock-sim/internal/redis/node"
	"github.com/redlock-sim/redlock-sim/internal/redis/node/nodetest"
)

func BenchmarkSetNXPX(b *testing.B) {
	m := &model.Memory{Now: 1_700_000_000_000_000}
	c := node.New(m, node.Config{}).Open(nil)
	words := []string{"SET", "lock", "c1-0", "NX", "PX", "8000"}
	var buffer []byte
	b.ReportAllocs()
	for b.Loop() {
		m.Items = m.Items[:0]
		if buffer, _ = c.Do(buffer[:0], words); string(buffer) != "+OK\r\n" {
			b.Fatalf("%q", buffer)
		}
	}
}

// BenchmarkEvalSHA is a lock that is taken and given back by a script.
func BenchmarkEvalSHA(b *testing.B) {
	m := &model.Memory{Now: 1_700_000_000_000_000}
	c := node.New(m, node.Config{}).Open(nil)
	buffer, _ := c.Do(nil, []string{"SCRIPT", "LOAD", nodetest.RedsyncDelete})
	words := []string{"EVALSHA", command.SHA(nodetest.RedsyncDelete), "1", "lock", "c1-0"}
	item := model.Item{Key: "lock", Value: "c1-0"}
	b.ReportAllocs()
	for b.Loop() {
		m.Items = append(m.Items[:0], item)
		if buffer, _ = c.Do(buffer[:0], words); string(buffer) != ":1\r\n" {
			b.Fatalf("%q", buffer)
		}
	}
}

// BenchmarkLuaLoop is what the bound of a script costs: 100,000 rounds of a loop.
func BenchmarkLuaLoop(b *testing.B) {
	c := node.New(&model.Memory{}, node.Config{}).Open(nil)
	var buffer []byte
	for b.Loop() {
		buffer, _ = c.Do(buffer[:0], []string{"EVAL", "local n = 0 for i = 1, 100000 do n = n + i end return n", "0"})
	}
	if string(buffer) != ":5000050000\r\n" {
		b.Fatalf("%q", buffer)
	}
}
