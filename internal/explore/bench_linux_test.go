package explore

import (
	"context"
	"slices"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
)

// BenchmarkSearch compares a search by one worker with the runs that it makes, carried out and judged alone: what drawing,
// guidance, behaviours and counting cost beside them.
func BenchmarkSearch(b *testing.B) {
	const runs = 16_384
	s, err := scenario.Load("../../scenarios/gc-pause.yaml")
	if err != nil {
		b.Fatal(err)
	}
	search := Search{Scenario: s, Variant: "unfenced", Seeds: runs, Workers: 1, Properties: checker.Demanded("")}
	rate := func(b *testing.B) { b.ReportMetric(float64(b.N)*runs/b.Elapsed().Seconds(), "runs/s") }
	b.Run("search", func(b *testing.B) {
		for b.Loop() {
			if _, err := search.Run(context.Background()); err != nil {
				b.Fatal(err)
			}
		}
		rate(b)
	})
	b.Run("runs", func(b *testing.B) {
		f := &finder{Search: search, state: newState()}
		if err := f.startWorkers(context.Background()); err != nil {
			b.Fatal(err)
		}
		defer f.stopWorkers()
		var made []schedule
		w := f.workers[0]
		for f.state.Runs < runs {
			lineage, s := w.plan(f.state.Runs)
			var out result
			if err := w.carryOut(f.state.Runs, lineage, s, &out); err != nil {
				b.Fatal(err)
			}
			f.take(&out)
			made = append(made, s)
		}
		for b.Loop() {
			for _, s := range made {
				w.setup.Faults.List = slices.Concat(w.own, s.faults)
				if _, err := w.bench.run(w.setup, s.seed, w.Properties); err != nil {
					b.Fatal(err)
				}
			}
		}
		rate(b)
	})
}
