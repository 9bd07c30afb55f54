package linear

import (
	"fmt"
	"math"
	"slices"
)

// value is what a register held at some time, with the operations on it.
type value struct {
	// creator wrote it, -1 for the initial value and for what nobody wrote;
	// next is the CAS that took it away, -1 for none.
	creator, next int32
	// earlyRead and lateRead are the reads of it that returned first and that
	// were called last, -1 for none.
	earlyRead, lateRead int32
	// force is an operation that surely took effect and because of which the
	// value must have been there; -1 where it may not have been.
	force int32
}

// register is a history of a register whose written values are all different.
type register struct {
	ops    []Op
	values []value
	index  valueIndex
	// zones are those of the blocks, and heads the values with which these begin, by the IDs of the zones.
	zones []Zone
	heads []int32
}

// decideRegister decides a history of a register (Read, Write, CAS, and CASFailed that
// tells what it saw) in which no value is written twice nor is the initial one
// ever written. It is Undecided on any other.
func decideRegister(h History) Result {
	g, r := newRegister(h)
	if r.Outcome != 0 {
		return r
	}
	return g.layOut()
}

// newRegister takes note of all operations. The outcome of the result is 0, if that does not decide the history.
func newRegister(h History) (*register, Result) {
	g := &register{ops: h.Ops, index: newValueIndex(h)}
	g.values = make([]value, 1, len(h.Ops)+1)
	g.values[0] = value{creator: -1, next: -1, earlyRead: -1, lateRead: -1, force: -1}
	g.index.put(h.Initial, 0)
	for i := range h.Ops {
		if r, stop := g.create(int32(i)); stop {
			return nil, r
		}
	}
	for i := range h.Ops {
		if r, stop := g.observe(int32(i)); stop {
			return nil, r
		}
	}
	return g, Result{}
}

// create takes note of the value that an operation wrote.
func (g *register) create(i int32) (r Result, stop bool) {
	o := &g.ops[i]
	if o.Maybe {
		return undecided(whyMaybe), true
	}
	written := o.A
	switch o.Kind {
	case Write:
	case CAS:
		if o.A == o.B {
			return undecided("a compare-and-set that changes nothing"), true
		}
		written = o.B
	case Read:
		return r, false
	case CASFailed:
		if o.B == None && !o.Optional() {
			return undecided("a failed compare-and-set that does not tell what it saw"), true
		}
		return r, false
	default:
		return undecided("not a history of a register"), true
	}
	if _, twice := g.index.get(written); twice {
		return undecided("a value was written twice"), true
	}
	g.index.put(written, int32(len(g.values)))
	v := value{creator: i, next: -1, earlyRead: -1, lateRead: -1, force: -1}
	if !o.Optional() {
		v.force = i
	}
	g.values = append(g.values, v)
	return r, false
}

// observe takes note of the value that an operation found.
func (g *register) observe(i int32) (r Result, stop bool) {
	o := &g.ops[i]
	found := o.A
	switch o.Kind {
	case Write:
		return r, false
	case CASFailed:
		if o.Optional() {
			return r, false
		}
		if o.A == o.B {
			return illegal(fmt.Sprintf("a compare-and-set failed though it found the %d that it wanted", o.A), int(i)), true
		}
		found = o.B
	case CAS:
		if o.Optional() {
			return r, false // layOut looks at it, if anybody saw what it wrote
		}
	case Read:
		if o.Optional() {
			return r, false
		}
	}
	at, known := g.index.get(found)
	if !known {
		return illegal(fmt.Sprintf("nobody wrote %d", found), int(i)), true
	}
	v := &g.values[at]
	if v.force < 0 {
		v.force = i
	}
	if o.Kind == CAS {
		return g.take(at, i, i)
	}
	if v.earlyRead < 0 || o.Return < g.ops[v.earlyRead].Return {
		v.earlyRead = i
	}
	if v.lateRead < 0 || o.Call > g.ops[v.lateRead].Call {
		v.lateRead = i
	}
	return r, false
}

// take makes a CAS the one that took a value away; force is why it must have
// happened.
func (g *register) take(at, i, force int32) (r Result, stop bool) {
	v := &g.values[at]
	if v.next >= 0 {
		first := v.next
		if g.ops[first].Optional() {
			first = g.created(first).force
		}
		return illegal(fmt.Sprintf("two operations found %d and replaced it", g.ops[i].A), int(first), int(force)), true
	}
	v.next = i
	return r, false
}

// created is the value that an operation wrote.
func (g *register) created(i int32) *value {
	written := g.ops[i].A
	if g.ops[i].Kind == CAS {
		written = g.ops[i].B
	}
	at, _ := g.index.get(written)
	return &g.values[at]
}

// conclude finds the optional CAS that must have happened, because somebody saw
// what they wrote, and so on down their chains.
func (g *register) conclude() (r Result, stop bool) {
	for at := range g.values {
		v := &g.values[at]
		for v.force >= 0 && v.creator >= 0 && g.ops[v.creator].Kind == CAS && g.ops[v.creator].Optional() {
			o := &g.ops[v.creator]
			from, known := g.index.get(o.A)
			if !known {
				return illegal(fmt.Sprintf("nobody wrote %d", o.A), int(v.force)), true
			}
			source := &g.values[from]
			if source.next == v.creator {
				break // been here
			}
			if r, stop = g.take(from, v.creator, v.force); stop {
				return r, true
			}
			if source.force < 0 {
				source.force = v.force
			}
			v = source
		}
	}
	return r, false
}

// block is a chain of values, each made from the one before by a CAS, with the
// operations on them. Nothing else can come in between.
type block struct {
	// first returned first, last was called last; -1 where the initial value has
	// neither.
	first, last int32
}

// layOut follows the chains and asks whether their zones can be laid out one
// after the other.
func (g *register) layOut() Result {
	if r, stop := g.conclude(); stop {
		return r
	}
	zones := make([]Zone, 0, len(g.values))
	blocks := make([]block, 0, len(g.values))
	followed := 0
	for at := range g.values {
		v := &g.values[at]
		if at > 0 && (v.force < 0 || g.ops[v.creator].Kind != Write) {
			if v.force < 0 {
				followed++ // left out
			}
			continue
		}
		b, n, r := g.follow(v)
		if r.Outcome != 0 {
			return r
		}
		followed += n
		z := Zone{From: math.MinInt64, To: math.MinInt64, ID: int32(len(blocks))}
		if at > 0 {
			z.From = g.ops[b.first].Return
		}
		if b.last >= 0 {
			z.To = g.ops[b.last].Call
		}
		zones, blocks, g.heads = append(zones, z), append(blocks, b), append(g.heads, int32(at))
	}
	g.zones = zones
	if followed < len(g.values) {
		return g.cycle()
	}
	a, b, found := Clash(zones)
	if !found {
		return legal()
	}
	witness := append(g.witness(blocks[a]), g.witness(blocks[b])...)
	slices.Sort(witness)
	return illegal("no order of the writes agrees with what was read when", slices.Compact(witness)...)
}

// follow goes along the chain of a value. Within it the order is forced: the
// write, the reads of it, the CAS that took it away, and so on.
func (g *register) follow(v *value) (b block, n int, r Result) {
	b = block{first: -1, last: -1}
	if v.creator >= 0 {
		g.join(&b, v.creator, v.creator)
	}
	for {
		n++
		if v.earlyRead >= 0 {
			if r = g.join(&b, v.earlyRead, v.lateRead); r.Outcome != 0 {
				return b, n, r
			}
		}
		if v.next < 0 {
			return b, n, r
		}
		if r = g.join(&b, v.next, v.next); r.Outcome != 0 {
			return b, n, r
		}
		v = g.created(v.next)
	}
}

// join adds the next step to a block: early is its operation that returned
// first, late the one that was called last.
func (g *register) join(b *block, early, late int32) Result {
	if b.last >= 0 && g.ops[early].Return < g.ops[b.last].Call {
		return illegal(fmt.Sprintf("%d was found too early", g.ops[early].A), int(b.last), int(early))
	}
	if b.first < 0 || g.ops[early].Return < g.ops[b.first].Return {
		b.first = early
	}
	if b.last < 0 || g.ops[late].Call > g.ops[b.last].Call {
		b.last = late
	}
	return Result{}
}

// witness is why a block must lie where it does.
func (g *register) witness(b block) []int {
	var list []int
	for _, i := range [2]int32{b.first, b.last} {
		if i >= 0 && g.ops[i].Optional() {
			i = g.created(i).force
		}
		if i >= 0 {
			list = append(list, int(i))
		}
	}
	return list
}

// cycle: some values were all made from one another.
func (g *register) cycle() Result {
	reached := make([]bool, len(g.values))
	for at := range g.values {
		v := &g.values[at]
		if at > 0 && g.ops[v.creator].Kind != Write {
			continue
		}
		for reached[at] = true; v.next >= 0; {
			v = g.created(v.next)
			i, _ := g.index.get(g.ops[v.creator].B)
			reached[i] = true
		}
	}
	for at := range g.values {
		if v := &g.values[at]; !reached[at] && v.force >= 0 {
			return illegal(fmt.Sprintf("the value %d comes from itself", g.ops[v.creator].B), int(v.force))
		}
	}
	return undecided("a chain without a beginning was lost")
}

// valueIndex finds values by what they are: in a table where they lie close
// together, else in a map.
type valueIndex struct {
	low   int64
	table []int32
	other map[int64]int32
}

func newValueIndex(h History) valueIndex {
	low, high := h.Initial, h.Initial
	for i := range h.Ops {
		o := &h.Ops[i]
		switch o.Kind {
		case Write:
			low, high = min(low, o.A), max(high, o.A)
		case CAS:
			low, high = min(low, o.B), max(high, o.B)
		}
	}
	if span := uint64(high) - uint64(low); span < uint64(8*len(h.Ops)+64) {
		return valueIndex{low: low, table: make([]int32, span+1)}
	}
	return valueIndex{other: make(map[int64]int32, len(h.Ops))}
}

func (x *valueIndex) put(v int64, at int32) {
	if x.other != nil {
		x.other[v] = at
		return
	}
	x.table[uint64(v)-uint64(x.low)] = at + 1
}

func (x *valueIndex) get(v int64) (at int32, known bool) {
	if x.other != nil {
		at, known = x.other[v]
		return at, known
	}
	if i := uint64(v) - uint64(x.low); i < uint64(len(x.table)) {
		return x.table[i] - 1, x.table[i] > 0
	}
	return 0, false
}
