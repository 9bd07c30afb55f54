package explore

import (
	"context"
	"slices"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
)

// firstFound is how many runs a search needs to the first violation of a target;
// patience where it finds none.
func firstFound(tb testing.TB, t target, first uint64, unguided bool, patience uint64) uint64 {
	tb.Helper()
	sc, err := scenario.Parse("target.yaml", []byte(t.scenario()))
	if err != nil {
		tb.Fatalf("%s: %v", t.name, err)
	}
	s := Search{Scenario: sc, Variant: scenario.DefaultVariant, Kinds: t.kinds, Properties: []checker.Property{t.property},
		First: first, Seeds: patience, StopAt: 1, Unguided: unguided, Workers: 2}
	r, err := s.Run(context.Background())
	if err != nil {
		tb.Fatalf("%s: %v", t.name, err)
	}
	if len(r.Found) == 0 {
		return patience
	}
	return r.Found[0].Run + 1
}

// BenchmarkGuidance compares drawing alone with half drawing, half changing: the
// mean runs to the first violation of each target, over 20 searches.
func BenchmarkGuidance(b *testing.B) {
	const searches, patience = 20, 3_000
	for _, t := range slices.Concat(switchTargets, faultTargets) {
		for _, way := range []struct {
			name     string
			unguided bool
		}{{"drawn", true}, {"guided", false}} {
			b.Run(t.name+"/"+way.name, func(b *testing.B) {
				for b.Loop() {
					var total, most, missed uint64
					for i := range uint64(searches) {
						n := firstFound(b, t, i<<32, way.unguided, patience)
						total, most = total+n, max(most, n)
						if n == patience {
							missed++
						}
					}
					b.ReportMetric(float64(total)/searches, "runs/found")
					b.ReportMetric(float64(most), "most-runs")
					b.ReportMetric(float64(missed), "missed")
				}
			})
		}
	}
}
