package node

import (
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/redis/command/model"
)

// members are what a key of one of the rarer kinds holds, to be changed: the item's own stay
// as they are.
type members struct {
	key     string
	kind    model.Kind
	class   class
	expires int64
	list    []model.Member
	cloned  bool
}

// open reads a key of a kind. ok is false where it holds something else, which has been
// answered.
func (x *call) open(key string, kind model.Kind, c class) (s *members, ok bool) {
	it, ok := x.item(key, kind)
	if !ok {
		return nil, false
	}
	s = &members{key: key, kind: kind, class: c}
	if it != nil {
		s.list, s.expires = it.Members.List, it.Expires
	}
	return s, true
}

func (s *members) find(name string) int {
	for i := range s.list {
		if s.list[i].Name == name {
			return i
		}
	}
	return -1
}

// cloneOnce makes the list one that may be changed.
func (s *members) cloneOnce() {
	if !s.cloned {
		s.list, s.cloned = slices.Clone(s.list), true
	}
}

// remove takes members away, and says how many were there.
func (s *members) remove(names ...string) (n int) {
	for _, name := range names {
		if i := s.find(name); i >= 0 {
			s.cloneOnce()
			s.list = slices.Delete(s.list, i, i+1)
			n++
		}
	}
	return n
}

// save writes what a key holds now. Where that is nothing, the key is gone.
func (x *call) save(s *members, event string) {
	if len(s.list) > 0 {
		x.put(model.Item{Key: s.key, Members: &model.Members{Kind: s.kind, List: s.list}, Expires: s.expires}, s.class, event)
		return
	}
	x.emptied(s.key, s.class, event)
}

// emptied removes a key that holds nothing any more.
func (x *call) emptied(key string, c class, event string) {
	if x.n.Memory.Del(key) {
		x.n.notify(c, event, key)
		x.n.notify(generic, "del", key)
	}
}

// names are the members' names.
func (s *members) names() []string {
	names := make([]string, len(s.list))
	for i := range s.list {
		names[i] = s.list[i].Name
	}
	return names
}

// sizeOf answers how many members a key of a kind has.
func sizeOf(kind model.Kind) func(x *call, w []string) {
	return func(x *call, w []string) {
		if s, ok := x.open(w[1], kind, 0); ok {
			x.count(len(s.list))
		}
	}
}

// holding answers whether a key of a kind has a member.
func holding(kind model.Kind) func(x *call, w []string) {
	return func(x *call, w []string) {
		if s, ok := x.open(w[1], kind, 0); ok {
			x.bit(s.find(w[2]) >= 0)
		}
	}
}

// removing takes members away from a key of a kind.
func removing(kind model.Kind, c class, event string) func(x *call, w []string) {
	return func(x *call, w []string) {
		s, ok := x.open(w[1], kind, c)
		if !ok {
			return
		}
		n := s.remove(w[2:]...)
		switch {
		case n == 0:
		case kind == model.SortedSet:
			x.n.eventsFirst(func() { x.save(s, event) })
		default:
			x.save(s, event)
		}
		x.count(n)
	}
}
