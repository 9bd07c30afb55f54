package explore

import (
	"slices"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/nemesis"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
)

// KindRuns says in how many runs a kind of fault was drawn, and in how many of these it took effect.
type KindRuns struct {
	Kind    string `json:"kind"`
	Planned uint64 `json:"planned"`
	Began   uint64 `json:"began"`
}

// kindSet is a set of kinds, a bit for each of Kinds.
type kindSet uint64

// allKinds are Kinds, numbers their places.
var allKinds, numbers = numbered(Kinds())

func numbered(list []string) ([]string, map[string]int) {
	at := make(map[string]int)
	for i, kind := range list {
		at[kind] = i
	}
	return list, at
}

// kindsOf are those of faults that were drawn.
func kindsOf(faults []scenario.Fault) (set kindSet) {
	for i := range faults {
		set |= kindOf(&faults[i])
	}
	return set
}

func kindOf(f *scenario.Fault) kindSet { return 1 << numbers[nemesis.DrawnAs(f.Kind, f.Params)] }

// kindsThatBegan are those of the faults that were drawn, behind so many others, of which the given numbers took effect.
func kindsThatBegan(drawn []scenario.Fault, others int, began []int) (set kindSet) {
	for _, id := range began {
		if at := id - 1 - others; at >= 0 && at < len(drawn) {
			set |= kindOf(&drawn[at])
		}
	}
	return set
}

// countFaults takes note of the kinds of faults of a run.
func (p *Part) countFaults(r *result) {
	for i, kind := range allKinds {
		if r.planned>>i&1 != 0 {
			p.fault(KindRuns{kind, 1, uint64(r.began >> i & 1)})
		}
	}
}

// fault adds runs to those of a kind.
func (p *Part) fault(more KindRuns) {
	i, ok := slices.BinarySearchFunc(p.Faults, more.Kind, func(k KindRuns, kind string) int { return strings.Compare(k.Kind, kind) })
	if !ok {
		p.Faults = slices.Insert(p.Faults, i, more)
		return
	}
	p.Faults[i].Planned += more.Planned
	p.Faults[i].Began += more.Began
}
