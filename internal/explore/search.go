package explore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
)

// Search says what to search.
type Search struct {
	// Scenario and Variant are what the random faults come on top of; where
	// Bare is set, they take the place of the scenario's own.
	Scenario *scenario.Scenario
	Variant  string
	Drawing
	// Properties are those whose violation counts.
	Properties []checker.Property
	// First is the first seed, Seeds how many to try at most; 0: no bound.
	First, Seeds uint64
	// StopAt ends the search after so many violations, of a lock program that the nodes confirm; 0: never.
	StopAt int
	// Workers is how many run at once. What is found does not depend on it.
	Workers int
	// Progress is called now and then; nil: nobody.
	Progress func(Report)
	// From continues an earlier search of the same kind; nil: begins anew. Save
	// is told after each generation of runs, and when the search is over, how to
	// continue it; nil: nobody. It must not keep the State.
	From *State
	Save func(s *State, last bool) error
	// Place makes the place of a worker's runs; nil: the virtual world.
	Place func() Place
	// Fresh makes a place that has nothing of an earlier run: what was found must show there, too. nil: places have nothing of one.
	Fresh func() Place
	// Tries is how often a run is made while shrinking, until it shows the violation: more than
	// once where runs do not always repeat; 0: once.
	Tries int
	// Allows says whether a fault may be drawn, beside what scenarios allow; nil: any may.
	Allows func(*scenario.Fault) bool
	// Ready is what the scenario's lock program says of itself; nil: the lock is a built-in one, or what it can do is not known.
	Ready *program.Ready
	// Real is how to search where real servers take part; nil: all are models.
	Real *Real
	// Live is how to search in real time, which servers of Real alone take; nil: runs repeat exactly.
	Live *Live
	// Phase is told what is done with what was found; nil: nobody.
	Phase func(string)
	// counts says whether a violation counts; nil: all do.
	counts func(Found) bool
}

// Drawing is how the schedules of a search are drawn. It is also what a request for a search says of that, so it has names in JSON.
type Drawing struct {
	// Kinds are the kinds of faults allowed; none: all that can be drawn.
	Kinds []string `json:"kinds,omitempty"`
	// Bare leaves out the scenario's own faults.
	Bare bool `json:"bare,omitempty"`
	// Unguided draws every schedule afresh. Otherwise half of them are changes
	// of schedules that led to something new.
	Unguided bool `json:"unguided,omitempty"`
}

// Report is what a search has found so far.
type Report struct {
	// Runs is how many runs there were, Drawn how many of them with a schedule
	// drawn afresh: they alone tell how frequent something is.
	Runs, Drawn uint64
	// Behaviours is how many different ones were seen; about so many, where
	// they are Estimated.
	Behaviours int
	Estimated  bool
	// Failed is how many runs could not be carried out, Failure what was wrong with the last of them.
	Failed  uint64
	Failure string
	// Unfinished is how many came to their time limit.
	Unfinished uint64
	// Slow is for how many the machine was too slow, so that they broke off or are not judged, or broke a bound of time alone and did not
	// do so again, so that it may have been. Slowness says what was too slow in the last of them.
	Slow     uint64
	Slowness string
	// GaveUp: the search ended early, because the machine was too slow for one run after the other.
	GaveUp bool
	// Unjudged is how many others put a property to the test that could not be judged all the same, and violated nothing. Doubt says why,
	// of the last of them.
	Unjudged uint64
	Doubt    string
	// Reasons say why runs did not judge a property.
	Reasons []Reason
	// Faults counts the runs in which each kind of fault was drawn and took effect. Waypoints counts those that came by each of them.
	Faults    []KindRuns
	Waypoints []Class
	// Classes counts the runs by the properties that they violated, Judged by those
	// that they put to the test.
	Classes, Judged []Class
	// Found are the first violations of each class, in the order of their runs.
	Found []Found
}

// Violations is how many runs violated something.
func (r *Report) Violations() (n uint64) {
	for _, c := range r.Classes {
		n += c.Runs
	}
	return n
}

// JudgedOn is how many runs put all of the properties of a class to the test, drawn
// of them with a schedule drawn afresh.
func (r *Report) JudgedOn(class string) (runs, drawn uint64) {
	of := Class{Name: class}
	for _, j := range r.Judged {
		all := j.Properties()
		missing := func(p checker.Property) bool { return !slices.Contains(all, p) }
		if !slices.ContainsFunc(of.Properties(), missing) {
			runs, drawn = runs+j.Runs, drawn+j.Drawn
		}
	}
	return runs, drawn
}

// together joins the names of properties.
const together = " + "

// Class is a set of properties that runs violated, or put to the test, together.
type Class struct {
	Name string `json:"name"`
	// Drawn of the Runs had a schedule drawn afresh.
	Runs  uint64 `json:"runs"`
	Drawn uint64 `json:"drawn"`
}

// Properties are those of the class.
func (c *Class) Properties() (list []checker.Property) {
	for name := range strings.SplitSeq(strings.TrimSuffix(c.Name, wordAlone), together) {
		list = append(list, checker.Property(name))
	}
	return list
}

// Found is a violation that a schedule led to.
type Found struct {
	// Run is which run of the search it was, from 0.
	Run uint64 `json:"run"`
	// Lineage makes the schedule again; Seed is the seed of its run.
	Lineage Lineage `json:"lineage"`
	Seed    uint64  `json:"seed"`
	Class   string  `json:"class"`
	// Property is the strongest of the class; of those that the nodes confirm, if there are some.
	Property checker.Property `json:"property"`
	// Probe is a property that is judged beside it, because without what clients do for that at the end of a run the violation does not
	// show; empty: it does.
	Probe checker.Property `json:"probe,omitempty"`
	// Again is in how many of Repeats further runs it showed again, in a search in real time.
	Again int `json:"again,omitempty"`
	// CutShort: the search ended before these runs were made.
	CutShort bool `json:"cut_short,omitempty"`
}

// wanted are the properties to judge so that the violation shows.
func (f *Found) wanted() []checker.Property {
	if f.Probe == "" {
		return []checker.Property{f.Property}
	}
	return []checker.Property{f.Property, f.Probe}
}

// Proved reports that what was found in real time shows again and again.
func (f *Found) Proved() bool { return f.Again >= Showings }

// keptPerClass is how many violations of each class are kept.
const keptPerClass = 16

// Run searches until the context ends, the seeds are used up or enough was
// found. What was found comes back in any case.
func (s Search) Run(ctx context.Context) (Report, error) {
	p, err := s.RunPart(ctx)
	return p.Report(), err
}

// RunPart is Run for a search whose result is merged with others.
func (s Search) RunPart(ctx context.Context) (Part, error) {
	f := &finder{Search: s, state: newState(s.First)}
	if s.From != nil {
		f.state = s.From
	}
	f.state.Properties = s.Properties
	if s.Real != nil {
		f.state.Commands = s.Real.Commands
	}
	if err := f.startWorkers(ctx); err != nil {
		return Part{}, err
	}
	defer f.stopWorkers()
	err := f.search(ctx)
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		err = nil
	}
	if f.reported == nil {
		f.reported = &f.state.Part
	}
	return *f.reported, errors.Join(err, f.save(true))
}

// bench makes a place to run setups.
func (s *Search) bench(ctx context.Context) *bench {
	var place Place
	if s.Place != nil {
		place = s.Place()
	}
	return s.benchIn(ctx, place)
}

func (s *Search) benchIn(ctx context.Context, place Place) *bench {
	b := newBench(ctx, s.Scenario.Name, place)
	b.real, b.live = s.Real, s.Live != nil
	return b
}

// phase tells what is done with what was found.
func (s Search) phase(format string, a ...any) {
	if s.Phase != nil {
		s.Phase(fmt.Sprintf(format, a...))
	}
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

// class names the properties that a run violated, and the strongest of them; of those that the nodes confirm, if there are some.
func (s Search) class(v *verdicts) (name string, strongest checker.Property) {
	name, strongest = s.named(v.violated)
	if _, confirmed := s.named(func(p checker.Property) bool { return v.shows(p, true) }); confirmed != "" {
		return name, confirmed
	}
	if name != "" {
		name += wordAlone
	}
	return name, strongest
}

// judged names the properties that a run put to the test.
func (s Search) judged(v *verdicts) string {
	names, _ := s.named(v.judged)
	return names
}

// named are the properties that are so, and the first of them.
func (s Search) named(so func(checker.Property) bool) (names string, first checker.Property) {
	var list []string
	for _, p := range s.Properties {
		if so(p) {
			list, first = append(list, string(p)), cmp.Or(first, p)
		}
	}
	return strings.Join(list, together), first
}
