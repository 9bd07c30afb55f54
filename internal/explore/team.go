package explore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/redlock-sim/redlock-sim/internal/scenario"
)

// team are workers that walk through the orders of a scenario together. Whoever has nothing to do is given the orders
// of a part of somebody's tree, those with which that one would go on last. What comes of them is taken in their turn. So
// what comes of all is the same as of one worker.
type team struct {
	Exhaust
	ctx context.Context
	// schedules are those that were run, or are under way; full says that there are to be no more.
	schedules atomic.Uint64
	full      atomic.Bool
	// idle is how many workers wait for something to do, beside those for whom there is something in the queue.
	idle atomic.Int64

	mu    sync.Mutex // for what follows, and for Outcome
	woken sync.Cond
	queue []*subtree
	err   error
}

// subtree are orders that begin in the same way.
type subtree struct {
	tree *tree
	// first is the last step of the beginning, once a run has shown what it touches: then begun.
	first asleep
	begun atomic.Bool
	// out is what came of it, when done.
	out  Exhausted
	done bool
}

func (g *subtree) isBegun() bool { return g.begun.Load() }

// walker is one worker.
type walker struct {
	*team
	bench *bench
	place *Virtual
	setup *scenario.Setup
	// tells: it reports progress.
	tells bool
}

func (t *team) worker(tells bool) (*walker, error) {
	setup, err := Search{Scenario: t.Scenario, Variant: t.Variant}.setup()
	if err != nil {
		return nil, err
	}
	place := &Virtual{}
	return &walker{team: t, bench: newBench(t.ctx, t.Scenario.Name, place), place: place, setup: setup, tells: tells}, nil
}

// help does what is there to do until a subtree is done.
func (w *walker) help(until *subtree) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for !until.done {
		if len(w.queue) == 0 {
			w.idle.Add(1)
			w.woken.Wait()
			w.idle.Add(-1)
			continue
		}
		g := w.queue[0]
		w.queue = w.queue[1:]
		w.mu.Unlock()
		err := w.walk(g)
		w.mu.Lock()
		g.done, w.err = true, errors.Join(w.err, err)
		w.woken.Broadcast()
	}
}

// share gives something to do to those who have nothing.
func (w *walker) share(t *tree) {
	if w.idle.Load() == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for int64(len(w.queue)) < w.idle.Load() {
		g := t.give()
		if g == nil {
			return
		}
		w.queue = append(w.queue, g)
		w.woken.Signal()
	}
}

// walk goes through the orders of a subtree.
func (w *walker) walk(g *subtree) error {
	out := &g.out
	for _, p := range w.Properties {
		out.Verdicts = append(out.Verdicts, Verdicts{Property: p})
	}
	t := g.tree
	out.All = true
	join := func(o *subtree) bool {
		w.help(o)
		out.add(&o.out)
		return out.All
	}
	for more := true; more; more = t.next(join) {
		if err := w.order(t, out); err != nil || !out.All {
			t.abandon(join)
			return err
		}
		if !g.begun.Load() && t.base > 0 {
			s := &t.steps[t.base-1]
			g.first = asleep{s.chosen, s.touched}
			g.begun.Store(true)
		}
		if !t.cut {
			w.share(t)
		}
	}
	return nil
}

// order runs one order. Where there is to be none any more, out has not all.
func (w *walker) order(t *tree, out *Exhausted) error {
	n := w.schedules.Add(1)
	if out.All = w.ctx.Err() == nil && !w.full.Load() && (w.Most == 0 || n <= w.Most); !out.All {
		w.full.Store(true)
		return nil
	}
	t.begin()
	w.place.Order = t
	v, err := w.bench.run(w.setup, w.Seed, w.Properties)
	t.end(w.place.Rest())
	switch {
	case t.cut:
		w.schedules.Add(^uint64(0))
		out.Cut++
		return nil
	case w.ctx.Err() != nil && (err == nil || errors.Is(err, context.Canceled)):
		out.All = false // its judgement was cut short, too
		return nil
	case err != nil:
		w.full.Store(true)
		return fmt.Errorf("failed to run a schedule: %w", err)
	}
	out.count(&v, len(t.steps))
	if w.Outcome != nil {
		w.mu.Lock()
		w.Outcome(v.history)
		w.mu.Unlock()
	}
	if w.Progress != nil && w.tells {
		w.Progress(n)
	}
	return nil
}
