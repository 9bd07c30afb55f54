package virtual

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"github.com/redlock-sim/redlock-sim/internal/command"
	"github.com/redlock-sim/redlock-sim/internal/command/model"
	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/resource"
	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server"
)

// realRedis is a redis-server whose clock stands still where the test sets it,
// so that its answers can be compared to the millisecond. It expires keys only
// when they are asked for: when else it does that is not for a test to know.
type realRedis struct {
	dir, clock string
	port       int
	env        []string
	args       []string
	cmd        *exec.Cmd
	rdb        *redis.Client
}

func startRealRedis(t *testing.T, args ...string) *realRedis {
	t.Helper()
	binary, err := server.FindRedis()
	if err != nil {
		t.Skip(err)
	}
	library, err := server.FindFaketime()
	if err != nil {
		t.Skip(err)
	}
	libc, _ := filepath.Glob("/lib/*-linux-gnu/libc.so.6")
	if len(libc) == 0 {
		t.Skip("no libc.so.6 to preload")
	}
	r := &realRedis{dir: t.TempDir()}
	r.clock = filepath.Join(r.dir, "clock")
	r.env = append(os.Environ(), "LD_PRELOAD="+library+":"+libc[0], "FAKETIME_TIMESTAMP_FILE="+r.clock, "FAKETIME_NO_CACHE=1",
		"FAKETIME_DONT_FAKE_MONOTONIC=1", "TZ=UTC")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r.port = l.Addr().(*net.TCPAddr).Port
	_ = l.Close()
	r.args = append([]string{binary, "--port", strconv.Itoa(r.port), "--bind", "127.0.0.1", "--dir", r.dir,
		"--save", "", "--enable-debug-command", "yes", "--auto-aof-rewrite-percentage", "0"}, args...)
	r.rdb = redis.NewClient(&redis.Options{Addr: fmt.Sprintf("127.0.0.1:%d", r.port), Protocol: 2, DisableIdentity: true, MaxRetries: -1})
	t.Cleanup(func() { _ = r.rdb.Close() })
	t.Cleanup(func() { r.kill() })
	r.set(t, epochSeconds)
	r.start(t)
	return r
}

// patience is how long a test waits for a server on a machine that does much else.
const patience = 2 * time.Minute

const epochSeconds = int64(epoch / time.Second)

type fataler interface {
	Helper()
	Fatalf(string, ...any)
}

func (r *realRedis) start(t fataler) {
	t.Helper()
	r.cmd = exec.Command(r.args[0], r.args[1:]...)
	r.cmd.Env = r.env
	if err := r.cmd.Start(); err != nil {
		t.Fatalf("%v", err)
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(2 * time.Millisecond) {
		err := r.rdb.Do(context.Background(), "debug", "set-active-expire", "0").Err()
		if err == nil { // DEBUG answers while the server still loads its data, PING does not
			err = r.rdb.Ping(context.Background()).Err()
		}
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("redis-server does not answer: %v", err)
		}
	}
	for _, name := range []string{"faketime_shm_%d", "sem.faketime_sem_%d"} {
		_ = os.Remove(filepath.Join("/dev/shm", fmt.Sprintf(name, r.cmd.Process.Pid)))
	}
}

func (r *realRedis) kill() {
	if r.cmd != nil && r.cmd.Process != nil {
		_ = r.cmd.Process.Kill()
		_ = r.cmd.Wait()
	}
}

// set lets the clock stand at a second since 1970.
func (r *realRedis) set(t fataler, s int64) {
	t.Helper()
	text := time.Unix(s, 0).UTC().Format("2006-01-02 15:04:05") + "\n"
	if err := os.WriteFile(r.clock+".new", []byte(text), 0o644); err != nil {
		t.Fatalf("%v", err)
	}
	if err := os.Rename(r.clock+".new", r.clock); err != nil {
		t.Fatalf("%v", err)
	}
}

// do carries a command out as the live world's clients do.
func (r *realRedis) do(c command.Command) command.Reply {
	ctx := context.Background()
	var v any
	var err error
	if c.Op == command.EVAL {
		args := make([]any, len(c.Args))
		for i, a := range c.Args {
			args[i] = a
		}
		v, err = r.rdb.Eval(ctx, c.Script.Lua, c.Keys, args...).Result()
	} else {
		args := []any{c.Op.String(), c.Key}
		switch c.Op {
		case command.PING:
			args = args[:1]
		case command.PEXPIRE:
			args = append(args, command.Milliseconds(c.TTL))
		case command.SET:
			args = append(args, c.Value)
			if c.NX {
				args = append(args, "nx")
			}
			if c.TTL > 0 {
				args = append(args, "px", command.Milliseconds(c.TTL))
			}
		}
		v, err = r.rdb.Do(ctx, args...).Result()
	}
	return replyOf(v, err)
}

// replyOf reads what the driver brings.
func replyOf(v any, err error) command.Reply {
	var answered redis.Error
	switch {
	case errors.Is(err, redis.Nil):
		return command.NilReply()
	case errors.As(err, &answered):
		return command.RefusedReply(answered.Error())
	case err != nil:
		return command.UnknownReply(err.Error())
	}
	switch v := v.(type) {
	case nil:
		return command.NilReply()
	case int64:
		return command.IntReply(v)
	case string:
		return command.StrReply(v)
	case []any:
		var list []string
		for _, e := range v {
			list = append(list, fmt.Sprint(e))
		}
		return command.ListReply(list...)
	}
	return command.UnknownReply(fmt.Sprintf("a reply of type %T", v))
}

// same compares what the model and the server answered; of an error only how it
// begins, for scripts add where it happened.
func same(model, real command.Reply) bool {
	return model.Outcome == real.Outcome && model.Nil == real.Nil && model.Int == real.Int && model.Str() == real.Str() &&
		(model.Err() == real.Err() || model.Err() != "" && strings.HasPrefix(real.Err(), model.Err())) &&
		reflect.DeepEqual(model.List(), real.List()) && slices.EqualFunc(model.Body(), real.Body(), same)
}

// both puts a command to the server and to the model, and wants the same answer.
func (r *realRedis) both(t fataler, m *model.Memory, c command.Command) {
	t.Helper()
	want := r.do(c)
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
func modelNode(t testing.TB, p world.Persistence) *node {
	w, err := Open(context.Background(), world.Spec{Lock: lock.Config{Key: "unwatched"}, Nodes: []world.Node{{Name: "A", Persistence: p}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	return w.nodes[0]
}

// TestMemoryIsRedis puts the same random commands to the model and to a real
// server, while the clock jumps to and fro, and wants the same answers.
func TestMemoryIsRedis(t *testing.T) {
	real := startRealRedis(t)
	rapid.Check(t, func(t *rapid.T) {
		if err := real.rdb.FlushAll(context.Background()).Err(); err != nil {
			t.Fatal(err)
		}
		m := &model.Memory{}
		clock := epochSeconds
		real.set(t, clock)
		m.Now = clock * second
		for range rapid.IntRange(1, 60).Draw(t, "commands") {
			if rapid.IntRange(0, 4).Draw(t, "jump") == 0 {
				clock += int64(rapid.IntRange(-3, 3).Draw(t, "by"))
				real.set(t, clock)
				m.Now = clock * second
				continue
			}
			real.both(t, m, drawCommand(t))
		}
		list, err := real.rdb.LRange(context.Background(), logKey, 0, -1).Result()
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
		if err := real.rdb.FlushAll(ctx).Err(); err != nil {
			t.Fatal(err)
		}
		conns := []*redis.Conn{real.rdb.Conn(), real.rdb.Conn()}
		for _, c := range conns {
			defer func() { _ = c.Close() }()
			c.Do(ctx, "unwatch")
		}
		watchers := make([]model.Connection, 2)
		m := &model.Memory{}
		clock := epochSeconds
		real.set(t, clock)
		m.Now = clock * second
		keys := rapid.SampledFrom(anyKeys)
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			who := rapid.IntRange(0, 1).Draw(t, "connection")
			var c command.Command
			switch rapid.IntRange(0, 5).Draw(t, "step") {
			case 0:
				clock += int64(rapid.IntRange(-1, 3).Draw(t, "by"))
				real.set(t, clock)
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
			want := transactForReal(ctx, conns[who], c)
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

// transactForReal sends what a client of the live world sends.
func transactForReal(ctx context.Context, conn *redis.Conn, c command.Command) command.Reply {
	args := func(c command.Command) []any {
		a := []any{c.Op.String(), c.Key}
		switch c.Op {
		case command.WATCH:
			a = a[:1]
			for _, k := range c.Keys {
				a = append(a, k)
			}
		case command.UNWATCH:
			a = a[:1]
		case command.RPUSH:
			for _, e := range c.Args {
				a = append(a, e)
			}
		case command.LRANGE:
			a = append(a, 0, -1)
		case command.PEXPIRE:
			a = append(a, command.Milliseconds(c.TTL))
		case command.SET:
			a = append(a, c.Value, "px", command.Milliseconds(c.TTL))
		}
		return a
	}
	if c.Op != command.EXEC {
		return replyOf(conn.Do(ctx, args(c)...).Result())
	}
	pipe := conn.Pipeline()
	pipe.Do(ctx, "multi")
	for _, b := range c.Body {
		pipe.Do(ctx, args(b)...)
	}
	end := "exec"
	if c.Discard {
		end = "discard"
	}
	last := pipe.Do(ctx, end)
	_, _ = pipe.Exec(ctx)
	v, err := last.Result()
	list, ok := v.([]any)
	if err != nil || !ok {
		return replyOf(v, err)
	}
	var body []command.Reply
	for _, one := range list {
		if failed, ok := one.(error); ok {
			body = append(body, replyOf(nil, failed))
		} else {
			body = append(body, replyOf(one, nil))
		}
	}
	return command.BodyReply(body)
}

// TestRestartIsRedis kills a real server and the model's node between random
// commands and wants both to come back with the same data.
func TestRestartIsRedis(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a real server many times")
	}
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
			real := startRealRedis(t, test.args...)
			n := modelNode(t, test.p)
			rapid.Check(t, func(rt *rapid.T) {
				if err := real.rdb.FlushAll(context.Background()).Err(); err != nil {
					rt.Fatal(err)
				}
				n.memory.Items = nil
				clock := epochSeconds
				real.set(rt, clock)
				for step := range 25 {
					n.memory.Now = clock * second
					switch {
					case step == 12 && rapid.IntRange(0, 3).Draw(rt, "restart") == 0:
						if test.p == world.AOFEverysec { // a write may have to wait while an fsync is under way
							real.settle(rt, func() bool {
								return real.persisted("aof_pending_bio_fsync") == "0" && real.persisted("aof_buffer_length") == "0"
							})
						}
						real.kill()
						real.start(rt)
						n.kill()
						n.memory.Items, n.up = n.disk.load(n, world.KeepData), true
						continue
					case rapid.IntRange(0, 4).Draw(rt, "jump") == 0:
						clock += int64(rapid.IntRange(0, 3).Draw(rt, "by"))
						real.set(rt, clock)
						continue
					}
					real.both(rt, &n.memory, drawCommand(rt))
					n.disk.wrote(n, n.memory.Now)
				}
			})
		})
	}
}
