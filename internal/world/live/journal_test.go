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
	"github.com/redlock-sim/redlock-sim/internal/suite"
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
	case "hash":
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

// agrees compares what was observed with what the server has. Events are recorded some ms
// after what they tell of.
func (c *commanded) agrees(t testing.TB) (seen, is seenKey, agree bool) {
	for range 5 {
		is = c.has()
		c.look(t)
		if seen = c.seen; !c.journals && seen.until > 0 && seen.until < c.Now() {
			seen = seenKey{} // a replay does not show that a key runs out which nobody uses
		}
		ends := (seen.until-is.until).Abs() < 100*time.Millisecond && (seen.until == 0) == (is.until == 0)
		if agree = seen.unclear && (is.unclear || is.there) || seen.there == is.there && (is.hash || seen.owner == is.owner) && ends; agree {
			break // otherwise it may have run out between the two
		}
	}
	return seen, is, agree
}

func words(text string) (list []any) {
	for word := range strings.FieldsSeq(text) {
		list = append(list, strings.ReplaceAll(word, "_", " "))
	}
	return list
}

// random are commands of every kind that locks use, on the key and others.
func random(r *rand.Rand, lives []int) [][]any {
	value, ms := string(rune('a'+r.IntN(4))), lives[r.IntN(len(lives))]
	at := time.Now().Add(time.Duration(ms) * time.Millisecond)
	texts := []string{
		"SET lock <v>", "SET lock <v> NX PX <ms>", "SET lock <v> NX PX <ms>", "SET lock <v> PX <ms>", "SET lock <v> XX PX <ms>", "SET lock <v> KEEPTTL", "SET lock <v> GET",
		"SET lock <v> XX KEEPTTL", "SETNX lock <v>", "PSETEX lock <ms> <v>", "SETEX lock 60 <v>", "GETSET lock <v>", "GETDEL lock", "GETEX lock PX <ms>",
		"GETEX lock PERSIST", "APPEND lock <v>", "INCR lock", "DECR lock", "INCRBYFLOAT lock 1.5", "SETRANGE lock 1 <v>", "MSET lock <v> other 1", "MSETNX lock <v> other2 1",
		"DEL lock", "DEL lock other", "UNLINK lock", "PEXPIRE lock <ms>", "PEXPIRE lock <ms> NX", "PEXPIRE lock <ms> GT", "PEXPIRE lock <ms> XX", "EXPIRE lock 0", "EXPIRE lock 60",
		"PEXPIRE lock -1", "PERSIST lock", "HSET lock <v> 1", "HSETNX lock <v> 1", "HINCRBY lock <v> 1", "HINCRBY lock <v> -1", "HDEL lock <v>", "GET lock", "EXISTS lock",
		"PEXPIREAT lock <at>", "SET lock <v> PXAT <at>", "EXPIREAT lock 1", "FLUSHALL", "SET other <v>", "DEL other", "SETBIT lock 7 1",
		"EVAL if_redis.call('get',KEYS[1])==ARGV[1]_then_return_redis.call('del',KEYS[1])_end_return_0 1 lock <v>",
		"EVAL if_redis.call('get',KEYS[1])==ARGV[1]_then_return_redis.call('pexpire',KEYS[1],ARGV[2])_end_return_0 1 lock <v> <ms>",
		"EVAL redis.call('set',KEYS[1],ARGV[1])redis.call('pexpire',KEYS[1],ARGV[2])return_1 1 lock <v> <ms>",
		"EVAL return_redis.call('set',KEYS[1],ARGV[1],'NX','PX',ARGV[2]) 1 lock <v> <ms>",
		"EVAL redis.call('hincrby',KEYS[1],ARGV[1],1)redis.call('pexpire',KEYS[1],ARGV[2])return_1 1 lock <v> <ms>",
		"EVAL redis.call('del',KEYS[1])redis.call('set',KEYS[1],ARGV[1])return_1 1 lock <v>",
		"EVAL redis.call('set',KEYS[1],ARGV[1])redis.call('nonsense') 1 lock <v>",
	}
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
			lives := []int{60_000, 70_000} // ms
			if c.journals {
				lives = append(lives, 1, 3)
			}
			unclear := 0
			steps := suite.Amount(t, 1300, 150)
			for i := range steps {
				client, commands := []string{"c1", "c2"}[r.IntN(2)], random(r, lives)
				answers := c.do(client, commands...)
				events := c.look(t)
				for _, e := range events {
					if by := e.Value.Client; by != "" && by != client {
						t.Fatalf("seed %d, step %d: %s did %v; observed: %s %+v", seed, i, client, commands, e.F, e.Value)
					}
				}
				seen, is, agree := c.agrees(t)
				if !agree {
					t.Fatalf("seed %d, step %d: after %v of %s, answered %v, the server has %+v; observed: %+v by %+v", seed, i, commands, client, answers, is, seen, events)
				}
				if seen.unclear && !is.unclear {
					unclear++
				}
			}
			if most := steps / 20; c.journals && unclear > most {
				t.Errorf("after %d of %d steps the key was unclear", unclear, steps)
			}
		})
	}
}
