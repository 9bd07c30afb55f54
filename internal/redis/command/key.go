package command

import (
	"maps"
	"slices"
	"strings"
)

// Holds says what a key holds, as far as a replay tells it.
type Holds uint8

const (
	// Absent: there is no such key.
	Absent Holds = iota
	// Text: a string.
	Text
	// Hash: a hash. Where it has one field, that can have an expiry of its own (Key.OfField); others are not replayed.
	Hash
	// List, Members and Sorted: a list, a set, and a sorted set. Of what takes elements without naming them it is not known what it leaves.
	List
	Members
	Sorted
	// Unclear: nobody knows. Streams are not replayed, and count as unclear.
	Unclear
)

// Key is what a node has under one key.
type Key struct {
	Holds Holds
	// Value is that of a string, Items are those of a list. Fields are those of a hash, and the members of a set or a sorted set, with
	// their scores as formatScore writes them.
	Value  string
	Items  []string
	Fields map[string]string
	// Expires is when the key goes by itself; zero: never.
	Expires Span
	// OfField: Expires is the expiry of the hash's only field, and not of the key.
	OfField bool
}

// Span is an instant in ms since 1970 that is known to lie between two others,
// both included.
type Span struct{ From, To int64 }

// At is an instant that is known exactly.
func At(ms int64) Span { return Span{ms, ms} }

func (s Span) plus(ms int64) Span { return Span{s.From + ms, s.To + ms} }

// Owner is the value that a lock's client wrote: a string, what a hash says of its owner, or the elements of a list or a set, except those
// that several clients write. shared reports that
// several clients write a field of that name: then the field's value is the owner, and not its name. Where that is not
// known, a number counts how often the owner whose name the field has entered; any other value is the owner.
func (k Key) Owner(shared func(field string) bool) string {
	if k.Holds == List || k.Holds == Members || k.Holds == Sorted {
		return k.members(shared)
	}
	if k.Holds != Hash {
		return k.Value
	}
	names := slices.Sorted(maps.Keys(k.Fields))
	if some := slices.DeleteFunc(slices.Clone(names), func(f string) bool { return !shared(f) }); len(some) > 0 {
		names = some
	}
	counts := func(f string) bool { _, isNumber := Integer(k.Fields[f]); return isNumber }
	words := slices.DeleteFunc(slices.Clone(names), counts)
	if len(words) == 0 && !shared(names[0]) {
		return strings.Join(names, ",")
	}
	if len(words) == 0 {
		words = names
	}
	for i, f := range words {
		words[i] = k.Fields[f]
	}
	return strings.Join(words, ",")
}

// Elements are those of a list, or the members of a set or a sorted set.
func (k Key) Elements() []string {
	switch k.Holds {
	case List:
		return k.Items
	case Members, Sorted:
		return slices.Sorted(maps.Keys(k.Fields))
	}
	return nil
}

// members are the elements that one client alone writes, or all where there are no such elements.
func (k Key) members(shared func(string) bool) string {
	all := k.Elements()
	if own := slices.DeleteFunc(slices.Clone(all), shared); len(own) > 0 {
		all = own
	}
	return strings.Join(all, ",")
}

// Equal reports that both are known, and the same.
func (k Key) Equal(o Key) bool {
	return k.Holds != Unclear && k.Holds == o.Holds && k.Value == o.Value && k.Expires == o.Expires && k.OfField == o.OfField &&
		maps.Equal(k.Fields, o.Fields) && slices.Equal(k.Items, o.Items)
}

// there reports whether the key is there, where that is known.
func (k Key) there() bool { return k.Holds != Absent }

// other reports that the key is there and holds something else: most commands have an error for it.
func (k Key) other(than Holds) bool { return k.there() && k.Holds != than }

// life says whether the key has run out at an instant: surely, or perhaps. Redis
// removes a key in the first millisecond after that of its expiry.
func (k Key) life(at Span) (over, perhaps bool) {
	if !k.there() || k.Expires == (Span{}) {
		return false, false
	}
	return at.From > k.Expires.To, at.To > k.Expires.From
}
