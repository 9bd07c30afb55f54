package command_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
)

func isLock(word string) bool { return word == "lock" }

// TestCanDo: what a command can do is told by its words, and of a key that is none of the lock's it does nothing.
func TestCanDo(t *testing.T) {
	const set, lengthen, end = command.CanSet, command.CanLengthen, command.CanEnd
	for words, want := range map[string]command.Can{
		"SET lock v NX PX 1000": set, "set lock v px 1000": set | lengthen, "SET lock v XX PX 9": lengthen, "SET other lock": 0,
		"SET lock v IFEQ v PX 9": lengthen, "SET lock w ifeq v": lengthen, "DELIFEQ lock v": end,
		"SETNX lock v": set, "SETEX lock 1 v": set | lengthen, "HSETNX lock f v": set, "ZADD lock 5 m": set | lengthen, "RPUSH lock v": set,
		"HSET lock f v": set | lengthen, "HSETEX lock FNX PX 9 FIELDS 1 f v": set, "HSETEX lock PX 9 FIELDS 1 f v": set | lengthen,
		"HPEXPIRE lock 9 FIELDS 1 f": lengthen, "HGETDEL lock FIELDS 1 f": end,
		"PEXPIRE lock 1000": lengthen, "EXPIRE lock 0": end, "pexpire lock -1": end, "PERSIST lock": lengthen, "EXPIRE other 5": 0,
		"GETEX lock": 0, "GETEX lock PX 5": lengthen,
		"DEL lock": end, "UNLINK other lock": end, "DEL other": 0, "DELEX lock IFEQ v": end, "GETDEL lock": end, "LPOP lock": end,
		"ZREM lock m": end, "FLUSHALL": end, "GET lock": 0, "EXISTS lock": 0, "PTTL lock": 0, "WATCH lock": 0, "PUBLISH lock x": 0,
		"MULTI": 0, "EXEC": 0, "RENAME lock other": set | lengthen | end, "LOCKIT lock v": set | lengthen | end, "LOCKIT other": 0,
	} {
		if got := command.CanDo(strings.Fields(words), isLock); got != want {
			t.Errorf("%s: got %03b, want %03b", words, got, want)
		}
	}
}

// TestScriptCan: a script can do what the commands can that stand in it, with either quotes and in any case.
func TestScriptCan(t *testing.T) {
	const set, lengthen, end = command.CanSet, command.CanLengthen, command.CanEnd
	for text, want := range map[string]command.Can{
		`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) else return 0 end`:              end,
		`if redis.call('GET',KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE',KEYS[1],ARGV[2]) end return 0`:         lengthen,
		`-- doesn't free it` + "\n" + `if redis.pcall("exists", KEYS[1]) == 0 then redis.call("sadd", KEYS[1], "a") end`: set,
		`local call = redis.call; if call('get', KEYS[1]) then call('del', KEYS[1]) end`:                                 end,
		`return redis.call(ARGV[1], KEYS[1])`:                             set | lengthen | end,
		`redis.call("get", KEYS[1]); return redis.call(ARGV[1], KEYS[1])`: set | lengthen | end,
		`return redis.call("get", KEYS[1])`:                               0,
	} {
		if got := command.ScriptCan(text); got != want {
			t.Errorf("%s: got %03b, want %03b", text, got, want)
		}
	}
}

// TestCanCoversReplay: no command does to a key what it was said not to be able to do. The replay of the commands says what they did.
func TestCanCoversReplay(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	names := strings.Fields(`SET SETNX SETEX PSETEX GETSET GETDEL GETEX MSET MSETNX APPEND SETRANGE INCR INCRBY DEL UNLINK DELEX DELIFEQ EXPIRE
		PEXPIRE PERSIST FLUSHALL HSET HSETNX HSETEX HPEXPIRE HPERSIST HGETDEL HINCRBY HDEL LPUSH RPUSH LREM
		SADD SREM ZADD ZREM LPOP SPOP GET EXISTS PTTL HGET`)
	did := make(map[command.Can]int)
	for range 200_000 {
		k := command.Replay{Name: "lock"}
		for step := range 4 {
			words := []string{pick(names...), pick("lock", "lock", "other")}
			if len(words[0]) > 5 && strings.HasPrefix(words[0], "H") && r.IntN(2) == 0 {
				fields := map[string]string{"HSETEX": "PX 50 FIELDS 1 v w", "HPEXPIRE": "70 FIELDS 1 v",
					"HPERSIST": "FIELDS 1 v", "HGETDEL": "FIELDS 1 v"}
				words = append(words, strings.Fields(fields[words[0]])...)
			}
			for range r.IntN(4) {
				words = append(words, pick("v", "w", "1", "5000", "0", "-1", "NX", "XX", "PX", "EX", "KEEPTTL", "PERSIST", "IFEQ", "lock", "GT"))
			}
			at := int64(1_000_000 + 10*step)
			before := k.Key
			change := k.See(command.Executed{Words: words, At: command.Span{From: at, To: at}}, false)
			if k.Holds == command.Unclear || before.Holds == command.Unclear || change.Expired {
				break
			}
			var was command.Can
			switch there, is := before.Holds != command.Absent, k.Holds != command.Absent; {
			case !there && is:
				was = command.CanSet
			case there && !is:
				was = command.CanEnd
			case there && before.Expires != k.Expires:
				was = command.CanLengthen
			}
			did[was]++
			if can := command.CanDo(words, isLock); was&^can != 0 {
				t.Fatalf("%v did %03b to %+v, and can do %03b", words, was, before, can)
			}
		}
	}
	if did[command.CanSet] < 300 || did[command.CanEnd] < 300 || did[command.CanLengthen] < 300 {
		t.Errorf("too little was done: %v", did)
	}
}
