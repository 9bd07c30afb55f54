//go:build linux && amd64

package guests

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/runner"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

// withProgram puts the lock program of the tests in the place of a variant's lock; false: it does not fit there.
func withProgram(t *testing.T, v scenario.Variant, kind string) (scenario.Variant, bool) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	own := &scenario.StandIn{Program: &lock.Program{Command: []string{self, asLockProgram, kind}}, Ready: describes}
	return v.With(own), own.NotApplicable(&v.Setup) == ""
}

// tryProgram tries a lock program of the tests in the first variant of a scenario.
func tryProgram(t *testing.T, name, kind string, seed uint64) *try {
	t.Helper()
	s := scenarios(t, []string{name})[0]
	v, fits := withProgram(t, s.Variants[0], kind)
	if !fits {
		t.Fatal("the program does not fit")
	}
	return &try{scenario: s.Name, variant: v, seed: seed, program: &describes, options: Options{Server: redis(t), Programs: true}}
}

// TestProgramsInScenarios puts a lock program on trial in scenarios, twice with one seed: its clients are paused, killed and started
// again, their clocks are moved, and their messages are lost.
func TestProgramsInScenarios(t *testing.T) {
	server := redis(t)
	ran := 0
	for _, s := range scenarios(t, programScenarios) {
		for _, v := range s.Variants {
			v, fits := withProgram(t, v, well)
			a := &try{scenario: s.Name, variant: v, seed: 3, program: &describes, options: Options{Server: server, Programs: true}}
			spec := runner.Spec(runner.Config{Variant: v, Program: &describes})
			if !fits || Refusal(&spec, a.options) != "" {
				continue
			}
			ran++
			t.Run(s.Name+"/"+v.Name, func(t *testing.T) {
				for _, f := range a.findings(a.twice(t)) {
					if a.variant.Expected(f.Property) == checker.Holds && f.Verdict == checker.Violated {
						t.Errorf("%s is violated: %s", f.Property, f.Why)
					}
				}
			})
		}
	}
	if ran < len(programScenarios) {
		t.Errorf("the program fits %d variants of %d scenarios", ran, len(programScenarios))
	}
}

// programScenarios are some that fit any lock on one node.
var programScenarios = []string{
	"one-node-restart", "one-node-client-clock", "one-node-clock-jump", "one-node-hangs", "set-nx-px", "held-answers", "answer-lost",
	"dead-holder", "failover",
}

// TestWarmUp: a lock program that has warmed up has its connection, and the history begins with the run.
func TestWarmUp(t *testing.T) {
	took := make(map[bool]time.Duration)
	for _, warm := range []bool{false, true} {
		a := tryProgram(t, "set-nx-px", well, 3)
		a.variant.Setup.Workload.WarmUp = warm
		h := a.twice(t).History
		if e := h.Events[0]; e.F != history.Phase || e.Time != 0 {
			t.Errorf("warm: %v: the history begins with %s at %v", warm, e.F, e.Time)
		}
		granted, set := 0, 0
		for _, e := range h.Events {
			switch {
			case e.F == history.Acquire && e.Type == history.OK:
				if granted++; granted == 1 {
					took[warm] = e.Time
				}
			case e.F == history.KeySet:
				set++
			}
		}
		if granted == 0 || set != granted {
			t.Errorf("warm: %v: %d grants, and %d times the key was set", warm, granted, set)
		}
	}
	if took[true] == 0 || took[true] >= took[false] {
		t.Errorf("the first grant comes after %v, and without having warmed up after %v", took[true], took[false])
	}
}

// TestStrangePrograms puts programs on trial that do not what they should. Each run ends and says what was wrong, or goes well; and
// nothing is left of it.
func TestStrangePrograms(t *testing.T) {
	for _, kind := range slices.Sorted(maps.Keys(strangeThings)) {
		t.Run(kind, func(t *testing.T) {
			want := strangeThings[kind]
			if want.slow {
				suite.All(t)
			}
			a := tryProgram(t, "one-node-restart", kind, 1)
			a.options.Dir = t.TempDir()
			before, folders := left(t), scratchFolders(t)
			out, _, err := a.run()
			log, _ := os.ReadFile(filepath.Join(a.options.Dir, "client-c1.log"))
			ending := strings.ReplaceAll(ending(out, err), a.variant.Setup.Lock.Program.Command[0], "SELF")
			if !strings.Contains(ending, want.ending) || !bytes.Contains(log, []byte(want.says)) {
				t.Errorf("it ends so: %s\nwant %q, and %q in the log:\n%s", ending, want.ending, want.says, log[:min(len(log), 1000)])
			}
			if now := left(t); now.descriptors > before.descriptors || now.goroutines > before.goroutines || now.children > before.children {
				t.Errorf("what is left: %+v, before: %+v", now, before)
			}
			if now := scratchFolders(t); now > folders {
				t.Errorf("%d folders are left, before: %d", now, folders)
			}
		})
	}
}

// fine is how a run ends that tells something.
const fine = "it tells something"

// ending is how a run ended.
func ending(out runner.Outcome, err error) string {
	var unknown *world.Unknown
	switch {
	case errors.As(err, &unknown):
		return "unknown: " + unknown.Why
	case err != nil:
		return "error: " + err.Error()
	case out.TimedOut:
		return "it did not finish"
	}
	for _, e := range out.History.Events {
		if e.Error.String() != "" {
			return fine + ", and " + e.Error.String()
		}
	}
	return fine
}

// leftovers counts what a run may leave.
type leftovers struct{ descriptors, goroutines, children int }

func left(t *testing.T) leftovers {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	children := 0
	threads, _ := filepath.Glob("/proc/self/task/*/children")
	for _, file := range threads {
		if text, err := os.ReadFile(file); err == nil {
			children += len(strings.Fields(string(text)))
		}
	}
	return leftovers{len(entries), runtime.NumGoroutine(), children}
}

// scratchFolders counts the scratch folders of this process.
func scratchFolders(t *testing.T) int {
	t.Helper()
	me, err := machine.Self()
	if err != nil {
		t.Fatal(err)
	}
	list, err := filepath.Glob(filepath.Join(os.TempDir(), "redlock-sim-"+me.String()+"-*"))
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}
