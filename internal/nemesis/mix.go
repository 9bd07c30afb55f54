package nemesis

import (
	"maps"
	"math/rand/v2"
	"slices"
	"time"
)

// Mix draws random faults from the seed.
type Mix struct {
	// Every is the time between two faults, During how long they go on.
	Every  Distribution  `yaml:"every" doc:"time between two faults" default:"exp(mean=300ms)"`
	During time.Duration `yaml:"during" doc:"how long faults go on" min:"1ms" max:"1h" default:"5s"`
	// Swarm switches each kind off entirely in half of the runs.
	Swarm bool `yaml:"swarm" doc:"in each run switch some kinds off entirely, drawn from the seed: it finds more than all kinds at once" default:"true"`
	// Kinds by name.
	Kinds map[string]MixKind `yaml:"kinds" doc:"the kinds of faults to draw, by name" required:"true"`
}

// MixKind is one kind of fault in a mix.
type MixKind struct {
	Weight float64      `yaml:"weight" doc:"how often it is drawn, beside the others" min:"0" max:"1000" default:"1"`
	For    Distribution `yaml:"for" doc:"how long one lasts" default:"exp(mean=200ms)"`
	Of     string       `yaml:"of" doc:"whom it strikes" default:"any" values:"clients,nodes,any"`
	By     Distribution `yaml:"by" doc:"how much: the delay of latency, the jump of clock" default:"exp(mean=200ms)"`
	// Widely draws from more: single directions, links to the resource and to
	// replicas, clocks of clients, clients to kill, what a disk keeps.
	Widely bool
}

// choice is a kind with its share of the draws.
type choice struct {
	name   string
	kind   MixKind
	id     int
	weight float64
}

// choices are the kinds of this run, in the order of their names.
func (m *Mix) choices(r *rand.Rand, after int) (list []choice, total float64) {
	names := slices.Sorted(maps.Keys(m.Kinds))
	spared := r.IntN(max(len(names), 1)) // at least one kind stays
	for i, name := range names {
		off := m.Swarm && r.IntN(2) == 0 && i != spared
		if k := m.Kinds[name]; !off && k.Weight > 0 {
			list = append(list, choice{name, k, after + i + 1, k.Weight})
			total += k.Weight
		}
	}
	return list, total
}

// runMix fires the mix.
func (s *Schedule) runMix() {
	r := s.rand(0)
	choices, total := s.mix.choices(r, len(s.faults))
	for s.wait(s.mix.Every.Draw(r)) && s.w.Now() < s.mix.During && len(choices) > 0 {
		x := r.Float64() * total
		c := choices[len(choices)-1]
		for _, candidate := range choices {
			if x -= candidate.weight; x < 0 {
				c = candidate
				break
			}
		}
		if f := mixable[c.name](r, s.cast, c.kind); f != nil {
			s.strike(c.id, Planned{Kind: c.name, Fault: f, When: Trigger{Every: s.mix.Every}}, nil)
		}
	}
}

// DrawMix draws a mix of a few kinds of faults, of lengths about a lease.
func DrawMix(r *rand.Rand, lease time.Duration) *Mix {
	about := func() Distribution { return Always(lease/50 + time.Duration(r.Int64N(int64(2*lease)))) }
	m := &Mix{Every: Always(lease/20 + time.Duration(r.Int64N(int64(lease)))), During: 3 * lease, Kinds: map[string]MixKind{}}
	kinds := MixKinds()
	of := []string{"any", "any", "clients", "nodes"}
	for range 1 + r.IntN(4) {
		m.Kinds[kinds[r.IntN(len(kinds))]] = MixKind{Weight: 1, For: about(), By: about(), Of: of[r.IntN(len(of))], Widely: true}
	}
	return m
}
