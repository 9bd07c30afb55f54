package explore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
)

// Live says how to search in real time: there runs are few, and do not repeat exactly.
type Live struct {
	// Seen is given the history of a run that violated something and hardly did so again, of a class the first ones; nil: nobody.
	Seen func(Found, *history.History) error
}

// Bounds of a search in real time.
const (
	// Showings is how often what was found must show again, in Repeats runs, to be believed.
	Showings, Repeats = 3, 10
	// slack is how much rarer a violation may be in Repeats runs of a smaller schedule.
	slack = 2
	// shrinksFor bounds how long a schedule is made smaller.
	shrinksFor = 2 * time.Minute
)

// stream runs without generations: what a run shows is put to use at once, and nobody waits for a slow run.
// So it depends on the machine, too, what the search does.
func (f *finder) stream(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var mu sync.Mutex
	next := f.state.Runs
	var group sync.WaitGroup
	for _, w := range f.workers {
		group.Go(func() {
			for {
				mu.Lock()
				if ctx.Err() != nil || f.Seeds > 0 && next >= f.Seeds {
					mu.Unlock()
					return
				}
				run := next
				next++
				lineage, s := w.plan(run)
				mu.Unlock()
				var out result
				err := w.carryOut(run, lineage, s, &out)
				mu.Lock()
				if err == nil && out.class != "" && f.wants(out.class) {
					mu.Unlock()
					err = w.repeat(&out)
					mu.Lock()
					if out.again < Showings && out.slow == "" && f.Live.Seen != nil {
						err = errors.Join(err, f.Live.Seen(out.found(), out.history))
					}
				}
				if out.lineage != nil { // what was seen counts, though the search ends
					f.take(&out)
					f.progress(0)
					err = errors.Join(err, f.save(false))
				}
				if more := f.failed.count(&out); err == nil {
					err = more
				}
				if err == nil && f.StopAt > 0 && f.state.proved() >= f.StopAt {
					err = errFound
				}
				mu.Unlock()
				if err != nil {
					cancel(err)
					return
				}
			}
		})
	}
	group.Wait()
	err := context.Cause(ctx)
	if f.state.GaveUp = errors.Is(err, errTooSlow); f.state.GaveUp || errors.Is(err, errFound) {
		return nil
	}
	return err
}

// wants reports that more violations of a class are worth something: until one shows every time.
func (f *finder) wants(class string) bool {
	count := 0
	for i := range f.state.Found {
		if k := &f.state.Found[i]; k.Class == class {
			if count++; k.Again == Repeats {
				return false
			}
		}
	}
	return count < keptPerClass
}

// repeat makes the run again that violated something. Where the search ends before that is done, the violation counts all the same, but
// not if it may be the machine's fault.
func (w *searcher) repeat(r *result) error {
	err := w.again(r)
	r.cutShort = err != nil && r.again < Showings
	if r.again >= Showings || !timely(r.class) {
		return err
	}
	if r.cutShort {
		r.slow = "a bound of time was broken, and the search ended before the same run was made anew"
	} else {
		r.slow = "a bound of time was broken, and not again in the same run made anew"
	}
	return err
}

// again makes the run again that violated something, and counts how often it does so. It stops where that
// proves nothing any more.
func (w *searcher) again(r *result) error {
	for i := range Repeats {
		if r.again+Repeats-i < Showings {
			return nil
		}
		v, err := w.bench.run(w.setup, r.seed, []checker.Property{r.property})
		if err != nil {
			return err
		}
		if v.shows(r.property, confirmed(r.class)) {
			r.again++
		}
	}
	return nil
}

// timely reports that all properties of a class bound how long something may take. If they do not break again, it may have
// been the machine that was slow.
func timely(class string) bool {
	c := Class{Name: class}
	return !slices.ContainsFunc(c.Properties(), func(p checker.Property) bool { return !p.Timely() })
}

// near is a schedule that violated something, and how often it did so again.
type near struct {
	entry
	class string
	again int
}

// approach keeps a schedule that violated something, until one of its class is proved.
func (f *finder) approach(r *result) {
	proved := func(class string) bool {
		return slices.ContainsFunc(f.state.Found, func(k Found) bool { return k.Class == class && k.Proved() })
	}
	if r.class != "" && len(r.lineage) < mostGenerations {
		f.near = append(f.near, near{entry{lineage: r.lineage, schedule: r.schedule}, r.class, r.again})
	}
	f.near = slices.DeleteFunc(f.near, func(n near) bool { return proved(n.class) })
}

// nearest is one of them, rather one that did so more often.
func (f *finder) nearest(r *rand.Rand) *near {
	best := &f.near[r.IntN(len(f.near))]
	if other := &f.near[r.IntN(len(f.near))]; other.again > best.again {
		best = other
	}
	return best
}

// proved is how many of the violations found show again and again.
func (s *State) proved() (n int) {
	for i := range s.Found {
		if s.Found[i].Proved() {
			n++
		}
	}
	return n
}

// errFound says that enough was found.
var errFound = errors.New("enough was found")

// benches run setups side by side.
type benches struct {
	list  []*bench
	found *Found
	runs  int
}

// hits runs a setup several times, and counts how often it shows what was found. It stops where it cannot
// reach least any more.
func (p *benches) hits(setup *scenario.Setup, times, least int) (count int, err error) {
	var mu sync.Mutex
	made, missed := 0, 0
	var group sync.WaitGroup
	for _, b := range p.list {
		group.Go(func() {
			own := *setup
			own.Faults.List = clone(setup.Faults.List)
			for {
				mu.Lock()
				over := err != nil || made == times || times-missed < least
				if !over {
					made++
				}
				mu.Unlock()
				if over {
					return
				}
				v, failed := b.run(&own, p.found.Seed, []checker.Property{p.found.Property})
				mu.Lock()
				if err == nil {
					err = failed
				}
				if p.runs++; v.shows(p.found.Property, p.found.Confirmed()) {
					count++
				} else {
					missed++
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	return count, err
}

// ShrinkLive makes of each class the schedule smaller that showed the violation most often: a smaller one
// is taken only if it shows it about as often. One that hardly shows again comes back as it was found, with
// Failed; so does one that the context left no time for.
func (s Search) ShrinkLive(ctx context.Context, found []Found) (kept []*Shrunk, err error) {
	pool := &benches{}
	for range max(s.Workers, 1) {
		b := s.bench(ctx)
		defer b.close()
		pool.list = append(pool.list, b)
	}
	for len(found) > 0 {
		class := found[0].Class
		var of []Found
		found = slices.DeleteFunc(slices.Clone(found), func(f Found) bool {
			if f.Class == class {
				of = append(of, f)
			}
			return f.Class == class
		})
		one, err := s.shrinkClass(ctx, pool, of)
		if err != nil {
			return kept, err
		}
		kept = append(kept, one)
	}
	return kept, nil
}

func (s Search) shrinkClass(ctx context.Context, pool *benches, of []Found) (*Shrunk, error) {
	setup, f, err := s.mostShown(pool, of)
	if err != nil {
		return nil, err
	}
	best := &Shrunk{Found: f, Setup: *setup, From: len(setup.Faults.List), Robust: f.Again, OtherSeeds: Repeats, Live: true}
	if !f.Proved() {
		best.Failed = fmt.Errorf("it hardly shows again: in fewer than %d of %d runs", Showings, Repeats)
		if f.CutShort {
			best.Failed = errors.New("the search was interrupted before it was repeated")
		}
		return best, nil
	}
	pool.found, pool.runs = &f, 0
	if err = s.shrinkLive(pool, best); ctx.Err() != nil {
		best.Failed, err = errors.New("the search was interrupted"), nil
	}
	best.Runs = pool.runs
	return best, err
}

// mostShown is what of a class showed again most often. What the end of the search left no time to repeat is repeated now.
func (s Search) mostShown(pool *benches, of []Found) (setup *scenario.Setup, most Found, err error) {
	byShown := func(a, b Found) int { return a.Again - b.Again }
	for i := range of {
		f := &of[i]
		if !f.CutShort || slices.ContainsFunc(of, func(f Found) bool { return f.Proved() }) {
			continue
		}
		if setup, err = s.found(*f); err != nil {
			return nil, most, err
		}
		s.phase("%s: again?", f.Property)
		pool.found = f
		count, err := pool.hits(setup, Repeats, Showings)
		if errors.Is(err, context.Canceled) {
			break
		}
		if err != nil {
			return nil, most, err
		}
		f.Again, f.CutShort = count, false
	}
	most = slices.MaxFunc(of, byShown)
	setup, err = s.found(most)
	return setup, most, err
}

// shrinkLive makes what was found smaller.
func (s Search) shrinkLive(pool *benches, best *Shrunk) error {
	deadline := time.Now().Add(shrinksFor)
	setup := best.Setup
	setup.Faults.List = clone(best.Setup.Faults.List)
	least := max(Showings, best.Robust-slack)
	own, err := s.use()
	if err != nil {
		return err
	}
	k := &shrinker{bench: pool.list[0], found: best.Found, own: own}
	k.reducer = reducer{setup: &setup, fails: func() bool {
		if k.err != nil || time.Now().After(deadline) || setup.CheckFaults(0) != nil || writes(&setup) != nil {
			return false
		}
		s.phase("%s: shorter? %d runs, %d faults", best.Property, pool.runs, len(setup.Faults.List))
		var count int
		count, k.err = pool.hits(&setup, Repeats, least)
		return count >= least
	}}
	k.shrink()
	if k.err == nil && k.accepted > 0 {
		var count int
		// Those that were lucky were taken. What is told is measured anew.
		if count, k.err = pool.hits(&setup, Repeats, 0); count >= Showings {
			best.Setup, best.Robust = setup, count
		}
	}
	return k.err
}

// virtualSeeds is how many seeds are tried for a schedule in the virtual world.
const virtualSeeds = 200

// InVirtual looks for a schedule of the live world in the virtual one, where a violation repeats for certain; nil:
// it does not show there. setup has a built-in lock.
func InVirtual(ctx context.Context, setup *scenario.Setup, found Found) (*Shrunk, error) {
	b := newBench(ctx, "virtual", nil)
	defer b.close()
	own := *setup
	own.Faults.List = clone(setup.Faults.List)
	k := &shrinker{bench: b, found: found, drawn: clone(setup.Faults.List)}
	k.reducer = reducer{setup: &own, fails: k.stillFails}
	for seed := range uint64(virtualSeeds) {
		k.found.Seed = seed
		if !k.fails() {
			continue
		}
		k.shrink()
		out := &Shrunk{Found: k.found, From: len(setup.Faults.List)}
		out.Robust, out.OtherSeeds = k.raiseReproductions(), otherSeeds
		out.Setup, out.Runs = own, k.runs
		return out, k.err
	}
	return nil, k.err
}
