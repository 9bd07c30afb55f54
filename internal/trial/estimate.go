package trial

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/runner"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server"
	"github.com/redlock-sim/redlock-sim/internal/world/virtual"
)

const (
	// startingServers is about what a live scenario takes beside its run.
	startingServers = 500 * time.Millisecond
	// unknownLength is taken for a run that cannot be simulated.
	unknownLength = 3 * time.Second
)

// Estimate is about how long scenarios take with real servers, each so many times and so many at once: as long as
// the same runs take in simulated time. A lock program is simulated by the scenario's own lock.
func (p *Programs) Estimate(ctx context.Context, list []*scenario.Scenario, nodes server.Provider, seed uint64, times, jobs int) time.Duration {
	lengths := make([]time.Duration, len(list))
	slots := make(chan struct{}, runtime.NumCPU())
	var wg sync.WaitGroup
	for i, s := range list {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			lengths[i] = startingServers
			for j, v := range p.subjects(s, nodes) {
				if v.notApplicable == "" && ctx.Err() == nil { // variants run side by side
					lengths[i] = max(lengths[i], startingServers+simulated(ctx, s, s.Variants[j], seed))
				}
			}
		})
	}
	wg.Wait()
	var sum time.Duration
	for _, l := range lengths {
		sum += l
	}
	return max(slices.Max(lengths), sum*time.Duration(times)/time.Duration(jobs))
}

// simulated is how long a run takes in simulated time.
func simulated(ctx context.Context, s *scenario.Scenario, v scenario.Variant, seed uint64) time.Duration {
	if v.Setup.Lock.Program != nil {
		return unknownLength
	}
	out, err := runner.Run(runner.Config{Scenario: s.Name, Variant: v, Seed: seed, World: Virtual,
		Open: func(spec world.Spec) (world.World, error) { return virtual.Open(ctx, spec) }})
	if err != nil || len(out.History.Events) == 0 {
		return unknownLength
	}
	return out.History.Events[len(out.History.Events)-1].Time
}
