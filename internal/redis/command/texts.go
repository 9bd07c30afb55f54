package command

import (
	"math"
	"strings"
)

// Effects on strings.

// set is SET. On a key that holds something else, conditions that look at the value
// and GET are errors.
func set(a act, k Key) Result {
	o := ParseOptions(a.Words[3:], setTakes)
	if o.Wrong {
		return same(k)
	}
	if o.Strange != "" {
		return obscured()
	}
	result := o.write(a, k, a.Words[2])
	if o.Condition == "" || result.Did == Kept {
		return result
	}
	switch a.r.Server.conditions(o.Condition) {
	case no:
		return same(k)
	case yes:
		return result
	}
	return obscured()
}

// write sets a key as the options say, if they let it.
func (o *Options) write(a act, k Key, value string) Result {
	to := text(value)
	if o.Expiry == "KEEPTTL" {
		to.Expires = k.Expires
	} else if o.Expiry != "" {
		until, ok := o.Until(a.At)
		if !ok {
			return same(k)
		}
		to.Expires = until
	}
	if o.NX && k.there() || o.XX && !k.there() || o.Get && k.other(Text) {
		return same(k)
	}
	switch o.met(k) {
	case no:
		return same(k)
	case nobodyKnows:
		return obscured()
	}
	result := written(to)
	result.Ends = o.Expiry != "KEEPTTL"
	return result
}

// met reports whether the condition on the key's value is met. Digests are not
// computed here.
func (o *Options) met(k Key) support {
	missing := strings.HasSuffix(o.Condition, "NE")
	switch {
	case o.Condition == "", !k.there() && missing:
		return yes
	case !k.there(), k.Holds != Text:
		return no
	case strings.HasPrefix(o.Condition, "IFD"):
		return nobodyKnows
	case (k.Value == o.Match) != missing:
		return yes
	}
	return no
}

func setNX(a act, k Key) Result {
	if k.there() {
		return same(k)
	}
	return anew(a.Words[2])
}

// setEX is SETEX and PSETEX.
func setEX(a act, k Key) Result {
	o := Options{Expiry: strings.TrimPrefix(strings.ToUpper(a.Words[0]), "SET"), Number: a.Words[2]}
	if o.Expiry == "PSETEX" {
		o.Expiry = "PX"
	}
	return o.write(a, k, a.Words[3])
}

func getSet(a act, k Key) Result {
	if k.other(Text) {
		return same(k)
	}
	return anew(a.Words[2])
}

func getDel(_ act, k Key) Result {
	if k.Holds != Text {
		return same(k)
	}
	return removed()
}

func getEX(a act, k Key) Result {
	o := ParseOptions(a.Words[2:], GetexTakes)
	if o.Strange != "" {
		return obscured()
	}
	if o.Wrong || o.Expiry == "" || k.Holds != Text {
		return same(k)
	}
	if o.Expiry == "PERSIST" {
		return persist(a, k)
	}
	until, ok := o.Until(a.At)
	if !ok {
		return same(k)
	}
	return a.endAt(k, until, strings.HasSuffix(o.Expiry, "AT"))
}

// mset is MSET, MSETNX and MSETEX. With a condition all keys are written or none,
// and of the others nothing is known.
func mset(a act, k Key) Result {
	name, words := strings.ToUpper(a.Words[0]), a.Words[1:]
	o := Options{NX: name == "MSETNX"}
	if name == "MSETEX" {
		n, ok := Integer(words[0])
		if words = words[1:]; !ok || n <= 0 || n > int64(len(words)/2) {
			return same(k)
		}
		o = ParseOptions(words[2*n:], msetexTakes)
		words = words[:2*n]
	}
	if o.Strange != "" {
		return obscured()
	}
	value, others, named := "", false, false
	for i := 0; i+1 < len(words); i += 2 {
		if words[i] == a.r.Name {
			value, named = words[i+1], true
		} else {
			others = true
		}
	}
	if len(words)%2 != 0 || o.Wrong || !named {
		return same(k)
	}
	result := o.write(a, k, value)
	if others && result.Did == Wrote && (o.NX || o.XX) {
		return obscured()
	}
	return result
}

// changeText makes of a string's value another; nothing is changed where there is
// something else.
func changeText(k Key, change func(string) (string, bool)) Result {
	if k.other(Text) {
		return same(k)
	}
	value, ok := change(k.Value)
	if !ok {
		return same(k)
	}
	to := text(value)
	to.Expires = k.Expires
	return written(to)
}

func appendTo(a act, k Key) Result {
	return changeText(k, func(s string) (string, bool) { return s + a.Words[2], true })
}

// longest is the longest string that is replayed where a command has an offset.
const longest = 1 << 16

func setRange(a act, k Key) Result {
	offset, ok := Integer(a.Words[2])
	value := a.Words[3]
	if ok && offset > longest && value != "" && !k.other(Text) {
		return obscured()
	}
	return changeText(k, func(s string) (string, bool) {
		if !ok || offset < 0 || value == "" {
			return "", false
		}
		b := grown(s, int(offset)+len(value))
		copy(b[offset:], value)
		return string(b), true
	})
}

func setBit(a act, k Key) Result {
	offset, ok := Integer(a.Words[2])
	bit := a.Words[3]
	if ok && offset > 8*longest && !k.other(Text) {
		return obscured()
	}
	return changeText(k, func(s string) (string, bool) {
		if !ok || offset < 0 || bit != "0" && bit != "1" {
			return "", false
		}
		b := grown(s, int(offset/8)+1)
		mask := byte(1) << (7 - offset%8)
		if b[offset/8] &^= mask; bit == "1" {
			b[offset/8] |= mask
		}
		return string(b), true
	})
}

func grown(s string, length int) []byte {
	b := make([]byte, max(length, len(s)))
	copy(b, s)
	return b
}

// bitField writes where it has more than GETs.
func bitField(a act, k Key) Result {
	for _, word := range a.Words[2:] {
		if strings.EqualFold(word, "SET") || strings.EqualFold(word, "INCRBY") {
			return onText(a, k)
		}
	}
	return same(k)
}

// incr is INCR, DECR, INCRBY and DECRBY.
func incr(a act, k Key) Result {
	by, ok := int64(1), true
	if len(a.Words) > 2 {
		by, ok = Integer(a.Words[2])
	}
	if strings.HasPrefix(strings.ToUpper(a.Words[0]), "DECR") {
		ok = ok && by != math.MinInt64
		by = -by
	}
	return changeText(k, func(s string) (string, bool) {
		n, isInteger := Integer(s)
		if !k.there() {
			n, isInteger = 0, true
		}
		if !ok || !isInteger || by > 0 && n > math.MaxInt64-by || by < 0 && n < math.MinInt64-by {
			return "", false
		}
		return Itoa(n + by), true
	})
}

// onText is for what changes or makes strings in ways that are not replayed.
func onText(_ act, k Key) Result {
	if k.other(Text) {
		return same(k)
	}
	return obscured()
}

// sketch is PFADD and the like, which keep sketches in strings.
func sketch(_ act, k Key) Result {
	if k.other(Text) || k.Holds == Text && !strings.HasPrefix(k.Value, "HYLL") {
		return same(k)
	}
	return obscured()
}
