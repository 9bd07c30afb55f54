package linear

import (
	"cmp"
	"slices"
	"sort"
)

// FirstIllegal finds the operation whose return left no explanation: the history
// up to the return before it has one, the history up to its own has none. It
// gives that shortest history, whose open operations are optional, and the place
// in ops of each of its operations. The whole history must be illegal.
func FirstIllegal(ops []Op, illegal func([]Op) bool) (at int, prefix []Op, places []int) {
	returns := make([]int, 0, len(ops))
	for i := range ops {
		if !ops[i].Optional() {
			returns = append(returns, i)
		}
	}
	slices.SortFunc(returns, func(i, j int) int {
		return cmp.Or(cmp.Compare(ops[i].Return, ops[j].Return), cmp.Compare(i, j))
	})
	rank := make([]int, len(ops))
	for i := range rank {
		rank[i] = len(ops)
	}
	for r, i := range returns {
		rank[i] = r
	}
	// An explanation of a history explains each of its prefixes, so the legal
	// prefixes come first.
	n := sort.Search(len(returns)-1, func(n int) bool {
		p, _ := upTo(ops, rank, returns[n], n)
		return illegal(p)
	})
	prefix, places = upTo(ops, rank, returns[n], n)
	return returns[n], prefix, places
}

// upTo is the history as it stood when the operation last, the n-th to return,
// had returned.
func upTo(ops []Op, rank []int, last, n int) (prefix []Op, places []int) {
	for i := range ops {
		if ops[i].Call > ops[last].Return {
			continue
		}
		o := ops[i]
		if rank[i] > n {
			o.Return = Never
		}
		prefix, places = append(prefix, o), append(places, i)
	}
	return prefix, places
}
