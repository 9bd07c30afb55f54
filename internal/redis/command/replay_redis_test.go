package command_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server/servertest"
)

// realRedis is a redis-server that replays are compared with.
type realRedis struct {
	*servertest.Redis
	// conn is one connection, for SELECT.
	conn   *redis.Conn
	server command.Server
}

func startRedis(t *testing.T) *realRedis {
	t.Helper()
	r := &realRedis{Redis: servertest.Start(t, epoch)}
	r.conn = r.RDB.Conn()
	t.Cleanup(func() { _ = r.conn.Close() })
	r.server = command.ParseServer(r.Info("server", "redis_version"), r.Info("server", "valkey_version"))
	return r
}

// epoch is where the clocks of the tests begin, in s since 1970.
const epoch = int64(1_700_000_000)

func (r *realRedis) do(words ...string) *redis.Cmd {
	args := make([]any, len(words))
	for i, w := range words {
		args[i] = w
	}
	cmd := redis.NewCmd(context.Background(), args...)
	_ = r.conn.Process(context.Background(), cmd) // the command has it, too
	return cmd
}

// shown reports whether MONITOR shows a command that was answered so: one that the
// server knows, with as many words as it needs.
func shown(err error) bool {
	var answered redis.Error
	return !errors.As(err, &answered) || !strings.Contains(err.Error(), "wrong number of arguments") &&
		!strings.Contains(err.Error(), "unknown command") && !strings.Contains(err.Error(), "unknown subcommand")
}

// has is what the server has under a key, to the millisecond.
func (r *realRedis) has(name string) command.Key {
	return servertest.KeyOf(func(words ...string) any { return r.do(words...).Val() }, name)
}

func pick2(t *rapid.T, from [][]string) []string {
	return rapid.SampledFrom(from).Draw(t, "zadd options")
}

// drawWords draws a command that has a good chance to be about the key "lock".
func drawWords(t *rapid.T, now int64, server command.Server) []string {
	pick := func(what string, from ...string) string { return rapid.SampledFrom(from).Draw(t, what) }
	key := func() string { return pick("key", "lock", "lock", "lock", "lock", "other", "LOCK", "px") }
	value := func() string {
		return pick("value", "a", "b", "lock", "7", "-3", "9223372036854775807", "", "07", "NX", "x\x00y")
	}
	seconds := func() string {
		return pick("seconds", "1", "2", "3", "0", "-1", "x",
			"01", "9223372036854775807", strconv.FormatInt(now+2, 10), strconv.FormatInt(now, 10))
	}
	ms := func() string {
		at := func(ms int64) string { return strconv.FormatInt(1000*now+ms, 10) }
		return pick("ms", "1000", "1000", "2000", "2000", "0", "-5", "", at(1000), at(2000), at(0), at(-1))
	}
	options := func(from ...string) []string {
		var list []string
		for range rapid.SampledFrom([]int{0, 1, 1, 1, 2, 2, 3}).Draw(t, "options") {
			switch o := pick("option", from...); strings.ToUpper(o) {
			case "EX", "EXAT":
				list = append(list, o, seconds())
			case "PX", "PXAT":
				list = append(list, o, ms())
			case "IFEQ", "IFNE", "IFDEQ", "DB":
				list = append(list, o, value())
			default:
				list = append(list, o)
			}
		}
		return list
	}
	score := func() string {
		return pick("score", "1", "2", "-3", "2.5", "1e3", "inf", "-inf", "x", "", "1700000000123", "0")
	}
	border := func() string { return pick("border", "(", "", "(") + score() }
	zaddOptions := func() []string {
		return pick2(t, [][]string{nil, nil, {"NX"}, {"xx"}, {"GT", "CH"}, {"LT"}, {"INCR"}, {"NX", "XX"}, {"XX", "INCR"}})
	}
	with := func(words []string, more ...string) []string { return append(words, more...) }
	all := func(n int) []string {
		words := []string{pick("command", everyCommand...)}
		for range n {
			words = append(words, pick("word", "lock", "lock", "other", "1", "0", "a", "STORE", "STREAMS", "2", "SET", "u8", "("))
		}
		return words
	}
	drawn := []func() []string{
		func() []string {
			return with([]string{pick("set", "SET", "set"), key(), value()},
				options("NX", "XX", "get", "KEEPTTL", "EX", "PX", "EXAT", "pxat", "PX", "IFEQ", "IFNE", "IFDEQ")...)
		},
		func() []string { return []string{"SET", "lock", value(), pick("unit", "PX", "PXAT"), ms()} },
		func() []string {
			return []string{pick("setnx", "SETNX", "GETSET", "APPEND", "DELIFEQ"), key(), value()}
		},
		func() []string { return []string{"SETEX", key(), seconds(), value()} },
		func() []string { return []string{"PSETEX", key(), ms(), value()} },
		func() []string {
			return []string{pick("one", "GETDEL", "INCR", "DECR", "PERSIST", "GET", "TTL", "DUMP"), key()}
		},
		func() []string { return []string{pick("by", "INCRBY", "DECRBY"), key(), value()} },
		func() []string {
			return with([]string{"GETEX", key()}, options("PERSIST", "EX", "PX", "EXAT", "PXAT")...)
		},
		func() []string {
			return with([]string{pick("expire", "EXPIRE", "EXPIREAT"), key(), seconds()}, options("NX", "XX", "GT", "LT")...)
		},
		func() []string {
			return with([]string{pick("pexpire", "PEXPIRE", "PEXPIREAT"), key(), ms()}, options("NX", "XX", "GT", "LT")...)
		},
		func() []string {
			return []string{pick("pexpire", "PEXPIRE", "PEXPIREAT"), "lock", ms(), pick("than", "GT", "LT")}
		},
		func() []string { return []string{"PEXPIREAT", "lock", ms()} },
		func() []string { return []string{pick("del", "DEL", "UNLINK", "EXISTS", "TOUCH"), key(), key()} },
		func() []string { return []string{pick("mset", "MSET", "MSETNX"), key(), value(), key(), value()} },
		func() []string { return []string{"MSETNX", "lock", value()} },
		func() []string { return []string{pick("rename", "RENAME", "RENAMENX", "COPY"), key(), key()} },
		func() []string { return with([]string{"COPY", key(), key()}, options("REPLACE", "DB")...) },
		func() []string { return []string{"MOVE", key(), pick("db", "0", "1", "x")} },
		func() []string { return []string{"SETRANGE", key(), pick("offset", "0", "1", "5", "-1"), value()} },
		func() []string {
			return []string{"SETBIT", key(), pick("offset", "0", "7", "13", "-1"), pick("bit", "0", "1", "2")}
		},
		func() []string {
			return with([]string{pick("hset", "HSET", "HMSET"), key()}, value(), value(), value(), value())
		},
		func() []string { return []string{pick("hash", "HSETNX", "HINCRBY", "HSET"), key(), value(), value()} },
		func() []string { return []string{pick("hdel", "HDEL", "HGET", "HEXISTS"), key(), value()} },
		func() []string { return []string{"HDEL", "lock", "a", "b", "lock", "7"} },
		func() []string {
			return []string{pick("push", "LPUSH", "RPUSH", "LPUSHX", "RPUSHX", "SADD"), key(), value(), value()}
		},
		func() []string { return []string{"LREM", key(), pick("count", "0", "1", "-1", "2", "x"), value()} },
		func() []string { return []string{pick("rem", "SREM", "ZREM"), key(), value(), value()} },
		func() []string { return with(with([]string{"ZADD", key()}, zaddOptions()...), score(), value()) },
		func() []string { return []string{"ZADD", key(), score(), value(), score(), value()} },
		func() []string { return []string{"ZINCRBY", key(), score(), value()} },
		func() []string { return []string{"ZREMRANGEBYSCORE", key(), border(), border()} },
		func() []string { return []string{pick("take", "LPOP", "RPOP", "SPOP", "ZPOPMIN", "ZPOPMAX"), key()} },
		func() []string { return []string{"SELECT", pick("db", "0", "1")} },
		func() []string {
			return []string{pick("flush", "FLUSHDB", "FLUSHALL"), pick("how", "SYNC", "ASYNC", "x")}
		},
		func() []string { return all(rapid.IntRange(1, 5).Draw(t, "words")) },
	}
	return rapid.SampledFrom(drawn).Draw(t, "kind")()
}

// A replay says of the key what the server has, or that it is unclear; and it is
// unclear only where the random commands have no answer that the words tell.
func TestReplayIsRedis(t *testing.T) {
	r := startRedis(t)
	known, all := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		now := epoch
		r.Set(t, now)
		r.do("select", "0")
		r.do("flushall")
		replay := command.Replay{Name: "lock", Server: r.server}
		db := 0
		var story []string
		for range rapid.IntRange(1, 40).Draw(t, "length") {
			if rapid.IntRange(0, 3).Draw(t, "tick") == 0 {
				now += rapid.Int64Range(1, 3).Draw(t, "seconds")
				r.Set(t, now)
			}
			words := drawWords(t, now, r.server)
			err := r.do(words...).Err()
			story = append(story, fmt.Sprintf("%d: %q: %v", now-epoch, words, err))
			if !shown(err) {
				continue
			}
			if words[0] == "SELECT" && err == nil {
				db, _ = strconv.Atoi(words[1])
			}
			was := replay.Key
			change := replay.See(command.Executed{Words: words, DB: db, At: command.At(1000 * now)}, false)
			r.do("select", "0")
			want := r.has("lock")
			r.do("select", strconv.Itoa(db))
			check(t, story, was, replay.Key, change, want, 1000*now)
			all++
			if replay.Holds != command.Unclear {
				known++
			}
		}
	})
	t.Logf("known after %d of %d commands", known, all)
	if known < all/3 {
		t.Errorf("the key is known after %d of %d commands only", known, all)
	}
}

// TestReplayOfFieldsIsRedis: so it is with fields that have an expiry of their own, on servers that know them.
func TestReplayOfFieldsIsRedis(t *testing.T) {
	for _, version := range []string{"redis-8.2", "valkey-9.1"} {
		t.Run(version, func(t *testing.T) {
			t.Setenv("REDLOCK_SIM_REDIS_SERVER", suite.Server(t, version))
			r := startRedis(t)
			known, all := 0, 0
			rapid.Check(t, func(t *rapid.T) {
				now := epoch
				r.setClock(t, now) // no field ends at a whole second: not all commands take the same of the two milliseconds there for the last
				r.do("flushall")
				replay := command.Replay{Name: "lock", Server: r.server}
				var story []string
				for range rapid.IntRange(1, 30).Draw(t, "length") {
					if rapid.IntRange(0, 3).Draw(t, "tick") == 0 {
						now += rapid.Int64Range(1, 3).Draw(t, "seconds")
						r.setClock(t, now)
					}
					words := drawFieldWords(t, now)
					err := r.do(words...).Err()
					story = append(story, fmt.Sprintf("%d: %q: %v", now-epoch, words, err))
					was := replay.Key
					change := replay.See(command.Executed{Words: words, At: command.At(1000 * now)}, false)
					check(t, story, was, replay.Key, change, r.has("lock"), 1000*now)
					if all++; replay.Holds != command.Unclear {
						known++
					}
				}
			})
			if known < all/3 {
				t.Errorf("the key is known after %d of %d commands only", known, all)
			}
		})
	}
}

// setClock lets the clock stand at a second, also for commands: Valkey looks at it now and then.
func (r *realRedis) setClock(t rapid.TB, s int64) {
	t.Helper()
	r.Set(t, s)
	suite.Succeeds(t, "the clock", func() error {
		r.do("set", "probe", "x", "px", "1000")
		if ends := r.do("pexpiretime", "probe").Val(); ends != 1000*(s+1) {
			return fmt.Errorf("%v", ends)
		}
		return nil
	})
}

// drawFieldWords draws a command about a field of the hash "lock", or the hash.
func drawFieldWords(t *rapid.T, now int64) []string {
	pick := func(what string, from ...string) string { return rapid.SampledFrom(from).Draw(t, what) }
	ms := func() string { return pick("ms", "1500", "2500", "2500", "0", "-5", "x") }
	at := func() string { return strconv.FormatInt(1000*now+rapid.Int64Range(-1, 2).Draw(t, "at")*1000+500, 10) }
	field := func() string { return pick("field", "a", "a", "a", "a", "b") }
	ends := func() string {
		return pick("ends", "PX "+ms(), "PX 2500", "PX 2500", "px 1500", "PXAT "+at(), "KEEPTTL", "", "PX 1000 EX 1")
	}
	drawn := []func() string{
		func() string { return "HSETEX lock FNX " + ends() + " FIELDS 1 " + field() + " v" },
		func() string { return "HSETEX lock " + ends() + pick("xx", "", " fxx") + " FIELDS 1 " + field() + " w" },
		func() string { return "HSETEX lock PX 2500 FIELDS " + pick("n", "2 a v b v", "1 a", "0", "2 a v") },
		func() string {
			return "HPEXPIRE lock " + ms() + pick("than", "", "", " NX", " XX", " GT", " LT") + " FIELDS 1 " + field()
		},
		func() string { return "HPEXPIREAT lock " + at() + " FIELDS 1 " + field() },
		func() string { return "HPEXPIRE lock 2500 FIELDS " + pick("n", "2 a b", "1") },
		func() string { return pick("one", "HPERSIST", "HGETDEL", "HPTTL") + " lock FIELDS 1 " + field() },
		func() string {
			return pick("set", "HSET", "HSET", "HSETNX", "HMSET") + " lock " + field() + pick("value", " v", " 7")
		},
		func() string { return pick("one", "HDEL", "HGET", "HEXISTS") + " lock " + field() },
		func() string {
			return pick("key", "PERSIST", "PEXPIRE", "HGETALL", "PTTL") + " lock" + pick("ms", "", " 2500")
		},
		func() string { return "DEL lock" },
		func() string { return "DEL lock" },
		func() string { return "HSETEX lock FNX PX 2500 FIELDS 1 a v" },
		func() string { return "HINCRBY lock " + field() + " 1" },
	}
	return strings.Fields(rapid.SampledFrom(drawn).Draw(t, "kind")())
}

// check compares what a replay says with what the server has.
func check(t *rapid.T, story []string, was, got command.Key, change command.Change, want command.Key, now int64) {
	t.Helper()
	over := func(k command.Key) bool { return k.Expires.To > 0 && k.Expires.To < now }
	if over(was) {
		was = command.Key{}
	}
	if got.Holds == command.Unclear {
		if was.Holds != command.Unclear && change.Did != command.Obscured {
			t.Fatalf("%s\nunclear, and no word of it: %+v", strings.Join(story, "\n"), change)
		}
		return
	}
	if over(got) {
		got = command.Key{}
	}
	if !got.Equal(want) {
		t.Fatalf("%s\nreplayed %+v\nRedis has %+v", strings.Join(story, "\n"), got, want)
	}
	if change.Did == command.Kept && was.Holds != command.Unclear && !got.Equal(was) {
		t.Fatalf("%s\nchanged from %+v to %+v, and no word of it", strings.Join(story, "\n"), was, got)
	}
}

// Every command that the server says may write is replayed or known to write; and
// none of those that only read make a key unclear.
func TestTheServersCommandsAreKnown(t *testing.T) {
	r := startRedis(t)
	list, err := r.RDB.Command(context.Background()).Result()
	if err != nil {
		t.Fatal(err)
	}
	for name, info := range list {
		words := []string{name}
		for range max(int(info.Arity), -int(info.Arity)) - 1 {
			words = append(words, "lock")
		}
		for _, k := range []command.Key{{}, {Holds: command.Text, Value: "a"}, {Holds: command.Hash, Fields: map[string]string{"a": "b"}},
			{Holds: command.List, Items: []string{"a"}}, {Holds: command.Members, Fields: map[string]string{"a": ""}},
			{Holds: command.Sorted, Fields: map[string]string{"a": "1"}}} {
			replay := command.Replay{Name: "lock", Key: k}
			change := replay.See(command.Executed{Words: words}, false)
			if info.ReadOnly && change.Did != command.Kept {
				t.Errorf("%s reads, and is taken to do %v to %+v", name, change.Did, k)
			}
			if !slices.Contains(info.Flags, "write") && !info.ReadOnly && change.Did != command.Kept {
				t.Errorf("%s has no keys, and is taken to do %v to %+v", name, change.Did, k)
			}
		}
	}
}

// everyCommand lists the commands that a random test may throw at a server: none
// that ends it, waits or changes the connection.
var everyCommand = strings.Fields(`APPEND BITCOUNT BITFIELD BITFIELD_RO BITOP BITPOS COPY DBSIZE DECR DECRBY DEL DUMP ECHO
	EVALSHA_RO EVAL_RO EXISTS EXPIRE EXPIREAT EXPIRETIME FCALL_RO FLUSHALL FLUSHDB GEOADD GEODIST GEOHASH GEOPOS GEORADIUS GEORADIUSBYMEMBER
	GEORADIUSBYMEMBER_RO GEORADIUS_RO GEOSEARCH GEOSEARCHSTORE GET GETBIT GETDEL GETEX GETRANGE GETSET HDEL HEXISTS HEXPIRE
	HEXPIREAT HEXPIRETIME HGET HGETALL HINCRBY HINCRBYFLOAT HKEYS HLEN HMGET HMSET HPERSIST HPEXPIRE HPEXPIREAT HPEXPIRETIME
	HPTTL HRANDFIELD HSCAN HSET HSETNX HSTRLEN HTTL HVALS INCR INCRBY INCRBYFLOAT INFO KEYS LASTSAVE LCS LINDEX LINSERT LLEN
	LMOVE LMPOP LPOP LPOS LPUSH LPUSHX LRANGE LREM LSET LTRIM MEMORY MGET MOVE MSET MSETNX OBJECT PERSIST PEXPIRE PEXPIREAT
	PEXPIRETIME PFADD PFCOUNT PFMERGE PING PSETEX PTTL PUBLISH PUBSUB RANDOMKEY RENAME RENAMENX RESTORE RESTORE-ASKING ROLE
	RPOP RPOPLPUSH RPUSH RPUSHX SADD SCAN SCARD SDIFF SDIFFSTORE SET SETBIT SETEX SETNX SETRANGE SFLUSH SINTER SINTERCARD
	SINTERSTORE SISMEMBER SMEMBERS SMISMEMBER SMOVE SORT SORT_RO SPOP SPUBLISH SRANDMEMBER SREM SSCAN STRLEN SUBSTR SUNION
	SUNIONSTORE TIME TOUCH TTL TYPE UNLINK XACK XADD XAUTOCLAIM XCLAIM XDEL XGROUP XINFO XLEN XPENDING XRANGE XREVRANGE
	XSETID XTRIM ZADD ZCARD ZCOUNT ZDIFF ZDIFFSTORE ZINCRBY ZINTER ZINTERCARD ZINTERSTORE ZLEXCOUNT ZMPOP ZMSCORE ZPOPMAX
	ZPOPMIN ZRANDMEMBER ZRANGE ZRANGEBYLEX ZRANGEBYSCORE ZRANGESTORE ZRANK ZREM ZREMRANGEBYLEX ZREMRANGEBYRANK
	ZREMRANGEBYSCORE ZREVRANGE ZREVRANGEBYLEX ZREVRANGEBYSCORE ZREVRANK ZSCAN ZSCORE ZUNION ZUNIONSTORE`)
