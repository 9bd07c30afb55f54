package command

import (
	"maps"
	"math"
	"strings"
)

// Effects on hashes.

// hset is HSET, HMSET and HSETNX. A field that HSET writes has no expiry of its own any more.
func hset(a act, k Key) Result {
	pairs, onlyNew := a.Words[2:], strings.EqualFold(a.Words[0], "HSETNX")
	if k.other(Hash) || len(pairs)%2 != 0 {
		return same(k)
	}
	to, ends := k.fields(), false
	for i := 0; i < len(pairs); i += 2 {
		_, there := to.Fields[pairs[i]]
		if k.OfField && !there {
			return obscured()
		}
		if !there || !onlyNew {
			to.Fields[pairs[i]] = pairs[i+1]
			ends = k.OfField
		}
	}
	if ends {
		to.Expires, to.OfField = Span{}, false
	}
	result := k.became(to)
	result.Ends = ends
	return result
}

// hsetEX is HSETEX, of which one field is replayed, in a hash that has no other.
func hsetEX(a act, k Key) Result {
	o, rest := hsetexOptions(a.Words[2:])
	if len(rest) != 4 || o.Strange != "" || o.Expiry == "KEEPTTL" || o.Number == "0" { // 0 is an error in Valkey, and an end in Redis
		return makesHash(a, k)
	}
	if o.Wrong || k.other(Hash) || rest[1] != "1" {
		return same(k)
	}
	to := Key{Holds: Hash, Fields: map[string]string{rest[2]: rest[3]}}
	if o.Expiry != "" {
		var ok bool
		if to.Expires, ok = o.Until(a.At); !ok {
			return same(k)
		}
		to.OfField = true
	}
	_, has := k.Fields[rest[2]]
	switch {
	case o.NX && has || o.XX && !has:
		return same(k)
	case k.there() && (!has || len(k.Fields) > 1 || k.Expires != (Span{}) && !k.OfField):
		return obscured()
	case to.OfField && strings.HasSuffix(o.Expiry, "AT") && to.Expires.To <= a.At.From:
		return removed()
	}
	return Result{Change{Did: Wrote, Ends: true}, to}
}

// hsetexOptions are the options of HSETEX, as SET has them, and the words from FIELDS on.
func hsetexOptions(words []string) (o Options, rest []string) {
	var options []string
	for len(words) > 0 && !strings.EqualFold(words[0], "FIELDS") {
		word := strings.ToUpper(words[0])
		if word == "FNX" || word == "FXX" {
			word = word[1:]
		}
		options, words = append(options, word), words[1:]
	}
	return ParseOptions(options, hsetexTakes), words
}

// hexpire is HEXPIRE, HPEXPIRE, HEXPIREAT and HPEXPIREAT of one field.
func hexpire(a act, k Key) Result {
	i := 3
	for i < len(a.Words) && !strings.EqualFold(a.Words[i], "FIELDS") {
		i++
	}
	field, one, has := a.field(i, k)
	if n, ok := Integer(a.Words[2]); one && (!has || !ok || n < 0) {
		return same(k)
	}
	if !one || len(k.Fields) > 1 || k.Expires != (Span{}) && !k.OfField {
		return onHash(a, k)
	}
	// For the hash that has no other field it is what EXPIRE is for a key.
	own := k
	own.OfField = false
	name := strings.ToUpper(a.Words[0])[1:]
	a.Words = append([]string{name, field, a.Words[2]}, a.Words[3:i]...)
	result := expire(a, own)
	result.After.OfField = result.Did == Extended || result.Did == Kept && k.OfField
	return result
}

// field is the one field that a command names behind its word FIELDS, and whether the hash has it.
func (a *act) field(at int, k Key) (name string, one, has bool) {
	if len(a.Words) != at+3 || a.Words[at+1] != "1" {
		return "", false, false
	}
	_, has = k.Fields[a.Words[at+2]]
	return a.Words[at+2], true, k.Holds == Hash && has
}

func hpersist(a act, k Key) Result {
	switch _, one, has := a.field(2, k); {
	case one && !has, one && !k.OfField && len(k.Fields) == 1:
		return same(k)
	case !one || !k.OfField:
		return onHash(a, k)
	}
	k.Expires, k.OfField = Span{}, false
	return Result{Change{Did: Extended, Ends: true}, k}
}

// hgetDel is HGETDEL, which removes as HDEL does.
func hgetDel(a act, k Key) Result {
	if n, ok := Integer(a.Words[3]); !strings.EqualFold(a.Words[2], "FIELDS") || !ok || n != int64(len(a.Words)-4) {
		return same(k)
	}
	a.Words = append([]string{"HDEL", a.Words[1]}, a.Words[4:]...)
	return hdel(a, k)
}

func hincr(a act, k Key) Result {
	by, ok := Integer(a.Words[3])
	if k.other(Hash) || !ok {
		return same(k)
	}
	if k.OfField {
		return obscured()
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
	to := Key{Holds: Hash, Fields: maps.Clone(k.Fields), Expires: k.Expires, OfField: k.OfField}
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
