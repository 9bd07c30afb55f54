package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

// costs runs a scenario and returns what each variant costs.
func costs(t *testing.T, args string, more ...string) map[string]*checker.Cost {
	t.Helper()
	cmd := exec.Command("sim", append(append([]string{"run", "--json", "--allow-undecided"}, strings.Fields(args)...), more...)...)
	cmd.Env, cmd.Dir = userEnv(t, t.TempDir()), t.TempDir()
	out, err := suite.Output(t, cmd)
	if err != nil {
		t.Fatalf("sim run %s %q: %v\n%s", args, more, err, out)
	}
	var r report.Result
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatal(err)
	}
	got := map[string]*checker.Cost{}
	for i := range r.Variants {
		if v := &r.Variants[i]; v.NotApplicable == "" {
			if v.Cost == nil {
				t.Fatalf("sim run %s: %s has no cost", args, v.Name)
			}
			got[v.Name] = v.Cost
		}
	}
	return got
}

// TestCostIsTheSameInBothWorlds: a lock of sim sends the same commands in the virtual world, on
// real servers, and as a lock program.
func TestCostIsTheSameInBothWorlds(t *testing.T) {
	suite.All(t)
	t.Parallel()
	asProgram := []string{"--lock", "sim lock redlock"}
	live := []string{"--world", "live"}
	for world, got := range map[string]map[string]*checker.Cost{
		"virtual": costs(t, "cost-acquire --world virtual"),
		"live":    costs(t, "cost-acquire"), "a program": costs(t, "cost-acquire", asProgram...),
		"a program in real time": costs(t, "cost-acquire", append(asProgram, live...)...),
	} {
		for variant, want := range map[string]int{"one-node": 1, "three-nodes": 3} {
			c := got[variant]
			if c == nil || c.Commands == nil || c.RoundTrips == nil || c.P50 == nil || c.P99 == nil || *c.P50 <= 0 || *c.P99 < *c.P50 {
				t.Fatalf("%s, %s: %+v", world, variant, c)
			}
			if c.Acquires != 300 || c.Commands.Median != want || c.Commands.Min != want || c.RoundTrips.Median != want {
				t.Errorf("%s, %s: %d acquires, commands %+v, round trips %+v", world, variant, c.Acquires, c.Commands, c.RoundTrips)
			}
		}
	}
	file := filepath.Join(t.TempDir(), "renews.yaml")
	text := `name: renews
lock: {algorithm: watchdog, ttl: 1500ms, node_timeout: 1s, retry: {attempts: 1000, delay: 100ms, jitter: 0s}}
nodes: {count: 1}
workload: {clients: 2, think: 1250ms}
record_commands: true
`
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for world, got := range map[string]map[string]*checker.Cost{
		"virtual": costs(t, file+" --world virtual"), "live": costs(t, file), "a program": costs(t, file, "--lock", "sim lock watchdog"),
	} {
		c := got["default"]
		if c == nil || c.Holding == nil || c.Holding.Commands != 4 ||
			c.Waiting == nil || c.Waiting.PerSecond() < 5 || c.Waiting.PerSecond() > 11 {
			t.Errorf("%s: holding %+v, waiting %+v", world, c.Holding, c.Waiting) // each is held for two renewals
		}
	}
}
