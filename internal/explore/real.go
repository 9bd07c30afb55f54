package explore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/runner"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
)

// Real says how to search among real servers: there runs are few, and do not repeat exactly.
type Real struct {
	// Commands are names of those that clients send to nodes: faults strike messages of these kinds, too.
	Commands []string
	// Own: the lock is one of ours, and its word is believed.
	Own bool
	// Seen is given the history of a run that violated something and hardly did so again, of a class the first ones; nil: nobody.
	Seen func(Found, *history.History) error
	// Phase is told what is done with what was found; nil: nobody.
	Phase func(string)
}

// Bounds of a search among real servers.
const (
	// mostFailures is how many runs may fail one after the other.
	mostFailures = 20
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
	f.state.Commands = f.Real.Commands
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var mu sync.Mutex
	next := f.state.Runs
	var failed inRow
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
					if out.again < Showings && out.slow == "" && f.Real.Seen != nil {
						err = errors.Join(err, f.Real.Seen(out.found(), out.history))
					}
				}
				if out.lineage != nil { // what was seen counts, though the search ends
					f.take(&out)
					f.progress(0)
					err = errors.Join(err, f.save(false))
				}
				if more := failed.count(&out); err == nil {
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

// inRow is how many runs failed one after the other: those for which the machine was too slow, and the others.
type inRow struct{ slow, others int }

// count counts a run, and says why the search must end if too many failed.
func (n *inRow) count(r *result) error {
	switch {
	case r.failed == nil:
		*n = inRow{}
		return nil
	case r.slow != "":
		n.slow++
	default:
		n.others++
	}
	if n.slow == mostFailures {
		return errTooSlow
	}
	if n.others == mostFailures {
		return &LockError{fmt.Errorf("%d runs failed one after the other, the last: %w", mostFailures, r.failed)}
	}
	return nil
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

// errTooSlow says that the machine is too slow for one run after the other.
var errTooSlow = errors.New("the machine is too slow")

// SlowError says that the machine is too slow for a search.
type SlowError struct{ Why string }

func (e *SlowError) Error() string {
	return "this machine is too slow for a run without faults: " + e.Why
}

// LockError says that a lock cannot be searched: runs with it fail, or show nothing.
type LockError struct{ Err error }

func (e *LockError) Error() string { return e.Err.Error() }

// Unwrap returns what is wrong.
func (e *LockError) Unwrap() error { return e.Err }

// Commands makes a run without faults, and returns the names of the commands that clients sent to
// nodes.
func (s Search) Commands(ctx context.Context) ([]string, error) {
	setup, err := s.setup()
	if err != nil {
		return nil, err
	}
	b := s.bench(ctx)
	defer b.close()
	setup.Commands, setup.Faults.List = true, nil
	out, err := b.place.Run(ctx,
		runner.Config{Scenario: b.name, Variant: scenario.Variant{Name: scenario.DefaultVariant, Setup: *setup}, Seed: s.First})
	switch {
	case err != nil && out.TooSlow != "":
		return nil, &SlowError{out.TooSlow}
	case err != nil:
		return nil, &LockError{fmt.Errorf("a run without faults failed: %w", err)}
	case out.Interrupted:
		return nil, context.Canceled
	}
	var names []string
	granted, seen := false, out.History.Header.Program == ""
	for i := range out.History.Events {
		e := &out.History.Events[i]
		granted = granted || e.F == history.Acquire && e.Type == history.OK
		seen = seen || e.F == history.KeySet || e.F == history.KeyUnclear
		if c := e.Value.Command(); e.F == history.Sent && c != nil && !c.Opens {
			names = append(names, c.Name)
		}
	}
	switch {
	case !granted && out.TooSlow != "":
		return nil, &SlowError{out.TooSlow}
	case !granted:
		return nil, &LockError{errors.New("in a run without faults nobody was granted the lock")}
	case !seen:
		return nil, &LockError{errors.New("in a run without faults the lock was granted, but no node saw one of its keys: " +
			"nothing that it does could be judged. The program must tell the keys that it writes (keys, in ready)")}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// wordAlone marks a class of which the nodes do not confirm some property: the lock's word alone is no proof.
const wordAlone = ", by the lock's word alone"

// unconfirmed reports that the nodes do not confirm a violation of a lock program.
func unconfirmed(findings []checker.Finding, h *history.History) bool {
	return h.Header.Program != "" && slices.ContainsFunc(findings, func(f checker.Finding) bool {
		ok, _ := checker.Confirmed(h, f.Property, f.Counterexample)
		return f.Verdict == checker.Violated && !ok
	})
}

// Confirmed reports that the nodes confirm what was found, or that the lock is one of ours.
func (f *Found) Confirmed() bool { return confirmed(f.Class) }

func confirmed(class string) bool { return !strings.HasSuffix(class, wordAlone) }

// shows reports that a property was violated, and confirmed by the nodes if that is wanted.
func (v *verdicts) shows(p checker.Property, confirmed bool) bool {
	return v.violated(p) && (!confirmed || !v.doubtful)
}

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

// ShrinkReal makes of each class the schedule smaller that showed the violation most often: a smaller one
// is taken only if it shows it about as often. One that hardly shows again comes back as it was found, with
// Failed; so does one that the context left no time for.
func (s Search) ShrinkReal(ctx context.Context, found []Found) (kept []*Shrunk, err error) {
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
	if err = s.shrinkReal(pool, best); ctx.Err() != nil {
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

// shrinkReal makes what was found smaller.
func (s Search) shrinkReal(pool *benches, best *Shrunk) error {
	deadline := time.Now().Add(shrinksFor)
	setup := best.Setup
	setup.Faults.List = clone(best.Setup.Faults.List)
	least := max(Showings, best.Robust-slack)
	k := &shrinker{bench: pool.list[0], found: best.Found}
	k.reducer = reducer{setup: &setup, fails: func() bool {
		if k.err != nil || time.Now().After(deadline) || setup.CheckFaults(0) != nil || k.writes() != nil {
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

func (s Search) phase(format string, a ...any) {
	if s.Real.Phase != nil {
		s.Real.Phase(fmt.Sprintf(format, a...))
	}
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
