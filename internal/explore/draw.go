package explore

import (
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

func newDrawer(s *scenario.Setup, kinds []string) *drawer {
	return &drawer{kinds: kinds, cast: s.Cast(), points: s.Points(), sections: s.Workload.Sections, ttl: s.Lock.TTL}
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
		list[i] = d.fault(r, kinds[r.IntN(len(kinds))])
	}
	return list
}

func (d *drawer) fault(r *rand.Rand, kind string) scenario.Fault {
	k := nemesis.MixKind{Of: "any", Widely: true,
		For: nemesis.Always(spread(r, d.ttl/50, 3*d.ttl)), By: nemesis.Always(spread(r, d.ttl/50, 3*d.ttl))}
	f := scenario.Fault{Kind: kind, Params: k.Draw(r, kind, d.cast)}
	switch r.IntN(4) {
	case 0:
		at := time.Duration(0)
		f.At = &at
	case 1:
		at := time.Duration(r.Int64N(int64(2 * d.ttl))).Truncate(time.Millisecond)
		f.At = &at
	default:
		f.On = &scenario.On{Passing: scenario.Passing{
			Client: d.cast.Clients[r.IntN(len(d.cast.Clients))],
			Point:  d.points[r.IntN(len(d.points))],
			Nth:    1 + r.IntN(min(d.sections, 3)),
		}}
	}
	return f
}

// spread draws from low to high, small ones as often as large ones, in whole
// milliseconds.
func spread(r *rand.Rand, low, high time.Duration) time.Duration {
	x := float64(low) * math.Pow(float64(high)/float64(low), r.Float64())
	return max(time.Duration(x).Truncate(time.Millisecond), time.Millisecond)
}

// Kinds lists the kinds of faults that a search can draw.
func Kinds() []string { return slices.Clone(nemesis.MixKinds()) }
