package explore

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/nemesis"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
)

// Lineage says how a schedule came about: its first seed drew it, each further
// one changed it. It is all that is needed to make the schedule again.
type Lineage []uint64

// mostGenerations bounds a lineage: what has been changed so often is not
// changed further.
const mostGenerations = 40

// schedule is what a run of a search is made of: how clients use the lock, random faults, and the seed of
// everything else in the run.
type schedule struct {
	// use is 0 for the setup's own, else one of the drawer's others, from 1.
	use    int
	faults []scenario.Fault
	seed   uint64
}

// follow makes the schedule of a lineage.
func (d *drawer) follow(l Lineage) schedule {
	s := schedule{use: d.usedBy(l[0]), seed: l[0]}
	d = d.with(s.use)
	s.faults = d.draw(l[0])
	for _, seed := range l[1:] {
		d.mutate(&s, seed)
	}
	return s
}

// mutated is a schedule changed a little; the first stays as it is.
func (d *drawer) mutated(s schedule, seed uint64) schedule {
	s.faults = clone(s.faults)
	d.with(s.use).mutate(&s, seed)
	return s
}

// mutate changes one to three faults of a schedule, and in half of the cases the
// run's seed, which moves all messages.
func (d *drawer) mutate(s *schedule, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 0x6d7574617465))
	if r.IntN(2) == 0 {
		s.seed = seed
	}
	for range 1 + r.IntN(3) {
		d.change(s, r)
	}
}

// change makes one change, which a scenario can say, too.
func (d *drawer) change(s *schedule, r *rand.Rand) {
	add := func() { s.faults = d.addSome(r, s.faults, d.kind(r, d.kinds)) }
	if len(s.faults) == 0 {
		add()
		return
	}
	i := r.IntN(len(s.faults))
	switch r.IntN(8) {
	case 0:
		if len(s.faults) < mostFaults {
			add()
		}
	case 1:
		s.faults = slices.Delete(s.faults, i, i+1)
	case 2:
		if len(s.faults) < mostFaults {
			s.faults = d.another(r, s.faults, i)
		}
	case 3:
		d.vary(s, i, func(f *scenario.Fault) {
			if strikesMessage(f) {
				f.Trigger = d.message(r, f.On.Sends != "")
			} else {
				f.Trigger = d.trigger(r)
			}
		})
	case 4:
		d.vary(s, i, func(f *scenario.Fault) {
			if !strikesMessage(f) {
				f.Params = d.params(r, f.Kind, d.cast)
			} else if on := f.On; on.Nth > 1 { // the one before
				earlier := *on
				earlier.Nth--
				f.On = &earlier
			}
		})
	default:
		d.vary(s, i, func(f *scenario.Fault) { d.lengthen(r, f) })
	}
}

// vary changes the i-th fault, unless it is one then that a scenario cannot say.
func (d *drawer) vary(s *schedule, i int, change func(*scenario.Fault)) {
	before := s.faults[i]
	s.faults[i] = clone(s.faults[i : i+1])[0]
	if change(&s.faults[i]); !d.allows(s.faults, i) {
		s.faults[i] = before
	}
}

// lengthen makes one of the times of a fault longer or shorter.
func (d *drawer) lengthen(r *rand.Rand, f *scenario.Fault) {
	if f.At != nil && r.IntN(2) == 0 {
		*f.At = d.stretch(r, *f.At+time.Millisecond)
		return
	}
	lengths := durations(reflect.ValueOf(f.Params).Elem())
	if len(lengths) > 0 {
		l := lengths[r.IntN(len(lengths))]
		*l = d.stretch(r, *l)
	}
}

// shortest bounds what times are shortened to.
const shortest = 10 * time.Millisecond

// stretch makes a time up to a quarter, or twice, shorter or longer, in whole
// milliseconds.
func (d *drawer) stretch(r *rand.Rand, t time.Duration) time.Duration {
	by := 0.25
	if r.IntN(2) == 0 {
		by = 1
	}
	// The conversions keep processors from rounding but once where others do so twice.
	share := float64(r.Float64())
	x := time.Duration(float64(t) * (1 + float64(by*(float64(2*share)-1)))).Truncate(time.Millisecond)
	least, most := min(t.Abs(), shortest), d.most()
	if t < 0 {
		return max(min(x, -least), -most)
	}
	return min(max(x, least), most)
}

// clone makes faults that can be changed without harm to the first ones.
func clone(list []scenario.Fault) []scenario.Fault {
	out := slices.Clone(list)
	for i := range out {
		f := &out[i]
		if f.At != nil {
			at := *f.At
			f.At = &at
		}
		params := reflect.New(reflect.TypeOf(f.Params).Elem())
		params.Elem().Set(reflect.ValueOf(f.Params).Elem())
		f.Params = params.Interface().(nemesis.Fault)
	}
	return out
}
