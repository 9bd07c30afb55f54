package command

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Effects on lists, sets and sorted sets. Replayed are those by which locks write elements, or remove those that they name.

// push is LPUSH, RPUSH, LPUSHX and RPUSHX.
func push(a act, k Key) Result {
	name := strings.ToUpper(a.Words[0])
	if k.other(List) || !k.there() && strings.HasSuffix(name, "X") {
		return same(k)
	}
	to := Key{Holds: List, Items: slices.Clone(k.Items), Expires: k.Expires}
	for _, item := range a.Words[2:] {
		if name[0] == 'L' {
			to.Items = slices.Insert(to.Items, 0, item)
		} else {
			to.Items = append(to.Items, item)
		}
	}
	return k.becameElements(to)
}

// lrem is LREM, which removes some of the items with a value, or all (0), from the tail where the number is below 0.
func lrem(a act, k Key) Result {
	n, ok := Integer(a.Words[2])
	if k.Holds != List || !ok {
		return same(k)
	}
	to := Key{Holds: List, Items: slices.Clone(k.Items), Expires: k.Expires}
	if n < 0 {
		slices.Reverse(to.Items)
	}
	left := max(n, -n)
	if left <= 0 {
		left = math.MaxInt64
	}
	to.Items = slices.DeleteFunc(to.Items, func(item string) bool {
		if item != a.Words[3] || left == 0 {
			return false
		}
		left--
		return true
	})
	if n < 0 {
		slices.Reverse(to.Items)
	}
	return k.becameElements(to)
}

func sadd(a act, k Key) Result {
	if k.other(Members) {
		return same(k)
	}
	to := k.copied(Members)
	for _, member := range a.Words[2:] {
		to.Fields[member] = ""
	}
	return k.becameElements(to)
}

// remove is SREM and ZREM.
func remove(of Holds) func(act, Key) Result {
	return func(a act, k Key) Result {
		if k.Holds != of {
			return same(k)
		}
		to := k.copied(of)
		for _, member := range a.Words[2:] {
			delete(to.Fields, member)
		}
		return k.becameElements(to)
	}
}

// zaddTakes are the options of ZADD.
const zaddTakes = "NX XX GT LT CH INCR"

// zadd is ZADD. A server refuses numbers that are none; here it is not known of all texts whether they are.
func zadd(a act, k Key) Result {
	has, words := zaddOptions(a.Words[2:])
	wrong := has["NX"] && (has["XX"] || has["GT"] || has["LT"]) || has["GT"] && has["LT"] || has["INCR"] && len(words) != 2
	if k.other(Sorted) || wrong || len(words) == 0 || len(words)%2 != 0 {
		return same(k)
	}
	to := k.copied(Sorted)
	for i := 0; i < len(words); i += 2 {
		n, ok := score(words[i])
		if !ok {
			return obscured()
		}
		before, there := to.Fields[words[i+1]]
		was, _ := score(before)
		if has["INCR"] {
			n += was
		}
		if math.IsNaN(n) {
			return obscured()
		}
		if there && mayReplace(has, was, n) || !there && !has["XX"] {
			to.Fields[words[i+1]] = formatScore(n)
		}
	}
	return k.becameElements(to)
}

// zaddOptions are the options of ZADD, and the words behind them.
func zaddOptions(words []string) (has map[string]bool, rest []string) {
	has = make(map[string]bool)
	for len(words) > 0 && oneOf(zaddTakes, words[0]) != "" {
		has[oneOf(zaddTakes, words[0])] = true
		words = words[1:]
	}
	return has, words
}

// mayReplace reports whether the options of ZADD let a score take the place of another.
func mayReplace(has map[string]bool, was, n float64) bool {
	return !has["NX"] && (!has["GT"] || n > was) && (!has["LT"] || n < was)
}

// zincrBy is ZINCRBY, which has the words of ZADD with INCR.
func zincrBy(a act, k Key) Result {
	a.Words = []string{"ZADD", a.Words[1], "INCR", a.Words[2], a.Words[3]}
	return zadd(a, k)
}

// zremRangeByScore is ZREMRANGEBYSCORE.
func zremRangeByScore(a act, k Key) Result {
	if k.Holds != Sorted {
		return same(k)
	}
	least, above, ok := border(a.Words[2])
	most, below, fine := border(a.Words[3])
	if !ok || !fine {
		return obscured()
	}
	to := k.copied(Sorted)
	maps.DeleteFunc(to.Fields, func(_, text string) bool {
		n, _ := score(text)
		return (n > least || n == least && !above) && (n < most || n == most && !below)
	})
	return k.becameElements(to)
}

// border reads an end of a range of scores; open: the score itself does not belong to it.
func border(text string) (n float64, open, ok bool) {
	text, open = strings.CutPrefix(text, "(")
	n, ok = score(text)
	return n, open, ok
}

// score reads a score that every server reads in the same way; false: it may be one, or none.
func score(text string) (float64, bool) {
	switch strings.ToLower(text) {
	case "inf", "+inf":
		return math.Inf(1), true
	case "-inf":
		return math.Inf(-1), true
	}
	if strings.Trim(text, "0123456789.eE+-") != "" {
		return 0, false
	}
	n, err := strconv.ParseFloat(text, 64)
	return n, err == nil
}

// formatScore writes a score in one way.
func formatScore(n float64) string {
	if n == 0 { // -0 is the same score
		n = 0
	}
	return strconv.FormatFloat(n, 'g', -1, 64)
}

// Score is a score in a sorted set as a key has it, from a server's words for it.
func Score(text string) string {
	if n, ok := score(text); ok {
		return formatScore(n)
	}
	return text
}

// copied is a copy of the key as a set or a sorted set.
func (k Key) copied(as Holds) Key {
	to := k.fields()
	to.Holds = as
	return to
}

// becameElements is what was done to a list, a set or a sorted set: one without elements is gone.
func (k Key) becameElements(to Key) Result {
	if len(to.Items) == 0 && len(to.Fields) == 0 && k.there() {
		return removed()
	}
	if len(to.Items) == 0 && len(to.Fields) == 0 || k.Equal(to) {
		return same(k)
	}
	return written(to)
}

// takes is for what takes elements without naming them: a lock that does so has its lock by what it took. It has an error for a
// string or a hash.
func takes(_ act, k Key) Result {
	if !k.there() || k.Holds == Text || k.Holds == Hash {
		return same(k)
	}
	return obscured()
}

// awaits is takes for what may wait until there is something to take.
func awaits(a act, k Key) Result {
	o := takes(a, k)
	o.Lasting = !k.there()
	return o
}
