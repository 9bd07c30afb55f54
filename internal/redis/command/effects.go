package command

import (
	"math"
	"strings"
)

// Effects on keys of any sort.

func del(_ act, k Key) Result {
	if !k.there() {
		return same(k)
	}
	return removed()
}

func delEX(a act, k Key) Result {
	o := ParseOptions(a.Words[2:], delexTakes)
	if o.Strange != "" {
		return obscured()
	}
	if o.Wrong || !k.there() {
		return same(k)
	}
	return a.delIf(&o, k)
}

func delIfEq(a act, k Key) Result {
	return a.delIf(&Options{Condition: "IFEQ", Match: a.Words[2]}, k)
}

func (a *act) delIf(o *Options, k Key) Result {
	switch o.met(k) {
	case no:
		return same(k)
	case nobodyKnows:
		return obscured()
	}
	return del(*a, k)
}

// expire is EXPIRE, PEXPIRE, EXPIREAT and PEXPIREAT.
func expire(a act, k Key) Result {
	o := ParseOptions(a.Words[3:], ExpireTakes)
	n, ok := Integer(a.Words[2])
	name := strings.ToUpper(a.Words[0])
	if name[0] != 'P' {
		ok = ok && n <= math.MaxInt64/1000 && n >= math.MinInt64/1000
		n *= 1000
	}
	absolute := strings.HasSuffix(name, "AT")
	until, within := instant(n, absolute, a.At)
	if o.Strange != "" {
		return obscured()
	}
	if o.Wrong || !ok || !within || !k.there() {
		return same(k)
	}
	if k.OfField && (absolute || n > 0) {
		return obscured()
	}
	switch o.compare(until, k.Expires) {
	case no:
		return same(k)
	case nobodyKnows:
		return obscured()
	}
	if !absolute && n <= 0 {
		return removed()
	}
	return a.endAt(k, until, absolute)
}

// compare reports whether NX, XX, GT and LT let an expiry follow another.
func (o *Options) compare(until, now Span) support {
	forever := now == Span{}
	if o.NX && !forever || o.XX && forever || o.GT && forever {
		return no
	}
	if forever {
		return yes
	}
	sooner, later := until.To < now.From, until.From > now.To
	equal := until == now && until.From == until.To
	if o.GT && (sooner || equal) || o.LT && (later || equal) {
		return no
	}
	if o.GT && !later || o.LT && !sooner {
		return nobodyKnows
	}
	return yes
}

// endAt gives a key an expiry. Redis removes a key that is given a time that is
// past.
func (a *act) endAt(k Key, until Span, absolute bool) Result {
	if absolute && until.To <= a.At.From {
		return removed()
	}
	if absolute && until.From <= a.At.To {
		return obscured()
	}
	k.Expires = until
	return Result{Change{Did: Extended, Ends: true}, k}
}

func persist(_ act, k Key) Result {
	if k.Expires == (Span{}) || k.OfField {
		return same(k)
	}
	k.Expires = Span{}
	return Result{Change{Did: Extended, Ends: true}, k}
}

// rename is RENAME and RENAMENX. Whether another key is there is not known.
func rename(a act, k Key) Result {
	onlyNew := strings.EqualFold(a.Words[0], "RENAMENX")
	if a.names(1) && a.names(2) || a.names(1) && !k.there() || a.names(2) && onlyNew && k.there() {
		return same(k)
	}
	if a.names(1) && !onlyNew {
		return removed()
	}
	return obscured()
}

// copyKey is COPY, which may go to another database.
func copyKey(a act, k Key) Result {
	to, replace := a.DB, false
	for i := 3; i < len(a.Words); i++ {
		switch strings.ToUpper(a.Words[i]) {
		case "REPLACE":
			replace = true
		case "DB":
			if i++; i < len(a.Words) {
				n, _ := Integer(a.Words[i])
				to = int(n)
			}
		}
	}
	if !a.names(2) || to != a.r.DB || k.there() && !replace || a.names(1) && a.DB == to {
		return same(k)
	}
	return obscured()
}

// move is MOVE, which goes to a database where the key is not yet.
func move(a act, k Key) Result {
	to, ok := Integer(a.Words[2])
	if !ok || a.DB == int(to) || a.DB == a.r.DB && !k.there() || a.DB != a.r.DB && (int(to) != a.r.DB || k.there()) {
		return same(k)
	}
	return obscured()
}

func restore(a act, k Key) Result {
	if k.there() && !a.has(4, "REPLACE") {
		return same(k)
	}
	if a.r.Payload == nil {
		return obscured()
	}
	to, known := a.r.Payload(a.Words[3])
	n, ok := Integer(a.Words[2])
	if !known || !ok {
		return obscured()
	}
	if to.Expires = (Span{}); n > 0 {
		to.Expires, _ = instant(n, a.has(4, "ABSTTL"), a.At)
	}
	return Result{Change{Did: Wrote, Ends: true}, to}
}

func migrate(a act, k Key) Result {
	if !k.there() || a.has(6, "COPY") {
		return same(k)
	}
	return obscured()
}

// has reports whether one of the words from the i-th on is an option.
func (a *act) has(i int, option string) bool {
	for ; i < len(a.Words); i++ {
		if strings.EqualFold(a.Words[i], option) {
			return true
		}
	}
	return false
}

// flush is FLUSHDB and FLUSHALL.
func flush(a act, k Key) Result {
	if len(a.Words) > 2 || len(a.Words) == 2 && !a.has(1, "ASYNC") && !a.has(1, "SYNC") {
		return same(k)
	}
	return del(a, k)
}

func swap(a act, k Key) Result {
	for _, word := range a.Words[1:] {
		if n, ok := Integer(word); ok && int(n) == a.r.DB {
			return obscured()
		}
	}
	return same(k)
}

// vanish is for what may remove keys, and names none.
func vanish(_ act, k Key) Result {
	if !k.there() {
		return same(k)
	}
	return obscured()
}

// makes is for what makes a key of a sort that is not replayed, or changes one, and has an error
// for a string or a hash.
func makes(_ act, k Key) Result {
	if k.Holds == Text || k.Holds == Hash {
		return same(k)
	}
	return obscured()
}

// waits is makes for what may wait until it can do it.
func waits(a act, k Key) Result {
	o := makes(a, k)
	o.Lasting = a.names(2)
	return o
}

func overwrite(act, Key) Result { return obscured() }

// store is for commands that may name a key for their result after STORE.
func store(a act, k Key) Result {
	for i, word := range a.Words {
		if (strings.EqualFold(word, "STORE") || strings.EqualFold(word, "STOREDIST")) && a.names(i+1) {
			return obscured()
		}
	}
	return same(k)
}
