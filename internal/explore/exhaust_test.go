package explore

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
)

func exhaust(t *testing.T, x Exhaust, text string) Exhausted {
	t.Helper()
	x.Scenario, x.Variant = parse(t, text), scenario.DefaultVariant
	if x.Properties == nil {
		x.Properties = []checker.Property{checker.ExclusiveLease, checker.LinearizableResource}
	}
	out, err := x.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// counted is what came of schedules, in words.
func counted(e *Exhausted) string {
	text := fmt.Sprintf("all %v, %d schedules, %d cut, %d unfinished, %d steps", e.All, e.Schedules, e.Cut, e.Unfinished, e.Steps)
	for _, v := range e.Verdicts {
		text += fmt.Sprintf("; %s holds %d, violated %d, unknown %d", v.Property, v.Holds, v.Violated, v.Unknown)
		if v.History != nil {
			text += ": " + told(v.History)
		}
	}
	return text
}

// told is what the clients and the resource saw of a run, in order, without times.
func told(h *history.History) string {
	var s string
	for i := range h.Events {
		e := &h.Events[i]
		if e.IsOp() {
			s += fmt.Sprintf("%s %v %s %d %s;", e.Process, e.Type, e.F, e.Value.Number.V(), e.Error)
		}
	}
	return s
}

// TestReductionLosesNothing: with the reduction, clients can see exactly what they
// can see without it.
func TestReductionLosesNothing(t *testing.T) {
	const common = "name: small\n"
	for _, test := range []struct {
		name, text string
		late       int
	}{
		{"one node", "nodes: {count: 1}\nlock: {algorithm: set-nx-px, retry: {attempts: 1}}\n", 0},
		{"one node, a late message", "nodes: {count: 1}\nlock: {algorithm: set-nx-px, ttl: 100ms, retry: {attempts: 1}}\n", 1},
		{"a pause", "nodes: {count: 1}\nlock: {algorithm: set-nx-px, ttl: 100ms, retry: {attempts: 2}}\n" +
			"faults:\n  - on: {client: c1, point: before-write}\n    pause: {client: c1, for: 200ms}\n", 0},
		{"a cut", "nodes: {count: 1}\nlock: {algorithm: set-nx-px, ttl: 100ms, retry: {attempts: 1}}\n" +
			"faults:\n  - on: {point: before-write}\n    cut: {client: c1, for: 200ms}\n", 0},
		{"without a lock", "nodes: {count: 1}\nlock: {algorithm: set-without-nx}\n", 0},
		{"two nodes", "nodes: {count: 2}\nlock: {algorithm: redlock, retry: {attempts: 1}, switches: {clean_up: false}}\n" +
			"faults:\n  - at: 0s\n    kill: {resource: true, for: 1s}\n", 0},
		{"an early majority", "nodes: {count: 1}\nlock: {algorithm: redlock, fan_out: first-majority, retry: {attempts: 1}}\n", 0},
		{"a killed node", "nodes: {count: 1}\nlock: {algorithm: set-nx-px, ttl: 100ms, retry: {attempts: 2}}\n" +
			"faults:\n  - on: {client: c1, point: before-write}\n    kill: {node: A, keep: nothing, for: 5ms}\n", 0},
		{"a replica", "nodes: {count: 2, topology: replicated}\nlock: {algorithm: set-nx-px, retry: {attempts: 1}}\n", 0},
		{"a failover", "nodes: {count: 2, topology: replicated}\n" +
			"lock: {algorithm: set-nx-px, ttl: 100ms, retry: {attempts: 1}, switches: {clean_up: false}}\n" +
			"faults:\n  - on: {client: c1, point: acquired}\n    promote: {node: B}\n", 1},
		{"a failover, replication held", "nodes: {count: 2, topology: replicated}\n" +
			"lock: {algorithm: set-nx-px, ttl: 100ms, retry: {attempts: 1}}\n" +
			"faults:\n  - at: 0s\n    hold: {replica: B}\n  - on: {client: c1, point: acquired}\n    promote: {node: B}\n", 0},
		{"an awaited replica", "nodes: {count: 2, topology: replicated}\n" +
			"lock: {algorithm: set-nx-wait, retry: {attempts: 1}}\nworkload: {clients: 2, start: together}\n", 0},
		{"sentinels", "nodes: {count: 2, topology: sentinel}\nlock: {algorithm: set-nx-px, retry: {attempts: 2, delay: 3s, jitter: 0s}}\n" +
			"faults:\n  - on: {client: c1, point: acquired}\n    kill: {node: A}\n", 0},
		{"sentinels, a late message", "nodes: {count: 2, topology: sentinel}\nlock: {algorithm: set-nx-px, ttl: 5s, retry: {attempts: 1}}\n" +
			"faults:\n  - on: {client: c1, point: before-write}\n    cut: {groups: [[A, c1], [B, s1, s2, s3]], for: 3s}\n", 1},
		{"held messages", "nodes: {count: 1}\nlock: {algorithm: set-nx-px, ttl: 100ms, retry: {attempts: 1}}\nfaults:\n" +
			"  - on: {client: c1, point: acquired}\n    hold: {client: c1, resource: true, direction: requests, for: 200ms}\n", 0},
		{"a stalled connection", "nodes: {count: 1}\nlock: {algorithm: redlock, ttl: 100ms, retry: {attempts: 2}}\n" +
			"faults:\n  - on: {client: c1, point: before-release}\n    stall: {client: c1, for: 200ms}\n", 0},
	} {
		text := common + test.text
		if !strings.Contains(text, "workload:") {
			text += "workload: {clients: 2, start: together}\n"
		}
		t.Run(test.name, func(t *testing.T) {
			seen := func(each bool) (map[string]bool, Exhausted) {
				all := make(map[string]bool)
				out := exhaust(t, Exhaust{Late: test.late, Each: each, Most: 300_000, Outcome: func(h *history.History) { all[told(h)] = true }}, text)
				return all, out
			}
			reduced, r := seen(false)
			every, e := seen(true)
			several := exhaust(t, Exhaust{Late: test.late, Most: 300_000, Workers: 3}, text)
			if alone, together := counted(&r), counted(&several); alone != together {
				t.Errorf("three workers together: %s\none alone: %s", together, alone)
			}
			t.Logf("%d outcomes; %d schedules and %d cut with, %d without, %d steps", len(every), r.Schedules, r.Cut, e.Schedules, e.Steps)
			if !r.All || !e.All {
				t.Fatalf("not exhausted: %v, %v", r.All, e.All)
			}
			if !maps.Equal(reduced, every) {
				t.Errorf("%d outcomes with the reduction, %d without", len(reduced), len(every))
				for _, o := range slices.Sorted(maps.Keys(every)) {
					if !reduced[o] {
						t.Logf("lost: %s", o)
						break
					}
				}
			}
		})
	}
}

// TestExhaustFindsAndProves: the mistakes of a lock that show by the order of
// messages alone are found, and a correct lock is proved within the bounds.
func TestExhaustFindsAndProves(t *testing.T) {
	const three = "name: small\nnodes: {count: 3}\nworkload: {clients: 2, start: together}\n"
	const sentinels = "name: small\nnodes: {count: 3, topology: sentinel}\n" +
		"lock: {algorithm: set-nx-px, ttl: 20s, node_timeout: 1s, retry: {attempts: 20, delay: 500ms, jitter: 0s}}\n" +
		"workload: {kind: increment, clients: 2, sections: 1, think: 8s}\n"
	// A clean-up is late: it comes after the grant of the next attempt.
	const stalled = `name: small
nodes: {count: 1}
workload: {clients: 2, sections: 2, start: together, think: 60ms, rest: 60ms}
lock: {algorithm: redlock, retry: {attempts: 3, delay: 20ms, jitter: 0s}, switches: {value: %s}}
faults:
  - on: {client: c2, point: before-validity-check}
    stall: {client: c2}
    until: {client: c2, point: acquired}
`
	for _, test := range []struct {
		name, text string
		late       int
		violated   bool
	}{
		{"one value per client, a stall", fmt.Sprintf(stalled, "per-client"), 0, true},
		{"one value per attempt, a stall", fmt.Sprintf(stalled, "per-attempt"), 0, false},
		{"a plain delete", three + "lock: {algorithm: redlock, retry: {attempts: 2, delay: 0s, jitter: 0s}, switches: {release: delete}}\n",
			0, true},
		{"correct", three + "lock: {algorithm: redlock, retry: {attempts: 2, delay: 0s, jitter: 0s}}\n", 0, false},
		{"a failover", "name: small\nnodes: {count: 2, topology: replicated}\nworkload: {clients: 2}\n" +
			"lock: {algorithm: set-nx-px, retry: {attempts: 1}}\nfaults:\n  - on: {client: c1, point: acquired}\n    promote: {node: B}\n", 2, true},
		{"a failover, replicas awaited", "name: small\nnodes: {count: 3, topology: replicated}\nworkload: {clients: 2}\n" +
			"lock: {algorithm: set-nx-wait, retry: {attempts: 1}}\n" +
			"faults:\n  - on: {client: c1, point: acquired}\n    promote: {node: B}\n", 0, false},
		{"sentinels, a primary that dies alone", sentinels + "faults:\n  - on: {client: c1, point: acquired}\n    kill: {node: A}\n", 0, false},
		{"sentinels, a primary cut off from its replicas", sentinels + "faults:\n" +
			"  - at: 0s\n    cut: {groups: [[A], [B, C]]}\n  - on: {client: c1, point: acquired}\n    kill: {node: A}\n", 0, true},
		{"correct, a late message", "name: small\nnodes: {count: 1}\n" +
			"workload: {clients: 2, start: together}\nlock: {algorithm: redlock, ttl: 100ms, retry: {attempts: 1}}\n", 1, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			out := exhaust(t, Exhaust{Late: test.late, Most: 200_000, Properties: []checker.Property{checker.ExclusiveLease}}, test.text)
			t.Logf("%d schedules, %d cut, at most %d steps; %+v", out.Schedules, out.Cut, out.Steps, out.Verdicts[0])
			if !out.All || out.Unfinished > 0 || out.Violated() != test.violated {
				t.Errorf("all: %v, unfinished: %d, violated: %v", out.All, out.Unfinished, out.Violated())
			}
		})
	}
}
