package linear

import (
	"cmp"
	"slices"
)

// Zone is one holding of something that only one may hold. From is the least
// return and To the greatest call of the operations that begin and end it.
// Where From < To it was surely held from From to To (a forward zone). Else it
// was held at some instant between To and From (a backward zone).
type Zone struct {
	From, To int64
	// ID is the caller's name for the zone.
	ID int32
}

func (z Zone) forward() bool { return z.From < z.To }

// Clash looks for two zones that cannot both be: two forward zones that
// overlap, or a backward zone strictly inside a forward one. Zones that only
// touch do not clash: at equal stamps calls come first, so the one may have ended
// before the other began. It returns the IDs of the clash that shows first, the
// earlier holder first. The zones are sorted in place.
func Clash(zones []Zone) (first, second int32, found bool) {
	slices.SortFunc(zones, func(a, b Zone) int {
		return cmp.Or(cmp.Compare(min(a.From, a.To), min(b.From, b.To)), cmp.Compare(a.ID, b.ID))
	})
	first, second, at, found := clashForward(zones)
	if a, b, when, ok := clashBackward(zones); ok && (!found || when < at) {
		return a, b, true
	}
	return first, second, found
}

// clashForward finds the forward zone that begins first inside another. Zones
// are sorted by their lower end.
func clashForward(zones []Zone) (first, second int32, at int64, found bool) {
	var last Zone
	any := false
	for _, z := range zones {
		if !z.forward() {
			continue
		}
		if any && z.From < last.To {
			return last.ID, z.ID, z.From, true
		}
		last, any = z, true
	}
	return 0, 0, 0, false
}

// clashBackward finds the backward zone that ends first strictly inside a
// forward one. Of the forward zones that begin before a backward zone only the
// one that reaches farthest matters.
func clashBackward(zones []Zone) (first, second int32, at int64, found bool) {
	var far Zone
	any := false
	// Zones with one lower end are taken together: none lies strictly inside another.
	for i := 0; i < len(zones); {
		low := min(zones[i].From, zones[i].To)
		next := i
		for next < len(zones) && min(zones[next].From, zones[next].To) == low {
			z := zones[next]
			if !z.forward() && any && z.From < far.To && (!found || z.From < at) {
				first, second, at, found = far.ID, z.ID, z.From, true
			}
			next++
		}
		for ; i < next; i++ {
			if z := zones[i]; z.forward() && (!any || z.To > far.To) {
				far, any = z, true
			}
		}
	}
	return first, second, at, found
}
