package virtual

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/redis/command/model"
	"github.com/redlock-sim/redlock-sim/internal/scenario/resource"
	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/client/process"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server/servertest"
)

// realRedis is a redis-server that a model is compared with.
type realRedis struct{ *servertest.Redis }

func startRealRedis(t *testing.T, args ...string) *realRedis {
	t.Helper()
	return &realRedis{servertest.Start(t, epochSeconds, args...)}
}

const epochSeconds = int64(epoch / time.Second)

// same compares what the model and the server answered; of an error only how it
// begins, for scripts add where it happened.
func same(model, real command.Reply) bool {
	return model.Outcome == real.Outcome && model.Nil == real.Nil && model.Int == real.Int && model.Str() == real.Str() &&
		(model.Err() == real.Err() || model.Err() != "" && strings.HasPrefix(real.Err(), model.Err())) &&
		slices.Equal(model.List(), real.List()) && slices.EqualFunc(model.Body(), real.Body(), same)
}

// both puts a command to the server and to the model, and wants the same answer.
func (r *realRedis) both(t rapid.TB, m *model.Memory, c command.Command) {
	t.Helper()
	want := process.Carry(context.Background(), r.RDB, c)
	if got := m.Do(&c); !same(got, want) {
		t.Fatalf("%v %s: the model answers %v, Redis %v", c.Op, c.Key, got, want)
	}
}

// Keys by what they hold: the locks' scripts find what they expect there, plain
// commands do whatever they like to the first ones.
var (
	anyKeys     = []string{"a", "b", "lock"}
	counterKeys = []string{"lock:token", "count"}
	logKey      = resource.Config{Key: "resource"}.LogKey()
)

func drawTTL(t *rapid.T) time.Duration {
	return time.Duration(rapid.SampledFrom([]int{1, 2, 999, 1000, 1001, 2000, 2001, 3000, 10_000}).Draw(t, "ms")) * time.Millisecond
}

func drawCommand(t *rapid.T) command.Command {
	key := rapid.SampledFrom(append(append([]string{logKey}, anyKeys...), counterKeys...)).Draw(t, "key")
	switch rapid.IntRange(0, 9).Draw(t, "op") {
	case 0:
		return command.Get(key)
	case 1, 2:
		if key == logKey {
			return command.Del(key)
		}
		values := []string{"", "x", "c1-0", "1.5", " 7", "007", "-3", "9223372036854775806", "9223372036854775807"}
		if key != "a" && key != "b" && key != "lock" {
			values = []string{"0", "1", "41"}
		}
		c := command.Set(key, rapid.SampledFrom(values).Draw(t, "value"), 0)
		c.NX = rapid.Bool().Draw(t, "nx")
		if rapid.Bool().Draw(t, "expiring") {
			c.TTL = drawTTL(t)
		}
		return c
	case 3:
		return command.Del(key)
	case 4:
		c := command.PExpire(key, drawTTL(t))
		if rapid.IntRange(0, 9).Draw(t, "past") == 0 {
			c.TTL = -time.Second
		}
		return c
	case 5:
		return command.TTLOf(key)
	case 6:
		return command.Incr(key)
	}
	return drawScript(t)
}

func drawScript(t *rapid.T) command.Command {
	scripts := append(lock.Scripts(), resource.Scripts()...)
	s := rapid.SampledFrom(scripts).Draw(t, "script")
	owner := rapid.SampledFrom([]string{"c1-0", "c2-0"}).Draw(t, "owner")
	number := rapid.SampledFrom([]string{"0", "1", "2", "40", "100"})
	key := rapid.SampledFrom(anyKeys).Draw(t, "script key")
	counter := rapid.SampledFrom(counterKeys).Draw(t, "counter")
	switch s.Name {
	case "release":
		return command.Eval(s, []string{key}, owner)
	case "extend", "extend-or-set":
		return command.Eval(s, []string{key}, owner, command.Itoa(command.Milliseconds(drawTTL(t))))
	case "acquire-counted":
		return command.Eval(s, []string{key, counter}, owner, command.Itoa(command.Milliseconds(drawTTL(t))))
	case "pair":
		return command.Eval(s, []string{"resource:list", "resource:other"}, number.Draw(t, "number"))
	case "raise-counter":
		return command.Eval(s, []string{counter}, number.Draw(t, "least"))
	case "register", "check", "take", "list":
		value, ops := "resource:value", []string{"read", "write"}
		switch s.Name {
		case "check":
			ops = ops[1:]
		case "take":
			ops = []string{"cas"}
		case "list":
			value = "resource:list"
		}
		token := rapid.SampledFrom([]string{"", "1", "2", "9", "10"}).Draw(t, "token")
		var fences []string
		for _, f := range resource.Fences() {
			fences = append(fences, string(f))
		}
		args := []string{rapid.SampledFrom(ops).Draw(t, "access"), owner[:2], "1", token,
			rapid.SampledFrom(fences).Draw(t, "fence"), rapid.SampledFrom([]string{"", "b"}).Draw(t, "cell"), owner, "40", number.Draw(t, "number")}
		if s.Name == "list" {
			args = append(args, rapid.SliceOfN(number, 0, 3).Draw(t, "list")...)
		}
		return command.Eval(s, []string{value, "resource:fence", logKey, "lock"}, args...)
	}
	t.Fatalf("no arguments are known for the script %q: add it here", s.Name)
	return command.Command{}
}

// modelNode is a node of the model with a clock that stands still.
func modelNode(t testing.TB, p world.Persistence) *redisModel {
	w, err := Open(context.Background(), world.Spec{Lock: lock.Config{Key: "unwatched"}, Nodes: []world.Node{{Name: "A", Persistence: p}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	return w.nodes[0].model()
}

// TestMemoryIsRedis puts the same random commands to the model and to a real
// server, while the clock jumps to and fro, and wants the same answers.
func TestMemoryIsRedis(t *testing.T) {
	real := startRealRedis(t)
	rapid.Check(t, func(t *rapid.T) {
		if err := real.RDB.FlushAll(context.Background()).Err(); err != nil {
			t.Fatal(err)
		}
		m := &model.Memory{}
		clock := epochSeconds
		real.Set(t, clock)
		m.Now = clock * second
		for range rapid.IntRange(1, 60).Draw(t, "commands") {
			if rapid.IntRange(0, 4).Draw(t, "jump") == 0 {
				clock += int64(rapid.IntRange(-3, 3).Draw(t, "by"))
				real.Set(t, clock)
				m.Now = clock * second
				continue
			}
			real.both(t, m, drawCommand(t))
		}
		list, err := real.RDB.LRange(context.Background(), logKey, 0, -1).Result()
		if got := m.LRange(logKey); err == nil && len(list)+len(got) > 0 && !reflect.DeepEqual(got, list) {
			t.Fatalf("the log: the model has %q, Redis %q", got, list)
		}
	})
}

// TestTransactionsAreRedis lets two connections watch and transact, with other
// commands and clock jumps in between.
func TestTransactionsAreRedis(t *testing.T) {
	real := startRealRedis(t)
	ctx := context.Background()
	rapid.Check(t, func(t *rapid.T) {
		if err := real.RDB.FlushAll(ctx).Err(); err != nil {
			t.Fatal(err)
		}
		conns := []*redis.Conn{real.RDB.Conn(), real.RDB.Conn()}
		for _, c := range conns {
			defer func() { _ = c.Close() }()
			process.Carry(ctx, c, command.Unwatch())
		}
		watchers := make([]model.Connection, 2)
		m := &model.Memory{}
		clock := epochSeconds
		real.Set(t, clock)
		m.Now = clock * second
		keys := rapid.SampledFrom(anyKeys)
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			who := rapid.IntRange(0, 1).Draw(t, "connection")
			var c command.Command
			switch rapid.IntRange(0, 5).Draw(t, "step") {
			case 0:
				clock += int64(rapid.IntRange(-1, 3).Draw(t, "by"))
				real.Set(t, clock)
				m.Now = clock * second
				continue
			case 1:
				c = command.Watch(rapid.SliceOfN(keys, 1, 2).Draw(t, "watch")...)
			case 2:
				c = command.Unwatch()
			case 3, 4:
				c = command.Exec()
				for range rapid.IntRange(0, 3).Draw(t, "body") {
					c.Body = append(c.Body, drawQueued(t))
				}
				c.Discard = rapid.IntRange(0, 4).Draw(t, "discard") == 0
			default:
				c = drawQueued(t)
			}
			want := process.Carry(ctx, conns[who], c)
			var got command.Reply
			switch c.Op {
			case command.WATCH, command.UNWATCH, command.EXEC:
				got = m.Transact(&c, &watchers[who])
			default:
				if got = m.Do(&c); c.Malformed() {
					continue // both refuse it
				}
			}
			if !same(got, want) {
				t.Fatalf("%v %s %v: the model answers %v, Redis %v", c.Op, c.Key, c.Body, got, want)
			}
		}
	})
}

// drawQueued draws a command that may stand in a transaction.
func drawQueued(t *rapid.T) command.Command {
	key := rapid.SampledFrom(anyKeys).Draw(t, "queued key")
	switch rapid.IntRange(0, 6).Draw(t, "queued") {
	case 0:
		return command.RPush(key, rapid.SliceOfN(rapid.SampledFrom([]string{"1", "x"}), 0, 2).Draw(t, "elements")...)
	case 1:
		return command.LRange(key)
	case 2:
		return command.Incr(key)
	case 3:
		return command.Set(key, "5", drawTTL(t))
	case 4:
		return command.PExpire(key, drawTTL(t))
	case 5:
		return command.Del(key)
	}
	return command.Get(key)
}

// TestRestartIsRedis kills a real server and the model's node between random
// commands and wants both to come back with the same data.
func TestRestartIsRedis(t *testing.T) {
	for _, test := range []struct {
		p    world.Persistence
		args []string
	}{
		{world.NoPersistence, []string{"--appendonly", "no"}},
		{world.AOFNo, []string{"--appendonly", "yes", "--appendfsync", "no"}},
		{world.AOFEverysec, []string{"--appendonly", "yes", "--appendfsync", "everysec"}},
		{world.AOFAlways, []string{"--appendonly", "yes", "--appendfsync", "always"}},
	} {
		t.Run(string(test.p), func(t *testing.T) {
			t.Parallel()
			real := startRealRedis(t, test.args...)
			n := modelNode(t, test.p)
			rapid.Check(t, func(rt *rapid.T) {
				if err := real.RDB.FlushAll(context.Background()).Err(); err != nil {
					rt.Fatal(err)
				}
				n.memory.Items = nil
				clock := epochSeconds
				real.Set(rt, clock)
				for step := range 25 {
					n.memory.Now = clock * second
					if step == 12 && rapid.IntRange(0, 3).Draw(rt, "restart") == 0 {
						if test.p == world.AOFEverysec { // a write may have to wait while an fsync is under way
							real.settle(rt, func() bool {
								return real.persisted("aof_pending_bio_fsync") == "0" && real.persisted("aof_buffer_length") == "0"
							})
						}
						real.Kill()
						real.Launch(rt)
						n.kill()
						n.memory.Items, n.up = n.disk.load(n, world.KeepData), true
						continue
					}
					if rapid.IntRange(0, 4).Draw(rt, "jump") == 0 {
						clock += int64(rapid.IntRange(0, 3).Draw(rt, "by"))
						real.Set(rt, clock)
						continue
					}
					real.both(rt, &n.memory, drawCommand(rt))
					n.disk.wrote(n, n.memory.Now)
				}
			})
		})
	}
}
