package explore

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
)

// distinct counts different hashes in little memory. Up to sampleSize of them it
// counts exactly; beyond that it keeps the hashes that end in more and more zeros
// only, a half, a quarter, ... of all, and estimates, to about 1 %. What it keeps depends on the
// hashes alone, not on their order: the level is the lowest at which no more than sampleSize are
// kept. So the samples of two parts, thinned to the higher level, make the sample of the whole.
type distinct struct {
	level uint
	kept  map[uint64]struct{}
}

const (
	// sampleSize bounds the hashes kept.
	sampleSize = 1 << 16
	// mostLevel bounds the level: hashes have 64 bits.
	mostLevel = 63
)

func (d *distinct) add(hash uint64) {
	if d.kept == nil {
		d.kept = make(map[uint64]struct{})
	}
	if !d.samples(hash) {
		return
	}
	d.kept[hash] = struct{}{}
	for len(d.kept) > sampleSize {
		d.thin(d.level + 1)
	}
}

// thin keeps only what a level samples.
func (d *distinct) thin(level uint) {
	d.level = level
	maps.DeleteFunc(d.kept, func(h uint64, _ struct{}) bool { return !d.samples(h) })
}

// merge adds all that another has counted.
func (d *distinct) merge(o *distinct) {
	if o.level > d.level {
		d.thin(o.level)
	}
	for h := range o.kept {
		d.add(h)
	}
}

func (d *distinct) samples(hash uint64) bool { return hash&(1<<d.level-1) == 0 }

// count is how many different hashes there were.
func (d *distinct) count() int { return len(d.kept) << d.level }

// exact reports that count is no estimate.
func (d *distinct) exact() bool { return d.level == 0 }

func (d *distinct) copy() distinct { return distinct{d.level, maps.Clone(d.kept)} }

// stored is how a sample is written.
type stored struct {
	Level  uint     `json:"level"`
	Hashes []uint64 `json:"hashes"`
}

// MarshalJSON writes the sample, sorted.
func (d distinct) MarshalJSON() ([]byte, error) {
	return json.Marshal(stored{d.level, slices.Sorted(maps.Keys(d.kept))})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (d *distinct) UnmarshalJSON(text []byte) error {
	var s stored
	if err := json.Unmarshal(text, &s); err != nil {
		return err
	}
	if s.Level > mostLevel || len(s.Hashes) > sampleSize {
		return errors.New("more behaviours than a sample has")
	}
	*d = distinct{level: s.Level}
	for _, h := range s.Hashes {
		if !d.samples(h) {
			return errors.New("a behaviour that its sample does not have")
		}
		d.add(h)
	}
	return nil
}
