package linear

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
)

// steps are the operations of a counter, ordered by the value that they found.
// All slices have a place for each value that the history can reach.
type steps struct {
	ops     []Op
	initial int64
	// sure is the step away from a value that surely was taken, maybe the
	// optional one that was called first; -1 for none.
	sure, maybe []int32
	// lateRead is the read of a value that was called last, earlyRead the one
	// that returned first.
	lateRead, earlyRead []int32
	// blind are optional steps that know no value, in the order of their calls.
	blind []int32
	// hurried are the deadlines because of which a gap took a blind step though
	// there was one of its own, called too late: they belong to the witness.
	hurried []int
	// filled are the optional steps that took a gap.
	filled []filledGap
	// top is the highest place that a sure operation needs to be reached.
	top int
}

// filledGap is a value from which only an optional step can have gone on, and that step.
type filledGap struct {
	at int
	op int32
}

// decideIncrements decides a history of one counter: every operation is a CAS from a
// value to its successor, a Read, or an optional Add of 1. The values force the
// order, so that one pass decides. It is Undecided on any other operation.
func decideIncrements(h History) Result {
	s, r := newIncrements(h)
	if r.Outcome != 0 {
		return r
	}
	return s.walk()
}

// newIncrements puts all operations where they belong. The outcome of the result is 0, if that does not decide the history.
func newIncrements(h History) (*steps, Result) {
	for i := range h.Ops {
		if !isIncrement(&h.Ops[i]) {
			return nil, undecided("not a history of increments")
		}
		if h.Ops[i].Maybe {
			return nil, undecided(whyMaybe)
		}
	}
	s := newSteps(h)
	for i := range h.Ops {
		if r := s.place(int32(i)); r.Outcome != 0 {
			return nil, r
		}
	}
	slices.SortFunc(s.blind, func(i, j int32) int { return cmp.Compare(h.Ops[i].Call, h.Ops[j].Call) })
	return s, Result{}
}

func isIncrement(o *Op) bool {
	switch o.Kind {
	case CAS:
		return o.B == o.A+1
	case Add:
		return o.A == 1 && o.Optional()
	}
	return o.Kind == Read
}

func newSteps(h History) *steps {
	n := len(h.Ops) + 1
	all := make([]int32, 4*n)
	for i := range all {
		all[i] = -1
	}
	return &steps{ops: h.Ops, initial: h.Initial, top: -1,
		sure: all[:n:n], maybe: all[n : 2*n : 2*n], lateRead: all[2*n : 3*n : 3*n], earlyRead: all[3*n:]}
}

// place puts an operation where it belongs. It gives a result only where the
// operation alone, or with another that found the same value, is impossible.
func (s *steps) place(i int32) (r Result) {
	o := &s.ops[i]
	if o.Kind == Add {
		s.blind = append(s.blind, i)
		return r
	}
	at := uint64(o.A) - uint64(s.initial)
	if at >= uint64(len(s.sure)) {
		// Below the initial value, or more above it than there are operations.
		if o.Optional() {
			return r
		}
		return illegal(fmt.Sprintf("the value %d was never there", o.A), int(i))
	}
	switch {
	case o.Kind == Read:
		if o.Optional() {
			return r
		}
		if l := s.lateRead[at]; l < 0 || o.Call > s.ops[l].Call {
			s.lateRead[at] = i
		}
		if e := s.earlyRead[at]; e < 0 || o.Return < s.ops[e].Return {
			s.earlyRead[at] = i
		}
	case o.Optional():
		if m := s.maybe[at]; m < 0 || o.Call < s.ops[m].Call {
			s.maybe[at] = i
		}
		return r
	case s.sure[at] >= 0:
		return illegal("two operations found "+strconv.FormatInt(o.A, 10)+" and wrote "+strconv.FormatInt(o.B, 10), int(s.sure[at]), int(i))
	default:
		s.sure[at] = i
	}
	s.top = max(s.top, int(at))
	return r
}

// walk goes through the values from the initial one upwards. latest is the
// operation so far that was called last: what comes later in the order must not
// have returned before that call.
func (s *steps) walk() Result {
	deadline := s.deadlines()
	latest := int32(-1)
	for at := 0; at <= s.top; at++ {
		if e := s.earlyRead[at]; e >= 0 {
			if latest >= 0 && s.ops[e].Return < s.ops[latest].Call {
				return s.outOfOrder(latest, e)
			}
			latest = s.later(latest, s.lateRead[at])
		}
		if step := s.sure[at]; step >= 0 {
			if latest >= 0 && s.ops[step].Return < s.ops[latest].Call {
				return s.outOfOrder(latest, step)
			}
			latest = s.later(latest, step)
			continue
		}
		if at == s.top {
			break
		}
		if r, ok := s.fill(at, deadline[at]); !ok {
			return r
		}
	}
	return legal()
}

func (s *steps) later(a, b int32) int32 {
	if a < 0 || s.ops[b].Call > s.ops[a].Call {
		return b
	}
	return a
}

// outOfOrder: the second comes after the first by its value, and before it in
// time.
func (s *steps) outOfOrder(first, second int32) Result {
	return illegal(fmt.Sprintf("%d was found too early", s.ops[second].A), int(first), int(second))
}

// fill finds an optional step for a value from which nobody surely went on, and
// which must have been left before the deadline. A step that knows its value is
// good for nothing else, so it goes first; of those that know none, the k-th to be
// called goes to the k-th gap, because deadlines grow with the value.
func (s *steps) fill(at int, deadline int32) (r Result, ok bool) {
	due := s.ops[deadline].Return
	if m := s.maybe[at]; m >= 0 && s.ops[m].Call <= due {
		s.filled = append(s.filled, filledGap{at, m})
		return r, true
	}
	if len(s.blind) > 0 && s.ops[s.blind[0]].Call <= due {
		s.filled = append(s.filled, filledGap{at, s.blind[0]})
		s.blind = s.blind[1:]
		if s.maybe[at] >= 0 {
			s.hurried = append(s.hurried, int(deadline))
		}
		return r, true
	}
	witness := slices.Sorted(slices.Values(append(s.hurried, int(deadline))))
	return illegal(fmt.Sprintf("nobody can have written %d in time", s.initial+int64(at)+1), slices.Compact(witness)...), false
}

// deadlines has for each value the sure operation above it that returned first.
func (s *steps) deadlines() []int32 {
	if s.top < 0 {
		return nil
	}
	list := make([]int32, s.top+1)
	first := int32(-1)
	for at := s.top; at >= 0; at-- {
		list[at] = first
		for _, i := range [2]int32{s.sure[at], s.earlyRead[at]} {
			if i >= 0 && (first < 0 || s.ops[i].Return < s.ops[first].Return) {
				first = i
			}
		}
	}
	return list
}
