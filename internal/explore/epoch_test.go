package explore

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
)

// storedAndRead is a value as it comes back from where it was written.
func storedAndRead[T any](t *testing.T, v *T) *T {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	out := new(T)
	if err := json.Unmarshal(text, out); err != nil {
		t.Fatal(err)
	}
	return out
}

func epochSearch(t *testing.T, unguided bool) Search {
	t.Helper()
	s, err := scenario.Load("../../scenarios/gc-pause.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return Search{Scenario: s, Variant: "fenced", Drawing: Drawing{Unguided: unguided}, Properties: checker.Demanded(checker.Subject{}),
		First: 40, Seeds: 1200, Workers: 2}
}

// inRanges makes the runs of some epochs in ranges of some size, the last range of each epoch first.
func inRanges(t *testing.T, s Search, epochs []uint64, size uint64) (Part, *Ground) {
	t.Helper()
	sum, ground, first := Part{First: s.First}, &Ground{}, uint64(0)
	for _, runs := range epochs {
		var made []*Made
		known := storedAndRead(t, ground)
		for at := uint64(0); at < runs; at += size {
			m, err := s.Range(context.Background(), known, sum.Sampled(), first+at, min(size, runs-at))
			if err != nil {
				t.Fatal(err)
			}
			m = storedAndRead(t, m)
			if err := m.Check(s, first+at, min(size, runs-at)); err != nil {
				t.Fatal(err)
			}
			made = append(made, m)
		}
		for _, m := range made {
			both, err := Merge(sum, m.Part)
			if err != nil {
				t.Fatal(err)
			}
			sum = both
			ground.Learn(m)
		}
		first += runs
	}
	return sum, ground
}

// TestRangesAreASearch makes the runs of an unguided search in ranges.
func TestRangesAreASearch(t *testing.T) {
	t.Parallel()
	s := epochSearch(t, true)
	want, err := s.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []uint64{1200, 500, 77} {
		sum, ground := inRanges(t, s, []uint64{s.Seeds}, size)
		if got := sum.Report(); !reflect.DeepEqual(got, want) {
			t.Errorf("ranges of %d:\n%+v\nwant\n%+v", size, got, want)
		}
		if len(ground.Corpus) > 0 {
			t.Errorf("an unguided search learns: %d schedules", len(ground.Corpus))
		}
	}
}

// TestEpochsDoNotDependOnRanges makes the runs of a guided search in epochs, with ranges of several sizes;
// with one range each, an epoch is a generation of the finder.
func TestEpochsDoNotDependOnRanges(t *testing.T) {
	t.Parallel()
	s := epochSearch(t, false)
	epochs := []uint64{200, 400, 600}
	f := &finder{Search: s, state: newState(s.First)}
	if err := f.startWorkers(context.Background()); err != nil {
		t.Fatal(err)
	}
	defer f.stopWorkers()
	for _, n := range epochs {
		results, err := f.generation(context.Background(), n)
		if err != nil {
			t.Fatal(err)
		}
		for i := range results {
			f.take(&results[i])
		}
		// What is kept is put into the order of its age, as a Ground has it.
		state := f.state.with(&f.corpus)
		f.corpus = corpus{reached: f.corpus.reached}
		for _, k := range state.Corpus {
			f.corpus.keep(entry{k.Lineage, f.workers[0].drawer.follow(k.Lineage), k.Features})
		}
	}
	want, known := f.state.Report(), f.state.with(&f.corpus)
	if len(known.Corpus) < 20 {
		t.Fatalf("only %d schedules were kept", len(known.Corpus))
	}
	for _, size := range []uint64{1000, 150, 33} {
		sum, ground := inRanges(t, s, epochs, size)
		if got := sum.Report(); !reflect.DeepEqual(got, want) {
			t.Errorf("ranges of %d:\n%+v\nwant\n%+v", size, got, want)
		}
		if fmt.Sprint(ground.Corpus) != fmt.Sprint(known.Corpus) || fmt.Sprint(ground.Reached) != fmt.Sprint(known.Reached) {
			t.Errorf("ranges of %d teach something else: %d schedules, want %d", size, len(ground.Corpus), len(known.Corpus))
		}
	}
}

// TestDamagedRanges refuses what a database may say.
func TestDamagedRanges(t *testing.T) {
	t.Parallel()
	s := epochSearch(t, false)
	for name, damage := range map[string]func(*Made){
		"another range":    func(m *Made) { m.Part.Seeds[0].First++ },
		"fewer runs":       func(m *Made) { m.Part.Runs-- },
		"another property": func(m *Made) { m.Part.Judged[0].Name = "<script>" },
		"no lesson":        func(m *Made) { m.Lesson = nil },
		"a feature":        func(m *Made) { m.Lesson.Reached[features] = 1 },
		"a rare feature":   func(m *Made) { m.Lesson.Rare[0].Features[0] = features },
		"no origin":        func(m *Made) { m.Lesson.Rare[0].Lineage = nil },
		"a count less":     func(m *Made) { m.Lesson.Rare[0].Before = nil },
	} {
		m, err := s.Range(context.Background(), nil, 0, 10, 20)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Check(s, 10, 20); err != nil {
			t.Fatal(err)
		}
		damage(m)
		if m.Check(s, 10, 20) == nil {
			t.Errorf("%s: passes", name)
		}
	}
	for name, g := range map[string]*Ground{
		"few features": {Reached: make([]uint32, 3)},
		"no origin":    {Corpus: []kept{{}}},
		"a feature":    {Corpus: []kept{{Lineage: Lineage{1}, Features: []uint16{features}}}},
		"large":        {Corpus: make([]kept, corpusSize+1)},
	} {
		if g.Check() == nil {
			t.Errorf("%s: passes", name)
		}
	}
}
