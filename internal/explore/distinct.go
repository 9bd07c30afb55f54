package explore

// distinct counts different hashes in little memory. Up to sampleSize of them it
// counts exactly; beyond that it keeps the hashes that end in more and more zeros
// only, a half, a quarter, ... of all, and estimates, to about 1 %.
type distinct struct {
	level uint
	kept  map[uint64]struct{}
}

// sampleSize bounds the hashes kept.
const sampleSize = 1 << 16

func (d *distinct) add(hash uint64) {
	if d.kept == nil {
		d.kept = make(map[uint64]struct{})
	}
	if !d.samples(hash) {
		return
	}
	d.kept[hash] = struct{}{}
	for len(d.kept) > sampleSize {
		d.level++
		for h := range d.kept {
			if !d.samples(h) {
				delete(d.kept, h)
			}
		}
	}
}

func (d *distinct) samples(hash uint64) bool { return hash&(1<<d.level-1) == 0 }

// count is how many different hashes there were.
func (d *distinct) count() int { return len(d.kept) << d.level }

// exact reports that count is no estimate.
func (d *distinct) exact() bool { return d.level == 0 }
