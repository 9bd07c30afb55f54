package facts

import (
	"math"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/scenario/workload"
)

// Section is what one client did to one cell of the resource under one grant of
// the lock.
type Section struct {
	Client, Key string
	Number      int
	// Reads and Writes are operations in Facts.Ops.
	Reads, Writes []int
}

// Effect is what the resource says of one operation.
type Effect struct {
	Event int
	e     *history.Event
	// Accepted and Refused are both false where the resource did not tell. From and To are the earliest and the latest
	// instant at which it can have taken place; known says whether the resource told them.
	Accepted, Refused, known bool
	From, To                 time.Duration
	// Write is the operation in Facts.Ops that most likely asked for it, -1 for none;
	// Writes are all that can have.
	Write  int
	Writes []int
}

// collectSections puts the reads and writes of a section together. Operations
// without a section number are sections of their own, save that a write belongs
// to the read of the same client and cell before it.
func (f *Facts) collectSections() {
	type name struct {
		client, key string
		number      int
	}
	open := make(map[name]int) // the sections to which more can belong
	for i := range f.Ops {
		o := &f.Ops[i]
		e := f.Event(o.Call)
		if o.F != history.Read && o.F != history.Write && (o.F != history.CAS || e.Value.Section == 0) {
			continue
		}
		n := name{o.Process, e.Value.Key, e.Value.Section}
		at, known := open[n]
		if known = known && (n.number != 0 || o.F == history.Write); !known {
			at = len(f.Sections)
			f.Sections = append(f.Sections, Section{Client: o.Process, Key: e.Value.Key, Number: n.number})
		}
		s := &f.Sections[at]
		if o.F == history.Read {
			s.Reads = append(s.Reads, i)
		} else {
			s.Writes = append(s.Writes, i)
		}
		if n.number == 0 && o.F == history.Write {
			delete(open, n)
		} else if !known {
			open[n] = at
		}
	}
}

// collectEffects finds the effects, and the operations that each can belong to.
func (f *Facts) collectEffects() {
	places := f.collectSameNamed()
	f.Effects = make([]Effect, 0, f.History.Count(history.Effect))
	for i := range f.History.Events {
		e := &f.History.Events[i]
		if e.F != history.Effect {
			continue
		}
		x := Effect{Event: i, e: e, Accepted: e.Value.Accepted().V, Refused: e.Value.Accepted().Set && !e.Value.Accepted().V, Write: -1}
		if at, some := places[operationName{x.Client(), x.Key(), x.Section(), x.Op()}]; some {
			same := &f.sameNamed[at]
			if x.Writes = f.invokedBefore(same.ops, i); len(x.Writes) > 0 {
				// In their order; the last one stays: a request sent twice has two effects.
				x.Write = x.Writes[min(same.matched, len(x.Writes)-1)]
				same.matched++
			}
			if x.Accepted {
				same.accepted++
			}
		}
		x.From, x.To = f.effectBounds(x.Writes)
		if at := e.Value.At(); at.IsSet() {
			x.From, x.known = max(x.From, time.Duration(at.V()-e.Value.AtError())), true
			x.To = min(x.To, time.Duration(at.V()+e.Value.AtError()))
		}
		f.Effects = append(f.Effects, x)
	}
}

// invokedBefore are those of some operations that were invoked before an event.
func (f *Facts) invokedBefore(ops []int, event int) []int {
	n := len(ops)
	for n > 0 && f.Ops[ops[n-1]].Call > event {
		n--
	}
	return ops[:n]
}

// effectBounds is the time in which one of some operations took effect, by what its client saw: not
// before it was asked for, and not after its answer, where one came that says what it did.
func (f *Facts) effectBounds(ops []int) (from, to time.Duration) {
	if len(ops) == 0 {
		return math.MinInt64, Forever
	}
	from, to = f.At(f.Ops[ops[0]].Call), math.MinInt64
	for _, op := range ops {
		o := &f.Ops[op]
		if to = max(to, f.At(o.Return)); o.Type == history.Info {
			to = Forever
		}
	}
	return from, to
}

// operationName is what an effect and the operation that asked for it have in common.
type operationName struct {
	client, key string
	section     int
	op          history.F
}

// sameNamed are the operations of one name, and what the resource told of them.
type sameNamed struct {
	// ops are the operations in the order of their invocation, which is the order of their
	// effects within one section.
	ops []int
	// matched is how many effects followed, accepted how many the resource accepted at all.
	matched, accepted int
}

// collectSameNamed finds the operations on the resource; it returns the places of the names.
func (f *Facts) collectSameNamed() map[operationName]int {
	f.sameNamed = make([]sameNamed, 0, len(f.Ops)/2)
	places := make(map[operationName]int, cap(f.sameNamed))
	for i := range f.Ops {
		o := &f.Ops[i]
		switch o.F {
		case history.Read, history.Write, history.CAS:
			e := f.Event(o.Call)
			n := operationName{o.Process, e.Value.Key, e.Value.Section, o.F}
			at, known := places[n]
			if !known {
				at = len(f.sameNamed)
				places[n], f.sameNamed = at, append(f.sameNamed, sameNamed{})
			}
			f.sameNamed[at].ops = append(f.sameNamed[at].ops, i)
		}
	}
	return places
}

// AcceptedEffect is what the resource let an operation do, nil where it did not, or
// does not tell.
func (f *Facts) AcceptedEffect(op int) *Effect {
	for i := range f.Effects {
		if x := &f.Effects[i]; x.Write == op && x.Accepted {
			return x
		}
	}
	return nil
}

// What the event of an effect tells.
func (x *Effect) Client() string       { return x.e.Value.Client }
func (x *Effect) Op() history.F        { return x.e.Value.Op() }
func (x *Effect) Section() int         { return x.e.Value.Section }
func (x *Effect) Key() string          { return x.e.Value.Key }
func (x *Effect) Token() history.Int   { return x.e.Value.Token }
func (x *Effect) Highest() history.Int { return x.e.Value.Highest() }
func (x *Effect) Number() history.Int  { return x.e.Value.Number }

// Changes reports whether the effect is of an operation that changes the
// resource. Reads are none.
func (x *Effect) Changes() bool { return x.Op() == history.Write || x.Op() == history.CAS }

// Number is the value that an operation carries: in its completion, or else in
// its invocation.
func (f *Facts) Number(op int) history.Int {
	o := &f.Ops[op]
	if o.Return >= 0 {
		if n := f.Event(o.Return).Value.Number; n.IsSet() {
			return n
		}
	}
	return f.Event(o.Call).Value.Number
}

// LastReadBefore is the latest successful read of the section before a write, -1 for
// none.
func (f *Facts) LastReadBefore(x *Section, write int) int {
	for i := len(x.Reads) - 1; i >= 0; i-- {
		o := &f.Ops[x.Reads[i]]
		if o.Type == history.OK && o.Return < f.Ops[write].Call {
			return x.Reads[i]
		}
	}
	return -1
}

// DecisiveWrite is the write that says what became of a section: one that was
// answered OK, or else one whose outcome is unknown; -1 where all failed.
func (f *Facts) DecisiveWrite(s *Section) int {
	found := -1
	for _, w := range s.Writes {
		switch f.Ops[w].Type {
		case history.OK:
			found = w
		case history.Info:
			if found < 0 || f.Ops[found].Type != history.OK {
				found = w
			}
		}
	}
	return found
}

// ReadValue is what a read saw; a cell that was never written has its initial
// value.
func (f *Facts) ReadValue(op int) int64 {
	if n := f.Number(op); n.IsSet() {
		return n.V()
	}
	return f.History.Header.Initial.V()
}

// CellData says what a cell holds: a counter, a list.
func (f *Facts) CellData(key string) workload.Data { return f.Workload.CellOf(key).Data }

// DecisiveRead is the read that a section built on; -1 where there is none.
func (f *Facts) DecisiveRead(s *Section) int {
	if len(s.Writes) == 0 {
		for _, r := range s.Reads {
			if f.Ops[r].Type == history.OK {
				return r
			}
		}
		return -1
	}
	return f.LastReadBefore(s, s.Writes[0])
}

// SectionBegin is the first event of a section's operation, SectionEnd the last one. A section that
// a violation needs has one: what was never answered may not have been.
func (f *Facts) SectionBegin(s *Section) int {
	if r := f.DecisiveRead(s); r >= 0 {
		return f.Ops[r].Call
	}
	return f.Ops[s.Writes[0]].Call
}

// SectionEnd is the last event of a section's operation.
func (f *Facts) SectionEnd(s *Section) int {
	if w := f.DecisiveWrite(s); w >= 0 {
		return f.Ops[w].Return
	}
	return f.Ops[f.DecisiveRead(s)].Return
}

// MissingEffects counts the writes that were answered OK and of which the
// resource knows nothing: those of a name beyond the accepted effects of that name.
func (f *Facts) MissingEffects() int {
	missing := 0
	for i := range f.sameNamed {
		answered := 0
		for _, op := range f.sameNamed[i].ops {
			if o := &f.Ops[op]; (o.F == history.Write || o.F == history.CAS) && o.Type == history.OK {
				answered++
			}
		}
		missing += max(0, answered-f.sameNamed[i].accepted)
	}
	return missing
}
