package node

import "strings"

// class is a class of keyspace events, as notify-keyspace-events names them.
type class = eventSet

// eventSet is a set of classes, and of where they are published.
type eventSet uint16

const (
	keyspace eventSet = 1 << iota
	keyevent
	generic
	text
	listClass
	setClass
	hashClass
	sortedClass
	expired
	// evicted, streams and modules have no events here.
	evicted
	streams
	modules
	allClasses = generic | text | listClass | setClass | hashClass | sortedClass | expired | evicted | streams | modules
)

// eventLetters are the classes in the order in which Redis writes them.
var eventLetters = []struct {
	letter byte
	class  eventSet
}{{'g', generic}, {'$', text}, {'l', listClass}, {'s', setClass}, {'h', hashClass}, {'z', sortedClass}, {'x', expired},
	{'e', evicted}, {'t', streams}, {'d', modules}, {'K', keyspace}, {'E', keyevent}, {'A', allClasses}}

// parseEvents reads a value of notify-keyspace-events. Misses and new keys are published by
// a real server only.
func (n *Node) parseEvents(s string) (set eventSet, ok bool) {
	for i := range len(s) {
		was := set
		for _, l := range eventLetters {
			if l.letter == s[i] {
				set |= l.class
			}
		}
		if s[i] == 'm' || s[i] == 'n' {
			n.unknown("CONFIG SET notify-keyspace-events " + s[i:i+1])
		} else if set == was && !strings.ContainsRune("g$lshzxetdKEA", rune(s[i])) {
			return 0, false
		}
	}
	return set, true
}

func (s eventSet) String() string {
	var b strings.Builder
	if s&allClasses == allClasses {
		b.WriteByte('A')
		s &^= allClasses
	}
	for _, l := range eventLetters[:len(eventLetters)-1] {
		if s&l.class != 0 {
			b.WriteByte(l.letter)
		}
	}
	return b.String()
}

// notify publishes what happened to a key.
func (n *Node) notify(c class, event, key string) {
	if n.events&c == 0 {
		return
	}
	if n.events&keyspace != 0 {
		n.publish("__keyspace@0__:"+key, event)
	}
	if n.events&keyevent != 0 {
		n.publish("__keyevent@0__:"+event, key)
	}
}

// Expired implements model.Listener.
func (n *Node) Expired(key string) { n.notify(expired, "expired", key) }
