package command

import (
	"slices"
	"strings"
)

// entry is what is known of a command.
type entry struct {
	// names says whether one of its words is the name of a key.
	names func(words []string, key string) bool
	// effect is what it does to such a key; nil: nothing.
	effect func(a act, k Key) Result
	// words is how many it has at least: with fewer every server refuses it.
	words int
	// anyDB: it may touch keys of databases other than the connection's.
	anyDB bool
}

// concerns reports whether a command may touch the key.
func (e entry) concerns(r *Replay, c Executed) bool {
	return len(c.Words) >= e.words && (e.anyDB || c.DB == r.DB) && e.names(c.Words[1:], r.Name)
}

// NamesNoKey reports that a command concerns keys that it does not name.
func NamesNoKey(words []string) bool { return lookup(words).names(nil, "") }

// Where the names of keys are among the words behind the command's own.
func first(words []string, key string) bool    { return len(words) > 0 && words[0] == key }
func second(words []string, key string) bool   { return len(words) > 1 && words[1] == key }
func either(words []string, key string) bool   { return first(words, key) || second(words, key) }
func anywhere(words []string, key string) bool { return slices.Contains(words, key) }
func unnamed([]string, string) bool            { return true }

// lookup finds a command. One that nobody knows may do anything to a key that one
// of its words names.
func lookup(words []string) entry {
	if e, ok := table[strings.ToUpper(words[0])]; ok {
		return e
	}
	return entry{names: anywhere, effect: overwrite, anyDB: true}
}

// table has what the commands of Redis 7 to 8 and of Valkey do to a string or a
// hash, or make where there is no key.
var table = buildTable()

func buildTable() map[string]entry {
	t := map[string]entry{
		"SET": {first, set, 3, false}, "SETNX": {first, setNX, 3, false}, "SETEX": {first, setEX, 4, false},
		"PSETEX": {first, setEX, 4, false}, "GETSET": {first, getSet, 3, false}, "GETDEL": {first, getDel, 2, false},
		"GETEX": {first, getEX, 2, false}, "MSET": {anywhere, mset, 3, false}, "MSETNX": {anywhere, mset, 3, false},
		"MSETEX": {anywhere, mset, 4, false}, "APPEND": {first, appendTo, 3, false}, "SETRANGE": {first, setRange, 4, false},
		"SETBIT": {first, setBit, 4, false}, "BITFIELD": {first, bitField, 2, false}, "BITOP": {second, overwrite, 4, false},
		"INCR": {first, incr, 2, false}, "DECR": {first, incr, 2, false}, "INCRBY": {first, incr, 3, false},
		"DECRBY": {first, incr, 3, false}, "INCRBYFLOAT": {first, onText, 3, false}, "INCREX": {first, onText, 2, false},
		"PFADD": {first, sketch, 2, false}, "PFMERGE": {first, sketch, 2, false},

		"DEL": {anywhere, del, 2, false}, "UNLINK": {anywhere, del, 2, false}, "DELEX": {first, delEX, 2, false},
		"DELIFEQ": {first, delIfEq, 3, false}, "EXPIRE": {first, expire, 3, false}, "PEXPIRE": {first, expire, 3, false},
		"EXPIREAT": {first, expire, 3, false}, "PEXPIREAT": {first, expire, 3, false}, "PERSIST": {first, persist, 2, false},
		"RENAME": {either, rename, 3, false}, "RENAMENX": {either, rename, 3, false}, "COPY": {either, copyKey, 3, true},
		"MOVE": {first, move, 3, true}, "RESTORE": {first, restore, 4, false}, "RESTORE-ASKING": {first, restore, 4, false},
		"MIGRATE": {anywhere, migrate, 6, false}, "SORT": {anywhere, store, 2, false},
		"FLUSHDB": {unnamed, flush, 1, false}, "FLUSHALL": {unnamed, flush, 1, true}, "SFLUSH": {unnamed, vanish, 1, false},
		"SWAPDB": {unnamed, swap, 3, true},

		"HSET": {first, hset, 4, false}, "HMSET": {first, hset, 4, false}, "HSETNX": {first, hset, 4, false},
		"HINCRBY": {first, hincr, 4, false}, "HDEL": {first, hdel, 3, false}, "HSETEX": {first, hsetEX, 6, false},
		"HINCRBYFLOAT": {first, makesHash, 4, false}, "HGETDEL": {first, hgetDel, 5, false},
		"HPEXPIRE": {first, hexpire, 6, false}, "HEXPIRE": {first, hexpire, 6, false}, "HPEXPIREAT": {first, hexpire, 6, false},
		"HEXPIREAT": {first, hexpire, 6, false}, "HPERSIST": {first, hpersist, 5, false},

		"LPUSH": {first, push, 3, false}, "RPUSH": {first, push, 3, false}, "LPUSHX": {first, push, 3, false},
		"RPUSHX": {first, push, 3, false}, "LREM": {first, lrem, 4, false}, "SADD": {first, sadd, 3, false},
		"SREM": {first, remove(Members), 3, false}, "ZADD": {first, zadd, 4, false}, "ZINCRBY": {first, zincrBy, 4, false},
		"ZREM": {first, remove(Sorted), 3, false}, "ZREMRANGEBYSCORE": {first, zremRangeByScore, 4, false},

		"GEORADIUS": {anywhere, store, 2, false}, "GEORADIUSBYMEMBER": {anywhere, store, 2, false},
		"XGROUP": {second, makes, 3, false}, "LMOVE": {either, makes, 3, false}, "RPOPLPUSH": {either, makes, 3, false},
		"SMOVE": {either, makes, 3, false}, "BLMOVE": {either, waits, 3, false}, "BRPOPLPUSH": {either, waits, 3, false},
	}
	for names, e := range map[string]entry{
		readers: {anywhere, nil, 1, false}, keyless: {anywhere, nil, 1, false}, takers: {anywhere, takes, 2, false},
		waiters: {anywhere, awaits, 3, false},
		makers:  {first, makes, 2, false}, stores: {first, overwrite, 2, false}, hashFields: {first, onHash, 2, false},
	} {
		for name := range strings.FieldsSeq(names) {
			t[name] = e
		}
	}
	return t
}

// readers change no key. (PFCOUNT writes into the sketch that it has counted.)
const readers = `BITCOUNT BITFIELD_RO BITPOS DBSIZE DIGEST DUMP EXISTS EXPIRETIME GEODIST GEOHASH GEOPOS GEORADIUSBYMEMBER_RO
	GEORADIUS_RO GEOSEARCH GET GETBIT GETRANGE HEXISTS HEXPIRETIME HGET HGETALL HKEYS HLEN HMGET HPEXPIRETIME HPTTL HRANDFIELD
	HSCAN HSTRLEN HTTL HVALS KEYS LCS LINDEX LLEN LPOS LRANGE MEMORY MGET OBJECT PEXPIRETIME PFCOUNT PTTL RANDOMKEY SCAN SCARD
	SDIFF SINTER SINTERCARD SISMEMBER SMEMBERS SMISMEMBER SORT_RO SRANDMEMBER SSCAN STRLEN SUBSTR SUNION TOUCH TTL TYPE VCARD VDIM
	VEMB VGETATTR VINFO VISMEMBER VLINKS VRANDMEMBER VRANGE VSIM WATCH XINFO XLEN XPENDING XRANGE XREAD XREVRANGE ZCARD ZCOUNT
	ZDIFF ZINTER ZINTERCARD ZLEXCOUNT ZMSCORE ZRANDMEMBER ZRANGE ZRANGEBYLEX ZRANGEBYSCORE ZRANK ZREVRANGE ZREVRANGEBYLEX
	ZREVRANGEBYSCORE ZREVRANK ZSCAN ZSCORE ZUNION`

// keyless have no keys, though one of their words may look like it. The commands of
// a script show by themselves.
const keyless = `ACL ASKING AUTH BGREWRITEAOF BGSAVE CLIENT CLUSTER CLUSTERSCAN COMMAND CONFIG DEBUG DISCARD ECHO EVAL EVALSHA
	EVALSHA_RO EVAL_RO EXEC FAILOVER FCALL FCALL_RO FUNCTION HELLO HOTKEYS INFO LASTSAVE LATENCY LOLWUT MODULE MONITOR MULTI PFSELFTEST PING
	PSUBSCRIBE PSYNC PUBLISH PUBSUB PUNSUBSCRIBE QUIT READONLY READWRITE REPLCONF REPLICAOF RESET ROLE SAVE SCRIPT SELECT
	SHUTDOWN SLAVEOF SLOWLOG SPUBLISH SSUBSCRIBE SUBSCRIBE SUNSUBSCRIBE SYNC TIME UNSUBSCRIBE UNWATCH WAIT WAITAOF`

// takers change a list, a set, a sorted set or a stream that is there. They make no
// key, and have an error for one of another sort.
const takers = `LINSERT LMPOP LPOP LSET LTRIM RPOP SPOP VREM VSETATTR XACK XACKDEL XAUTOCLAIM XCFGSET XCLAIM XDEL XDELEX XNACK
	XREADGROUP XSETID XTRIM ZMPOP ZPOPMAX ZPOPMIN ZREMRANGEBYLEX ZREMRANGEBYRANK`

// waiters are takers that wait until there is something to take.
const waiters = `BLMPOP BLPOP BRPOP BZMPOP BZPOPMAX BZPOPMIN`

// Waiting are the commands that wait until there is something to take.
func Waiting() []string {
	return append(strings.Fields(waiters), "BLMOVE", "BRPOPLPUSH", "XREAD", "XREADGROUP")
}

// Waits reports that a command waits until there is something to take, if there is nothing.
func Waits(words []string) bool {
	if len(words) == 0 || !slices.ContainsFunc(Waiting(), func(name string) bool { return strings.EqualFold(name, words[0]) }) {
		return false
	}
	blocks := func(w string) bool { return strings.EqualFold(w, "block") }
	return !strings.HasPrefix(strings.ToUpper(words[0]), "X") || slices.ContainsFunc(words, blocks)
}

// makers also make the key where it is not there.
const makers = `GEOADD VADD XADD`

// stores write their result over any key, or remove it where there is none.
const stores = `GEOSEARCHSTORE SDIFFSTORE SINTERSTORE SUNIONSTORE ZDIFFSTORE ZINTERSTORE ZRANGESTORE ZUNIONSTORE`

// hashFields change a hash that is there in ways that are not replayed.
const hashFields = `HGETEX`
