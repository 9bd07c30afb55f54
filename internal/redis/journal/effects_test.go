package journal_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server/servertest"
)

func TestMain(m *testing.M) { os.Exit(suite.Live(m).Run()) }

// epoch is when the server's clock stands, in s since 1970.
const epoch = 1_700_000_000

// versions are those that differ from Redis 7.0: "6.2", "8.2", "valkey" (8).
type versions map[string]string

const (
	refused = "refused" // the version does not know the command
	library = "FUNCTION LOAD REPLACE '#!lua name=f\nredis.register_function(\"f\", function(k) return redis.call(\"set\", k[1], 1) end)'"
	claim   = "XCLAIM x g c 0 1-1 TIME M+0 RETRYCOUNT 1 FORCE JUSTID LASTID 1-1"
	setID   = " + XGROUP SETID x g 1-1 ENTRIESREAD 1"
)

// effects are commands, and what then stands in the journal: blocks (;), and the entries of a block (+), which are those of
// database 0 if nothing else is said. M is epoch in ms.
//
// `before` and `do` are commands (;), with words in quotes where they have spaces. Those behind "other:" are another client's, and
// block. "clock:1" sets the clock 1 s behind epoch. "empty:" waits until there are no keys.
var effects = []struct {
	before, do, want string
	in               versions
}{
	{do: "SET k v", want: "SET k v"},
	{do: "SET k v PX 300", want: "SET k v PXAT M+300"},
	{do: "SET k v NX PX 300", want: "SET k v PXAT M+300"},
	{do: "SET k v EX 3 NX", want: "SET k v PXAT M+3000"},
	{before: "SET k v", do: "SET k w XX PX 300", want: "SET k w PXAT M+300"},
	{before: "SET k v", do: "SET k w NX PX 300"},
	{do: "SET k w XX PX 300"},
	{before: "SET k v", do: "SET k w XX", want: "SET k w XX"},
	{do: "SET k v NX", want: "SET k v NX"},
	{before: "SET k v PX 300", do: "SET k w KEEPTTL", want: "SET k w KEEPTTL"},
	{before: "SET k v", do: "SET k w GET", want: "SET k w"},
	{before: "SET k v", do: "SET k w GET PX 300", want: "SET k w PXAT M+300"},
	{do: "SET k v PXAT 1700000000300", want: "SET k v PXAT M+300"},
	{do: "SET k v EXAT 1700000003 NX", want: "SET k v PXAT M+3000"},
	{do: "SET k v PXAT 1600000000000", want: "SET k v PXAT 1600000000000", in: versions{"valkey": ""}},
	{before: "SET k v", do: "SET k v PXAT 1600000000000", want: "SET k v PXAT 1600000000000", in: versions{"valkey": "UNLINK k"}},
	{do: "SET k v PX 0"},
	{do: "SETNX k v", want: "SETNX k v"},
	{before: "SET k v", do: "SETNX k w"},
	{do: "SETEX k 3 v", want: "SET k v PXAT M+3000"},
	{do: "PSETEX k 300 v", want: "SET k v PXAT M+300"},
	{do: "MSET k v l w", want: "MSET k v l w"},
	{do: "MSETNX k v l w", want: "MSETNX k v l w"},
	{before: "SET l v", do: "MSETNX k v l w"},
	{before: "SET k v", do: "GETSET k w", want: "SET k w"},
	{before: "SET k v", do: "GETDEL k", want: "DEL k"},
	{do: "GETDEL k"},
	{before: "SET k v", do: "GETEX k"},
	{before: "SET k v", do: "GETEX k PX 300", want: "PEXPIREAT k M+300"},
	{before: "SET k v PX 300", do: "GETEX k PERSIST", want: "PERSIST k"},
	{before: "SET k v", do: "GETEX k EXAT 1600000000", want: "DEL k", in: versions{"valkey": "UNLINK k"}},
	{before: "SET k v", do: "GETEX k EXAT 1700000003", want: "PEXPIREAT k M+3000"},
	{do: "INCR n", want: "INCR n"},
	{do: "DECR n", want: "DECR n"},
	{do: "INCRBY n 0", want: "INCRBY n 0"},
	{do: "INCRBY n 5", want: "INCRBY n 5"},
	{do: "INCRBYFLOAT n 0.5", want: "SET n 0.5 KEEPTTL"},
	{before: "SET k v", do: "INCR k"},
	{do: "APPEND k v", want: "APPEND k v"},
	{before: "SET k v", do: "APPEND k ''", want: "APPEND k "},
	{do: "SETRANGE k 2 v", want: "SETRANGE k 2 v"},
	{do: "SETRANGE k 2 ''"},
	{do: "SETBIT k 7 1", want: "SETBIT k 7 1"},
	{before: "SETBIT k 7 1", do: "SETBIT k 7 1", in: versions{"6.2": "SETBIT k 7 1"}},
	{do: "BITFIELD k SET u8 0 255", want: "BITFIELD k SET u8 0 255"},
	{do: "DEL k"},
	{before: "SET k v", do: "DEL k l", want: "DEL k l"},
	{before: "SET k v", do: "UNLINK k", want: "UNLINK k"},
	{do: "HSET h f v", want: "HSET h f v"},
	{before: "HSET h f v", do: "HSET h f v", want: "HSET h f v"},
	{do: "HMSET h f v g w", want: "HMSET h f v g w"},
	{do: "HSETNX h f v", want: "HSETNX h f v"},
	{before: "HSET h f v", do: "HSETNX h f v"},
	{do: "HINCRBY h f 1", want: "HINCRBY h f 1"},
	{do: "HINCRBYFLOAT h f 0.5", want: "HSET h f 0.5", in: versions{"8.2": "HSETEX h KEEPTTL FIELDS 1 f 0.5"}},
	{before: "HSET h f v", do: "HDEL h f g", want: "HDEL h f g"},
	{before: "HSET h f v", do: "HDEL h g"},
	{before: "SET k v", do: "EXPIRE k 3", want: "PEXPIREAT k M+3000"},
	{before: "SET k v", do: "PEXPIRE k 300", want: "PEXPIREAT k M+300"},
	{before: "SET k v", do: "EXPIREAT k 1700000003", want: "PEXPIREAT k M+3000"},
	{before: "SET k v", do: "PEXPIREAT k 1700000000300", want: "PEXPIREAT k M+300"},
	{before: "SET k v", do: "EXPIRE k 0", want: "DEL k", in: versions{"valkey": "UNLINK k"}},
	{before: "SET k v", do: "PEXPIRE k -1", want: "DEL k", in: versions{"valkey": "UNLINK k"}},
	{before: "SET k v", do: "EXPIREAT k 1600000000", want: "DEL k", in: versions{"valkey": "UNLINK k"}},
	{before: "SET k v", do: "EXPIRE k 3 XX", in: versions{"6.2": refused}},
	{before: "SET k v", do: "EXPIRE k 3 NX", want: "PEXPIREAT k M+3000 NX", in: versions{"6.2": refused}},
	{before: "SET k v PX 300", do: "EXPIRE k 3 GT", want: "PEXPIREAT k M+3000 GT", in: versions{"6.2": refused}},
	{do: "EXPIRE k 3"},
	{before: "SET k v PX 300", do: "PEXPIRE k 300", want: "PEXPIREAT k M+300"},
	{before: "SET k v PX 300", do: "PERSIST k", want: "PERSIST k"},
	{before: "SET k v", do: "PERSIST k"},
	{before: "SET k v", do: "RENAME k l", want: "RENAME k l"},
	{before: "SET k v PX 300", do: "RENAMENX k l", want: "RENAMENX k l"},
	{before: "SET k v;SET l v", do: "RENAMENX k l"},
	{before: "SET k v PX 300", do: "COPY k l", want: "COPY k l"},
	{before: "SET k v", do: "COPY k l DB 2 REPLACE", want: "COPY k l DB 2 REPLACE"},
	{before: "SET k v", do: "MOVE k 2", want: "MOVE k 2"},
	{do: "MOVE k 2"},
	{before: "SET k v", do: "SWAPDB 0 1", want: "SWAPDB 0 1"},
	{before: "SET k v", do: "FLUSHDB", want: "FLUSHDB"},
	{do: "FLUSHDB ASYNC", want: "FLUSHDB ASYNC", in: versions{"6.2": ""}},
	{before: "SET k v", do: "FLUSHALL", want: "FLUSHALL"},
	{do: "FLUSHALL", want: "FLUSHALL"},
	{before: "SET k v;SET l w", do: "DEL l;SELECT 2;SET k v;SELECT 0", want: "DEL l; 2: SET k v"},
	// Lists, sets, sorted sets and streams.
	{do: "LPUSH l a b", want: "LPUSH l a b"},
	{do: "RPUSHX l a"},
	{before: "RPUSH l a", do: "LPOP l", want: "LPOP l"},
	{do: "LPOP l"},
	{before: "RPUSH l a", do: "BLPOP l 0", want: "LPOP l"},
	{before: "RPUSH l a b", do: "LMPOP 1 l LEFT COUNT 2", want: "LPOP l 2", in: versions{"6.2": refused}},
	{do: "other:BLPOP l 0;RPUSH l a", want: "RPUSH l a; LPOP l"},
	{do: "other:BLPOP l 0;MULTI;RPUSH l a;RPUSH l b;EXEC", want: "RPUSH l a + RPUSH l b; LPOP l"},
	{do: "other:BLMOVE l m LEFT RIGHT 0;RPUSH l a", want: "RPUSH l a; LMOVE l m left right",
		in: versions{"8.2": "RPUSH l a; LMOVE l m LEFT RIGHT", "valkey": "RPUSH l a; LMOVE l m LEFT RIGHT"}},
	{do: "other:BRPOPLPUSH l m 0;RPUSH l a", want: "RPUSH l a; RPOPLPUSH l m"},
	{do: "other:BZPOPMIN z 0;ZADD z 1 a", want: "ZADD z 1 a; ZPOPMIN z", in: versions{"6.2": "ZADD z 1 a; zpopmin z"}},
	{do: "other:BLMPOP 0 1 l LEFT;RPUSH l a", want: "RPUSH l a; LPOP l 1", in: versions{"6.2": refused}},
	{before: "RPUSH l a", do: "LMOVE l m LEFT RIGHT", want: "LMOVE l m LEFT RIGHT"},
	{before: "RPUSH l a", do: "RPOPLPUSH l m", want: "RPOPLPUSH l m"},
	{before: "RPUSH l a b a", do: "LREM l 1 a", want: "LREM l 1 a"},
	{before: "RPUSH l a b", do: "LTRIM l 0 0", want: "LTRIM l 0 0"},
	{before: "RPUSH l a b", do: "LSET l 0 c", want: "LSET l 0 c"},
	{do: "SADD s a", want: "SADD s a"},
	{before: "SADD s a", do: "SADD s a"},
	{before: "SADD s a", do: "SREM s a", want: "SREM s a"},
	{before: "SADD s a", do: "SPOP s", want: "SREM s a"},
	{before: "SADD s a", do: "SMOVE s u a", want: "SMOVE s u a"},
	{do: "ZADD z 1 a", want: "ZADD z 1 a"},
	{do: "ZADD z NX 1.5 a", want: "ZADD z NX 1.5 a"},
	{before: "ZADD z 1 a", do: "ZADD z NX 2 a"},
	{before: "ZADD z 1 a", do: "ZADD z 1 a"},
	{do: "ZINCRBY z 1 a", want: "ZINCRBY z 1 a"},
	{before: "ZADD z 1 a", do: "ZREM z a", want: "ZREM z a"},
	{before: "ZADD z 1 a", do: "ZREMRANGEBYSCORE z -inf 1", want: "ZREMRANGEBYSCORE z -inf 1"},
	{before: "ZADD z 1 a", do: "ZPOPMIN z", want: "ZPOPMIN z"},
	{before: "ZADD z 1 a", do: "ZRANGESTORE y z 0 -1", want: "ZRANGESTORE y z 0 -1"},
	{do: "XADD x * f v", want: "XADD x 1700000000000-0 f v"},
	{before: "XADD x 1-1 f v", do: "XADD x MAXLEN ~ 1 1-2 f v", want: "XADD x MAXLEN = 2 1-2 f v"},
	{before: "XADD x 1-1 f v", do: "XDEL x 1-1", want: "XDEL x 1-1"},
	{before: "XADD x 1-1 f v", do: "XGROUP CREATE x g 0", want: "XGROUP CREATE x g 0"},
	{before: "XADD x 1-1 f v;XGROUP CREATE x g 0", do: "XREADGROUP GROUP g c STREAMS x >", want: claim,
		in: versions{"8.2": claim + setID, "valkey": claim + setID}},
	{do: library, want: strings.ReplaceAll(library, "'", ""), in: versions{"6.2": refused}},
	{before: library, do: "FCALL f 1 k", want: "set k 1", in: versions{"6.2": refused}},
	{do: "PFADD p a", want: "PFADD p a"},
	{before: "SADD s a b", do: "SORT s ALPHA STORE t", want: "SORT s ALPHA STORE t"},
	{do: "PUBLISH c m"},
	{do: "SCRIPT LOAD 'return 1'", in: versions{"6.2": "SCRIPT LOAD return 1"}},
	// Scripts and transactions.
	{do: "EVAL 'return 1' 0"},
	{do: `EVAL 'return redis.call("get", KEYS[1])' 1 k`},
	{do: `EVAL 'return redis.call("SET", KEYS[1], 1, "px", 300)' 1 k`, want: "SET k 1 PXAT M+300"},
	{do: `EVAL 'redis.call("hincrby", KEYS[1], 1, 1) return redis.call("pexpire", KEYS[1], 300)' 1 h`,
		want: "hincrby h 1 1 + PEXPIREAT h M+300"},
	{do: `EVAL 'redis.call("set", KEYS[1], 1) return redis.call("lpush", KEYS[1], 1)' 1 k`, want: "set k 1"},
	{do: `EVAL 'redis.call("select", 2) return redis.call("set", KEYS[1], 1)' 1 k`, want: "2: set k 1"},
	{do: `EVAL 'redis.replicate_commands() redis.set_repl(redis.REPL_NONE) return redis.call("set", KEYS[1], 1)' 1 k`},
	{do: `EVAL 'redis.call("set", KEYS[1], 1) redis.call("del", KEYS[1])' 1 k`, want: "set k 1 + del k"},
	{do: "MULTI;SET k v PX 300;EXEC", want: "SET k v PXAT M+300"},
	{do: "MULTI;SET k v PX 300;GET k;INCR n;EXEC", want: "SET k v PXAT M+300 + INCR n"},
	{do: "MULTI;GET k;EXEC"},
	{before: "SET k v", do: "MULTI;SET k w NX PX 300;EXEC"},
	{do: "MULTI;SET k v;DISCARD"},
	{before: "SET k v", do: "MULTI;LPUSH k v;DEL k;EXEC", want: "DEL k"},
	{do: "MULTI;SELECT 2;SET k v;EXEC;SELECT 0", want: "2: SET k v"},
	{do: `MULTI;EVAL 'redis.call("set", KEYS[1], 1) redis.call("incr", KEYS[1])' 1 k;INCR n;EXEC`, want: "set k 1 + incr k + INCR n"},
	{do: "MULTI;FLUSHALL;SET k v;EXEC", want: "FLUSHALL + SET k v"},
	// What a server does by itself.
	{before: "SET k v PX 300", do: "clock:1;GET k", want: "DEL k", in: versions{"valkey": "UNLINK k"}},
	{before: "SET k v PX 300", do: "clock:1;EXISTS k", want: "DEL k", in: versions{"valkey": "UNLINK k"}},
	{before: "SET k v PX 300", do: "clock:1;SET k w NX PX 300", want: "DEL k + SET k w PXAT M+1300",
		in: versions{"6.2": "DEL k; SET k w PXAT M+1300", "valkey": "UNLINK k + SET k w PXAT M+1300"}},
	{before: "SET k v PX 300", do: "clock:1;SET k w", want: "DEL k + SET k w",
		in: versions{"6.2": "DEL k; SET k w", "valkey": "UNLINK k + SET k w"}},
	{before: "SET k v PX 300", do: "clock:1;DEL k", want: "DEL k", in: versions{"valkey": "UNLINK k"}},
	{before: "SET k v PX 300", do: "clock:1;INCR k", want: "DEL k + INCR k",
		in: versions{"6.2": "DEL k; INCR k", "valkey": "UNLINK k + INCR k"}},
	{before: "SET k v PX 300;SET l v PX 300", do: "clock:1;MGET k l", want: "DEL k + DEL l",
		in: versions{"6.2": "DEL k; DEL l", "valkey": "UNLINK k + UNLINK l"}},
	{before: "SET k v PX 300", do: "clock:1;MULTI;GET k;SET k w;EXEC", want: "DEL k + SET k w",
		in: versions{"valkey": "UNLINK k + SET k w"}},
	{before: "SET k v PX 300", do: `clock:1;EVAL 'return redis.call("set", KEYS[1], 1, "nx")' 1 k`, want: "DEL k + set k 1 nx",
		in: versions{"valkey": "UNLINK k + set k 1 nx"}},
	{before: "SET k v PX 300", do: "clock:1;DEBUG SET-ACTIVE-EXPIRE 1;empty:", want: "DEL k", in: versions{"valkey": "UNLINK k"}},
	{before: "SET k v;CONFIG SET maxmemory-policy allkeys-random", do: "CONFIG SET maxmemory 1;SET m v;CONFIG SET maxmemory 0;DEL m",
		want: "DEL k",
		in:   versions{"valkey": "UNLINK k"}},
}

// TestEffects: the journal says of each command what it did, or nothing where it did nothing. That holds for the versions named above,
// too; REDLOCK_SIM_REDIS_SERVER names a server to try.
func TestEffects(t *testing.T) {
	r := servertest.Start(t, epoch, "--appendonly", "yes", "--appendfsync", "no", "--aof-use-rdb-preamble", "no")
	version := "valkey"
	if r.Info("server", "valkey_version") == "" {
		version, _, _ = strings.Cut(r.Info("server", "redis_version"), ".")
		version = r.Info("server", "redis_version")[:len(version)+2]
	}
	c := &caller{t, r, r.RDB.Conn()}
	defer func() { _ = c.conn.Close() }()
	f := follow(t, r.Dir)
	for _, e := range effects {
		want := e.want
		if other, differs := e.in[version]; differs {
			want = other
		}
		if want == refused {
			continue
		}
		r.Set(t, epoch)
		c.run("DEBUG SET-ACTIVE-EXPIRE 0;CONFIG SET maxmemory 0;FLUSHALL")
		c.run(e.before)
		rest(t, f)
		c.run(e.do)
		c.run("SET last 1")
		var got []string
		suite.Eventually(t, "the last entry", func() bool {
			got = append(got, text(rest(t, f))...)
			return slices.Contains(got, "0: SET last 1")
		})
		all := strings.ReplaceAll(strings.Join(got[:len(got)-1], "; "), "0: ", "")
		if want := inMilliseconds(want); all != want {
			t.Errorf("%s | %s\n\twrote %s\n\twant  %s", e.before, e.do, all, want)
		}
	}
}

// inMilliseconds writes times behind epoch as such since 1970.
func inMilliseconds(text string) string {
	list := strings.Split(text, " ")
	for i, w := range list {
		if after, is := strings.CutPrefix(w, "M+"); is {
			digits := strings.TrimRight(after, ";")
			n, _ := strconv.ParseInt(digits, 10, 64)
			list[i] = strconv.FormatInt(epoch*1000+n, 10) + after[len(digits):]
		}
	}
	return strings.Join(list, " ")
}

// caller sends commands.
type caller struct {
	t    *testing.T
	r    *servertest.Redis
	conn *redis.Conn
}

// run carries out lines as `effects` has them. An error of the server is an answer.
func (c *caller) run(lines string) {
	c.t.Helper()
	var others []chan error
	for line := range strings.SplitSeq(lines, ";") {
		what, text, special := strings.Cut(line, ":")
		if line == "" {
			continue
		}
		switch {
		case special && what == "other":
			done, conn := make(chan error, 1), c.r.RDB.Conn()
			go func() {
				done <- do(conn, text)
				_ = conn.Close()
			}()
			others = append(others, done)
			suite.Eventually(c.t, "a client that waits", func() bool {
				return c.r.Info("clients", "blocked_clients") == strconv.Itoa(len(others))
			})
		case special && what == "clock":
			n, _ := strconv.ParseInt(text, 10, 64)
			c.r.Set(c.t, epoch+n)
			suite.Eventually(c.t, "the time", func() bool { return c.r.RDB.Time(context.Background()).Val().Unix() == epoch+n })
		case special && what == "empty":
			suite.Eventually(c.t, "no keys", func() bool { return c.r.RDB.DBSize(context.Background()).Val() == 0 })
		default:
			if err := do(c.conn, line); err != nil {
				c.t.Fatalf("%s: %v", line, err)
			}
		}
	}
	for _, done := range others {
		if err := suite.Receive(c.t, "an answer", done); err != nil {
			c.t.Fatal(err)
		}
	}
}

func do(conn *redis.Conn, line string) error {
	var args []any
	for line != "" {
		end := " "
		if strings.HasPrefix(line, "'") {
			line, end = line[1:], "'"
		}
		word, after, _ := strings.Cut(line, end)
		args, line = append(args, word), strings.TrimPrefix(after, " ")
		if end == " " {
			line = after
		}
	}
	err := conn.Process(context.Background(), redis.NewCmd(context.Background(), args...))
	if refused := redis.Error(nil); errors.As(err, &refused) {
		return nil
	}
	return err
}
