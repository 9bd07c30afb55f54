package virtual_test

import (
	"context"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/runner"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/virtual"
)

func load(b *testing.B, name string) *scenario.Scenario {
	b.Helper()
	s, err := scenario.Load("../../../scenarios/" + name + ".yaml")
	if err != nil {
		b.Fatal(err)
	}
	return s
}

// BenchmarkGCPause is one run of gc-pause without fencing, two clients and five
// nodes, and its judgement.
func BenchmarkGCPause(b *testing.B) { benchmark(b, true) }

// BenchmarkGCPauseUnjudged is the run alone.
func BenchmarkGCPauseUnjudged(b *testing.B) { benchmark(b, false) }

func benchmark(b *testing.B, judge bool) {
	s := load(b, "gc-pause")
	v := s.Variants[0]
	var engine virtual.Engine
	defer engine.Close()
	open := func(spec world.Spec) (world.World, error) { return engine.Open(context.Background(), spec) }
	wanted := checker.SafetyProperties(checker.Subject{Workload: "increment"})
	var events []history.Event
	var virtualTime time.Duration
	b.ReportAllocs()
	seed := uint64(0)
	began := cpu(b)
	for b.Loop() {
		out, err := runner.Run(runner.Config{Scenario: s.Name, Variant: v, Seed: seed, World: "virtual", Open: open, Reuse: events})
		if err != nil {
			b.Fatal(err)
		}
		events = out.History.Events
		virtualTime += out.History.End()
		seed++
		if judge {
			for _, f := range checker.Judge(context.Background(), out.History, wanted, checker.Options{Faults: 1, Fast: true, Brief: true}) {
				if f.Property == checker.LinearizableResource && f.Verdict != checker.Violated {
					b.Fatalf("seed %d: %v", seed, f.Verdict)
				}
			}
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "runs/s")
	b.ReportMetric(float64(b.N)/(cpu(b)-began).Seconds(), "runs/cpu-s")
	b.ReportMetric(virtualTime.Seconds()/b.Elapsed().Seconds(), "x-real-time")
}

// cpu is the time that all threads of the test have computed, which says more
// than the wall clock on a machine that others use too.
func cpu(b *testing.B) time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
