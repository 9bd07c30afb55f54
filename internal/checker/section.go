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
	event int
	e     *history.Event
	// accepted and refused are both false where the resource did not tell. from and to are the earliest and the latest
	// instant at which it can have taken place; known says whether the resource told them.
	accepted, refused, known bool
	from, to                 time.Duration
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
	open := make(map[name]int) // the sections to which more can belong
	for i := range v.ops {
		o := &v.ops[i]
		e := v.event(o.Call)
		if o.F != history.Read && o.F != history.Write && (o.F != history.CAS || e.Value.Section == 0) {
			continue
		}
		n := name{o.Process, e.Value.Key, e.Value.Section}
		at, known := open[n]
		if known = known && (n.number != 0 || o.F == history.Write); !known {
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
		case n.number == 0 && o.F == history.Write:
			delete(open, n)
		case !known:
			open[n] = at
		}
	}
}

func (v *view) collectEffects() {
	places := v.collectNamesakes()
	v.effects = make([]effect, 0, v.h.Count(history.Effect))
	for i := range v.h.Events {
		e := &v.h.Events[i]
		if e.F != history.Effect {
			continue
		}
		x := effect{event: i, e: e, accepted: e.Value.Accepted().V, refused: e.Value.Accepted().Set && !e.Value.Accepted().V, write: -1}
		if at, some := places[cellName{x.client(), x.key(), x.section(), x.op()}]; some {
			same := &v.namesakes[at]
			if x.writes = v.invokedBefore(same.ops, i); len(x.writes) > 0 {
				// In their order; the last one stays: a request sent twice has two effects.
				x.write = x.writes[min(same.told, len(x.writes)-1)]
				same.told++
			}
			if x.accepted {
				same.accepted++
			}
		}
		x.from, x.to = v.span(x.writes)
		if at := e.Value.At(); at.IsSet() {
			x.from, x.known = max(x.from, time.Duration(at.V()-e.Value.AtError())), true
			x.to = min(x.to, time.Duration(at.V()+e.Value.AtError()))
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

// namesakes are the operations of one name, and what the resource told of them.
type namesakes struct {
	// ops are the operations in the order of their invocation, which is the order of their
	// effects within one section.
	ops []int
	// told is how many effects followed, accepted how many the resource accepted at all.
	told, accepted int
}

// collectNamesakes finds the operations on the resource; it returns the places of the names.
func (v *view) collectNamesakes() map[cellName]int {
	v.namesakes = make([]namesakes, 0, len(v.ops)/2)
	places := make(map[cellName]int, cap(v.namesakes))
	for i := range v.ops {
		o := &v.ops[i]
		switch o.F {
		case history.Read, history.Write, history.CAS:
			e := v.event(o.Call)
			n := cellName{o.Process, e.Value.Key, e.Value.Section, o.F}
			at, known := places[n]
			if !known {
				at = len(v.namesakes)
				places[n], v.namesakes = at, append(v.namesakes, namesakes{})
			}
			v.namesakes[at].ops = append(v.namesakes[at].ops, i)
		}
	}
	return places
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

// What the event of an effect tells.
func (x *effect) client() string       { return x.e.Value.Client }
func (x *effect) op() history.F        { return x.e.Value.Op() }
func (x *effect) section() int         { return x.e.Value.Section }
func (x *effect) key() string          { return x.e.Value.Key }
func (x *effect) token() history.Int   { return x.e.Value.Token }
func (x *effect) highest() history.Int { return x.e.Value.Highest() }
func (x *effect) number() history.Int  { return x.e.Value.Number }

// changes reports whether the effect is of an operation that changes the
// resource. Reads are none.
func (x *effect) changes() bool { return x.op() == history.Write || x.op() == history.CAS }

// number is the value that an operation carries: in its completion, or else in
// its invocation.
func (v *view) number(op int) history.Int {
	o := &v.ops[op]
	if o.Return >= 0 {
		if n := v.event(o.Return).Value.Number; n.IsSet() {
			return n
		}
	}
	return v.event(o.Call).Value.Number
}
