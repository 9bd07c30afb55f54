package facts

import (
	"cmp"
	"math"
	"slices"
	"sort"
)

// spans are stretches of time, or of events, with their ends, sorted by where they begin.
type spans []span

// span is one of them. last is the latest end of it and those before it.
type span struct{ from, to, last int64 }

func (s spans) sortByStart() {
	slices.SortFunc(s, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	last := int64(math.MinInt64)
	for i := range s {
		last = max(last, s[i].to)
		s[i].last = last
	}
}

// overlaps reports that one of them has an instant in common with a stretch.
func (s spans) overlaps(from, to int64) bool {
	n := sort.Search(len(s), func(i int) bool { return s[i].from > to })
	return n > 0 && s[n-1].last >= from
}
