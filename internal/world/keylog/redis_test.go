package keylog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server/servertest"
)

// epoch is where the clocks of the tests begin, in s since 1970, and the time of day at run time 0.
const epoch = int64(1_700_000_000)

// real is a redis-server, its clients, and who follows its journal.
type real struct {
	*servertest.Redis
	t       rapid.TB
	j       *Journal
	clients map[string]*redis.Conn
	now     int64 // in s since 1970
	events  []history.Event
	seen    judged
	story   []string
	// sent are the words that clients have sent.
	sent []string
}

// judged is the key as a judge has it that reads the events.
type judged struct {
	there, unclear bool
	owner          string
	until          int64 // in ms since 1970; 0: for ever
}

func (k *judged) see(e history.Event, now int64) {
	switch e.F {
	case history.KeySet, history.KeyExtended:
		*k = judged{there: true, owner: e.Value.Owner}
		if ttl := e.Value.TTL(); ttl.IsSet() {
			k.until = now + time.Duration(ttl.V()).Milliseconds()
		}
	case history.KeyDeleted, history.KeyExpired:
		*k = judged{}
	case history.KeyUnclear:
		k.unclear = true
	}
}

func startReal(t *testing.T) *real {
	r := &real{Redis: servertest.Start(t, epoch, "--appendonly", "yes", "--appendfsync", "no", "--aof-use-rdb-preamble", "no"),
		clients: make(map[string]*redis.Conn)}
	for _, name := range []string{"c1", "c2", "reader"} {
		c := r.RDB.Conn()
		t.Cleanup(func() { _ = c.Close() })
		r.clients[name] = c
	}
	return r
}

// begin follows the journal of a server that has nothing.
func (r *real) begin(t rapid.TB) {
	r.t, r.now, r.events, r.seen, r.story, r.sent = t, epoch, nil, judged{}, nil, nil
	r.Set(t, r.now)
	for _, c := range r.clients {
		c.Do(context.Background(), "RESET")
	}
	r.ask("FLUSHALL")
	r.j = NewJournal(r.Dir, JournalOptions{Node: "A", Key: "lock", Shown: "lock",
		Record:  func(e history.Event) { r.events = append(r.events, e) },
		Server:  command.ParseServer(r.Info("server", "redis_version"), r.Info("server", "valkey_version")),
		Program: &Program{WallOffset: func() time.Duration { return time.Duration(epoch) * time.Second }}})
	r.must(r.j.Started(r.ms()))
}

func (r *real) ms() int64 { return r.now * 1000 }

func (r *real) must(err error) {
	if err != nil {
		r.t.Fatalf("%s\n%v", strings.Join(r.story, "\n"), err)
	}
}

// ask asks past the clients.
func (r *real) ask(words ...string) any {
	return r.clients["reader"].Do(context.Background(), anys(words)...).Val()
}

func anys(words []string) (list []any) {
	for _, w := range words {
		list = append(list, w)
	}
	return list
}

// left is when the commands of a step left their client, on the run's clock.
func (r *real) left() time.Duration {
	return time.Duration(r.now-epoch)*time.Second - 7*time.Millisecond
}

// step has a client send commands at once, and compares what was recorded with what the server has.
func (r *real) step(client string, commands [][]string) {
	r.events = nil
	pipe := r.clients[client].Pipeline()
	for _, words := range commands {
		pipe.Do(context.Background(), anys(words)...)
		r.sent = append(r.sent, words...)
	}
	answers, _ := pipe.Exec(context.Background())
	r.story = append(r.story, fmt.Sprintf("%d %s: %v", r.now-epoch, client, answers))
	r.must(r.j.Step(Batch{Connection: client, Caller: client, Commands: commands, Left: history.Some(int64(r.left())), Now: r.ms()}))
	for _, e := range r.events {
		r.story = append(r.story, fmt.Sprintf("  %s %+v", e.F, e.Value))
		r.check(e, client, commands)
	}
	r.compare()
}

// check judges an event of a step.
func (r *real) check(e history.Event, client string, commands [][]string) {
	doubted := r.seen.unclear
	r.seen.see(e, r.ms())
	v := e.Value
	fail := func(why string) { r.t.Fatalf("%s\n%s", strings.Join(r.story, "\n"), why) }
	switch {
	case v.Client != "" && v.Client != client:
		fail("that was another client")
	case v.Client == "" && e.F == history.KeyUnclear && !strings.Contains(v.Detail(), "in database 1"):
		fail("the command that did it is not known")
	case v.Client == "" && e.F == history.KeyDeleted && !doubted:
		fail("the client that did it is not known")
	case v.At().IsSet() && v.At().V() != int64(r.left()):
		fail("it left at another time")
	case v.Client != "" && (e.F == history.KeySet || e.F == history.KeyExtended) && !v.TTL().IsSet() && !v.At().IsSet():
		fail("it is not known when it left")
	case v.ValidUntil().IsSet() && v.TTL().V() > 0: // how long ago an end was, no event tells
		until, ttl := time.Duration(v.ValidUntil().V()), time.Duration(v.TTL().V())
		end := strconv.FormatInt(r.ms()+ttl.Milliseconds(), 10)
		switch {
		case until == r.left()+ttl: // a command that names the end asks for that instant
			if len(commands) == 1 && slices.Contains(commands[0], end) {
				fail("it was asked for till an instant")
			}
		case until == time.Duration(r.now-epoch)*time.Second+ttl:
			if !slices.Contains(r.sent, end) {
				fail("nobody named that instant")
			}
		default:
			fail("it was asked for till another time")
		}
	}
}

// compare compares what is known of the key with what the server has.
func (r *real) compare() {
	is := servertest.KeyOf(func(words ...string) any { return r.ask(words...) }, "lock")
	had, gone := r.known()
	if gone {
		had = command.Key{}
	}
	fail := func() {
		r.t.Fatalf("%s\nknown: %+v\nevents: %+v\nRedis has %+v", strings.Join(r.story, "\n"), had, r.seen, is)
	}
	if had.Holds == command.Unclear {
		if !r.seen.unclear {
			fail()
		}
		return
	}
	if !had.Equal(is) {
		fail()
	}
	if r.seen.unclear || gone {
		return
	}
	if r.seen.there != (is.Holds != command.Absent) || r.seen.until != is.Expires.From ||
		is.Holds == command.Text && r.seen.owner != history.OwnerText(is.Value) {
		fail()
	}
}

// known is the key as it is followed; gone: it has run out since.
func (r *real) known() (k command.Key, gone bool) {
	if f := r.j.byName["lock"]; f != nil {
		k = f.Replay.Key
	}
	return k, k.Expires != (command.Span{}) && k.Expires.To < r.ms()
}

// own takes in what the server did by itself.
func (r *real) own() {
	r.events = nil
	r.must(r.j.Own(r.ms()))
	for _, e := range r.events {
		r.story = append(r.story, fmt.Sprintf("  %s %+v", e.F, e.Value))
		if e.F != history.KeyExpired {
			r.t.Fatalf("%s\na server alone did more than let a key run out", strings.Join(r.story, "\n"))
		}
		r.seen.see(e, r.ms())
	}
}

// sentences are commands of every kind that locks use.
var sentences = strings.Split(`SET lock <v>; SET lock <v> NX PX <ms>; SET lock <v> NX PX <ms>; SET lock <v> NX PX <ms>;
SET lock <v> PX <ms>; SET lock <v> XX PX <ms>; SET lock <v> KEEPTTL; SET lock <v> GET; SET lock <v> XX KEEPTTL; SETNX lock <v>;
PSETEX lock <ms> <v>; SETEX lock 60 <v>; GETSET lock <v>; GETDEL lock; GETEX lock PX <ms>; GETEX lock PERSIST; APPEND lock <v>; INCR lock;
DECR lock; INCRBYFLOAT lock 1.5; SETRANGE lock 1 <v>; MSET lock <v> other 1; MSETNX lock <v> other2 1; DEL lock; DEL lock; DEL lock other;
UNLINK lock; PEXPIRE lock <ms>; PEXPIRE lock <ms> NX; PEXPIRE lock <ms> GT; PEXPIRE lock <ms> XX; EXPIRE lock 0; EXPIRE lock 60;
PEXPIRE lock -1; PERSIST lock; HSET lock <v> 1; HSETNX lock <v> 1; HINCRBY lock <v> 1; HINCRBY lock <v> -1; HDEL lock <v>; GET lock;
EXISTS lock; PEXPIREAT lock <at>; SET lock <v> PXAT <at>; SET lock <v> NX PXAT <at>; EXPIREAT lock 1; FLUSHALL; SET other <v>; DEL other;
SETBIT lock 7 1; ZADD lock <at> <v>; ZADD lock NX <at> <v>; ZREM lock <v>; ZREMRANGEBYSCORE lock -inf <at>; SADD lock <v>; SREM lock <v>;
RPUSH lock <v>; LPUSH lock <v>; LREM lock 0 <v>; LREM lock 1 <v>; LPOP lock; SPOP lock; RENAME lock away; COPY other lock; MOVE lock 1;
WATCH lock; MULTI; MULTI; EXEC; EXEC; EXEC; DISCARD; SELECT 1; SELECT 0; SELECT 0; PING; NONSENSE lock; SET lock;
EVAL if_redis.call('get',KEYS[1])==ARGV[1]_then_return_redis.call('del',KEYS[1])_end_return_0 1 lock <v>;
EVAL if_redis.call('get',KEYS[1])==ARGV[1]_then_return_redis.call('pexpire',KEYS[1],ARGV[2])_end_return_0 1 lock <v> <ms>;
EVAL redis.call('set',KEYS[1],ARGV[1])redis.call('pexpire',KEYS[1],ARGV[2])return_1 1 lock <v> <ms>;
EVAL return_redis.call('set',KEYS[1],ARGV[1],'NX','PX',ARGV[2]) 1 lock <v> <ms>;
EVAL redis.call('hincrby',KEYS[1],ARGV[1],1)redis.call('pexpire',KEYS[1],ARGV[2])return_1 1 lock <v> <ms>;
EVAL redis.call('del',KEYS[1])redis.call('set',KEYS[1],ARGV[1])return_1 1 lock <v>;
EVAL redis.call('set',KEYS[1],ARGV[1])redis.call('expire',KEYS[1],-1)return_1 1 lock <v>;
EVAL redis.call('set',KEYS[1],ARGV[1])redis.call('nonsense') 1 lock <v>`, ";")

// draw draws a command.
func (r *real) draw(t *rapid.T) []string {
	text := strings.TrimSpace(rapid.SampledFrom(sentences).Draw(t, "command"))
	value := rapid.SampledFrom([]string{"a", "b", "7"}).Draw(t, "value")
	ms := rapid.SampledFrom([]int64{60_000, 70_000, 1000, 2000}).Draw(t, "ms")
	at := r.ms() + rapid.SampledFrom([]int64{60_000, 70_000, 1000, 0, -1}).Draw(t, "at")
	text = strings.NewReplacer("<v>", value, "<ms>", strconv.FormatInt(ms, 10), "<at>", strconv.FormatInt(at, 10)).Replace(text)
	words := strings.Fields(text)
	for i := range words {
		words[i] = strings.ReplaceAll(words[i], "_", " ")
	}
	return words
}

// What is recorded of a key is what the server has, after each batch, and nothing is left unexplained.
func TestJournalIsRedis(t *testing.T) {
	r := startReal(t)
	steps, unclear := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		r.begin(t)
		defer func() { _ = r.j.Close() }()
		for range rapid.IntRange(1, 40).Draw(t, "length") {
			if rapid.IntRange(0, 3).Draw(t, "tick") == 0 {
				r.now += rapid.Int64Range(1, 3).Draw(t, "seconds")
				r.Set(t, r.now)
			}
			var batch [][]string
			for range rapid.SampledFrom([]int{1, 1, 1, 1, 2, 3, 5}).Draw(t, "commands") {
				batch = append(batch, r.draw(t))
			}
			if rapid.IntRange(0, 9).Draw(t, "transaction") == 0 {
				batch = slices.Concat([][]string{{"MULTI"}}, batch, [][]string{{"EXEC"}})
			}
			r.own()
			r.step(rapid.SampledFrom([]string{"c1", "c2"}).Draw(t, "client"), batch)
			if steps++; r.seen.unclear {
				unclear++
			}
		}
	})
	t.Logf("unclear after %d of %d steps", unclear, steps)
	if unclear > steps/20 {
		t.Errorf("unclear after %d of %d steps", unclear, steps)
	}
}

// A server that is started again, lets a key run out by itself, or writes its journal anew.
func TestJournalOfALife(t *testing.T) {
	r := startReal(t)
	r.begin(t)
	defer func() { _ = r.j.Close() }()
	r.step("c1", [][]string{{"SET", "lock", "a", "PX", "60000"}})
	r.step("c2", [][]string{{"SET", "other", "b"}})

	r.ask("BGREWRITEAOF")
	suite.Succeeds(t, "the rewrite", func() error {
		for _, field := range []string{"aof_rewrite_in_progress", "aof_rewrite_scheduled"} {
			if r.Info("persistence", field) != "0" {
				return fmt.Errorf("%s", field)
			}
		}
		return nil
	})
	r.own()
	if len(r.events) > 0 {
		t.Fatalf("of a rewrite: %+v", r.events)
	}
	r.step("c1", [][]string{{"PEXPIRE", "lock", "70000"}})

	r.Kill()
	r.Launch(t)
	for name := range r.clients {
		r.clients[name] = r.RDB.Conn()
		defer func() { _ = r.clients[name].Close() }()
	}
	r.events = nil
	r.must(r.j.Started(r.ms()))
	if len(r.events) != 1 || told(r.events[0]) != "set a 1m10s" {
		t.Fatalf("of a restart: %+v", r.events)
	}

	r.now += 71
	r.Set(t, r.now)
	r.ask("DEBUG", "set-active-expire", "1")
	suite.Succeeds(t, "the key's end", func() error {
		if r.own(); len(r.events) == 0 {
			return errors.New("it is still there")
		}
		return nil
	})
	if text := told(r.events[0]); text != "expired a" {
		t.Error(text)
	}
}
