package explore

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/nemesis"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
)

// drawer draws schedules of faults for a setup, swarm style: each schedule uses
// only some of the kinds, which finds more than all of them at once.
type drawer struct {
	kinds  []string
	cast   nemesis.Cast
	points []string
	// sections bounds how often a client passes a point for sure.
	sections int
	ttl      time.Duration
}

// ErrNobodyToStrike says that none of the kinds of faults allowed can strike
// anybody in the scenario.
var ErrNobodyToStrike = errors.New("there is no replica to promote")

// newDrawer fails where none of the kinds can strike anybody of the setup.
func newDrawer(s *scenario.Setup, kinds []string) (*drawer, error) {
	d := &drawer{cast: s.Cast(), points: s.Points(), sections: s.Workload.Sections, ttl: s.Lock.TTL}
	if len(kinds) == 0 {
		kinds = Kinds()
	}
	for _, k := range kinds {
		if k != "promote" || len(d.cast.Replicas) > 0 {
			d.kinds = append(d.kinds, k)
		}
	}
	if len(d.kinds) == 0 {
		return nil, fmt.Errorf("no fault of the kinds %v can strike here: %w", kinds, ErrNobodyToStrike)
	}
	return d, nil
}

// mostFaults bounds a schedule.
const mostFaults = 6

// draw draws the schedule of a seed.
func (d *drawer) draw(seed uint64) []scenario.Fault {
	r := rand.New(rand.NewPCG(seed, 0x6578706c6f7265))
	var kinds []string
	for _, k := range d.kinds {
		if r.IntN(2) == 0 {
			kinds = append(kinds, k)
		}
	}
	if len(kinds) == 0 {
		kinds = []string{d.kinds[r.IntN(len(d.kinds))]}
	}
	list := make([]scenario.Fault, 1+r.IntN(mostFaults))
	for i := range list {
		if i > 0 && r.IntN(3) == 0 {
			list[i] = d.another(r, &list[i-1])
			continue
		}
		list[i] = d.fault(r, kinds[r.IntN(len(kinds))])
	}
	return list
}

// another is a fault of the same kind at the same time: a majority of nodes fails
// only where several fail together.
func (d *drawer) another(r *rand.Rand, f *scenario.Fault) scenario.Fault {
	return scenario.Fault{Kind: f.Kind, Params: d.fault(r, f.Kind).Params, Trigger: f.Trigger}
}

func (d *drawer) fault(r *rand.Rand, kind string) scenario.Fault {
	k := nemesis.MixKind{Of: "any", Widely: true,
		For: nemesis.Always(d.length(r)), By: nemesis.Always(d.length(r))}
	return scenario.Fault{Kind: kind, Params: k.Draw(r, kind, d.cast), Trigger: d.trigger(r)}
}

// trigger draws when a fault strikes: at the start, at some time, or, half of
// the time, at a point of a client's code.
func (d *drawer) trigger(r *rand.Rand) (t scenario.Trigger) {
	switch r.IntN(4) {
	case 0:
		at := time.Duration(0)
		t.At = &at
	case 1:
		at := time.Duration(r.Int64N(int64(2 * d.ttl))).Truncate(time.Millisecond)
		t.At = &at
	default:
		t.On = &scenario.On{Passing: scenario.Passing{
			Client: d.cast.Clients[r.IntN(len(d.cast.Clients))],
			Point:  d.points[r.IntN(len(d.points))],
			Nth:    1 + r.IntN(min(d.sections, 3)),
		}}
	}
	return t
}

// Times that a scenario can say of every fault: no strobe is shorter than the first, no length longer than the second.
const (
	shortest = 10 * time.Millisecond
	most     = 10 * time.Minute
)

// longest bounds how long faults last.
func (d *drawer) longest() time.Duration { return min(3*d.ttl, most) }

// length draws how long a fault lasts: from a fiftieth of the lease to three
// times it.
func (d *drawer) length(r *rand.Rand) time.Duration {
	return spread(r, min(d.ttl/50, most/100), d.longest())
}

// spread draws from low to high, small ones as often as large ones, in whole
// milliseconds.
func spread(r *rand.Rand, low, high time.Duration) time.Duration {
	x := float64(low) * math.Pow(float64(high)/float64(low), r.Float64())
	return max(time.Duration(x).Truncate(time.Millisecond), time.Millisecond)
}

// Kinds lists the kinds of faults that a search can draw.
func Kinds() []string { return slices.Clone(nemesis.MixKinds()) }
