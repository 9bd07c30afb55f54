package explore_test

import (
	"bytes"
	"context"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/explore"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/nemesis"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

// soakOf is a soak of a scenario.
func soakOf(t *testing.T, text string, properties ...checker.Property) *explore.Soak {
	t.Helper()
	s, err := scenario.Parse("test.yaml", []byte("name: test\n"+text))
	if err != nil {
		t.Fatal(err)
	}
	return &explore.Soak{Length: 20 * time.Second, Search: explore.Search{
		Scenario: s, Variant: s.Variants[0].Name, Properties: properties, First: 7}}
}

// made runs epochs, and returns what came of each.
func made(t *testing.T, s *explore.Soak, from, epochs uint64, look func(*explore.Epoch)) (list []explore.Epoch) {
	t.Helper()
	s.Told = func(e *explore.Epoch) error {
		if look != nil {
			look(e)
		}
		kept := *e
		kept.History = nil
		list = append(list, kept)
		return nil
	}
	if err := s.Run(t.Context(), from, epochs); err != nil {
		t.Fatal(err)
	}
	return list
}

const quietLock = "lock: {algorithm: redlock, ttl: 1s, fan_out: at-once, retry: {attempts: 30, delay: 100ms, jitter: 50ms}}\n" +
	"workload: {clients: 3, think: 200ms, start: together}\nnodes: {count: 3, persistence: aof-always}\nfaults: {}\n"

// survived are faults that the lock is meant to survive.
var survived = []string{"latency", "cut", "reset", "hold", "stall"}

// TestASoakDrawsDamagedDisks where nodes have append-only files, and flips bits where they are real.
func TestASoakDrawsDamagedDisks(t *testing.T) {
	for _, test := range []struct {
		persistence string
		real        bool
		want        []world.Power
	}{
		{"aof-always", false, []world.Power{world.PowerCutPower, world.TearPower}},
		{"aof-always", true, []world.Power{world.PowerCutPower, world.TearPower, world.FlipPower}},
		{"none", true, []world.Power{world.PowerCutPower}},
		{"rdb", false, []world.Power{world.PowerCutPower}},
	} {
		s := soakOf(t, strings.Replace(quietLock, "aof-always", test.persistence, 1))
		if s.Kinds = []string{"kill"}; test.real {
			s.Real = &explore.Real{}
		}
		drawn := make(map[world.Power]bool)
		for n := range uint64(100) {
			p, err := s.Plan(n)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range p.Setup.Faults.List {
				for _, power := range nemesis.PowersOf(f.Kind, f.Params) {
					drawn[power] = true
				}
			}
		}
		for _, power := range []world.Power{world.PowerCutPower, world.TearPower, world.FlipPower} {
			if drawn[power] != slices.Contains(test.want, power) {
				t.Errorf("%+v: %v is drawn: %v", test, power, drawn[power])
			}
		}
	}
}

func TestEpochsOfASoakFollowOneAnother(t *testing.T) {
	late := []checker.Property{checker.NoLateEffect, checker.LinearizableResource} // no lease keeps them where there is no fence
	s := soakOf(t, quietLock, checker.ExclusiveLease, checker.BackedGrant, checker.OwnerRelease, checker.NoOrphanLock, late[0], late[1])
	s.Kinds = survived
	calm, faults := 0, uint64(0)
	list := made(t, s, 0, 40, func(e *explore.Epoch) {
		first := &e.History.Events[0]
		if first.Time != 0 {
			t.Errorf("epoch %d begins at %v", e.Number, first.Time)
		}
	})
	for i := range list {
		e := &list[i]
		if e.Failed != "" || e.Life != 0 || e.Over != "" {
			t.Errorf("epoch %d of the life since %d: failed %q, over %q", e.Number, e.Life, e.Failed, e.Over)
		}
		violated := e.Violated(false)
		if slices.Contains(violated, late[0]) {
			violated = slices.DeleteFunc(violated, func(p checker.Property) bool { return slices.Contains(late, p) })
		}
		if len(violated) > 0 || len(e.Waited) > 0 || e.RollCall != 3 {
			t.Errorf("epoch %d: violated %v, waited %v, %d called", e.Number, e.Violated(false), e.Waited, e.RollCall)
		}
		if e.Calm {
			calm++
			if len(e.Struck) > 0 {
				t.Errorf("epoch %d is calm, and %v struck", e.Number, e.Struck)
			}
		}
		for _, n := range e.Struck {
			faults += n
		}
		if e.Took < s.Length/2 || e.Took > 4*s.Length {
			t.Errorf("epoch %d took %v", e.Number, e.Took)
		}
	}
	if len(list) != 40 || calm < 4 || calm > 20 || faults < 40 {
		t.Errorf("%d epochs, %d of them calm, %d faults", len(list), calm, faults)
	}
}

func TestTheSameSoakIsTheSameToTheByte(t *testing.T) {
	write := func() string {
		s := soakOf(t, quietLock, checker.ExclusiveLease)
		var out bytes.Buffer
		made(t, s, 3, 12, func(e *explore.Epoch) {
			if err := history.Encode(&out, e.History); err != nil {
				t.Fatal(err)
			}
		})
		return out.String()
	}
	if a, b := write(), write(); a != b || len(a) < 1000 {
		t.Errorf("two soaks differ, of %d and %d bytes", len(a), len(b))
	}
}

// A lock whose key has no end, and whose owner is killed, can be had by nobody from then on: each epoch says that, and nothing else.
func TestAnOrphanOfAnEarlierEpochIsNotHeldAgainstALaterOne(t *testing.T) {
	s := soakOf(t, "lock: {algorithm: setnx-pexpire, ttl: 1s, retry: {attempts: 5, delay: 100ms}}\n"+
		"nodes: {count: 1, persistence: aof-always}\n"+
		"workload: {clients: 2, think: 200ms, start: together}\ngrant_within: 2s\nfaults: {}\n",
		checker.ExclusiveLease, checker.OwnerRelease, checker.NoOrphanLock, checker.BackedGrant)
	s.Kinds = []string{"kill"}
	waited, found := 0, 0
	for _, e := range made(t, s, 0, 40, nil) {
		if len(e.Waited) > 0 {
			waited++
		}
		if len(e.Found) == 0 {
			continue
		}
		found++
		if len(e.Violated(false)) > 0 {
			t.Errorf("epoch %d has found %q, and violated %v", e.Number, e.Found, e.Violated(false))
		}
		for i := range e.Verdicts {
			if f := &e.Verdicts[i]; f.Property != checker.ExclusiveLease && f.Verdict != checker.Unknown {
				t.Errorf("epoch %d has found %q, and judged %s", e.Number, e.Found, f.Property)
			}
		}
	}
	if waited == 0 || found == 0 {
		t.Errorf("%d epochs in which somebody waited in vain, %d with keys of an earlier one", waited, found)
	}
}

func TestAFindOfASoakRepeatsFromWhereItsLifeBegan(t *testing.T) {
	s := soakOf(t, quietLock, checker.ExclusiveLease)
	s.Kinds = []string{"clock", "kill", "flush"}
	var hit explore.Epoch
	var plan explore.Plan
	for _, e := range made(t, s, 0, 60, nil) {
		if hit.Number == 0 && len(e.Violated(true)) > 0 {
			hit, plan = e, e.Plan
		}
	}
	if hit.Number == 0 {
		t.Fatal("nothing was found")
	}
	again := made(t, s, hit.Life, hit.Number+1-hit.Life, nil)
	last := &again[len(again)-1]
	if last.Number != hit.Number || !slices.Equal(last.Violated(true), hit.Violated(true)) {
		t.Errorf("epoch %d violated %v, and again %v", hit.Number, hit.Violated(true), last.Violated(true))
	}
	violates := func(e *explore.Epoch) bool { return slices.Contains(e.Violated(true), checker.ExclusiveLease) }
	if n, err := s.Needed(t.Context(), hit.Number, hit.Number+1, violates); err != nil || n == 0 {
		t.Errorf("it needs %d epochs: %v", n, err)
	}
	alone, err := s.Alone(t.Context(), &plan)
	if err != nil || len(alone) == 0 {
		t.Skipf("alone it violates %v: %v", alone, err)
	}
	small, err := s.ShrinkEpoch(t.Context(), &plan, explore.Found{Class: string(alone[0]), Property: alone[0]})
	if err != nil || small.Failed != nil || len(small.Setup.Faults.List) > small.From {
		t.Errorf("shrunk to %d of %d faults: %v, %v", len(small.Setup.Faults.List), small.From, small.Failed, err)
	}
}

func TestTheMemoryOfASoakDoesNotGrow(t *testing.T) {
	s := soakOf(t, quietLock, checker.ExclusiveLease, checker.LinearizableResource)
	s.Kinds = survived
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	var early, late uint64
	made(t, s, 0, 220, func(e *explore.Epoch) {
		switch e.Number {
		case 20:
			early = heap()
		case 219:
			late = heap()
		}
	})
	if most := early + early/2 + 4<<20; late > most {
		t.Errorf("%d bytes after 20 epochs, %d after 220", early, late)
	}
}

func TestASoakEndsWhenItIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := soakOf(t, quietLock, checker.ExclusiveLease)
	epochs := 0
	s.Told = func(*explore.Epoch) error {
		if epochs++; epochs == 3 {
			cancel()
		}
		return nil
	}
	if err := s.Run(ctx, 0, 1000); err != nil || epochs != 3 {
		t.Errorf("%d epochs: %v", epochs, err)
	}
}
