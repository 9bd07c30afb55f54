package virtual

import "math/rand/v2"

// draws are the generators of all that is drawn in a run. Each part has one of its own, seeded from the seed and the part.
type draws struct {
	seed  uint64
	parts []drawn
}

type drawn struct {
	part uint64
	from *rand.PCG
}

// begin forgets those of the run before.
func (d *draws) begin(seed uint64) { d.seed, d.parts = seed, d.parts[:0] }

// of makes the generator of a part.
func (d *draws) of(part uint64) *rand.PCG {
	g := rand.NewPCG(d.seed, part)
	d.parts = append(d.parts, drawn{part, g})
	return g
}

// Redraw lets all that is drawn from now on depend on another seed. What has been drawn stays as it is: how long the messages under way
// need, and the least that each link takes.
func (w *World) Redraw(seed uint64) {
	w.draws.seed = seed
	for _, d := range w.draws.parts {
		d.from.Seed(seed, d.part)
	}
}
