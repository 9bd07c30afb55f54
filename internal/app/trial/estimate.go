package trial

import (
	"context"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/machine"
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

// Lengths are about how long each scenario takes with real servers: as long as the same runs take in simulated time. A lock
// program is simulated by the scenario's own lock.
func (p *Programs) Lengths(ctx context.Context, list []*scenario.Scenario, nodes server.Provider, seed uint64) []time.Duration {
	return lengthsOf(ctx, list, seed, func(s *scenario.Scenario) (applies []scenario.Variant) {
		for j, v := range p.subjects(s, nodes) {
			if v.notApplicable == "" {
				applies = append(applies, s.Variants[j])
			}
		}
		return applies
	})
}

// Together is about how long runs of these lengths take, so many at once.
func Together(lengths []time.Duration, jobs int) time.Duration {
	var sum time.Duration
	for _, l := range lengths {
		sum += l
	}
	return max(slices.Max(lengths), sum/time.Duration(jobs))
}

// perVariant is how many starts of a client cost as much of a processor's time as a run of a variant with real servers,
// measured with all shipped scenarios.
const perVariant = 10

// Work is about how long this machine computes for runs with real servers: for so many variants. It is measured by how
// fast the machine starts clients now, with all that it does beside.
func Work(ctx context.Context, clientCommand []string, variants int) (time.Duration, error) {
	starts := 4 * runtime.NumCPU()
	var group machine.Group
	began := time.Now()
	for range starts {
		group.Go(func() error { // it ends where its input does
			return exec.CommandContext(ctx, clientCommand[0], clientCommand[1:]...).Run()
		})
	}
	if err := group.Wait(); err != nil {
		return 0, err
	}
	return time.Since(began) * time.Duration(perVariant*variants) / time.Duration(starts), nil
}

// Lengths are about how long each scenario takes beside the others, whatever the machine and the lock program: with real servers
// as those of Programs.Lengths, and in the virtual world as many milliseconds as it has variants.
func Lengths(ctx context.Context, list []*scenario.Scenario, where string, seed uint64) []time.Duration {
	if where != request.Virtual {
		return lengthsOf(ctx, list, seed, func(s *scenario.Scenario) []scenario.Variant { return s.Variants })
	}
	lengths := make([]time.Duration, len(list))
	for i, s := range list {
		lengths[i] = time.Duration(len(s.Variants)) * time.Millisecond
	}
	return lengths
}

func lengthsOf(
	ctx context.Context, list []*scenario.Scenario, seed uint64, variants func(*scenario.Scenario) []scenario.Variant,
) []time.Duration {
	lengths := make([]time.Duration, len(list))
	slots := make(chan struct{}, runtime.NumCPU())
	var wg sync.WaitGroup
	for i, s := range list {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			lengths[i] = startingServers
			for _, v := range variants(s) { // they run side by side
				if ctx.Err() == nil {
					lengths[i] = max(lengths[i], startingServers+simulated(ctx, s, v, seed))
				}
			}
		})
	}
	wg.Wait()
	return lengths
}

// simulated is how long a run takes in simulated time.
func simulated(ctx context.Context, s *scenario.Scenario, v scenario.Variant, seed uint64) time.Duration {
	if v.Setup.Lock.Program != nil {
		return unknownLength
	}
	out, err := runner.Run(runner.Config{Scenario: s.Name, Variant: v, Seed: seed, World: request.Virtual,
		Open: func(spec world.Spec) (world.World, error) { return virtual.Open(ctx, spec) }})
	if err != nil || len(out.History.Events) == 0 {
		return unknownLength
	}
	return out.History.End()
}
