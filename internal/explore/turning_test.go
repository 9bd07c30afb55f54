package explore_test

import (
	"errors"
	"reflect"
	"slices"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/explore"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/runner"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
)

// turning is one that asks about a property of a variant of a shipped scenario. It violates it with the seed.
func turning(t *testing.T, name, variant string, seed uint64, p checker.Property) *explore.Turning {
	t.Helper()
	s, err := scenario.LoadAll(scenario.All)
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(s, func(s *scenario.Scenario) bool { return s.Name == name })
	for _, v := range s[at].Variants {
		if v.Name != variant {
			continue
		}
		place := &explore.Virtual{}
		defer place.Close()
		out, err := place.Run(t.Context(), runner.Config{Scenario: name, Variant: v, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		f := checker.Judge(t.Context(), out.History, []checker.Property{p}, checker.Options{})[0]
		if f.Verdict != checker.Violated {
			t.Fatalf("%s/%s: %s is %v", name, variant, p, f.Verdict)
		}
		return &explore.Turning{Scenario: name, Variant: v, Seed: seed, Property: p, History: out.History, Seen: slices.Max(f.Events),
			Reruns: 20, Few: 5, Events: 100}
	}
	t.Fatalf("%s has no variant %s", name, variant)
	return nil
}

func run(t *testing.T, x *explore.Turning) *explore.Turned {
	t.Helper()
	out, err := x.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	last := out.Odds[len(out.Odds)-1]
	if last.Event != len(x.History.Events)-1 || !last.Stay.All() || !last.Lifted.All() || last.Stay.Runs != x.Reruns {
		t.Errorf("at the last event all is as it was, and not all reruns violate it: %+v", last)
	}
	return out
}

// A pause makes it certain as long as it lasts. When the key has expired, nothing helps any more.
func TestTurning(t *testing.T) {
	x := turning(t, "gc-pause", "unfenced", 1, checker.NoLateEffect)
	out := run(t, x)
	if len(out.Odds) != len(x.History.Events) {
		t.Errorf("%d of %d events", len(out.Odds), len(x.History.Events))
	}
	certain, noReturn := out.NoReturn(explore.StayOf), out.NoReturn(explore.LiftedOf)
	event := func(at int) history.F { return x.History.Events[out.Odds[at].Event].F }
	if event(certain) != history.FaultBegin || event(noReturn) != history.KeyExpired {
		t.Errorf("certain at %s, no return at %s", event(certain), event(noReturn))
	}
	if o := out.Odds[certain-1]; o.Stay.Violated > 0 || o.Stay.Judged != x.Reruns {
		t.Errorf("before the pause: %+v", o)
	}
	if o := out.Odds[noReturn-1]; !o.Stay.All() || o.Lifted.Violated > 0 || o.Lifted.Runs != x.Reruns {
		t.Errorf("before the key expires: %+v", o)
	}
	if !out.Planned.All() || out.Planned.Runs != x.Reruns {
		t.Errorf("as planned: %+v", out.Planned)
	}
}

// The same seed leads to the same odds, whoever makes the reruns.
func TestTurningRepeats(t *testing.T) {
	x := turning(t, "first-majority", "at-once", 3, checker.ExclusiveBelief)
	one := run(t, x)
	x.Workers = 3
	if three := run(t, x); !reflect.DeepEqual(one, three) {
		t.Errorf("with one worker\n%+v\nwith three\n%+v", one, three)
	}
}

// A fault that cannot be undone leaves nothing to hope for: from where it is certain on, nothing helps.
func TestTurningAtOnce(t *testing.T) {
	out := run(t, turning(t, "clock-jump", "unfenced", 1, checker.ExclusiveBelief))
	if certain, noReturn := out.NoReturn(explore.StayOf), out.NoReturn(explore.LiftedOf); certain == 0 || certain != noReturn {
		t.Errorf("certain at %d, no return at %d", certain, noReturn)
	}
}

// A lock that is broken without any fault breaks from the beginning.
func TestTurningWithoutFaults(t *testing.T) {
	out := run(t, turning(t, "asks-again", "leaky", 1, checker.ExclusiveLease))
	if at := out.NoReturn(explore.StayOf); at != 0 {
		t.Errorf("certain at %d", at)
	}
}

// Of a long run the events around the changes are found with few reruns.
func TestTurningOfManyEvents(t *testing.T) {
	x := turning(t, "gc-pause", "unfenced", 1, checker.NoLateEffect)
	whole := run(t, x)
	x.Events = 16
	few := run(t, x)
	if len(few.Odds) > 24 || len(few.Odds) >= len(whole.Odds) {
		t.Errorf("%d events", len(few.Odds))
	}
	for _, of := range []func(*explore.Odds) explore.Share{explore.StayOf, explore.LiftedOf} {
		if a, b := whole.Odds[whole.NoReturn(of)].Event, few.Odds[few.NoReturn(of)].Event; a != b {
			t.Errorf("event %d, and %d with few", a, b)
		}
	}
}

// A run that does not come again is not explained.
func TestTurningOfAnotherRun(t *testing.T) {
	x := turning(t, "gc-pause", "unfenced", 1, checker.NoLateEffect)
	x.Seed = 2
	if _, err := x.Run(t.Context()); !errors.Is(err, explore.ErrNotAgain) {
		t.Errorf("got %v", err)
	}
	x.Seed, x.Property = 1, checker.NoOrphanLock
	if _, err := x.Run(t.Context()); !errors.Is(err, explore.ErrNotAgain) {
		t.Errorf("a property that is not violated: %v", err)
	}
}
