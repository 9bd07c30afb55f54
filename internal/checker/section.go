package checker

import (
	"math"
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
	// from and to are the earliest and the latest instant at which it can have taken
	// place; known says whether the resource told them.
	from, to time.Duration
	known    bool
	// write is the operation in view.ops that most likely asked for it, -1 for none;
	// writes are all that can have.
	write  int
	writes []int
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
	asked := v.opsByName()
	told := make(map[cellName]int) // how many effects of a name there were
	for i := range v.h.Events {
		e := &v.h.Events[i]
		if e.F != history.Effect {
			continue
		}
		x := effect{event: i, client: e.Value.Client, op: e.Value.Op, section: e.Value.Section, key: e.Value.Key,
			accepted: e.Value.Accepted.V, refused: e.Value.Accepted.Set && !e.Value.Accepted.V, token: e.Value.Token, highest: e.Value.Highest, number: e.Value.Number, write: -1}
		n := x.name()
		x.writes = v.invokedBefore(asked[n], i)
		if len(x.writes) > 0 {
			// In their order; the last one stays: a request sent twice has two effects.
			x.write = x.writes[min(told[n], len(x.writes)-1)]
			told[n]++
		}
		x.from, x.to = v.span(x.writes)
		if at := e.Value.At; at.Set {
			x.from, x.known = max(x.from, time.Duration(at.V-e.Value.AtError)), true
			x.to = min(x.to, time.Duration(at.V+e.Value.AtError))
		}
		v.effects = append(v.effects, x)
	}
}

// invokedBefore are those of some operations that were invoked before an event.
func (v *view) invokedBefore(ops []int, event int) []int {
	n := len(ops)
	for n > 0 && v.ops[ops[n-1]].Call > event {
		n--
	}
	return ops[:n]
}

// span is the time in which one of some operations took effect, by what its client saw: not
// before it was asked for, and not after its answer, where one came that says what it did.
func (v *view) span(ops []int) (from, to time.Duration) {
	if len(ops) == 0 {
		return math.MinInt64, forever
	}
	from, to = v.at(v.ops[ops[0]].Call), math.MinInt64
	for _, op := range ops {
		o := &v.ops[op]
		if to = max(to, v.at(o.Return)); o.Type == history.Info {
			to = forever
		}
	}
	return from, to
}

// cellName is what an effect and the operation that asked for it have in common.
type cellName struct {
	client, key string
	section     int
	op          history.F
}

func (x *effect) name() cellName { return cellName{x.client, x.key, x.section, x.op} }

func (v *view) cellName(op int) cellName {
	o := &v.ops[op]
	e := v.event(o.Call)
	return cellName{o.Process, e.Value.Key, e.Value.Section, o.F}
}

// opsByName lists the operations on the resource in the order of their invocation,
// which is the order of their effects within one section.
func (v *view) opsByName() map[cellName][]int {
	m := make(map[cellName][]int)
	for i := range v.ops {
		switch v.ops[i].F {
		case history.Read, history.Write, history.CAS:
			n := v.cellName(i)
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
