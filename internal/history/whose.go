package history

import (
	"slices"
	"sort"
	"time"
)

// tellApart says of the events of keys which client of a process they are of. Where a lock program is several clients, they share its
// connections, and a key's event names the first of them, whoever it was. Where nobody can tell, it names nobody.
func (h *History) tellApart() {
	if h.Header.Program == "" || len(h.Header.Processes) == 0 {
		return
	}
	t := teller{h: h, told: make(map[toldOwner]string), requests: make(map[string][]Op), keys: make(map[placedKey]*Value),
		unknown: make(map[string]int)}
	for _, o := range h.Ops() {
		switch o.F {
		case Acquire, Release, Extend, Forget:
			t.requests[o.Process] = append(t.requests[o.Process], o)
			if _, some := t.unknown[o.Process]; !some && o.Type == Info {
				t.unknown[o.Process] = o.Call
			}
		}
		if o.F == Acquire && o.Type == OK {
			t.noteOwner(o.Process, h.Events[o.Return].Value.Owner)
		}
	}
	for i := range h.Events {
		e := &h.Events[i]
		process := h.Header.process(e.Value.Client)
		shared := len(process) > 0 && process[0] == e.Value.Client
		switch k := (placedKey{e.Process, e.Value.Key}); e.F {
		case KeySet, KeyExtended:
			if shared {
				e.Value.Client = t.setter(process, i)
			}
			if e.F == KeySet {
				t.keys[k] = &e.Value
			}
		case KeyDeleted:
			if shared {
				e.Value.Client = t.deleter(process, i)
			}
			delete(t.keys, k)
		case KeyExpired, KeyUnclear:
			delete(t.keys, k)
		}
	}
}

// process are the clients that share the process of one; nil: it has one of its own.
func (h *Header) process(client string) []string {
	for _, of := range h.Processes {
		if slices.Contains(of, client) {
			return of
		}
	}
	return nil
}

// teller tells apart what the clients of a process did.
type teller struct {
	h *History
	// told are the clients that were told an owner value; empty: several were.
	told map[toldOwner]string
	// requests are those of each client to its lock.
	requests map[string][]Op
	// unknown is the first request of each client of which it never knew what came.
	unknown map[string]int
	// keys are the values by which the keys were set that are there now.
	keys map[placedKey]*Value
}

// placedKey is a key on a node.
type placedKey struct{ node, key string }

// toldOwner is an owner value that clients of a process were told.
type toldOwner struct{ process, owner string }

func (t *teller) noteOwner(client, owner string) {
	of := t.h.Header.process(client)
	if owner == "" || len(of) == 0 {
		return
	}
	k := toldOwner{of[0], owner}
	if before, known := t.told[k]; known && before != client {
		client = ""
	}
	t.told[k] = client
}

// before are the requests of a client that it made before an event.
func (t *teller) before(client string, event int) []Op {
	list := t.requests[client]
	return list[:sort.Search(len(list), func(i int) bool { return list[i].Call >= event })]
}

// asking are the clients of a process with a request open at a time of the run. An answer at that very time counts as open. A client asks
// for one thing after the other.
func (t *teller) asking(process []string, at time.Duration, what ...F) (clients []string) {
	for _, c := range process {
		list := t.requests[c]
		list = list[:sort.Search(len(list), func(i int) bool { return t.h.Events[list[i].Call].Time > at })]
		for i := len(list) - 1; i >= 0 && (list[i].Return < 0 || t.h.Events[list[i].Return].Time >= at); i-- {
			if slices.Contains(what, list[i].F) {
				clients = append(clients, c)
				break
			}
		}
	}
	return clients
}

// setter is whose command set a key, or gave it another end. It is the client that was told the key's owner value; whoever had set the key
// with the same value before; the only one that was asking for the lock when the command left, or the one of them that was answered first,
// if the key was not set again before.
func (t *teller) setter(process []string, event int) string {
	e := &t.h.Events[event]
	if c := t.told[toldOwner{process[0], e.Value.Owner}]; c != "" {
		return c
	}
	if was := t.keys[placedKey{e.Process, e.Value.Key}]; was != nil && was.Owner == e.Value.Owner && slices.Contains(process, was.Client) {
		return was.Client
	}
	at := e.Time
	if left := e.Value.At(); left.IsSet() {
		at = time.Duration(left.V())
	}
	list := t.asking(process, at, Acquire, Extend)
	if len(list) == 0 {
		list = t.holding(process, event)
	}
	if len(list) == 1 {
		return list[0]
	}
	for i := event + 1; i < len(t.h.Events); i++ {
		next := &t.h.Events[i]
		if next.F == KeySet && next.Process == e.Process && next.Value.Key == e.Value.Key {
			break
		}
		if next.F == Acquire && next.Type == OK && slices.Contains(list, next.Process) {
			return next.Process
		}
	}
	return ""
}

// holding are the clients of a process that have the lock at an event, as they were told.
func (t *teller) holding(process []string, event int) (clients []string) {
	for _, c := range process {
		if t.hasInHand(c, event) {
			clients = append(clients, c)
		}
	}
	return clients
}

// hasInHand reports that what a client asked for last before an event was the lock, or to extend it, and it was granted.
func (t *teller) hasInHand(client string, event int) bool {
	list := t.before(client, event)
	for len(list) > 0 && list[len(list)-1].F == Extend {
		list = list[:len(list)-1]
	}
	if len(list) == 0 {
		return false
	}
	last := &list[len(list)-1]
	return last.F == Acquire && last.Type == OK && last.Return < event
}

// deleter is whose command deleted a key: that of the client that had set it, unless that has the lock in hand, and has asked for nothing
// before of which nobody knows what came of it. Then it is the only other one that is releasing.
func (t *teller) deleter(process []string, event int) string {
	e := &t.h.Events[event]
	was := t.keys[placedKey{e.Process, e.Value.Key}]
	if was == nil || was.Client == "" {
		return ""
	}
	if slices.Contains(process, was.Client) && !t.keeps(was.Client, event) {
		return was.Client
	}
	others := slices.DeleteFunc(t.asking(process, e.Time, Release), func(c string) bool { return c == was.Client })
	if len(others) == 1 {
		return others[0]
	}
	return ""
}

// keeps reports that a client surely asks for no key to be deleted: it has the lock in hand, and knows what came of all that it asked for
// before.
func (t *teller) keeps(client string, event int) bool {
	first, some := t.unknown[client]
	return t.hasInHand(client, event) && (!some || first >= event)
}
