package node_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/redis/command/model"
	"github.com/redlock-sim/redlock-sim/internal/redis/node"
	"github.com/redlock-sim/redlock-sim/internal/scenario/resource"
)

// What Redis has and the model has not is told, as is a script without an end.
func TestLuaTellsWhatItLacks(t *testing.T) {
	var told []string
	c := node.New(&model.Memory{}, node.Config{Unknown: func(what string) { told = append(told, what) }}).Open(nil)
	for _, text := range []string{"while true do end",
		"pcall(function() while true do end end)", "return cmsgpack.pack(1)", "return table.foreach({}, print)", "return gcinfo()",
		"return string.format('%s', 1/3)", "return string.rep('x', 1e9)",
		"return cjson.encode({a = 1, b = 2})", "local t = {} t[1] = t return t"} {
		told = nil
		answer, _ := c.Do(nil, []string{"EVAL", text, "0"})
		if len(told) == 0 {
			t.Errorf("%s: nobody was told; the answer is %.100q", text, answer)
		}
	}
}

// A known script does as Go what it does as Lua.
func TestTwinsAreLua(t *testing.T) {
	all := append(lock.Scripts(), resource.Scripts()...)
	rapid.Check(t, func(t *rapid.T) {
		memories := []*model.Memory{{Now: epoch * 1e6}, {Now: epoch * 1e6}}
		conns := []*node.Conn{node.New(memories[0], node.Config{Scripts: all}).Open(nil), node.New(memories[1], node.Config{}).Open(nil)}
		word := rapid.SampledFrom([]string{"1", "2", "40", "c1", "1000"})
		for range rapid.IntRange(1, 20).Draw(t, "commands") {
			words := []string{"SET", rapid.SampledFrom([]string{"lock", "token"}).Draw(t, "key"), word.Draw(t, "value")}
			s := rapid.SampledFrom(append(all, nil)).Draw(t, "script")
			if s != nil {
				if !slices.Contains([]string{"release", "extend", "extend-or-set", "acquire-counted", "raise-counter"}, s.Name) {
					continue
				}
				words = []string{"EVAL", s.Lua, "2", "lock", "token", word.Draw(t, "owner"), rapid.SampledFrom([]string{"1000", "2"}).Draw(t, "number")}
				if s.Name == "raise-counter" {
					words = []string{"EVAL", s.Lua, "1", "token", rapid.SampledFrom([]string{"1000", "2"}).Draw(t, "number")}
				}
			}
			a, _ := conns[0].Do(nil, words)
			b, _ := conns[1].Do(nil, words)
			if string(a) != string(b) && !strings.HasPrefix(string(b), "-") {
				t.Fatalf("%q: as Go %q, as Lua %q", words, a, b)
			}
		}
	})
}
