package linear

import (
	"cmp"
	"context"
	"fmt"
	"math/bits"
	"slices"
	"time"
)

// config is one way in which things may stand: which of the operations under
// way have taken effect, one bit for each slot, and the state.
type config struct {
	done  uint64
	state any
}

// frontier goes through the history once and keeps all configs that explain it
// so far. An operation takes effect only when some return demands it, which keeps
// them few.
type frontier struct {
	model Model
	ops   []Op
	slots [64]int32
	// used are the slots of operations under way, loose those of the optional
	// among them.
	used, loose uint64
	configs     []config
	next, seen  antichain
	stack       []config
	// limit is the most configs at one time.
	limit int
}

// searchFrontier decides a history in one pass. It takes memory only for the ways in
// which things may stand at one time, which are few while few outcomes are
// unknown: each stays possible for ever after and may double them. Where it is
// Illegal, Witness has the one operation whose return left no explanation.
func searchFrontier(ctx context.Context, m Model, h History, b Bounds) Result {
	if b.Memory <= 0 {
		b.Memory = DefaultMemory
	}
	if why := m.foreign(h.Ops); why != "" {
		return undecided(why)
	}
	f := &frontier{model: m, ops: h.Ops, limit: int(min(b.Memory/512, 1<<24))}
	f.configs = append(f.configs, config{0, m.Init})
	calls, returns := schedule(h.Ops)
	deadline := time.Now().Add(b.Timeout)
	for n, i := range returns {
		for len(calls) > 0 && h.Ops[calls[0]].Call <= h.Ops[i].Return {
			if !f.begin(calls[0]) {
				return undecided("more than 64 operations were under way at once")
			}
			calls = calls[1:]
		}
		if n%256 == 0 || len(f.configs) > 1024 {
			if ctx.Err() != nil {
				return undecided("the check was cancelled")
			}
			if b.Timeout > 0 && time.Now().After(deadline) {
				return undecided(fmt.Sprintf("no answer within %v", b.Timeout))
			}
		}
		if !f.end(i) {
			return undecided("too many operations of unknown outcome: the ways in which things may stand do not fit the memory")
		}
		if len(f.configs) == 0 {
			return illegal("no order of the operations explains this one", int(i))
		}
	}
	return legal()
}

// schedule gives the operations in the order of their calls and those that
// returned in the order of their returns.
func schedule(ops []Op) (calls, returns []int32) {
	calls = make([]int32, len(ops))
	returns = make([]int32, 0, len(ops))
	for i := range ops {
		calls[i] = int32(i)
		if !ops[i].Optional() {
			returns = append(returns, int32(i))
		}
	}
	sortByKey(calls, func(i int32) int64 { return ops[i].Call })
	sortByKey(returns, func(i int32) int64 { return ops[i].Return })
	return calls, returns
}

// sortByKey sorts indices that are nearly in order by insertion, and others by
// whatever is best.
func sortByKey(list []int32, key func(int32) int64) {
	budget := 16 * len(list)
	for n := 1; n < len(list); n++ {
		i, k := list[n], key(list[n])
		j := n
		for ; j > 0 && key(list[j-1]) > k; j-- {
			list[j] = list[j-1]
			budget--
			if budget < 0 {
				list[j-1] = i
				slices.SortStableFunc(list, func(a, b int32) int { return cmp.Compare(key(a), key(b)) })
				return
			}
		}
		list[j] = i
	}
}

// begin makes room for an operation. One that changes nothing and need not have
// been takes none.
func (f *frontier) begin(i int32) bool {
	if o := &f.ops[i]; o.Optional() && o.idle() {
		return true
	}
	slot := bits.TrailingZeros64(^f.used)
	if slot == 64 {
		return false
	}
	f.used |= 1 << slot
	if f.ops[i].Optional() {
		f.loose |= 1 << slot
	}
	f.slots[slot] = i
	return true
}

// end keeps the configs in which the operation has taken effect, and makes it
// take effect, after whatever else, in the others.
func (f *frontier) end(i int32) bool {
	slot := 0
	for f.used&(1<<slot) == 0 || f.slots[slot] != i {
		slot++
	}
	bit := uint64(1) << slot
	f.next.reset(f.loose)
	f.seen.reset(f.loose)
	maybe := f.ops[i].Maybe
	for _, c := range f.configs {
		if c.done&bit != 0 || maybe {
			f.next.add(config{c.done &^ bit, c.state})
		}
		if c.done&bit != 0 {
			continue
		}
		f.stack = append(f.stack[:0], c)
		for len(f.stack) > 0 {
			c := f.stack[len(f.stack)-1]
			f.stack = f.stack[:len(f.stack)-1]
			f.explore(c, bit)
			if len(f.next.list) > f.limit || len(f.seen.list) > f.limit {
				return false
			}
		}
	}
	f.configs, f.next.list = f.next.list, f.configs
	f.used &^= bit
	return true
}

// explore lets one more operation take effect.
func (f *frontier) explore(c config, bit uint64) {
	for open := f.used &^ c.done; open != 0; open &= open - 1 {
		b := open & -open
		o := &f.ops[f.slots[bits.TrailingZeros64(b)]]
		ok, state := f.model.Step(c.state, o)
		if !ok || b&f.loose != 0 && f.twin(o, b, f.loose&^c.done) {
			continue
		}
		n := config{c.done | b, state}
		if b == bit {
			f.next.add(config{n.done &^ bit, n.state})
		} else if f.seen.add(n) {
			f.stack = append(f.stack, n)
		}
	}
}

// twin reports whether an optional operation in a lower slot that has not taken
// effect would do the same. As neither has a return, either can stand for the
// other.
func (f *frontier) twin(o *Op, bit, others uint64) bool {
	for others &= bit - 1; others != 0; others &= others - 1 {
		t := &f.ops[f.slots[bits.TrailingZeros64(others)]]
		if t.Kind == o.Kind && t.A == o.A && t.B == o.B && (t.Process == o.Process || !f.model.Processes) {
			return true
		}
	}
	return false
}

// antichain is a set of configs without those that another is better than: one
// with the same state that has done the same, but fewer of the optional
// operations, can still do whatever the other can.
type antichain struct {
	loose uint64
	list  []config
	index map[config][]uint64 // optional bits by the rest; nil while there are few
}

const fewConfigs = 16

func (s *antichain) reset(loose uint64) {
	s.loose, s.list = loose, s.list[:0]
	if s.index != nil {
		clear(s.index)
	}
}

// add reports whether the config was worth adding.
func (s *antichain) add(c config) bool {
	if len(s.list) < fewConfigs {
		for _, n := range s.list {
			if n.state == c.state && n.done&^c.done == 0 && (n.done^c.done)&^s.loose == 0 {
				return false
			}
		}
		s.list = append(s.list, c)
		return true
	}
	if len(s.index) == 0 {
		if s.index == nil {
			s.index = make(map[config][]uint64)
		}
		for _, n := range s.list {
			s.put(n)
		}
	}
	for _, bits := range s.index[config{c.done &^ s.loose, c.state}] {
		if bits&^c.done == 0 {
			return false
		}
	}
	s.put(c)
	s.list = append(s.list, c)
	return true
}

func (s *antichain) put(c config) {
	k := config{c.done &^ s.loose, c.state}
	s.index[k] = append(s.index[k], c.done&s.loose)
}
