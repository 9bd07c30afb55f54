package explore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/runner"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
)

// Turning asks from which event of a run on its violation was certain. It makes the run again and again: as it was until an event, and with
// what follows drawn anew. From there on no further fault begins; those that have begun go on as they were to, or are lifted at once.
type Turning struct {
	Scenario string
	Variant  scenario.Variant
	Seed     uint64
	Property checker.Property
	// History is that of the run, Seen the event at which the violation was seen.
	History *history.History
	Seen    int
	// Reruns is how many are made in each of the two ways at events at which the share changes, or is neither none nor all; Few at others.
	// Events is at how many events at most.
	Reruns, Few, Events int
	Workers             int
	// Place makes a place for each worker; nil: the virtual world with models.
	Place func() Place
	// Progress is told how many reruns have been made; nil: nobody.
	Progress func(reruns int)
}

// Odds are what came of reruns from an event on: Stay where the faults that had begun went on as they were to, Lifted where they were
// lifted at that moment.
type Odds struct {
	Event        int
	Stay, Lifted Share
}

// Share is how many of the runs that were made told something of a property, and how many of these violated it.
type Share struct{ Runs, Judged, Violated int }

// Of is the share of the violations, from 0 to 1.
func (s Share) Of() float64 {
	if s.Judged == 0 {
		return 0
	}
	return float64(s.Violated) / float64(s.Judged)
}

// All reports that all runs that were made violated the property.
func (s Share) All() bool { return s.Runs > 0 && s.Violated == s.Runs }

// sure is the share of the runs from which on a violation counts as certain: by chance a lucky one may be among them.
const sure = 0.95

func (s Share) sure() bool { return s.Runs > 0 && float64(s.Violated) >= sure*float64(s.Runs) }

// Turned is what came of it.
type Turned struct {
	// Odds are those at events, in their order. The last one is the last event of the run.
	Odds []Odds
	// Planned is what came of runs with all faults of the scenario, and everything else drawn anew.
	Planned Share
}

// NoReturn is the place in the odds of the first event from which on, at it and at each later one, reruns surely violate the property; the
// number of the odds: there is none.
func (t *Turned) NoReturn(of func(*Odds) Share) int {
	at := len(t.Odds)
	for at > 0 && of(&t.Odds[at-1]).sure() {
		at--
	}
	return at
}

// Rise is the place in the odds of the event at which the share rises most above that of the event before; the number of the odds: it rises
// nowhere.
func (t *Turned) Rise(of func(*Odds) Share) int {
	at, most := len(t.Odds), 0.0
	for i := range t.Odds {
		before := 0.0
		if i > 0 {
			before = of(&t.Odds[i-1]).Of()
		}
		if rise := of(&t.Odds[i]).Of() - before; rise > most {
			at, most = i, rise
		}
	}
	return at
}

// StayOf and LiftedOf choose one of the odds.
func StayOf(o *Odds) Share   { return o.Stay }
func LiftedOf(o *Odds) Share { return o.Lifted }

// ErrNotAgain says that the same run, made again, was another one.
var ErrNotAgain = errors.New("the same run, made again, is another one")

// Run makes the reruns. The same seed leads to the same odds, however many workers there are.
func (t *Turning) Run(ctx context.Context) (*Turned, error) {
	r := &rerunner{Turning: t, ctx: ctx, odds: make(map[int]*Odds)}
	defer r.close()
	if t.Place == nil {
		t.Place = func() Place { return &Virtual{} }
	}
	last := len(t.History.Events) - 1
	if last < 0 {
		return nil, errors.New("the run has no events")
	}
	for range max(t.Workers, 1) {
		r.places = append(r.places, t.Place())
	}
	var again, planned Share
	r.check = true
	if err := r.more(r.places[0], &again, &runner.Turn{After: last}, 1); err != nil {
		return nil, err
	} else if !again.All() {
		return nil, fmt.Errorf("%w: it does not violate %s", ErrNotAgain, t.Property)
	}
	r.check = false
	few := min(max(t.Few, 1), t.Reruns)
	for list := t.first(last); len(list) > 0; list = r.between() {
		if err := r.at(list, few); err != nil {
			return nil, err
		}
	}
	for list := r.undecided(); len(list) > 0; list = r.undecided() {
		if err := r.at(list, t.Reruns); err != nil {
			return nil, err
		}
	}
	err := r.more(r.places[0], &planned, nil, t.Reruns)
	return &Turned{Odds: r.sorted(), Planned: planned}, err
}

// same reports where a run made again differs from the run; nil: nowhere.
func (t *Turning) same(again *history.History) error {
	for i := range t.History.Events {
		if i >= len(again.Events) {
			return fmt.Errorf("%w: it ends before event %d", ErrNotAgain, i)
		}
		a, b := &t.History.Events[i], &again.Events[i]
		if a.Time != b.Time || a.Process != b.Process || a.F != b.F || a.Type != b.Type {
			return fmt.Errorf("%w: its event %d is %s of %s at %v, and was %s of %s at %v", ErrNotAgain, i,
				b.F, b.Process, b.Time, a.F, a.Process, a.Time)
		}
	}
	if len(again.Events) > len(t.History.Events) {
		return fmt.Errorf("%w: it goes on after event %d", ErrNotAgain, len(t.History.Events)-1)
	}
	return nil
}

// first are the events at which reruns are made first: all, if they are few. Else those of faults, as far as they are few, some others
// before the violation is seen, and the last.
func (t *Turning) first(last int) (list []int) {
	if last < t.Events {
		for i := range last + 1 {
			list = append(list, i)
		}
		return list
	}
	list = []int{0, last}
	for i := range t.History.Events {
		if f := t.History.Events[i].F; len(list) < t.Events/4 && (f == history.FaultBegin || f == history.FaultEnd) {
			list = append(list, i)
		}
	}
	for i := range t.Events / 4 {
		list = append(list, min(t.Seen, last)*(i+1)*4/t.Events)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// rerunner makes reruns.
type rerunner struct {
	*Turning
	ctx    context.Context
	places []Place
	odds   map[int]*Odds
	// check: what is made must be the run itself.
	check bool
	// made is how many reruns have been made, which told guards.
	told sync.Mutex
	made int
}

func (r *rerunner) close() {
	for _, p := range r.places {
		p.Close()
	}
}

// at makes reruns at some events, until so many have been made there.
func (r *rerunner) at(list []int, runs int) error {
	made, errs := make([]*Odds, len(list)), make([]error, len(r.places))
	for i, event := range list {
		if made[i] = r.odds[event]; made[i] == nil {
			made[i] = &Odds{Event: event}
			r.odds[event] = made[i]
		}
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for i, p := range r.places {
		wg.Go(func() {
			for errs[i] == nil {
				n := int(next.Add(1)) - 1
				if n >= len(list) {
					return
				}
				o := made[n]
				errs[i] = errors.Join(r.more(p, &o.Stay, &runner.Turn{After: o.Event}, runs),
					r.more(p, &o.Lifted, &runner.Turn{After: o.Event, Lift: true}, runs))
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// more makes reruns that turn somewhere, or whole runs with other seeds, until so many have been made.
func (r *rerunner) more(p Place, s *Share, turn *runner.Turn, runs int) error {
	part := uint64(0)
	if turn != nil {
		part = uint64(turn.After+1) << 1
		if turn.Lift {
			part++
		}
	}
	seeds := rand.New(rand.NewPCG(r.Seed, part))
	for range s.Runs {
		seeds.Uint64()
	}
	options := checker.Options{Fast: true, Brief: true, GrantWithin: r.Variant.Setup.GrantWithin}
	c := runner.Config{Scenario: r.Scenario, Variant: r.Variant, Seed: r.Seed, Turn: turn}
	for s.Runs < runs {
		if turn == nil {
			c.Seed = seeds.Uint64()
		} else {
			turn.Seed = seeds.Uint64()
		}
		out, err := p.Run(r.ctx, c)
		if r.ctx.Err() != nil || out.Interrupted {
			return cmp.Or(r.ctx.Err(), context.Canceled)
		}
		if err != nil {
			return fmt.Errorf("a rerun failed: %w", err)
		}
		if r.check {
			if err := r.same(out.History); err != nil {
				return err
			}
		}
		f := checker.Judge(r.ctx, out.History, []checker.Property{r.Property}, options)[0]
		s.Runs++
		if f.Verdict != checker.Unknown || f.Effort.Chances == 0 { // what was not put to the test was not violated
			s.Judged++
		}
		if f.Verdict == checker.Violated {
			s.Violated++
		}
		c.Reuse = out.History.Events
		if r.Progress != nil {
			r.told.Lock()
			r.made++
			r.Progress(r.made)
			r.told.Unlock()
		}
	}
	return nil
}

func (r *rerunner) sorted() (list []Odds) {
	for _, o := range r.odds {
		list = append(list, *o)
	}
	slices.SortFunc(list, func(a, b Odds) int { return a.Event - b.Event })
	return list
}

// worthIt is by how much shares must differ for the events between them to be looked at.
const worthIt = 0.1

// between are the events at which reruns are to be made next: between two that are not neighbours, where the share differs most. What is
// certain from an event on comes first.
func (r *rerunner) between() (list []int) {
	sorted := r.sorted()
	t := Turned{Odds: sorted}
	type gap struct {
		middle int
		weight float64
	}
	var gaps []gap
	for i := 1; i < len(sorted); i++ {
		a, b := &sorted[i-1], &sorted[i]
		if b.Event == a.Event+1 {
			continue
		}
		weight := max(math.Abs(b.Stay.Of()-a.Stay.Of()), math.Abs(b.Lifted.Of()-a.Lifted.Of()))
		if i == t.NoReturn(StayOf) || i == t.NoReturn(LiftedOf) {
			weight += 2
		}
		if weight >= worthIt {
			gaps = append(gaps, gap{(a.Event + b.Event) / 2, weight})
		}
	}
	slices.SortStableFunc(gaps, func(a, b gap) int { return cmp.Compare(b.weight, a.weight) })
	for _, g := range gaps[:min(len(gaps), max(r.Events-len(sorted), 0))] {
		list = append(list, g.middle)
	}
	return list
}

// undecided are the events at which more reruns are to be made: those at which the share changes, or is neither none nor all.
func (r *rerunner) undecided() (list []int) {
	sorted := r.sorted()
	differ := func(a, b *Odds) bool { return a.Stay.Of() != b.Stay.Of() || a.Lifted.Of() != b.Lifted.Of() }
	for i := range sorted {
		o := &sorted[i]
		if o.Stay.Runs < r.Reruns && (i == 0 || differ(o, &sorted[i-1]) || i == len(sorted)-1 || differ(o, &sorted[i+1]) ||
			!o.Stay.extreme() || !o.Lifted.extreme()) {
			list = append(list, o.Event)
		}
	}
	return list
}

func (s Share) extreme() bool { return s.Violated == 0 || s.All() }
