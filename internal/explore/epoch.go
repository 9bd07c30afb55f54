package explore

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/checker"
)

// Ground is what the runs of an epoch know of all runs before it: an epoch is a generation of any
// size, whose runs many processes make, range by range. It is made by Learn alone, so that it does not depend on who made
// which range, or when.
type Ground struct {
	// Reached counts the runs that reached each feature; empty: there were none. Corpus are the schedules
	// that are changed further, the oldest first.
	Reached []uint32 `json:"reached,omitempty"`
	Corpus  []kept   `json:"corpus,omitempty"`
}

// Made is what came of a range of runs.
type Made struct {
	Part Part `json:"part"`
	// Lesson is what later epochs learn of it; nil: the search is unguided.
	Lesson *lesson `json:"lesson,omitempty"`
}

// lesson is what a range adds to a Ground.
type lesson struct {
	// Reached counts the runs that reached each feature, and violated nothing.
	Reached map[uint16]uint32 `json:"reached"`
	// Rare are the runs that may have reached something rare, in their order: more than turn out to
	// have, once it is known what ranges before this one reached.
	Rare []rareRun `json:"rare"`
}

// rareRun is a run that may be kept.
type rareRun struct {
	kept
	// Before counts, for each of the features, the runs of this range that reached it earlier.
	Before []uint32 `json:"before"`
}

// Range makes some runs of the search, from a run on, one after the other. Their schedules depend on the ground
// alone, beside the search: g may be nil where there were no runs before, or the search is unguided. Of the behaviours only
// those are kept that are Sampled so far by the runs made elsewhere; 0: all.
func (s Search) Range(ctx context.Context, g *Ground, sampled uint, first, runs uint64) (*Made, error) {
	s.Workers = 1
	f := &finder{Search: s, state: newState(s.First)}
	made := &Made{Part: Part{First: s.First}}
	made.Part.Behaviours.level = sampled
	var l *lesson
	if !s.Unguided {
		if g == nil {
			g = &Ground{}
		}
		f.state.Reached, f.state.Corpus = g.Reached, g.Corpus
		l = &lesson{Reached: make(map[uint16]uint32)}
		made.Lesson = l
	}
	if err := f.startWorkers(ctx); err != nil {
		return nil, err
	}
	defer f.stopWorkers()
	for run := first; run < first+runs; run++ {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		var out result
		if err := f.workers[0].run(run, &out); err != nil {
			return nil, err
		}
		made.Part.count(&out)
		if l != nil {
			l.take(&out, &f.corpus)
		}
	}
	return made, nil
}

// take takes note of a run, as finder.take does.
func (l *lesson) take(r *result, c *corpus) {
	if r.failed != nil || r.class != "" {
		return
	}
	before, mayBeRare := make([]uint32, len(r.features)), false
	for i, f := range r.features {
		before[i] = l.Reached[f]
		mayBeRare = mayBeRare || c.reached[f]+before[i] <= rare
		l.Reached[f]++
	}
	if mayBeRare && len(r.lineage) < mostGenerations {
		l.Rare = append(l.Rare, rareRun{kept{r.lineage, r.features}, before})
	}
}

// Learn adds what came of the next range: ranges are learned in the order of their runs.
func (g *Ground) Learn(m *Made) {
	if m.Lesson == nil {
		return
	}
	if len(g.Reached) == 0 {
		g.Reached = make([]uint32, features)
	}
	for _, r := range m.Lesson.Rare {
		isRare := false
		for i, f := range r.Features {
			isRare = isRare || g.Reached[f]+r.Before[i] <= rare
		}
		if isRare {
			g.Corpus = append(g.Corpus, r.kept)
		}
	}
	g.Corpus = g.Corpus[max(0, len(g.Corpus)-corpusSize):]
	for f, n := range m.Lesson.Reached {
		g.Reached[f] += n
	}
}

// Sampled says of which behaviours a part keeps those that it saw: of one in 2 to the power of this.
func (p *Part) Sampled() uint { return p.Behaviours.level }

// Check reports what cannot be true of a ground that was read from somewhere.
func (g *Ground) Check() error {
	if n := len(g.Reached); n != 0 && n != features || len(g.Corpus) > corpusSize || slices.ContainsFunc(g.Corpus, kept.damaged) {
		return errors.New("what an epoch knows is damaged")
	}
	return nil
}

// damaged reports what no search keeps.
func (k kept) damaged() bool {
	return len(k.Lineage) == 0 || len(k.Lineage) >= mostGenerations || slices.ContainsFunc(k.Features, outside)
}

func outside(feature uint16) bool { return feature >= features }

// Check reports what cannot be true of a range that was read from somewhere: it is to have so many runs of a search
// from one on.
func (m *Made) Check(s Search, first, runs uint64) error {
	if err := m.Part.Check(); err != nil {
		return err
	}
	want := Seeds{s.First + first, runs}
	if m.Part.First != s.First || len(m.Part.Seeds) != 1 || m.Part.Seeds[0] != want {
		return fmt.Errorf("a range has the seeds %v, want %v", m.Part.Seeds, want)
	}
	if m.Part.Failed > 0 || (m.Lesson == nil) != s.Unguided {
		return errors.New("a range is that of another search")
	}
	for _, list := range [][]Class{m.Part.Classes, m.Part.Judged} {
		for _, c := range list {
			if slices.ContainsFunc(c.Properties(), func(p checker.Property) bool { return !slices.Contains(s.Properties, p) }) {
				return errors.New("a range names properties that were not asked for")
			}
		}
	}
	unknown := func(c Class) bool { return !slices.Contains(Waypoints(), c.Name) }
	unknownKind := func(k KindRuns) bool { return !slices.Contains(allKinds, k.Kind) }
	if slices.ContainsFunc(m.Part.Waypoints, unknown) || slices.ContainsFunc(m.Part.Faults, unknownKind) {
		return errors.New("a range counts what no search counts")
	}
	if m.Lesson == nil {
		return nil
	}
	for f := range m.Lesson.Reached {
		if outside(f) {
			return errors.New("what a range teaches is damaged")
		}
	}
	for _, r := range m.Lesson.Rare {
		if r.damaged() || len(r.Before) != len(r.Features) {
			return errors.New("what a range teaches is damaged")
		}
	}
	return nil
}
