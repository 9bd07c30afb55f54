package linear

import "slices"

// Zone is one holding of something that only one may hold. From is the least
// return and To the greatest call of the operations that begin and end it.
// Where From < To it was surely held from From to To (a forward zone). Else it
// was held at some instant between To and From (a backward zone).
type Zone struct {
	From, To int64
	// ID is the caller's name for the zone.
	ID int32
}

func (z *Zone) forward() bool { return z.From < z.To }

// low is where the zone begins, whichever way it looks.
func (z *Zone) low() int64 { return min(z.From, z.To) }

// high is where the zone ends, whichever way it looks.
func (z *Zone) high() int64 { return max(z.From, z.To) }

// Clash looks for two zones that cannot both be: two forward zones that
// overlap, or a backward zone strictly inside a forward one. Zones that only
// touch do not clash: at equal stamps calls come first, so the one may have ended
// before the other began. It returns the IDs of the clash that shows first, the
// earlier holder first. The zones are sorted in place.
func Clash(zones []Zone) (first, second int32, found bool) {
	sortZones(zones)
	first, second, at, found := clashForward(zones)
	if a, b, when, ok := clashBackward(zones); ok && (!found || when < at) {
		return a, b, true
	}
	return first, second, found
}

// sortZones sorts by the lower end. Histories come nearly sorted, out of order
// by no more than the clients that worked at once, so insertion is tried first
// and given up when it has to carry too far.
func sortZones(zones []Zone) {
	budget := 16 * len(zones)
	for i := 1; i < len(zones); i++ {
		if !lowerZone(&zones[i], &zones[i-1]) {
			continue
		}
		z := zones[i]
		j := i
		for ; j > 0 && lowerZone(&z, &zones[j-1]); j-- {
			zones[j] = zones[j-1]
		}
		zones[j] = z
		if budget -= i - j; budget < 0 {
			slices.SortFunc(zones, func(a, b Zone) int {
				if lowerZone(&a, &b) {
					return -1
				}
				return 1
			})
			return
		}
	}
}

func lowerZone(a, b *Zone) bool {
	if x, y := a.low(), b.low(); x != y {
		return x < y
	}
	return a.ID < b.ID
}

// clashForward finds the forward zone that begins first inside another.
func clashForward(zones []Zone) (first, second int32, at int64, found bool) {
	last := -1
	for i := range zones {
		z := &zones[i]
		if !z.forward() {
			continue
		}
		if last >= 0 && z.From < zones[last].To {
			return zones[last].ID, z.ID, z.From, true
		}
		last = i
	}
	return 0, 0, 0, false
}

// clashBackward finds the backward zone that ends first strictly inside a
// forward one. Of the forward zones that begin before a backward zone only the
// one that reaches farthest matters. Zones with one lower end are taken together:
// none lies strictly inside another.
func clashBackward(zones []Zone) (first, second int32, at int64, found bool) {
	far := -1
	for i := 0; i < len(zones); {
		low, next := zones[i].low(), i
		for ; next < len(zones) && zones[next].low() == low; next++ {
			z := &zones[next]
			if !z.forward() && far >= 0 && z.From < zones[far].To && (!found || z.From < at) {
				first, second, at, found = zones[far].ID, z.ID, z.From, true
			}
		}
		for ; i < next; i++ {
			if zones[i].forward() && (far < 0 || zones[i].To > zones[far].To) {
				far = i
			}
		}
	}
	return first, second, at, found
}
