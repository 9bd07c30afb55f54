package evidence

import (
	"fmt"
	"maps"
	"slices"
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
	for _, n := range [3]history.Int{value.Number, value.Expected(), value.Token} {
		if n.IsSet() && n.V() <= nilValue {
			return fmt.Errorf("the number %d is out of range", n.V())
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
		key = value.Lock()
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
		if b.IsSet() {
			*a = b
		}
	}
	pick(&v.Number, c.Number)
	pick(&v.Token, c.Token)
	if c.ValidUntil().IsSet() {
		v.OwnGrant().ValidUntil = c.ValidUntil()
	}
	for _, s := range [][2]*string{{&v.Key, &c.Key}, {&v.Owner, &c.Owner}} {
		if *s[1] != "" {
			*s[0] = *s[1]
		}
	}
	if c.Lock() != "" {
		v.OwnExtra().Lock = c.Lock()
	}
	if c.Expected().IsSet() {
		v.OwnExtra().Expected = c.Expected()
	}
	if c.Detail() != "" {
		v.OwnRare().Detail = c.Detail()
	}
	if c.List() != nil {
		v.OwnExtra().List = c.List()
	}
	if c.Section != 0 {
		v.Section = c.Section
	}
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
	if !initial.IsSet() {
		initial = header.Initial
	}
	if !initial.IsSet() && (b.o.Format == JSONL || b.m.name != "register" && b.m.name != "cas-register") {
		initial = history.Some(0)
	}
	start := int64(nilValue)
	if initial.IsSet() {
		start = initial.V()
	}
	seen := start
	if b.o.NilRead.IsSet() {
		seen = b.o.NilRead.V()
	}
	for _, n := range b.nils {
		n.part.h.Ops[n.op].A = seen
	}
	for _, p := range b.parts {
		p.h.Initial = start
	}
}
