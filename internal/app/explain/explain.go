package explain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/explore"
	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
)

// How many reruns are made where nobody says otherwise: in each of the two ways at an event at which their share changes, and at others;
// and at how many events at most.
const (
	Reruns = 100
	few    = 10
	events = 160
	// RerunsOnServers and EventsOnServers are as many with real servers, where a run takes much longer.
	RerunsOnServers, EventsOnServers = 20, 40
)

// Options say how.
type Options struct {
	// Property is the one to explain; empty: the one that the report tells of.
	Property checker.Property
	// Reruns are made in each of the two ways at an event at which their share changes; 0: Reruns. Events is at how many events at most; 0:
	// events.
	Reruns, Events int
	// Few are made at other events; 0: few.
	Few int
	// Seed is that of the run.
	Seed    uint64
	Workers int
	// Place makes a place for each worker; nil: the virtual world with models.
	Place func() explore.Place
	// Progress is told how many reruns have been made; nil: nobody.
	Progress func(reruns int)
}

// ErrNothing says that there is nothing to explain.
var ErrNothing = errors.New("nothing to explain")

// Run explains the violation of a property in a run of a variant, of which v is the outcome.
func Run(ctx context.Context, s *scenario.Scenario, v *report.Variant, o Options) (*report.Explanation, error) {
	at := slices.IndexFunc(s.Variants, func(one scenario.Variant) bool { return one.Name == v.Name })
	if at < 0 {
		return nil, fmt.Errorf("the scenario has no variant %q", v.Name)
	}
	p, err := propertyOf(v, o.Property)
	if err != nil {
		return nil, err
	}
	if v.History == nil || len(v.History.Events) == 0 {
		return nil, fmt.Errorf("%w: variant %q has no history", ErrNothing, v.Name)
	}
	o.Reruns, o.Events, o.Few = cmp.Or(o.Reruns, Reruns), cmp.Or(o.Events, events), cmp.Or(o.Few, few)
	last := len(v.History.Events) - 1
	seen := p.SeenAt()
	if seen < 0 || seen > last {
		seen = last
	}
	made := 0
	t := explore.Turning{Scenario: s.Name, Variant: s.Variants[at], Seed: o.Seed, Property: p.Name, History: v.History, Seen: seen,
		Reruns: o.Reruns, Few: o.Few, Events: o.Events, Workers: o.Workers, Place: o.Place,
		Progress: func(reruns int) {
			if made = reruns; o.Progress != nil {
				o.Progress(reruns)
			}
		}}
	turned, err := t.Run(ctx)
	if err != nil {
		return nil, err
	}
	x := &report.Explanation{Version: report.ExplanationVersion, Scenario: s.Name, Variant: v.Name, Property: p.Name, Seed: o.Seed,
		Events: last + 1, Reruns: made, Planned: *reruns(turned.Planned), Seen: report.TurningPoint{Event: seen}}
	for i := range turned.Odds {
		x.Points = append(x.Points, pointOf(&turned.Odds[i]))
	}
	if at := turned.NoReturn(explore.StayOf); at < len(x.Points) {
		x.Certain = &x.Points[at]
	}
	if at := turned.NoReturn(explore.LiftedOf); at < len(x.Points) {
		x.NoReturn = &x.Points[at]
	}
	if at := turned.Rise(explore.StayOf); at < len(x.Points) && (x.Certain == nil || x.Points[at].Event < x.Certain.Event) {
		x.Rise = &x.Points[at]
	}
	x.Describe(v.History)
	return x, nil
}

func pointOf(o *explore.Odds) report.TurningPoint {
	return report.TurningPoint{Event: o.Event, Last: reruns(o.Stay), End: reruns(o.Lifted)}
}

func reruns(s explore.Share) *report.Reruns { return report.RerunsOf(s.Runs, s.Judged, s.Violated) }

// propertyOf is the violated property to explain.
func propertyOf(v *report.Variant, name checker.Property) (*report.PropertyResult, error) {
	if name == "" {
		if p := v.Pictured(); p != nil {
			return p, nil
		}
		return nil, fmt.Errorf("%w: variant %q violates no property", ErrNothing, v.Name)
	}
	p := v.Property(name)
	switch {
	case p == nil:
		return nil, fmt.Errorf("%w: %s was not judged in variant %q", ErrNothing, name, v.Name)
	case p.Verdict != checker.Violated:
		return nil, fmt.Errorf("%w: %s is %s in variant %q", ErrNothing, name, verdictWords(p.Verdict), v.Name)
	}
	return p, nil
}

func verdictWords(v checker.Verdict) string {
	if v == checker.Holds {
		return "not violated"
	}
	return "undecided"
}
