package command

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Can is what commands can do to a key. It is told by their words alone, before they are carried out: whether a command does it
// depends on the key. So a refused SET NX can set the key, too.
type Can uint8

const (
	// CanSet: where the key is not there, it can be there afterwards.
	CanSet Can = 1 << iota
	// CanLengthen: where the key is there, it can have another end afterwards.
	CanLengthen
	// CanEnd: where the key is there, it can be gone afterwards, or a member of it.
	CanEnd
	canAll = CanSet | CanLengthen | CanEnd
)

var canNames = map[Can]string{CanSet: "set", CanLengthen: "lengthen", CanEnd: "end"}

// CanNamed finds what a command can do by its word; 0: there is no such word.
func CanNamed(word string) Can {
	for c, name := range canNames {
		if name == word {
			return c
		}
	}
	return 0
}

// abilities are the commands of the table that can do less than everything. Those that change no key can do nothing.
var abilities = buildAbilities()

func buildAbilities() map[string]Can {
	t := make(map[string]Can)
	for names, can := range map[string]Can{
		`SETNX MSETNX INCR DECR INCRBY DECRBY INCRBYFLOAT APPEND SETRANGE SETBIT BITFIELD HSETNX HINCRBY HINCRBYFLOAT
		LPUSH RPUSH SADD XADD`: CanSet,
		`SET SETEX PSETEX GETSET MSET MSETEX INCREX HSET HMSET HSETEX ZADD ZINCRBY`:                             CanSet | CanLengthen,
		`EXPIRE PEXPIRE EXPIREAT PEXPIREAT PERSIST GETEX HEXPIRE HEXPIREAT HGETEX HPERSIST HPEXPIRE HPEXPIREAT`: CanLengthen,
		`DEL UNLINK DELEX DELIFEQ GETDEL HDEL HGETDEL LREM SREM ZREM ZREMRANGEBYSCORE FLUSHDB FLUSHALL`:         CanEnd,
		takers:  CanEnd,
		waiters: CanEnd,
	} {
		for name := range strings.FieldsSeq(names) {
			t[name] = can
		}
	}
	return t
}

// CanDoByName is what a command can do to a key that it names, whatever its other words are. A command that nobody knows can do
// anything.
func CanDoByName(name string) Can {
	name = strings.ToUpper(name)
	if can, ok := abilities[name]; ok {
		return can
	}
	if e, known := table[name]; known && e.effect == nil {
		return 0
	}
	return canAll
}

// CanDo is what a command can do to one of the keys. A script's commands are not its words: see ScriptCan.
func CanDo(words []string, isKey func(word string) bool) Can {
	can := CanDoByName(words[0])
	if can == 0 {
		return 0
	}
	rest, e := words[1:], lookup(words)
	if !e.names(nil, "") && !slices.ContainsFunc(rest, func(word string) bool { return isKey(word) && e.names(rest, word) }) {
		return 0
	}
	option := func(name string) bool {
		return len(words) > 3 && slices.ContainsFunc(words[3:], func(word string) bool { return strings.EqualFold(word, name) })
	}
	switch strings.ToUpper(words[0]) {
	case "SET":
		if option("NX") {
			return CanSet
		}
		if option("XX") || option("IFEQ") {
			return CanLengthen
		}
	case "HSETEX":
		if slices.ContainsFunc(words[2:], func(word string) bool { return strings.EqualFold(word, "FNX") }) {
			return CanSet
		}
	case "GETEX":
		if len(words) < 3 {
			return 0
		}
	case "EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT":
		if len(words) > 2 && isPast(words[2]) {
			return CanEnd
		}
	}
	return can
}

// isPast reports that a key which is given this time is removed, whatever the node's clock shows.
func isPast(word string) bool {
	n, err := strconv.ParseInt(word, 10, 64)
	return err == nil && n <= 0
}

var (
	quotedWord = regexp.MustCompile(`["']([A-Za-z]+)["']`)
	// namelessCall is a call of a command whose name does not stand there.
	namelessCall = regexp.MustCompile(`\bp?call\s*\(\s*[^"'\s]`)
)

// ScriptCan is what a script can do to the keys that it is called with: all that any command can do whose name stands in quotes in its
// text. If it calls a command whose name does not stand there, it can do anything.
func ScriptCan(text string) (can Can) {
	named := false
	for _, match := range quotedWord.FindAllStringSubmatch(text, -1) {
		if name := strings.ToUpper(match[1]); table[name].names != nil {
			can, named = can|CanDoByName(name), true
		}
	}
	if !named || namelessCall.MatchString(text) {
		return canAll
	}
	return can
}
