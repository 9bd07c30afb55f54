package history

import (
	"slices"
	"time"
)

// tellApart says of the events of keys which client of a process they are of. Where a lock program is several clients, they share its
// connections, and a key's event names the first of them, whoever it was. Where nobody can tell, it names nobody.
func (h *History) tellApart() {
	if h.Header.Program == "" || len(h.Header.Processes) == 0 {
		return
	}
	t := teller{h: h, told: make(map[toldOwner]string), requests: make(map[string][]Op)}
	for _, o := range h.Ops() {
		switch o.F {
		case Acquire, Release, Extend, Forget:
			t.requests[o.Process] = append(t.requests[o.Process], o)
		}
		if o.F == Acquire && o.Type == OK {
			t.noteOwner(o.Process, h.Events[o.Return].Value.Owner)
		}
	}
	for i := range h.Events {
		e := &h.Events[i]
		process := h.Header.process(e.Value.Client)
		if len(process) == 0 || process[0] != e.Value.Client {
			continue
		}
		switch e.F {
		case KeySet, KeyExtended:
			e.Value.Client = t.setter(process, i)
		case KeyDeleted:
			e.Value.Client = t.deleter(process, i)
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
}

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

// asking are the clients of a process with a request open at a time of the run. An answer at that very time counts as open.
func (t *teller) asking(process []string, at time.Duration, what ...F) (clients []string) {
	for _, c := range process {
		if slices.ContainsFunc(t.requests[c], func(o Op) bool {
			return slices.Contains(what, o.F) && t.h.Events[o.Call].Time <= at && (o.Return < 0 || t.h.Events[o.Return].Time >= at)
		}) {
			clients = append(clients, c)
		}
	}
	return clients
}

// setter is whose command set a key, or gave it another end. It is the client that was told the key's owner value, the only one that
// was asking for the lock when the command left, or the one of them that was answered first, if the key was not set again before.
func (t *teller) setter(process []string, event int) string {
	e := &t.h.Events[event]
	if c := t.told[toldOwner{process[0], e.Value.Owner}]; c != "" {
		return c
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
		holds := false
		for _, o := range t.requests[c] {
			switch {
			case o.F == Acquire && o.Type == OK && o.Return < event:
				holds = true
			case (o.F == Release || o.F == Forget) && o.Call < event:
				holds = false
			}
		}
		if holds {
			clients = append(clients, c)
		}
	}
	return clients
}

// deleter is whose command deleted a key. Its owner, if that has asked to release it; else the only client that was releasing, or
// asking, for one that was refused takes its keys away.
func (t *teller) deleter(process []string, event int) string {
	e := &t.h.Events[event]
	if c := t.told[toldOwner{process[0], e.Value.Owner}]; c != "" && t.hasLeft(c, e.Value.Owner, event) {
		return c
	}
	if list := t.asking(process, e.Time, Release); len(list) == 1 {
		return list[0]
	} else if len(list) == 0 {
		if list = t.asking(process, e.Time, Acquire); len(list) == 1 {
			return list[0]
		}
	}
	return ""
}

// hasLeft reports that a client had asked to release the grant with an owner value before an event.
func (t *teller) hasLeft(client, owner string, event int) bool {
	granted := false
	for _, o := range t.requests[client] {
		if o.F == Acquire && o.Type == OK && o.Return < event {
			granted = t.h.Events[o.Return].Value.Owner == owner
		}
		if granted && o.F == Release && o.Call < event {
			return true
		}
	}
	return false
}
