package linear

// Shrink looks for a small part of n things for which fails still is true; it
// must be true of all of them. Parts are taken away by halves first, then
// quarters, down to one at a time, so that in the end none can be missed. fails
// is given the things that are kept, in order.
func Shrink(n int, fails func(kept []int) bool) []int {
	kept := make([]int, n)
	for i := range kept {
		kept[i] = i
	}
	for size := (n + 1) / 2; size >= 1 && len(kept) > 1; {
		smaller := false
		for from := 0; from < len(kept); {
			to := min(from+size, len(kept))
			rest := make([]int, 0, len(kept)-(to-from))
			rest = append(append(rest, kept[:from]...), kept[to:]...)
			if len(rest) > 0 && fails(rest) {
				kept, smaller = rest, true
				continue
			}
			from = to
		}
		switch {
		case size > 1:
			size = (size + 1) / 2
		case !smaller:
			return kept
		}
	}
	return kept
}

// Relax returns the history in which only the kept operations are certain: the
// others may have taken effect or not. Leaving them out altogether would be
// wrong: a step that is missed makes the next one inexplicable.
func Relax(ops []Op, kept []int) []Op {
	relaxed := make([]Op, len(ops))
	copy(relaxed, ops)
	certain := make([]bool, len(ops))
	for _, i := range kept {
		certain[i] = true
	}
	for i := range relaxed {
		if !certain[i] {
			relaxed[i].Return = Never
		}
	}
	return relaxed
}
