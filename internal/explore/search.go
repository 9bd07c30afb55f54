package explore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
)

// Search says what to search.
type Search struct {
	// Scenario and Variant are what the random faults come on top of; where
	// Bare is set, they take the place of the scenario's own.
	Scenario *scenario.Scenario
	Variant  string
	Bare     bool
	// Kinds are the kinds of faults allowed; none: all that can be drawn.
	Kinds []string
	// Properties are those whose violation counts.
	Properties []checker.Property
	// First is the first seed, Seeds how many to try at most; 0: no bound.
	First, Seeds uint64
	// StopAt ends the search after so many violations; 0: never.
	StopAt int
	// Workers is how many run at once.
	Workers int
	// Progress is called now and then; nil: nobody.
	Progress func(Report)
}

// Report is what a search has found so far.
type Report struct {
	Runs uint64
	// Behaviours is how many different ones were seen.
	Behaviours int
	// Classes counts the runs by the properties that they violated.
	Classes []Class
	// Found are the first violations of each class, by seed.
	Found []Found
}

// Violations is how many runs violated something.
func (r *Report) Violations() (n uint64) {
	for _, c := range r.Classes {
		n += c.Runs
	}
	return n
}

// Class is a set of properties that runs violated together.
type Class struct {
	Name string
	Runs uint64
}

// Found is a violation that a seed led to.
type Found struct {
	Seed  uint64
	Class string
	// Property is the strongest of the class.
	Property checker.Property
}

// keptPerClass is how many violations of each class are kept.
const keptPerClass = 8

// Run searches until the context ends, the seeds are used up or enough was
// found. What was found comes back in any case.
func (s Search) Run(ctx context.Context) (Report, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	f := &finder{Search: s, cancel: cancel, seen: make(map[uint64]struct{}), classes: make(map[string]*Class)}
	if len(f.Kinds) == 0 {
		f.Kinds = Kinds()
	}
	var wg sync.WaitGroup
	for range max(s.Workers, 1) {
		wg.Go(func() {
			if err := f.work(ctx); err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
				f.fail(err)
			}
		})
	}
	wg.Wait()
	return f.report(), f.err
}

// finder is a search in progress.
type finder struct {
	Search
	cancel context.CancelFunc
	// next is the next seed, counted from 0.
	next atomic.Uint64

	mu      sync.Mutex
	runs    uint64
	seen    map[uint64]struct{}
	classes map[string]*Class
	found   []Found
	err     error
}

func (f *finder) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = errors.Join(f.err, err)
	f.cancel()
}

// batch is how many seeds a worker takes at once.
const batch = 64

func (f *finder) work(ctx context.Context) error {
	// Faults keep state while they are in force, so each worker has its own.
	setup, err := f.setup()
	if err != nil {
		return err
	}
	b := newBench(ctx, f.Scenario.Name)
	defer b.close()
	d := newDrawer(setup, f.Kinds)
	own := setup.Faults.List
	for ctx.Err() == nil {
		from := f.next.Add(batch) - batch
		for n := from; n < from+batch; n++ {
			if f.Seeds > 0 && n >= f.Seeds {
				return nil
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
			seed := f.First + n
			setup.Faults.List = slices.Concat(own, d.draw(seed))
			v, err := b.run(setup, seed, f.Properties)
			if err != nil {
				return err
			}
			f.take(seed, v)
		}
	}
	return ctx.Err()
}

// setup is the variant's, fresh.
func (s Search) setup() (*scenario.Setup, error) {
	fresh, err := scenario.Parse(s.Scenario.File, []byte(s.Scenario.Text))
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(fresh.Variants, func(v scenario.Variant) bool { return v.Name == s.Variant })
	if i < 0 {
		return nil, fmt.Errorf("no variant %q", s.Variant)
	}
	setup := &fresh.Variants[i].Setup
	setup.Faults.Mix = nil
	if s.Bare {
		setup.Faults.List = nil
	}
	return setup, nil
}

// take notes what came of a seed.
func (f *finder) take(seed uint64, v verdicts) {
	hash := behaviour(v.history)
	var names []string
	var strongest checker.Property
	for _, p := range f.Properties {
		if v.violated(p) {
			names = append(names, string(p))
			if strongest == "" {
				strongest = p
			}
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.runs++
	f.seen[hash] = struct{}{}
	if len(names) > 0 {
		class := strings.Join(names, " + ")
		c := f.classes[class]
		if c == nil {
			c = &Class{Name: class}
			f.classes[class] = c
		}
		if c.Runs++; c.Runs <= keptPerClass {
			f.found = append(f.found, Found{Seed: seed, Class: class, Property: strongest})
		}
		if total := f.violations(); f.StopAt > 0 && total >= uint64(f.StopAt) {
			f.cancel()
		}
	}
	if f.Progress != nil && f.runs%256 == 0 {
		f.Progress(f.unlocked())
	}
}

func (f *finder) violations() (n uint64) {
	for _, c := range f.classes {
		n += c.Runs
	}
	return n
}

func (f *finder) report() Report {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.unlocked()
}

func (f *finder) unlocked() Report {
	r := Report{Runs: f.runs, Behaviours: len(f.seen), Found: slices.Clone(f.found)}
	for _, c := range f.classes {
		r.Classes = append(r.Classes, *c)
	}
	slices.SortFunc(r.Classes, func(a, b Class) int {
		if a.Runs != b.Runs {
			return int(b.Runs) - int(a.Runs)
		}
		return strings.Compare(a.Name, b.Name)
	})
	slices.SortFunc(r.Found, func(a, b Found) int {
		if a.Class != b.Class {
			return strings.Compare(a.Class, b.Class)
		}
		return int(a.Seed) - int(b.Seed)
	})
	return r
}
