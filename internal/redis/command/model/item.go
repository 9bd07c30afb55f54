package model

import "github.com/redlock-sim/redlock-sim/internal/redis/command"

// Item is a key with what it holds. Whoever changes it makes its parts anew: others may
// have copies of the item, which share them.
type Item struct {
	Key string
	// Value is that of a string.
	Value string
	// List belongs to a list, which IsList says it is.
	IsList bool
	List   []string
	// Members are what the rarer kinds hold; nil: it is a string or a list.
	Members *Members
	// Expires is in milliseconds since 1970; 0: never.
	Expires int64
	// OfField: that is the expiry of the hash's only field, and not of the key.
	OfField bool
}

// Kind is what a key holds.
type Kind uint8

// The kinds.
const (
	String Kind = iota
	List
	Hash
	Set
	SortedSet
)

// Members are the fields of a hash in the order in which they came, the elements of a set,
// or those of a sorted set in their order.
type Members struct {
	Kind Kind
	List []Member
}

// Member is one of them: Value belongs to a hash, Score to a sorted set.
type Member struct {
	Name, Value string
	Score       float64
}

// Kind says what the key holds.
func (it *Item) Kind() Kind {
	if it.Members != nil {
		return it.Members.Kind
	}
	if it.IsList {
		return List
	}
	return String
}

// Owner is the value that a lock's client wrote: a string, or the fields of a hash, as
// command.Key.Owner has it.
func (it *Item) Owner() string {
	if it.Kind() != Hash {
		return it.Value
	}
	k := command.Key{Holds: command.Hash, Fields: make(map[string]string)}
	for _, f := range it.Members.List {
		k.Fields[f.Name] = f.Value
	}
	return k.Owner(func(string) bool { return false })
}
