package explore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/nemesis"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// Shrunk is a smallest schedule that still fails; or, where Failed says why it could
// not be made smaller, the schedule that was found.
type Shrunk struct {
	Found
	Failed error
	// Setup has explicit faults alone.
	Setup scenario.Setup
	// From is how many faults there were at first, Runs how many were tried.
	From, Runs int
	// Of OtherSeeds other seeds, so many lead to the violation as well: how far
	// it depends on exact times.
	Robust, OtherSeeds int
	// Live: it was made in real time. Then Robust of OtherSeeds runs showed the violation again.
	Live bool
}

// Shrink makes a found schedule as small as it can: fewest faults,
// clients, nodes and sections, round times.
func (s Search) Shrink(ctx context.Context, found Found) (*Shrunk, error) {
	setup, err := s.found(found)
	if err != nil {
		return nil, err
	}
	return s.shrinkSetup(ctx, setup, found)
}

// shrinkSetup makes a setup as small as it can that shows what was found.
func (s Search) shrinkSetup(ctx context.Context, setup *scenario.Setup, found Found) (_ *Shrunk, err error) {
	first := *setup
	first.Faults.List = clone(setup.Faults.List)
	b := s.bench(ctx)
	defer b.close()
	why := s.findProbe(b, setup, &found)
	k := &shrinker{bench: b, found: found, drawn: clone(setup.Faults.List), tries: s.Tries}
	k.reducer = reducer{setup: setup, fails: k.stillFails}
	if k.own, err = s.use(); err != nil {
		return nil, err
	}
	k.told = func() { s.phase("%s: shorter? %d runs, %d faults", found.Property, k.runs, len(k.setup.Faults.List)) }
	out := &Shrunk{Found: found, From: len(setup.Faults.List)}
	if k.err = why; k.err == nil && k.fails() {
		if s.Real != nil {
			k.most = mostShrinkRuns
		}
		k.shrink()
		if s.Real != nil {
			k.most = k.runs + mostOtherRuns
		}
		out.Robust, out.OtherSeeds = k.raiseReproductions(), otherSeeds
	} else if k.err == nil {
		k.err = cmp.Or(writes(k.setup), notAgain(&found))
	}
	if k.err != nil {
		if out.Failed = k.err; ctx.Err() != nil {
			if s.Real == nil {
				return nil, ctx.Err()
			}
			out.Failed = errors.New("the search was interrupted")
		}
		setup = &first
	}
	out.Setup, out.Runs = *setup, k.runs
	return out, nil
}

// findProbe finds out whether the violation shows without what clients do at the end for a property that needs that, if the search asked
// for one. It says why it does not show at all: where nothing stayed from an earlier run, if that can be had.
func (s Search) findProbe(b *bench, setup *scenario.Setup, found *Found) error {
	why := s.shows(b, setup, found)
	i := slices.IndexFunc(s.Properties, checker.Property.Probed)
	if why == nil || i < 0 || found.Property.Probed() || b.ctx.Err() != nil {
		return why
	}
	found.Probe = s.Properties[i]
	return s.shows(b, setup, found)
}

// shows says why what was found does not show.
func (s Search) shows(b *bench, setup *scenario.Setup, found *Found) error {
	if s.Fresh != nil {
		b = s.benchIn(b.ctx, s.Fresh())
		defer b.close()
	}
	v, err := b.run(setup, found.Seed, found.wanted())
	if err = cmp.Or(err, v.failed); err != nil || v.shows(found.Property, found.Confirmed()) {
		return err
	}
	if s.Fresh != nil {
		return fmt.Errorf("%s is not violated where servers and programs are started afresh: that is a mistake of sim, not of the lock",
			found.Property)
	}
	return notAgain(found)
}

func notAgain(found *Found) error {
	return fmt.Errorf("seed %d does not lead to the violation of %s again", found.Seed, found.Property)
}

// By is the run of a lineage, as if it had been found to violate a property.
func (s Search) By(l Lineage, p checker.Property) (Found, error) {
	_, made, err := s.follow(l)
	return Found{Lineage: l, Seed: made.seed, Class: string(p), Property: p}, err
}

// Repeats makes the run of what was found again, so many times, and counts the violations.
func (s Search) Repeats(ctx context.Context, found Found, times int) (count int, err error) {
	setup, err := s.found(found)
	if err != nil {
		return 0, err
	}
	b := s.bench(ctx)
	defer b.close()
	for range times {
		v, err := b.run(setup, found.Seed, found.wanted())
		if err != nil {
			return count, err
		}
		if v.violated(found.Property) {
			count++
		}
	}
	return count, nil
}

// found is the setup with a schedule that was found.
func (s Search) found(found Found) (*scenario.Setup, error) {
	setup, made, err := s.follow(found.Lineage)
	if err == nil {
		setup.Faults.List = append(setup.Faults.List, made.faults...)
	}
	return setup, err
}

// follow is the setup as its clients use the lock by the schedule of a lineage, and the schedule.
func (s Search) follow(l Lineage) (*scenario.Setup, schedule, error) {
	setup, err := s.setup()
	if err != nil {
		return nil, schedule{}, err
	}
	d, err := s.drawer(setup)
	if err != nil {
		return nil, schedule{}, err
	}
	made := d.follow(l)
	d.with(made.use).use.apply(setup)
	return setup, made, nil
}

// With real servers a run takes long, so it is bounded how many are made to shrink a schedule, and to let it depend less on exact times.
const (
	mostShrinkRuns = 240
	mostOtherRuns  = otherSeeds + 100
)

// ShrinkBest shrinks all that was found, and keeps of each class what depends least
// on exact times, and then what has the fewest faults; and the first that could not be
// shrunk, if there is one. With real servers that would take long: there one schedule is
// shrunk of all that violate a property.
func (s Search) ShrinkBest(ctx context.Context, found []Found) ([]*Shrunk, error) {
	if s.Real != nil {
		return s.shrinkOfEach(ctx, found)
	}
	var kept []*Shrunk
	for _, f := range found {
		k, err := s.Shrink(ctx, f)
		if err != nil {
			return kept, err
		}
		at := slices.IndexFunc(kept, func(o *Shrunk) bool { return o.Class == k.Class && (o.Failed == nil) == (k.Failed == nil) })
		if at < 0 {
			kept = append(kept, k)
		} else if k.Failed == nil && k.better(kept[at]) {
			kept[at] = k
		}
	}
	return kept, nil
}

// shrinkOfEach shrinks one schedule for each property, side by side: one that the nodes confirm, if there is one, with few faults.
func (s Search) shrinkOfEach(ctx context.Context, found []Found) ([]*Shrunk, error) {
	var chosen []Found
	faults := make(map[uint64]int)
	for _, f := range found {
		setup, err := s.found(f)
		if err != nil {
			return nil, err
		}
		faults[f.Run] = len(setup.Faults.List)
		i := slices.IndexFunc(chosen, func(c Found) bool { return c.Property == f.Property })
		if i < 0 {
			chosen = append(chosen, f)
		} else if c := chosen[i]; f.Confirmed() && !c.Confirmed() || f.Confirmed() == c.Confirmed() &&
			cmp.Or(cmp.Compare(faults[f.Run], faults[c.Run]), cmp.Compare(f.Run, c.Run)) < 0 {
			chosen[i] = f
		}
	}
	slices.SortFunc(chosen, func(a, b Found) int {
		return slices.Index(s.Properties, a.Property) - slices.Index(s.Properties, b.Property)
	})
	kept, errs := make([]*Shrunk, len(chosen)), make([]error, len(chosen))
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(max(s.Workers, 1), len(chosen)) {
		group.Go(func() {
			for i := next.Add(1) - 1; int(i) < len(chosen); i = next.Add(1) - 1 {
				kept[i], errs[i] = s.Shrink(ctx, chosen[i])
			}
		})
	}
	group.Wait()
	return slices.DeleteFunc(kept, func(k *Shrunk) bool { return k == nil }), errors.Join(errs...)
}

func (s *Shrunk) better(o *Shrunk) bool {
	if s.Robust != o.Robust {
		return s.Robust > o.Robust
	}
	return len(s.Setup.Faults.List) < len(o.Setup.Faults.List)
}

// shrinker tries smaller setups. Each step changes the setup, and takes the
// change back where the violation is gone.
type shrinker struct {
	*bench
	reducer
	found Found
	// drawn are the faults that were there at first.
	drawn []scenario.Fault
	// own is how clients use the lock in the scenario that was searched; the zero use: that is not known.
	own use
	// runs is how many were tried; tries is how many are made of a setup until it fails. most bounds runs; 0: nothing does.
	runs, tries, most int
	// told is called before a run; nil: nobody.
	told func()
	err  error
}

// reducer makes a setup smaller in ways that need no knowledge of its times.
type reducer struct {
	setup *scenario.Setup
	// fails reports whether the setup still leads to the violation.
	fails func() bool
	// accepted is how many changes made it smaller.
	accepted int
}

// Reduce leaves out faults, clients and sections as long as a setup fails.
func Reduce(setup *scenario.Setup, fails func() bool) {
	r := &reducer{setup: setup, fails: func() bool { return setup.CheckFaults(0) == nil && fails() }}
	for before := -1; before != r.accepted; {
		before = r.accepted
		r.fewerFaults()
		r.fewerActors()
	}
}

// shrink tries all ways, until none makes it smaller.
func (k *shrinker) shrink() {
	for before := -1; before != k.accepted; {
		before = k.accepted
		k.plainerUse()
		k.fewerFaults()
		k.fewerActors()
		k.smaller(&k.setup.Nodes.Count, k.fewestNodes())
		k.simplerTriggers()
		k.rounderTimes()
	}
}

// fewestNodes is how many nodes must stay. The last replica stays: without it a lock that waits for one is granted to nobody, which is
// another violation.
func (k *shrinker) fewestNodes() int {
	if k.setup.Nodes.Replicated() {
		return 2
	}
	return k.setup.Nodes.Least()
}

// stillFails reports whether the setup still leads to the violation.
func (k *shrinker) stillFails() bool {
	return k.err == nil && k.setup.CheckFaults(0) == nil && k.violates() && writes(k.setup) == nil
}

// violates runs the setup and reports whether the violation shows.
func (k *shrinker) violates() bool {
	if k.err != nil {
		return false
	}
	for range max(k.tries, 1) {
		if k.most > 0 && k.runs >= k.most {
			return false
		}
		if k.runs++; k.told != nil {
			k.told()
		}
		v, err := k.run(k.setup, k.found.Seed, k.found.wanted())
		if err != nil {
			k.err = err
			return false
		}
		if v.shows(k.found.Property, k.found.Confirmed()) {
			return true
		}
	}
	return false
}

// writes says why a setup cannot be written as a scenario: nil, where it can.
func writes(setup *scenario.Setup) error {
	text, err := scenario.Encode(nil, scenario.Head{Name: "x"}, setup, nil)
	if err != nil {
		return err
	}
	_, err = scenario.Parse("", []byte(text))
	return err
}

// keep tries a change, and undoes it where the violation is gone.
func (k *reducer) keep(undo func()) bool {
	if k.fails() {
		k.accepted++
		return true
	}
	undo()
	return false
}

// fewerFaults leaves out faults: halves first, then single ones.
func (k *reducer) fewerFaults() {
	list := &k.setup.Faults.List
	for size := (len(*list) + 1) / 2; size >= 1; size /= 2 {
		for at := 0; at+size <= len(*list); {
			before := *list
			*list = slices.Delete(slices.Clone(before), at, at+size)
			if !k.keep(func() { *list = before }) {
				at += size
			}
		}
	}
}

// fewerActors leaves out clients and sections.
func (k *reducer) fewerActors() {
	w := &k.setup.Workload
	k.smaller(&w.Clients, max(w.Readers, 1))
	w.PerProcess = min(w.PerProcess, w.Clients) // they are all in one
	k.smaller(&k.setup.Workload.Sections, 1)
}

// manyOf is how much larger than it must be a number is of which first the half is left out.
const manyOf = 8

// smaller makes a number as small as it can be.
func (k *reducer) smaller(n *int, least int) {
	for *n-least > manyOf {
		before := *n
		*n = least + (*n-least)/2
		if !k.keep(func() { *n = before }) {
			break
		}
	}
	for *n > least {
		before := *n
		*n--
		if !k.keep(func() { *n = before }) {
			return
		}
	}
}

// simplerTriggers lets faults strike at the beginning where that does as well,
// and any client in place of a certain one.
func (k *shrinker) simplerTriggers() {
	for i := range k.setup.Faults.List {
		f := &k.setup.Faults.List[i]
		if f.On == nil && f.At != nil && *f.At == 0 {
			continue
		}
		before := f.Trigger
		zero := time.Duration(0)
		f.Trigger = nemesis.Trigger{At: &zero}
		k.keep(func() { f.Trigger = before })
		if f.On != nil && f.On.Nth > 1 {
			before := f.On
			first := before.Passing
			first.Nth = 1
			f.On = &nemesis.On{Passing: first}
			k.keep(func() { f.On = before })
		}
	}
}

// steps are what times are rounded to, the coarsest first.
var steps = []time.Duration{time.Second, 500 * time.Millisecond,
	100 * time.Millisecond, 50 * time.Millisecond, 10 * time.Millisecond, 5 * time.Millisecond}

// rounderTimes rounds the times of faults and their triggers.
func (k *shrinker) rounderTimes() {
	for i := range k.setup.Faults.List {
		f := &k.setup.Faults.List[i]
		if f.At != nil {
			k.round(f.At)
		}
		for _, d := range durations(reflect.ValueOf(f.Params).Elem()) {
			k.round(d)
		}
	}
}

func (k *shrinker) round(d *time.Duration) {
	for _, step := range steps {
		if *d%step == 0 {
			return
		}
		before := *d
		for _, rounded := range []time.Duration{d.Round(step), d.Truncate(step) + step, d.Truncate(step)} {
			*d = rounded
			if rounded != 0 && k.keep(func() { *d = before }) {
				return
			}
			*d = before
		}
	}
}

// durations finds the durations among a fault's parameters.
func durations(v reflect.Value) []*time.Duration {
	var list []*time.Duration
	parameters(v, func(_ string, p any) {
		if d, ok := p.(*time.Duration); ok && *d != 0 {
			list = append(list, d)
		}
	})
	return list
}

// parameters tells the fields of a fault's parameters, those of embedded ones too.
func parameters(v reflect.Value, tell func(name string, pointer any)) {
	for i := range v.NumField() {
		field, f := v.Type().Field(i), v.Field(i)
		if f.Kind() == reflect.Struct {
			parameters(f, tell)
		} else if field.IsExported() {
			tell(field.Name, f.Addr().Interface())
		}
	}
}

// seedComment is the comment line of a scenario that was found, with the seed that shows it.
const seedComment = "seed: %d"

var seedLine = regexp.MustCompile(`(?m)^# seed: (\d+)\r?$`)

// SeedOf is the seed that the text of such a scenario names.
func SeedOf(text string) (uint64, error) {
	m := seedLine.FindStringSubmatch(text)
	if m == nil {
		return 0, errors.New("it names no seed")
	}
	seed, err := strconv.ParseUint(m[1], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("the seed %s is too large", m[1])
	}
	return seed, nil
}

// YAML writes what was found as a scenario. origin names where it was found.
func (s *Shrunk) YAML(name, origin string) (string, error) {
	head := scenario.Head{
		Name:   name,
		Title:  fmt.Sprintf("Found: %s violated with %d of %s", s.Property, len(s.Setup.Faults.List), words.Count(s.From, "fault")),
		Source: origin,
		Story: fmt.Sprintf("A search found this schedule and shrank it in %s.\nOf %s, %d also lead to the violation.",
			words.Count(s.Runs, "run"), words.Count(s.OtherSeeds, "other seed"), s.Robust),
	}
	if s.Live {
		head.Story = fmt.Sprintf("A search among real servers found this schedule and shrank it in %s.\nThe violation showed again in %d of %s.",
			words.Count(s.Runs, "run"), s.Robust, words.Count(s.OtherSeeds, "run"))
	}
	if s.Failed != nil {
		head.Story = fmt.Sprintf("A search found this schedule. It was not shrunk:\n%v.", s.Failed)
	}
	comments := []string{fmt.Sprintf(seedComment, s.Seed),
		"The search asked for " + string(s.Property) + " alone: the rest may go either way."}
	expect := s.Setup.ExpectAlone(s.Property, checker.Violated)
	if s.Probe != "" {
		expect = append(expect, scenario.ExpectedVerdict{Property: s.Probe})
	}
	return scenario.Encode(comments, head, &s.Setup, expect)
}
