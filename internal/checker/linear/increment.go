package linear

import (
	"fmt"
	"slices"
)

// Increments decides a history of one counter that starts at initial: every
// operation is a CAS from a value to its successor, or a Read. The values force
// the order, so one pass over the sorted history decides. An operation that is
// no such thing is not judged here; ok is false then.
func Increments(ops []Op, initial int64) (r Result, ok bool) {
	order := make([]int32, 0, len(ops))
	for i := range ops {
		switch o := &ops[i]; {
		case o.Kind == CAS && o.B == o.A+1:
		case o.Kind == Read:
			if o.Optional() {
				continue
			}
		default:
			return Result{}, false
		}
		order = append(order, int32(i))
	}
	// Reads of a value come before the step away from it; of several steps the
	// surely taken come first, and of the optional the one that was called first:
	// it can do whatever the others can.
	slices.SortFunc(order, func(i, j int32) int { return compareSteps(&ops[i], &ops[j]) })
	return walkSteps(ops, order, initial), true
}

func compareSteps(a, b *Op) int {
	switch {
	case a.A != b.A:
		return sign(a.A < b.A)
	case a.Kind != b.Kind:
		return sign(a.Kind == Read)
	case a.Optional() != b.Optional():
		return sign(b.Optional())
	case a.Call != b.Call:
		return sign(a.Call < b.Call)
	}
	return 0
}

func sign(less bool) int {
	if less {
		return -1
	}
	return 1
}

// walkSteps goes through the values from the initial one upwards. latest is the
// operation below the present value that was called last: everything that comes
// after it in the order must not have returned before that call.
func walkSteps(ops []Op, order []int32, initial int64) Result {
	known := highestNeeded(ops, order)
	value, latest := initial, int32(-1)
	for i := 0; i < len(order) && i <= known; {
		first := &ops[order[i]]
		if first.A < value {
			if first.Optional() {
				i++
				continue
			}
			return illegal(fmt.Sprintf("the value %d was never there", first.A), int(order[i]))
		}
		if first.A > value {
			return missing(ops, order[i:known+1], value)
		}
		end, step := i, int32(-1)
		group := latest
		for ; end < len(order) && ops[order[end]].A == value; end++ {
			o, before := &ops[order[end]], latest
			if o.Kind == CAS {
				if step >= 0 && !o.Optional() {
					return illegal(fmt.Sprintf("two operations found %d and wrote %d", value, value+1), int(step), int(order[end]))
				}
				if step >= 0 {
					continue
				}
				// The step away from a value comes after all reads of it.
				step, before = order[end], group
			}
			if before >= 0 && o.Return < ops[before].Call {
				return illegal(fmt.Sprintf("%d was found out of order", value), int(before), int(order[end]))
			}
			if group < 0 || o.Call > ops[group].Call {
				group = order[end]
			}
		}
		i, latest = end, group
		if step >= 0 {
			value++
		} else if i <= known {
			return missing(ops, order[i:known+1], value)
		}
	}
	return legal()
}

// missing: nobody can have taken the value one up, and yet somebody went on.
func missing(ops []Op, above []int32, value int64) Result {
	for _, i := range above {
		if o := &ops[i]; !o.Optional() {
			return illegal(fmt.Sprintf("nobody wrote %d", value+1), int(i))
		}
	}
	return legal()
}

// highestNeeded is the place in order of the last operation that must be
// explained; optional steps beyond it are left out.
func highestNeeded(ops []Op, order []int32) int {
	for i := len(order) - 1; i >= 0; i-- {
		if !ops[order[i]].Optional() {
			return i
		}
	}
	return -1
}
