package trial

import (
	"context"
	"slices"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/app/verdict"
	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/runner"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/virtual"
)

// shipped calls each with every variant of every scenario that ships.
func shipped(t *testing.T, each func(s *scenario.Scenario, v scenario.Variant)) {
	list, err := scenario.LoadAll(scenario.All)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list {
		for _, v := range s.Variants {
			if !v.Setup.Nodes.Clustered() { // no model is one
				each(s, v)
			}
		}
	}
}

// judged runs a variant in virtual time.
func judged(t *testing.T, s *scenario.Scenario, v scenario.Variant, seed uint64) []checker.Finding {
	t.Helper()
	out, err := runner.Run(runner.Config{Scenario: s.Name, Variant: v, Seed: seed, World: request.Virtual,
		Open: func(spec world.Spec) (world.World, error) { return virtual.Open(context.Background(), spec) }})
	if err != nil {
		t.Fatalf("%s, %s: %v", s.Name, v.Name, err)
	}
	return checker.Judge(context.Background(), out.History,
		verdict.Properties(v), checker.Options{Faults: len(v.Setup.Faults.List), GrantWithin: v.Setup.GrantWithin})
}

// correct are locks without a mistake.
var correct = []string{"redlock", "redlock-extend", "set-nx-px", "watchdog", "linearizable"}

// A demand that a correct lock cannot meet accuses it of what physics did.
func TestCorrectLocksMeetWhatIsDemanded(t *testing.T) {
	tried := make(map[string]int)
	shipped(t, func(s *scenario.Scenario, v scenario.Variant) {
		for _, name := range correct {
			own := scenario.NewBuiltIn(lock.Config{Algorithm: name}, "")
			one := v.With(own)
			if own.NotApplicable(&one.Setup) != "" {
				continue
			}
			tried[name]++
			for seed := range uint64(3) {
				for _, f := range judged(t, s, one, seed) {
					if one.Expected(f.Property) == checker.Holds && f.Verdict != checker.Holds {
						t.Errorf("%s, %s: of %s is demanded that %s holds, and it is %v: %s", s.Name, v.Name, name, f.Property, f.Verdict, f.Why)
					}
				}
			}
		}
	})
	for _, name := range correct {
		if tried[name] < 35 {
			t.Errorf("%s was tried on %d variants", name, tried[name])
		}
	}
}

// mistaken are locks that are wrong by themselves, with what they are taken for.
var mistaken = []string{"constant-value", "reentrant-leaky", "set-without-nx", "setnx-del", "setnx-pexpire", "watchdog-blind",
	"semaphore-counter"}

// What is wrong with a lock is found by what is demanded of any lock.
func TestMistakenLocksDoNotMeetWhatIsDemanded(t *testing.T) {
	found := 0
	shipped(t, func(s *scenario.Scenario, v scenario.Variant) {
		made := v.Setup.Lock.Mistakes
		if made == (lock.Mistakes{}) && !slices.Contains(mistaken, v.Setup.Lock.Algorithm) || made.IgnoreWait || made.ReadersPass {
			return // nobody must WAIT, nor let a writer go first
		}
		own := scenario.Describe(v.Setup.Lock, "")
		v = v.Demanding(&own)
		found++
		if !slices.ContainsFunc(judged(t, s, v, 1), func(f checker.Finding) bool {
			return v.Expected(f.Property) == checker.Holds && f.Verdict == checker.Violated
		}) {
			t.Errorf("%s, %s: nothing that is demanded of any lock is violated", s.Name, v.Name)
		}
	})
	if found < 18 {
		t.Errorf("%d mistaken locks: want more", found)
	}
}
