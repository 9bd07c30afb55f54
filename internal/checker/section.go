package checker

import (
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// section is what one client did to one cell of the resource under one hold of
// the lock.
type section struct {
	client, key string
	number      int
	// reads and writes are operations in view.ops.
	reads, writes []int
}

// effect is what the resource says of one operation.
type effect struct {
	event   int
	client  string
	op      history.F
	section int
	key     string
	// accepted and refused are both false where the resource did not tell.
	accepted, refused bool
	token             history.Int
	highest           history.Int
	number            history.Int
	// from is the earliest instant at which it can have taken place; known says
	// whether the resource told it.
	from  time.Duration
	known bool
	// write is the operation in view.ops that asked for it, -1 where it cannot
	// be told.
	write int
}

// collectSections puts the reads and writes of a section together. Operations
// without a section number are sections of their own, save that a write belongs
// to the read of the same client and cell before it.
func (v *view) collectSections() {
	type name struct {
		client, key string
		number      int
	}
	known := make(map[name]int)
	open := make(map[name]int)
	for i := range v.ops {
		o := &v.ops[i]
		e := v.event(o.Call)
		if o.F != history.Read && o.F != history.Write && (o.F != history.CAS || e.Value.Section == 0) {
			continue
		}
		n := name{o.Process, e.Value.Key, e.Value.Section}
		at, ok := known[n]
		if n.number == 0 {
			at, ok = open[n]
			ok = ok && o.F == history.Write
		}
		if !ok {
			at = len(v.sections)
			v.sections = append(v.sections, section{client: o.Process, key: e.Value.Key, number: n.number})
		}
		s := &v.sections[at]
		if o.F == history.Read {
			s.reads = append(s.reads, i)
		} else {
			s.writes = append(s.writes, i)
		}
		switch {
		case n.number != 0:
			known[n] = at
		case o.F == history.Read:
			open[n] = at
		default:
			delete(open, n)
		}
	}
}

func (v *view) collectEffects() {
	writes := v.writesByName()
	for i := range v.h.Events {
		e := &v.h.Events[i]
		if e.F != history.Effect {
			continue
		}
		x := effect{event: i, client: e.Value.Client, op: e.Value.Op, section: e.Value.Section, key: e.Value.Key,
			accepted: e.Value.Accepted.V, refused: e.Value.Accepted.Set && !e.Value.Accepted.V, token: e.Value.Token, highest: e.Value.Highest, number: e.Value.Number, write: -1}
		if x.changes() {
			n := cellName{x.client, x.key, x.section, x.op}
			if list := writes[n]; len(list) > 0 {
				x.write = list[0]
				// The last one stays: a request sent twice has two effects.
				if len(list) > 1 {
					writes[n] = list[1:]
				}
			}
		}
		switch {
		case e.Value.At.Set:
			x.from, x.known = time.Duration(e.Value.At.V-e.Value.AtError), true
		case x.write >= 0:
			x.from = v.at(v.ops[x.write].Call)
		}
		v.effects = append(v.effects, x)
	}
}

// cellName is what an effect and the operation that asked for it have in common.
type cellName struct {
	client, key string
	section     int
	op          history.F
}

// writesByName lists the writes in the order of their invocation, which is the
// order of their effects within one section.
func (v *view) writesByName() map[cellName][]int {
	m := make(map[cellName][]int)
	for i := range v.ops {
		o := &v.ops[i]
		if o.F == history.Write || o.F == history.CAS {
			e := v.event(o.Call)
			n := cellName{o.Process, e.Value.Key, e.Value.Section, o.F}
			m[n] = append(m[n], i)
		}
	}
	return m
}

// acceptedEffect is what the resource let an operation do, nil where it did not, or
// does not tell.
func (v *view) acceptedEffect(op int) *effect {
	for i := range v.effects {
		if x := &v.effects[i]; x.write == op && x.accepted {
			return x
		}
	}
	return nil
}

// changes reports whether the effect is of an operation that changes the
// resource. Reads are none.
func (x *effect) changes() bool { return x.op == history.Write || x.op == history.CAS }

// number is the value that an operation carries: in its completion, or else in
// its invocation.
func (v *view) number(op int) history.Int {
	o := &v.ops[op]
	if o.Return >= 0 {
		if n := v.event(o.Return).Value.Number; n.Set {
			return n
		}
	}
	return v.event(o.Call).Value.Number
}
