package campaign

import (
	"errors"
	"fmt"
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/explore"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
)

// Definition is what a campaign searches, and how it is divided.
type Definition struct {
	// Real is what it does among real servers; nil: it is a search in the virtual world.
	Real *Real `json:"real,omitempty"`
	// Scenario is the text of the scenario, File where it came from: that names it, and is not read. A search among real
	// servers needs none, and an audit has none, nor what follows but First, its seed.
	Scenario string `json:"scenario"`
	File     string `json:"file"`
	// Variant to First are as in explore.Search.
	Variant string `json:"variant"`
	// Properties are the lock's where a search among real servers names none.
	Properties []checker.Property `json:"properties"`
	Kinds      []string           `json:"kinds,omitempty"`
	Bare       bool               `json:"bare,omitempty"`
	Unguided   bool               `json:"unguided,omitempty"`
	First      uint64             `json:"first"`
	// Runs is how many runs there are to be.
	Runs uint64 `json:"runs"`
	// RangeRuns is how many runs a job has at most, EpochRanges how many jobs an epoch.
	RangeRuns   uint64 `json:"range_runs"`
	EpochRanges uint64 `json:"epoch_ranges"`
}

// Bounds of what a database may say.
const (
	// MostRuns bounds a campaign.
	MostRuns = 1 << 62
	// mostText bounds a scenario.
	mostText = 1 << 20
	// mostRangeRuns bounds a job.
	mostRangeRuns = 1 << 32
	// mostEpochRanges bounds an epoch.
	mostEpochRanges = 1 << 20
)

// Check says why the definition cannot be carried out, or is not to be.
func (d *Definition) Check() error {
	if d.Real != nil {
		return d.checkReal()
	}
	_, err := d.Search()
	return err
}

// checkNames checks the names of properties and faults.
func (d *Definition) checkNames() error {
	for _, p := range d.Properties {
		if !slices.Contains(checker.Properties(), p) {
			return fmt.Errorf("no property %q", p)
		}
	}
	for _, k := range d.Kinds {
		if !slices.Contains(explore.Kinds(), k) {
			return fmt.Errorf("no fault %q can be drawn", k)
		}
	}
	return nil
}

// Search is the search of a definition in the virtual world. It fails where the definition cannot be carried out, or is not
// to be: a scenario from a database is carried out in the virtual world alone, which starts no program and
// reaches no address.
func (d *Definition) Search() (explore.Search, error) {
	search := explore.Search{Variant: d.Variant, Bare: d.Bare, Kinds: d.Kinds, Unguided: d.Unguided,
		Properties: d.Properties, First: d.First, Seeds: d.Runs, Workers: 1}
	switch {
	case d.Real != nil:
		return search, errors.New("it is not one in the virtual world")
	case len(d.Scenario) > mostText:
		return search, fmt.Errorf("its scenario has more than %d bytes", mostText)
	case d.Runs == 0 || d.Runs > MostRuns || d.RangeRuns == 0 ||
		d.RangeRuns > mostRangeRuns || d.EpochRanges == 0 || d.EpochRanges > mostEpochRanges:
		return search, errors.New("its numbers of runs are out of bounds")
	case d.First > 1<<63:
		return search, errors.New("its first seed is out of bounds")
	case len(d.Properties) == 0:
		return search, errors.New("it names no property")
	}
	if err := d.checkNames(); err != nil {
		return search, err
	}
	s, err := scenario.Parse(d.File, []byte(d.Scenario))
	if err != nil {
		return search, err
	}
	i := slices.IndexFunc(s.Variants, func(v scenario.Variant) bool { return v.Name == d.Variant })
	switch {
	case i < 0:
		return search, fmt.Errorf("its scenario has no variant %q", d.Variant)
	case s.Variants[i].Setup.Lock.Program != nil:
		return search, errors.New("its lock is a program, which no campaign starts")
	}
	search.Scenario = s
	return search, nil
}

// epoch is a row of the table.
type epoch struct {
	number              int64
	firstRange, ranges  int64
	firstRun, rangeRuns int64
	runs                int64
}

// Epochs grow: early on, what was learned is soon put to use; later on, no worker should wait often for
// the others.
const firstEpoch = 1024

// leastRanges is how many ranges an epoch has at least, so that several workers have something to do.
const leastRanges = 4

// next is the epoch that follows; nil is before the first.
func (d *Definition) next(last *epoch) epoch {
	e := epoch{}
	if d.Real != nil {
		return epoch{ranges: d.Real.Shards, rangeRuns: 1, runs: d.Real.Shards}
	}
	if last != nil {
		e = epoch{number: last.number + 1, firstRange: last.firstRange + last.ranges, firstRun: last.firstRun + last.runs}
	}
	left := d.Runs - uint64(e.firstRun)
	size, runs := d.RangeRuns, left
	if !d.Unguided {
		most := d.RangeRuns * d.EpochRanges
		runs = most
		if grown := uint64(firstEpoch) << min(uint64(e.number), 40); grown < most {
			runs = grown
		}
		size = min(size, max(runs/leastRanges, 1))
		runs = min(runs, left)
	}
	e.runs, e.rangeRuns = int64(runs), int64(size)
	e.ranges = int64((runs + size - 1) / size)
	return e
}

// runsOf are the runs of a range: the first, and how many.
func (e *epoch) runsOf(r int64) (first, runs uint64) {
	skipped := (r - e.firstRange) * e.rangeRuns
	return uint64(e.firstRun + skipped), uint64(min(e.rangeRuns, e.runs-skipped))
}

// has reports that a range is in the epoch.
func (e *epoch) has(r int64) bool { return r >= e.firstRange && r < e.firstRange+e.ranges }
