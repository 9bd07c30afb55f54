package linear

import (
	"fmt"
	"slices"
)

// decideAppends decides a history of a list to which every element is appended at
// most once: Append (with the length that it found, where it looked) and
// ReadList. The longest list that was read fixes the place of each element in it,
// so that the history becomes one of increments of the length; appends whose
// element was never read come after all reads. It is Undecided where an element
// is appended twice, and where some appends looked before and others, that did
// not, were never read.
func decideAppends(h History) Result {
	g, r := newSteppedAppends(h)
	if r.Outcome != 0 {
		return r
	}
	r = g.decide()
	if r.Outcome == Illegal && g.longest >= 0 && !slices.Contains(r.Witness, g.longest) {
		// It is what fixes the places.
		r.Witness = append(r.Witness, g.longest)
	}
	return r
}

// newSteppedAppends makes every operation a step of the counter, or puts it into the tail. The outcome of the result is 0, if that does
// not decide the history.
func newSteppedAppends(h History) (*appends, Result) {
	g, why := newAppends(h)
	if why != "" {
		return nil, undecided(why)
	}
	// What the lists say comes first: only where all are beginnings of the longest does its list have all that was read.
	if r := g.checkLists(); r.Outcome != 0 {
		return nil, r
	}
	if why := g.whyUnplaced(); why != "" {
		return nil, undecided(why)
	}
	for i := range h.Ops {
		if r := g.step(i); r.Outcome != 0 {
			return nil, r
		}
	}
	return g, Result{}
}

// appends is a history of a list, and the history of its length that it becomes.
type appends struct {
	h History
	// longest is the read of the longest list, -1 for none; full is that list and
	// place where each element stands in it.
	longest int
	full    []int64
	place   map[int64]int64
	// appended has the elements that somebody appended, or may have.
	appended map[int64]bool
	counter  History
	// from has the operation that each step of the counter is.
	from []int
	// tail are the appends that come after all reads.
	tail []int
}

// newAppends looks through the whole history; why says what makes it one that
// cannot be decided here.
func newAppends(h History) (g *appends, why string) {
	g = &appends{h: h, longest: -1, appended: make(map[int64]bool, len(h.Ops))}
	for i := range h.Ops {
		o := &h.Ops[i]
		if o.Maybe {
			return nil, whyMaybe
		}
		switch o.Kind {
		case Append:
			if g.appended[o.A] {
				return nil, "an element was appended twice"
			}
			g.appended[o.A] = true
		case ReadList:
			if !o.Optional() && (g.longest < 0 || len(h.Lists[o.A]) > len(g.full)) {
				g.longest, g.full = i, h.Lists[o.A]
			}
		default:
			return nil, "not a history of appends"
		}
	}
	g.place = make(map[int64]int64, len(g.full))
	for at, e := range g.full {
		g.place[e] = int64(at)
	}
	return g, ""
}

// whyUnplaced says why the lists do not tell the places of all appends; empty: they do.
func (g *appends) whyUnplaced() string {
	looked, blind := false, false
	for i := range g.h.Ops {
		if o := &g.h.Ops[i]; o.Kind == Append {
			_, read := g.place[o.A]
			looked, blind = looked || o.B != None, blind || o.B == None && !read
		}
	}
	if looked && blind {
		// The unread might stand between what those that looked found.
		return "some appends looked before, and some that did not were never read"
	}
	return ""
}

// checkLists demands that the longest list has nothing twice and nothing that
// nobody appended, and that all others are beginnings of it.
func (g *appends) checkLists() (r Result) {
	for at, e := range g.full {
		switch {
		case g.place[e] != int64(at):
			return illegal(fmt.Sprintf("the element %d is there twice", e), g.longest)
		case !g.appended[e]:
			return illegal(fmt.Sprintf("nobody appended %d", e), g.longest)
		}
	}
	for i := range g.h.Ops {
		o := &g.h.Ops[i]
		if o.Kind != ReadList || o.Optional() {
			continue
		}
		if list := g.h.Lists[o.A]; !slices.Equal(list, g.full[:len(list)]) {
			return illegal("two reads saw lists of which neither begins with the other", i, g.longest)
		}
	}
	return r
}

// step makes an operation a step of the counter, or puts it into the tail. It
// gives a result only where the operation contradicts the longest list.
func (g *appends) step(i int) (r Result) {
	o := g.h.Ops[i]
	if o.Kind == ReadList {
		if !o.Optional() {
			o.Kind, o.A = Read, int64(len(g.h.Lists[o.A]))
			g.counter.Ops, g.from = append(g.counter.Ops, o), append(g.from, i)
		}
		return r
	}
	at, read := g.place[o.A]
	switch {
	case !read && o.B == None:
		if !o.Optional() {
			g.tail = append(g.tail, i)
		}
		return r
	case !read && o.B < int64(len(g.full)):
		if o.Optional() {
			return r
		}
		return illegal(fmt.Sprintf("the element %d was lost", o.A), i, g.longest)
	case read && o.B != None && o.B != at:
		if o.Optional() {
			return r
		}
		return illegal(fmt.Sprintf("the element %d is not where it was appended", o.A), i, g.longest)
	case !read:
		at = o.B
	}
	o.Kind, o.A, o.B = CAS, at, at+1
	g.counter.Ops, g.from = append(g.counter.Ops, o), append(g.from, i)
	return r
}

// decide decides the steps, and then whether the appends that nobody read can
// come after them all, in the order of their calls.
func (g *appends) decide() Result {
	r := decideIncrements(g.counter)
	if r.Outcome != Legal {
		for i, w := range r.Witness {
			r.Witness[i] = g.from[w]
		}
		return r
	}
	latest := -1 // where there is a tail, all these took effect: they were read
	for i := range g.counter.Ops {
		o := &g.counter.Ops[i]
		if latest < 0 || o.Call > g.counter.Ops[latest].Call {
			latest = i
		}
	}
	for _, i := range g.tail {
		if latest >= 0 && g.h.Ops[i].Return < g.counter.Ops[latest].Call {
			return illegal(fmt.Sprintf("the element %d was lost", g.h.Ops[i].A), i, g.from[latest])
		}
	}
	return r
}
