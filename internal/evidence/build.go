package evidence

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/linear"
)

// builder turns events into operations of a model, as they are read.
type builder struct {
	m *model
	o Options
	n int64 // events so far
	// open are the operations that have been invoked and not yet completed.
	open      map[slot]*pending
	free      []*pending
	processes map[string]int32
	names     []string
	parts     map[string]*part
	// section is what each client read last inside a section.
	section map[int32]sectionRead
	// strange counts the operations that the model does not know, by their f.
	strange map[history.F]int
	texts   []string
	textIDs map[string]int64
	unknown int
	nils    []nilPlace
	// orphan is the line of a completion of what was never invoked, 0 for none.
	orphan int
	// latest is the last instant that an event names.
	latest time.Duration
}

type slot struct {
	process string
	f       history.F
}

// pending is an invocation.
type pending struct {
	line  int
	stamp int64
	value history.Value
}

// sectionRead is the read of a guarded section.
type sectionRead struct {
	number int
	line   int
	stamp  int64
	value  history.Int
	list   []int64
}

// nilPlace is an operation that found nil: what that means is known only at the
// end.
type nilPlace struct {
	part *part
	op   int
}

// part is the history of one of several independent things.
type part struct {
	key string
	h   linear.History
	// calls and returns are the lines of each operation.
	calls, returns []int32
	until          []int64          // by tag, for leased grants
	tags           map[string]int64 // by owner value
	holds          map[int32]int64  // the tag that each process acquired last
	nameless       bool             // an operation on the lock came without an owner value
	untagged       bool             // a release could not be told a tag
}

func newBuilder(m *model, o Options) *builder {
	return &builder{m: m, o: o, open: make(map[slot]*pending), processes: make(map[string]int32),
		parts: make(map[string]*part), section: make(map[int32]sectionRead), strange: make(map[history.F]int),
		textIDs: make(map[string]int64)}
}

// event takes the next event of the history.
func (b *builder) event(line int, e *history.Event) error {
	b.n++
	b.latest = max(b.latest, e.Time)
	if e.Process == history.NemesisProcess {
		return nil
	}
	v, known := b.m.verbs[e.F]
	if !known {
		if e.Type == history.Invoke {
			b.strange[e.F]++
		}
		return nil
	}
	s := slot{e.Process, e.F}
	p, open := b.open[s]
	if e.Type == history.Invoke {
		if open {
			// It never returned, and its process went on.
			if err := b.operation(v, e.Process, p, nil, 0); err != nil {
				return err
			}
		} else {
			p = b.newPending()
			b.open[s] = p
		}
		*p = pending{line: line, stamp: b.stamp(e), value: e.Value}
		return nil
	}
	if !open {
		if b.orphan == 0 {
			b.orphan = line
		}
		return nil
	}
	delete(b.open, s)
	b.free = append(b.free, p)
	return b.operation(v, e.Process, p, e, line)
}

func (b *builder) newPending() *pending {
	if n := len(b.free); n > 0 {
		p := b.free[n-1]
		b.free = b.free[:n-1]
		return p
	}
	return &pending{}
}

// stamp is the time of an event. Where a file keeps the order of events the
// order is finer than the clock; our own files say that at equal stamps
// invocations come first.
func (b *builder) stamp(e *history.Event) int64 {
	if b.o.Format == JSONL || b.m.timed {
		return int64(e.Time)
	}
	return b.n
}

func (b *builder) process(name string) int32 {
	return numbered(b.processes, &b.names, name)
}

// numbered is the number of a name; a new one gets the next.
func numbered[N int32 | int64](numbers map[string]N, names *[]string, name string) N {
	n, known := numbers[name]
	if !known {
		n = N(len(*names))
		numbers[name], *names = n, append(*names, name)
	}
	return n
}

func (b *builder) part(key string) *part {
	p := b.parts[key]
	if p == nil {
		p = &part{key: key, tags: make(map[string]int64), holds: make(map[int32]int64)}
		b.parts[key] = p
	}
	return p
}

// operation adds an operation. e is its completion, nil where there was none.
func (b *builder) operation(v verb, process string, p *pending, e *history.Event, line int) error {
	value, typ := p.value, history.Info
	if e != nil {
		typ = e.Type
		merge(&value, &e.Value)
	}
	for _, n := range [3]history.Int{value.Number, value.Expected, value.Token} {
		if n.Set && n.V <= nilValue {
			return fmt.Errorf("the number %d is out of range", n.V)
		}
	}
	o := linear.Op{Process: b.process(process), Call: p.stamp, Return: linear.Never}
	if typ == history.Fail && v == release && (b.o.Format == JSONL || b.m.timed) {
		typ = history.Info // what was not ours any more ends the hold all the same
	}
	if typ == history.OK || typ == history.Fail {
		o.Return = b.stamp(e)
	}
	key := value.Key
	if v == acquire || v == release {
		key = value.Lock
	}
	part := b.part(key)
	ok, err := b.fill(part, &o, v, typ, &value, p)
	if err != nil || !ok {
		return err
	}
	if o.Optional() {
		line = 0
		b.unknown++
	}
	part.h.Ops = append(part.h.Ops, o)
	part.calls, part.returns = append(part.calls, int32(p.line)), append(part.returns, int32(line))
	return nil
}

// merge takes from the completion what it knows, and from the invocation what
// the completion does not repeat.
func merge(v, c *history.Value) {
	pick := func(a *history.Int, b history.Int) {
		if b.Set {
			*a = b
		}
	}
	pick(&v.Number, c.Number)
	pick(&v.Expected, c.Expected)
	pick(&v.Token, c.Token)
	pick(&v.ValidUntil, c.ValidUntil)
	for _, s := range [][2]*string{{&v.Key, &c.Key}, {&v.Lock, &c.Lock}, {&v.Owner, &c.Owner}, {&v.Detail, &c.Detail}} {
		if *s[1] != "" {
			*s[0] = *s[1]
		}
	}
	if c.List != nil {
		v.List = c.List
	}
	if c.Section != 0 {
		v.Section = c.Section
	}
}

// fill puts what an operation did into o. It reports false where the operation
// says nothing: it certainly had no effect, or it is a read that never answered.
func (b *builder) fill(part *part, o *linear.Op, v verb, typ history.Type, value *history.Value, p *pending) (bool, error) {
	switch v {
	case read:
		if typ != history.OK {
			return false, nil
		}
		return b.fillRead(part, o, value, p)
	case acquire, release:
		if typ == history.Fail {
			return false, nil
		}
		b.fillLock(part, o, v, typ, value)
		return true, nil
	case cas:
		return b.fillCAS(part, o, typ, value)
	}
	if typ == history.Fail {
		if value.Section > 0 {
			delete(b.section, o.Process)
		}
		return false, nil
	}
	switch v {
	case write:
		return true, b.fillWrite(part, o, value, p)
	case sell:
		o.Kind, o.A = linear.Sell, value.Number.V
		return true, need(value.Number, "units")
	case add:
		if b.m.name == "set" {
			o.Kind, o.A = linear.Insert, value.Number.V
			return true, need(value.Number, "an element")
		}
		o.Kind, o.A = linear.Add, 1
		if value.Number.Set {
			o.A = value.Number.V
		}
		return true, nil
	case run:
		o.Kind, o.A = linear.Run, value.Number.V
		return true, need(value.Number, "a tick")
	case appendTo:
		return true, b.fillAppend(part, o, value, p)
	}
	return false, nil
}

func need(n history.Int, what string) error {
	if !n.Set {
		return fmt.Errorf("no value: want %s", what)
	}
	return nil
}

func (b *builder) fillRead(part *part, o *linear.Op, value *history.Value, p *pending) (bool, error) {
	if b.m.sections && value.Section > 0 {
		b.section[o.Process] = sectionRead{value.Section, p.line, p.stamp, value.Number, value.List}
		return false, nil
	}
	o.Kind, o.A = linear.Read, value.Number.V
	switch b.m.name {
	case "kv":
		o.A = b.text(value)
	case "append", "set":
		o.Kind, o.A = linear.ReadList, int64(len(part.h.Lists))
		if b.m.name == "set" {
			o.Kind = linear.ReadSet
		}
		part.h.Lists = append(part.h.Lists, value.List)
	default:
		if !value.Number.Set {
			b.foundNil(part)
		}
	}
	return true, nil
}

// foundNil says that the next operation of the part found nil.
func (b *builder) foundNil(p *part) { b.nils = append(b.nils, nilPlace{p, len(p.h.Ops)}) }

func (b *builder) fillWrite(part *part, o *linear.Op, value *history.Value, p *pending) error {
	o.Kind, o.A = linear.Write, value.Number.V
	if b.m.name == "kv" {
		o.A = b.text(value)
		return nil
	}
	if r, ok := b.takeSection(o, value, p); ok {
		o.Kind, o.A, o.B = linear.CAS, r.value.V, o.A
		if !r.value.Set {
			b.foundNil(part)
		}
	}
	return need(value.Number, "what was written")
}

// takeSection makes a write the end of the section that its client's read began.
func (b *builder) takeSection(o *linear.Op, value *history.Value, p *pending) (sectionRead, bool) {
	r, ok := b.section[o.Process]
	if !b.m.sections || value.Section == 0 || !ok || r.number != value.Section {
		return r, false
	}
	o.Call, p.line = r.stamp, r.line
	return r, true
}

func (b *builder) fillAppend(part *part, o *linear.Op, value *history.Value, p *pending) error {
	o.Kind, o.A, o.B = linear.Append, value.Number.V, linear.None
	if b.m.name == "kv" {
		o.A = b.text(value)
		return nil
	}
	if r, ok := b.takeSection(o, value, p); ok {
		o.B = int64(len(r.list))
		if !o.Optional() {
			seen := *o
			seen.Kind, seen.A, seen.B = linear.ReadList, int64(len(part.h.Lists)), 0
			part.h.Lists = append(part.h.Lists, r.list)
			part.h.Ops = append(part.h.Ops, seen)
			part.calls, part.returns = append(part.calls, int32(r.line)), append(part.returns, int32(p.line))
		}
	}
	return need(value.Number, "an element")
}

func (b *builder) fillCAS(part *part, o *linear.Op, typ history.Type, value *history.Value) (bool, error) {
	o.Kind, o.A, o.B = linear.CAS, value.Expected.V, value.Number.V
	if typ == history.Fail && b.o.Format != PorcupineEtcd {
		return false, nil // it only says that it had no effect
	}
	if !value.Expected.Set {
		b.foundNil(part)
	}
	if typ == history.Fail {
		o.Kind, o.B = linear.CASFailed, linear.None
		return true, nil
	}
	return true, need(value.Number, "[from to]")
}

// fillLock gives the operation its tag, where grants have one.
func (b *builder) fillLock(part *part, o *linear.Op, v verb, typ history.Type, value *history.Value) {
	o.Kind, o.A = linear.Acquire, linear.None
	if v == release {
		o.Kind = linear.Release
	}
	if value.Token.Set && v == acquire {
		o.A = value.Token.V
	}
	if !b.m.tagged {
		return
	}
	o.B = part.tag(o.Process, v, typ, value.Owner)
	if v == acquire && typ == history.OK && value.ValidUntil.Set {
		part.until[o.B] = value.ValidUntil.V
	}
}

// tag names the grant that an operation is about: by the owner value, or else a
// release gives back what its process acquired last. A part with a release of
// which neither can be said is untagged.
func (p *part) tag(process int32, v verb, typ history.Type, owner string) int64 {
	p.nameless = p.nameless || owner == ""
	tag, known := p.tags[owner]
	if last, holds := p.holds[process]; owner == "" && v == release && holds {
		tag, known = last, true
	} else if owner == "" {
		known = false
		p.untagged = p.untagged || v == release
	}
	if !known {
		tag = int64(len(p.until))
		p.until = append(p.until, linear.None)
		if owner != "" {
			p.tags[owner] = tag
		}
	}
	switch {
	case v == release:
		delete(p.holds, process)
	case typ == history.OK:
		p.holds[process] = tag
	}
	return tag
}

// nilValue is what a register holds that was never written and has no initial
// value.
const nilValue = linear.None + 1

func (b *builder) text(value *history.Value) int64 {
	s := value.Detail
	if value.Number.Set {
		s = strconv.FormatInt(value.Number.V, 10)
	}
	return numbered(b.textIDs, &b.texts, s)
}

// finish adds the operations that never returned and settles what could not be
// settled before.
func (b *builder) finish(header history.Header) {
	slots := slices.Collect(maps.Keys(b.open))
	slices.SortFunc(slots, func(x, y slot) int { return b.open[x].line - b.open[y].line })
	for _, s := range slots {
		// An invocation without its value is no more than an unknown operation
		// that nothing can be said of.
		_ = b.operation(b.m.verbs[s.f], s.process, b.open[s], nil, 0)
	}
	initial := b.o.Initial
	if !initial.Set {
		initial = header.Initial
	}
	if !initial.Set && (b.o.Format == JSONL || b.m.name != "register" && b.m.name != "cas-register") {
		initial = history.Some(0)
	}
	start := int64(nilValue)
	if initial.Set {
		start = initial.V
	}
	seen := start
	if b.o.NilRead.Set {
		seen = b.o.NilRead.V
	}
	for _, n := range b.nils {
		n.part.h.Ops[n.op].A = seen
	}
	for _, p := range b.parts {
		p.h.Initial = start
	}
}
