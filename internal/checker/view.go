package checker

import (
	"math"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// forever is the end of what has none.
const forever = time.Duration(math.MaxInt64)

// view is a history made ready for judging. It is built once, by one goroutine,
// and only read afterwards, save for contended.
type view struct {
	h   *history.History
	ops []history.Op
	// opAt is the operation in ops that an event invokes or completes, -1 for none.
	opAt []int32
	done bool
	// brief: only the verdict is asked for.
	brief bool
	// end is the time of the last event.
	end time.Duration
	// grants are in the order in which they were given; byClient has the
	// places of each client's.
	grants   []grant
	byClient map[string][]int
	// acquires has the places in ops of each client's attempts at the lock.
	acquires map[string][]int
	faults   []fault
	// fired is how many different faults took effect.
	fired    int
	sections []section
	effects  []effect
	// unclear is the first event after which a node's key was not known, -1 for none.
	unclear int
	// contended keeps what contention has counted.
	contended *Effort
}

// grant is one hold of the lock as its client saw it.
type grant struct {
	client, lock, owner string
	token               history.Int
	// op is the acquire in view.ops; call and ret are its events.
	op, call, ret int
	// until is the end of the promise; forever where none was given.
	until    time.Duration
	promised bool
	extends  []extension
	// ends is the event at which the client's belief ended, -1 where it never
	// did; how says what kind of end it was.
	ends int
	how  ending
	// release is the operation in view.ops that gave it back, -1 for none.
	release int
	// outer is the grant that this one re-entered, -1 for none.
	outer int
}

// ending says how a belief ended.
type ending uint8

const (
	endless    ending = iota // held to the end of the history
	released                 // the client asked to release
	killed                   // the client was killed
	superseded               // the client asked for the lock anew
)

// extension is a renewal that succeeded.
type extension struct {
	call, ret int
	until     time.Duration
}

// fault is one stroke of the nemesis.
type fault struct {
	begin, end int // events; end is -1 where it lasted
	id         int
	kind       string
	target     string
	took       time.Duration
}

func newView(h *history.History) *view {
	v := &view{h: h, ops: h.Ops(), done: h.Done(), byClient: make(map[string][]int), unclear: firstUnclear(h)}
	if n := len(h.Events); n > 0 {
		v.end = h.Events[n-1].Time
	}
	v.opAt = make([]int32, len(h.Events))
	for i := range v.opAt {
		v.opAt[i] = -1
	}
	v.acquires = make(map[string][]int)
	for i := range v.ops {
		o := &v.ops[i]
		if v.opAt[o.Call] = int32(i); o.Return >= 0 {
			v.opAt[o.Return] = int32(i)
		}
		if o.F == history.Acquire {
			v.acquires[o.Process] = append(v.acquires[o.Process], i)
		}
	}
	v.collectFaults()
	v.collectGrants()
	v.collectSections()
	v.collectEffects()
	return v
}

func (v *view) event(i int) *history.Event { return &v.h.Events[i] }

// at is the time of an event; forever for -1.
func (v *view) at(i int) time.Duration {
	if i < 0 {
		return forever
	}
	return v.h.Events[i].Time
}

func (v *view) collectFaults() {
	type stroke struct {
		id           int
		kind, target string
	}
	name := func(e *history.Event) stroke { return stroke{e.Value.ID, e.Value.Fault, e.Value.Target} }
	open := make(map[stroke]int)
	ids := make(map[int]bool)
	for i := range v.h.Events {
		e := &v.h.Events[i]
		switch e.F {
		case history.FaultBegin:
			ids[e.Value.ID] = true
			open[name(e)] = len(v.faults)
			v.faults = append(v.faults, fault{begin: i, end: -1, id: e.Value.ID, kind: e.Value.Fault,
				target: e.Value.Target, took: time.Duration(e.Value.Took.V)})
		case history.FaultEnd:
			if at, ok := open[name(e)]; ok {
				f := &v.faults[at]
				f.end = i
				f.took = e.Time - v.at(f.begin)
				if e.Value.Took.Set {
					f.took = time.Duration(e.Value.Took.V)
				}
				delete(open, name(e))
			}
		}
	}
	v.fired = len(ids)
}

// kills reports whether a fault of this kind ends the process it strikes.
func kills(kind string) bool { return kind == "kill" || kind == "crash" }

// holder names whose grants of which lock belong together.
type holder struct{ client, lock string }

// collectGrants follows every client through the history. A client has several
// grants open only where it re-entered, which shows by the owner value being the
// same.
func (v *view) collectGrants() {
	open := make(map[holder][]int)
	for i := range v.h.Events {
		e, op := &v.h.Events[i], int(v.opAt[i])
		switch {
		case e.F == history.FaultBegin && kills(e.Value.Fault):
			v.endAll(open, e.Value.Target, i)
		case !e.IsOp():
		case e.Type == history.Invoke && e.F == history.Release:
			v.giveBack(open, holder{e.Process, e.Value.Lock}, e, op)
		case e.Type == history.Invoke || op < 0:
		case e.F == history.Acquire:
			v.acquired(open, op)
		case e.F == history.Extend && e.Type == history.OK:
			v.extended(open, op)
		}
	}
}

func (v *view) endAll(open map[holder][]int, client string, event int) {
	for k, list := range open {
		if k.client != client {
			continue
		}
		for _, g := range list {
			v.grants[g].ends, v.grants[g].how = event, killed
		}
		delete(open, k)
	}
}

// key finds the lock that an operation is about: its completion may name it
// where its invocation did not, or the other way round.
func (v *view) key(op int) holder {
	o := &v.ops[op]
	k := holder{o.Process, v.event(o.Call).Value.Lock}
	if k.lock == "" && o.Return >= 0 {
		k.lock = v.event(o.Return).Value.Lock
	}
	return k
}

// acquired takes note of an acquire's completion. Whatever its outcome, a client
// that asked anew without re-entering had given up what it held before.
func (v *view) acquired(open map[holder][]int, op int) {
	o := &v.ops[op]
	k, e := v.key(op), v.event(o.Return)
	list := open[k]
	reentry := o.Type == history.OK && len(list) > 0 && e.Value.Owner != "" &&
		v.grants[list[len(list)-1]].owner == e.Value.Owner
	outer := -1
	if reentry {
		outer = list[len(list)-1]
	} else {
		for _, g := range list {
			v.grants[g].ends, v.grants[g].how = o.Call, superseded
		}
		list = list[:0]
	}
	if o.Type == history.OK {
		g := grant{client: o.Process, lock: k.lock, owner: e.Value.Owner, token: e.Value.Token, op: op,
			call: o.Call, ret: o.Return, until: forever, ends: -1, release: -1, outer: outer}
		if e.Value.ValidUntil.Set {
			g.until, g.promised = time.Duration(e.Value.ValidUntil.V), true
		}
		if outer >= 0 {
			v.inherit(&g, &v.grants[outer])
		}
		list = append(list, len(v.grants))
		v.byClient[g.client] = append(v.byClient[g.client], len(v.grants))
		v.grants = append(v.grants, g)
	}
	open[k] = list
}

// inherit gives a re-entry the promise of the grant that it re-entered where its
// own is shorter or missing: the client acts under both.
func (v *view) inherit(g, outer *grant) {
	if !outer.promised {
		g.until, g.promised = forever, false
		return
	}
	if !g.promised || outer.lastPromise() > g.until {
		g.until, g.promised = outer.lastPromise(), true
	}
}

// giveBack ends the grant that a release is about: the one with its owner
// value, or else the latest.
func (v *view) giveBack(open map[holder][]int, k holder, e *history.Event, op int) {
	if k.lock == "" {
		k = v.key(op)
	}
	list := open[k]
	if len(list) == 0 {
		return
	}
	at := len(list) - 1
	if e.Value.Owner != "" {
		for i := at; i >= 0; i-- {
			if v.grants[list[i]].owner == e.Value.Owner {
				at = i
				break
			}
		}
	}
	g := &v.grants[list[at]]
	g.ends, g.how, g.release = e.Index, released, op
	open[k] = append(list[:at:at], list[at+1:]...)
}

// extended lengthens every open grant of the client: a re-entrant hold has one
// lease.
func (v *view) extended(open map[holder][]int, op int) {
	o := &v.ops[op]
	until := v.event(o.Return).Value.ValidUntil
	if !until.Set {
		return
	}
	for _, g := range open[v.key(op)] {
		if o.Call > v.grants[g].call {
			v.grants[g].extends = append(v.grants[g].extends, extension{o.Call, o.Return, time.Duration(until.V)})
		}
	}
}

// believedUntil is the end of the client's belief in a grant; forever where the
// history ended first.
func (v *view) believedUntil(g *grant) time.Duration { return v.at(g.ends) }

// freeFrom is when the lock could be had again for all that is known of a
// grant: released, or its promise over. A killed client keeps its lease; forever
// where nothing ends it.
func (v *view) freeFrom(g *grant) time.Duration {
	end := g.lastPromise()
	switch g.how {
	case released:
		end = min(end, v.at(v.ops[g.release].Return))
	case killed:
		if !g.promised {
			end = v.at(g.ends)
		}
	case superseded:
		end = min(end, v.at(g.ends))
	}
	return end
}

// lastPromise is the latest end that the lock ever promised for a grant.
func (g *grant) lastPromise() time.Duration { return g.promise(math.MaxInt) }

// promise is the latest end that the lock promised for a grant by renewals
// asked for before the event.
func (g *grant) promise(before int) time.Duration {
	end := g.until
	for _, x := range g.extends {
		if x.call < before {
			end = max(end, x.until)
		}
	}
	return end
}
