package checker_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/runner"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/virtual"
)

// TestLateRenewal: a node that was paused carries out a renewal that its client has given up, and released the lock since. The model says
// when the command left its client, so that no lock is accused of renewing what it no longer wants.
func TestLateRenewal(t *testing.T) {
	const text = `
name: late-renewal
nodes: {count: 1}
lock: {algorithm: watchdog, ttl: 1s, node_timeout: 100ms, retry: {attempts: 20, delay: 100ms, jitter: 100ms}%s}
workload: {clients: 1, sections: 2, think: 500ms}
faults: [{at: 300ms, pause: {node: A, for: 400ms}}]
expect: {no-orphan-lock: anything, exclusive-lease: anything}
`
	for name, c := range map[string]struct {
		switches string
		want     checker.Verdict
	}{
		"a correct lock":            {"", checker.Holds},
		"one that goes on renewing": {", switches: {stop_renewal: false}", checker.Violated},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := scenario.Parse("late-renewal.yaml", fmt.Appendf(nil, text, c.switches))
			if err != nil {
				t.Fatal(err)
			}
			out, err := runner.Run(runner.Config{Scenario: s.Name, Variant: s.Variants[0], Seed: 1, World: "virtual",
				Open: func(spec world.Spec) (world.World, error) { return virtual.Open(context.Background(), spec) }})
			if err != nil {
				t.Fatal(err)
			}
			late := false
			for _, e := range out.History.Events {
				late = late || e.F == history.KeyExtended && e.Value.At().IsSet()
			}
			if !late {
				t.Error("no renewal was late")
			}
			f := checker.Judge(context.Background(), out.History, []checker.Property{checker.NoOrphanLock}, checker.Options{})
			if f[0].Verdict != c.want {
				t.Errorf("%s: %s, want %s", f[0].Verdict, f[0].Why, c.want)
			}
		})
	}
}
