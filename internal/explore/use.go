package explore

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/scenario/workload"
)

// use is how the clients of a run use the lock: what they do in a section and at its end, and how long they wait for the lock.
type use struct {
	workload workload.Plan
	retry    lock.Retry
	// within is GrantWithin, see bound.
	within time.Duration
}

func useOf(s *scenario.Setup) use { return use{s.Workload, s.Lock.Retry, s.GrantWithin} }

// bound lets it take longer until the lock is granted than in another use of it: others wait until a section is over, and a lease that
// nobody gives back may last for a TTL longer than its client was promised, where its extension was answered late or never.
func (u *use) bound(own *use, ttl time.Duration) {
	u.within = own.within + max(u.workload.Think, ttl) - max(own.workload.Think, ttl)
	if u.workload.Leave != own.workload.Leave {
		u.within += ttl
	}
}

func (u *use) apply(s *scenario.Setup) {
	s.Workload, s.Lock.Retry, s.GrantWithin = u.workload, u.retry, u.within
}

// use is how clients use the lock in the scenario.
func (s *Search) use() (use, error) {
	setup, err := s.setup()
	if err != nil {
		return use{}, err
	}
	return useOf(setup), nil
}

// uses are the other uses of the setup's lock that a scenario can say, of a lock that can do what they ask for: its clients extend it by
// hand, forget it or ask again at the end of a section or inside it, keep one lock object, share a process, or wait for
// less than a section.
func (s *Search) uses(setup *scenario.Setup) (list []use) {
	ready := s.Ready
	if ready == nil {
		if setup.Lock.Program != nil || setup.Workload.Workload().Pair {
			return nil
		}
		ours := scenario.Describe(setup.Lock, "")
		ready = &ours
		// Our locks share nothing in a process, but for a mistake that a scenario names beside its processes.
		ready.Can = slices.DeleteFunc(ready.Can, func(a program.Ability) bool { return a == program.IsSeveral })
	}
	own := useOf(setup)
	for _, u := range others(&own, ready, setup.Lock.TTL) {
		changed := *setup
		u.apply(&changed)
		if changed.NotApplicable(ready) == "" && writes(&changed) == nil {
			list = append(list, u)
		}
	}
	return list
}

// others are all combinations of what clients can do otherwise.
func others(own *use, ready *program.Ready, ttl time.Duration) (list []use) {
	ways := []workload.Leave{workload.LeavesReleased, workload.LeavesHeld}
	if ready.Has(program.Forgets) && ready.Class == program.Single { // on several nodes a renewal under way goes on to the next one
		ways = append(ways, workload.LeavesForgotten)
	}
	for _, leave := range ways {
		for _, extends := range []bool{false, ready.Has(program.Extends)} {
			for _, hasty := range []bool{false, true} {
				u := *own
				if leave != workload.LeavesReleased && u.workload.Leave == workload.LeavesReleased {
					u.workload.Leave = leave
				}
				if extends && u.workload.Extend == 0 { // the first promise ends in a section
					u.workload.Extend, u.workload.Think = (ttl / 3).Truncate(time.Millisecond), max(u.workload.Think, ttl*17/10)
				}
				u.bound(own, ttl)
				if hasty {
					u.hurry()
				}
				// Who waits for itself waits for less than its lease, which nothing renews meanwhile.
				nests := hasty && !extends && leave == workload.LeavesReleased && !ready.Has(program.Renews)
				list = append(list, u.withObjects(ready)...)
				if u.workload.Nested = u.workload.Nested || nests; nests {
					list = append(list, u.withObjects(ready)...)
				}
			}
		}
	}
	if ready.Has(program.IsSeveral) && own.workload.Clients > 1 {
		list = append(list, own.inOneProcess(false), own.inOneProcess(true))
	}
	return without(list, *own)
}

// inOneProcess is the use by clients two of which share a process. hasty: they wait for less than a section.
func (u *use) inOneProcess(hasty bool) use {
	one := *u
	if hasty {
		one.hurry()
	}
	one.workload.PerProcess = max(one.workload.PerProcess, 2)
	return one
}

// hurry lets clients wait for less than a section.
func (u *use) hurry() {
	for u.retry.Attempts > 1 && u.retry.Longest() > u.workload.Think/2 {
		u.retry.Attempts = (u.retry.Attempts + 1) / 2
	}
}

// withObjects is the use, and, if the lock can do that, the same with one lock object for all that a client asks.
func (u *use) withObjects(ready *program.Ready) []use {
	if !ready.Has(program.KeepsOneObject) {
		return []use{*u}
	}
	one := *u
	one.workload.Object = workload.OneObject
	return []use{*u, one}
}

// without are the uses but one, each of them once.
func without(list []use, own use) (others []use) {
	for _, u := range list {
		if u != own && !slices.Contains(others, u) {
			others = append(others, u)
		}
	}
	return others
}

// usedBy is which of the uses the schedule of a seed has: in half of all runs the setup's own, 0.
func (d *drawer) usedBy(seed uint64) int {
	r := rand.New(rand.NewPCG(seed, 0x757365))
	if len(d.others) == 0 || r.IntN(2) == 0 {
		return 0
	}
	return 1 + r.IntN(len(d.others))
}

// with draws for the setup with a use.
func (d *drawer) with(use int) *drawer {
	if use == 0 {
		return d
	}
	return d.others[use-1]
}

// plainerUse lets clients use the lock as the scenario says where that does as well: in all, or in one thing after the other.
func (k *shrinker) plainerUse() {
	now, own := useOf(k.setup), k.own
	if own == (use{}) || now == own {
		return
	}
	own.workload.Clients, own.workload.Sections, own.workload.Start = now.workload.Clients, now.workload.Sections, now.workload.Start
	for _, change := range []func(*use){
		func(u *use) { *u = own },
		func(u *use) { u.retry = own.retry },
		func(u *use) { u.workload.Object = own.workload.Object },
		func(u *use) { u.workload.Nested = own.workload.Nested },
		func(u *use) { u.workload.PerProcess = own.workload.PerProcess },
		func(u *use) { u.workload.Leave = own.workload.Leave },
		func(u *use) { u.workload.Extend = own.workload.Extend },
		func(u *use) { u.workload.Extend, u.workload.Think = own.workload.Extend, own.workload.Think },
	} {
		before := useOf(k.setup)
		u := before
		change(&u)
		if u.bound(&own, k.setup.Lock.TTL); u != before {
			u.apply(k.setup)
			k.keep(func() { before.apply(k.setup) })
		}
	}
}
