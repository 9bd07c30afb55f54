package command

import (
	"maps"
	"math"
	"strings"
)

// Effects on hashes.

// hset is HSET, HMSET and HSETNX.
func hset(a act, k Key) Result {
	pairs := a.Words[2:]
	if k.other(Hash) || len(pairs)%2 != 0 {
		return same(k)
	}
	to := k.fields()
	for i := 0; i < len(pairs); i += 2 {
		if _, there := to.Fields[pairs[i]]; !there || !strings.EqualFold(a.Words[0], "HSETNX") {
			to.Fields[pairs[i]] = pairs[i+1]
		}
	}
	return k.became(to)
}

func hincr(a act, k Key) Result {
	by, ok := Integer(a.Words[3])
	if k.other(Hash) || !ok {
		return same(k)
	}
	to := k.fields()
	n, isInteger := Integer(to.Fields[a.Words[2]])
	if _, there := to.Fields[a.Words[2]]; there && !isInteger || by > 0 && n > math.MaxInt64-by || by < 0 && n < math.MinInt64-by {
		return same(k)
	}
	to.Fields[a.Words[2]] = Itoa(n + by)
	return k.became(to)
}

func hdel(a act, k Key) Result {
	if k.Holds != Hash {
		return same(k)
	}
	to := k.fields()
	for _, f := range a.Words[2:] {
		delete(to.Fields, f)
	}
	return k.became(to)
}

// fields is a copy of the key as a hash.
func (k Key) fields() Key {
	to := Key{Holds: Hash, Fields: maps.Clone(k.Fields), Expires: k.Expires}
	if to.Fields == nil {
		to.Fields = make(map[string]string)
	}
	return to
}

// became is what was done to a hash: one without fields is gone.
func (k Key) became(to Key) Result {
	if len(to.Fields) == 0 {
		return removed()
	}
	if k.Equal(to) {
		return same(k)
	}
	return written(to)
}

// onHash is for what changes hashes in ways that are not replayed.
func onHash(_ act, k Key) Result {
	if k.Holds != Hash {
		return same(k)
	}
	return obscured()
}

// makesHash is onHash for what makes the hash where it is not there.
func makesHash(_ act, k Key) Result {
	if k.other(Hash) {
		return same(k)
	}
	return obscured()
}
