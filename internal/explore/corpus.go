package explore

import "math/rand/v2"

// corpus are the schedules that led to something rare, to be changed further. It
// is only read while a generation of runs is under way, so that what a search
// does depends on its seeds alone, however many runs happen at once.
type corpus struct {
	// reached counts in how many runs each feature was reached, by its hash.
	reached [features]uint32
	entries []entry
	// added counts all that ever were in entries.
	added int
}

const (
	features = 1 << 14
	// corpusSize bounds the corpus: the oldest make room.
	corpusSize = 256
	// rare is in how many runs a feature may have been reached before for its
	// schedule to be kept.
	rare = 2
)

// entry is a schedule of the corpus with the features that were rare.
type entry struct {
	lineage  Lineage
	schedule schedule
	features []uint16
}

// place is where a feature is counted.
func place(feature uint64) uint16 { return uint16(feature >> 50 & (features - 1)) }

// learn takes what a run went through; true: some of it was rare.
func (c *corpus) learn(list []uint16) bool {
	found := false
	for _, f := range list {
		found = found || c.reached[f] <= rare
		c.reached[f]++
	}
	return found
}

// keep adds a schedule.
func (c *corpus) keep(e entry) {
	if len(c.entries) < corpusSize {
		c.entries = append(c.entries, e)
	} else {
		c.entries[c.added%corpusSize] = e
	}
	c.added++
}

// rarity is how often the rarest feature of an entry was reached.
func (c *corpus) rarity(e *entry) uint32 {
	least := ^uint32(0)
	for _, f := range e.features {
		least = min(least, c.reached[f])
	}
	return least
}

// pick chooses a schedule to change: of some, the one that reached what is
// rarest.
func (c *corpus) pick(r *rand.Rand) *entry {
	best := &c.entries[r.IntN(len(c.entries))]
	for range 3 {
		if e := &c.entries[r.IntN(len(c.entries))]; c.rarity(e) < c.rarity(best) {
			best = e
		}
	}
	return best
}
