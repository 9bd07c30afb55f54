package campaign

import (
	"errors"
	"fmt"
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/explore"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
)

// Definition is what a campaign does, and how it is divided.
type Definition struct {
	// Request is a search or an audit. It names its seeds, not where it is carried out. Its lock is one of sim, with its switches; or, with
	// Digest, the name that workers know a lock program by. A campaign never says how a program is started.
	Request request.Any `json:"request"`
	// Scenario is the text of the scenario that a search names. The file that the request names is not read. A search among real servers may
	// have none.
	Scenario string `json:"scenario,omitempty"`
	Digest   string `json:"digest,omitempty"`
	// Shards is how many parts a campaign among real servers has. A range is a shard.
	Shards int64 `json:"shards,omitempty"`
	// RangeRuns is how many runs a job of a search in the virtual world has at most, EpochRanges how many jobs an epoch.
	RangeRuns   uint64 `json:"range_runs,omitempty"`
	EpochRanges uint64 `json:"epoch_ranges,omitempty"`
}

// IsLive reports that the campaign works among real servers.
func (d *Definition) IsLive() bool {
	return d.Request.Search == nil || d.Request.Search.World != request.Virtual
}

// search is the search that is asked for; an empty one, where it is an audit.
func (d *Definition) search() request.Search {
	if d.Request.Search == nil {
		return request.Search{}
	}
	return *d.Request.Search
}

// command is search or audit.
func (d *Definition) command() string {
	name, _, _ := d.Request.Only()
	return name
}

// properties are those that a search names.
func (d *Definition) properties() (list []checker.Property) {
	for _, p := range d.search().Properties {
		list = append(list, checker.Property(p))
	}
	return list
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
	if _, _, err := d.Request.Only(); err != nil {
		return err
	}
	if d.IsLive() {
		return d.checkReal()
	}
	_, err := d.Search()
	return err
}

// checkNames checks the names of properties and faults.
func (d *Definition) checkNames() error {
	for _, p := range d.properties() {
		if !slices.Contains(checker.Properties(), p) {
			return fmt.Errorf("no property %q", p)
		}
	}
	for _, k := range d.search().Kinds {
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
	r := d.search()
	search := explore.Search{Variant: r.Variant, Drawing: r.Drawing,
		Properties: d.properties(), First: r.Seed, Seeds: r.Seeds, Workers: 1}
	switch {
	case d.IsLive():
		return search, errors.New("it is not one in the virtual world")
	case len(d.Scenario) > mostText:
		return search, fmt.Errorf("its scenario has more than %d bytes", mostText)
	case r.Seeds == 0 || r.Seeds > MostRuns || d.RangeRuns == 0 ||
		d.RangeRuns > mostRangeRuns || d.EpochRanges == 0 || d.EpochRanges > mostEpochRanges:
		return search, errors.New("its numbers of runs are out of bounds")
	case r.Seed > 1<<63:
		return search, errors.New("its first seed is out of bounds")
	case len(r.Properties) == 0:
		return search, errors.New("it names no property")
	}
	if err := d.checkNames(); err != nil {
		return search, err
	}
	s, err := scenario.Parse(r.Scenario, []byte(d.Scenario))
	if err != nil {
		return search, err
	}
	i := slices.IndexFunc(s.Variants, func(v scenario.Variant) bool { return v.Name == r.Variant })
	switch {
	case i < 0:
		return search, fmt.Errorf("its scenario has no variant %q", r.Variant)
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
	if d.IsLive() {
		return epoch{ranges: d.Shards, rangeRuns: 1, runs: d.Shards}
	}
	if last != nil {
		e = epoch{number: last.number + 1, firstRange: last.firstRange + last.ranges, firstRun: last.firstRun + last.runs}
	}
	left := d.search().Seeds - uint64(e.firstRun)
	size, runs := d.RangeRuns, left
	if !d.search().Unguided {
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
