package explore

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
)

// meter tells how many runs were made in a second, and in a second of processor time, which says more on a machine that
// others use too.
type meter struct {
	*testing.B
	runs, cpuBegan uint64
}

func cpuTime(b *testing.B) uint64 {
	b.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return uint64(u.Utime.Nano() + u.Stime.Nano())
}

func measured(b *testing.B) *meter { return &meter{b, 0, cpuTime(b)} }

func (m *meter) report() {
	cpu := time.Duration(cpuTime(m.B) - m.cpuBegan)
	m.ReportMetric(float64(m.runs)/m.Elapsed().Seconds(), "runs/s")
	m.ReportMetric(float64(m.runs)/cpu.Seconds(), "runs/cpu-s")
}

// searched is a search of gc-pause.
func searched(b *testing.B, runs uint64, workers int) Search {
	b.Helper()
	s, err := scenario.Load("../../scenarios/gc-pause.yaml")
	if err != nil {
		b.Fatal(err)
	}
	return Search{Scenario: s, Variant: "unfenced", Seeds: runs, Workers: workers, Properties: checker.Demanded(checker.Subject{})}
}

// BenchmarkSearch compares a search by one worker with the runs that it makes, carried out and judged alone: what drawing,
// guidance, behaviours and counting cost beside them. The search by two workers shows what they lose by waiting.
func BenchmarkSearch(b *testing.B) {
	const runs = 16_384
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprintf("search/workers=%d", workers), func(b *testing.B) {
			m := measured(b)
			for b.Loop() {
				r, err := searched(b, runs, workers).Run(context.Background())
				if err != nil {
					b.Fatal(err)
				}
				m.runs += r.Runs
			}
			m.report()
		})
	}
	b.Run("runs", func(b *testing.B) {
		search := searched(b, runs, 1)
		f := &finder{Search: search, state: newState(search.First)}
		if err := f.startWorkers(context.Background()); err != nil {
			b.Fatal(err)
		}
		defer f.stopWorkers()
		// The schedules are those of the search: what is known while they are drawn is that of whole generations.
		var made []schedule
		w := f.workers[0]
		for size := uint64(firstGeneration); f.state.Runs < runs; {
			for size < mostPerGen && f.state.Runs >= size {
				size *= 2
			}
			results := make([]result, size)
			for i := range results {
				run := f.state.Runs + uint64(i)
				lineage, s := w.plan(run)
				if err := w.carryOut(run, lineage, s, &results[i]); err != nil {
					b.Fatal(err)
				}
				made = append(made, s)
			}
			for i := range results {
				f.take(&results[i])
			}
		}
		m := measured(b)
		for b.Loop() {
			for _, s := range made {
				w.setup.Faults.List = slices.Concat(w.own, s.faults)
				if _, err := w.bench.run(w.setup, s.seed, w.Properties); err != nil {
					b.Fatal(err)
				}
				m.runs++
			}
		}
		m.report()
	})
}

// BenchmarkSweep measures one point, which several workers share, and three.
func BenchmarkSweep(b *testing.B) {
	for _, values := range []string{"500ms", "500ms,1s,2s"} {
		for _, workers := range []int{1, 2} {
			b.Run(fmt.Sprintf("ttl=%s/workers=%d", values, workers), func(b *testing.B) {
				search := searched(b, 0, workers)
				sweep := Sweep{Scenario: search.Scenario, Variant: search.Variant, Runs: 4096, Workers: workers, Properties: search.Properties}
				var err error
				if sweep.X, err = ParseAxis("lock.ttl="+values, 0); err != nil {
					b.Fatal(err)
				}
				m := measured(b)
				for b.Loop() {
					cells, err := sweep.Run(context.Background())
					if err != nil {
						b.Fatal(err)
					}
					for _, c := range cells {
						m.runs += c.Runs
					}
				}
				m.report()
			})
		}
	}
}

// BenchmarkExhaust runs every order of the messages of two clients that ask three nodes.
func BenchmarkExhaust(b *testing.B) {
	s, err := scenario.Parse("small.yaml", []byte("name: small\nnodes: {count: 3}\n"+
		"lock: {algorithm: redlock, retry: {attempts: 2, delay: 0s, jitter: 0s}}\nworkload: {clients: 2, start: together}\n"))
	if err != nil {
		b.Fatal(err)
	}
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			m := measured(b)
			for b.Loop() {
				out, err := Exhaust{Scenario: s, Variant: scenario.DefaultVariant,
					Properties: []checker.Property{checker.ExclusiveLease}, Workers: workers}.Run(context.Background())
				if err != nil || !out.All {
					b.Fatal(out.All, err)
				}
				m.runs += out.Schedules
			}
			m.report()
		})
	}
}
