package live_test

import (
	"context"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/live"
)

// seenKey is a key as an observer has it that reads the events of a node.
type seenKey struct {
	there, unclear, hash bool
	owner                string
	// until is the key's end, on the run's clock; 0: none.
	until time.Duration
}

func (k *seenKey) see(e history.Event) {
	switch e.F {
	case history.KeySet, history.KeyExtended:
		*k = seenKey{there: true, owner: e.Value.Owner}
		if ttl := e.Value.TTL(); ttl.IsSet() {
			k.until = e.Time + time.Duration(ttl.V())
		}
	case history.KeyDeleted, history.KeyExpired:
		*k = seenKey{}
	case history.KeyUnclear:
		*k = seenKey{unclear: true}
	}
}

// commanded is a node, and clients who send it commands.
type commanded struct {
	*live.World
	o       *observed
	clients map[string]*redis.Client
	seen    seenKey
	read    int
	// sent is when the latest command was sent, slowest the longest that it took until one was observed and compared.
	sent, slowest time.Duration
	// journals: what the node did is read, and not replayed.
	journals bool
}

func command(t testing.TB, w *live.World, o *observed, names ...string) *commanded {
	c := &commanded{World: w, o: o, clients: make(map[string]*redis.Client)}
	for _, name := range names {
		dial := func(ctx context.Context, _, _ string) (net.Conn, error) { return w.Endpoint("A").Dial(ctx) }
		rdb := redis.NewClient(&redis.Options{Dialer: dial, ClientName: name, Protocol: 2, DisableIdentity: true, MaxRetries: -1, PoolSize: 1})
		t.Cleanup(func() { _ = rdb.Close() })
		c.clients[name] = rdb
	}
	return c
}

// do sends commands, in a transaction if they are several.
func (c *commanded) do(client string, commands ...[]any) []any {
	ctx := context.Background()
	c.sent = c.Now()
	var answers []any
	if len(commands) > 1 {
		c.clients[client].Do(ctx, "MULTI")
	}
	for _, words := range commands {
		answer, err := c.clients[client].Do(ctx, words...).Result()
		if err != nil {
			answer = err
		}
		answers = append(answers, answer)
	}
	if len(commands) > 1 {
		c.clients[client].Do(ctx, "EXEC")
	}
	return answers
}

// has is the key as the server has it.
func (c *commanded) has() (k seenKey) {
	ctx, conn := context.Background(), c.clients["reader"]
	kind, _ := conn.Do(ctx, "TYPE", "lock").Text()
	switch kind {
	case "none":
		return k
	case "string":
		value, _ := conn.Do(ctx, "GET", "lock").Text()
		k.owner = history.OwnerText(value)
	case "hash", "list", "set", "zset":
		k.hash = true
	default:
		return seenKey{unclear: true}
	}
	k.there = true
	if ttl, _ := conn.Do(ctx, "PTTL", "lock").Int64(); ttl >= 0 {
		k.until = c.Now() + time.Duration(ttl)*time.Millisecond
	}
	return k
}

// look takes in what has been observed since the last look.
func (c *commanded) look(t testing.TB) []history.Event {
	if err := c.Flush(); err != nil {
		t.Fatal(err)
	}
	events := c.o.find(func(e history.Event) bool { return strings.HasPrefix(string(e.F), "key-") })
	fresh := events[c.read:]
	c.read = len(events)
	for _, e := range fresh {
		e.Time = c.Now() // it has just been recorded
		c.seen.see(e)
	}
	return fresh
}

// agrees compares what was observed with what the server has. Events are taken in
// some time after what they tell of.
func (c *commanded) agrees(t testing.TB) (seen, is seenKey, agree bool) {
	for range 5 {
		is = c.has()
		c.look(t)
		seen = c.seen
		c.slowest = max(c.slowest, c.Now()-c.sent)
		ends := (seen.until-is.until).Abs() < c.slowest+10*time.Millisecond && (seen.until == 0) == (is.until == 0)
		if agree = seen.unclear && (is.unclear || is.there) || seen.there == is.there && (is.hash || seen.owner == is.owner) && ends; agree {
			break // otherwise it may have run out between the two
		}
	}
	return seen, is, agree
}

// list are commands with semicolons between them.
func list(text string) (commands []string) {
	for command := range strings.SplitSeq(text, ";") {
		commands = append(commands, strings.TrimSpace(command))
	}
	return commands
}

func words(text string) (list []any) {
	for word := range strings.FieldsSeq(text) {
		list = append(list, strings.ReplaceAll(word, "_", " "))
	}
	return list
}

// takesOver has a sorted set as a lock's key, with its owner and a mark.
const takesOver = "redis.call('zremrangebyscore',KEYS[1],'-inf',1)if_redis.call('zcard',KEYS[1])>0_then_return_0_end_" +
	"redis.call('zadd',KEYS[1],ARGV[2],ARGV[1])redis.call('zadd',KEYS[1],ARGV[2],'w')return_redis.call('pexpireat',KEYS[1],ARGV[2])"

// random are commands of every kind that locks use, on the key and others.
func random(r *rand.Rand, lives []int) [][]any {
	value, ms := string(rune('a'+r.IntN(4))), lives[r.IntN(len(lives))]
	at := time.Now().Add(time.Duration(ms) * time.Millisecond)
	texts := list(`SET lock <v>; SET lock <v> NX PX <ms>; SET lock <v> NX PX <ms>; SET lock <v> PX <ms>; SET lock <v> XX PX <ms>;
		SET lock <v> KEEPTTL; SET lock <v> GET; SET lock <v> XX KEEPTTL; SETNX lock <v>; PSETEX lock <ms> <v>; SETEX lock 60 <v>;
		GETSET lock <v>; GETDEL lock; GETEX lock PX <ms>; GETEX lock PERSIST; APPEND lock <v>; INCR lock; DECR lock;
		INCRBYFLOAT lock 1.5; SETRANGE lock 1 <v>; MSET lock <v> other 1; MSETNX lock <v> other2 1; DEL lock; DEL lock other;
		UNLINK lock; PEXPIRE lock <ms>; PEXPIRE lock <ms> NX; PEXPIRE lock <ms> GT; PEXPIRE lock <ms> XX; EXPIRE lock 0;
		EXPIRE lock 60; PEXPIRE lock -1; PERSIST lock; HSET lock <v> 1; HSETNX lock <v> 1; HINCRBY lock <v> 1; HINCRBY lock <v> -1;
		HDEL lock <v>; GET lock; EXISTS lock; PEXPIREAT lock <at>; SET lock <v> PXAT <at>; EXPIREAT lock 1; FLUSHALL; SET other <v>;
		DEL other; SETBIT lock 7 1; ZADD lock <at> <v>; ZADD lock NX <at> <v>; ZREM lock <v>; ZREM lock <v>; ZREMRANGEBYSCORE lock -inf <at>;
		SADD lock <v>; SREM lock <v>; RPUSH lock <v>; LPUSH lock <v>; LREM lock 0 <v>; LREM lock 1 <v>;
		EVAL ` + takesOver + ` 1 lock <v> <at>;
		EVAL if_redis.call('get',KEYS[1])==ARGV[1]_then_return_redis.call('del',KEYS[1])_end_return_0 1 lock <v>;
		EVAL if_redis.call('get',KEYS[1])==ARGV[1]_then_return_redis.call('pexpire',KEYS[1],ARGV[2])_end_return_0 1 lock <v> <ms>;
		EVAL redis.call('set',KEYS[1],ARGV[1])redis.call('pexpire',KEYS[1],ARGV[2])return_1 1 lock <v> <ms>;
		EVAL return_redis.call('set',KEYS[1],ARGV[1],'NX','PX',ARGV[2]) 1 lock <v> <ms>;
		EVAL redis.call('hincrby',KEYS[1],ARGV[1],1)redis.call('pexpire',KEYS[1],ARGV[2])return_1 1 lock <v> <ms>;
		EVAL redis.call('del',KEYS[1])redis.call('set',KEYS[1],ARGV[1])return_1 1 lock <v>;
		EVAL redis.call('set',KEYS[1],ARGV[1])redis.call('nonsense') 1 lock <v>`)
	fill := strings.NewReplacer("<v>", value, "<ms>", strconv.Itoa(ms), "<at>", strconv.FormatInt(at.UnixMilli(), 10))
	one := func() []any { return words(fill.Replace(texts[r.IntN(len(texts))])) }
	commands := [][]any{one()}
	if r.IntN(6) == 0 {
		for range 1 + r.IntN(3) {
			commands = append(commands, one())
		}
	}
	return commands
}

// What the observer says of a key is what the server has, after every command, and whose command it was.
func TestObserverAgreesWithTheServer(t *testing.T) {
	t.Parallel()
	for _, p := range []world.Persistence{world.NoPersistence, world.AOFAlways, world.AOFEverysec, world.RDB} {
		t.Run(p.String(), func(t *testing.T) {
			t.Parallel()
			s := spec(t, 1)
			s.Nodes[0].Persistence = p
			o := &observed{}
			c := command(t, open(t, s, o), o, "c1", "c2", "reader")
			c.journals = p != world.RDB
			seed := rand.Uint64()
			r := rand.New(rand.NewPCG(seed, 1))
			lives := []int{60_000, 70_000, 1, 3} // ms
			unclear := 0
			steps := suite.Amount(t, 1300, 150)
			for range steps {
				unclear += c.step(t, []string{"c1", "c2"}[r.IntN(2)], random(r, lives))
				if t.Failed() {
					t.Fatalf("with seed %d", seed)
				}
			}
			if most := steps / 20; c.journals && unclear > most {
				t.Errorf("after %d of %d steps the key was unclear", unclear, steps)
			}
		})
	}
}

// step has a client send commands, and compares. It returns 1 if the key is unclear then, and could be clear.
func (c *commanded) step(t *testing.T, client string, commands [][]any) (unclear int) {
	answers := c.do(client, commands...)
	events := c.look(t)
	for _, e := range events {
		if by := e.Value.Client; by != "" && by != client {
			t.Errorf("%s did %v; observed: %s %+v", client, commands, e.F, e.Value)
		}
	}
	seen, is, agree := c.agrees(t)
	if !agree {
		t.Errorf("after %v of %s, answered %v, the server has %+v; observed: %+v by %+v", commands, client, answers, is, seen, events)
	}
	if seen.unclear && !is.unclear {
		return 1
	}
	return 0
}

// commandsOfLocks are the commands that locks use, on keys of each sort. Behind ? stands what leaves something that the journal does not
// spell out: a list, or what another key had.
var commandsOfLocks = list(`SET lock v; SET lock v NX; SET lock v XX; SET lock v PX 60000; SET lock v NX PX 60000; SET lock v EX 60 XX;
	SET lock v KEEPTTL; SET lock v GET; SETNX lock v; SETEX lock 60 v; PSETEX lock 60000 v; GETSET lock v; GETDEL lock;
	GETEX lock PX 70000; GETEX lock PERSIST; GETEX lock; MSET lock v other w; MSETNX lock v lock2 w; APPEND lock v;
	SETRANGE lock 0 v; SETBIT lock 3 1; INCR lock; INCRBY lock 5; DECR lock; DECRBY lock 5; INCRBYFLOAT lock 0.5; DEL lock;
	DEL lock other; UNLINK lock; EXPIRE lock 70; EXPIRE lock 70 NX; EXPIRE lock 70 GT; EXPIRE lock 0; EXPIRE lock -1;
	PEXPIRE lock 70000; PEXPIRE lock 1000 LT; EXPIREAT lock 1; EXPIREAT lock 4000000000; PEXPIREAT lock 4000000000000;
	PERSIST lock; RENAME lock away; ?RENAME other lock; ?RENAMENX other lock; ?COPY other lock; MOVE lock 1; HSET lock f v;
	HSETNX lock f v; HMSET lock f v g w; HINCRBY lock n 1; ?HINCRBYFLOAT lock n 1.5; HDEL lock f; ?BITFIELD lock SET u8 0 66;
	?BITOP NOT lock other; RPUSH lock v; LPUSH lock w; SADD lock v; ZADD lock 1 v; ZADD lock 2 w; ?XADD lock * f v; ?PFADD lock v;
	?LMOVE list lock LEFT RIGHT; ?RPOPLPUSH list lock; ?SORT list STORE lock; ZADD lock NX 1 v; LREM lock 0 v; ?LPOP lock; ?ZPOPMIN lock;
	SREM lock v;
	ZREM lock v; TOUCH lock; GET lock; EXISTS lock; WATCH lock; ?SWAPDB 0 1; FLUSHDB; FLUSHALL; PUBLISH lock v;
	OBJECT ENCODING lock; EVAL return_redis.call('set',KEYS[1],'v','nx','px',60000) 1 lock;
	EVAL return_redis.call('del',KEYS[1]) 1 lock; EVAL return_redis.call('get',KEYS[1]) 1 lock;
	EVAL redis.call('set',KEYS[1],'v')return_redis.call('pexpire',KEYS[1],60000) 1 lock;
	EVAL redis.call('hset',KEYS[1],'f','1')return_redis.call('pexpire',KEYS[1],60000) 1 lock`)

// dump is what DUMP, PTTL and OBJECT say of the key; alike reports that nothing has changed but the time.
type dump struct {
	bytes, encoding string
	ttl             int64
}

func (c *commanded) dump() (d dump) {
	ctx, conn := context.Background(), c.clients["reader"]
	d.bytes, _ = conn.Do(ctx, "DUMP", "lock").Text()
	d.encoding, _ = conn.Do(ctx, "OBJECT", "ENCODING", "lock").Text()
	d.ttl, _ = conn.Do(ctx, "PTTL", "lock").Int64()
	return d
}

func (d dump) alike(o dump) bool {
	return d.bytes == o.bytes && (d.ttl < 0) == (o.ttl < 0) && (d.ttl < 0 || d.ttl >= o.ttl && d.ttl-o.ttl < 5_000)
}

// Whatever a command does to a key is seen, and nothing that it does not do, on a key of each sort.
func TestEveryCommandOfLocksIsSeen(t *testing.T) {
	t.Parallel()
	o := &observed{}
	c := command(t, open(t, spec(t, 1), o), o, "c1", "c2", "reader")
	c.journals = true
	for _, before := range []string{"", "SET lock 41", "SET lock v PX 60000", "HSET lock f 1", "HSET lock f v", "RPUSH lock v",
		"RPUSH lock v w", "SADD lock v", "ZADD lock 1 v", "XADD lock * f v"} {
		for _, text := range commandsOfLocks {
			c.isSeen(t, before, text)
		}
	}
}

// isSeen has c2 send a command when c1 has sent another.
func (c *commanded) isSeen(t *testing.T, before, text string) {
	c.do("reader", words("SELECT 0"))
	c.do("reader", words("FLUSHALL"), words("SET other w"), words("RPUSH list 1"))
	if before != "" {
		c.do("c1", words(before))
	}
	c.look(t)
	was := c.dump()
	text, unspelled := strings.CutPrefix(text, "?")
	answers := c.do("c2", words(text))
	is := c.dump()
	events := c.look(t)
	isStream := strings.HasPrefix(before, "XADD")
	elements := strings.Contains(before+text, "PUSH") || strings.Contains(before+text, "ADD") // what others add leaves the holder open
	if seen, has, agree := c.agrees(t); !agree {
		t.Errorf("%s -> %s, answered %v: the server has %+v; observed: %+v by %+v", before, text, answers, has, seen, events)
	} else if seen.unclear && !unspelled && !has.unclear && !isStream && !elements {
		t.Errorf("%s -> %s: the key is unclear", before, text)
	}
	if unspelled || isStream || elements || strings.HasPrefix(text, "H") { // what is not spelled out, and fields that nobody sees
		return
	}
	asksAgain := len(events) == 1 && is.bytes != "" && events[0].Value.Client == "c2" // for what was there
	if changed := !was.alike(is); changed != (len(events) > 0) && !asksAgain {
		t.Errorf("%s -> %s, answered %v: %+v, then %+v; observed: %+v", before, text, answers, was, is, events)
	}
}
