package linear

import "slices"

// everyExplanation calls each with every order that explains the history, by trying all: the definition, and nothing else. The
// order is good until each returns.
func everyExplanation(m Model, h History, each func(order []int)) {
	var order []int
	left := make([]int, len(h.Ops))
	for i := range left {
		left[i] = i
	}
	var try func(state any, left []int)
	try = func(state any, left []int) {
		if !slices.ContainsFunc(left, func(i int) bool { return !h.Ops[i].Optional() && !h.Ops[i].Maybe }) {
			each(order)
		}
		for n, i := range left {
			// No other may stand behind that had returned before this one was called.
			if slices.ContainsFunc(left, func(j int) bool {
				return h.Ops[j].Return < h.Ops[i].Call && !h.Ops[j].Maybe
			}) {
				continue
			}
			// One that is Maybe and had returned by then is left out from here on.
			rest := slices.DeleteFunc(slices.Delete(slices.Clone(left), n, n+1), func(j int) bool { return h.Ops[j].Return < h.Ops[i].Call })
			if ok, next := m.Step(state, &h.Ops[i]); ok {
				order = append(order, i)
				try(next, rest)
				order = order[:len(order)-1]
			}
		}
	}
	try(m.Init, left)
}
