//go:build linux && amd64

package guests

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/runner"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/scenario/scenariotest"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == asLockProgram {
		serveLock(os.Args[2])
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) { _ = os.RemoveAll(builds.dir); os.Exit(code) }),
		goleak.IgnoreTopFunction("github.com/redlock-sim/redlock-sim/internal/machine.onStarterThread.func1.1"))
}

// redis is the server of this machine.
func redis(t testing.TB) string {
	t.Helper()
	if err := Available(); err != nil {
		suite.Lacks(t, err.Error())
	}
	path, err := exec.LookPath("redis-server")
	if err != nil {
		suite.Lacks(t, "redis-server")
	}
	return path
}

// try is a run of a variant with one seed.
type try struct {
	scenario string
	variant  scenario.Variant
	seed     uint64
	// program is the lock program on trial; nil: the lock is built in.
	program *program.Ready
	options Options
	// hooked may stand between the world and who records; nil: nobody does.
	hooked func(world.World) world.World
	// keeper opens its worlds; nil: all is started afresh.
	keeper *Keeper
}

// run makes the run. The bytes are its history.
func (a *try) run() (runner.Outcome, []byte, error) {
	var file bytes.Buffer
	c := runner.Config{Scenario: a.scenario, Variant: a.variant, Seed: a.seed, World: "virtual", Started: time.Unix(0, 0), Program: a.program,
		History: &file, Open: func(spec world.Spec) (world.World, error) {
			open := func() (world.World, error) { return Open(context.Background(), spec, a.options) }
			if a.keeper != nil {
				open = func() (world.World, error) { return a.keeper.Open(context.Background(), spec) }
			}
			w, err := open()
			if err == nil && a.hooked != nil {
				w = a.hooked(w)
			}
			return w, err
		}}
	out, err := runner.Run(c)
	return out, file.Bytes(), err
}

// findings are the verdicts on what the variant says something about.
func (a *try) findings(out runner.Outcome) []checker.Finding {
	var wanted []checker.Property
	for _, p := range checker.Properties() {
		if a.variant.Expected(p) != 0 {
			wanted = append(wanted, p)
		}
	}
	return checker.Judge(context.Background(), out.History, wanted,
		checker.Options{Faults: len(a.variant.Setup.Faults.List), GrantWithin: a.variant.Setup.GrantWithin})
}

// twice makes the run two times, and wants the same history.
func (a *try) twice(t *testing.T) runner.Outcome {
	t.Helper()
	out, first, err := a.run()
	if err != nil || out.TimedOut || out.Interrupted {
		t.Fatalf("%s, %s, seed %d: timed out %v, interrupted %v, %v", a.scenario, a.variant.Name, a.seed, out.TimedOut, out.Interrupted, err)
	}
	again, second, err := a.run()
	if err != nil || again.TimedOut != out.TimedOut {
		t.Fatalf("%s, %s, seed %d, again: timed out %v, %v", a.scenario, a.variant.Name, a.seed, again.TimedOut, err)
	}
	if !bytes.Equal(first, second) {
		t.Fatalf("%s, %s, seed %d: two histories: %s", a.scenario, a.variant.Name, a.seed, difference(first, second))
	}
	return out
}

// difference is where two histories differ first.
func difference(a, b []byte) string {
	x, y := bytes.Split(a, []byte("\n")), bytes.Split(b, []byte("\n"))
	for i := range min(len(x), len(y)) {
		if !bytes.Equal(x[i], y[i]) {
			return string(x[i]) + "\n" + string(y[i])
		}
	}
	return "one is longer"
}

// chosen are scenarios in which each power over real servers is used.
var chosen = []string{
	"gc-pause", "node-restart", "clock-jump", "durability-power-cut", "durability-kill", "failover", "failover-wait", "one-node-restart",
	"set-nx-px",
	"late-first-release", "multi-exec", "reentrant", "resource-forgets", "extension", "sentinel-failover", "sentinel-paused-primary",
}

// scenarios are those that run with real servers: all of them in the suite `all`, else some.
func scenarios(t testing.TB, some []string) (list []*scenario.Scenario) {
	t.Helper()
	for _, s := range scenariotest.OnModels(t) {
		if some == nil || slices.Contains(some, s.Name) {
			list = append(list, s)
		}
	}
	if some != nil && len(list) != len(some) {
		t.Fatalf("there are only %d of the scenarios %q", len(list), some)
	}
	return list
}
