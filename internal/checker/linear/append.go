package linear

import (
	"fmt"
	"slices"
)

// Appends decides a history of a list to which every element is appended at
// most once: Append (with the length that it found, where it looked) and
// ReadList. The longest list that was read fixes the place of each element in it,
// so that the history becomes one of increments of the length; appends whose
// element was never read come after all reads. It is Undecided where an element
// is appended twice, and where some appends looked before and others, that did
// not, were never read.
func Appends(h History) Result {
	longest, r := longestList(h)
	if r.Outcome != 0 {
		return r
	}
	var full []int64
	if longest >= 0 {
		full = h.Lists[h.Ops[longest].A]
	}
	place, r := placeElements(h, full, longest)
	if r.Outcome != 0 {
		return r
	}
	counter := History{Ops: make([]Op, 0, len(h.Ops))}
	from := make([]int, 0, len(h.Ops)) // the operation that each step is
	var tail []int
	looked, blind := false, false
	for i := range h.Ops {
		o := h.Ops[i]
		if o.Kind == ReadList {
			if o.Optional() {
				continue
			}
			o.Kind, o.A = Read, int64(len(h.Lists[o.A]))
			counter.Ops, from = append(counter.Ops, o), append(from, i)
			continue
		}
		at, read := place[o.A]
		looked, blind = looked || o.B != None, blind || o.B == None && !read
		switch {
		case !read && o.B == None && o.Optional():
			continue
		case !read && o.B == None:
			tail = append(tail, i)
			continue
		case !read && o.B < int64(len(full)):
			if o.Optional() {
				continue
			}
			return illegal(fmt.Sprintf("the element %d was lost", o.A), i, longest)
		case read && o.B != None && o.B != at:
			if o.Optional() {
				continue
			}
			return illegal(fmt.Sprintf("the element %d is not where it was appended", o.A), i, longest)
		case !read:
			at = o.B
		}
		o.Kind, o.A, o.B = CAS, at, at+1
		counter.Ops, from = append(counter.Ops, o), append(from, i)
	}
	if looked && blind {
		// The unread might stand between what those that looked found.
		return undecided("some appends looked before, and some that did not were never read")
	}
	r = appendTail(h, counter, from, tail)
	if r.Outcome == Illegal && longest >= 0 && !slices.Contains(r.Witness, longest) {
		// It is what fixes the places.
		r.Witness = append(r.Witness, longest)
	}
	return r
}

// longestList finds the read of the longest list and demands that all others
// are beginnings of it.
func longestList(h History) (longest int, r Result) {
	longest = -1
	for i := range h.Ops {
		o := &h.Ops[i]
		switch o.Kind {
		case Append:
		case ReadList:
			if o.A < 0 || o.A >= int64(len(h.Lists)) {
				return -1, undecided("a read of a list that is not there")
			}
			if !o.Optional() && (longest < 0 || len(h.Lists[o.A]) > len(h.Lists[h.Ops[longest].A])) {
				longest = i
			}
		default:
			return -1, undecided("not a history of appends")
		}
	}
	for i := range h.Ops {
		if o := &h.Ops[i]; o.Kind == ReadList && !o.Optional() && !beginsWith(h.Lists[h.Ops[longest].A], h.Lists[o.A]) {
			return longest, illegal("two reads saw lists of which neither begins with the other", i, longest)
		}
	}
	return longest, r
}

func beginsWith(long, short []int64) bool {
	for i := range short {
		if long[i] != short[i] {
			return false
		}
	}
	return true
}

// placeElements maps the elements that were read to their places.
func placeElements(h History, full []int64, longest int) (map[int64]int64, Result) {
	place := make(map[int64]int64, len(full))
	for at, e := range full {
		if _, twice := place[e]; twice {
			return nil, illegal(fmt.Sprintf("the element %d is there twice", e), longest)
		}
		place[e] = int64(at)
	}
	seen := make(map[int64]bool, len(h.Ops))
	for i := range h.Ops {
		o := &h.Ops[i]
		if o.Kind != Append {
			continue
		}
		if seen[o.A] {
			return nil, undecided("an element was appended twice")
		}
		seen[o.A] = true
	}
	for _, e := range full {
		if !seen[e] {
			return nil, illegal(fmt.Sprintf("nobody appended %d", e), longest)
		}
	}
	return place, Result{}
}

// appendTail decides the steps, and then whether the appends that nobody read
// can come after them all, in the order of their calls.
func appendTail(h, counter History, from, tail []int) Result {
	r := Increments(counter)
	if r.Outcome != Legal {
		for i, w := range r.Witness {
			r.Witness[i] = from[w]
		}
		return r
	}
	latest := -1
	for i := range counter.Ops {
		o := &counter.Ops[i]
		if o.Kind == CAS && o.Optional() {
			continue
		}
		if latest < 0 || o.Call > counter.Ops[latest].Call {
			latest = i
		}
	}
	for _, i := range tail {
		if latest >= 0 && h.Ops[i].Return < counter.Ops[latest].Call {
			return illegal(fmt.Sprintf("the element %d was lost", h.Ops[i].A), i, from[latest])
		}
	}
	return r
}
