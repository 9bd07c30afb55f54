package explore

import (
	"fmt"
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/world/virtual"
)

// tree walks, depth first, through the orders of a run's steps. It runs one order
// of all those that differ only in steps that touch nothing in common: dynamic
// partial-order reduction with source sets and sleep sets (Abdulla, Aronis,
// Jonsson, Sagonas: Optimal dynamic partial order reduction, POPL 2014). After a
// run it looks for races: two steps that touched the same, and could have come the
// other way round. Only for those is another order begun.
type tree struct {
	// late is how often time may overtake messages; each switches the reduction
	// off.
	late int
	each bool

	steps []step
	// at is how many steps of the present run have happened; replayed, how many of
	// them repeat the run before.
	at, replayed int
	// cut says that the run was given up.
	cut bool
	// looked is from which step on races have not been looked for.
	looked int
	// base is how many steps are another tree's: here they stay as they are. asked are the orders that were
	// found due at these, each once.
	base  int
	asked []demand
	known map[string]bool
	// created says which step, of the present run, brought each option.
	created map[virtual.Step]int
}

// step is a place in the present run where something was chosen.
type step struct {
	options []virtual.Step
	chosen  virtual.Step
	touched virtual.Touched
	// begun are the options with which orders have begun here, before the present
	// one; due those with which orders are to begin.
	begun []asleep
	due   []virtual.Step
	// sleep are options that need not happen before something that they touch.
	sleep []asleep
	// given are orders that others walk through, in their turn behind the present one.
	given []*subtree
	// late is how often time may still overtake messages.
	late int
	// maker is the step that brought the chosen one, -1 for none.
	maker int
	// after are the steps, as bits, that must come before it.
	after bitset
}

// asleep is an option with what it touches.
type asleep struct {
	option  virtual.Step
	touched virtual.Touched
}

// begin prepares a run along the steps chosen so far.
func (t *tree) begin() {
	t.at, t.cut = 0, false
	t.replayed = len(t.steps)
	t.looked = max(t.replayed-1, 0)
	t.created = make(map[virtual.Step]int)
}

var _ virtual.Order = (*tree)(nil)

// Next implements virtual.Order.
func (t *tree) Next(options []virtual.Step, before virtual.Touched) int {
	if t.at > 0 {
		t.steps[t.at-1].touched = before
	}
	for _, o := range options {
		if _, known := t.created[o]; !known && o != virtual.TimePasses {
			t.created[o] = t.at - 1
		}
	}
	if t.at == len(t.steps) && !t.grow(options) {
		t.cut = true
		return -1
	}
	s := &t.steps[t.at]
	at := slices.Index(options, s.chosen)
	if at < 0 {
		panic(fmt.Sprintf("explore: the run does not repeat: step %d of %d is not possible any more", t.at, len(t.steps)))
	}
	s.maker = -1
	if s.chosen != virtual.TimePasses {
		s.maker = t.created[s.chosen]
	}
	t.at++
	return at
}

// end takes note of what the last step of a run has touched, and of what might
// have happened before it.
func (t *tree) end(last virtual.Touched, left []virtual.Left) {
	if t.cut || t.at == 0 {
		return
	}
	t.steps = t.steps[:t.at]
	t.steps[t.at-1].touched = last
	if t.each {
		return
	}
	t.race()
	for _, l := range left {
		// As if it had happened at the very end.
		maker, known := t.created[l.Step]
		if !known {
			maker = t.at - 1
		}
		t.steps = append(t.steps, step{chosen: l.Step, touched: l.Touches, maker: maker})
		t.looked = len(t.steps) - 1
		t.race()
		t.steps = t.steps[:len(t.steps)-1]
	}
	t.looked = len(t.steps)
}

// grow adds a step to the run; false: whatever could happen here has happened in
// an order seen before.
func (t *tree) grow(options []virtual.Step) bool {
	s := step{late: t.late}
	if len(t.steps) > 0 {
		p := &t.steps[len(t.steps)-1]
		s.late = p.late
		if p.chosen == virtual.TimePasses && len(p.options) > 1 {
			s.late--
		}
		for _, list := range [][]asleep{p.sleep, p.begun} {
			for _, a := range list {
				if !t.each && a.option != p.chosen && a.touched.Apart(p.touched) {
					s.sleep = append(s.sleep, a)
				}
			}
		}
	}
	s.options = slices.Clone(options)
	if len(options) > 1 && s.late <= 0 {
		s.options = s.options[:len(options)-1] // time waits for the messages
	}
	for _, o := range s.options {
		if !s.sleeps(o) {
			s.chosen = o
			if t.each {
				s.due = slices.Clone(s.options)
			} else if len(s.options) > 1 && s.late > 0 {
				s.due = append(s.due, virtual.TimePasses) // it touches everything
			}
			t.steps = append(t.steps, s)
			return true
		}
	}
	return false
}

func (s *step) sleeps(o virtual.Step) bool {
	return slices.ContainsFunc(s.sleep, func(a asleep) bool { return a.option == o })
}

// next turns to the next order; false: there is none. Where others have walked through some of them, it waits for
// them by join.
func (t *tree) next(join func(*subtree) bool) bool {
	t.steps = t.steps[:t.at]
	if !t.each {
		t.race()
	}
	for len(t.steps) > t.base {
		s := &t.steps[len(t.steps)-1]
		s.begun = append(s.begun, asleep{s.chosen, s.touched})
		for len(s.given) > 0 {
			g := s.given[0]
			s.given = s.given[1:]
			if !join(g) {
				t.abandon(join)
				return false
			}
			s.chosen = g.first.option
			for _, d := range g.tree.asked {
				t.want(d.at, d.first)
			}
			s.begun = append(s.begun, g.first)
		}
		if o, some := s.following(); some {
			s.chosen = o
			return true
		}
		t.steps = t.steps[:len(t.steps)-1]
	}
	return false
}

// abandon waits for those who walk through orders that were given away, where there are to be no others.
func (t *tree) abandon(join func(*subtree) bool) {
	for i := len(t.steps) - 1; i >= t.base; i-- {
		for _, g := range t.steps[i].given {
			join(g)
		}
		t.steps[i].given = nil
	}
}

// following is the option with which the next order is to begin; false: there is none.
func (s *step) following() (virtual.Step, bool) {
	for _, o := range s.due {
		if !s.hasBegun(o) && !s.sleeps(o) {
			return o, true
		}
	}
	return 0, false
}

// give gives away the orders that begin with the next option of a step, the earliest that has one; nil: none has. They are
// the ones with which next would go on, once it comes to that step, whatever is found due until then.
func (t *tree) give() *subtree {
	for i := t.base; i < len(t.steps); i++ {
		s := t.steps[i]
		s.begun = append(slices.Clip(s.begun), asleep{s.chosen, s.touched})
		if !slices.ContainsFunc(s.given, func(g *subtree) bool { return !g.isBegun() }) {
			for _, g := range s.given {
				s.begun = append(s.begun, g.first)
			}
			if o, some := s.following(); some {
				s.chosen, s.given = o, nil
				g := &subtree{tree: &tree{late: t.late, each: t.each, base: i + 1, steps: append(slices.Clone(t.steps[:i]), s)}}
				t.steps[i].given = append(t.steps[i].given, g)
				return g
			}
		}
	}
	return nil
}

func (s *step) hasBegun(o virtual.Step) bool {
	return slices.ContainsFunc(s.begun, func(a asleep) bool { return a.option == o })
}

// race looks for pairs of steps of the run that could have come the other way
// round, and makes the orders due in which they do.
func (t *tree) race() {
	for j := t.looked; j < len(t.steps); j++ {
		s := &t.steps[j]
		s.after = make(bitset, len(t.steps)/64+1)
		if s.maker >= 0 {
			s.after.add(s.maker)
			s.after.join(t.steps[s.maker].after)
		}
		for i := j - 1; i >= 0; i-- {
			if s.after.has(i) || t.steps[i].touched.Apart(s.touched) {
				continue
			}
			t.swap(i, j)
			s.after.add(i)
			s.after.join(t.steps[i].after)
		}
	}
}

// swap makes an order due in which step j comes before step i, if there is one.
func (t *tree) swap(i, j int) {
	at := &t.steps[i]
	if t.steps[j].chosen == virtual.TimePasses && !slices.Contains(at.options, virtual.TimePasses) {
		return // time waits for the messages
	}
	// Between the two lie steps that do not need i; those of them, or j, that need
	// none of the others can come in i's place.
	var between []int
	for k := i + 1; k <= j; k++ {
		if k == j || !t.steps[k].after.has(i) {
			between = append(between, k)
		}
	}
	var first []virtual.Step
	for _, k := range between {
		if !slices.ContainsFunc(between, func(b int) bool { return b < k && t.steps[k].after.has(b) }) {
			first = append(first, t.steps[k].chosen)
		}
	}
	t.want(i, first)
}

// demand is an order that is to be tried: one of those in which one of first comes at a step.
type demand struct {
	at    int
	first []virtual.Step
}

// want makes an order due in which one of first comes at a step.
func (t *tree) want(i int, first []virtual.Step) {
	at := &t.steps[i]
	var possible virtual.Step
	found := false
	for _, o := range first {
		if o == at.chosen || at.hasBegun(o) || slices.Contains(at.due, o) || at.sleeps(o) {
			return // such an order is due, or was seen
		}
		if !found && slices.Contains(at.options, o) {
			possible, found = o, true
		}
	}
	if !found {
		return
	}
	if i >= t.base {
		at.due = append(at.due, possible)
		return
	}
	if key := fmt.Sprint(i, first); !t.known[key] {
		if t.known == nil {
			t.known = make(map[string]bool)
		}
		t.known[key] = true
		t.asked = append(t.asked, demand{i, first})
	}
}

// bitset is a set of small numbers.
type bitset []uint64

func (b bitset) has(i int) bool { return i/64 < len(b) && b[i/64]>>(i%64)&1 != 0 }
func (b bitset) add(i int)      { b[i/64] |= 1 << (i % 64) }
func (b bitset) join(o bitset) {
	for i := range o {
		b[i] |= o[i]
	}
}
