package trial

import (
	"context"
	"fmt"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/runner"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/virtual"
)

// TestAccuses: a run in which something is violated must be made twice also where runs are known to repeat, unless that is not held against
// the lock.
func TestAccuses(t *testing.T) {
	for sleeps, want := range map[string]bool{"10ms": false, "3s": true} {
		s, err := scenario.Parse("sleeps.yaml", fmt.Appendf(nil, `
name: sleeps
nodes: {count: 1}
lock: {algorithm: set-nx-px, ttl: 1s}
workload: {clients: 2, think: 10ms}
faults: [{on: {client: c1, point: before-write}, pause: {client: c1, for: %s}}]
expect: {exclusive-lease: anything, no-late-effect: anything, linearizable-resource: anything}
`, sleeps))
		if err != nil {
			t.Fatal(err)
		}
		v := s.Variants[0]
		out, err := runner.Run(runner.Config{Scenario: s.Name, Variant: v, Seed: 1, World: request.Virtual,
			Open: func(spec world.Spec) (world.World, error) { return virtual.Open(context.Background(), spec) }})
		if err != nil {
			t.Fatal(err)
		}
		all := trial{Scenario: s}
		if got := all.accuses(context.Background(), &subject{Variant: v}, &out); got != want {
			t.Errorf("a pause of %s violates something: %v, want %v", sleeps, got, want)
		}
		none := trial{Scenario: s, Options: Options{Accuses: func(*report.Variant) bool { return false }}}
		if none.accuses(context.Background(), &subject{Variant: v}, &out) {
			t.Errorf("a pause of %s is held against a lock against which nothing is", sleeps)
		}
	}
}
