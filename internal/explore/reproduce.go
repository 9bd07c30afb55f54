package explore

import (
	"reflect"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/nemesis"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/scenario/workload"
)

// otherSeeds is how many seeds beside the found one are tried, to see how far a
// violation depends on exact times.
const otherSeeds = 20

// stagger is how far apart processes may begin that are told to at once.
const stagger = 3 * time.Millisecond

// reproductions counts the other seeds that lead to the violation, where clients that start
// together do not do so in the same instant. It stops where it cannot reach least.
func (k *shrinker) reproductions(least int) (count int) {
	seed := k.found.Seed
	k.stagger = stagger
	defer func() { k.found.Seed, k.stagger = seed, 0 }()
	for i := 0; i < otherSeeds && count+otherSeeds-i >= least; i++ {
		k.found.Seed = seed + 1 + uint64(i)
		if k.violates() {
			count++
		}
	}
	return count
}

// raiseReproductions lets the violation depend less on exact times, so that it shows in the live
// world too, where no time is like another: it gives faults, and the clients in
// their sections, more time where that helps.
func (k *shrinker) raiseReproductions() (count int) {
	count = k.reproductions(0)
	try := func(d *time.Duration, values ...time.Duration) {
		for _, value := range values {
			if count == otherSeeds {
				return
			}
			before := *d
			*d = value
			if now := k.reproductions(count + 2); now >= count+2 && k.fails() {
				count = now
				continue
			}
			*d = before
		}
	}
	count = k.inTurn(count)
	count = k.restored(count)
	ttl := k.setup.Lock.Span()
	if k.setup.Workload.Think == 0 {
		try(&k.setup.Workload.Think, (ttl / 5).Round(10*time.Millisecond), (ttl / 2).Round(10*time.Millisecond))
	}
	count = k.inTurn(count) // who thinks for a while need not race any more
	for i := range k.setup.Faults.List {
		for _, d := range durations(reflect.ValueOf(k.setup.Faults.List[i].Params).Elem()) {
			try(d, 2**d, 4**d)
		}
	}
	return count
}

// inTurn lets clients that start together begin in turn, so that nobody races for
// the first grant: in the order of their names, or in that of their first grants.
func (k *shrinker) inTurn(count int) int {
	start := &k.setup.Workload.Start
	if *start != workload.Together {
		return count
	}
	faults, drawn := k.setup.Faults.List, k.drawn
	order := k.order()
	*start = workload.InTurn
	for _, rename := range []map[string]string{nil, order} {
		k.setup.Faults.List, k.drawn = renamed(faults, rename), renamed(drawn, rename)
		if now := k.reproductions(count); now >= count && k.fails() {
			return now
		}
	}
	*start, k.setup.Faults.List, k.drawn = workload.Together, faults, drawn
	return count
}

// order gives each client the name of its place in the order of first grants.
func (k *shrinker) order() map[string]string {
	names := scenario.ClientNames(k.setup.Workload.Clients)
	v, err := k.run(k.setup, k.found.Seed, nil)
	if err != nil {
		k.err = err
		return nil
	}
	var order []string
	for i := range v.history.Events {
		e := &v.history.Events[i]
		if e.F == history.Acquire && e.Type == history.OK && !slices.Contains(order, e.Process) {
			order = append(order, e.Process)
		}
	}
	for _, name := range names {
		if !slices.Contains(order, name) {
			order = append(order, name)
		}
	}
	to := make(map[string]string)
	for i, name := range order {
		to[name] = names[i]
	}
	return to
}

// renamed are the faults with other names for the clients.
func renamed(list []scenario.Fault, to map[string]string) []scenario.Fault {
	list = clone(list)
	rename := func(name *string) {
		if other, ok := to[*name]; ok {
			*name = other
		}
	}
	passing := func(p *nemesis.Passing) *nemesis.Passing {
		if p == nil {
			return nil
		}
		other := *p
		rename(&other.Client)
		rename(&other.To) // of an answer
		return &other
	}
	for i := range list {
		f := &list[i]
		parameters(reflect.ValueOf(f.Params).Elem(), func(name string, p any) {
			if client, ok := p.(*string); ok && name == "Client" {
				rename(client)
			}
		})
		if f.On != nil {
			f.On = &nemesis.On{Passing: *passing(&f.On.Passing), And: passing(f.On.And),
				Unless: passing(f.On.Unless), Since: passing(f.On.Since)}
		}
		f.Until = passing(f.Until)
	}
	return list
}

// restored puts faults back that make the violation depend less on exact times: without
// them it may need a race of microseconds.
func (k *shrinker) restored(count int) int {
	const enough, worth, most = otherSeeds * 3 / 4, otherSeeds / 5, 3
	for _, f := range k.drawn {
		before := k.setup.Faults.List
		if count >= enough || len(before) >= most {
			break
		}
		k.setup.Faults.List = append(slices.Clip(before), clone([]scenario.Fault{f})...)
		if now := k.reproductions(count + worth); now >= count+worth && k.fails() {
			count = now
			continue
		}
		k.setup.Faults.List = before
	}
	return count
}
