package app

import (
	"context"
	"runtime/debug"
	"slices"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/explore"
	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

// lockMistakes are those that a search finds from nothing but the lock (scripts/virtual-detection.sh), and what shows them. All are there
// that lie in an extension, in forgetting or in giving up, but for own_thread: it needs work that keeps the program busy, by which every
// lock fails whose renewal is a timer of an event loop.
var lockMistakes = []struct {
	lock, rule string
	by         []checker.Property
}{
	{"redlock", "quorum", []checker.Property{checker.ExclusiveLease, checker.BackedGrant, checker.HolderServed, checker.OrderedTokens}},
	{"redlock", "recheck_elapsed", []checker.Property{checker.ExclusiveLease, checker.HolderServed}},
	{"redlock", "release", []checker.Property{checker.ExclusiveLease, checker.OwnerRelease, checker.ToldAtRelease}},
	{"redlock", "value", []checker.Property{checker.ExclusiveLease, checker.BackedGrant}},
	{"redlock", "node_error", []checker.Property{checker.MinorityTolerant}},
	{"redlock", "clean_up", []checker.Property{checker.DeadlockFree, checker.MinorityTolerant, checker.NothingStays}},
	{"redlock", "release_answer", []checker.Property{checker.ToldAtRelease}},
	{"redlock", "extend_needs_quorum", []checker.Property{checker.ExclusiveLease, checker.HolderServed, checker.ToldWhenLost}},
	{"redlock", "extend_enough", []checker.Property{checker.NoFalseAlarm}},
	{"set-nx-px", "extend", []checker.Property{checker.NoResurrection}},
	{"set-nx-px", "renewal_keeps", []checker.Property{checker.ExclusiveLease}},
	{"set-nx-px", "renewal_ttl", []checker.Property{checker.ExclusiveLease}},
	{"set-nx-px", "renewal_compares", []checker.Property{checker.ExclusiveLease, checker.NoResurrection, checker.OwnerRelease}},
	{"set-nx-px", "give_up", []checker.Property{checker.ExclusiveLease, checker.BackedGrant}},
	{"watchdog", "renewal", []checker.Property{checker.StaysHeld}},
	{"watchdog", "renewal_keeps", []checker.Property{checker.ExclusiveLease, checker.StaysHeld}},
	{"watchdog", "renewal_ttl", []checker.Property{checker.ExclusiveLease, checker.StaysHeld}},
	{"watchdog", "renewal_compares", []checker.Property{checker.ExclusiveLease, checker.NoResurrection, checker.OwnerRelease}},
	{"watchdog", "extend", []checker.Property{checker.NoResurrection}},
	{"watchdog", "stop_renewal", []checker.Property{checker.NoOrphanLock, checker.DeadlockFree, checker.NothingStays}},
	{"set-ifeq", "renewal_ends", []checker.Property{checker.NoOrphanLock, checker.DeadlockFree, checker.NothingStays}},
	{"hash-field", "renewal_ends", []checker.Property{checker.NoOrphanLock, checker.DeadlockFree, checker.NothingStays}},
	{"delifeq", "value", []checker.Property{checker.ExclusiveLease, checker.BackedGrant}},
	{"redlock-extend", "extend_needs_quorum", []checker.Property{checker.ExclusiveLease, checker.HolderServed}},
	{"set-nx-px", "token_after_grant", []checker.Property{checker.HolderServed, checker.OrderedTokens}},
	{"reentrant", "entries", []checker.Property{checker.ExclusiveLease}},
	{"reentrant", "holder", []checker.Property{checker.ExclusiveLease, checker.BackedGrant}},
	{"set-nx-wait", "check_wait", []checker.Property{checker.ExclusiveLease}},
}

// Who waits for a lock that renews itself waits for the end of a section, which lasts longer than the TTL.
func TestLockIsGrantedAfterASection(t *testing.T) {
	ready := program.Ready{Class: program.Single, Can: []program.Ability{program.Renews}, TTLMin: 5000}
	s, err := withLock(&scenario.StandIn{Program: &lock.Program{Command: []string{"x"}}, Ready: ready}, nil, nil, request.Virtual, "")
	if err != nil {
		t.Fatal(err)
	}
	if setup := &s.Variants[0].Setup; setup.GrantWithin <= setup.Workload.Think || setup.Workload.Think <= setup.Lock.TTL {
		t.Errorf("TTL %v, a section of %v, granted within %v", setup.Lock.TTL, setup.Workload.Think, setup.GrantWithin)
	}
}

// lockSearch is a search as sim search --lock makes it for a lock of ours behind the lock protocol, with models in the place of servers.
func lockSearch(tb testing.TB, name string, switches ...string) explore.Search {
	tb.Helper()
	c, err := BuiltIn(name, switches)
	if err != nil {
		tb.Fatal(err)
	}
	a, _ := lock.Lookup(name)
	own := scenario.NewBuiltIn(c, "")
	topology := ""
	if a.Replicas {
		topology = program.Replicated
	}
	s, err := withLock(own, nil, nil, request.Virtual, topology)
	if err != nil {
		tb.Fatal(err)
	}
	setup := &s.Variants[0].Setup
	of := explore.Search{Scenario: s, Variant: s.Variants[0].Name, Ready: &own.Ready, Workers: 2, Real: &explore.Real{Own: true},
		Properties: lockProperties(&own.Ready, setup, a.Replicas)}
	drawFor(&of, &request.Search{Lock: name}, setup)
	allows, inside := of.Allows, lock.PointsOn(append(a.Points, lock.PointBeforeToken, lock.PointToken), lock.MostNodes)
	of.Allows = func(f *scenario.Fault) bool { // a program's points are not known
		return allows(f) && (f.On == nil || !slices.Contains(inside, f.On.Point))
	}
	if of.Real.Commands, err = of.Commands(context.Background()); err != nil {
		tb.Fatal(err)
	}
	return of
}

// firstFound is after how many runs a mistake shows by one of the properties that it breaks; 0: not within as many.
func firstFound(tb testing.TB, n int, first, most uint64) uint64 {
	tb.Helper()
	m := lockMistakes[n]
	s := lockSearch(tb, m.lock, m.rule)
	s.First, s.Seeds, s.StopAt = first, most, 1
	r, err := s.Run(context.Background())
	if err != nil {
		tb.Fatal(err)
	}
	if len(r.Found) == 0 {
		return 0
	}
	if f := r.Found[0]; !slices.Contains(m.by, f.Property) {
		tb.Errorf("%s without %s: run %d violates %s, want %v", m.lock, m.rule, f.Run, f.Property, m.by)
	}
	return r.Found[0].Run + 1
}

// A search for a lock, of which nothing but its name is said, finds each mistake. With lock programs and real servers a minute has some
// hundred runs.
func TestLockSearchFinds(t *testing.T) {
	for n, m := range lockMistakes {
		for i := range uint64(suite.Amount(t, 20, 2)) {
			if found := firstFound(t, n, i<<32, 2000); found == 0 {
				t.Errorf("%s without %s: search %d found nothing in 2000 runs", m.lock, m.rule, i)
			}
		}
	}
}

// TestLockSearchSpares: none of the locks without a mistake is accused.
func TestLockSearchSpares(t *testing.T) {
	for _, name := range []string{"redlock", "watchdog", "redlock-extend", "set-nx-px", "set-nx-wait", "set-ifeq", "delifeq", "hash-field"} {
		s := lockSearch(t, name)
		s.Seeds = uint64(suite.Amount(t, 10_000, 300))
		r, err := s.Run(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if r.Runs != s.Seeds || r.Violations() > 0 || r.Failed > 0 {
			t.Errorf("%s: %d runs, %v, %d failed: %s", name, r.Runs, r.Classes, r.Failed, r.Failure)
		}
	}
}

// BenchmarkLockSearch has the runs to the first violation of each mistake, in 64 searches.
func BenchmarkLockSearch(b *testing.B) {
	defer debug.SetGCPercent(debug.SetGCPercent(runsLeaveLittle))
	const searches, patience = 64, 4000
	for n, m := range lockMistakes {
		b.Run(m.lock+"/"+m.rule, func(b *testing.B) {
			for b.Loop() {
				var all []uint64
				total := uint64(0)
				for i := range uint64(searches) {
					runs := firstFound(b, n, i<<32, patience)
					if runs == 0 {
						runs = patience
					}
					all, total = append(all, runs), total+runs
				}
				slices.Sort(all)
				b.ReportMetric(float64(total)/searches, "runs/found")
				b.ReportMetric(float64(all[searches*9/10]), "runs/90%")
				b.ReportMetric(float64(all[searches-1]), "most-runs")
			}
		})
	}
}
