package explore

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/scenario/workload"
)

// TestUsesAreWhatTheLockCan: clients are drawn that extend a lock, or forget it, if it says that it can; and none that wait for ever.
func TestUsesAreWhatTheLockCan(t *testing.T) {
	const text = "name: test\nnodes: {count: 1}\nworkload: {clients: 2, sections: 3, think: 500ms}\n"
	for _, test := range []struct {
		lock             string
		ready            *program.Ready
		extends, forgets bool
		held             bool
		uses             int
	}{
		{"{algorithm: set-nx-px}", nil, true, false, true, 8},
		{"{algorithm: watchdog}", nil, false, true, false, 3},
		{"{algorithm: setnx-del}", nil, false, false, true, 4},
		{"{program: {command: [x]}}", nil, false, false, false, 0},
		{"{program: {command: [x]}}", &program.Ready{Class: program.Single}, false, false, true, 4},
		{"{program: {command: [x]}}", &program.Ready{Class: program.Single, Can: []program.Ability{program.Extends, program.Forgets}},
			true, true, true, 12},
		{"{program: {command: [x]}}", &program.Ready{Class: program.Single, Can: []program.Ability{program.IsSeveral}}, false, false, true, 6},
	} {
		s := Search{Scenario: parse(t, text+"lock: "+test.lock+"\n"), Variant: scenario.DefaultVariant, Ready: test.ready}
		setup, err := s.setup()
		if err != nil {
			t.Fatal(err)
		}
		list := s.uses(setup)
		for _, u := range list {
			if leavesLess(u, useOf(setup), setup.Lock.TTL) {
				t.Errorf("%s: %+v: the lock is to be granted within less after it than in the scenario", test.lock, u)
			}
		}
		leaves := func(l workload.Leave) bool {
			return slices.ContainsFunc(list, func(u use) bool { return u.workload.Leave == l })
		}
		extends := slices.ContainsFunc(list, func(u use) bool { return u.workload.Extend > 0 })
		if extends != test.extends || leaves(workload.LeavesForgotten) != test.forgets || leaves(workload.LeavesHeld) != test.held ||
			len(list) != test.uses {
			t.Errorf("%s, %+v: %d uses: %+v", test.lock, test.ready, len(list), list)
		}
	}
}

// leavesLess reports that a use leaves others less time to be granted the lock after a section than another one.
func leavesLess(u, than use, ttl time.Duration) bool {
	left := func(u use) time.Duration { return u.within - max(u.workload.Think, ttl) }
	return left(u) < left(than)
}

// TestShrunkUsesTheLockPlainly: what is found has clients that extend the lock where nothing else shows it, and not otherwise.
func TestShrunkUsesTheLockPlainly(t *testing.T) {
	for _, test := range []struct {
		rule     string
		property checker.Property
		extends  bool
	}{
		{"renewal_keeps: false", checker.ExclusiveLease, true},
		{"release: delete", checker.ExclusiveLease, false},
	} {
		s := Search{Scenario: parse(t, "name: test\nnodes: {count: 1}\nlock: {algorithm: set-nx-px, switches: {"+test.rule+"}}\n"+
			"workload: {clients: 2, sections: 3, think: 500ms}\n"), Variant: scenario.DefaultVariant,
			Properties: []checker.Property{test.property}, Drawing: Drawing{Kinds: []string{"pause"}}, Seeds: 300}
		r := search(t, s)
		plain, most := 0, 0
		for _, f := range r.Found {
			setup, err := s.found(f)
			if err != nil {
				t.Fatal(err)
			}
			own, err := s.use()
			if err != nil {
				t.Fatal(err)
			}
			drawn := useOf(setup) != own
			k, err := s.Shrink(context.Background(), f)
			if err != nil || k.Failed != nil {
				t.Fatal(err, k.Failed)
			}
			if shrunk := useOf(&k.Setup); leavesLess(shrunk, own, setup.Lock.TTL) {
				t.Errorf("%s: the lock is to be granted within less after a section than in the scenario: %+v", test.rule, shrunk)
			}
			if drawn {
				most++
			}
			if w := k.Setup.Workload; w.Extend > 0 {
				w.Extend = 0
				plainer := k.Setup
				plainer.Workload = w
				if v := runOnce(t, &plainer, k.Seed, k.Property); v.violated(k.Property) {
					t.Errorf("%s: clients extend the lock in vain: %+v", test.rule, useOf(&k.Setup))
				}
			} else if drawn {
				plain++
			}
			failsFromFile(t, k)
		}
		if most == 0 || test.extends && plain > 0 || !test.extends && plain < most*3/4 {
			t.Errorf("%s: %d of %d have clients that extend nothing", test.rule, plain, most)
		}
	}
}

func runOnce(t *testing.T, setup *scenario.Setup, seed uint64, p checker.Property) verdicts {
	t.Helper()
	b := newBench(context.Background(), "once", nil)
	defer b.close()
	v, err := b.run(setup, seed, []checker.Property{p})
	if err != nil {
		t.Fatal(err)
	}
	return v
}
