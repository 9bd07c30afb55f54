package explore

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
)

// finder is a search in progress. It runs generations: within one, all that is
// known of earlier runs stands still, so that it does not matter in which order,
// and how many at once, its runs happen.
type finder struct {
	Search
	// state is that of the last whole generation, reported that of the report.
	state    *State
	reported *Part
	workers  []*searcher
	corpus   corpus
	// near are schedules that violated something, and hardly do so again: others like them may do better.
	near []near
	// failed are the runs that failed one after the other.
	failed inRow
}

// Generations grow: early on, what was learned is soon put to use; later on, no
// processor should wait often for the others.
const (
	firstGeneration = 16
	mostPerGen      = 2048
	// mostPerRealGen bounds generations of runs with real servers, which take long.
	mostPerRealGen = 64
)

// startWorkers makes the workers, and the corpus of a search that is continued.
func (f *finder) startWorkers(ctx context.Context) error {
	for range max(f.Workers, 1) {
		// Each worker has a setup of its own to put its faults into.
		setup, err := f.setup()
		if err != nil {
			return err
		}
		d, err := f.drawer(setup)
		if err != nil {
			return err
		}
		f.workers = append(f.workers, &searcher{finder: f, bench: f.bench(ctx), setup: setup, own: slices.Clone(setup.Faults.List), drawer: d})
	}
	copy(f.corpus.reached[:], f.state.Reached)
	for _, k := range f.state.Corpus {
		f.corpus.keep(entry{k.Lineage, f.workers[0].drawer.follow(k.Lineage), k.Features})
	}
	return nil
}

func (f *finder) stopWorkers() {
	for _, w := range f.workers {
		w.bench.close()
	}
}

// search runs one generation after the other.
func (f *finder) search(ctx context.Context) error {
	if f.Live != nil {
		return f.stream(ctx)
	}
	size, most := uint64(firstGeneration), uint64(mostPerGen)
	if f.Real != nil {
		most = mostPerRealGen
	}
	for f.Seeds == 0 || f.state.Runs < f.Seeds {
		for size < most && f.state.Runs >= size {
			size *= 2
		}
		n := size
		if f.Seeds > 0 {
			n = min(n, f.Seeds-f.state.Runs)
		}
		results, err := f.generation(ctx, n)
		if err != nil {
			// What is saved stays at the last whole generation.
			reported := f.state.copy()
			f.reported = &reported
			for i := range results {
				f.reported.count(&results[i])
			}
			return err
		}
		for i := range results {
			f.take(&results[i])
			if err := f.failed.count(&results[i]); err != nil {
				return err
			}
			if f.StopAt > 0 && f.state.confirmedViolations() >= uint64(f.StopAt) {
				return nil
			}
		}
		f.progress(0)
		if err := f.save(false); err != nil {
			return err
		}
	}
	return nil
}

// save tells how to continue.
func (f *finder) save(last bool) error {
	if f.Save == nil {
		return nil
	}
	return f.Save(f.state.with(&f.corpus), last)
}

// generation carries out n runs. Where the context ends, those come back that
// were carried out by then. Where enough is found to end the search, no further run
// begins: those before it are all made.
func (f *finder) generation(ctx context.Context, n uint64) ([]result, error) {
	results := make([]result, n)
	errs := make([]error, len(f.workers))
	var next, done, found atomic.Uint64
	enough := func() bool {
		return f.StopAt > 0 && f.counts == nil && f.state.confirmedViolations()+found.Load() >= uint64(f.StopAt)
	}
	var wg sync.WaitGroup
	for i, w := range f.workers {
		wg.Go(func() {
			for ctx.Err() == nil {
				at := next.Add(1) - 1
				if at >= n {
					return
				}
				if errs[i] = w.run(f.state.Runs+at, &results[at]); errs[i] != nil {
					next.Store(n) // the others need not go on
					return
				}
				if class := results[at].class; class != "" && confirmed(class) {
					if found.Add(1); enough() {
						next.Store(n)
					}
				}
				if k := done.Add(1); i == 0 && (k%256 == 0 || f.Real != nil) {
					f.progress(k)
				}
			}
		})
	}
	wg.Wait()
	err := errors.Join(errs...)
	if err == nil {
		err = ctx.Err()
	}
	return slices.DeleteFunc(results, func(r result) bool { return r.lineage == nil }), err
}

// progress tells how far the search is, with so many runs of the generation
// under way.
func (f *finder) progress(underway uint64) {
	if f.Progress == nil {
		return
	}
	r := f.state.Report()
	r.Runs += underway
	f.Progress(r)
}

// result is what came of a run.
type result struct {
	run       uint64
	lineage   Lineage
	seed      uint64
	class     string
	judged    string
	property  checker.Property
	behaviour uint64
	features  []uint16
	schedule  schedule
	waypoints uint
	// planned are the kinds of the faults that were drawn, began of those that took effect, by their numbers.
	planned, began kindSet
	failed         error
	// unfinished: it came to its time limit. unjudged says why something that it put to the test could not be judged; empty: all was.
	unfinished bool
	unjudged   string
	// reasons say why it did not judge properties.
	reasons []Reason
	// again is how often a violation showed again; cutShort: the search ended before that was known. slow says why the machine was too
	// slow for the run, or may have been; empty: it was not.
	again    int
	cutShort bool
	slow     string
	// history is that of a violation in real time.
	history *history.History
}

// take learns from a result.
func (f *finder) take(r *result) {
	if r.class != "" && f.counts != nil && !f.counts(r.found()) {
		r.class = ""
	}
	f.state.count(r)
	if f.Live != nil {
		f.approach(r)
	}
	if r.failed == nil && r.class == "" && f.corpus.learn(r.features) && len(r.lineage) < mostGenerations {
		f.corpus.keep(entry{r.lineage, r.schedule, r.features})
	}
}

// searcher carries out runs, one at a time.
type searcher struct {
	*finder
	bench    *bench
	setup    *scenario.Setup
	own      []scenario.Fault
	drawer   *drawer
	features []uint64
}

// plan says what a run is made of: a schedule drawn afresh, or a change of one
// that led to something new.
func (w *searcher) plan(run uint64) (Lineage, schedule) {
	seed := w.First + run
	r := rand.New(rand.NewPCG(seed, 0x706c616e))
	drawn := w.Unguided || len(w.corpus.entries) == 0 || r.IntN(2) == 0
	if drawn || w.Real != nil && r.IntN(2) == 0 { // with real servers changing less takes fewer runs
		return Lineage{seed}, w.drawer.follow(Lineage{seed})
	}
	if len(w.near) > 0 && r.IntN(4) == 0 {
		from := w.nearest(r)
		return append(slices.Clip(from.lineage), seed), w.drawer.mutated(from.schedule, seed)
	}
	from := w.corpus.pick(r)
	return append(slices.Clip(from.lineage), seed), w.drawer.mutated(from.schedule, seed)
}

// run carries out one run.
func (w *searcher) run(run uint64, out *result) error {
	lineage, s := w.plan(run)
	return w.carryOut(run, lineage, s, out)
}

// carryOut makes a run of a schedule.
func (w *searcher) carryOut(run uint64, lineage Lineage, s schedule, out *result) error {
	w.drawer.with(s.use).use.apply(w.setup)
	w.setup.Faults.List = append(append(w.setup.Faults.List[:0], w.own...), s.faults...)
	v, err := w.bench.run(w.setup, s.seed, w.Properties)
	if err != nil {
		return err
	}
	*out = result{run: run, lineage: lineage, seed: s.seed, failed: v.failed, unfinished: v.unfinished}
	if v.failed != nil {
		out.slow = v.slow
		return nil
	}
	seen := observe(v.history, w.features, w.Real != nil)
	out.planned, out.began = kindsOf(s.faults), kindsThatBegan(s.faults, len(w.own), seen.began)
	w.features, out.behaviour, out.waypoints = seen.features, seen.behaviour, seen.waypoints
	out.class, out.property = w.class(&v)
	out.judged, out.reasons = w.judged(&v), v.reasons()
	if out.class == "" {
		out.slow, out.unjudged = v.slow, v.unjudged()
	}
	if w.Live != nil && out.class != "" {
		own := *v.history
		own.Events = slices.Clone(own.Events) // the next run takes its place
		out.history = &own
	}
	out.features = make([]uint16, 0, len(seen.features))
	for _, f := range seen.features {
		if at := place(f); !slices.Contains(out.features, at) {
			out.features = append(out.features, at)
		}
	}
	out.schedule = s
	return nil
}
